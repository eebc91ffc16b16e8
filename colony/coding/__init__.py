"""Edge: the coding agents that Colony drives."""
