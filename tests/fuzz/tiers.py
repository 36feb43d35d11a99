"""What can be seen of a run is the same whether Python or native code did the work: random programs, probes and system calls.

One case is one machine, booted and run twice: by Python alone, and by native code from the first hit or from a random one on.  What is
compared is told by the tests of tiers.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from arch.errors import KernelError
from arch.native.handler import Tier
from bpf.core.program import COLD_RUNS
from simkernel.kernel import shortcuts
from tests.fuzz.kinds import ARCHS, Finding
from tests.simkernel.kernel import test_shortcuts
from tests.simkernel.observe import test_tiers

OF_64_BITS = ("x86_64", "arm64", "s390x", "riscv64")
VERSIONS = ("6.1", "6.1", "5.10", "6.12", "4.1")
# Functions on the ways of frequent calls; a probe on one of them ends or visits what native code does.
WATCHED = (
    None, "strace", "vfs_write", "vfs_read", "ksys_read", "ksys_write", "write_null", "vfs_open", "fput", "schedule", "ksys_lseek",
    "vfs_write ksys_read", "shmem_file_read_iter", "pipe_read", "pipe_write", "handle_mm_fault",
)  # fmt: skip


def story(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """What is done, with what: the name of a function that tells of it, and its arguments."""
    seed = rng.getrandbits(32)
    which = rng.choice(("programs", "programs", "programs", "trampolines", "calls", "returns"))
    if which == "calls":
        arch = rng.choice(ARCHS)
        programs = [
            path for path in map((test_shortcuts.PROGRAMS / arch).joinpath, ("calls", "pipes")) if path.exists()
        ]
        return which, {
            "arch": arch,
            "seed": seed & 0xFFFF,
            "kernel": rng.choice(VERSIONS) if arch == "x86_64" else "6.1",
            "cpus": rng.choice((1, 1, 2, 4)),
            "watch": rng.choice(WATCHED),
            "program": rng.choice(programs),
        }
    archs = {"trampolines": ARCHS, "returns": ("x86_64", "arm64", "s390x", "i386")}.get(which, OF_64_BITS)
    return which, {"arch": rng.choice(archs), "seed": seed}


TELL = {
    "programs": test_tiers.told_of_random_programs,
    "trampolines": test_tiers.told_of_trampolines,
    "calls": test_shortcuts.told,
    "returns": test_tiers.told_of_returns,
}


def compare(rng: random.Random) -> str:
    """How the case ended, and how many programs it ran; Finding when both differ."""
    which, arguments = story(rng)
    later = rng.choice((0, rng.randrange(1, 40)))
    watched = arguments.get("watch")
    with pytest.MonkeyPatch.context() as patch:
        try:
            python, _ = TELL[which](patch, "python", **arguments)
        except KernelError:
            return f"no function {watched}"
        if later:
            patch.setitem(COLD_RUNS, Tier.AUTO, later)
            patch.setitem(shortcuts.HOT_CALLS, Tier.AUTO, later)
        native, _ = TELL[which](patch, "" if later else "native", **arguments)
    if native != python:
        parts = [name for name in python if python[name] != native[name]]
        raise Finding(f"{which} {arguments}, native after {later}: {', '.join(parts)} differ")
    return f"{which}, {len(python.get('programs', python.get('runs', ())))} programs"
