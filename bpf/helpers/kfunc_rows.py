"""The row of a kernel function that programs call by BTF id: a BTF_ID_FLAGS() line of Linux 6.1, beside its body.

From the rows come what the verifier knows of kfuncs (bpf/verifier/calls/kfuncs.py) and docs/bpf-tables.md.  Which hook a
program type belongs to is in the type's row (bpf/versions/program_types.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bpf.helpers import kernel_name

# KF_ of include/linux/btf.h, as rows call them
FLAGS = {
    name: 1 << bit
    for bit, name in enumerate(["acquire", "release", "ret_null", "kptr_get", "trusted", "sleepable", "destructive"])
}


@dataclass(frozen=True, slots=True)
class KfuncSet:
    """One struct btf_kfunc_id_set: who may call its functions, and the module that has them."""

    hooks: str  # "tc tracing": words of ProgramType.kfuncs
    source: str
    module: str = "vmlinux"


@dataclass(frozen=True, slots=True)
class KfuncRow:
    """One kernel function."""

    name: str
    kfunc_set: KfuncSet
    flags: str  # words of FLAGS
    missing: str  # what of it is not simulated

    @property
    def mask(self) -> int:
        """The KF_ flags as a number."""
        return sum(FLAGS[word] for word in self.flags.split())


ROWS: dict[str, KfuncRow] = {}


def declare(name: str, kfunc_set: KfuncSet, flags: str = "", *, missing: str = "") -> KfuncRow:
    """Enter a row."""
    assert name not in ROWS and set(flags.split()) <= set(FLAGS), f"{name}: {flags}"
    row = ROWS[name] = KfuncRow(name, kfunc_set, flags, missing)
    return row


def kfunc(
    name: str, kfunc_set: KfuncSet, flags: str = "", *, missing: str = ""
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Enter a row, and the decorated body as what runs."""
    declare(name, kfunc_set, flags, missing=missing)
    return kernel_name(name)
