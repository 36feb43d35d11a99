"""Which of the kernel's selftests are built and run, how, and why what differs does: rows for kselftests.py."""

from __future__ import annotations

from typing import NamedTuple


class Suite(NamedTuple):
    """A folder below tools/testing/selftests, words for its make, and commands for what its Makefile cannot link statically."""

    name: str
    make: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


_RSEQ = "gcc -static -O2 -I. -I../../../include -isystem ../../../../usr/include"

SUITES = (
    Suite("breakpoints"),
    Suite("capabilities"),
    Suite("cgroup"),
    Suite("clone3"),
    Suite("core"),
    Suite("exec"),
    Suite("filesystems"),
    Suite("filesystems/epoll"),
    Suite("futex/functional"),
    Suite("ipc"),
    Suite("kcmp"),
    Suite("landlock"),
    Suite("membarrier"),
    Suite("memfd"),
    Suite("mincore"),
    Suite("mount"),
    Suite("mount_setattr"),
    Suite("move_mount_set_group"),
    Suite("mqueue"),
    Suite("nsfs"),
    Suite("openat2", ("CFLAGS=-O2",)),
    Suite("perf_events"),
    Suite("pid_namespace"),
    Suite("pidfd"),
    Suite("prctl"),
    Suite("proc"),
    Suite("ptrace"),
    Suite("rlimits"),
    Suite("rseq", (), (
        f"{_RSEQ} basic_test.c rseq.c -o basic_test -lpthread", f"{_RSEQ} basic_percpu_ops_test.c rseq.c -o basic_percpu_ops_test -lpthread",
        f"{_RSEQ} param_test.c rseq.c -o param_test -lpthread",
    )),
    Suite("sched"),
    Suite("seccomp"),
    Suite("sigaltstack"),
    Suite("size"),
    Suite("splice"),
    Suite("sync"),
    Suite("syscall_user_dispatch"),
    Suite("timens"),
    Suite("timers", (), ("gcc -static -O2 -D'clock_adjtime(c,t)=my_clock_adjtime(c,t)' valid-adjtimex.c -o valid-adjtimex -lrt",)),
    Suite("tmpfs"),
    Suite("uevent"),
    Suite("user"),
    Suite("vDSO"),
    Suite("vm"),
    Suite("x86"),
    Suite("net/af_unix"),
)  # fmt: skip

# Programs that others start.
HELPERS = frozenset({
    "capabilities/validate_cap", "pidfd/pidfd_file_negotiation", "cgroup/wait_inotify", "vm/write_to_hugetlbfs", "exec/execveat.denatured", "landlock/true",
})  # fmt: skip

# program -> why it is not run
NOT_RUN: dict[str, str] = {
    "timers/leap-a-day": "runs for ever", "timers/leapcrash": "runs for ever", "timers/rtcpie": "needs a clock chip",
    "timers/alarmtimer-suspend": "suspends the machine", "timers/clocksource-switch": "changes clock sources for minutes",
    "timers/set-tz": "changes the time zone for good",
    "x86/mov_ss_trap_64": "takes an emulated real kernel down",
    "breakpoints/step_after_suspend_test": "suspends the machine",
    "vm/transhuge-stress": "takes all memory", "vm/virtual_address_range": "maps 128 TiB for minutes",
}  # fmt: skip

# program -> the arguments that it is run with, one run each
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "vm/userfaultfd": ("anon 20 16", "shmem 20 16"),
    "rseq/param_test": ("-T s -r 100 -t 2", "-T l -r 100 -t 2"),
    "vm/gup_test": ("-u", "-a"),
    "vm/ksm_tests": ("-M -p 10", "-U"),
}

# programs, and suites all of whose programs, get a boot of their own when the real kernel is asked
ALONE = frozenset({
    "x86", "mount", "net/af_unix", "vm/protection_keys_64", "vm/soft-dirty", "vm/thuge-gen", "vm/khugepaged", "rseq/basic_percpu_ops_test", "mqueue/mq_perf_tests",
    "timers/set-2038", "timers/change_skew", "timers/freq-step", "timers/adjtick", "vm/userfaultfd anon 20 16",
})  # fmt: skip

# program -> what is behind the results that differ
REASONS: dict[str, str] = {
    "cgroup/test_cpu": "does not end in time on a loaded host", "cgroup/test_freezer": "does not end in time on a loaded host",
    "cgroup/test_kmem": "kernel memory is on no group's account", "cgroup/test_memcontrol": "nothing is reclaimed",
    "clone3/clone3_set_tid": "two lines of its children come in another order",
    "filesystems/epoll/epoll_wakeup_test": "does not end in time on a loaded host",
    "ipc/msgque": "no /proc/sys/kernel/msg_next_id",
    "prctl/disable-tsc-on-off-stress-test": "does not end in time on a loaded host",
    "prctl/disable-tsc-ctxt-sw-stress-test": "does not end in time on a loaded host", "perf_events/mmap": "ends by its alarm, which a loaded host does not reach",
    "timens/gettime_perf": "does not end in time on a loaded host",
    "timers/inconsistency-check": "does not end in time on a loaded host",
    "vm/ksm_tests -M -p 10": "equal pages are not merged",
    "x86/iopl_64": "nobody is kept from ports", "x86/sigaltstack_64": "a CPU without AVX-512: the frame is small enough",
    "x86/single_step_syscall_64": "SYSENTER while stepping", "x86/syscall_arg_fault_64": "SYSENTER while stepping",
    "proc/proc-tid0": "does not end in time on a loaded host", "proc/proc-uptime-001": "does not end in time on a loaded host",
    "syscall_user_dispatch/sud_benchmark": "does not end in time on a loaded host",
}  # fmt: skip
