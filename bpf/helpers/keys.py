"""Keys for programs: bpf_lookup_user_key() and its kin.  kernel/trace/bpf_trace.c, security/keys/process_keys.c of Linux 6.1.

There are no keys, only the keyrings that a process has by itself: those of its thread and process once somebody asks to
create them, those of its session and user always.  So no signature can be made by a key that is trusted.
"""

from __future__ import annotations

from arch.abi.errno import EBADMSG, ENOKEY
from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime
from bpf.helpers.dynptr import dynptr_bytes
from bpf.helpers.kfunc_rows import KfuncSet, kfunc
from bpf.isa.insn import signed32

KEYS = KfuncSet("tracing", "kernel/trace/bpf_trace.c")
KEY_LOOKUP_CREATE, KEY_LOOKUP_ALL = 1, 3
# include/uapi/linux/keyctl.h: KEY_SPEC_
THREAD_KEYRING, PROCESS_KEYRING, SESSION_KEYRING, USER_KEYRING, USER_SESSION_KEYRING = -1, -2, -3, -4, -5
VERIFY_USE_PLATFORM_KEYRING = 2
BPF_KEY_SIZE = 16  # struct bpf_key: the key, and whether it is counted
ASN1_SEQUENCE = 0x30


def _bpf_key(rt: Runtime, key: int, counted: bool) -> int:
    address = int(rt.mem.alloc(BPF_KEY_SIZE))
    rt.mem.write_uint(address, 8, key)
    rt.mem.write_uint(address + 8, 1, counted)
    return address


@kfunc("bpf_lookup_user_key", KEYS, "acquire ret_null sleepable", until="6.18")
def bpf_lookup_user_key(rt: Runtime, serial: int, flags: int) -> int:
    """A keyring of the current process; NULL for any other number."""
    serial = signed32(serial)
    if flags & ~KEY_LOOKUP_ALL:
        return 0
    if serial in (THREAD_KEYRING, PROCESS_KEYRING):
        host = rt.host
        owner = serial, host.current_pid() if serial == THREAD_KEYRING else host.current_tgid()
        if flags & KEY_LOOKUP_CREATE:
            rt.bpf.keyrings.add(owner)
        return _bpf_key(rt, 0, True) if owner in rt.bpf.keyrings else 0
    return _bpf_key(rt, 0, True) if serial in (SESSION_KEYRING, USER_KEYRING, USER_SESSION_KEYRING) else 0


@kfunc("bpf_lookup_system_key", KEYS, "acquire ret_null", until="6.18")
def bpf_lookup_system_key(rt: Runtime, number: int) -> int:
    """One of the kernel's own keyrings."""
    return _bpf_key(rt, number, False) if number <= VERIFY_USE_PLATFORM_KEYRING else 0


@kfunc("bpf_key_put", KEYS, "release", until="6.18")
def bpf_key_put(rt: Runtime, key: int) -> int:
    """Done with it."""
    if key:
        rt.mem.free(key)
    return 0


@kfunc("bpf_verify_pkcs7_signature", KEYS, "sleepable", until="6.18")
def bpf_verify_pkcs7_signature(rt: Runtime, data: int, signature: int, keyring: int) -> int:
    """EBADMSG for what is no PKCS#7 message, else ENOKEY."""
    message = dynptr_bytes(rt, signature)
    length = len(message) - 2
    well_formed = length > 0 and message[0] == ASN1_SEQUENCE and (message[1] >= 0x80 or message[1] <= length)
    return -(ENOKEY if well_formed else EBADMSG) & U32_MAX
