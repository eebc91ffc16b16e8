-- What a user shows to a server. Only the hash is kept.
CREATE TABLE tokens (
  id         TEXT    NOT NULL PRIMARY KEY,
  user_id    TEXT    NOT NULL REFERENCES users (id),
  hash       TEXT    NOT NULL UNIQUE,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  revoked_ms INTEGER
);

-- One row a session, as its host last told it; report and verdict are JSON.
CREATE TABLE sessions (
  id         TEXT    NOT NULL PRIMARY KEY,
  project    TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  host       TEXT    NOT NULL,
  account    TEXT    NOT NULL,
  token      INTEGER,
  phase      TEXT    NOT NULL,
  step       TEXT    NOT NULL,
  started_ms INTEGER,
  ended_ms   INTEGER,
  cost_usd   REAL    NOT NULL,
  last_tool  TEXT    NOT NULL,
  outcome    TEXT    NOT NULL,
  report     TEXT,
  verdict    TEXT,
  tail       TEXT    NOT NULL,
  updated_ms INTEGER NOT NULL,
  FOREIGN KEY (project, number) REFERENCES tickets (project, number)
);
CREATE INDEX sessions_ticket ON sessions (project, number);

-- One row a host; quota, memory, disk and iteration are JSON.
CREATE TABLE hosts (
  name      TEXT    NOT NULL PRIMARY KEY,
  slots     INTEGER NOT NULL,
  running   INTEGER NOT NULL,
  quota     TEXT    NOT NULL,
  memory    TEXT    NOT NULL,
  disk      TEXT    NOT NULL,
  iteration TEXT    NOT NULL,
  seen_ms   INTEGER NOT NULL
);
