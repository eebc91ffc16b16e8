"""What holds for every test: how patient the generated ones are."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Times on a busy machine mean nothing: no single example fails for how long it took. The rest is
# Hypothesis's own choice, which differs in CI.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")
