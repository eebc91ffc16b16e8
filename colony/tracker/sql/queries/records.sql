-- name: session_put
INSERT INTO sessions (id, project, number, host, account, token, phase, step, started_ms,
  ended_ms, cost_usd, last_tool, outcome, report, verdict, tail, updated_ms, user_id)
VALUES (:id, :project, :number, :host, :account, :token, :phase, :step, :started_ms,
  :ended_ms, :cost_usd, :last_tool, :outcome, :report, :verdict, '', :updated_ms, :user_id)
ON CONFLICT (id) DO UPDATE SET project = excluded.project, number = excluded.number,
  host = excluded.host, account = excluded.account, token = excluded.token,
  phase = excluded.phase, step = excluded.step, started_ms = excluded.started_ms,
  ended_ms = excluded.ended_ms, cost_usd = excluded.cost_usd, last_tool = excluded.last_tool,
  outcome = excluded.outcome, report = excluded.report, verdict = excluded.verdict,
  updated_ms = excluded.updated_ms, user_id = excluded.user_id;

-- name: session_owner
SELECT user_id, project, number FROM sessions WHERE id = :id;

-- name: sessions
SELECT id, project, number, host, account, token, phase, step, started_ms, ended_ms, cost_usd,
  last_tool, outcome, report, verdict, updated_ms
FROM sessions
WHERE (:project = '' OR project = :project)
  AND (:number = 0 OR number = :number)
  AND (:running = 0 OR ended_ms IS NULL)
ORDER BY started_ms, id;

-- name: sessions_running
SELECT COUNT(*) FROM sessions WHERE ended_ms IS NULL;

-- name: session
SELECT id, project, number, host, account, token, phase, step, started_ms, ended_ms, cost_usd,
  last_tool, outcome, report, verdict, updated_ms
FROM sessions WHERE id = :id;

-- name: tail_put
UPDATE sessions SET tail = :tail WHERE id = :id;

-- name: tail
SELECT tail FROM sessions WHERE id = :id;

-- name: host_put
INSERT INTO hosts (name, slots, running, quota, memory, disk, iteration, seen_ms)
VALUES (:name, :slots, :running, :quota, :memory, :disk, :iteration, :seen_ms)
ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, running = excluded.running,
  quota = excluded.quota, memory = excluded.memory, disk = excluded.disk,
  iteration = excluded.iteration, seen_ms = excluded.seen_ms;

-- name: hosts
SELECT name, slots, running, quota, memory, disk, iteration, seen_ms FROM hosts ORDER BY name;
