"""How kernels are built: options that decide what bpf(2) offers, and since which of Debian's kernels they are set."""

from __future__ import annotations

from collections.abc import Collection

from arch.abi.version import KernelVersion

# Option -> the first release whose kernel in Debian has it; None: none of them.  /boot/config-*
BUILT_SINCE: dict[str, str | None] = {
    "FPROBE": "6.12",  # kprobe_multi links
    "FUNCTION_ERROR_INJECTION": None,
    "BPF_KPROBE_OVERRIDE": None,
    "BPF_LIRC_MODE2": None,
}


def configured(version: KernelVersion, more: Collection[str], option: str) -> bool:
    """Is the kernel of this version, with these options beyond Debian's, built with CONFIG_`option`?"""
    since = BUILT_SINCE[option]
    return option in more or (since is not None and version.at_least(since))
