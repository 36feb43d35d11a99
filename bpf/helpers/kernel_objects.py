"""Kernel functions that programs call since 6.2: loops over numbers, casts, tasks, sets of processors, dynptrs, strings.

kernel/bpf/bpf_iter.c, kernel/bpf/helpers.c, kernel/bpf/cpumask.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arch.abi.errno import E2BIG, EDEADLK, EINVAL, ENOENT, ERANGE
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.helpers import Runtime, kernel_name, signed
from bpf.helpers.dynptr import DYNPTR_READ_ONLY, PACKETS, clear_dynptr, inside, kind_of
from bpf.helpers.packet_dynptr import slice_of_packet
from bpf.maps.ringbuf import DYNPTR_MAX_SIZE

_INTERRUPTS_ON: Final = 0x246  # rflags: IF, ZF, PF and the bit that is always set

# ---- loops over numbers: struct bpf_iter_num_kern { int cur, end; } ----


@kernel_name("bpf_iter_num_new")
def bpf_iter_num_new(rt: Runtime, it: int, start: int, end: int) -> int:
    """From `start` to before `end`.  EINVAL: that is backwards; E2BIG: too many turns."""
    first, last = signed(start, 32), signed(end, 32)
    if first > last or last - first > uapi.BPF_MAX_LOOPS:
        rt.mem.write(it, bytes(8))
        return -EINVAL if first > last else -E2BIG
    rt.mem.write_uint(it, 4, (first - 1) & U32_MAX)
    rt.mem.write_uint(it + 4, 4, last & U32_MAX)
    return 0


@kernel_name("bpf_iter_num_next")
def bpf_iter_num_next(rt: Runtime, it: int) -> int:
    """Where the next number is; 0: there is none."""
    following = (int(rt.mem.read_uint(it, 4)) + 1) & U32_MAX
    if signed(following, 32) >= signed(int(rt.mem.read_uint(it + 4, 4)), 32):
        rt.mem.write(it, bytes(8))
        return 0
    rt.mem.write_uint(it, 4, following)
    return it


@kernel_name("bpf_iter_num_destroy")
def bpf_iter_num_destroy(rt: Runtime, it: int) -> int:
    """The loop is over."""
    rt.mem.write(it, bytes(8))
    return 0


# ---- sections, casts, tasks ----


@kernel_name("bpf_rcu_read_lock", "bpf_rcu_read_unlock", "bpf_preempt_disable", "bpf_preempt_enable")
@kernel_name("bpf_task_release", "bpf_cgroup_release")
def nothing_to_do(rt: Runtime) -> int:
    """Nothing runs beside a program here, and what it looks at does not go away."""
    return 0


@kernel_name("bpf_local_irq_save")
def bpf_local_irq_save(rt: Runtime, flags: int) -> int:
    """What the flags are: interrupts were on, and nothing interrupts a program here."""
    rt.mem.write_uint(flags, 8, _INTERRUPTS_ON)
    return 0


@kernel_name("bpf_local_irq_restore")
def bpf_local_irq_restore(rt: Runtime, flags: int) -> int:
    """As they were."""
    return 0


@kernel_name("bpf_res_spin_lock", "bpf_res_spin_lock_irqsave")
def bpf_res_spin_lock(rt: Runtime, lock: int, flags: int = 0) -> int:
    """Take it.  EDEADLK: this program has it already; nobody else can."""
    if rt.mem.read_uint(lock, 4):
        return -EDEADLK
    rt.mem.write_uint(lock, 4, 1)
    return 0


@kernel_name("bpf_res_spin_unlock", "bpf_res_spin_unlock_irqrestore")
def bpf_res_spin_unlock(rt: Runtime, lock: int, flags: int = 0) -> int:
    """Give it back."""
    rt.mem.write_uint(lock, 4, 0)
    return 0


@kernel_name("bpf_cast_to_kern_ctx", "bpf_rdonly_cast", "bpf_task_acquire", "bpf_cgroup_acquire")
def the_same(rt: Runtime, pointer: int) -> int:
    """Another name, or another reference, for the same."""
    return pointer


@kernel_name("bpf_task_from_pid", "bpf_task_from_vpid")
def bpf_task_from_pid(rt: Runtime, pid: int) -> int:
    """The task with this pid; 0: there is none."""
    number = signed(pid, 32)
    return (rt.host.task_address(number) or 0) if number > 0 else 0


# ---- sets of processors: struct bpf_cpumask { cpumask_t cpumask; refcount_t usage; } ----

_MASK_BYTES, _USAGE = 1024, 1024
_CPUMASK_SIZE: Final = 1032


def _bits(rt: Runtime, mask: int) -> int:
    """The processors in it."""
    return int.from_bytes(rt.mem.read(mask, _words(rt) * 8), rt.mem.byteorder) & ((1 << rt.host.nr_cpus) - 1)


def _words(rt: Runtime) -> int:
    return (rt.host.nr_cpus + 63) // 64


def _put(rt: Runtime, mask: int, bits: int) -> None:
    rt.mem.write(mask, bits.to_bytes(_words(rt) * 8, rt.mem.byteorder))


@kernel_name("bpf_cpumask_create")
def bpf_cpumask_create(rt: Runtime) -> int:
    """An empty set of the program's own."""
    address = rt.mem.alloc(_CPUMASK_SIZE)
    rt.mem.write(address, bytes(_CPUMASK_SIZE))
    rt.mem.write_uint(address + _USAGE, 4, 1)
    return address


