"""The start gate: nothing of an agent runs before its process is on record.

The gate is the process that will be the agent. It says ready, waits for go, closes its two pipes
and becomes the agent. End of file instead of go ends it: so an agent cannot outlive a caller that
was killed before it could write down whom it had started.
"""

from __future__ import annotations

from typing import Final

GO: Final = 3
"""The descriptor from which the gate reads go."""
READY: Final = 4
"""The descriptor into which the gate says ready."""

NOT_LET_IN: Final = 70
"""The gate's exit code where go did not come."""

# One digit each: the shell of Debian knows no others.
_SCRIPT: Final = f"""
printf ready >&{READY} || exit {NOT_LET_IN}
exec {READY}>&-
IFS= read -r colony_gate_word <&{GO} || exit {NOT_LET_IN}
exec {GO}<&-
exec "$@"
"""

SHELLS_OWN: Final = frozenset(
    {"PWD", "OLDPWD", "SHLVL", "_", "IFS", "PPID", "OPTIND", "colony_gate_word"}
)
"""Variables that a shell sets as it likes: an agent gets none of them."""


def gated(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command line of a gate that becomes `argv`, with the environment that it was given."""
    dropped = tuple(word for name in sorted(SHELLS_OWN) for word in ("-u", name))
    return ("/bin/sh", "-c", _SCRIPT, "gate", "/usr/bin/env", *dropped, *argv)
