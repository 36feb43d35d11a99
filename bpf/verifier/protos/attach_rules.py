"""What a program may be loaded for and attached to, as far as names and numbers decide.  Linux 6.1.

kernel/bpf/syscall.c:bpf_prog_load_check_attach() and its neighbours, the BTF id sets of kernel/bpf/bpf_lsm.c and
kernel/bpf/verifier.c.  The sets are by function name: ids differ from kernel to kernel.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EPERM
from arch.errors import KernelError
from bpf import uapi

BTF_MAX_TYPE = 0x000FFFFF

_CGROUP_SOCK = (
    uapi.BPF_CGROUP_INET_SOCK_CREATE,
    uapi.BPF_CGROUP_INET_SOCK_RELEASE,
    uapi.BPF_CGROUP_INET4_POST_BIND,
    uapi.BPF_CGROUP_INET6_POST_BIND,
)
_CGROUP_SOCK_ADDR = (
    uapi.BPF_CGROUP_INET4_BIND,
    uapi.BPF_CGROUP_INET6_BIND,
    uapi.BPF_CGROUP_INET4_CONNECT,
    uapi.BPF_CGROUP_INET6_CONNECT,
    uapi.BPF_CGROUP_INET4_GETPEERNAME,
    uapi.BPF_CGROUP_INET6_GETPEERNAME,
    uapi.BPF_CGROUP_INET4_GETSOCKNAME,
    uapi.BPF_CGROUP_INET6_GETSOCKNAME,
    uapi.BPF_CGROUP_UDP4_SENDMSG,
    uapi.BPF_CGROUP_UDP6_SENDMSG,
    uapi.BPF_CGROUP_UDP4_RECVMSG,
    uapi.BPF_CGROUP_UDP6_RECVMSG,
)
_CGROUP_SKB = (uapi.BPF_CGROUP_INET_INGRESS, uapi.BPF_CGROUP_INET_EGRESS)
_CGROUP_SOCKOPT = (uapi.BPF_CGROUP_SETSOCKOPT, uapi.BPF_CGROUP_GETSOCKOPT)

# Program types that must say at load time what they will be attached as, and what they may say.
EXPECTED_ATTACH_TYPES: dict[int, tuple[int, ...]] = {
    uapi.BPF_PROG_TYPE_CGROUP_SOCK: _CGROUP_SOCK,
    uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR: _CGROUP_SOCK_ADDR,
    uapi.BPF_PROG_TYPE_CGROUP_SKB: _CGROUP_SKB,
    uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT: _CGROUP_SOCKOPT,
    uapi.BPF_PROG_TYPE_SK_LOOKUP: (uapi.BPF_SK_LOOKUP,),
    uapi.BPF_PROG_TYPE_SK_REUSEPORT: (uapi.BPF_SK_REUSEPORT_SELECT, uapi.BPF_SK_REUSEPORT_SELECT_OR_MIGRATE),
    uapi.BPF_PROG_TYPE_SYSCALL: (0,),
    uapi.BPF_PROG_TYPE_EXT: (0,),
}

# Zero in the attribute stands for these.
DEFAULT_ATTACH_TYPE: dict[int, int] = {
    uapi.BPF_PROG_TYPE_CGROUP_SOCK: uapi.BPF_CGROUP_INET_SOCK_CREATE,
    uapi.BPF_PROG_TYPE_SK_REUSEPORT: uapi.BPF_SK_REUSEPORT_SELECT,
}

_MAY_HAVE_BTF_ID = (
    uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_PROG_TYPE_LSM,
    uapi.BPF_PROG_TYPE_STRUCT_OPS,
    uapi.BPF_PROG_TYPE_EXT,
)

# BPF_PROG_ATTACH: attach_type_to_prog_type()
ATTACH_TYPE_TO_PROG_TYPE: dict[int, int] = {
    **dict.fromkeys(_CGROUP_SKB, uapi.BPF_PROG_TYPE_CGROUP_SKB),
    **dict.fromkeys(_CGROUP_SOCK, uapi.BPF_PROG_TYPE_CGROUP_SOCK),
    **dict.fromkeys(_CGROUP_SOCK_ADDR, uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR),
    uapi.BPF_CGROUP_SOCK_OPS: uapi.BPF_PROG_TYPE_SOCK_OPS,
    uapi.BPF_CGROUP_DEVICE: uapi.BPF_PROG_TYPE_CGROUP_DEVICE,
    uapi.BPF_SK_MSG_VERDICT: uapi.BPF_PROG_TYPE_SK_MSG,
    uapi.BPF_SK_SKB_STREAM_PARSER: uapi.BPF_PROG_TYPE_SK_SKB,
    uapi.BPF_SK_SKB_STREAM_VERDICT: uapi.BPF_PROG_TYPE_SK_SKB,
    uapi.BPF_SK_SKB_VERDICT: uapi.BPF_PROG_TYPE_SK_SKB,
    uapi.BPF_LIRC_MODE2: uapi.BPF_PROG_TYPE_LIRC_MODE2,
    uapi.BPF_FLOW_DISSECTOR: uapi.BPF_PROG_TYPE_FLOW_DISSECTOR,
    uapi.BPF_CGROUP_SYSCTL: uapi.BPF_PROG_TYPE_CGROUP_SYSCTL,
    **dict.fromkeys(_CGROUP_SOCKOPT, uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT),
    uapi.BPF_TRACE_ITER: uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_TRACE_RAW_TP: uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_TRACE_FENTRY: uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_TRACE_FEXIT: uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_MODIFY_RETURN: uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_LSM_MAC: uapi.BPF_PROG_TYPE_LSM,
    uapi.BPF_SK_LOOKUP: uapi.BPF_PROG_TYPE_SK_LOOKUP,
    uapi.BPF_XDP: uapi.BPF_PROG_TYPE_XDP,
    uapi.BPF_LSM_CGROUP: uapi.BPF_PROG_TYPE_LSM,
}

# Capabilities that loading needs.  is_net_admin_prog_type(), is_perfmon_prog_type().
NET_ADMIN_PROG_TYPES = frozenset(
    {
        uapi.BPF_PROG_TYPE_SCHED_CLS,
        uapi.BPF_PROG_TYPE_SCHED_ACT,
        uapi.BPF_PROG_TYPE_XDP,
        uapi.BPF_PROG_TYPE_LWT_IN,
        uapi.BPF_PROG_TYPE_LWT_OUT,
        uapi.BPF_PROG_TYPE_LWT_XMIT,
        uapi.BPF_PROG_TYPE_LWT_SEG6LOCAL,
        uapi.BPF_PROG_TYPE_SK_SKB,
        uapi.BPF_PROG_TYPE_SK_MSG,
        uapi.BPF_PROG_TYPE_LIRC_MODE2,
        uapi.BPF_PROG_TYPE_FLOW_DISSECTOR,
        uapi.BPF_PROG_TYPE_CGROUP_DEVICE,
        uapi.BPF_PROG_TYPE_CGROUP_SOCK,
        uapi.BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
        uapi.BPF_PROG_TYPE_CGROUP_SOCKOPT,
        uapi.BPF_PROG_TYPE_CGROUP_SYSCTL,
        uapi.BPF_PROG_TYPE_SOCK_OPS,
        uapi.BPF_PROG_TYPE_EXT,
    }
)
PERFMON_PROG_TYPES = frozenset(
    {
        uapi.BPF_PROG_TYPE_KPROBE,
        uapi.BPF_PROG_TYPE_TRACEPOINT,
        uapi.BPF_PROG_TYPE_PERF_EVENT,
        uapi.BPF_PROG_TYPE_RAW_TRACEPOINT,
        uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE,
        uapi.BPF_PROG_TYPE_TRACING,
        uapi.BPF_PROG_TYPE_LSM,
        uapi.BPF_PROG_TYPE_STRUCT_OPS,
        uapi.BPF_PROG_TYPE_EXT,
    }
)
UNPRIVILEGED_PROG_TYPES = frozenset({uapi.BPF_PROG_TYPE_SOCKET_FILTER, uapi.BPF_PROG_TYPE_CGROUP_SKB})

# may_access_direct_pkt_data(): who may read packet bytes, and who may write them
PACKET_READ_ONLY_PROG_TYPES = frozenset(
    {
        uapi.BPF_PROG_TYPE_LWT_IN,
        uapi.BPF_PROG_TYPE_LWT_OUT,
        uapi.BPF_PROG_TYPE_LWT_SEG6LOCAL,
        uapi.BPF_PROG_TYPE_SK_REUSEPORT,
        uapi.BPF_PROG_TYPE_FLOW_DISSECTOR,
        uapi.BPF_PROG_TYPE_CGROUP_SKB,
    }
)
PACKET_READ_WRITE_PROG_TYPES = frozenset(
    {
        uapi.BPF_PROG_TYPE_SCHED_CLS,
        uapi.BPF_PROG_TYPE_SCHED_ACT,
        uapi.BPF_PROG_TYPE_XDP,
        uapi.BPF_PROG_TYPE_LWT_XMIT,
        uapi.BPF_PROG_TYPE_SK_SKB,
        uapi.BPF_PROG_TYPE_SK_MSG,
    }
)


def fixup_attach_type(prog_type: int, expected_attach_type: int) -> int:
    """The attach type meant by zero.  bpf_prog_load_fixup_attach_type()."""
    return expected_attach_type or DEFAULT_ATTACH_TYPE.get(prog_type, 0)


def prog_load_check_caps(prog_type: int, caps: frozenset[str] | set[str]) -> None:
    """EPERM where the loader lacks a capability for this program type.  bpf_prog_load()."""
    admin = "sys_admin" in caps
    if prog_type not in UNPRIVILEGED_PROG_TYPES and not (admin or "bpf" in caps):
        raise KernelError(EPERM, "program type needs CAP_BPF")
    if prog_type in NET_ADMIN_PROG_TYPES and not (admin or "net_admin" in caps):
        raise KernelError(EPERM, "program type needs CAP_NET_ADMIN")
    if prog_type in PERFMON_PROG_TYPES and not (admin or "perfmon" in caps):
        raise KernelError(EPERM, "program type needs CAP_PERFMON")


def prog_load_check_attach(
    prog_type: int,
    expected_attach_type: int,
    has_attach_btf: bool = False,
    btf_id: int = 0,
    has_dst_prog: bool = False,
) -> None:
    """EINVAL where type, attach type and attach target do not fit.  bpf_prog_load_check_attach()."""
    if btf_id:
        if btf_id > BTF_MAX_TYPE:
            raise KernelError(EINVAL, "attach_btf_id is too large")
        if not has_attach_btf and not has_dst_prog:
            raise KernelError(EINVAL, "attach_btf_id belongs to no BTF")
        if prog_type not in _MAY_HAVE_BTF_ID:
            raise KernelError(EINVAL, "program type takes no attach_btf_id")
    if has_attach_btf and (not btf_id or has_dst_prog):
        raise KernelError(EINVAL, "attach BTF without a type id, or with a program")
    if has_dst_prog and prog_type not in (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_EXT):
        raise KernelError(EINVAL, "program type takes no attach_prog_fd")
    allowed = EXPECTED_ATTACH_TYPES.get(prog_type)
    if allowed is not None and expected_attach_type not in allowed:
        raise KernelError(EINVAL, "expected_attach_type is not one of this program type")


def _functions(prefix: str, words: str) -> frozenset[str]:
    return frozenset(prefix + word for word in words.split())


# kernel/bpf/bpf_lsm.c -----------------------------------------------------------------------------
SLEEPABLE_LSM_HOOKS = _functions(
    "bpf_lsm_",
    """
    bpf bpf_map bpf_map_alloc_security bpf_map_free_security bpf_prog bprm_check_security bprm_committed_creds
    bprm_committing_creds bprm_creds_for_exec bprm_creds_from_file capget capset cred_prepare file_ioctl file_lock
    file_open file_receive inet_conn_established inode_create inode_free_security inode_getattr inode_getxattr
    inode_mknod inode_need_killpriv inode_post_setxattr inode_readlink inode_rename inode_rmdir inode_setattr
    inode_setxattr inode_symlink inode_unlink kernel_module_request kernel_read_file kernfs_init_security key_free
    mmap_file netlink_send path_notify release_secctx sb_alloc_security sb_eat_lsm_opts sb_kern_mount sb_mount
    sb_remount sb_set_mnt_opts sb_show_options sb_statfs sb_umount settime socket_accept socket_bind socket_connect
    socket_create socket_getpeername socket_getpeersec_dgram socket_getsockname socket_getsockopt socket_listen
    socket_post_create socket_recvmsg socket_sendmsg socket_shutdown socket_socketpair syslog task_alloc
    current_getsecid_subj task_getsecid_obj task_prctl task_setscheduler userns_create
    """,
)
DISABLED_LSM_HOOKS = _functions(
    "bpf_lsm_",
    """
    vm_enough_memory inode_need_killpriv inode_getsecurity inode_listsecurity inode_copy_up_xattr getprocattr
    setprocattr key_getsecurity audit_rule_match xfrm_decode_session ismaclabel
    """,
)

# kernel/bpf/verifier.c ------------------------------------------------------------------------------
NON_SLEEPABLE_ERROR_INJECT = _functions("", "__filemap_add_folio should_fail_alloc_page should_failslab")
BTF_ID_DENY = _functions("", "migrate_disable migrate_enable")  # with CONFIG_SMP and CONFIG_PREEMPT_RCU
