"""What a session's own files say, read back: answers, report, verdict, brief.

The facts name each file with its sha256. A worker can reach the run folder until boxes have mounts
of their own, so a file that is not the one the facts name is `Spoiled`: never believed, and never
a reason to stand still.
"""

from __future__ import annotations

from typing import Final

from colony.core.lines import Json
from colony.core.report import Expect, Report, read_report
from colony.core.session import Facts
from colony.core.strict_json import Problems, load_json
from colony.core.verdict import Ruled, Verdict, read_verdict, rule
from colony.flow.bench import Bench
from colony.host.files import Unsafe
from colony.host.journal import RunFolder

BRIEF: Final = "brief.md"
REPORT: Final = "report.json"
VERDICT: Final = "verdict.json"
FILE_MAX: Final = 16 * 1024 * 1024


class Spoiled(Exception):
    """A file of the session is gone, or was changed since it was written."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was changed, or removed, after it had been written")
        self.name = name


def expected(facts: Facts) -> Expect:
    """Whose report it must be."""
    return Expect(facts.ticket, facts.session, live=bool(facts.setup.live))


def kept(folder: RunFolder, name: str, sha256: str) -> bytes:
    """The file with this hash. `Spoiled`: it is not there as it was written."""
    try:
        data = folder.read(name, FILE_MAX, sha256)
    except Unsafe:
        data = None
    if data is None:
        raise Spoiled(name)
    return data


def kept_json(folder: RunFolder, name: str, sha256: str) -> Json | Problems:
    return load_json(kept(folder, name, sha256).decode("utf-8", "replace"))


def brief_of(bench: Bench, facts: Facts) -> str:
    """The brief the worker had; a word in its place where it is not there any more."""
    try:
        return kept(bench.place.folder, BRIEF, facts.brief_sha256).decode("utf-8", "replace")
    except Spoiled as spoiled:
        return f"(not shown: {spoiled})\n"


def report_of(bench: Bench, facts: Facts) -> Report:
    """The valid report of the facts. `Spoiled`: it cannot be had again."""
    assert facts.report is not None
    data = kept_json(bench.place.folder, REPORT, facts.report.sha256)
    if isinstance(data, Problems):
        raise Spoiled(REPORT)
    found = read_report(data, expected(facts), bench.report.check)
    if isinstance(found, Problems):
        raise Spoiled(REPORT)
    return found


def judged_of(bench: Bench, facts: Facts) -> tuple[Verdict, Ruled] | None:
    """The valid verdict of the facts and what code makes of it; None where there is none yet."""
    if facts.verdict is None or not facts.verdict.valid:
        return None
    report = report_of(bench, facts)
    data = kept_json(bench.place.folder, VERDICT, facts.verdict.sha256)
    if isinstance(data, Problems):
        raise Spoiled(VERDICT)
    found = read_verdict(data, report, bench.verdict.check)
    if isinstance(found, Problems):
        raise Spoiled(VERDICT)
    return found, rule(found, report)
