"""Iterators that programs open: over tasks, areas of memory, control groups and their tasks, bits.  kernel/bpf/task_iter.c, cgroup_iter.c, helpers.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import E2BIG, EFAULT, EINVAL
from arch.abi.limits import U32_MAX
from arch.errors import Fault, KernelError
from bpf.helpers import Runtime, kernel_name, signed
from bpf.walk_face import Walks

MOST_WORDS = 511
BITS_BYTES = 8  # of one u64
BIT_AT = 12  # struct bpf_iter_bits_kern: where the number of the bit is


def _walks(rt: Runtime) -> Walks:
    found = rt.host.walks
    if found is None:
        raise KernelError(EINVAL, "nothing to walk over here")
    return found


def _open(rt: Runtime, it: int, walk: Iterator[int]) -> int:
    rt.bpf.walks[it] = walk
    return 0


@kernel_name("bpf_iter_task_new")
def bpf_iter_task_new(rt: Runtime, it: int, task: int, flags: int) -> int:
    """Of a process's threads, or of all."""
    return _open(rt, it, _walks(rt).tasks(task, flags & U32_MAX))


@kernel_name("bpf_iter_task_vma_new")
def bpf_iter_task_vma_new(rt: Runtime, it: int, task: int, start: int) -> int:
    """Of a task's memory."""
    return _open(rt, it, _walks(rt).areas(task, start))


@kernel_name("bpf_iter_kmem_cache_new")
def bpf_iter_kmem_cache_new(rt: Runtime, it: int) -> int:
    """Of the slab's caches."""
    return _open(rt, it, _walks(rt).caches())


@kernel_name("bpf_iter_dmabuf_new")
def bpf_iter_dmabuf_new(rt: Runtime, it: int) -> int:
    """Of buffers that devices share: there are none."""
    return _open(rt, it, iter(()))


@kernel_name("bpf_get_kmem_cache")
def bpf_get_kmem_cache(rt: Runtime, address: int) -> int:
    """The cache of an object; 0: of none that is known."""
    return _walks(rt).cache_of(address)


@kernel_name("bpf_iter_css_new")
def bpf_iter_css_new(rt: Runtime, it: int, css: int, flags: int) -> int:
    """Of control groups."""
    return _open(rt, it, _walks(rt).groups(css, flags & U32_MAX))


@kernel_name("bpf_iter_css_task_new")
def bpf_iter_css_task_new(rt: Runtime, it: int, css: int, flags: int) -> int:
    """Of those who are in one."""
    return _open(rt, it, _walks(rt).tasks_of(css, flags & U32_MAX))


@kernel_name("bpf_iter_bits_new")
def bpf_iter_bits_new(rt: Runtime, it: int, words: int, count: int) -> int:
    """Of the bits that are set in so many words; E2BIG, EFAULT."""
    count &= U32_MAX
    if not count:
        return -EINVAL
    if count > MOST_WORDS:
        return -E2BIG
    try:
        numbers = [int(rt.mem.read_uint(words + BITS_BYTES * i, BITS_BYTES)) for i in range(count)]
    except Fault:
        return -EFAULT

    def bits() -> Iterator[int]:
        for at, number in enumerate(numbers):
            for bit in range(64):
                if number >> bit & 1:
                    rt.mem.write_uint(it + BIT_AT, 4, 64 * at + bit)
                    yield it + BIT_AT

    return _open(rt, it, bits())


@kernel_name(
    "bpf_iter_task_next",
    "bpf_iter_task_vma_next",
    "bpf_iter_css_next",
    "bpf_iter_css_task_next",
    "bpf_iter_bits_next",
    "bpf_iter_kmem_cache_next",
    "bpf_iter_dmabuf_next",
)
def give_next(rt: Runtime, it: int) -> int:
    """The next object; 0: there is none, or the iterator was not opened."""
    return next(rt.bpf.walks.get(it, iter(())), 0)


@kernel_name(
    "bpf_iter_task_destroy",
    "bpf_iter_task_vma_destroy",
    "bpf_iter_css_destroy",
    "bpf_iter_css_task_destroy",
    "bpf_iter_bits_destroy",
    "bpf_iter_kmem_cache_destroy",
    "bpf_iter_dmabuf_destroy",
)
def forget(rt: Runtime, it: int) -> int:
    """The loop is over."""
    rt.bpf.walks.pop(it, None)
    return 0


@kernel_name("bpf_cgroup_from_id")
def bpf_cgroup_from_id(rt: Runtime, number: int) -> int:
    """The control group with this id; 0 without."""
    return _walks(rt).group(number)


@kernel_name("bpf_cgroup_ancestor")
def bpf_cgroup_ancestor(rt: Runtime, group: int, level: int) -> int:
    """The group above at a level, which may be the group itself; 0 without."""
    return _walks(rt).ancestor(group, signed(level, 32))
