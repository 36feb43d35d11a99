"""What traces of x86-64 kernels show of how Debian builds them: with ORC, so calls at the end of functions are jumps."""

from __future__ import annotations

from dataclasses import replace

from arch.tracefacts import EventFrames, TraceFacts
from arch.x86_64.callers import CALLERS_6_1, INLINED_6_1

_OUTSIDE = "0xffffffffc02010c8"  # allocated for ftrace, outside of the kernel's text: it has no name
_INT3 = ("asm_exc_int3",)
_UPROBE = ("uprobe_notify_resume", "exit_to_user_mode_prepare", "irqentry_exit_to_user_mode", *_INT3)

_FTRACE_PAGE = "0xffffffffc0201000"


def _users(sizes: dict[str, int], several: str, assisted: dict[str, str], graph: str = "") -> dict[str, str]:
    """The ends of lines of enabled_functions, from the sizes of the functions that are called; `assisted`: through another."""
    ends = {}
    for name, size in sizes.items():
        own = f"{name}+0x0/{size:#x}"
        ends[name] = f"\ttramp: {_FTRACE_PAGE} ({own}) ->{assisted.get(name, own)}"
    if graph:
        ends["ftrace_graph_func"] = graph
    return ends | {"": f" ->{several}"}


_USERS_6_1 = _users(
    {
        "function_trace_call": 0x120, "function_no_repeats_trace_call": 0x190, "function_stack_trace_call": 0xB0,
        "function_stack_no_repeats_trace_call": 0x130, "ftrace_pid_func": 0x40, "ftrace_graph_func": 0x10,
        "function_trace_probe_call": 0x40, "stack_trace_call": 0x2F0, "perf_ftrace_function_call": 0x1D0,
        "kprobe_ftrace_handler": 0x1B0, "fprobe_handler": 0x240, "fprobe_ftrace_entry": 0x260,
    },
    "arch_ftrace_ops_list_func+0x0/0x1d0",
    {},
)  # fmt: skip
_USERS_6_12 = _users(
    {
        "function_trace_call": 0x110, "function_no_repeats_trace_call": 0x190, "function_stack_trace_call": 0xB0,
        "function_stack_no_repeats_trace_call": 0x130, "ftrace_pid_func": 0x40, "ftrace_graph_func": 0x20,
        "function_trace_probe_call": 0x40, "stack_trace_call": 0x330, "perf_ftrace_function_call": 0x1E0,
        "kprobe_ftrace_handler": 0x1D0, "fprobe_handler": 0x240,
    },
    "arch_ftrace_ops_list_func+0x0/0x1d0",
    {},
)  # fmt: skip
_GRAPH_7_2 = "ftrace_graph_func+0x0/0x70"
_USERS_7_2 = _users(
    {
        "function_trace_call": 0x1B0, "function_no_repeats_trace_call": 0x240, "function_stack_trace_call": 0x180,
        "function_stack_no_repeats_trace_call": 0x280, "ftrace_pid_func": 0x40,
        "function_trace_probe_call": 0x40, "stack_trace_call": 0x590, "perf_ftrace_function_call": 0x290,
        "kprobe_ftrace_handler": 0x1F0, "fprobe_ftrace_entry": 0x260,
    },
    "arch_ftrace_ops_list_func+0x0/0x250",
    {},
) | {
    name: f"\ttramp: {_FTRACE_PAGE} ({_GRAPH_7_2}) ->{_GRAPH_7_2}\tsubops: {{ent:{entry} ret:trace_graph_return+0x0/0x140}}"
    for name, entry in (
        ("ftrace_graph_func", "trace_graph_entry+0x0/0x10"), ("fgraph_pid_func", "fgraph_pid_func+0x0/0x50"),
    )
}  # fmt: skip
_ASSIST = "ftrace_ops_assist_func+0x0/0x110"
_USERS_5_10 = _users(
    {
        "function_trace_call": 0x120, "function_stack_trace_call": 0xA0, "ftrace_pid_func": 0x40,
        "function_trace_probe_call": 0x30, "stack_trace_call": 0x2D0, "perf_ftrace_function_call": 0xF0,
        "kprobe_ftrace_handler": 0xF0,
    },
    "ftrace_ops_list_func+0x0/0x180",
    {"function_trace_probe_call": _ASSIST, "kprobe_ftrace_handler": _ASSIST},
    "\ttramp: ftrace_graph_caller+0x0/0xa0 (ftrace_stub_graph+0x0/0x10) ->prepare_ftrace_return+0x0/0x80",
)  # fmt: skip

