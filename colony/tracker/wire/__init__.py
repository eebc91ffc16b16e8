"""Wire: the tracker's values as the JSON API writes them (`docs/api.md`), both ways."""