@kernel_name("bpf_cpumask_acquire")
def bpf_cpumask_acquire(rt: Runtime, mask: int) -> int:
    """Another reference."""
    rt.mem.write_uint(mask + _USAGE, 4, int(rt.mem.read_uint(mask + _USAGE, 4)) + 1)
    return mask


@kernel_name("bpf_cpumask_release")
def bpf_cpumask_release(rt: Runtime, mask: int) -> int:
    """Give a reference back."""
    left = int(rt.mem.read_uint(mask + _USAGE, 4)) - 1
    rt.mem.write_uint(mask + _USAGE, 4, left & U32_MAX)
    if not left:
        rt.mem.free(mask)
    return 0


def _lowest(rt: Runtime, bits: int) -> int:
    """The first processor; as many as there are: none."""
    return (bits & -bits).bit_length() - 1 if bits else rt.host.nr_cpus


def _asks(name: str, answer: Callable[[Runtime, int], int]) -> None:
    """A question about one set."""

    def ask(rt: Runtime, mask: int) -> int:
        return answer(rt, _bits(rt, mask))

    kernel_name(name)(ask)


def _asks_two(name: str, answer: Callable[[Runtime, int, int], int]) -> None:
    """A question about two."""

    def ask(rt: Runtime, a: int, b: int) -> int:
        return answer(rt, _bits(rt, a), _bits(rt, b))

    kernel_name(name)(ask)


def _combines(name: str, answer: Callable[[int, int], int]) -> None:
    """The first gets what comes of the two others."""

    def combine(rt: Runtime, to: int, a: int, b: int) -> int:
        found = answer(_bits(rt, a), _bits(rt, b))
        _put(rt, to, found)
        return int(bool(found))

    kernel_name(name)(combine)


_asks("bpf_cpumask_first", _lowest)
_asks("bpf_cpumask_any_distribute", _lowest)
_asks("bpf_cpumask_first_zero", lambda rt, bits: _lowest(rt, ~bits & ((1 << rt.host.nr_cpus) - 1)))
_asks("bpf_cpumask_empty", lambda rt, bits: int(not bits))
_asks("bpf_cpumask_full", lambda rt, bits: int(bits == (1 << rt.host.nr_cpus) - 1))
_asks("bpf_cpumask_weight", lambda rt, bits: bits.bit_count())
_asks_two("bpf_cpumask_first_and", lambda rt, a, b: _lowest(rt, a & b))
_asks_two("bpf_cpumask_any_and_distribute", lambda rt, a, b: _lowest(rt, a & b))
_asks_two("bpf_cpumask_equal", lambda rt, a, b: int(a == b))
_asks_two("bpf_cpumask_intersects", lambda rt, a, b: int(bool(a & b)))
_asks_two("bpf_cpumask_subset", lambda rt, a, b: int(not a & ~b))
_combines("bpf_cpumask_and", lambda a, b: a & b)
_combines("bpf_cpumask_or", lambda a, b: a | b)
_combines("bpf_cpumask_xor", lambda a, b: a ^ b)


