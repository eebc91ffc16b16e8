"""`python -m colony`, and the entry of the installed program."""

from __future__ import annotations

import sys

from colony.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
