"""Special fields of structs in BTF that is loaded: btf_parse_struct_metas() of kernel/bpf/btf.c, since 6.12 for kernel pointers.

A struct with one member that points to the kernel must have nothing but such members that are understood.
"""

from __future__ import annotations

from typing import Final

from arch.abi.version import KernelVersion
from bpf.btf.codec import COMPOSITES, Btf, Kind
from bpf.btf.record import UNKNOWN_TAGS_IGNORED

SINCE: Final = "6.12"  # b0966c724584
_TAGS: Final = ("kptr_untrusted", "kptr", "percpu_kptr", "uptr")


def _tag(btf: Btf, type_id: int) -> str:
    """The tag of what a pointer leads to."""
    t = btf[type_id]
    target = btf[t.type] if t.kind is Kind.PTR else t
    return target.name if target.kind is Kind.TYPE_TAG else ""


def fields_are_understood(btf: Btf, version: KernelVersion) -> bool:
    """No struct mixes kernel pointers with tags that this version does not know."""
    if not version.within(SINCE, UNKNOWN_TAGS_IGNORED):
        return True
    for t in btf.types:
        if t.kind in COMPOSITES:
            tags = [_tag(btf, member.type) for member in t.members]
            if any(tag in _TAGS for tag in tags) and any(tag and tag not in _TAGS for tag in tags):
                return False
    return True
