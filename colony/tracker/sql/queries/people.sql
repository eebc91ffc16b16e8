-- name: user_named
SELECT id, name, machine, owner FROM users WHERE name = :name;

-- name: users_counted
SELECT COUNT(*) FROM users;

-- name: user_add
INSERT INTO users (id, name, machine, owner, created_ms)
VALUES (:id, :name, :machine, :owner, :at_ms);

-- name: user_becomes_owner
UPDATE users SET owner = 1 WHERE id = :id;

-- name: owners
SELECT id, name FROM users WHERE owner = 1 ORDER BY name;

-- name: project_named
SELECT name FROM projects WHERE name = :name;

-- name: project_names
SELECT name FROM projects ORDER BY name;

-- name: project_add
INSERT INTO projects (name, last_number, created_ms) VALUES (:name, 0, :at_ms);

-- name: project_counts_on
UPDATE projects SET last_number = last_number + 1 WHERE name = :name;

-- name: project_last_number
SELECT last_number FROM projects WHERE name = :name;

-- name: member_role
SELECT role FROM members WHERE project = :project AND user_id = :user_id;

-- name: members
SELECT users.name, users.id, users.machine, members.role
FROM members JOIN users ON users.id = members.user_id
WHERE members.project = :project ORDER BY users.name;

-- name: member_set
INSERT INTO members (project, user_id, role) VALUES (:project, :user_id, :role)
ON CONFLICT (project, user_id) DO UPDATE SET role = excluded.role;

-- name: member_drop
DELETE FROM members WHERE project = :project AND user_id = :user_id;
