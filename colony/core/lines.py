"""One output line as a value: the same facts behind the text and behind `--json`.

`KINDS` is the interface: the first words of a line never change meaning.
`templates/lines.schema.json` lists the same kinds; a test holds the two together. A kind whose
words are empty is a detail line for a person, indented by two spaces.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

KINDS: Final[dict[str, str]] = {
    "next": "NEXT:",
    "next.waits": "",
    "next.counts": "",
    "brief": "brief:",
    "report.ok": "REPORT OK",
    "report.refused": "REPORT REFUSED",
    "report.problem": "",
    "posted": "POSTED",
    "post.refused": "POST REFUSED",
    "post.failed": "POST FAILED",
    "have": "HAVE",
    "warning": "WARNING",
    "work.refused": "work: REFUSED",
    "work.dry_run": "work: DRY RUN",
    "work.leased": "work: LEASED",
    "work.part": "work: PART",
    "work.again": "work: AGAIN",
    "work.cleanup": "work: CLEANUP",
    "controller.refused": "controller: REFUSED",
    "controller.part": "controller: PART",
    "controller.cleanup": "controller: CLEANUP",
    "usage": "USAGE:",
    "controller.usage": "CONTROLLER USAGE:",
    "verdict.pass": "VERDICT: PASS",
    "verdict.fail": "VERDICT: FAIL",
    "verdict.finding": "",
    "work.done": "WORK DONE",
    "work.ok": "WORK OK",
    "work.controller_failed": "WORK OK, CONTROLLER FAILED",
    "work.half_done": "WORK HALF DONE",
    "work.failed": "WORK FAILED",
    "check.refused": "check: REFUSED",
    "check.done": "CHECK DONE",
    "check.ok": "CHECK OK",
    "check.controller_failed": "CHECK OK, CONTROLLER FAILED",
    "check.half_done": "CHECK HALF DONE",
    "check.failed": "CHECK FAILED",
    "parked": "PARKED",
    "work.finalize": "work: FINALIZE",
    "finalize.usage": "FINALIZE USAGE:",
    "finalize.cost": "FINALIZE COST:",
    "finalize.cleanup": "finalize: CLEANUP",
    "resume.cost": "RESUME COST:",
    "salvage.refused": "salvage: REFUSED",
    "salvage.leased": "salvage: LEASED",
    "salvage.done": "SALVAGE DONE",
    "salvage.ok": "SALVAGE OK",
    "salvage.controller_failed": "SALVAGE OK, CONTROLLER FAILED",
    "salvage.half_done": "SALVAGE HALF DONE",
    "salvage.failed": "SALVAGE FAILED",
    "salvage.cost": "SALVAGE COST:",
    "salvage.end": "SALVAGE END",
    "run": "RUN:",
    "run.refused": "run: REFUSED",
    "run.stopped": "RUN STOPPED",
    "iter": "ITER",
    "session.end": "SESSION END",
    "limit": "LIMIT:",
    "guard": "GUARD",
    "tree": "TREE",
    "probe.cost": "PROBE COST",
    "run.action": "",
    "pause": "PAUSE",
    "resume": "RESUME",
    "stop": "STOP",
    "retry": "RETRY",
    "cycle.cost": "CYCLE COST:",
    "cycle.end": "CYCLE END",
    "cycle.dry_run": "CYCLE DRY RUN",
    "cycle.nothing": "CYCLE —",
    "explain": "EXPLAIN",
    "explain.for": "",
    "explain.against": "",
    "box": "BOX",
    "ready.row": "READY",
    "ready": "READY:",
    "deployed": "DEPLOYED",
    "deployed.refused": "deployed: REFUSED",
    "session": "SESSION",
    "session.part": "",
    "session.text": "",
    "sessions": "SESSIONS:",
    "tail.step": "",
    "tail": "TAIL",
    "config": "CONFIG",
    "doctor.row": "DOCTOR",
    "doctor": "DOCTOR:",
    "token": "TOKEN",
    "tokens": "TOKENS:",
    "project": "PROJECT",
    "member": "MEMBER",
    "serve": "SERVE",
    "restore": "RESTORE",
    "export": "EXPORT",
    "import": "IMPORT",
    "lease": "lease:",
    "lease.row": "LEASE",
    "leases": "LEASES:",
    "ticket": "TICKET",
    "ticket.event": "",
    "ticket.text": "",
    "tickets": "TICKETS:",
    "backup": "BACKUP",
    "init": "INIT",
    "demo": "DEMO",
    "demo.text": "",
    "note": "",
    "error": "ERROR",
}
"""Kind of a line -> its first words."""


@dataclass(frozen=True, slots=True)
class Line:
    """One fact for whoever reads the output.

    `text` follows the kind's words. `facts` goes into the JSON form beside `kind`, `text`,
    `ticket`, `session` and `ms`.
    """

    kind: str
    text: str = ""
    ticket: str | None = None
    session: str | None = None
    ms: int | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)

    def as_text(self) -> str:
        """The line as printed: one line, with nothing in it that moves a terminal."""
        words = KINDS[self.kind]
        text = printable(self.text)
        if not words:
            return f"  {text}" if text else ""
        return f"{words} {text}" if text else words

    def as_json(self) -> dict[str, Json]:
        """The line as a JSON object; absent facts are left out, no fact hides one of Colony's."""
        own: dict[str, Json] = {"kind": self.kind}
        for name in ("ticket", "session", "ms"):
            value = getattr(self, name)
            if value is not None:
                own[name] = value
        if self.text:
            own["text"] = self.text
        return own | {name: value for name, value in self.facts.items() if name not in OWN}

    def as_json_text(self) -> str:
        """The JSON object as one line of ASCII, which no terminal and no encoding can mistake."""
        return json.dumps(_finite(self.as_json()), ensure_ascii=True, allow_nan=False)


OWN: Final = ("kind", "ticket", "session", "ms", "text")
"""What every line may say of itself."""


def _finite(value: Json) -> Json:
    """`value` with null where JSON has no number for it."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_finite(each) for each in value]
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case _:
            return value


_BAD: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def printable(text: str) -> str:
    """`text` as one line: line breaks become spaces, control and format characters show as escapes.

    Emoji joiners are kept; bidirectional overrides, escapes and lone surrogates are not.
    """
    # Nothing that is escaped below is printable to Python; nearly every text ends here.
    if text.isprintable():
        return text
    text = re.sub(r"[\r\n\t\v\f\u2028\u2029]+", " ", text)
    return "".join(
        character
        if character == "\u200d" or unicodedata.category(character) not in _BAD
        else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in text
    )


def clip(text: str, limit: int) -> str:
    """`text` as one printable line of at most `limit` characters, cut by code point."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= limit else line[: max(0, limit - 1)].rstrip() + "…"
