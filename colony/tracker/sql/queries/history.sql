-- name: counter_up
UPDATE counter SET event = event + 1;

-- name: counter
SELECT event FROM counter;

-- name: event_add
INSERT INTO events (id, project, number, kind, author, user_id, machine, at_ms, text, old, new,
  on_behalf)
VALUES (:id, :project, :number, :kind, :author, :user_id, :machine, :at_ms, :text, :old, :new,
  :on_behalf);

-- name: events_of
SELECT id, kind, author, user_id, machine, at_ms, text, old, new FROM events
WHERE project = :project AND number = :number ORDER BY id;

-- name: events_weighing
-- At least those that core/weight.py says weigh: what is sorted out here is never made a value.
SELECT id, kind, author, user_id, machine, at_ms, text, old, new FROM events
WHERE project = :project AND number = :number AND (kind IN ('created', 'state')
  OR (kind = 'comment' AND machine = 1
    AND (text LIKE '%colony-%' OR text LIKE '%session % started on %'))
  OR (kind = 'comment' AND machine = 0 AND lower(text) LIKE '%/prio%'))
ORDER BY id;

-- name: events_naming
SELECT id, kind, author, user_id, machine, at_ms, text, old, new FROM events
WHERE project = :project AND number = :number AND instr(text, :words) > 0 ORDER BY id;

-- name: events_after
SELECT project, number, id, kind, author, user_id, machine, at_ms, text, old, new FROM events
WHERE id > :after ORDER BY id LIMIT :limit;

-- name: state_set_by_machine
SELECT CASE WHEN on_behalf IS NULL THEN machine ELSE 0 END FROM events
WHERE project = :project AND number = :number AND kind IN ('created', 'state')
ORDER BY id DESC LIMIT 1;

-- name: store_id
SELECT id FROM store;

-- name: store_renew
UPDATE store SET id = lower(hex(randomblob(8)));

-- name: schema
SELECT user_version FROM pragma_user_version;
