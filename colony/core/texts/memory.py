"""What is said of a part that ran out of memory, and of what one held."""

from __future__ import annotations

from colony.core.guard import MIB


def mib(size: int) -> str:
    """Bytes as a person reads them beside the settings, which are MiB."""
    return f"{round(size / MIB):,} MiB"


def ran_out(peak: int, limit: int) -> str:
    """`peak` and `limit` are bytes; 0: not known, none."""
    told = [f"it held up to {mib(peak)}"] if peak else []
    told += [f"its limit is {mib(limit)}"] if limit else []
    return "it ran out of memory" + (f": {', '.join(told)}" if told else "")


def held(peak: int, limit: int, by: str) -> str:
    """At most so much was held; empty where nobody knows."""
    if not peak:
        return ""
    return f"held up to {mib(peak)}{f' of {mib(limit)}' if limit else ''} ({by or 'looked at'})"
