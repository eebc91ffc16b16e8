-- The machine whose word a session's row is. Null: of a time when nobody was noted.
ALTER TABLE sessions ADD COLUMN user_id TEXT REFERENCES users (id);
