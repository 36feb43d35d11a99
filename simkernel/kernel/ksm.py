"""Equal pages of areas that asked for it (MADV_MERGEABLE) become one, which the next write takes apart again.  mm/ksm.c.

Two trees, as there: the stable one has pages that are shared already, the unstable one pages of this scan that did not change since the
last.  Both are found by their bytes here.  A page that nobody but the stable tree has is freed when that is noticed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from arch.abi.limits import PAGE_SIZE
from simkernel.kernel.address_spaces import AddressSpaces
from simkernel.kernel.areas import VM_MERGEABLE, Vma
from simkernel.kernel.mm import Mm
from simkernel.kernel.tasks import Tasks

KSM_RUN_STOP, KSM_RUN_MERGE, KSM_RUN_UNMERGE = range(3)
ZEROS = bytes(PAGE_SIZE)


class Node:
    """struct ksm_stable_node: a page that several share."""

    def __init__(self, phys: int, data: bytes) -> None:
        self.phys, self.data = phys, data
        self.items: set[Item] = set()


class Item:
    """struct ksm_rmap_item: an address that is looked at."""

    def __init__(self, mm: Mm, page: int) -> None:
        self.mm, self.page = mm, page
        self.checksum = 0
        self.node: Node | None = None
        self.unstable = False


class Ksm:
    """What ksmd knows; `settings` are its files."""

    def __init__(self, spaces: AddressSpaces, tasks: Tasks) -> None:
        self.frames, self.tasks = spaces.frames, tasks
        self.settings = {
            "run": KSM_RUN_STOP, "pages_to_scan": 100, "sleep_millisecs": 20, "merge_across_nodes": 1, "max_page_sharing": 256,
            "use_zero_pages": 0, "stable_node_chains_prune_millisecs": 2000,
        }  # fmt: skip
        self.full_scans = self.pages_shared = self.pages_sharing = self.pages_unshared = 0
        self.slots: dict[Mm, dict[int, Item]] = {}
        self.nodes: dict[int, Node] = {}  # by their page
        self.stable: dict[bytes, list[Node]] = {}
        self.unstable: dict[bytes, Item] = {}
        self.scan: Iterator[Item] | None = None

    # -- counters --------------------------------------------------------------------------------------------------------

    @property
    def rmap_items(self) -> int:
        """How many addresses are known."""
        return sum(map(len, self.slots.values()))

    @property
    def pages_volatile(self) -> int:
        """Those that change, or are shared by a fork already."""
        return max(0, self.rmap_items - self.pages_shared - self.pages_sharing - self.pages_unshared)

    @property
    def chains(self) -> list[list[Node]]:
        """Pages of equal bytes of which one is not enough (max_page_sharing)."""
        return [nodes for nodes in self.stable.values() if len(nodes) > 1]

    # -- scanning --------------------------------------------------------------------------------------------------------

    def do_scan(self, pages: int) -> int:
        """ksm_do_scan(): so many pages, or to the end of the scan; how many it was."""
        if self.scan is None:
            self._begin()
            if not self.slots:
                return 0
            self.scan = self._walk()
        for done in range(pages):
            item = next(self.scan, None)
            if item is None:
                self.scan = None
                self.full_scans += 1
                return done
            self._merge(item)
        return pages

    def _begin(self) -> None:
        self.unstable.clear()
        for task in self.tasks.by_pid.values():
            mm = task.mm
            if mm is not None and mm not in self.slots and any(vma.advice & VM_MERGEABLE for vma in mm.vmas):
                self.slots[mm] = {}
        for node in [node for node in self.nodes.values() if not node.items]:
            self._forget_if_alone(node)

    def _walk(self) -> Iterator[Item]:
        """scan_get_next_rmap_item(): one whole scan; what is no longer there is forgotten on the way."""
        for mm in list(self.slots):
            items, kept = self.slots[mm], set()
            for vma in [vma for vma in mm.vmas if vma.advice & VM_MERGEABLE]:
                for page in mm.present(vma.start, vma.end):
                    if (
                        page not in mm.pages
                        or mm.find(page) is not vma
                        or not self._is_anonymous(vma, mm.pages[page], page)
                    ):
                        continue
                    item = items.get(page)
                    if item is None:
                        item = items[page] = Item(mm, page)
                        mm.ksm_rmap_items += 1
                    kept.add(page)
                    yield item
            for page in [page for page in items if page not in kept]:
                self._remove(items.pop(page))
                mm.ksm_rmap_items -= 1
            if not mm.users or not any(vma.advice & VM_MERGEABLE for vma in mm.vmas):
                del self.slots[mm]

    def _is_anonymous(self, vma: Vma, phys: int, page: int) -> bool:
        if phys in self.frames.pins:
            return False
        index = vma.pgoff + (page - vma.start) // PAGE_SIZE
        mapping = vma.file.inode.i_mapping if vma.file is not None else None
        return vma.fault is None and (mapping is None or mapping.cached(index) != phys)

    def _merge(self, item: Item) -> None:
        """cmp_and_merge_page()."""
        phys = item.mm.pages[item.page]
        own = self.nodes.get(phys)
        if own is not None and item.node is own:
            return
        data = self.frames.read(phys, PAGE_SIZE)
        found = own or self._find(data)
        self._remove(item)
        if found is not None:
            self._share(item, found)
            return
        checksum = zlib.crc32(data)
        if item.checksum != checksum:
            item.checksum = checksum
            return
        if self.settings["use_zero_pages"] and data == ZEROS:
            item.mm.unmap_pages(item.page, item.page + PAGE_SIZE)
            return
        other = self.unstable.get(data)
        other_phys = other.mm.pages.get(other.page) if other is not None else None
        if other is None or other_phys is None or self.frames.read(other_phys, PAGE_SIZE) != data:
            self.unstable[data] = item
            item.unstable = True
            self.pages_unshared += 1
        elif other_phys != phys:  # else a fork has made one of the two
            self._remove(other)
            node = self._make_node(phys, data)
            self._share(other, node)
            self._share(item, node)

    def _find(self, data: bytes) -> Node | None:
        """stable_tree_search()."""
        for node in self.stable.get(data, ()):
            if len(node.items) < self.settings["max_page_sharing"]:
                return node
        return None

    def _make_node(self, phys: int, data: bytes) -> Node:
        """stable_tree_insert(): the tree itself holds the page, so whoever writes copies."""
        node = self.nodes[phys] = Node(phys, data)
        self.stable.setdefault(data, []).append(node)
        self.frames.get_page(phys)
        return node

    def _share(self, item: Item, node: Node) -> None:
        """replace_page(), stable_tree_append()."""
        mm = item.mm
        if mm.pages[item.page] != node.phys:
            self.frames.get_page(node.phys)
            self.frames.put_page(mm.pages[item.page])
            mm.pages[item.page] = node.phys
        vma = mm.find(item.page)
        assert vma is not None
        mm.show(vma, item.page)
        if node.items:
            self.pages_sharing += 1
        else:
            self.pages_shared += 1
        node.items.add(item)
        item.node = node
        mm.ksm_merging_pages += 1

    def _remove(self, item: Item) -> None:
        """remove_rmap_item_from_tree()."""
        if item.unstable:
            item.unstable = False
            self.pages_unshared -= 1
        node, item.node = item.node, None
        if node is None:
            return
        node.items.discard(item)
        item.mm.ksm_merging_pages -= 1
        if node.items:
            self.pages_sharing -= 1
        else:
            self.pages_shared -= 1
            self._forget_if_alone(node)

    def _forget_if_alone(self, node: Node) -> None:
        """remove_node_from_stable_tree(): nobody has the page any more."""
        if self.frames.refcounts[node.phys // PAGE_SIZE] > 1:
            return
        del self.nodes[node.phys]
        nodes = self.stable[node.data]
        nodes.remove(node)
        if not nodes:
            del self.stable[node.data]
        self.frames.put_page(node.phys)

    # -- apart again -----------------------------------------------------------------------------------------------------

    def unmerge(self, mm: Mm, start: int, end: int) -> None:
        """unmerge_ksm_pages(): each has its own again; what is counted of them is seen to by the next scan."""
        for page in mm.present(start, end):
            phys, vma = mm.pages[page], mm.find(page)
            if phys in self.nodes and vma is not None:
                mm.pages[page] = self.frames.copy_page(phys)
                self.frames.put_page(phys)
                mm.show(vma, page)

    def unmerge_all(self) -> None:
        """unmerge_and_remove_all_rmap_items()."""
        for mm, items in self.slots.items():
            for vma in [vma for vma in mm.vmas if vma.advice & VM_MERGEABLE]:
                self.unmerge(mm, vma.start, vma.end)
            for item in items.values():
                self._remove(item)
            mm.ksm_rmap_items -= len(items)
            items.clear()
        self.slots = {mm: items for mm, items in self.slots.items() if mm.users}
        self.scan = None
        for node in list(self.nodes.values()):
            self._forget_if_alone(node)


Counter = Callable[[Ksm], int]
COUNTERS: dict[str, Counter] = {
    "full_scans": lambda ksm: ksm.full_scans,
    "pages_shared": lambda ksm: ksm.pages_shared,
    "pages_sharing": lambda ksm: ksm.pages_sharing,
    "pages_unshared": lambda ksm: ksm.pages_unshared,
    "pages_volatile": lambda ksm: ksm.pages_volatile,
    "stable_node_chains": lambda ksm: len(ksm.chains),
    "stable_node_dups": lambda ksm: sum(map(len, ksm.chains)),
}
