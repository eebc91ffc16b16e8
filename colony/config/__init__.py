"""Settings as values, and the only reader of them."""

from colony.config.parts import Machine, ServeSettings, Settings
from colony.config.reading import find_home, read, unknown_variables
from colony.config.shown import Listing, Row, listing

__all__ = [
    "Listing",
    "Machine",
    "Row",
    "ServeSettings",
    "Settings",
    "find_home",
    "listing",
    "read",
    "unknown_variables",
]
