"""How a verb opens the tracker, and says so when that made one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colony.cli.reaching import is_remote, tracker_of
from colony.cli.verb import Context
from colony.config import Settings
from colony.core.lines import Line
from colony.core.ticket import Ref
from colony.errors import UsageProblem
from colony.host.chance import SystemChance
from colony.tracker.protocol import Tracker


@contextmanager
def as_person(context: Context, *, create: bool = False) -> Iterator[Tracker]:
    """The tracker as `COLONY_PERSON` sees it. With `create` it is made where there is none."""
    check_person(context.settings)
    file = _file_of(context.settings.tracker.url)
    fresh = create and file is not None and not file.exists()
    if fresh and file is not None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    tracker = tracker_of(context, as_person=True, create=create)
    try:
        if fresh:
            context.show.line(Line("init", f"tracker made: {file}", facts={"path": str(file)}))
        yield tracker
    finally:
        tracker.close()


def check_person(settings: Settings) -> None:
    """UsageProblem where a person comes under Colony's own name.

    A tracker keeps what a name was first: as a person, Colony could never write under it again.
    On a server the tokens say who is who.
    """
    tracker = settings.tracker
    if not is_remote(settings) and tracker.person == tracker.user:
        raise UsageProblem(
            f"you and Colony itself would both be {tracker.user} in the tracker: set COLONY_PERSON "
            "to your own name (default: your login name), or COLONY_USER to another one for Colony"
        )


def new_key() -> str:
    """The idempotency key of one write of this command."""
    return SystemChance().uuid4()


def ref_of(project: str, number: str) -> Ref:
    """A ticket as it is named on the command line: two words."""
    ref = Ref.parse(f"{project}#{number}")
    if ref is None:
        raise UsageProblem(f"{project} {number}: no ticket is named so (write: shop 3)")
    return ref


def _file_of(url: str) -> Path | None:
    path = url.removeprefix("sqlite:///")
    return None if path in (url, ":memory:") else Path(path)
