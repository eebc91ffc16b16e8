"""Machine lines: what is written comes back, old lines still parse, nobody else's count."""

from __future__ import annotations

import pytest
from histories import HOST, S1, SHA
from hypothesis import given
from hypothesis import strategies as st

from colony.core.endings import Ending
from colony.core.markers import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Spent,
    Verdict,
    defuse,
    forged,
    format,
    is_session_id,
    marker_of,
    parse,
    utc,
)
from colony.core.ticket import Event

LITERAL: dict[str, Marker] = {
    f"colony-lease: {S1} · host oak · started · ms 1790000000000": LeaseLine(
        S1, HOST, "started", 1790000000000
    ),
    f"colony-lease: {S1} · host oak · renewed · ms 5": LeaseLine(S1, HOST, "renewed", 5),
    f"colony-lease: {S1} · host oak · resumed (park 2) · ms 5": LeaseLine(
        S1, HOST, "resumed", 5, park=2
    ),
    f"colony-lease: {S1} · host oak · salvage · ms 5": LeaseLine(S1, HOST, "salvage", 5),
    f"colony-lease: {S1} · queued": LeaseLine(S1, "", "queued"),
    f"colony-lease: {S1} · host oak · claimed": LeaseLine(S1, HOST, "claimed"),
    f"colony-parked: {S1} · host oak · phase controller · resume-ms 7 · ms 9": Parked(
        S1, HOST, "controller", 7, 9
    ),
    f"colony-lease-expired: {S1} · host oak": LeaseExpired(S1, HOST),
    f"colony-run: {S1} · host oak · no report": Run(S1, HOST, "no report"),
    f"colony-run: {S1} · host oak · no report · reason out of steps · cost 1.84 · steps 40 "
    "· progress no": Run(
        S1, HOST, "no report", Ending.OUT_OF_STEPS, Spent(184, 40, progress=False)
    ),
    f"colony-run: {S1} · host oak · given back · reason crashed": Run(
        S1, HOST, "given back", Ending.CRASHED
    ),
    f"colony-report: {S1} · sha256 {SHA}": Report(S1, SHA),
    f"colony-report: {S1} · sha256 {SHA} · controller pass": Report(S1, SHA, passed=True),
    f"colony-report: {S1} · sha256 {SHA} · controller pass · half done": Report(
        S1, SHA, passed=True, half_done=True
    ),
    f"colony-report: {S1} · sha256 {SHA} · controller pass · ready to deploy "
    "· cost 0.05 · steps 4 · progress yes": Report(
        S1, SHA, passed=True, ready=True, spent=Spent(5, 4, progress=True)
    ),
    f"colony-report: {S1} · sha256 {SHA} · unchecked": Report(S1, SHA, unchecked=True),
    f"colony-report: {S1} · sha256 {SHA} · late": Report(S1, SHA, late=True),
    f"colony-verdict: {S1} · fail · 1 of 2": Verdict(S1, 1, 2),
    f"colony-verdict: {S1} · fail · 2 of 2 · overruled": Verdict(S1, 2, 2, overruled=True),
    f"colony-verdict: {S1} · none": NoVerdict(S1),
    f"colony-deployed: {S1} · sha256 {SHA}": Deployed(S1, SHA),
    "colony-keyword: 77 · hold": Handled(77, "hold"),
    "colony-retry: 2026-01-31T18:19:00.500Z": Retry(1769883540500),
}


@pytest.mark.parametrize("text", LITERAL)
def test_each_line_is_written_and_read_in_its_exact_form(text: str) -> None:
    assert format(LITERAL[text]) == text
    assert parse(text) == LITERAL[text]


