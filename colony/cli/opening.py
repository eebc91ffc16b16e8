"""How a verb opens the tracker, and says so when that made one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from colony.cli.reaching import tracker_of
from colony.cli.verb import Context
from colony.config import Settings
from colony.core.address import file_in, is_served
from colony.core.lines import Line
from colony.core.ticket import Ref
from colony.errors import UsageProblem
from colony.host.chance import SystemChance
from colony.host.files import make_folder
from colony.tracker.protocol import Tracker


@contextmanager
def as_person(context: Context, *, create: bool = False) -> Iterator[Tracker]:
    """The tracker as `COLONY_PERSON` sees it. With `create` it is made where there is none."""
    check_person(context.settings)
    fresh = fresh_file(context.settings) if create else None
    tracker = tracker_of(context, as_person=True, create=create)
    try:
        if fresh:
            context.show.line(made_line(fresh))
        yield tracker
    finally:
        tracker.close()


def fresh_file(settings: Settings) -> Path | None:
    """Where the tracker's database will be made, its folder being there; None: it is there."""
    file = file_of(settings.tracker.url)
    if file is None or file.exists():
        return None
    make_folder(file.parent)
    return file


def made_line(file: Path) -> Line:
    return Line("init", f"tracker made: {file}", facts={"path": str(file)})


def check_person(settings: Settings) -> None:
    """UsageProblem where a person comes under Colony's own name.

    A tracker keeps what a name was first: as a person, Colony could never write under it again.
    On a server the tokens say who is who.
    """
    tracker = settings.tracker
    if not is_served(tracker.url) and tracker.person == tracker.user:
        raise UsageProblem(
            f"you and Colony itself would both be {tracker.user} in the tracker: set COLONY_PERSON "
            "to your own name (default: your login name), or COLONY_USER to another one for Colony"
        )


def new_path(text: str) -> Path:
    """Where a file will be written. UsageProblem: its folder is not there."""
    path = Path(text).absolute()
    if not path.parent.is_dir():
        raise UsageProblem(f"{path.parent}: there is no such folder")
    return path


def new_key() -> str:
    """The idempotency key of one write of this command."""
    return SystemChance().uuid4()


def ref_of(project: str, number: str) -> Ref:
    """A ticket as it is named on the command line: two words."""
    ref = Ref.parse(f"{project}#{number}")
    if ref is None:
        raise UsageProblem(f"{project} {number}: no ticket is named so (write: shop 3)")
    return ref


def file_of(url: str) -> Path | None:
    """The file of an embedded tracker; None where it has none."""
    name = file_in(url)
    return None if name is None else Path(name)
