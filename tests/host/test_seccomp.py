"""The filter of system calls: its numbers, and what it does to a program in a real box."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from colony.host.box import Hardening, Namespaces
from colony.host.process import spawn
from colony.host.seccomp import MACHINES, TIOCLINUX, TIOCSTI, filter_of
from tests.host.conftest import Parts, namespaces, skip_or_fail

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
CALLS = MACHINES[os.uname().machine].calls if os.uname().machine in MACHINES else {}
BY_ARGUMENT = {"ioctl", "clone", "unshare"}
CALL = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(*map(int, sys.argv[1:])), ctypes.get_errno())
"""


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"{header} (linux-libc-dev) is not installed")
    text = header.read_text()
    kernels = {
        name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", text)
    }
    for name, number in MACHINES[machine].calls.items():
        known = kernels.get(name, kernels.get(f"3264_{name}"))
        if known is not None:
            assert number == known, name
    assert sum(name in kernels for name in MACHINES[machine].calls) > 30


def test_a_machine_whose_numbers_are_unknown_has_no_filter() -> None:
    assert filter_of(userns=False, machine="sparc") == b""


@pytest.fixture
def hard(tmp_path: Path) -> Iterator[Parts]:
    """Parts in a box with the filter."""
    if not CALLS:
        skip_or_fail("the numbers of this machine's system calls are not known")
    made = Parts(tmp_path, namespaces())
    yield made
    for running in made.running:
        running.kill()


def answer(parts: Parts, *words: int) -> tuple[int, int]:
    """What a system call returns in there, and its error."""
    command = parts.command('exec python3 -c "$@"', CALL, *map(str, words))
    with spawn(command, parts.containment) as running:
        running.go()
        assert running.wait(20) is not None
    said = parts.out.read_text().split()
    assert len(said) == 2, parts.err.read_text()
    parts.out.unlink()
    return int(said[0]), int(said[1])


@pytest.mark.parametrize("name", sorted(CALLS.keys() - BY_ARGUMENT))
def test_a_denied_call_is_refused(hard: Parts, name: str) -> None:
    result, error = answer(hard, CALLS[name], 0, 0, 0, 0, 0)
    expected = errno.ENOSYS if name.startswith(("io_uring", "clone3")) else errno.EPERM
    assert (result, error) == (-1, expected)


def test_no_user_namespace_can_be_made(hard: Parts) -> None:
    assert answer(hard, CALLS["unshare"], 0x10000000) == (-1, errno.EPERM)
    assert answer(hard, CALLS["clone"], 0x10000000 | 17, 0) == (-1, errno.EPERM)


def test_nothing_is_typed_into_a_terminal(hard: Parts) -> None:
    for request in (TIOCSTI, TIOCLINUX):
        assert answer(hard, CALLS["ioctl"], 0, request, 0) == (-1, errno.EPERM)
    assert answer(hard, CALLS["ioctl"], 0, 0x5401, 0)[1] == errno.ENOTTY, "another one is asked"


def test_namespaces_inside_are_for_those_who_need_them(hard: Parts) -> None:
    box = hard.containment
    assert isinstance(box, Namespaces)
    nested = replace(box, hardening=Hardening(filter_of(userns=True), nested=True))
    assert answer(replace(hard, containment=nested), CALLS["unshare"], 0x10000000) == (0, 0)


def test_ordinary_programs_run(hard: Parts) -> None:
    script = (
        "python3 -c 'import threading; t = threading.Thread(target=print); t.start(); t.join()'"
    )
    with spawn(hard.command(f"{script} && git --version && ls / >/dev/null && echo fine"),
               hard.containment) as running:  # fmt: skip
        running.go()
        running.wait(20)
    assert hard.out.read_text().endswith("fine\n"), hard.err.read_text()
