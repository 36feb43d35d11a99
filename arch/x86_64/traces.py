"""What traces of x86-64 kernels show of how Debian builds them: with ORC, so calls at the end of functions are jumps."""

from __future__ import annotations

from arch.tracefacts import EventFrames, TraceFacts

_OUTSIDE = "0xffffffffc02010c8"  # allocated for ftrace, outside of the kernel's text: it has no name
_INT3 = ("asm_exc_int3",)
_UPROBE = ("uprobe_notify_resume", "exit_to_user_mode_prepare", "irqentry_exit_to_user_mode", *_INT3)

TRACES = TraceFacts(
    clears_upper_half=True,
    searches_lowest=True,
    preempt_count=(("5.17", True), ("4.9", False), (None, True)),  # PREEMPT_DYNAMIC since Debian 12
    folded_resched=True,
    sibling_calls="4.17",
    frames=(
        ("5.17", EventFrames(
            syscall_enter=("syscall_trace_enter.constprop.0",),
            syscall_exit=("syscall_exit_to_user_mode_prepare", "syscall_exit_to_user_mode"),
            kprobe_trap=("kprobe_ftrace_handler", _OUTSIDE),
            kretprobe=("kretprobe_trace_func", "kretprobe_dispatcher", "kretprobe_rethook_handler",
                       "rethook_trampoline_handler", "arch_rethook_trampoline_callback", "arch_rethook_trampoline"),
            uprobe=("__uprobe_trace_func", "uprobe_dispatcher", *_UPROBE),
            uretprobe=("__uprobe_trace_func", "uretprobe_dispatcher", *_UPROBE),
            function=("0xffffffffc0201083",), function_list=("arch_ftrace_ops_list_func",),
            trigger=1, option=1, hist=3,
        )),
        ("5.10", EventFrames(
            syscall_commit=(),
            syscall_enter=("syscall_trace_enter.constprop.0",),
            syscall_exit=("syscall_exit_to_user_mode",),
            kprobe_trap=("kprobe_ftrace_handler", "ftrace_ops_assist_func", "0xffffffffc00020c8"),
            kretprobe=("kretprobe_trace_func", "kretprobe_dispatcher", "__kretprobe_trampoline_handler", "trampoline_handler"),
            uprobe=("__uprobe_trace_func", "uprobe_dispatcher", *_UPROBE),
            uretprobe=("__uprobe_trace_func", "uretprobe_dispatcher", *_UPROBE),
            function=("0xffffffffc0002083",), function_list=("ftrace_ops_list_func",),
            trigger=1, option=1, hist=3,
        )),
    ),
    sys_bodies=frozenset(
        ["add_key", "adjtimex", "brk", "capget", "capset", "clock_adjtime", "clone", "clone3", "copy_file_range", "delete_module", "fanotify_init", "finit_module", "flock", "fsconfig", "fsmount", "fspick", "fstatfs", "futex_waitv", "getcwd", "getpriority", "getrusage", "init_module", "io_uring_enter", "ioprio_get", "ioprio_set", "kcmp", "kexec_file_load", "keyctl", "membarrier", "memfd_create", "mincore", "mlockall", "mount_setattr", "mq_getsetattr", "mq_unlink", "mremap", "msync", "newfstat", "newfstatat", "newlstat", "newstat", "newuname", "openat2", "perf_event_open", "pidfd_send_signal", "pivot_root", "prctl", "prlimit64", "process_madvise", "process_mrelease", "reboot", "remap_file_pages", "request_key", "sched_setattr", "set_mempolicy_home_node", "setgroups", "setns", "setpgid", "setpriority", "statfs", "swapoff", "swapon", "sysinfo", "timerfd_create", "uselib", "ustat", "vmsplice", "wait4", "waitid"]
    ),
    inside={
        "exc_page_fault": ("do_user_addr_fault", ""),
        "__wake_up": ("__wake_up_common", "__wake_up_common_lock"),
    },
)  # fmt: skip
