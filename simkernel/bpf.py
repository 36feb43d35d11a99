"""What BPF programs written in Python import: `from simkernel import bpf`.  docs/bpf-python.md; bpf/python/ compiles them."""

from __future__ import annotations

from typing import Any

from bpf.python import words
from bpf.python.words import (
    Array,
    Hash,
    LpmTrie,
    LruHash,
    LruPercpuHash,
    PercpuArray,
    PercpuHash,
    PerfEventArray,
    ProgArray,
    RingBuf,
    StackTrace,
    array,
    char,
    const,
    fentry,
    fexit,
    kprobe,
    kretprobe,
    ptr,
    raw_tracepoint,
    s8,
    s16,
    s32,
    s64,
    section,
    struct,
    tp_btf,
    tracepoint,
    u8,
    u16,
    u32,
    u64,
    uprobe,
    uretprobe,
    xdp,
)

__all__ = (
    "Array", "Hash", "LpmTrie", "LruHash", "LruPercpuHash", "PercpuArray", "PercpuHash", "PerfEventArray", "ProgArray",
    "RingBuf", "StackTrace", "array", "char", "const", "fentry", "fexit", "kprobe", "kretprobe", "ptr", "raw_tracepoint",
    "s8", "s16", "s32", "s64", "section", "struct", "tp_btf", "tracepoint", "u8", "u16", "u32", "u64", "uprobe", "uretprobe",
    "xdp",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Helpers and constants of the kernel."""
    return getattr(words, name)