@kernel_name("bpf_cpumask_copy")
def bpf_cpumask_copy(rt: Runtime, to: int, source: int) -> int:
    """The same processors."""
    _put(rt, to, _bits(rt, source))
    return 0


@kernel_name("bpf_cpumask_setall")
def bpf_cpumask_setall(rt: Runtime, mask: int) -> int:
    """All processors."""
    rt.mem.write(mask, b"\xff" * (_words(rt) * 8))
    return 0


@kernel_name("bpf_cpumask_clear")
def bpf_cpumask_clear(rt: Runtime, mask: int) -> int:
    """None."""
    _put(rt, mask, 0)
    return 0


def _change(rt: Runtime, cpu: int, mask: int, present: bool | None) -> int:
    """Whether one processor was in the set, which then has it, has it not, or as before (None); one that is not there is not."""
    cpu &= U32_MAX
    if cpu >= rt.host.nr_cpus:
        return 0
    bits = _bits(rt, mask)
    if present is not None:
        _put(rt, mask, bits | 1 << cpu if present else bits & ~(1 << cpu))
    return bits >> cpu & 1


@kernel_name("bpf_cpumask_set_cpu", "bpf_cpumask_test_and_set_cpu")
def bpf_cpumask_set_cpu(rt: Runtime, cpu: int, mask: int) -> int:
    """Put one in; whether it was there."""
    return _change(rt, cpu, mask, True)


@kernel_name("bpf_cpumask_clear_cpu", "bpf_cpumask_test_and_clear_cpu")
def bpf_cpumask_clear_cpu(rt: Runtime, cpu: int, mask: int) -> int:
    """Take one out; whether it was there."""
    return _change(rt, cpu, mask, False)


@kernel_name("bpf_cpumask_test_cpu")
def bpf_cpumask_test_cpu(rt: Runtime, cpu: int, mask: int) -> int:
    """Whether one is there."""
    return _change(rt, cpu, mask, None)


# ---- dynptrs: address, size with type and flags, offset ----


def _size_word(rt: Runtime, ptr: int) -> int:
    return int(rt.mem.read_uint(ptr + 8, 4))


def _data(rt: Runtime, ptr: int) -> int:
    return int(rt.mem.read_uint(ptr, 8))


@kernel_name("bpf_dynptr_is_null")
def bpf_dynptr_is_null(rt: Runtime, ptr: int) -> int:
    """It has no data."""
    return int(not _data(rt, ptr))


@kernel_name("bpf_dynptr_is_rdonly")
def bpf_dynptr_is_rdonly(rt: Runtime, ptr: int) -> int:
    """Its data are only read."""
    return int(bool(_data(rt, ptr) and _size_word(rt, ptr) & DYNPTR_READ_ONLY))


@kernel_name("bpf_dynptr_size")
def bpf_dynptr_size(rt: Runtime, ptr: int) -> int:
    """Bytes.  EINVAL: it has no data."""
    return _size_word(rt, ptr) & DYNPTR_MAX_SIZE if _data(rt, ptr) else -EINVAL & U32_MAX


@kernel_name("bpf_dynptr_adjust")
def bpf_dynptr_adjust(rt: Runtime, ptr: int, start: int, end: int) -> int:
    """Only bytes from `start` to before `end` are left.  EINVAL, ERANGE."""
    start, end, word = start & U32_MAX, end & U32_MAX, _size_word(rt, ptr)
    if not _data(rt, ptr) or start > end:
        return -EINVAL
    if start > word & DYNPTR_MAX_SIZE or end > word & DYNPTR_MAX_SIZE:
        return -ERANGE
    rt.mem.write_uint(ptr + 12, 4, int(rt.mem.read_uint(ptr + 12, 4)) + start)
    rt.mem.write_uint(ptr + 8, 4, word & ~DYNPTR_MAX_SIZE | (end - start))
    return 0


@kernel_name("bpf_dynptr_clone")
def bpf_dynptr_clone(rt: Runtime, ptr: int, clone: int) -> int:
    """Another for the same data.  EINVAL: there are none."""
    if not _data(rt, ptr):
        clear_dynptr(rt.mem, clone)
        return -EINVAL
    rt.mem.write(clone, rt.mem.read(ptr, 16))
    return 0


