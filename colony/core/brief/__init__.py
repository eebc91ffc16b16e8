"""The brief: the text that one worker session starts with, as values. Pure."""
