"""Objects of the kernel that a map may own, and the kernel function that gives each back: register_btf_id_dtor_kfuncs().

A row is `struct function since until`, `-` for still.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from arch.abi.version import KernelVersion

_DESTRUCTORS: Final = """
prog_test_ref_kfunc bpf_kfunc_call_test_release      6.0  6.8
prog_test_ref_kfunc bpf_kfunc_call_test_release_dtor 6.8  -
prog_test_member    bpf_kfunc_call_memb_release      6.0  6.8
prog_test_member    bpf_kfunc_call_memb_release_dtor 6.8  -
task_struct         bpf_task_release                 6.2  6.8
task_struct         bpf_task_release_dtor            6.8  -
cgroup              bpf_cgroup_release               6.2  6.8
cgroup              bpf_cgroup_release_dtor          6.8  -
bpf_cpumask         bpf_cpumask_release              6.3  6.8
bpf_cpumask         bpf_cpumask_release_dtor         6.8  -
bpf_crypto_ctx      bpf_crypto_ctx_release_dtor      6.10 -
sk_buff             bpf_kfree_skb_dtor               6.16 -
"""


@cache
def kptr_destructors(version: KernelVersion) -> dict[str, str]:
    """Struct: function."""
    found = {}
    for line in _DESTRUCTORS.strip().split("\n"):
        struct, function, since, until = line.split()
        if version.within(since, None if until == "-" else until):
            found[struct] = function
    return found
