"""Pointers that may be NULL, once the program has looked."""

from __future__ import annotations

from bpf import uapi
from bpf.verifier.domain.state import Value
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    PTR_MAYBE_NULL,
    PTR_TO_MAP_VALUE,
    PTR_TO_SOCKET,
    PTR_TO_XDP_SOCK,
    base_type,
)


def not_null(v: Value) -> Value:
    """A pointer found not to be NULL: mark_ptr_not_null_reg()."""
    new = v.copy()
    if base_type(v.type) != PTR_TO_MAP_VALUE:
        new.type = v.type & ~PTR_MAYBE_NULL
        return new
    m = v.map
    if m.inner is not None:
        new.type = CONST_PTR_TO_MAP
        new.raw1 = m.inner
        if m.inner.timer_off >= 0:
            new.raw2 = v.id
    elif m.map_type == uapi.BPF_MAP_TYPE_XSKMAP:
        new.type = PTR_TO_XDP_SOCK
    elif m.map_type in (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH):
        new.type = PTR_TO_SOCKET
    else:
        new.type = PTR_TO_MAP_VALUE
    return new
