"""The system calls that nothing in a box may make: a filter for the kernel (faults T7, F78).

A denylist: an ordinary program never misses what is on it. Each call is refused as the kernel would
where it is not allowed or not there, so that whoever has another way takes it. Calls of another
architecture than the machine's own are refused whole, since their numbers mean something else.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

CLONE_NEWUSER: Final = 0x10000000
TIOCSTI: Final = 0x5412
"""Types into the terminal, as if its user had."""
TIOCLINUX: Final = 0x541C
"""The same for a console."""

_X86_64: Final[dict[str, int]] = {
    "ioctl": 16, "clone": 56, "ptrace": 101, "pivot_root": 155, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "iopl": 172,
    "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179, "kexec_load": 246,
    "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
    "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "finit_module": 313,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}  # fmt: skip
_AARCH64: Final[dict[str, int]] = {
    "ioctl": 29, "clone": 220, "ptrace": 117, "pivot_root": 41, "acct": 89, "settimeofday": 170,
    "mount": 40, "umount2": 39, "swapon": 224, "swapoff": 225, "reboot": 142, "init_module": 105,
    "delete_module": 106, "quotactl": 60, "kexec_load": 104, "add_key": 217, "request_key": 218,
    "keyctl": 219, "unshare": 97, "perf_event_open": 241, "setns": 268, "process_vm_readv": 270,
    "process_vm_writev": 271, "finit_module": 273, "kexec_file_load": 294, "bpf": 280,
    "userfaultfd": 282,
}  # fmt: skip
_EVERYWHERE: Final[dict[str, int]] = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442,
}  # fmt: skip
_BY_ARGUMENT: Final = frozenset({"ioctl", "clone", "unshare"})
_NOT_THERE: Final = frozenset({"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"})
"""Programs try these and go on without; `clone3` would hide its flags from a filter."""


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    """AUDIT_ARCH_* of linux/audit.h."""
    calls: Mapping[str, int]
    others_from: int | None
    """From this number on calls are of a second set (x32)."""


MACHINES: Final[Mapping[str, _Machine]] = {
    "x86_64": _Machine(0xC000003E, _X86_64 | _EVERYWHERE, 0x40000000),
    "aarch64": _Machine(0xC00000B7, _AARCH64 | _EVERYWHERE, None),
}
"""By `uname -m`. Elsewhere there is no filter; namespaces and dropped capabilities hold."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""linux/bpf_common.h: BPF_LD|W|ABS, BPF_JMP|{JEQ,JGE,JSET}|K, BPF_RET|K."""
_NUMBER, _ARCH, _ARG0, _ARG1 = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`; of an argument its low half (little-endian)."""
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000


def filter_of(*, userns: bool, machine: str | None = None) -> bytes:
    """The filter as an array of `struct sock_filter`; empty where this machine's numbers are not
    known. `userns`: user namespaces of its own are allowed."""
    known = MACHINES.get(machine or os.uname().machine)
    if known is None:
        return b""
    denied = _ERRNO | errno.EPERM
    missing = _ERRNO | errno.ENOSYS
    out = [_step(_LOAD, _ARCH), _step(_EQUAL, known.audit, 1, 0), _step(_RETURN, missing)]
    out.append(_step(_LOAD, _NUMBER))
    if known.others_from is not None:
        out += [_step(_AT_LEAST, known.others_from, 0, 1), _step(_RETURN, missing)]
    for name, number in known.calls.items():
        if name in _BY_ARGUMENT or (userns and name == "clone3"):
            continue
        answer = missing if name in _NOT_THERE else denied
        out += [_step(_EQUAL, number, 0, 1), _step(_RETURN, answer)]
    if not userns:
        for name in ("clone", "unshare"):
            out += _where(known.calls[name], _ARG0, (_step(_ANY_BIT, CLONE_NEWUSER, 0, 1),), denied)
    for request in (TIOCSTI, TIOCLINUX):
        out += _where(known.calls["ioctl"], _ARG1, (_step(_EQUAL, request, 0, 1),), denied)
    out.append(_step(_RETURN, _ALLOW))
    return b"".join(out)


def _where(number: int, argument: int, test: tuple[bytes, ...], answer: int) -> list[bytes]:
    """Refuse the call `number` where the test of this argument holds; the number is loaded again
    for what follows."""
    inner = [_step(_LOAD, argument), *test, _step(_RETURN, answer), _step(_LOAD, _NUMBER)]
    return [_step(_EQUAL, number, 0, len(inner)), *inner]


def _step(code: int, value: int, true: int = 0, false: int = 0) -> bytes:
    """One `struct sock_filter`: where to go on counts from the next step."""
    return struct.pack("=HBBI", code, true, false, value)
