"""What a program may be loaded for and attached to, as far as names and numbers decide.  Linux 6.1.

kernel/bpf/syscall.c:bpf_prog_load_check_attach() and its neighbours, the BTF id sets of kernel/bpf/bpf_lsm.c and
kernel/bpf/verifier.c.  The sets are by function name: ids differ from kernel to kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from arch.abi.errno import EINVAL, EPERM, MAX_ERRNO
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf import uapi
from bpf.versions.program_types import PROGRAM_TYPES, attach_number, attach_types, program_types, types_where

BTF_MAX_TYPE = 0x000FFFFF

# Program types that must say at load time what they will be attached as, and what they may say.
EXPECTED_ATTACH_TYPES: dict[int, tuple[int, ...]] = {
    row.number: tuple(attach.number for attach in row.attach_types) or (0,)
    for row in program_types()
    if "checked" in row.traits
}

# Zero in the attribute stands for these.
DEFAULT_ATTACH_TYPE: dict[int, int] = {
    row.number: attach_number(row.default_attach) for row in program_types() if row.default_attach
}

# What is attached to a function or type of BTF.
BTF_TARGET_PROG_TYPES = types_where(lambda row: "btf_target" in row.traits)

# BPF_PROG_ATTACH: attach_type_to_prog_type()
ATTACH_TYPE_TO_PROG_TYPE: dict[int, int] = {attach.number: row.number for attach, row in attach_types() if attach.named}

# Capabilities that loading needs.  is_net_admin_prog_type(), is_perfmon_prog_type().
NET_ADMIN_PROG_TYPES = types_where(lambda row: "net_admin" in row.needs)
PERFMON_PROG_TYPES = types_where(lambda row: "perfmon" in row.needs)
UNPRIVILEGED_PROG_TYPES = types_where(lambda row: not row.needs)

# may_access_direct_pkt_data(): who may read packet bytes, and who may write them
PACKET_READ_ONLY_PROG_TYPES = types_where(lambda row: row.packets == "read")
PACKET_READ_WRITE_PROG_TYPES = types_where(lambda row: row.packets == "write")


def is_attach_checked(prog_type: int, version: KernelVersion) -> bool:
    """Must a program say what it will be attached as?  Not before the version that gave its type something to say."""
    row = PROGRAM_TYPES.get(prog_type)
    if row is None or prog_type not in EXPECTED_ATTACH_TYPES:
        return False
    return not row.attach_types or any(version.at_least(attach.since) for attach in row.attach_types)


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
    checked: bool = True,
) -> None:
    """EINVAL where type, attach type and attach target do not fit.  bpf_prog_load_check_attach()."""
    if btf_id:
        if btf_id > BTF_MAX_TYPE:
            raise KernelError(EINVAL, "attach_btf_id is too large")
        if not has_attach_btf and not has_dst_prog:
            raise KernelError(EINVAL, "attach_btf_id belongs to no BTF")
        if prog_type not in BTF_TARGET_PROG_TYPES:
            raise KernelError(EINVAL, "program type takes no attach_btf_id")
    if has_attach_btf and (not btf_id or has_dst_prog):
        raise KernelError(EINVAL, "attach BTF without a type id, or with a program")
    if has_dst_prog and prog_type not in (uapi.BPF_PROG_TYPE_TRACING, uapi.BPF_PROG_TYPE_EXT):
        raise KernelError(EINVAL, "program type takes no attach_prog_fd")
    allowed = EXPECTED_ATTACH_TYPES.get(prog_type) if checked else None
    if allowed is not None and expected_attach_type not in allowed:
        raise KernelError(EINVAL, "expected_attach_type is not one of this program type")


def _functions(prefix: str, words: str) -> frozenset[str]:
    return frozenset(prefix + word for word in words.split())


# kernel/bpf/bpf_lsm.c -----------------------------------------------------------------------------
# What a version adds to the hooks that may sleep, and takes from them.
_SLEEPABLE_LSM_HOOKS = {
    "5.7": _functions("bpf_lsm_", "bprm_committed_creds"),
    "5.11": _functions(
        "bpf_lsm_",
        """
        bpf bpf_map bpf_map_alloc_security bpf_map_free_security bpf_prog bprm_check_security
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
    ),
    "6.12": _functions(
        "bpf_lsm_",
        """
        bpf_map_create bpf_map_free bpf_prog_load bpf_token_capable bpf_token_cmd bpf_token_create bpf_token_free
        file_post_open path_chmod path_chown path_link path_mkdir path_rename path_rmdir path_symlink path_truncate
        path_unlink
        """,
    ),
    "7.2": _functions("bpf_lsm_", "bdev_alloc_security bdev_setintegrity inode_post_removexattr inode_removexattr"),
}
_SLEEP_NO_MORE = {"6.12": _functions("bpf_lsm_", "inet_conn_established")}
_DISABLED_LSM_HOOKS = {
    "6.1": _functions(
        "bpf_lsm_",
        """
        vm_enough_memory inode_need_killpriv inode_getsecurity inode_listsecurity inode_copy_up_xattr getselfattr
        getprocattr setprocattr key_getsecurity audit_rule_match xfrm_decode_session ismaclabel
        """,
    ),
    "7.2": _functions("bpf_lsm_", "file_alloc_security"),
}


def _until(rows: Mapping[str, frozenset[str]], version: KernelVersion) -> frozenset[str]:
    """What the rows up to a version name."""
    return frozenset().union(*(names for first, names in rows.items() if version.at_least(first)))


@cache
def sleepable_lsm_hooks(version: KernelVersion) -> frozenset[str]:
    """Hooks whose programs may sleep: sleepable_lsm_hooks."""
    return _until(_SLEEPABLE_LSM_HOOKS, version) - _until(_SLEEP_NO_MORE, version)


@cache
def disabled_lsm_hooks(version: KernelVersion) -> frozenset[str]:
    """Hooks that take no programs: bpf_lsm_disabled_hooks."""
    return _until(_DISABLED_LSM_HOOKS, version)


BOOLEAN_LSM_HOOKS = _functions("bpf_lsm_", "xfrm_state_pol_flow_match audit_rule_known inode_xattr_skipcap")


def lsm_result_range(hook: str) -> tuple[int, int]:
    """What a security hook returns: 0 or an errno, a few 0 or 1.  bpf_lsm_get_retval_range()."""
    return (0, 1) if hook in BOOLEAN_LSM_HOOKS else (-MAX_ERRNO, 0)


# kernel/bpf/verifier.c ------------------------------------------------------------------------------
NON_SLEEPABLE_ERROR_INJECT = _functions("", "__filemap_add_folio should_fail_alloc_page should_failslab")
FAULTABLE_TRACEPOINTS = ("sys_enter", "sys_exit")  # TRACE_EVENT_SYSCALL(): their programs may sleep
BTF_ID_DENY = _functions("", "migrate_disable migrate_enable")  # with CONFIG_SMP and CONFIG_PREEMPT_RCU
