"""How kernels are built: options that decide what bpf(2) offers, and since which of Debian's kernels they are set."""

from __future__ import annotations

from collections.abc import Collection

from arch.abi.version import KernelVersion
from arch.architecture import Architecture

# Option -> the first release whose kernel in Debian has it; None: none of them.  /boot/config-*
BUILT_SINCE: dict[str, str | None] = {
    "BPF_JIT": "3.18",
    "BPF_JIT_DEFAULT_ON": "3.18",  # net.core.bpf_jit_enable is 1 from the start
    "DEBUG_INFO_BTF": "5.2",
    "FPROBE": "6.12",  # kprobe_multi links
    "FUNCTION_ERROR_INJECTION": None,
    "BPF_KPROBE_OVERRIDE": None,
    "BPF_LIRC_MODE2": None,
}


def configured(version: KernelVersion, more: Collection[str], option: str, arch: Architecture | None) -> bool:
    """Is the kernel of this version and CPU, with these options beyond Debian's, built with CONFIG_`option`?"""
    since = BUILT_SINCE[option] if arch is None else arch.built_since.get(option, BUILT_SINCE[option])
    return option in more or (since is not None and version.at_least(since))
