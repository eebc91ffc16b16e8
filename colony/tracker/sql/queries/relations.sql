-- name: blocks
SELECT project, number, by_project, by_number FROM blocks
ORDER BY by_project, by_number, project, number;

-- name: blocks_around
SELECT project, number, by_project, by_number FROM blocks
WHERE (project = :project AND number = :number)
  OR (by_project = :project AND by_number = :number)
ORDER BY by_project, by_number, project, number;

-- name: parents
SELECT project, number, parent_project, parent_number FROM tickets
WHERE parent_project IS NOT NULL ORDER BY project, number;

-- name: parents_around
SELECT project, number, parent_project, parent_number FROM tickets
WHERE (parent_project = :project AND parent_number = :number)
  OR (project = :project AND number = :number AND parent_project IS NOT NULL)
ORDER BY project, number;

-- name: relatives
SELECT project, number, state, subject, source FROM tickets
WHERE parent_project IS NOT NULL OR (project, number) IN (
  SELECT parent_project, parent_number FROM tickets WHERE parent_project IS NOT NULL
  UNION SELECT project, number FROM blocks
  UNION SELECT by_project, by_number FROM blocks);

-- name: relatives_around
SELECT project, number, state, subject, source FROM tickets
WHERE (project, number) IN (
  SELECT project, number FROM tickets
    WHERE parent_project = :project AND parent_number = :number
  UNION SELECT parent_project, parent_number FROM tickets
    WHERE project = :project AND number = :number AND parent_project IS NOT NULL
  UNION SELECT by_project, by_number FROM blocks WHERE project = :project AND number = :number
  UNION SELECT project, number FROM blocks WHERE by_project = :project AND by_number = :number);

-- name: block_add
INSERT INTO blocks (project, number, by_project, by_number)
VALUES (:project, :number, :by_project, :by_number) ON CONFLICT DO NOTHING;

-- name: block_drop
DELETE FROM blocks WHERE project = :project AND number = :number
  AND by_project = :by_project AND by_number = :by_number;

-- name: parent_set
UPDATE tickets SET parent_project = :parent_project, parent_number = :parent_number
WHERE project = :project AND number = :number;

-- name: waits_for
-- Does :from wait for :to, over any number of blockers?
WITH RECURSIVE chain (project, number) AS (
  SELECT by_project, by_number FROM blocks
    WHERE project = :from_project AND number = :from_number
  UNION
  SELECT blocks.by_project, blocks.by_number FROM blocks JOIN chain
    ON blocks.project = chain.project AND blocks.number = chain.number
)
SELECT 1 FROM chain WHERE project = :to_project AND number = :to_number;

-- name: descends_from
-- Is :to above :from, over any number of parents?
WITH RECURSIVE chain (project, number) AS (
  SELECT parent_project, parent_number FROM tickets
    WHERE project = :from_project AND number = :from_number AND parent_project IS NOT NULL
  UNION
  SELECT tickets.parent_project, tickets.parent_number FROM tickets JOIN chain
    ON tickets.project = chain.project AND tickets.number = chain.number
    WHERE tickets.parent_project IS NOT NULL
)
SELECT 1 FROM chain WHERE project = :to_project AND number = :to_number;
