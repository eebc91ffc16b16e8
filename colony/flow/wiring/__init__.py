"""Wiring: settings become the parts that a command works with. Only here all settings are seen."""
