"""The rows of /proc/sys outside /proc/sys/net: kernel/sysctl.c and the files that register theirs.

What a value does stands where it is read (`k.vfs.sysctl[name]`) or in a hook (Sysctl.on_write); the others are kept, and say what was
written, as on a machine that has no use for them (docs/differences.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from arch.abi.errno import EINVAL, EPERM
from arch.abi.limits import S32_MAX, S64_MAX, U32_MAX, U64_MAX
from arch.abi.time import HZ
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.address_spaces import DEFAULT_MAX_MAP_COUNT

Value = int | str
NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
SECONDS = S32_MAX // HZ
TAINT_FLAGS = (1 << 19) - 1
LONG_MAX_HZ = S64_MAX // 250  # what a timeout in seconds may be

MIN_HIGH_FRACTION = 8
RR_TIMESLICE_MS = 100
# of each pair one counts: writing it sets the other to 0
PAIRS = (
    ("vm.dirty_bytes", "vm.dirty_ratio"), ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
    ("vm.overcommit_kbytes", "vm.overcommit_ratio"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One sysctl: dotted name, first value, mode, and the range of an integer.  Several numbers are a text with tabs."""

    name: str
    value: Value
    mode: int = 0o644
    low: int = -(1 << 31)
    high: int = (1 << 31) - 1
    since: str | None = None  # where only 5.10, 6.1, 6.12 and 7.2 are known: the first of them
    until: str | None = None
    srcarch: str | None = None  # only where the kernel has this folder under arch/
    ignored: bool = False  # whatever is written is taken, and nothing changes
    admin: str = ""  # CAP_SYS_ADMIN: to "write" it, or for "all"
    whole: bool = False  # proc_douintvec(): what stands behind the number is taken with it
    words: tuple[str, ...] = ()  # what it may be; one character more has to be written
    config: str | None = None  # only where the kernel is built with this option


def number(word: str) -> int:
    """proc_get_long(): as strtoul() of base 0, with no sign but a minus.  EINVAL."""
    if NUMBER.fullmatch(word) is None:
        raise KernelError(EINVAL, "not a number")
    digits = word.lstrip("-")
    value = int(digits, 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10)
    return -value if word[0] == "-" else value


def parse(text: str, old: Value, low: int, high: int) -> Value:
    """proc_dointvec_minmax() of one number or several, proc_dostring().  EINVAL."""
    text = text.split("\0")[0].rstrip("\n")
    numbers = [word for word in str(old).split() if word.lstrip("-").isdigit()]
    if not numbers or len(numbers) != len(str(old).split()):
        return text.strip() if isinstance(old, str) else text
    values = [number(word) for word in text.split()[: len(numbers)]]
    if not values or any(not low <= value <= high for value in values):
        raise KernelError(EINVAL, "out of range")
    if isinstance(old, int):
        return values[0]
    return "\t".join(map(str, (values + [int(n) for n in numbers][len(values) :])[: len(numbers)]))


def taken(text: str) -> int:
    """How much of what was written is the first number and the blanks behind it."""
    return len(text) - len(text.lstrip().partition(text.split()[0])[2].lstrip())


