"""Clock, chance and token of a client, moved by hand: a pause takes no time."""

from __future__ import annotations

from dataclasses import dataclass, field

from colony.tracker.http.client import Http, Patience, Surroundings


@dataclass
class HandClock:
    """Seconds that pass only when somebody waits."""

    s: float = 1000.0
    waited: list[float] = field(default_factory=list)

    def wall_ms(self) -> int:
        return round(self.s * 1000)

    def boot_s(self) -> float:
        return self.s

    def pause(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.s += seconds


@dataclass
class HandToken:
    """A token that changes when a test says so."""

    now: str | None = "tkt_one"
    swapped: str | None = None
    """What the file holds once the first one was not accepted."""
    name: str = "COLONY_TOKEN_FILE /etc/token"

    def secret(self, *, again: bool = False) -> str | None:
        if again and self.swapped is not None:
            self.now = self.swapped
        return self.now


SHORT = Patience(connect_s=2.0, read_s=0.2)


def client_to(
    url: str,
    clock: HandClock | None = None,
    token: HandToken | None = None,
    patience: Patience = SHORT,
    user_agent: str = "colony/test",
) -> Http:
    used = clock or HandClock()
    return Http(
        url,
        token=token or HandToken(),
        user_agent=user_agent,
        around=Surroundings(used, lambda: 0.5, used.pause),
        patience=patience,
    )
