"""Kernel functions that programs may call (kfuncs): names, flags and program types.  Linux 6.1.

One row per BTF_ID_FLAGS() line of net/bpf/test_run.c, net/ipv4/, kernel/trace/bpf_trace.c, kernel/bpf/helpers.c,
kernel/cgroup/rstat.c, net/netfilter/.  Flags: include/linux/btf.h.
"""

from __future__ import annotations

from dataclasses import dataclass

from bpf import uapi

KF_ACQUIRE = 1 << 0
KF_RELEASE = 1 << 1
KF_RET_NULL = 1 << 2
KF_KPTR_GET = 1 << 3
KF_TRUSTED_ARGS = 1 << 4
KF_SLEEPABLE = 1 << 5
KF_DESTRUCTIVE = 1 << 6

_LETTERS = {
    "acquire": KF_ACQUIRE,
    "release": KF_RELEASE,
    "ret_null": KF_RET_NULL,
    "kptr_get": KF_KPTR_GET,
    "trusted": KF_TRUSTED_ARGS,
    "sleepable": KF_SLEEPABLE,
    "destructive": KF_DESTRUCTIVE,
}

# bpf_prog_type_to_kfunc_hook(): a program type that is not here can call none
HOOK_OF_PROG_TYPE: dict[int, str] = {
    uapi.BPF_PROG_TYPE_XDP: "xdp",
    uapi.BPF_PROG_TYPE_SCHED_CLS: "tc",
    uapi.BPF_PROG_TYPE_STRUCT_OPS: "struct_ops",
    uapi.BPF_PROG_TYPE_TRACING: "tracing",
    uapi.BPF_PROG_TYPE_LSM: "tracing",
    uapi.BPF_PROG_TYPE_SYSCALL: "syscall",
}


@dataclass(frozen=True, slots=True)
class KfuncSet:
    """One struct btf_kfunc_id_set: who may call which functions, and the module that has them."""

    hooks: tuple[str, ...]
    functions: dict[str, int]  # name -> KF_ flags
    source: str
    module: str = "vmlinux"


def _set(hooks: str, source: str, text: str, module: str = "vmlinux") -> KfuncSet:
    functions = {}
    for line in text.split("\n"):
        if words := line.split():
            functions[words[0]] = sum(_LETTERS[word] for word in words[1:])
    return KfuncSet(tuple(hooks.split()), functions, source, module)


KFUNC_SETS: tuple[KfuncSet, ...] = (
    _set(
        "tc tracing syscall",
        "net/bpf/test_run.c",
        """
        bpf_kfunc_call_test1
        bpf_kfunc_call_test2
        bpf_kfunc_call_test3
        bpf_kfunc_call_test_acquire          acquire ret_null
        bpf_kfunc_call_memb_acquire          acquire ret_null
        bpf_kfunc_call_test_release          release
        bpf_kfunc_call_memb_release          release
        bpf_kfunc_call_memb1_release         release
        bpf_kfunc_call_test_get_rdwr_mem     ret_null
        bpf_kfunc_call_test_get_rdonly_mem   ret_null
        bpf_kfunc_call_test_acq_rdonly_mem   acquire ret_null
        bpf_kfunc_call_int_mem_release       release
        bpf_kfunc_call_test_kptr_get         acquire ret_null kptr_get
        bpf_kfunc_call_test_pass_ctx
        bpf_kfunc_call_test_pass1
        bpf_kfunc_call_test_pass2
        bpf_kfunc_call_test_fail1
        bpf_kfunc_call_test_fail2
        bpf_kfunc_call_test_fail3
        bpf_kfunc_call_test_mem_len_pass1
        bpf_kfunc_call_test_mem_len_fail1
        bpf_kfunc_call_test_mem_len_fail2
        bpf_kfunc_call_test_ref              trusted
        bpf_kfunc_call_test_destructive      destructive
        """,
    ),
    _set(
        "tracing",
        "kernel/trace/bpf_trace.c",
        """
        bpf_lookup_user_key                  acquire ret_null sleepable
        bpf_lookup_system_key                acquire ret_null
        bpf_key_put                          release
        bpf_verify_pkcs7_signature           sleepable
        """,
    ),
    _set("tracing", "kernel/bpf/helpers.c", "crash_kexec destructive"),
    _set(
        "tracing",
        "kernel/cgroup/rstat.c",
        """
        cgroup_rstat_updated
        cgroup_rstat_flush                   sleepable
        """,
    ),
    _set(
        "struct_ops",
        "net/ipv4/bpf_tcp_ca.c",
        """
        tcp_reno_ssthresh
        tcp_reno_cong_avoid
        tcp_reno_undo_cwnd
        tcp_slow_start
        tcp_cong_avoid_ai
        """,
    ),
    _set(
        "struct_ops",
        "net/ipv4/tcp_cubic.c",
        """
        cubictcp_init
        cubictcp_recalc_ssthresh
        cubictcp_cong_avoid
        cubictcp_state
        cubictcp_cwnd_event
        cubictcp_acked
        """,
    ),
    _set(
        "struct_ops",
        "net/ipv4/tcp_dctcp.c",
        """
        dctcp_init
        dctcp_update_alpha
        dctcp_cwnd_event
        dctcp_ssthresh
        dctcp_cwnd_undo
        dctcp_state
        """,
        "tcp_dctcp",
    ),
    _set(
        "struct_ops",
        "net/ipv4/tcp_bbr.c",
        """
        bbr_init
        bbr_main
        bbr_sndbuf_expand
        bbr_undo_cwnd
        bbr_cwnd_event
        bbr_ssthresh
        bbr_min_tso_segs
        bbr_set_state
        """,
        "tcp_bbr",
    ),
    _set(
        "xdp tc",
        "net/netfilter/nf_conntrack_bpf.c",
        """
        bpf_xdp_ct_alloc                     acquire ret_null
        bpf_xdp_ct_lookup                    acquire ret_null
        bpf_skb_ct_alloc                     acquire ret_null
        bpf_skb_ct_lookup                    acquire ret_null
        bpf_ct_insert_entry                  acquire ret_null release
        bpf_ct_release                       release
        bpf_ct_set_timeout                   trusted
        bpf_ct_change_timeout                trusted
        bpf_ct_set_status                    trusted
        bpf_ct_change_status                 trusted
        """,
        "nf_conntrack",
    ),
    _set("xdp tc", "net/netfilter/nf_nat_bpf.c", "bpf_ct_set_nat_info trusted", "nf_nat"),
)

# register_btf_id_dtor_kfuncs(): which function releases a referenced kptr of that struct
KPTR_DESTRUCTORS: dict[str, str] = {
    "prog_test_ref_kfunc": "bpf_kfunc_call_test_release",
    "prog_test_member": "bpf_kfunc_call_memb_release",
}


def kfunc_flags(name: str, prog_type: int, module: str = "vmlinux") -> int | None:
    """The KF_ flags if programs of this type may call this function; None: they may not."""
    hook = HOOK_OF_PROG_TYPE.get(prog_type)
    for kfunc_set in KFUNC_SETS:
        if hook in kfunc_set.hooks and kfunc_set.module == module and name in kfunc_set.functions:
            return kfunc_set.functions[name]
    return None
