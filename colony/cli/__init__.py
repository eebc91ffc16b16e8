"""The command line: open, call, show."""
