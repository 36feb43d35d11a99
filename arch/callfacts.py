"""What system calls show of a CPU and differ in by CPU: ptrace(2), seccomp(2), System V IPC."""

from __future__ import annotations

from typing import Literal

from arch.records import dataclass


@dataclass(frozen=True)
class CallFacts:
    """One CPU's column."""

    # struct user_regs_struct and its kin, in order: a field of struct pt_regs, or one of
    #   fs_base   the thread pointer           0       always zero
    #   4:NAME    NAME in 4 bytes              seg:N   a selector that is always N
    user_regs: tuple[str, ...]
    audit_arch: int  # AUDIT_ARCH_*: include/uapi/linux/audit.h
    step_flag: tuple[str, int] | None = None  # (pt_regs field, bit) that lets user code trap after each instruction
    resume_flag: tuple[str, int] | None = None  # (register, bit): the next instruction's breakpoint has been told of
    breakpoint_slots: int = 0  # hardware breakpoints of a task
    user_debugregs: int | None = None  # offset of the debug registers in struct user
    user_size: int = 928  # bytes of struct user
    low_mappings: tuple[int, int] | None = None  # from where to where MAP_32BIT looks
    old_ptrace_requests: bool = False  # PTRACE_GETREGS and its like are requests of this CPU
    sysemu_since: str | None = None  # PTRACE_SYSEMU
    largest_frame: tuple[str, int] | None = (
        None  # (since, bytes) of a signal's frame with all that a CPU without XSAVE has: AT_MINSIGSTKSZ
    )
    sem_times_padded: bool = False  # struct semid64_ds has room behind each time
    pads_statfs64: bool = False  # user space may count the padding of struct statfs64 (arm)
    ipc_version: bool = False  # semctl, msgctl and shmctl take the flag IPC_64 (arm)
    ipc_third_is_timeout: bool = False  # ipc(SEMTIMEDOP) takes its timeout as the third argument, not the fifth
    ipc_mode_is_wide: bool = False  # struct ipc64_perm's sequence number stands behind two unused bytes
    has_dies: bool = False  # /sys/devices/system/cpu/cpuN/topology has die_* and cluster_*
    # What the register of the result holds while the way into a call is watched: -ENOSYS, the first argument, or the number (and
    # -ENOSYS from there on).
    result_before: Literal["error", "argument", "number"] = "error"
    child_ends_call: bool = True  # a new task takes the way out of its call on which sys_exit fires
    generic_entry: bool = False  # CONFIG_GENERIC_ENTRY: system calls can be dispatched to user space
    has_soft_dirty: bool = False  # HAVE_ARCH_SOFT_DIRTY: a bit of each page says whether it was written
    vdso_sigreturn: bool = False  # user dispatch lets the calls of the vDSO pass that return from signals
    huge_page_sizes: tuple[int, ...] = (21, 30)  # bits of an address in one: the sizes of huge pages
    has_numa: bool = True  # CONFIG_NUMA, as Debian builds it
    has_sysfs_call: bool = True  # CONFIG_SYSFS_SYSCALL: sysfs(2)
    syncs_cores: bool = True  # ARCH_HAS_MEMBARRIER_SYNC_CORE
    has_pkeys: bool = False  # CONFIG_ARCH_HAS_PKEYS: the calls are there, whatever the CPU has
    has_tsc: bool = False  # prctl(2) may forbid the time stamp counter
