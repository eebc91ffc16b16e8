"""The HTTP edge: a tracker that is reached through the JSON API of `docs/api.md`."""