_FRAMES_5_17 = EventFrames(
    syscall_enter=("syscall_trace_enter.constprop.0",),
    syscall_exit=("syscall_exit_to_user_mode_prepare", "syscall_exit_to_user_mode"),
    kprobe_trap=("kprobe_ftrace_handler", _OUTSIDE),
    kretprobe=("kretprobe_trace_func", "kretprobe_dispatcher", "kretprobe_rethook_handler",
               "rethook_trampoline_handler", "arch_rethook_trampoline_callback", "arch_rethook_trampoline"),
    fprobe=("fentry_trace_func", "fentry_dispatcher", "fprobe_ftrace_entry", "0xffffffffc0401095"),
    uprobe=("__uprobe_trace_func", "uprobe_dispatcher", *_UPROBE),
    uretprobe=("__uprobe_trace_func", "uretprobe_dispatcher", *_UPROBE),
    function=("0xffffffffc0201083",), function_list=("arch_ftrace_ops_list_func",), users=_USERS_6_1,
    trigger=1, option=1, hist=3,
)  # fmt: skip

TRACES = TraceFacts(
    clears_upper_half=True,
    searches_lowest=True,
    preempt_count=(("5.17", True), ("4.9", False), (None, True)),  # PREEMPT_DYNAMIC since Debian 12
    own_clocks=("x86-tsc",),
    user_clock=(1 << 31, 31),  # of a time stamp counter of 1 GHz, as clocks_calc_mult_shift() has it
    traces_mmio=True,
    folded_resched=True,
    sibling_calls="4.17",
    frames=(
        ("7.2", replace(
            _FRAMES_5_17, syscall_enter=("trace_syscall_enter",), syscall_exit=("trace_syscall_exit",), users=_USERS_7_2,
            function=("[FTRACE TRAMPOLINE]",),
        )),
        ("6.12", replace(
            _FRAMES_5_17, syscall_enter=("syscall_trace_enter",), users=_USERS_6_12, function=("[FTRACE TRAMPOLINE]",),
        )),
        ("5.17", _FRAMES_5_17),
        ("5.10", EventFrames(
            syscall_commit=(),
            syscall_enter=("syscall_trace_enter.constprop.0",),
            syscall_exit=("syscall_exit_to_user_mode",),
            kprobe_trap=("kprobe_ftrace_handler", "ftrace_ops_assist_func", "0xffffffffc00020c8"),
            kretprobe=("kretprobe_trace_func", "kretprobe_dispatcher", "__kretprobe_trampoline_handler", "trampoline_handler"),
            uprobe=("__uprobe_trace_func", "uprobe_dispatcher", *_UPROBE),
            uretprobe=("__uprobe_trace_func", "uretprobe_dispatcher", *_UPROBE),
            function=("0xffffffffc0002083",), function_list=("ftrace_ops_list_func",), users=_USERS_5_10,
            trigger=1, option=1, hist=3,
        )),
    ),
    sys_bodies=frozenset(
        ["add_key", "adjtimex", "brk", "capget", "capset", "clock_adjtime", "clone", "clone3", "copy_file_range", "delete_module", "fanotify_init", "finit_module", "flock", "fsconfig", "fsmount", "fspick", "fstatfs", "futex_waitv", "getcwd", "getpriority", "getrusage", "init_module", "io_uring_enter", "ioprio_get", "ioprio_set", "kcmp", "kexec_file_load", "keyctl", "membarrier", "memfd_create", "mincore", "mlockall", "mount_setattr", "mq_getsetattr", "mq_unlink", "mremap", "msync", "newfstat", "newfstatat", "newlstat", "newstat", "newuname", "openat2", "perf_event_open", "pidfd_send_signal", "pivot_root", "prctl", "prlimit64", "process_madvise", "process_mrelease", "reboot", "remap_file_pages", "request_key", "sched_setattr", "set_mempolicy_home_node", "setgroups", "setns", "setpgid", "setpriority", "statfs", "swapoff", "swapon", "sysinfo", "timerfd_create", "uselib", "ustat", "vmsplice", "wait4", "waitid"]
    ),
    callers=CALLERS_6_1,
    inlined=INLINED_6_1,
    recorded_in=("6.1", "6.2"),
    inside={
        "exc_page_fault": ("do_user_addr_fault", ""),
        "__wake_up": ("__wake_up_common", "__wake_up_common_lock"),
    },
)  # fmt: skip
