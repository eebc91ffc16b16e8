"""The nearest known word to one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 64
"""Longer words are nobody's slip of the finger, and comparing them costs."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was most likely meant to be; case does not matter."""
    if len(word) > LONGEST:
        return None
    by_folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def hint(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)`, to be put behind a refusal; empty where nothing is near."""
    found = nearest(word, known)
    return f" (did you mean {found}?)" if found else ""
