"""Colony works a ticket queue with autonomous coding agents."""

__version__ = "0.1.0"
