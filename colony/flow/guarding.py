"""What a part must leave as it is: kept on record before it, put right after it, whoever is left to
do that."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from colony.coding.protocol import Places
from colony.core.lines import Json
from colony.core.strict_json import Problems, load_json
from colony.errors import ColonyError
from colony.host.boxes import Boxes
from colony.host.files import read_bytes
from colony.host.journal import RunFolder
from colony.host.protection import Guarded

NOTE: Final = "guarded.json"
NOTE_MAX: Final = 256 * 1024
COPY_MAX: Final = 64 * 1024 * 1024
CONFIG: Final = "agent"


def make_own(folder: RunFolder, places: Places) -> None:
    """Make what the session has in the place of others: folders, and copies of files."""
    copied = {name for _, name in places.copies}
    for name, _ in places.own:
        if name not in copied:
            folder.folder(f"{CONFIG}/{name}")
    for source, name in places.copies:
        if not (folder.path / CONFIG / name).exists():
            found = read_bytes(source, COPY_MAX)
            if found is not None:
                folder.write(f"{CONFIG}/{name}", found)


def note(boxes: Boxes, folder: RunFolder, part: str, guarded: Iterable[Guarded]) -> None:
    """Write down how these places are."""
    record = [
        {"folder": str(each.folder), "places": list(each.places), "states": boxes.states(each)}
        for each in guarded
    ]
    folder.write(f"{part}/{NOTE}", json.dumps(record).encode())


def undone(boxes: Boxes, folder: RunFolder, part: str) -> tuple[str, ...]:
    """Put right what the part changed of them, in a person's words; nothing is known of a part that
    had no box."""
    try:
        found = folder.read(f"{part}/{NOTE}", NOTE_MAX)
    except ColonyError as error:
        return (f"what it left for others to run is not known: {error.line}",)
    record = load_json(found.decode("utf-8", "replace"), NOTE_MAX) if found is not None else []
    if isinstance(record, Problems):
        return (f"what it left for others to run is not known: {record.lines[0]}",)
    told: list[str] = []
    for guarded, states in _read(record):
        told += boxes.undo(guarded, states)
    return tuple(told)


def _read(record: Json) -> Iterable[tuple[Guarded, dict[str, str]]]:
    for each in record if isinstance(record, list) else ():
        assert isinstance(each, dict)
        places, states = each["places"], each["states"]
        assert isinstance(places, list)
        assert isinstance(states, dict)
        named = tuple(str(place) for place in places)
        yield (
            Guarded(Path(str(each["folder"])), named),
            {name: str(state) for name, state in states.items()},
        )
