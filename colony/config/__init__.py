"""Settings as values, and the only reader of them."""

from colony.config.parts import Machine, ServeSettings, Settings
from colony.config.reading import find_home, read, unknown_variables

__all__ = ["Machine", "ServeSettings", "Settings", "find_home", "read", "unknown_variables"]
