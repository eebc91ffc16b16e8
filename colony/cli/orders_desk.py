"""What `pause`, `resume` and `stop` share: the control folder, and the home it lies in."""

from __future__ import annotations

import time

from colony.cli.verb import Context
from colony.errors import Refused
from colony.flow.orders import Desk
from colony.host.clock import SystemClock
from colony.host.control import Control


def control_of(context: Context) -> Control:
    """`Refused`: there is no such home, and a pause in it would hold nothing."""
    home = context.settings.place.home
    if not home.is_dir():
        raise Refused(f"there is no home folder {home}")
    return Control(home)


def desk_of(context: Context) -> Desk:
    place = context.settings.place
    return Desk(place.runs_dir, control_of(context), SystemClock().wall_ms, time.sleep)
