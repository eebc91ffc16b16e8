-- Persons and machines. The id stays when the name changes.
CREATE TABLE users (
  id         TEXT    NOT NULL PRIMARY KEY,
  name       TEXT    NOT NULL UNIQUE,
  machine    INTEGER NOT NULL CHECK (machine IN (0, 1)),
  owner      INTEGER NOT NULL CHECK (owner IN (0, 1)),
  created_ms INTEGER NOT NULL,
  CHECK (machine = 0 OR owner = 0)
);

-- A project counts its own tickets.
CREATE TABLE projects (
  name        TEXT    NOT NULL PRIMARY KEY,
  last_number INTEGER NOT NULL,
  created_ms  INTEGER NOT NULL
);

CREATE TABLE members (
  project TEXT NOT NULL REFERENCES projects (name),
  user_id TEXT NOT NULL REFERENCES users (id),
  role    TEXT NOT NULL CHECK (role IN ('admin', 'edit', 'use')),
  PRIMARY KEY (project, user_id)
);

-- priority and the lease are what the history says, kept here for lists.
CREATE TABLE tickets (
  project        TEXT    NOT NULL REFERENCES projects (name),
  number         INTEGER NOT NULL CHECK (number > 0),
  subject        TEXT    NOT NULL CHECK (subject <> ''),
  summary        TEXT    NOT NULL,
  state          TEXT    NOT NULL CHECK (state IN
    ('open', 'progress', 'review', 'pending', 'done', 'reopened', 'canceled')),
  author         TEXT    NOT NULL,
  user_id        TEXT    NOT NULL REFERENCES users (id),
  machine        INTEGER NOT NULL CHECK (machine IN (0, 1)),
  source         TEXT    NOT NULL,
  created_ms     INTEGER NOT NULL,
  updated_ms     INTEGER NOT NULL,
  last_event     INTEGER NOT NULL,
  version        INTEGER NOT NULL,
  parent_project TEXT,
  parent_number  INTEGER,
  priority       INTEGER NOT NULL,
  lease_session  TEXT,
  lease_host     TEXT,
  lease_kind     TEXT,
  lease_token    INTEGER,
  lease_until_ms INTEGER,
  PRIMARY KEY (project, number),
  FOREIGN KEY (parent_project, parent_number) REFERENCES tickets (project, number),
  CHECK ((parent_project IS NULL) = (parent_number IS NULL)),
  CHECK ((lease_session IS NULL) = (lease_token IS NULL))
);
CREATE UNIQUE INDEX tickets_source ON tickets (project, source) WHERE source <> '';
CREATE INDEX tickets_parent ON tickets (parent_project, parent_number)
  WHERE parent_project IS NOT NULL;

CREATE TABLE blocks (
  project    TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  by_project TEXT    NOT NULL,
  by_number  INTEGER NOT NULL,
  PRIMARY KEY (project, number, by_project, by_number),
  FOREIGN KEY (project, number) REFERENCES tickets (project, number),
  FOREIGN KEY (by_project, by_number) REFERENCES tickets (project, number)
);
CREATE INDEX blocks_by ON blocks (by_project, by_number);

-- The last event id given out. A row, not a sequence: ids become visible in their order.
CREATE TABLE counter (
  only  INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  event INTEGER NOT NULL
);
INSERT INTO counter (only, event) VALUES (1, 0);

-- number is null in the events of a project itself.
CREATE TABLE events (
  id          INTEGER NOT NULL PRIMARY KEY,
  project     TEXT    NOT NULL REFERENCES projects (name),
  number      INTEGER,
  kind        TEXT    NOT NULL CHECK (kind IN
    ('created', 'comment', 'state', 'edit', 'link', 'member', 'file')),
  author      TEXT    NOT NULL,
  user_id     TEXT    NOT NULL REFERENCES users (id),
  machine     INTEGER NOT NULL CHECK (machine IN (0, 1)),
  at_ms       INTEGER NOT NULL,
  text        TEXT    NOT NULL,
  old         TEXT    NOT NULL,
  new         TEXT    NOT NULL,
  on_behalf   INTEGER REFERENCES events (id),
  FOREIGN KEY (project, number) REFERENCES tickets (project, number)
);
CREATE INDEX events_ticket ON events (project, number, id);

-- First answers of writes, for their repetitions.
CREATE TABLE answers (
  user_id TEXT    NOT NULL REFERENCES users (id),
  path    TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  body    TEXT    NOT NULL,
  answer  TEXT    NOT NULL,
  at_ms   INTEGER NOT NULL,
  PRIMARY KEY (user_id, path, key)
);
CREATE INDEX answers_age ON answers (at_ms);
