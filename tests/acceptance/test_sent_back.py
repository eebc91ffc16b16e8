"""A worker that lies is found out, twice; then a person is asked."""

from __future__ import annotations

import json

from tests.acceptance.conftest import Colony

LIE = {
    "result": "There is a total.",
    "complete": True,
    "test": ["Open total.txt.", "Read 370."],
    "done": ["wrote total.txt"],
    "verified": [{"claim": "the total is 370", "command": "cat total.txt", "output": "370"}],
}


def test_a_lie_is_sent_back_and_the_second_one_asks(shop: Colony) -> None:
    script = shop.home / "lie.json"
    script.write_text(json.dumps({"work": [{"answer": LIE}]}))
    shop.environ |= {"COLONY_AGENT": "stand-in", "COLONY_STAND_IN_SCRIPT": str(script)}

    first = shop("work", "shop", "1", "--post")
    assert first.code == 1, first
    assert first.told("VERDICT: FAIL")
    assert first.lines[-1] == "WORK FAILED — shop#1 was sent back: its check failed"
    shown = shop.shown()
    assert shown[0]["state"] == "open"
    said = "\n".join(each["text"] for each in shown)
    assert "Not true: the total is 370" in said
    assert "colony-verdict:" in said
    assert "colony-report:" not in said, "nobody is told that it is done"

    # The next worker reads what the check found.
    again = shop("brief", "shop", "1", "--out", str(shop.home / "brief.md"))
    assert again.code == 0, again
    assert "Not true: the total is 370" in (shop.home / "brief.md").read_text()

    second = shop("work", "shop", "1", "--post")
    assert second.code == 1, second
    assert second.told("POSTED question shop#2")
    assert second.lines[-1].endswith("its creator is asked: shop#2")
    ticket, question = shop.shown(1)[0], shop.shown(2)[0]
    assert (ticket["state"], ticket["children"]) == ("pending", ["shop#2"])
    assert (question["state"], question["parent"]) == ("pending", "shop#1")
    assert shop("work", "shop", "1", "--post").code == 3
    assert len(shop.runs) == 2

    # Only a person's word goes on from here.
    assert shop("next").lines[0] == "NEXT: nothing to do"
