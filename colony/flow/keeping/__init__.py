"""Copies of all that a home cannot make anew: tracker, librarian's folder, reports not posted."""
