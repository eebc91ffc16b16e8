-- name: tickets
SELECT project, number, subject, summary, state, author, user_id, machine, source,
  created_ms, updated_ms, last_event, version, priority,
  lease_session, lease_host, lease_kind, lease_token, lease_until_ms
FROM tickets
WHERE (:project = '' OR project = :project)
  AND (:states = '' OR :states LIKE '%,' || state || ',%')
  AND updated_ms >= :since_ms
  AND (created_ms, project, number) > (:after_ms, :after_project, :after_number)
ORDER BY created_ms, project, number LIMIT :most;

-- name: ticket
SELECT project, number, subject, summary, state, author, user_id, machine, source,
  created_ms, updated_ms, last_event, version, priority,
  lease_session, lease_host, lease_kind, lease_token, lease_until_ms
FROM tickets WHERE project = :project AND number = :number;

-- name: ticket_with_source
SELECT number FROM tickets WHERE project = :project AND source = :source AND source <> '';

-- name: ticket_numbers
SELECT number FROM tickets WHERE project = :project ORDER BY number;

-- name: tickets_counted
SELECT project, state, COUNT(*) FROM tickets GROUP BY project, state;

-- name: ticket_add
INSERT INTO tickets (project, number, subject, summary, state, author, user_id, machine, source,
  created_ms, updated_ms, last_event, version, priority)
VALUES (:project, :number, :subject, :summary, :state, :author, :user_id, :machine, :source,
  :at_ms, :at_ms, 0, 0, 0);

-- name: ticket_touch
UPDATE tickets SET last_event = :event, version = version + 1,
  updated_ms = CASE WHEN updated_ms > :at_ms THEN updated_ms ELSE :at_ms END
WHERE project = :project AND number = :number;

-- name: ticket_state
UPDATE tickets SET state = :state WHERE project = :project AND number = :number;

-- name: ticket_words
UPDATE tickets SET subject = :subject, summary = :summary
WHERE project = :project AND number = :number;

-- name: ticket_derived
UPDATE tickets SET priority = :priority, lease_session = :session, lease_host = :host,
  lease_kind = :kind, lease_token = :token, lease_until_ms = :until_ms
WHERE project = :project AND number = :number;
