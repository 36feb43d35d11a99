"""Kernel functions that programs call by BTF id: net/bpf/test_run.c, kernel/trace/bpf_trace.c and others of 6.1.

Registered like helpers, under their own names; the verifier's table of them is bpf/verifier/calls/kfuncs.py.
"""

from __future__ import annotations

from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime, kernel_name

# struct prog_test_ref_kfunc { int a, b; struct prog_test_member memb; ... *next; refcount_t cnt; }
PROG_TEST_SIZE, A, B, NEXT, CNT = 32, 0, 4, 16, 24


def prog_test_struct(rt: Runtime) -> int:
    """Address of the machine's one test object; its reference count starts at 1."""
    address = rt.bpf.test_struct
    if not address:
        address = rt.bpf.test_struct = rt.mem.alloc(PROG_TEST_SIZE)
        rt.mem.write_uint(address + A, 4, 42)
        rt.mem.write_uint(address + B, 4, 108)
        rt.mem.write_uint(address + NEXT, 8, address)
        rt.mem.write_uint(address + CNT, 4, 1)
    return address


def _count(rt: Runtime, address: int, by: int) -> None:
    rt.mem.write_uint(address + CNT, 4, (rt.mem.read_uint(address + CNT, 4) + by) & U32_MAX)


@kernel_name("bpf_kfunc_call_test1")
def bpf_kfunc_call_test1(rt: Runtime, sk: int, a: int, b: int, c: int, d: int) -> int:
    """The sum of its arguments: u32, u64, u32, u64."""
    return (a & U32_MAX) + b + (c & U32_MAX) + d


@kernel_name("bpf_kfunc_call_test2")
def bpf_kfunc_call_test2(rt: Runtime, sk: int, a: int, b: int) -> int:
    """The sum as an int."""
    return (a + b) & U32_MAX


@kernel_name("bpf_kfunc_call_test3")
def bpf_kfunc_call_test3(rt: Runtime, sk: int) -> int:
    """Its argument."""
    return sk


@kernel_name("bpf_kfunc_call_test_acquire")
def bpf_kfunc_call_test_acquire(rt: Runtime, scalar: int) -> int:
    """A reference to the test object."""
    address = prog_test_struct(rt)
    _count(rt, address, 1)
    return address


@kernel_name("bpf_kfunc_call_test_release")
def bpf_kfunc_call_test_release(rt: Runtime, obj: int) -> int:
    """Give a reference back."""
    if obj:
        _count(rt, obj, -1)
    return 0


@kernel_name("bpf_kfunc_call_test_kptr_get")
def bpf_kfunc_call_test_kptr_get(rt: Runtime, pointer: int, a: int, b: int) -> int:
    """A reference to what a map value points to."""
    obj = int(rt.mem.read_uint(pointer, 8))
    if obj:
        _count(rt, obj, 1)
    return obj


@kernel_name("bpf_kfunc_call_memb_acquire")
def bpf_kfunc_call_memb_acquire(rt: Runtime) -> int:
    """Nothing: the call only exists to be verified."""
    return 0


@kernel_name(
    "bpf_kfunc_call_test_get_rdwr_mem", "bpf_kfunc_call_test_get_rdonly_mem", "bpf_kfunc_call_test_acq_rdonly_mem"
)
def bpf_kfunc_call_test_get_mem(rt: Runtime, obj: int, size: int) -> int:
    """The first bytes of the test object, two ints at most."""
    size &= U32_MAX
    signed = size - (1 << 32) if size >> 31 else size
    return 0 if signed > 8 else obj


@kernel_name(
    "bpf_kfunc_call_memb_release",
    "bpf_kfunc_call_memb1_release",
    "bpf_kfunc_call_int_mem_release",
    "bpf_kfunc_call_test_pass_ctx",
    "bpf_kfunc_call_test_pass1",
    "bpf_kfunc_call_test_pass2",
    "bpf_kfunc_call_test_fail1",
    "bpf_kfunc_call_test_fail2",
    "bpf_kfunc_call_test_fail3",
    "bpf_kfunc_call_test_mem_len_pass1",
    "bpf_kfunc_call_test_mem_len_fail1",
    "bpf_kfunc_call_test_mem_len_fail2",
    "bpf_kfunc_call_test_ref",
    "bpf_kfunc_call_test_destructive",
    "bpf_key_put",
    "cgroup_rstat_updated",
    "cgroup_rstat_flush",
)
def takes_and_gives_nothing(rt: Runtime) -> int:
    """A function without result or effect here."""
    return 0


@kernel_name("bpf_lookup_user_key", "bpf_lookup_system_key")
def no_key(rt: Runtime) -> int:
    """There are no keyrings."""
    return 0
