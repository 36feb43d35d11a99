"""Which kernel functions (kfuncs) a program type may call, and with what flags.  Linux 6.1.

The functions are rows beside their bodies (bpf/helpers/kfuncs.py).  Flags: include/linux/btf.h.
"""

from __future__ import annotations

from bpf.helpers import load_all
from bpf.helpers.kfunc_rows import FLAGS, ROWS
from bpf.versions.program_types import program_types

KF_ACQUIRE = FLAGS["acquire"]
KF_RELEASE = FLAGS["release"]
KF_RET_NULL = FLAGS["ret_null"]
KF_KPTR_GET = FLAGS["kptr_get"]
KF_TRUSTED_ARGS = FLAGS["trusted"]
KF_SLEEPABLE = FLAGS["sleepable"]
KF_DESTRUCTIVE = FLAGS["destructive"]

# bpf_prog_type_to_kfunc_hook(): a program type that is not here can call none
HOOK_OF_PROG_TYPE = {row.number: row.kfuncs for row in program_types() if row.kfuncs}

load_all()  # each import declares rows


# register_btf_id_dtor_kfuncs(): which function releases a referenced kptr of that struct
KPTR_DESTRUCTORS: dict[str, str] = {
    "prog_test_ref_kfunc": "bpf_kfunc_call_test_release",
    "prog_test_member": "bpf_kfunc_call_memb_release",
}


def kfunc_flags(name: str, prog_type: int, module: str = "vmlinux") -> int | None:
    """The KF_ flags if programs of this type may call this function; None: they may not."""
    row = ROWS.get(name)
    if row is None or row.kfunc_set.module != module:
        return None
    return row.mask if HOOK_OF_PROG_TYPE.get(prog_type) in row.kfunc_set.hooks.split() else None
