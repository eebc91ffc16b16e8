"""Shell: calls edges and core in turn, and holds no policy."""
