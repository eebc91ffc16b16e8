#!/bin/sh
# Makes Colony's environment if it is missing or out of date, then becomes `colony "$@"`.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
venv=$here/.venv
case ${1-} in test | bench | simulate) lock=requirements-dev.lock ;; *) lock=requirements.lock ;; esac

fresh() { cmp -s "$here/$1" "$venv/$1"; }

if ! fresh "$lock" && ! fresh requirements-dev.lock; then
  python=${COLONY_PYTHON-}
  for candidate in python3.11 python3.12 python3.13 python3; do
    [ -n "$python" ] && break
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && python=$candidate
  done
  [ -n "$python" ] || { echo "colony: Python 3.11 or newer is needed (set COLONY_PYTHON)" >&2; exit 4; }
  echo "colony: making the environment in $venv (once)" >&2
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || {
    echo "colony: $python cannot make an environment; install its venv package" >&2; exit 4; }
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --require-hashes -r "$here/$lock" >&2 || { echo "colony: could not install $lock" >&2; exit 4; }
  "$venv/bin/python" - "$here" <<'PY'
import pathlib, sys, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "colony.pth").write_text(sys.argv[1] + "\n")
PY
  cp "$here/$lock" "$venv/$lock"
fi
exec "$venv/bin/python" -m colony "$@"
