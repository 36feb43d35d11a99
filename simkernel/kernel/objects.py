"""Objects of the kernel's named caches that this machine keeps in its own way, as kmem_cache_alloc and kmem_cache_free show them.

mm/slub.c.  The allocation itself is no call here: whoever makes or frees an object says so, and the event fires with the place of the
function that does it on Linux.
"""

from __future__ import annotations

from arch.abi.internal import GFP_KERNEL, NUMA_NO_NODE
from arch.memory import KernelMemory
from arch.symbols import Symbols
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.tracepoints import Tracepoints

SLAB_ACCOUNT = 0x4000000  # include/linux/slab.h
PART = 8  # bytes of a part of a function: `name.part.0`
BEHIND_A_CALL = 0x18  # where in the function: somewhere behind its first instruction

#  cache -> bytes of an object, bytes it takes, whether a cgroup's memory; of 6.1 on x86-64, where it is merged with others of its size
CACHES = {
    "task_struct": (8392, 8448, True), "sighand_cache": (2080, 2112, True), "signal_cache": (1152, 1152, True),
    "mm_struct": (1104, 1152, True), "vm_area_struct": (152, 152, True), "files_cache": (704, 704, True),
    "anon_vma_chain": (64, 64, True), "pid": (128, 128, True), "cred_jar": (184, 192, True), "filp": (256, 256, True),
    "names_cache": (4096, 4096, False), "dentry": (192, 192, True), "inode_cache": (632, 640, True),
    "proc_inode_cache": (704, 712, True), "shmem_inode_cache": (776, 784, True), "sock_inode_cache": (768, 832, True),
    "lsm_file_cache": (24, 24, False), "lsm_inode_cache": (32, 32, False), "anon_vma": (96, 104, True),
    "sigqueue": (80, 80, True),
    **{f"kmalloc-{size}": (size, size, False) for size in (96, 192, 8, 16, 32, 64, 128, 256, 512)},
    **{f"kmalloc-{size}k": (1024 * size, 1024 * size, False) for size in (1, 2, 4, 8)},
}  # fmt: skip


class Objects:
    """`k.objects`."""

    def __init__(self, mem: KernelMemory, mirror: Mirror, symbols: Symbols, tracepoints: Tracepoints) -> None:
        self.mem, self.mirror, self.symbols, self.tracepoints = mem, mirror, symbols, tracepoints
        self._caches: dict[str, int] = {}  # name -> struct kmem_cache

    @property
    def watched(self) -> bool:
        """Somebody listens: to be asked before objects are gone through."""
        points = self.tracepoints
        return points.point("kmem_cache_alloc").active or points.point("kmem_cache_free").active

    def made(self, cache: str, address: int, function: str, gfp: int = GFP_KERNEL) -> None:
        """kmem_cache_alloc() of an object in a function."""
        point = self.tracepoints.point("kmem_cache_alloc")
        if point.active:
            point.fire(self._place(function), address, self.cache(cache), gfp, NUMA_NO_NODE)

    def gone(self, cache: str, address: int, function: str) -> None:
        """kmem_cache_free()."""
        point = self.tracepoints.point("kmem_cache_free")
        if point.active:
            point.fire(self._place(function), address, self.cache(cache))

    def passing(self, cache: str, maker: str, freer: str) -> None:
        """One that is gone before the next is made: a path while it is looked up."""
        if self.watched:
            address = self.mem.alloc(CACHES[cache][1])
            self.made(cache, address, maker)
            self.gone(cache, address, freer)
            self.mem.free(address)

    def _place(self, function: str) -> int:
        start = self.symbols.address(function) or self._part(function)
        found = None if start is None else self.symbols.find(start)
        return 0 if found is None else found.address + min(BEHIND_A_CALL, max(found.size - 1, 0))

    def _part(self, function: str) -> int | None:
        """A part that the compiler made of a function is the end of it here."""
        base, dot, _ = function.partition(".")
        if not dot or self.symbols.address(base) is None or self.symbols[base].size <= PART:
            return self.symbols.address(base)
        return self.symbols.add(function, self.symbols[base].end - PART, PART, "t").address

    def cache(self, name: str) -> int:
        """The struct kmem_cache of a row of CACHES, made when first needed."""
        address = self._caches.get(name)
        if address is None:
            size, room, accounted = CACHES[name]
            text = self.mem.alloc(len(name) + 1)
            self.mem.write(text, name.encode() + b"\0")
            address = self._caches[name] = self.mem.alloc(self.mirror.size_of("struct kmem_cache"))
            for member, value in (
                ("name", text), ("object_size", size), ("size", room), ("flags", SLAB_ACCOUNT if accounted else 0),
            ):  # fmt: skip
                self.mirror.set_field(address, "kmem_cache", member, value)
        return address
