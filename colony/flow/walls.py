"""What the agents of a session see of this machine: gathered from its facts, project and agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.coding.protocol import CodingAgent, PartFolders, Places
from colony.core.protected import protected
from colony.host.boxes import Trial
from colony.host.launch import Command
from colony.host.proof import Proof
from colony.host.protection import Guarded
from colony.host.view import Wanted

NOWHERE: Final = Path("/nonexistent")
NOTHING: Final = Path("/dev/null")
GIT_CONFIG: Final = ".gitconfig"
SSH: Final = ".ssh"
EMPTY: Final = "empty"
"""The file that is seen in the place of each covered one; no agent sees it under this name."""
HIDDEN: Final = frozenset({"session.json", "lock", "home", "tmp", EMPTY})
"""Of a run folder that may be read: what nobody who works in a box needs. Each of the others is
shown by itself: a cover would fall off as soon as the file under it is written anew."""


@dataclass(frozen=True, slots=True)
class Walls:
    """What operator and registry say of the boxes of a project's sessions."""

    user_home: Path
    read: tuple[Path, ...] = ()
    secrets: tuple[Path, ...] = ()
    """Folders and files that no agent may see, wherever they lie."""
    writable: tuple[str, ...] = ()
    userns: bool = False
    live: Path | None = None
    """The folder of the live site, for a session with the deploy mark."""


@dataclass(frozen=True, slots=True)
class Room:
    """The folders that a part has of its own, and whose part it is."""

    folder: Path
    """Where it works."""
    own: PartFolders
    home: Path
    """Seen as the user's home folder."""
    empty_file: Path
    read: tuple[Path, ...] = ()
    """Run folders that it may read."""
    deploy: bool = False


def wanted_of(walls: Walls, room: Room, places: Places) -> Wanted:
    """What a part's box has to show and to hide."""
    config, tmp, deploys = room.own.config, room.own.tmp, room.deploy
    git_config, ssh = walls.user_home / GIT_CONFIG, walls.user_home / SSH
    live = (walls.live,) if deploys and walls.live is not None else ()
    kept = (path for run in room.read for path in shown_of(run))
    own = ((config / name, at) for name, at in places.own if (config / name).exists())
    fixed = (Guarded(folder, names) for folder, names in places.fixed)
    return Wanted(
        folder=room.folder,
        read=(*walls.read, *places.read, *kept, git_config, *((ssh,) if deploys else ())),
        write=(*places.write, config, tmp, *live),
        guarded=(Guarded(room.folder, protected(walls.writable)), *fixed),
        own=((room.home, walls.user_home), (tmp, Path("/tmp")), *own),  # noqa: S108
        secrets=walls.secrets,
        user_home=walls.user_home,
        empty_file=room.empty_file,
        userns=walls.userns,
    )


def shown_of(run: Path) -> tuple[Path, ...]:
    """What others may read of a run folder; nothing of one that is gone."""
    try:
        return tuple(path for path in run.iterdir() if path.name not in HIDDEN)
    except OSError:
        return ()


def proof_of(walls: Walls, agent: CodingAgent) -> Proof:
    return Proof(program=agent.program, secrets=walls.secrets)


@dataclass(frozen=True, slots=True)
class Tried:
    """Whose box is tried out, before there is a session: the agent, where it would work, Colony's
    environment, and what of it a part would see."""

    agent: CodingAgent
    works_in: Path
    environ: Mapping[str, str]
    env: Mapping[str, str]


def seen_by(walls: Walls, tried: Tried, *, deploy: bool) -> Wanted:
    """What a worker would see, but for what a session has of its own."""
    return replace(
        wanted_of(
            walls,
            Room(tried.works_in, PartFolders(NOWHERE, NOWHERE), NOWHERE, NOTHING, deploy=deploy),
            tried.agent.places(tried.environ),
        ),
        own=(),
    )


def trial_in(folder: Path, walls: Walls, tried: Tried) -> Trial:
    """A box as this agent would get it; all that would be its own lies in `folder`."""
    agent, works_in = tried.agent, tried.works_in
    home, config, tmp = (folder / name for name in ("home", "agent", "tmp"))
    for each in (home, config, tmp):
        each.mkdir()
    (folder / EMPTY).touch()
    room = Room(works_in, PartFolders(config, tmp), home, folder / EMPTY)
    command = Command(
        argv=(agent.program,),
        env=tried.env,
        cwd=works_in.resolve(),
        stdin=NOTHING,
        stdout=folder / "out",
        stderr=folder / "err",
    )
    wanted = wanted_of(walls, room, agent.places(tried.environ))
    return Trial(wanted, command, proof_of(walls, agent))
