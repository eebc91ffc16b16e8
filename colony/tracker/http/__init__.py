"""Trackers over HTTP: the JSON API, and servers that speak less of it."""