# In the order in which /proc/sys lists them.
# fmt: off
ENTRIES = (
    Entry("abi.vsyscall32", 1, low=0, high=1, srcarch="x86"),
    Entry("crypto.fips_enabled", 0, mode=0o444, until="7.2"),  # Debian's 7.2 is built without
    Entry("crypto.fips_name", "Linux Kernel Cryptographic API", mode=0o444, since="5.19", until="7.2"),
    Entry("crypto.fips_version", "", mode=0o444, since="5.19", until="7.2"),
    Entry("debug.exception-trace", 1),
    Entry("debug.kprobes-optimization", 1, low=0, high=1),
    Entry("dev.hpet.max-user-freq", 64, srcarch="x86"),
    Entry("dev.mac_hid.mouse_button2_keycode", 97, srcarch="x86"),
    Entry("dev.mac_hid.mouse_button3_keycode", 100, srcarch="x86"),
    Entry("dev.mac_hid.mouse_button_emulation", 0, low=0, high=1, srcarch="x86"),
    Entry("dev.tty.ldisc_autoload", 1, low=0, high=1, since="5.1"),
    Entry("dev.tty.legacy_tiocsti", 0, low=0, high=1, since="6.2"),
    Entry("fs.aio-max-nr", 65536, low=0, high=S64_MAX),
    Entry("fs.aio-nr", 0, 0o444),
    Entry("fs.dentry-negative", 0, low=0, high=1, since="7.2"),
    Entry("fs.dentry-state", "0\t0\t45\t0\t0\t0", mode=0o444),
    Entry("fs.dir-notify-enable", 1),
    Entry("fs.epoll.max_user_watches", 0, low=0, high=(1 << 63) - 1),  # of memory: set at boot
    Entry("fs.fanotify.max_queued_events", 16384, low=0, since="5.10"),
    Entry("fs.fanotify.max_user_groups", 128, low=0, since="5.10"),
    Entry("fs.fanotify.max_user_marks", 8192, low=0, since="5.10"),
    Entry("fs.fanotify.watchdog_timeout", 0, low=0, since="7.2"),
    Entry("fs.file-max", 9223372036854775807, high=(1 << 63) - 1, low=0),
    Entry("fs.file-nr", "0\t0\t9223372036854775807", 0o444),
    Entry("fs.fuse.default_request_timeout", 0, low=0, high=65535, since="7.2"),
    Entry("fs.fuse.max_pages_limit", 256, low=1, high=65535, since="7.2"),
    Entry("fs.fuse.max_request_timeout", 0, low=0, high=65535, since="7.2"),
    Entry("fs.inode-nr", "0\t0", 0o444),
    Entry("fs.inode-state", "0\t0\t0\t0\t0\t0\t0", mode=0o444),
    Entry("fs.inotify.max_queued_events", 16384, low=0),
    Entry("fs.inotify.max_user_instances", 128, low=0),
    Entry("fs.inotify.max_user_watches", 65536, low=0),
    Entry("fs.lease-break-time", 45),
    Entry("fs.leases-enable", 1),
    Entry("fs.mount-max", 100_000, low=1, since="4.9"),
    Entry("fs.nr_open", 1048576, low=64),
    Entry("fs.overflowgid", 65534, low=0, high=65535),
    Entry("fs.overflowuid", 65534, low=0, high=65535),
    Entry("fs.pipe-max-size", 1048576, low=0, high=1 << 31, whole=True),
    Entry("fs.pipe-user-pages-hard", 0, low=0, high=S64_MAX, since="4.5"),
    Entry("fs.pipe-user-pages-soft", 16384, low=0, high=S64_MAX, since="4.5"),
    Entry("fs.protected_fifos", 0, low=0, high=2, mode=0o600, since="4.19", until="5.18"),
    Entry("fs.protected_fifos", 0, low=0, high=2, since="5.18"),
    Entry("fs.protected_hardlinks", 1, low=0, high=1, mode=0o600, until="5.18"),  # 1 is Debian's, as is that of symlinks
    Entry("fs.protected_hardlinks", 1, low=0, high=1, since="5.18"),
    Entry("fs.protected_regular", 0, low=0, high=2, mode=0o600, since="4.19", until="5.18"),
    Entry("fs.protected_regular", 0, low=0, high=2, since="5.18"),
    Entry("fs.protected_symlinks", 1, low=0, high=1, mode=0o600, until="5.18"),
    Entry("fs.protected_symlinks", 1, low=0, high=1, since="5.18"),
    Entry("fs.quota.allocated_dquots", 0, mode=0o444),
    Entry("fs.quota.cache_hits", 0, mode=0o444),
    Entry("fs.quota.drops", 0, mode=0o444),
    Entry("fs.quota.free_dquots", 0, mode=0o444),
    Entry("fs.quota.lookups", 0, mode=0o444),
    Entry("fs.quota.reads", 0, mode=0o444),
    Entry("fs.quota.syncs", 0, mode=0o444),
    Entry("fs.quota.warnings", 1, until="6.12"),  # Debian's 6.12 is built without
    Entry("fs.quota.writes", 0, mode=0o444),
    Entry("fs.suid_dumpable", 0, low=0, high=2),
    Entry("fs.verity.require_signatures", 0, low=0, high=1, since="5.4"),
    Entry("kernel.acct", "4\t2\t30"),
    Entry("kernel.acpi_video_flags", 0, low=0, high=U64_MAX, srcarch="x86"),
    Entry("kernel.apparmor_display_secid_mode", 0, mode=0o600, since="6.1"),
    Entry("kernel.apparmor_restrict_unprivileged_unconfined", 0, mode=0o600, low=0, high=1, since="6.7"),
    Entry("kernel.arch", "", mode=0o444, since="6.1"),
    Entry("kernel.auto_msgmni", 0, low=0, high=1),
    Entry("kernel.bootloader_type", 176, mode=0o444, srcarch="x86"),
    Entry("kernel.bootloader_version", 0, mode=0o444, srcarch="x86"),
    Entry("kernel.bpf_stats_enabled", 0, 0o644, 0, 1, since="5.1", admin="write"),
    Entry("kernel.cap_last_cap", 40, 0o444),
    Entry("kernel.core_file_note_size_limit", 4194304, low=4194304, high=16777216, since="6.12"),
    Entry("kernel.core_modes", "file\npipe\nsocket", mode=0o444, since="6.16"),
    Entry("kernel.core_pattern", "core"),
    Entry("kernel.core_pipe_limit", 0),
    Entry("kernel.core_sort_vma", 0, low=0, high=1, since="6.12"),
    Entry("kernel.core_uses_pid", 0),
    Entry("kernel.ctrl-alt-del", 1),
    Entry("kernel.dmesg_restrict", 1, low=0, high=1, admin="write"),
    Entry("kernel.domainname", "(none)"),
    Entry("kernel.firmware_config.force_sysfs_fallback", 0, low=0, high=1, since="4.18"),
    Entry("kernel.firmware_config.ignore_sysfs_fallback", 0, low=0, high=1, since="4.18"),
    Entry("kernel.ftrace_dump_on_oops", 0),
    Entry("kernel.ftrace_enabled", 1),
    Entry("kernel.hardlockup_all_cpu_backtrace", 0, low=0, high=1, since="4.3"),
    Entry("kernel.hardlockup_panic", 0, low=0, high=1, since="4.3"),
    Entry("kernel.hardlockup_sys_info", "", since="7.2"),
    Entry("kernel.hung_task_all_cpu_backtrace", 0, low=0, high=1, since="5.9"),
    Entry("kernel.hung_task_check_count", 4194304, low=0),
    Entry("kernel.hung_task_check_interval_secs", 0, low=0, high=LONG_MAX_HZ, since="5.0"),
    Entry("kernel.hung_task_detect_count", 0, low=0, since="7.2"),
    Entry("kernel.hung_task_panic", 0, low=0, high=1),
    Entry("kernel.hung_task_sys_info", "", since="7.2"),
    Entry("kernel.hung_task_timeout_secs", 120, low=0, high=LONG_MAX_HZ),
    Entry("kernel.hung_task_warnings", 10),
    Entry("kernel.io_delay_type", 0, srcarch="x86"),
    Entry("kernel.io_uring_disabled", 0, low=0, high=2, since="6.6"),
    Entry("kernel.io_uring_group", -1, since="6.6"),
    Entry("kernel.kernel_sys_info", "", since="7.2"),
    Entry("kernel.kexec_load_disabled", 0, low=1, high=1),
    Entry("kernel.kexec_load_limit_panic", -1, since="6.3"),
    Entry("kernel.kexec_load_limit_reboot", -1, since="6.3"),
    Entry("kernel.keys.gc_delay", 300, low=0),
    Entry("kernel.keys.maxbytes", 20000, low=1),
    Entry("kernel.keys.maxkeys", 200, low=1),
    Entry("kernel.keys.persistent_keyring_expiry", 259200, low=0),
    Entry("kernel.keys.root_maxbytes", 25000000, low=1),
    Entry("kernel.keys.root_maxkeys", 1000000, low=1),
    Entry("kernel.kptr_restrict", 0, low=0, high=2, admin="write"),
    Entry("kernel.max_lock_depth", 1024),
    Entry("kernel.max_rcu_stall_to_panic", 0, low=1, since="5.11"),
    Entry("kernel.modprobe", "/sbin/modprobe"),
    Entry("kernel.modules_disabled", 0, low=1, high=1),
    Entry("kernel.ngroups_max", 65536, 0o444),
    Entry("kernel.nmi_watchdog", 0, low=0, high=0, until="6.7"),
    Entry("kernel.nmi_watchdog", 0, mode=0o444, since="6.7", until="7.2"),  # nothing there could watch
    Entry("kernel.nmi_watchdog", 0, low=0, high=0, since="7.2"),
    Entry("kernel.ns_last_pid", 0, low=0, high=4194304, mode=0o666),
    Entry("kernel.numa_balancing", 0, low=0, high=1, until="5.18"),
    Entry("kernel.numa_balancing", 0, low=0, high=4, since="5.18"),
    Entry("kernel.numa_balancing_promote_rate_limit_MBps", 65536, low=0, since="6.1"),
    Entry("kernel.numa_balancing_scan_delay_ms", 1000, low=0, until="5.13"),
    Entry("kernel.numa_balancing_scan_period_max_ms", 60000, low=0, until="5.13"),
    Entry("kernel.numa_balancing_scan_period_min_ms", 1000, low=0, until="5.13"),
    Entry("kernel.numa_balancing_scan_size_mb", 256, low=1, until="5.13"),
    Entry("kernel.oops_all_cpu_backtrace", 0, low=0, high=1, since="5.9"),
    Entry("kernel.oops_limit", 10000, low=0, high=U32_MAX, since="5.10"),  # 6.2, and what long-term kernels got
    Entry("kernel.osrelease", "", 0o444),
    Entry("kernel.ostype", "Linux", 0o444),
    Entry("kernel.overflowgid", 65534, low=0, high=65535),
    Entry("kernel.overflowuid", 65534, low=0, high=65535),
    Entry("kernel.panic", 0),
    Entry("kernel.panic_on_io_nmi", 0, srcarch="x86"),
    Entry("kernel.panic_on_oops", 0),
    Entry("kernel.panic_on_rcu_stall", 0, low=0, high=1, since="4.8"),
    Entry("kernel.panic_on_unrecovered_nmi", 0, srcarch="x86"),
    Entry("kernel.panic_on_warn", 0, low=0, high=1),
    Entry("kernel.panic_print", 0, low=0, high=U64_MAX, since="5.0"),
    Entry("kernel.panic_sys_info", "", since="7.2"),
    Entry("kernel.perf_cpu_time_max_percent", 25, low=0, high=100),
    Entry("kernel.perf_event_max_contexts_per_stack", 8, low=0, high=1000, since="4.8"),
    Entry("kernel.perf_event_max_sample_rate", 100000, low=1),
    Entry("kernel.perf_event_max_stack", 127, low=0, high=640 * 1024, since="4.7"),
    Entry("kernel.perf_event_mlock_kb", 516),
    Entry("kernel.perf_event_paranoid", 3),  # Debian's
    Entry("kernel.pid_max", 32768, low=301, high=4194304),
    Entry("kernel.poweroff_cmd", "/sbin/poweroff"),
    Entry("kernel.print-fatal-signals", 0),
    Entry("kernel.printk", "7\t4\t1\t7"),
    Entry("kernel.printk_delay", 0, low=0, high=10000),
    Entry("kernel.printk_devkmsg", "ratelimit", since="4.9", words=("on", "off", "ratelimit")),
    Entry("kernel.printk_ratelimit", 5),
    Entry("kernel.printk_ratelimit_burst", 10),
    Entry("kernel.pty.max", 4096, low=0),
    Entry("kernel.pty.nr", 0, mode=0o444),
    Entry("kernel.pty.reserve", 1024, low=0),
    Entry("kernel.random.boot_id", "", 0o444),
    Entry("kernel.random.entropy_avail", 256, 0o444),
    Entry("kernel.random.poolsize", 256, 0o444),
    Entry("kernel.random.urandom_min_reseed_secs", 60, ignored=True),
    Entry("kernel.random.uuid", "", 0o444),
    Entry("kernel.random.write_wakeup_threshold", 256, ignored=True),
    Entry("kernel.randomize_va_space", 0, low=0, high=2),
    Entry("kernel.real-root-dev", 0, until="7.2"),
    Entry("kernel.sched_autogroup_enabled", 0, low=0, high=1),
    Entry("kernel.sched_cfs_bandwidth_slice_us", 5000, low=1),
    Entry("kernel.sched_child_runs_first", 0, until="6.6"),
    Entry("kernel.sched_deadline_period_max_us", 4194304, low=100, high=U32_MAX, since="5.5", whole=True),
    Entry("kernel.sched_deadline_period_min_us", 100, low=0, high=4194304, since="5.5", whole=True),
    Entry("kernel.sched_latency_ns", 6000000, low=100_000, high=1_000_000_000, until="5.13"),
    Entry("kernel.sched_migration_cost_ns", 500000, low=0, until="5.13"),
    Entry("kernel.sched_min_granularity_ns", 750000, low=100_000, high=1_000_000_000, until="5.13"),
    Entry("kernel.sched_nr_migrate", 32, low=0, until="5.13"),
    Entry("kernel.sched_rr_timeslice_ms", 100),
    Entry("kernel.sched_rt_period_us", 1000000, low=1),
    Entry("kernel.sched_rt_runtime_us", 950000, low=-1),
    Entry("kernel.sched_schedstats", 0, low=0, high=1, since="4.6", admin="write"),
    Entry("kernel.sched_tunable_scaling", 1, low=0, high=2, until="5.13"),
    Entry("kernel.sched_util_clamp_max", 1024, low=0, high=1024, since="7.2"),
    Entry("kernel.sched_util_clamp_min", 1024, low=0, high=1024, since="7.2"),
    Entry("kernel.sched_util_clamp_min_rt_default", 1024, low=0, high=1024, since="7.2"),
    Entry("kernel.sched_wakeup_granularity_ns", 1000000, low=0, high=1_000_000_000, until="5.13"),
    Entry("kernel.seccomp.actions_avail", "kill_process kill_thread trap errno user_notif trace log allow", mode=0o444, since="4.14"),
    Entry("kernel.soft_watchdog", 1, low=0, high=1),
    Entry("kernel.softlockup_all_cpu_backtrace", 0, low=0, high=1),
    Entry("kernel.softlockup_panic", 0, low=0, high=1),
    Entry("kernel.softlockup_sys_info", "", since="7.2"),
    Entry("kernel.split_lock_mitigate", 1, low=0, high=1, since="6.1", srcarch="x86"),
    Entry("kernel.stack_tracer_enabled", 0),
    Entry("kernel.sysctl_writes_strict", 1, low=-1, high=1),
    Entry("kernel.sysrq", 0),
    Entry("kernel.tainted", 0, low=0, high=S64_MAX, admin="write"),
    Entry("kernel.task_delayacct", 0, low=0, high=1, since="5.14", admin="write"),
    Entry("kernel.threads-max", 2048, low=20),
    Entry("kernel.timer_migration", 1, low=0, high=1),
    Entry("kernel.traceoff_on_warning", 0),
    Entry("kernel.tracepoint_printk", 0, since="4.10"),
    Entry("kernel.unknown_nmi_panic", 0, srcarch="x86"),
    Entry("kernel.unprivileged_bpf_disabled", 2, 0o644, 0, 2, since="4.4", admin="write"),
    Entry("kernel.unprivileged_userns_apparmor_policy", 1, mode=0o600, since="4.17"),
    Entry("kernel.unprivileged_userns_clone", 1),
    Entry("kernel.version", "", 0o444),
    Entry("kernel.warn_limit", 0, low=0, high=U32_MAX, since="5.10", whole=True),  # as oops_limit
    Entry("kernel.watchdog", 1, low=0, high=1),
    Entry("kernel.watchdog_thresh", 10, low=0, high=60),
    Entry("net.core.bpf_jit_enable", 1, 0o644, 0, 2, admin="write", config="BPF_JIT"),
    Entry("net.core.bpf_jit_harden", 0, 0o600, 0, 2, since="4.7", admin="all", config="BPF_JIT"),
    Entry("net.core.bpf_jit_kallsyms", 1, 0o600, 0, 1, since="4.11", admin="all", config="BPF_JIT"),
    Entry("net.core.bpf_jit_limit", 528482304, 0o600, 1, 528482304, since="4.19", admin="all", config="BPF_JIT"),
    Entry("user.max_cgroup_namespaces", 1024, low=0, since="4.9"),
    Entry("user.max_fanotify_groups", 128, low=0, since="5.10"),
    Entry("user.max_fanotify_marks", 8192, low=0, since="5.10"),
    Entry("user.max_inotify_instances", 128, low=0, since="4.10"),
    Entry("user.max_inotify_watches", 65536, low=0, since="4.10"),
    Entry("user.max_ipc_namespaces", 1024, low=0, since="4.9"),
    Entry("user.max_mnt_namespaces", 1024, low=0, since="4.9"),
    Entry("user.max_net_namespaces", 1024, low=0, since="4.9"),
    Entry("user.max_pid_namespaces", 1024, low=0, since="4.9"),
    Entry("user.max_time_namespaces", 1024, low=0, since="5.6"),
    Entry("user.max_user_namespaces", 1024, low=0, since="4.9"),
    Entry("user.max_uts_namespaces", 1024, low=0, since="4.9"),
    Entry("vm.admin_reserve_kbytes", 8192, low=0, high=U64_MAX),
    Entry("vm.block_dump", 0, low=0, until="5.13"),
    Entry("vm.compact_memory", "", mode=0o200, ignored=True),
    Entry("vm.compact_unevictable_allowed", 1, low=0, high=1, since="4.2"),
    Entry("vm.compaction_proactiveness", 20, low=0, high=100, since="5.9"),
    Entry("vm.defrag_mode", 0, low=0, high=1, since="6.15"),
    Entry("vm.dirty_background_bytes", 0, low=1, high=S64_MAX),
    Entry("vm.dirty_background_ratio", 10, low=0, high=100),
    Entry("vm.dirty_bytes", 0, low=8192, high=S64_MAX),
    Entry("vm.dirty_expire_centisecs", 3000, low=0),
    Entry("vm.dirty_ratio", 20, low=0, high=100),
    Entry("vm.dirty_writeback_centisecs", 500),
    Entry("vm.dirtytime_expire_seconds", 43200, low=0),
    Entry("vm.drop_caches", 0, 0o200, 1, 4),
    Entry("vm.enable_soft_offline", 1, low=0, high=1, since="6.11"),
    Entry("vm.extfrag_threshold", 500, low=0, high=1000),
    Entry("vm.hugetlb_optimize_vmemmap", 0, low=0, high=1, since="5.19"),
    Entry("vm.hugetlb_shm_group", 0),
    Entry("vm.laptop_mode", 0, low=-SECONDS, high=SECONDS),
    Entry("vm.legacy_va_layout", 0, low=0),
    Entry("vm.lowmem_reserve_ratio", "256\t256\t32\t0\t0"),
    Entry("vm.max_map_count", DEFAULT_MAX_MAP_COUNT, low=0),
    Entry("vm.memfd_noexec", 0, low=0, high=2, since="6.3"),
    Entry("vm.memory_failure_early_kill", 0, low=0, high=1),
    Entry("vm.memory_failure_recovery", 1, low=0, high=1),
    Entry("vm.min_free_kbytes", 1024, low=0),
    Entry("vm.min_slab_ratio", 5, low=0, high=100),
    Entry("vm.min_unmapped_ratio", 1, low=0, high=100),
    Entry("vm.mmap_min_addr", 65536, low=0, high=S64_MAX),
    Entry("vm.mmap_rnd_bits", 28, low=28, high=32, mode=0o600, since="4.5", srcarch="x86"),
    Entry("vm.mmap_rnd_compat_bits", 8, low=8, high=16, mode=0o600, since="4.5", srcarch="x86"),
    Entry("vm.movable_gigantic_pages", 0, low=0, high=1, since="7.2"),
    Entry("vm.nr_hugepages", 0, ignored=True),  # as many as there are
    Entry("vm.nr_hugepages_mempolicy", 0, ignored=True),
    Entry("vm.nr_overcommit_hugepages", 0, low=0, high=U64_MAX),
    Entry("vm.numa_stat", 1, low=0, high=1, since="4.15"),
    Entry("vm.numa_zonelist_order", "Node"),
    Entry("vm.oom_dump_tasks", 1),
    Entry("vm.oom_kill_allocating_task", 0),
    Entry("vm.overcommit_kbytes", 0, low=0, high=U64_MAX),
    Entry("vm.overcommit_memory", 0, low=0, high=2),
    Entry("vm.overcommit_ratio", 50),
    Entry("vm.page-cluster", 3, low=0),
    Entry("vm.page_lock_unfairness", 5, low=0, since="5.9"),
    Entry("vm.panic_on_oom", 0, low=0, high=2),
    Entry("vm.percpu_pagelist_fraction", 0, low=0, until="5.14"),
    Entry("vm.percpu_pagelist_high_fraction", 0, low=0, since="5.14"),
    Entry("vm.stat_interval", 1, low=-SECONDS, high=SECONDS),
    Entry("vm.stat_refresh", "", mode=0o600, since="4.8", ignored=True),
    Entry("vm.swappiness", 60, low=0, high=200),
    Entry("vm.unprivileged_userfaultfd", 0, low=0, high=1, since="5.2"),
    Entry("vm.user_reserve_kbytes", 0, low=0, high=U64_MAX),
    Entry("vm.vfs_cache_pressure", 100, low=0),
    Entry("vm.vfs_cache_pressure_denom", 100, low=100, since="6.16"),
    Entry("vm.watermark_boost_factor", 15000, low=0, since="5.0"),
    Entry("vm.watermark_scale_factor", 10, low=1, high=3000, since="4.6"),
    Entry("vm.zone_reclaim_mode", 0, low=0),
)
# fmt: on


