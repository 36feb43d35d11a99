"""The row of a kernel function that programs call by BTF id: a BTF_ID_FLAGS() line of Linux, beside its body or in kfunc_table.py.

From the rows come what the verifier knows of kfuncs (bpf/verifier/calls/kfuncs.py) and docs/bpf-tables.md.  Which hook a
program type belongs to is in the type's row (bpf/versions/program_types.py).  A function whose flags or callers changed has
a row for each time.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.version import KernelVersion
from arch.records import dataclass
from bpf.face import Registers
from bpf.helpers import kernel_name, not_here

# KF_ of include/linux/btf.h, as rows call them; the kernel's numbers changed (kptr_get's is iter_new's now), these are ours
FLAGS = {
    name: 1 << bit
    for bit, name in enumerate(
        [
            "acquire",
            "release",
            "ret_null",
            "kptr_get",
            "trusted",
            "sleepable",
            "destructive",
            "rcu",
            "iter_new",
            "iter_next",
        ]
        + ["iter_destroy", "rcu_protected", "fastcall", "arena_ret", "arena_arg1", "arena_arg2", "implicit_args"]
    )
}
TRUSTED_BY_DEFAULT = "7.0"  # every function may rely on its pointers


@dataclass(frozen=True, slots=True)
class KfuncSet:
    """One struct btf_kfunc_id_set: who may call its functions, and the module that has them."""

    hooks: (
        str  # "tc tracing": words of ProgramType.kfuncs, or of one type that is asked for besides; "common": all types
    )
    source: str
    module: str = "vmlinux"
    attach: tuple[int, ...] = ()  # the only attach types whose programs may


@dataclass(frozen=True, slots=True)
class KfuncRow:
    """One kernel function, in the versions from `since` to before `until`."""

    name: str
    kfunc_set: KfuncSet
    flags: str  # words of FLAGS
    missing: str  # what of it is not simulated
    since: str = "5.13"
    until: str | None = None
    commit: str = "-"

    @property
    def mask(self) -> int:
        """The KF_ flags as a number."""
        return sum(FLAGS[word] for word in self.flags.split())

    def allows(self, hook: str) -> bool:
        """Program types of this hook may call it."""
        hooks = self.kfunc_set.hooks.split()
        return "common" in hooks or hook in hooks


ROWS: dict[str, list[KfuncRow]] = {}


def declare(
    name: str,
    kfunc_set: KfuncSet,
    flags: str = "",
    *,
    missing: str = "",
    since: str = "5.13",
    until: str | None = None,
    commit: str = "-",
) -> KfuncRow:
    """Enter a row."""
    assert set(flags.split()) <= set(FLAGS), f"{name}: {flags}"
    row = KfuncRow(name, kfunc_set, flags, missing, since, until, commit)
    ROWS.setdefault(name, []).append(row)
    return row


def rows_of(name: str, version: KernelVersion) -> list[KfuncRow]:
    """The rows of a function in one version: several if it is in several sets."""
    return [row for row in ROWS.get(name, ()) if version.within(row.since, row.until)]


def absent(name: str, version: KernelVersion) -> Callable[[Registers], int]:
    """What stands for a function without a body: a pointer that may be NULL is."""
    gives_null = any("ret_null" in row.flags for row in rows_of(name, version))
    return not_here(name, 0) if gives_null else not_here(name)


def kfunc(
    name: str,
    kfunc_set: KfuncSet,
    flags: str = "",
    *,
    missing: str = "",
    since: str = "5.13",
    until: str | None = None,
    commit: str = "-",
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Enter a row, and the decorated body as what runs."""
    declare(name, kfunc_set, flags, missing=missing, since=since, until=until, commit=commit)
    return kernel_name(name)
