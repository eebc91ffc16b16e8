"""The record of the session that this process holds: what is on disk is what is in hand."""

from __future__ import annotations

from colony.core.codec import to_json
from colony.core.session import Facts
from colony.flow.bench import Bench
from colony.flow.news import News


class Record:
    """`facts` are those last written; who looks at the tracker hears of each change."""

    def __init__(self, bench: Bench, facts: Facts) -> None:
        self.bench = bench
        self.facts = facts
        self.news = News(bench)

    def save(self, facts: Facts) -> None:
        """Write the facts down; from here on they are what the session is."""
        record = to_json(facts)
        assert isinstance(record, dict)
        self.bench.place.folder.save_json(record)
        self.facts = facts
        self.news.changed(facts)
