"""How much memory a box holds, and whether that was too much: asked of its group, or looked up."""

from __future__ import annotations

import signal

from colony.core.endings import Exit
from colony.host.cgroup import Group
from colony.host.memory import oom_kills, shared_out_bytes, tree_bytes


class Holding:
    """Of one box. `limit`: bytes, 0 for none. Without a group all that the kernel killed on this
    machine while it ran is counted, and its own processes are looked at."""

    def __init__(self, group: Group | None, limit: int) -> None:
        self._group = group
        self._limit = limit
        self._kills_before = 0 if group else oom_kills()
        self._past = False
        self.peak_bytes = 0
        """Most that it was seen to hold, or what the kernel says where it ended it for that."""
        self.oom_kills = 0
        """Processes that were killed for want of memory."""

    @property
    def by(self) -> str:
        """Who counts, in a person's words."""
        return self._group.name if self._group else "looked at"

    def look(self, root: int) -> None:
        """`root`: the process with which the box ends."""
        if self._group is not None:
            self.peak_bytes = max(self.peak_bytes, self._group.held)
            return
        resident = tree_bytes(root)
        self.peak_bytes = max(self.peak_bytes, resident)
        if 0 < self._limit < resident:
            # What is shared was counted more than once.
            self._past = self._past or shared_out_bytes(root) > self._limit

    @property
    def too_much(self) -> bool:
        """It has grown past its limit: to be asked while it runs."""
        if self._group is not None and self._limit:
            self._count(self._group.kills)
        return bool(self._limit) and (self._past or bool(self._group and self.oom_kills))

    def end(self) -> None:
        """It has ended: what is known of it by then stays so."""
        self._count(self._group.kills if self._group else oom_kills() - self._kills_before)

    def ran_out(self, exit_: Exit) -> bool:
        """It ended for want of memory. Without a limit of its own only where that took the agent:
        others are killed by what they start themselves."""
        if self._group is not None and self._limit:
            return self._past or self.oom_kills > 0
        return self._past or (self.oom_kills > 0 and exit_.signal == signal.SIGKILL)

    def _count(self, kills: int) -> None:
        self.oom_kills = max(self.oom_kills, kills)
        if self._group is not None and kills:
            self.peak_bytes = max(self.peak_bytes, self._group.most)
