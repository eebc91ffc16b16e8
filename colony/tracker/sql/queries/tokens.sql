-- name: tokens_counted
SELECT COUNT(*) FROM tokens;

-- name: token_add
INSERT INTO tokens (id, user_id, hash, created_ms, expires_ms)
VALUES (:id, :user_id, :hash, :created_ms, :expires_ms);

-- name: tokens
SELECT tokens.id, users.name, users.machine, users.owner, tokens.created_ms, tokens.expires_ms,
  tokens.revoked_ms
FROM tokens JOIN users ON users.id = tokens.user_id ORDER BY tokens.created_ms, tokens.id;

-- name: token_user
SELECT users.id, users.name, users.machine, users.owner, tokens.expires_ms, tokens.revoked_ms
FROM tokens JOIN users ON users.id = tokens.user_id WHERE tokens.hash = :hash;

-- name: token_revoke
UPDATE tokens SET revoked_ms = :at_ms WHERE id = :id AND revoked_ms IS NULL;

-- name: roles_of
SELECT project, role FROM members WHERE user_id = :user_id ORDER BY project;
