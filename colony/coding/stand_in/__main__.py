"""The stand-in as a program; its options and script are described in the package."""

from __future__ import annotations

import os
import signal
import sys
from typing import Final, NoReturn

from colony.coding.stand_in.actions import play
from colony.coding.stand_in.run import Run, fail
from colony.coding.stand_in.script import Object, load
from colony.coding.stand_in.usage import print_usage

VALUED: Final = {
    "--output-format", "--json-schema", "--session-id", "--resume", "--model", "--max-turns",
    "--permission-mode", "--permission-prompts", "--setting-sources", "--max-budget-usd",
    "--stand-in-script", "--stand-in-home",
}  # fmt: skip
USAGE: Final = "/usage"
BARE: Final = {"-p", "--print", "--verbose", "--strict-mcp-config", USAGE}
MANY: Final = {"--allowedTools", "--disallowedTools"}


def main(arguments: list[str]) -> NoReturn:
    options = parse(arguments)
    try:
        script = load(options.get("--stand-in-script") or os.environ.get("COLONY_STAND_IN_SCRIPT"))
        if USAGE in options:
            print_usage(script)
        run = Run(options, script, sys.stdin.buffer.read().decode("utf-8", "replace"))
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        fail(f"stand-in: {error}")
    signal.signal(signal.SIGTERM, run.terminated)
    run.begin()
    play(run, run.actions())
    run.end({"result": "Nothing more to do."}, 0)


def parse(arguments: list[str]) -> Object:
    options: Object = {}
    left = list(arguments)
    while left:
        name = left.pop(0)
        if name in BARE:
            options[name] = True
        elif name in VALUED and left:
            options[name] = left.pop(0)
        elif name in MANY:
            while left and not left[0].startswith("--"):
                options.setdefault(name, []).append(left.pop(0))
        else:
            fail(f"error: unknown option '{name}'")
    taken = "json" if USAGE in options else "stream-json"
    if options.get("--output-format") != taken:
        fail(f"stand-in: only --output-format {taken}")
    return options


if __name__ == "__main__":
    main(sys.argv[1:])
