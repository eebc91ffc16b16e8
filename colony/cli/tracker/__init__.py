"""`colony tracker`: care for the tracker itself. Each module adds its verbs to the group."""

from colony.cli.tracker import copies, serve
from colony.cli.tracker.group import app

__all__ = ["app", "copies", "serve"]
