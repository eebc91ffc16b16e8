"""Moving a whole tracker: written out as JSON Lines, and read into an empty one."""
