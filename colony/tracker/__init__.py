"""Edge: where tickets live."""
