"""The verifier's type words: register, argument and return types with their flags.

include/linux/bpf.h, Linux 6.12; what memory of a ring buffer is called was MEM_ALLOC before 6.2.  A type word is a base
type in the low eight bits and flags above them, as in the kernel, and is a plain int here because the verifier compares
millions of them.
"""

from __future__ import annotations

from typing import Final

BPF_BASE_TYPE_BITS: Final = 8
BPF_BASE_TYPE_MASK: Final = (1 << BPF_BASE_TYPE_BITS) - 1

# enum bpf_type_flag -------------------------------------------------------------------------------
PTR_MAYBE_NULL: Final = 1 << 8
MEM_RDONLY: Final = 1 << 9
MEM_RINGBUF: Final = 1 << 10
MEM_USER: Final = 1 << 11
MEM_PERCPU: Final = 1 << 12
OBJ_RELEASE: Final = 1 << 13
PTR_UNTRUSTED: Final = 1 << 14
MEM_UNINIT: Final = 1 << 15
DYNPTR_TYPE_LOCAL: Final = 1 << 16
DYNPTR_TYPE_RINGBUF: Final = 1 << 17
MEM_FIXED_SIZE: Final = 1 << 18
MEM_ALLOC: Final = 1 << 19  # an object of the program's own: bpf_obj_new()
PTR_TRUSTED: Final = 1 << 20  # the kernel's object will not go away while the program looks at it
MEM_RCU: Final = 1 << 21  # nor will this one before the read section ends
NON_OWN_REF: Final = 1 << 22  # somebody else owns it, as long as the lock is held
DYNPTR_TYPE_SKB: Final = 1 << 23
DYNPTR_TYPE_XDP: Final = 1 << 24
MEM_ALIGNED: Final = 1 << 25
MEM_WRITE: Final = 1 << 26

DYNPTR_TYPE_SKB_META: Final = 1 << 27
DYNPTR_TYPE_FILE: Final = 1 << 28

DYNPTR_TYPE_FLAG_MASK: Final = (
    DYNPTR_TYPE_LOCAL
    | DYNPTR_TYPE_RINGBUF
    | DYNPTR_TYPE_SKB
    | DYNPTR_TYPE_XDP
    | DYNPTR_TYPE_SKB_META
    | DYNPTR_TYPE_FILE
)
BPF_REG_TRUSTED_MODIFIERS: Final = MEM_ALLOC | PTR_TRUSTED | NON_OWN_REF

# enum bpf_arg_type --------------------------------------------------------------------------------
ARG_DONTCARE: Final = 0
ARG_CONST_MAP_PTR: Final = 1
ARG_PTR_TO_MAP_KEY: Final = 2
ARG_PTR_TO_MAP_VALUE: Final = 3
ARG_PTR_TO_MEM: Final = 4
ARG_CONST_SIZE: Final = 5
ARG_CONST_SIZE_OR_ZERO: Final = 6
ARG_PTR_TO_CTX: Final = 7
ARG_ANYTHING: Final = 8
ARG_PTR_TO_SPIN_LOCK: Final = 9
ARG_PTR_TO_SOCK_COMMON: Final = 10
ARG_PTR_TO_SOCKET: Final = 11
ARG_PTR_TO_BTF_ID: Final = 12
ARG_PTR_TO_ALLOC_MEM: Final = 13
ARG_CONST_ALLOC_SIZE_OR_ZERO: Final = 14
ARG_PTR_TO_BTF_ID_SOCK_COMMON: Final = 15
ARG_PTR_TO_PERCPU_BTF_ID: Final = 16
ARG_PTR_TO_FUNC: Final = 17
ARG_PTR_TO_STACK: Final = 18
ARG_PTR_TO_CONST_STR: Final = 19
ARG_PTR_TO_TIMER: Final = 20
ARG_PTR_TO_KPTR: Final = 21
ARG_PTR_TO_DYNPTR: Final = 22
ARG_PTR_TO_ARENA: Final = 23

ARG_PTR_TO_MAP_VALUE_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_MAP_VALUE
ARG_PTR_TO_MEM_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_MEM
ARG_PTR_TO_CTX_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_CTX
ARG_PTR_TO_SOCKET_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_SOCKET
ARG_PTR_TO_ALLOC_MEM_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_ALLOC_MEM
ARG_PTR_TO_STACK_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_STACK
ARG_PTR_TO_BTF_ID_OR_NULL: Final = PTR_MAYBE_NULL | ARG_PTR_TO_BTF_ID
ARG_PTR_TO_UNINIT_MEM: Final = MEM_UNINIT | MEM_WRITE | ARG_PTR_TO_MEM
ARG_PTR_TO_FIXED_SIZE_MEM: Final = MEM_FIXED_SIZE | ARG_PTR_TO_MEM

