"""What Prometheus is told: requests, and what the tracker holds."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from colony.tracker.pages import Counts

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The figures of one app, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "colony_requests",
            "Answered requests.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._durations = Histogram(
            "colony_request_seconds",
            "Time from a request to the end of its answer; waiting for events included.",
            ("route",),
            registry=self._registry,
        )
        self._tickets = Gauge(
            "colony_tickets", "Tickets by state.", ("state",), registry=self._registry
        )
        self._last_event = Gauge(
            "colony_last_event", "Id of the newest event.", registry=self._registry
        )
        self._running = Gauge(
            "colony_sessions_running", "Sessions that have not ended.", registry=self._registry
        )

        self._waiting = Gauge(
            "colony_requests_waiting", "Requests that wait for an event.", registry=self._registry
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._durations.labels(route).observe(seconds)

    def text(self, counts: Counts, waiting: int) -> bytes:
        """All of it in Prometheus' text form."""
        self._waiting.set(waiting)
        for state, number in counts.tickets.items():
            self._tickets.labels(state).set(number)
        self._last_event.set(counts.last_event)
        self._running.set(counts.running_sessions)
        return generate_latest(self._registry)
