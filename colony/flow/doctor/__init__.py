"""Looking at what Colony needs here, one thing at a time. Nothing is written."""