# enum bpf_return_type -----------------------------------------------------------------------------
RET_INTEGER: Final = 0
RET_VOID: Final = 1
RET_PTR_TO_MAP_VALUE: Final = 2
RET_PTR_TO_SOCKET: Final = 3
RET_PTR_TO_TCP_SOCK: Final = 4
RET_PTR_TO_SOCK_COMMON: Final = 5
RET_PTR_TO_ALLOC_MEM: Final = 6
RET_PTR_TO_MEM_OR_BTF_ID: Final = 7
RET_PTR_TO_BTF_ID: Final = 8

RET_PTR_TO_MAP_VALUE_OR_NULL: Final = PTR_MAYBE_NULL | RET_PTR_TO_MAP_VALUE
RET_PTR_TO_SOCKET_OR_NULL: Final = PTR_MAYBE_NULL | RET_PTR_TO_SOCKET
RET_PTR_TO_TCP_SOCK_OR_NULL: Final = PTR_MAYBE_NULL | RET_PTR_TO_TCP_SOCK
RET_PTR_TO_SOCK_COMMON_OR_NULL: Final = PTR_MAYBE_NULL | RET_PTR_TO_SOCK_COMMON
RET_PTR_TO_ALLOC_MEM_OR_NULL: Final = PTR_MAYBE_NULL | MEM_RINGBUF | RET_PTR_TO_ALLOC_MEM
RET_PTR_TO_DYNPTR_MEM_OR_NULL: Final = PTR_MAYBE_NULL | RET_PTR_TO_ALLOC_MEM
RET_PTR_TO_BTF_ID_OR_NULL: Final = PTR_MAYBE_NULL | RET_PTR_TO_BTF_ID

# enum bpf_reg_type --------------------------------------------------------------------------------
NOT_INIT: Final = 0
SCALAR_VALUE: Final = 1
PTR_TO_CTX: Final = 2
CONST_PTR_TO_MAP: Final = 3
PTR_TO_MAP_VALUE: Final = 4
PTR_TO_MAP_KEY: Final = 5
PTR_TO_STACK: Final = 6
PTR_TO_PACKET_META: Final = 7
PTR_TO_PACKET: Final = 8
PTR_TO_PACKET_END: Final = 9
PTR_TO_FLOW_KEYS: Final = 10
PTR_TO_SOCKET: Final = 11
PTR_TO_SOCK_COMMON: Final = 12
PTR_TO_TCP_SOCK: Final = 13
PTR_TO_TP_BUFFER: Final = 14
PTR_TO_XDP_SOCK: Final = 15
PTR_TO_BTF_ID: Final = 16
PTR_TO_MEM: Final = 17
PTR_TO_BUF: Final = 18
PTR_TO_FUNC: Final = 19
PTR_TO_DYNPTR: Final = 20
PTR_TO_ARENA: Final = 21
PTR_TO_INSN: Final = 22

PTR_TO_MAP_VALUE_OR_NULL: Final = PTR_MAYBE_NULL | PTR_TO_MAP_VALUE
PTR_TO_SOCKET_OR_NULL: Final = PTR_MAYBE_NULL | PTR_TO_SOCKET
PTR_TO_SOCK_COMMON_OR_NULL: Final = PTR_MAYBE_NULL | PTR_TO_SOCK_COMMON
PTR_TO_TCP_SOCK_OR_NULL: Final = PTR_MAYBE_NULL | PTR_TO_TCP_SOCK
PTR_TO_BTF_ID_OR_NULL: Final = PTR_MAYBE_NULL | PTR_TO_BTF_ID


def base_type(word: int) -> int:
    """The type without its flags."""
    return word & BPF_BASE_TYPE_MASK


def type_flag(word: int) -> int:
    """The flags without the type."""
    return word & ~BPF_BASE_TYPE_MASK


def has_unsafe_modifiers(word: int) -> bool:
    """Flags besides those that make a pointer trusted: bpf_type_has_unsafe_modifiers()."""
    return bool(type_flag(word) & ~BPF_REG_TRUSTED_MODIFIERS)


def is_alloc(word: int) -> bool:
    """An object of the program's own: type_is_alloc()."""
    return bool(word & MEM_ALLOC)


def is_ptr_alloc_obj(word: int) -> bool:
    """A pointer to such an object: type_is_ptr_alloc_obj()."""
    return base_type(word) == PTR_TO_BTF_ID and bool(word & MEM_ALLOC)


def is_non_owning_ref(word: int) -> bool:
    """Of an object that a tree or a list owns: type_is_non_owning_ref()."""
    return is_ptr_alloc_obj(word) and bool(word & NON_OWN_REF)


def type_may_be_null(word: int) -> bool:
    """Whether a value of this type can be NULL."""
    return bool(word & PTR_MAYBE_NULL)


MAX_PACKET_OFF = 0xFFFF  # bytes behind a packet pointer that are followed