OLD: dict[str, Marker] = {
    f"session {S1} started on Oak": LeaseLine(S1, "Oak", "started"),
    f"colony-parked: {S1} · host oak · phase worker · claude 0b8f1d6e-1111-4222-8333-944445555666 "
    "· resume after 2026-09-24T18:19:00.000Z · resume-ms 7 · lease until "
    "2026-09-24T20:19:00.000Z · ms 9": Parked(S1, HOST, "worker", 7, 9),
    f"colony-lease-expired: {S1}": LeaseExpired(S1, ""),
    f"colony-lease: {S1} · host oak · resumed · ms 5": LeaseLine(S1, HOST, "resumed", 5),
    f"colony-report: {S1} · sha256 {SHA}{'c' * 52}": Report(S1, SHA),
    "colony-keyword: 77 · /hold": Handled(77, "/hold"),
    "colony-retry: 2026-01-31T18:19Z": Retry(1769883540000),
    f"  colony-lease: {S1}  ·  host oak · started · ms 5\t": LeaseLine(S1, HOST, "started", 5),
    f"colony-lease: {S1} · host 100% · started · ms 5": LeaseLine(S1, "100%", "started", 5),
    f"colony-report: {S1} · sha256 {SHA} · from the future · cost lots": Report(S1, SHA),
    f"colony-run: {S1} · host oak · no report · reason BAD weather!": Run(S1, HOST, "no report"),
}


@pytest.mark.parametrize("text", OLD)
def test_old_lines_and_unknown_parts_still_parse(text: str) -> None:
    assert parse(text) == OLD[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "colony-lease:",
        "colony-lease: ",
        "colony-lease:  · host oak · renewed · ms 5",
        f"colony-lease: {S1}",
        f"colony-lease: {S1} · host oak · renewed",
        f"colony-lease: {S1} · host oak · renewed · ms never",
        f"colony-lease: {S1} · host oak · renewed · ms -5",
        f"colony-lease: {S1} · host oak · renewed · ms ١٢",
        f"colony-lease: {S1} · host oak · renewed · ms {'9' * 16}",
        f"colony-parked: {S1} · host oak · phase worker · ms 9",
        f"colony-report: {S1} · sha256 xyz",
        f"colony-report: {S1} · sha256 {SHA.upper()}",
        f"colony-verdict: {S1} · pass",
        f"colony-verdict: {S1} · fail · many of 2",
        f"colony-deployed: {S1}",
        "colony-keyword: hold",
        "colony-keyword: 7",
        "colony-retry: yesterday",
        "colony-retry: 2026-02-31T18:19:00Z",
        "colony-deploy: yes",
        f"Colony-Lease: {S1} · host oak · renewed · ms 5",
        f"see colony-lease: {S1} · host oak · renewed · ms 5",
        f"> colony-lease: {S1} · host oak · renewed · ms 5",
        f"session {S1} started on oak today",
    ],
)
def test_what_is_no_machine_line_is_none(text: str) -> None:
    assert parse(text) is None


names = st.text(min_size=1, max_size=40)
hosts = st.text(max_size=40)
numbers = st.integers(0, 10**15 - 1)
hashes = st.text("0123456789abcdef", min_size=12, max_size=12)
spents = st.builds(
    Spent,
    st.none() | st.integers(0, 10**12),
    st.none() | numbers,
    st.none() | st.booleans(),
    st.booleans(),
    st.booleans(),
)
markers: st.SearchStrategy[Marker] = st.one_of(
    st.builds(LeaseLine, names, hosts, st.sampled_from(["started", "renewed", "salvage"]), numbers),
    st.builds(LeaseLine, names, hosts, st.just("resumed"), numbers, numbers),
    st.builds(LeaseLine, names, hosts, st.sampled_from(["queued", "claimed"])),
    st.builds(Parked, names, hosts, st.sampled_from(["worker", "controller"]), numbers, numbers),
    st.builds(LeaseExpired, names, hosts),
    st.builds(
        Run,
        names,
        hosts,
        st.sampled_from(["no report", "given back"]),
        st.just("") | st.sampled_from(Ending),
        spents,
    ),
    st.builds(
        Report,
        names,
        hashes,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        spents,
    ),
    st.builds(Verdict, names, numbers, numbers, st.booleans(), spents),
    st.builds(NoVerdict, names, spents),
    st.builds(Deployed, names, hashes),
    st.builds(Handled, numbers, names),
    st.builds(Retry, st.integers(0, 253_402_300_799_999)),
)


@given(markers)
def test_parse_of_format_gives_the_marker_back(marker: Marker) -> None:
    text = format(marker)
    assert parse(text) == marker
    assert len(text.splitlines()) == 1
    assert text.isascii() or text.replace("·", "").isascii()


