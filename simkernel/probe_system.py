"""How a machine's kernel is set up for BPF: what `bpftool feature probe` reads before it tries anything.

tools/bpf/bpftool/feature.c, section_system_config(): five files below /proc/sys, and options of /boot/config-RELEASE.  A file
that cannot be read is -1, an option that is not set is None.
"""

from __future__ import annotations

import re

from arch.errors import KernelError
from simkernel.machine import Machine

# Key -> (file below /proc/sys, what the numbers mean, what is said where the file cannot be read).
UNPRIVILEGED, JIT, HARDEN, KALLSYMS, LIMIT = (
    "unprivileged_bpf_disabled",
    "bpf_jit_enable",
    "bpf_jit_harden",
    "bpf_jit_kallsyms",
    "bpf_jit_limit",
)
SYSCTLS: tuple[tuple[str, str, dict[int, str], str], ...] = (
    (
        UNPRIVILEGED,
        "kernel",
        {
            0: "bpf() syscall for unprivileged users is enabled",
            1: "bpf() syscall restricted to privileged users (without recovery)",
            2: "bpf() syscall restricted to privileged users (admin can change)",
        },
        "Unable to retrieve required privileges for bpf() syscall",
    ),
    (
        JIT,
        "net/core",
        {
            0: "JIT compiler is disabled",
            1: "JIT compiler is enabled",
            2: "JIT compiler is enabled with debugging traces in kernel logs",
        },
        "Unable to retrieve JIT-compiler status",
    ),
    (
        HARDEN,
        "net/core",
        {
            0: "JIT compiler hardening is disabled",
            1: "JIT compiler hardening is enabled for unprivileged users",
            2: "JIT compiler hardening is enabled for all users",
        },
        "Unable to retrieve JIT hardening status",
    ),
    (
        KALLSYMS,
        "net/core",
        {0: "JIT compiler kallsyms exports are disabled", 1: "JIT compiler kallsyms exports are enabled for root"},
        "Unable to retrieve JIT kallsyms export status",
    ),
    (LIMIT, "net/core", {}, "Unable to retrieve global memory limit for JIT compiler for unprivileged users"),
)
OPTIONS = (
    "BPF", "BPF_SYSCALL", "HAVE_EBPF_JIT", "BPF_JIT", "BPF_JIT_ALWAYS_ON", "DEBUG_INFO_BTF", "DEBUG_INFO_BTF_MODULES",
    "CGROUPS", "CGROUP_BPF", "CGROUP_NET_CLASSID", "SOCK_CGROUP_DATA", "BPF_EVENTS", "KPROBE_EVENTS", "UPROBE_EVENTS",
    "TRACING", "FTRACE_SYSCALLS", "FUNCTION_ERROR_INJECTION", "BPF_KPROBE_OVERRIDE", "NET", "XDP_SOCKETS",
    "LWTUNNEL_BPF", "NET_ACT_BPF", "NET_CLS_BPF", "NET_CLS_ACT", "NET_SCH_INGRESS", "XFRM", "IP_ROUTE_CLASSID",
    "IPV6_SEG6_BPF", "BPF_LIRC_MODE2", "BPF_STREAM_PARSER", "NETFILTER_XT_MATCH_BPF", "BPFILTER", "BPFILTER_UMH",
    "TEST_BPF", "HZ",
)  # fmt: skip
GONE = ("CONFIG_BPFILTER", "CONFIG_BPFILTER_UMH")  # a newer bpftool does not ask for what went with Linux 6.8
System = dict[str, int | str | None]


def probe_system(machine: Machine, newer: bool = False) -> System:
    """What the files say, under bpftool's JSON keys; `newer`: as one after 7.1.0 asks."""
    found: System = {}
    for name, folder, _, _ in SYSCTLS:
        text = _read(machine, f"/proc/sys/{folder}/{name}")
        found[name] = -1 if text is None else int(text)
    config = _read(machine, f"/boot/config-{machine.kernel.version.release}")
    values = dict(re.findall(r"^(CONFIG_\w+)=(.*)$", config or "", re.MULTILINE))
    asked = [f"CONFIG_{option}" for option in OPTIONS]
    return found | {name: values.get(name) for name in asked if not (newer and name in GONE)}


def _read(machine: Machine, path: str) -> str | None:
    try:
        return machine.session.read_file(path).decode()
    except KernelError:
        return None


def system_text(found: System) -> list[str]:
    """As bpftool prints it for people."""
    lines = ["Scanning system configuration..."]
    for name, _, meanings, unknown in SYSCTLS:
        value = found[name]
        if value == -1:
            lines.append(unknown)
        elif name == LIMIT:
            lines.append(f"Global memory limit for JIT compiler for unprivileged users is {value} bytes")
        else:
            assert isinstance(value, int)
            lines.append(meanings[value])
    if found["CONFIG_BPF"] is None:  # no kernel with bpf(2) says so of itself
        lines.append("skipping kernel config, can't open file: No such file or directory")
    for name, value in found.items():
        if name.startswith("CONFIG_"):
            lines.append(f"{name} is not set" if value is None else f"{name} is set to {value}")
    return lines
