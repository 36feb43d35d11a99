"""Loads and stores that are rewritten, each kind of pointer in its own way."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf.verifier.domain.types import (
    NOT_INIT,
    PTR_TO_ARENA,
    PTR_TO_BTF_ID,
    PTR_TO_CTX,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_TCP_SOCK,
    PTR_TO_XDP_SOCK,
    PTR_UNTRUSTED,
    base_type,
)
from bpf.verifier.env import Env

# Pointers whose loads and stores are rewritten, each its own way.
_REWRITTEN: Final = frozenset(
    {PTR_TO_CTX, PTR_TO_SOCKET, PTR_TO_SOCK_COMMON, PTR_TO_TCP_SOCK, PTR_TO_XDP_SOCK, PTR_TO_BTF_ID, PTR_TO_ARENA}
)


def note_pointer_type(env: Env, word: int, trust_may_differ: bool = False) -> None:
    """An instruction is rewritten once, so it must see the same kind of pointer on all paths: save_aux_ptr_type()."""
    aux = env.aux[env.insn_idx]
    seen = aux.ptr_type
    if seen == NOT_INIT:
        aux.ptr_type = word
    elif word != seen and (base_type(word) in _REWRITTEN or base_type(seen) in _REWRITTEN):
        if not (trust_may_differ and base_type(word) == base_type(seen) == PTR_TO_BTF_ID):
            env.reject(EINVAL, "same insn cannot be used with different pointers")
        aux.ptr_type = PTR_TO_BTF_ID | PTR_UNTRUSTED  # a load that may fault will do for both
