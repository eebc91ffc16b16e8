"""Edge: this machine; each module is the one user of its library."""
