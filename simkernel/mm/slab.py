"""kmem_cache_alloc() and its relatives, as real calls.  mm/slub.c."""

from __future__ import annotations

from arch.abi.internal import GFP_KERNEL, NUMA_NO_NODE
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function

#          cache name             C type of its objects
CACHES = (
    ("skbuff_head_cache", "struct sk_buff"),
    ("task_struct", "struct task_struct"),
    ("filp", "struct file"),
    ("TCP", "struct tcp_sock"),
    ("UDP", "struct udp_sock"),
    ("PING", "struct inet_sock"),
    ("bio-120", "struct bio"),
)


class Slab:
    """The caches, by name; and how many of their objects are live, by the machine's own account."""

    def __init__(self, k: KernelFace) -> None:
        self.k = k
        self.caches: dict[str, int] = {}  # name -> struct kmem_cache
        self.sizes: dict[int, int] = {}  # struct kmem_cache -> object size in bytes
        self.live: dict[int, int] = {}  # object -> struct kmem_cache
        self.allocated = self.freed = 0
        for name, ctype in CACHES:
            size = k.types.sizeof(ctype)
            text = k.mem.alloc(len(name) + 1)
            k.mem.write(text, name.encode() + b"\0")
            view = k.new("struct kmem_cache")
            view.name = text
            view.object_size = view.size = size
            self.caches[name] = view.addr
            self.sizes[view.addr] = size

    def take(self, cache: int) -> int:
        """A zeroed object."""
        address = int(self.k.mem.alloc(self.sizes[cache], 64))
        self.live[address] = cache
        self.allocated += 1
        return address

    def give(self, address: int) -> None:
        """And back."""
        self.live.pop(address, None)
        self.freed += 1
        self.k.mem.free(address)


class SlabKernel(KernelFace):
    """A kernel with a slab."""

    slab: Slab


def alloc(k: SlabKernel, name: str, gfp: int = GFP_KERNEL) -> Body:
    """`yield from`: an object of a cache through kmem_cache_alloc_node(), which is where it shows."""
    return (yield k.call("kmem_cache_alloc_node", k.slab.caches[name], gfp, NUMA_NO_NODE))


def free(k: SlabKernel, address: int) -> Steps[None]:
    """`yield from`: the object through kmem_cache_free()."""
    yield k.call("kmem_cache_free", k.slab.live[address], address)


@kernel_function(
    "void *kmem_cache_alloc(struct kmem_cache *s, gfp_t gfpflags)",
    source="mm/slub.c",
    names={None: "kmem_cache_alloc", "6.10": "kmem_cache_alloc_noprof"},
)
def kmem_cache_alloc(k: SlabKernel, s: int, gfpflags: int) -> Body:
    """An object of a cache."""
    yield 0  # really called: the call site is what observers ask for
    address = k.slab.take(s)
    k.trace("kmem_cache_alloc", k.text.return_address(), address, s, gfpflags, NUMA_NO_NODE)
    return address


@kernel_function(
    "void *kmem_cache_alloc_node(struct kmem_cache *s, gfp_t gfpflags, int node)",
    source="mm/slub.c",
    names={None: "kmem_cache_alloc_node", "6.10": "kmem_cache_alloc_node_noprof"},
)
def kmem_cache_alloc_node(k: SlabKernel, s: int, gfpflags: int, node: int) -> Body:
    """An object of a cache, preferably of a node."""
    yield 0
    address = k.slab.take(s)
    k.trace("kmem_cache_alloc", k.text.return_address(), address, s, gfpflags, node)
    return address


@kernel_function("void kmem_cache_free(struct kmem_cache *s, void *x)", source="mm/slub.c")
def kmem_cache_free(k: SlabKernel, s: int, x: int) -> Body:
    """The object goes back."""
    yield 0
    k.trace("kmem_cache_free", k.text.return_address(), x, s)
    k.slab.give(x)
    return 0
