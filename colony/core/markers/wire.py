"""A marker as a line, and a line as a marker: parse(format(marker)) == marker."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, assert_never

from colony.core.markers.kinds import (
    NOTHING_NOTED,
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    LeaseWord,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Spent,
    Verdict,
)
from colony.core.markers.words import digits, escape, stamp, unescape, unstamp, whole

_HASH: Final = re.compile("([0-9a-f]{12})[0-9a-f]{0,52}", re.ASCII)
_ONE_WORD: Final[tuple[LeaseWord, ...]] = ("started", "renewed", "salvage", "queued", "claimed")
_ENDLESS: Final = frozenset({"queued", "claimed"})
_WORDS: Final = re.compile("[a-z]{1,20}(?: [a-z]{1,20}){0,4}", re.ASCII)
_V0: Final = re.compile(r"session (\S+) started on (\S+)")


def format(marker: Marker) -> str:
    """The machine line; ValueError where the marker cannot be one (an empty name, a number below 0
    or over 10^15, a renewal without an expiry)."""
    match marker:
        case LeaseLine():
            return _lease_line(marker)
        case Parked(session, host, phase, resume_ms, until_ms):
            resume = f"resume-ms {digits(resume_ms)}"
            return _line("parked", session, _host(host), f"phase {phase}", resume, _ms(until_ms))
        case LeaseExpired(session, host):
            return _line("lease-expired", session, _host(host))
        case Run(session, host, how, reason, spent):
            return _line("run", session, _host(host), how, _reason(reason), *_spent(spent))
        case Report():
            return _report_line(marker)
        case Verdict(session, fail, limit, overruled, spent):
            count = f"{digits(fail)} of {digits(limit)}"
            said = "overruled" if overruled else ""
            return _line("verdict", session, "fail", count, said, *_spent(spent))
        case NoVerdict(session, spent):
            return _line("verdict", session, "none", *_spent(spent))
        case Deployed(session, sha256):
            return _line("deployed", session, f"sha256 {_hash(sha256)}")
        case Handled(event, word):
            return _line("keyword", digits(event), escape(word))
        case Retry(at_ms):
            return f"colony-retry: {stamp(at_ms)}"
        case _:
            assert_never(marker)


def _lease_line(lease: LeaseLine) -> str:
    if lease.park and lease.kind != "resumed":
        raise ValueError(f"only a resume names a park, not {lease.kind}")
    if (lease.until_ms is not None) == (lease.kind in _ENDLESS):
        raise ValueError(f"a lease line {lease.kind} with the expiry {lease.until_ms}")
    word = f"resumed (park {digits(lease.park)})" if lease.kind == "resumed" else lease.kind
    until = "" if lease.until_ms is None else _ms(lease.until_ms)
    return _line("lease", lease.session, _host(lease.host), word, until)


def _report_line(report: Report) -> str:
    return _line(
        "report",
        report.session,
        f"sha256 {_hash(report.sha256)}",
        "controller pass" if report.passed else "",
        "half done" if report.half_done else "",
        "ready to deploy" if report.ready else "",
        "unchecked" if report.unchecked else "",
        "late" if report.late else "",
        *_spent(report.spent),
    )


def _line(word: str, first: str, *parts: str) -> str:
    return f"colony-{word}: " + " · ".join([escape(first), *(part for part in parts if part)])


def _host(host: str) -> str:
    return f"host {escape(host)}" if host else ""


def _ms(until_ms: int) -> str:
    return f"ms {digits(until_ms)}"


def _hash(sha256: str) -> str:
    if not re.fullmatch("[0-9a-f]{12}", sha256, re.ASCII):
        raise ValueError(f"not the first 12 hex digits of a hash: {sha256!r}")
    return sha256


def _reason(reason: str) -> str:
    if reason and not _WORDS.fullmatch(reason):
        raise ValueError(f"not the words of a reason for a machine line: {reason!r}")
    return f"reason {reason}" if reason else ""


def _spent(spent: Spent) -> list[str]:
    parts = []
    if spent.cost_cents is not None:
        parts.append(f"cost {digits(spent.cost_cents // 100)}.{spent.cost_cents % 100:02}")
    if spent.steps is not None:
        parts.append(f"steps {digits(spent.steps)}")
    if spent.progress is not None:
        parts.append(f"progress {'yes' if spent.progress else 'no'}")
    if spent.out_of_steps:
        parts.append("out of steps")
    if spent.lower_bound:
        parts.append("lower bound")
    return parts


# --- reading -------------------------------------------------------------------------------


class _Parts:
    """The parts of a line after its first one; unknown ones are left alone."""

    def __init__(self, parts: list[str]) -> None:
        self.first = unescape(parts[0])
        self._rest = parts[1:]

    def has(self, word: str) -> bool:
        return word in self._rest

    def value(self, name: str) -> str | None:
        start = f"{name} "
        return next((part[len(start) :] for part in self._rest if part.startswith(start)), None)

    def match(self, pattern: str) -> re.Match[str] | None:
        found = (re.fullmatch(pattern, part, re.ASCII) for part in self._rest)
        return next((one for one in found if one), None)

    @property
    def second(self) -> str:
        return self._rest[0] if self._rest else ""

    @property
    def host(self) -> str:
        return unescape(self.value("host") or "")

    @property
    def sha256(self) -> str | None:
        found = _HASH.fullmatch(self.value("sha256") or "")
        return found[1] if found else None

    @property
    def spent(self) -> Spent:
        cost = re.fullmatch(r"([0-9]{1,15})\.([0-9]{2})", self.value("cost") or "", re.ASCII)
        progress = self.value("progress")
        spent = Spent(
            cost_cents=int(cost[1]) * 100 + int(cost[2]) if cost else None,
            steps=whole(self.value("steps")),
            progress=progress == "yes" if progress in ("yes", "no") else None,
            out_of_steps=self.has("out of steps"),
            lower_bound=self.has("lower bound"),
        )
        return NOTHING_NOTED if spent == NOTHING_NOTED else spent


def parse(line: str) -> Marker | None:
    """The marker that this one line is, whoever wrote it; None for every other line."""
    line = line.strip()
    word, colon, rest = line.partition(": ")
    reader = _READERS.get(word)
    if colon and reader:
        parts = [part.strip() for part in rest.split(" · ")]
        return reader(_Parts(parts)) if parts[0] else None
    found = _V0.fullmatch(line)
    return LeaseLine(unescape(found[1]), unescape(found[2]), "started") if found else None


def _lease(parts: _Parts) -> Marker | None:
    resumed = parts.match(r"resumed(?: \(park ([0-9]{1,15})\))?")
    kind: LeaseWord | None = "resumed" if resumed else None
    kind = kind or next((word for word in _ONE_WORD if parts.has(word)), None)
    if kind is None:
        return None
    until_ms = None if kind in _ENDLESS else whole(parts.value("ms"))
    if until_ms is None and kind not in _ENDLESS and kind != "started":
        return None
    park = int(resumed[1] or 0) if resumed else 0
    return LeaseLine(parts.first, parts.host, kind, until_ms, park)


def _parked(parts: _Parts) -> Marker | None:
    until_ms, resume_ms = whole(parts.value("ms")), whole(parts.value("resume-ms"))
    if until_ms is None or resume_ms is None:
        return None
    phase = parts.value("phase")
    return Parked(
        parts.first,
        parts.host,
        "controller" if phase == "controller" else "worker",
        resume_ms,
        until_ms,
    )


def _expired(parts: _Parts) -> Marker | None:
    return LeaseExpired(parts.first, parts.host)


def _run(parts: _Parts) -> Marker | None:
    reason = parts.value("reason") or ""
    return Run(
        parts.first,
        parts.host,
        "given back" if parts.has("given back") else "no report",
        reason if _WORDS.fullmatch(reason) else "",
        parts.spent,
    )


def _report(parts: _Parts) -> Marker | None:
    sha256 = parts.sha256
    if sha256 is None:
        return None
    return Report(
        parts.first,
        sha256,
        passed=parts.has("controller pass"),
        half_done=parts.has("half done"),
        ready=parts.has("ready to deploy"),
        unchecked=parts.has("unchecked"),
        late=parts.has("late"),
        spent=parts.spent,
    )


def _verdict(parts: _Parts) -> Marker | None:
    if parts.has("none"):
        return NoVerdict(parts.first, parts.spent)
    count = parts.match("([0-9]{1,15}) of ([0-9]{1,15})")
    if not count or not parts.has("fail"):
        return None
    overruled = parts.has("overruled")
    return Verdict(parts.first, int(count[1]), int(count[2]), overruled, parts.spent)


def _deployed(parts: _Parts) -> Marker | None:
    sha256 = parts.sha256
    return Deployed(parts.first, sha256) if sha256 else None


def _keyword(parts: _Parts) -> Marker | None:
    event = whole(parts.first)
    return Handled(event, unescape(parts.second)) if event is not None and parts.second else None


def _retry(parts: _Parts) -> Marker | None:
    at_ms = unstamp(parts.first)
    return Retry(at_ms) if at_ms is not None else None


_READERS: Final[dict[str, Callable[[_Parts], Marker | None]]] = {
    "colony-lease": _lease,
    "colony-parked": _parked,
    "colony-lease-expired": _expired,
    "colony-run": _run,
    "colony-report": _report,
    "colony-verdict": _verdict,
    "colony-deployed": _deployed,
    "colony-keyword": _keyword,
    "colony-retry": _retry,
}
