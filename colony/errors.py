"""The error tree: every way a command can refuse or fail, with its exit status.

An error is one line for a person. It is caught once, in `cli/app.py`, which prints the line
and exits with `exit_code` (the table in `docs/exit-codes.md`).
"""

from __future__ import annotations

from typing import ClassVar


class ColonyError(Exception):
    """Something a person must be told in one line. `code` is a short stable word for machines."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "failed"

    @property
    def line(self) -> str:
        """The message as one line."""
        return " ".join(str(self).split()) or type(self).__name__


class UsageProblem(ColonyError):
    """A value of an option, a setting or a registry file cannot be used."""

    exit_code = 2
    code = "usage"


class Refused(ColonyError):
    """Refused before anything was written, for a reason that stays."""

    exit_code = 3
    code = "refused"


class Unreachable(ColonyError):
    """The tracker or the coding agent is missing, not logged in, or does not answer."""

    exit_code = 4
    code = "unreachable"


class Busy(ColonyError):
    """Held by somebody else now; the same call may go through later."""

    exit_code = 5
    code = "busy"


# --- what a tracker says -------------------------------------------------------------------


class NotFound(Refused):
    """No such ticket, project or person (404)."""

    code = "not_found"


class Forbidden(Refused):
    """This user may not do that (403)."""

    code = "forbidden"


class Invalid(Refused):
    """The tracker does not take this value (422); the message names its place."""

    code = "invalid"


class TooLarge(Refused):
    """Over one of the store's limits (413)."""

    code = "too_large"


class NoAnswer(Unreachable):
    """The tracker gave no usable answer: what was asked may or may not have happened."""

    code = "no_answer"


class NotAccepted(Unreachable):
    """The tracker does not take the token (401): nothing happened, and asking again is no help
    before another token is there."""

    code = "not_accepted"


class Damaged(Refused):
    """The database is newer than this program, or damaged; it is never replaced."""

    code = "damaged"
