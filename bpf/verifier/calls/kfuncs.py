"""Which kernel functions (kfuncs) a program type may call, and with what flags.

The functions are rows beside their bodies (bpf/helpers/kfuncs.py), or in bpf/helpers/kfunc_table.py.  Flags: include/linux/btf.h.
"""

from __future__ import annotations

from arch.abi.version import KernelVersion
from bpf.helpers import load_all
from bpf.helpers.kfunc_rows import FLAGS, TRUSTED_BY_DEFAULT, KfuncSet, rows_of
from bpf.versions.features import has_attach_type
from bpf.versions.program_types import PROGRAM_TYPES

KF_ACQUIRE = FLAGS["acquire"]
KF_RELEASE = FLAGS["release"]
KF_RET_NULL = FLAGS["ret_null"]
KF_KPTR_GET = FLAGS["kptr_get"]
KF_TRUSTED_ARGS = FLAGS["trusted"]
KF_SLEEPABLE = FLAGS["sleepable"]
KF_DESTRUCTIVE = FLAGS["destructive"]
KF_RCU = FLAGS["rcu"]
KF_ITER_NEW = FLAGS["iter_new"]
KF_ITER_NEXT = FLAGS["iter_next"]
KF_ITER_DESTROY = FLAGS["iter_destroy"]
KF_RCU_PROTECTED = FLAGS["rcu_protected"]

load_all()  # each import declares rows


def hooks_of(prog_type: int, version: KernelVersion) -> tuple[str, ...]:
    """Whose sets a program type may call: bpf_prog_type_to_kfunc_hook(), and what filters of sets ask for."""
    row = PROGRAM_TYPES.get(prog_type)
    if row is None:
        return ()
    own = row.name.lower()
    return (row.kfuncs, own) if row.kfuncs and version.at_least(row.kfuncs_since) else ()


def _for_attach(kfunc_set: KfuncSet, attach_type: int, version: KernelVersion) -> bool:
    return not kfunc_set.attach or (attach_type in kfunc_set.attach and has_attach_type(version, attach_type))


def kfunc_flags(
    name: str, prog_type: int, version: KernelVersion, attach_type: int = 0, module: str = "vmlinux"
) -> int | None:
    """The KF_ flags if programs of this type may call this function; None: they may not."""
    hooks = hooks_of(prog_type, version)
    for row in rows_of(name, version):
        kfunc_set = row.kfunc_set
        if kfunc_set.module != module or not _for_attach(kfunc_set, attach_type, version):
            continue
        if any(row.allows(hook) for hook in (*hooks, "")):
            return row.mask | (KF_TRUSTED_ARGS if version.at_least(TRUSTED_BY_DEFAULT) else 0)
    return None
