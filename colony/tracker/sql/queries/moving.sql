-- name: whole_user
SELECT id, name, machine, owner, created_ms FROM users ORDER BY length(id), id;

-- name: whole_project
SELECT name, last_number, created_ms FROM projects ORDER BY name;

-- name: whole_member
SELECT project, user_id, role FROM members ORDER BY project, user_id;

-- name: page_ticket
SELECT project, number, subject, summary, state, author, user_id, machine, source,
  created_ms, updated_ms, last_event, version
FROM tickets WHERE (project, number) > (:project, :number)
ORDER BY project, number LIMIT :limit;

-- name: whole_parent
SELECT project, number, parent_project, parent_number FROM tickets
WHERE parent_project IS NOT NULL ORDER BY project, number;

-- name: whole_block
SELECT project, number, by_project, by_number FROM blocks
ORDER BY project, number, by_project, by_number;

-- name: page_event
SELECT id, project, number, kind, author, user_id, machine, at_ms, text, old, new, on_behalf
FROM events WHERE id > :id ORDER BY id LIMIT :limit;

-- name: page_session
SELECT id, project, number, host, account, token, phase, step, started_ms, ended_ms, cost_usd,
  last_tool, outcome, report, verdict, tail, updated_ms, user_id
FROM sessions WHERE id > :id ORDER BY id LIMIT :limit;

-- name: whole_host
SELECT name, slots, running, quota, memory, disk, iteration, seen_ms FROM hosts ORDER BY name;

-- name: put_user
INSERT INTO users (id, name, machine, owner, created_ms)
VALUES (:id, :name, :machine, :owner, :created_ms);

-- name: put_project
INSERT INTO projects (name, last_number, created_ms) VALUES (:name, :last_number, :created_ms);

-- name: put_member
INSERT INTO members (project, user_id, role) VALUES (:project, :user_id, :role);

-- name: put_ticket
INSERT INTO tickets (project, number, subject, summary, state, author, user_id, machine, source,
  created_ms, updated_ms, last_event, version, priority)
VALUES (:project, :number, :subject, :summary, :state, :author, :user_id, :machine, :source,
  :created_ms, :updated_ms, :last_event, :version, 0);

-- name: put_parent
UPDATE tickets SET parent_project = :parent_project, parent_number = :parent_number
WHERE project = :project AND number = :number AND parent_project IS NULL;

-- name: put_block
INSERT INTO blocks (project, number, by_project, by_number)
VALUES (:project, :number, :by_project, :by_number);

-- name: put_event
INSERT INTO events (id, project, number, kind, author, user_id, machine, at_ms, text, old, new,
  on_behalf)
VALUES (:id, :project, :number, :kind, :author, :user_id, :machine, :at_ms, :text, :from_, :to,
  :on_behalf);

-- name: put_session
INSERT INTO sessions (id, project, number, host, account, token, phase, step, started_ms,
  ended_ms, cost_usd, last_tool, outcome, report, verdict, tail, updated_ms, user_id)
VALUES (:id, :project, :number, :host, :account, :token, :phase, :step, :started_ms,
  :ended_ms, :cost_usd, :last_tool, :outcome, :report, :verdict, :tail, :updated_ms,
  :user_id);

-- name: put_host
INSERT INTO hosts (name, slots, running, quota, memory, disk, iteration, seen_ms)
VALUES (:name, :slots, :running, :quota, :memory, :disk, :iteration, :seen_ms);

-- name: counter_set
UPDATE counter SET event = :event;

-- name: held
SELECT (SELECT COUNT(*) FROM users), (SELECT COUNT(*) FROM projects), (SELECT event FROM counter);

-- name: history_summed
SELECT COUNT(*), MIN(id), MAX(id), MIN(CASE WHEN kind = 'created' THEN id END),
  SUM(CASE WHEN kind = 'created' THEN 1 ELSE 0 END)
FROM events WHERE project = :project AND number = :number;

-- name: state_last_set
SELECT new FROM events
WHERE project = :project AND number = :number AND kind IN ('created', 'state')
ORDER BY id DESC LIMIT 1;