RT_TIMES = ("kernel.sched_rt_runtime_us", "kernel.sched_rt_period_us")


def check(name: str, value: Value, old: Value, table: Mapping[str, Value]) -> Value:
    """What the handlers of some names do besides; `table` has what the others are.  EPERM, EINVAL."""
    if name in RT_TIMES:  # sched_rt_global_validate()
        runtime, period = ({**table, name: value}[other] for other in RT_TIMES)
        if int(runtime) > int(period):
            raise KernelError(EINVAL, "more than all time")
    if name == "kernel.unprivileged_bpf_disabled" and old == 1 and value != 1:
        raise KernelError(EPERM, "locked: bpf_unpriv_handler()")
    if name == "vm.percpu_pagelist_high_fraction" and value and int(value) < MIN_HIGH_FRACTION:
        raise KernelError(EINVAL, "too small a part")
    if name == "vm.numa_zonelist_order":
        if str(value)[:1] not in ("d", "D", "n", "N"):
            raise KernelError(EINVAL, "no order")
        return old
    if name == "kernel.ns_last_pid" and int(value) > int(table["kernel.pid_max"]):
        raise KernelError(EINVAL, "no pid is so large")
    if name == "kernel.tainted":  # proc_taint(): never less
        return int(old) | int(value) & TAINT_FLAGS
    if name == "kernel.auto_msgmni":
        return 0
    if name == "kernel.sched_rr_timeslice_ms" and int(value) <= 0:
        return RR_TIMESLICE_MS
    return value
