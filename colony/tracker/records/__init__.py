"""Records: what hosts tell the tracker of their sessions and themselves, beside its tickets."""