@kernel_name("bpf_dynptr_slice_rdwr")
def bpf_dynptr_slice_rdwr(rt: Runtime, ptr: int, offset: int, buffer: int, length: int) -> int:
    """The same to be written; 0, too: its data are only read."""
    return 0 if _size_word(rt, ptr) & DYNPTR_READ_ONLY else bpf_dynptr_slice(rt, ptr, offset, buffer, length)


@kernel_name("bpf_dynptr_slice")
def bpf_dynptr_slice(rt: Runtime, ptr: int, offset: int, buffer: int, length: int) -> int:
    """Address of a piece of memory, or of a packet, which is copied to the buffer where it does not lie in one piece; 0: it is not inside."""
    at, length = inside(rt, ptr, offset, length), length & U32_MAX
    if at < 0:
        return 0
    if kind_of(rt, ptr) in PACKETS:
        return slice_of_packet(rt, ptr, at, buffer, length)
    return _data(rt, ptr) + at


# ---- strings of the kernel, 65,536 bytes at most ----

_STRING_BYTES: Final = 65536  # XATTR_SIZE_MAX
_CHUNK: Final = 64


def _string(rt: Runtime, address: int, limit: int = _STRING_BYTES) -> bytes:
    """Up to the NUL, or as far as is looked at.  EFAULT."""
    found = bytearray()
    while len(found) < limit:
        here = address + len(found)
        piece = rt.read_kernel(here, min(_CHUNK - here % _CHUNK, limit - len(found)))
        end = piece.find(0)
        if end >= 0:
            return bytes(found + piece[:end])
        found += piece
    return bytes(found)


def _length(text: bytes) -> int:
    return len(text) if len(text) < _STRING_BYTES else -E2BIG


def _place(at: int) -> int:
    return at if at >= 0 else -ENOENT


@kernel_name("bpf_strlen")
def bpf_strlen(rt: Runtime, s: int) -> int:
    """Bytes before the NUL.  E2BIG, EFAULT."""
    return _length(_string(rt, s))


@kernel_name("bpf_strnlen")
def bpf_strnlen(rt: Runtime, s: int, count: int) -> int:
    """The same, `count` at most."""
    return _length(_string(rt, s, min(count, _STRING_BYTES)))


def _compared(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


@kernel_name("bpf_strcmp")
def bpf_strcmp(rt: Runtime, a: int, b: int) -> int:
    """-1, 0, 1.  EFAULT."""
    return _compared(_string(rt, a), _string(rt, b))


@kernel_name("bpf_strcasecmp")
def bpf_strcasecmp(rt: Runtime, a: int, b: int) -> int:
    """The same whatever their case."""
    return _compared(_string(rt, a).lower(), _string(rt, b).lower())


@kernel_name("bpf_strchr")
def bpf_strchr(rt: Runtime, s: int, c: int) -> int:
    """Where a character is first.  ENOENT, EFAULT."""
    return _place((_string(rt, s) + b"\0").find(c & 0xFF))


@kernel_name("bpf_strrchr")
def bpf_strrchr(rt: Runtime, s: int, c: int) -> int:
    """Where it is last."""
    return _place((_string(rt, s) + b"\0").rfind(c & 0xFF))


@kernel_name("bpf_strchrnul")
def bpf_strchrnul(rt: Runtime, s: int, c: int) -> int:
    """Where it is first, or the end."""
    text = _string(rt, s)
    at = text.find(c & 0xFF)
    return at if at >= 0 else len(text)


@kernel_name("bpf_strstr")
def bpf_strstr(rt: Runtime, s: int, part: int) -> int:
    """Where a string is in another.  ENOENT, EFAULT."""
    return _place(_string(rt, s).find(_string(rt, part)))


def _span(text: bytes, characters: bytes, inside: bool) -> int:
    return next((i for i, one in enumerate(text) if (one in characters) != inside), len(text))


@kernel_name("bpf_strspn")
def bpf_strspn(rt: Runtime, s: int, accept: int) -> int:
    """How many characters at the beginning are of these."""
    return _span(_string(rt, s), _string(rt, accept), True)


@kernel_name("bpf_strcspn")
def bpf_strcspn(rt: Runtime, s: int, reject: int) -> int:
    """How many are not of these."""
    return _span(_string(rt, s), _string(rt, reject), False)
