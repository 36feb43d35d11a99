"""Pointers that may be NULL, once the program has looked."""

from __future__ import annotations

from bpf import uapi
from bpf.btf.record import WORKQUEUE
from bpf.verifier.domain.state import Reg, Value
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_MAP_VALUE,
    PTR_TO_SOCKET,
    PTR_TO_XDP_SOCK,
    SCALAR_VALUE,
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
        if m.inner.timer_off >= 0 or (m.inner.record is not None and m.inner.record.has(WORKQUEUE)):
            new.raw2 = v.id
    elif m.map_type == uapi.BPF_MAP_TYPE_XSKMAP:
        new.type = PTR_TO_XDP_SOCK
    elif m.map_type in (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH):
        new.type = PTR_TO_SOCKET
    else:
        new.type = PTR_TO_MAP_VALUE
    return new


def not_null_if_equal(a: Reg, b: Reg) -> None:
    """Where two pointers are equal, one that may be NULL is not, if the other is not.

    Pointers to structures of the kernel teach nothing: they can be NULL without saying so.
    """
    types = a.value.type, b.value.type
    if SCALAR_VALUE in types or PTR_TO_BTF_ID in map(base_type, types):
        return
    if types[0] & PTR_MAYBE_NULL and not types[1] & PTR_MAYBE_NULL:
        a.value = not_null(a.value)
    elif types[1] & PTR_MAYBE_NULL and not types[0] & PTR_MAYBE_NULL:
        b.value = not_null(b.value)
