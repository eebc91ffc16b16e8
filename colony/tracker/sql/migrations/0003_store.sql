-- Which store this is: copies that went their own ways must not be taken for one another.
CREATE TABLE store (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  id   TEXT    NOT NULL
);
INSERT INTO store (only, id) VALUES (1, lower(hex(randomblob(8))));