@given(st.text() | st.builds("colony-lease: {} · {}".format, st.text(), st.text()))
def test_parse_takes_anything(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    "marker",
    [
        LeaseLine("", HOST, "started", 5),
        LeaseLine(S1, HOST, "started"),
        LeaseLine(S1, HOST, "queued", 5),
        LeaseLine(S1, HOST, "renewed", 5, park=1),
        LeaseLine(S1, HOST, "renewed", -1),
        LeaseLine(S1, HOST, "renewed", 10**15),
        Run(S1, HOST, "no report", "bad · late"),
        Report(S1, "short"),
        Report(S1, SHA + "c" * 52),
        Retry(-1),
        Retry(253_402_300_800_000),
    ],
)
def test_what_no_line_can_hold_is_refused_when_it_is_written(marker: Marker) -> None:
    with pytest.raises(ValueError, match=r"machine line|lease line|park|hash"):
        format(marker)


def test_odd_names_cannot_add_parts() -> None:
    odd = "my host · ms 1\ncolony-report: x"
    text = format(LeaseLine(S1, odd, "renewed", 5))
    assert text == (
        f"colony-lease: {S1} · host my%20host%20%C2%B7%20ms%201%0Acolony-report:%20x"
        " · renewed · ms 5"
    )
    assert parse(text) == LeaseLine(S1, odd, "renewed", 5)


# --- whose lines count -----------------------------------------------------------------------

RENEWED = f"colony-lease: {S1} · host oak · renewed · ms 5"


def event(text: str, *, machine: bool = True, kind: str = "comment") -> Event:
    return Event(1, kind, "colony", "u0", machine, 0, text)  # type: ignore[arg-type]


def test_a_machine_line_counts_only_in_a_machines_event() -> None:
    assert marker_of(event(RENEWED)) == LeaseLine(S1, HOST, "renewed", 5)
    assert marker_of(event(RENEWED, machine=False)) is None


def test_a_machine_line_counts_only_as_the_last_line() -> None:
    assert marker_of(event(f"Still at work.\n\n{RENEWED}\n \n")) is not None
    assert marker_of(event(f"{RENEWED}\nand more")) is None
    assert marker_of(event("")) is None
    assert marker_of(event("\n\n")) is None


@pytest.mark.parametrize("kind", ["created", "edit", "link", "member", "file"])
def test_a_machine_line_counts_only_in_comments_and_state_changes(kind: str) -> None:
    assert marker_of(event(RENEWED, kind=kind)) is None
    assert marker_of(event(RENEWED, kind="state")) is not None


foreign_lines = st.lists(
    st.text(max_size=20)
    | st.sampled_from([*LITERAL, *OLD, "colony-deploy: yes", "\x1f" + RENEWED, " > x"]),
    max_size=6,
)
breaks = st.sampled_from(["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])


@given(foreign_lines, breaks)
def test_no_line_of_a_defused_text_is_a_machine_line(lines: list[str], between: str) -> None:
    text = between.join(lines)
    safe = defuse(text)
    assert not forged(safe)
    assert all(parse(line) is None for line in safe.splitlines())
    assert marker_of(event(safe)) is None
    assert defuse(safe) == safe


@given(st.text())
def test_defuse_leaves_harmless_text_as_it_is(text: str) -> None:
    if all(parse(line) is None for line in text.splitlines()) and not forged(text):
        assert defuse(text) == text


def test_defuse_shows_what_it_changed_and_nothing_else() -> None:
    assert defuse(f"hello\r\n  {RENEWED}\nbye") == f"hello\r\n  > {RENEWED}\nbye"
    assert defuse(f"session {S1} started on oak") == f"> session {S1} started on oak"
    assert defuse("the colony-lease: line") == "the colony-lease: line"


def test_session_ids() -> None:
    assert is_session_id(S1)
    for bad in ("s-20260101T0900-00000A", "s-20260101T0900-00000", "../etc", f"{S1}\n", ""):
        assert not is_session_id(bad)


def test_times_for_people() -> None:
    assert utc(1769883540500) == "2026-01-31 18:19 UTC"
    assert utc(10**18) == f"{10**18} ms"
