"""The pure half: values in, values out; no clock, chance, file, process or log."""
