"""Copies of a database: taken while others read and write, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from colony.errors import Refused, Unreachable
from colony.tracker.sql import dialect
from colony.tracker.sql.files import open_file

PRIVATE: Final = 0o600


def copy(path: Path, target: Path, timeout_s: float) -> int:
    """Write a copy of the database at `path` to the new file `target` (0600); its bytes.

    `Refused`: the target exists. The copy is checked before it gets its name. It is a store of its
    own: what is written to it later is not taken for what the first one wrote meanwhile.
    """
    if target.exists() or target.is_symlink():
        raise Refused(f"{target} exists: a copy never replaces a file")
    engine = open_file(path, create=False, timeout_s=timeout_s)
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        with dialect.told(str(path)):
            engine.connection().execute("VACUUM INTO ?", (str(new),))
        new.chmod(PRIVATE)
        copied = open_file(new, create=False, timeout_s=timeout_s)
        try:
            with copied.writing() as db:
                db.run("store_renew")
        finally:
            copied.close()
        os.link(new, target)
        return target.stat().st_size
    except FileExistsError:
        raise Refused(f"{target} exists: a copy never replaces a file") from None
    except OSError as error:
        raise Unreachable(f"cannot write {target}: {error.strerror}") from error
    finally:
        engine.close()
        new.unlink(missing_ok=True)
