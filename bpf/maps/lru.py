"""Which element makes room: the kernel's lists of least recently used elements.  kernel/bpf/bpf_lru_list.c.

New elements come from a free list of this CPU and go to its list of pending ones.  When the free list is empty the
pending ones move to the map's active or inactive list (by their reference mark), the lists are rotated, and up to 128
free or unmarked inactive elements are taken at once: so a small map that overflows loses many elements, not one.  With
BPF_F_NO_COMMON_LRU each CPU has lists of its own and takes 4 at a time.
"""

from __future__ import annotations

from collections.abc import Callable

LOCAL_FREE_TARGET = 128
PERCPU_FREE_TARGET = 4
ACTIVE, INACTIVE, FREE, LOCAL_FREE, PENDING = range(5)


class Node:
    """struct bpf_lru_node; `element` is the struct htab_elem it lies in, 0 until first used."""

    __slots__ = ("cpu", "element", "next", "prev", "type")

    def __init__(self, kind: int = FREE, cpu: int = 0) -> None:
        self.prev: Node = self
        self.next: Node = self
        self.type = kind
        self.cpu = cpu
        self.element = 0


class NodeList:
    """struct list_head with its nodes; a new one goes to the head."""

    def __init__(self) -> None:
        self.head = Node()

    def __bool__(self) -> bool:
        return self.head.next is not self.head

    def first(self) -> Node | None:
        """From the head, or None."""
        return self.head.next if self else None

    def push(self, node: Node) -> None:
        """list_add()."""
        head = self.head
        node.prev, node.next = head, head.next
        head.next.prev = node
        head.next = node

    def backwards(self) -> list[Node]:
        """From the tail, as list_for_each_entry_safe_reverse()."""
        nodes, node = [], self.head.prev
        while node is not self.head:
            nodes.append(node)
            node = node.prev
        return nodes


def unlink(node: Node) -> None:
    """list_del()."""
    node.prev.next, node.next.prev = node.next, node.prev
    node.prev = node.next = node


class Lists:
    """struct bpf_lru_list: active, inactive and free, with how many there are."""

    def __init__(self, unused: int, cpu: int = 0) -> None:
        self.lists = (NodeList(), NodeList(), NodeList())
        self.counts = [0, 0]
        self.unused = unused  # free nodes that were never taken: behind all others in the free list
        self.cpu = cpu
        self.rotation: Node = self.lists[INACTIVE].head  # next_inactive_rotation

    def pop_free(self) -> Node | None:
        """The first of the free list."""
        node = self.lists[FREE].first()
        if node is not None:
            unlink(node)
        elif self.unused:
            self.unused -= 1
            node = Node(FREE, self.cpu)
        return node

    def leave(self, node: Node) -> None:
        """Take a node off its list here; the rotation goes on with the one before."""
        if node is self.rotation:
            self.rotation = node.prev
        if node.type < FREE:
            self.counts[node.type] -= 1
        unlink(node)

    def enter(self, node: Node, kind: int) -> None:
        """To the head of a list here."""
        node.type = kind
        if kind < FREE:
            self.counts[kind] += 1
        self.lists[kind].push(node)


class Lru:
    """struct bpf_lru of one map."""

    def __init__(
        self,
        entries: int,
        cpus: int,
        percpu: bool,
        is_marked: Callable[[Node], bool],
        clear_mark: Callable[[Node], None],
        delete: Callable[[Node], bool],
    ) -> None:
        self.percpu = percpu
        self.cpus = cpus
        self.is_marked, self.clear_mark, self.delete = is_marked, clear_mark, delete
        self.nr_scans = PERCPU_FREE_TARGET if percpu else LOCAL_FREE_TARGET
        self.common = Lists(0 if percpu else entries)
        self.own = [Lists(entries // cpus if percpu else 0, cpu) for cpu in range(cpus)]
        self.free = [NodeList() for _ in range(cpus)]
        self.pending = [NodeList() for _ in range(cpus)]
        self.next_steal = list(range(cpus))

    # ---- taking and giving ----

    def pop(self, cpu: int) -> Node | None:
        """bpf_lru_pop_free(): a node for a new element; others may be deleted for it."""
        return self._pop_own(cpu) if self.percpu else self._pop_common(cpu)

    def push_free(self, node: Node) -> None:
        """bpf_lru_push_free(): an element was deleted."""
        if self.percpu:
            lists = self.own[node.cpu]
            lists.leave(node)
            self.clear_mark(node)
            lists.enter(node, FREE)
        elif node.type == PENDING:
            unlink(node)
            node.type = LOCAL_FREE
            self.clear_mark(node)
            self.free[node.cpu].push(node)
        else:
            self._move(self.common, node, FREE)

    def _pop_own(self, cpu: int) -> Node | None:
        lists = self.own[cpu]
        self._rotate(lists)
        node = lists.pop_free()
        if node is None:
            self._shrink(lists, PERCPU_FREE_TARGET, lists.lists[FREE], FREE)
            node = lists.pop_free()
        if node is not None:
            self.clear_mark(node)
            lists.enter(node, INACTIVE)
        return node

    def _pop_common(self, cpu: int) -> Node | None:
        node = self._pop_local(cpu)
        if node is None:
            self._refill(cpu)
            node = self._pop_local(cpu)
        if node is None:
            node = self._steal(cpu)
        if node is not None:
            node.cpu, node.type = cpu, PENDING
            self.clear_mark(node)
            self.pending[cpu].push(node)
        return node

    def _pop_local(self, cpu: int) -> Node | None:
        node = self.free[cpu].first()
        if node is not None:
            unlink(node)
        return node

    def _steal(self, cpu: int) -> Node | None:
        """From the free or pending list of each CPU in turn."""
        first = steal = self.next_steal[cpu]
        node = None
        while True:
            node = self._pop_local(steal) or self._pop_pending(steal)
            steal = (steal + 1) % self.cpus
            if node is not None or steal == first:
                break
        self.next_steal[cpu] = steal
        return node

    def _pop_pending(self, cpu: int) -> Node | None:
        """The oldest without a mark, or else the oldest."""
        for force in (False, True):
            for node in self.pending[cpu].backwards():
                if (force or not self.is_marked(node)) and self.delete(node):
                    unlink(node)
                    return node
        return None

    def _refill(self, cpu: int) -> None:
        """bpf_lru_list_pop_free_to_local()."""
        lists, free = self.common, self.free[cpu]
        for node in self.pending[cpu].backwards():
            kind = ACTIVE if self.is_marked(node) else INACTIVE
            unlink(node)
            self.clear_mark(node)
            lists.enter(node, kind)
        self._rotate(lists)
        taken = 0
        while taken < LOCAL_FREE_TARGET:
            found = lists.pop_free()
            if found is None:
                break
            found.type = LOCAL_FREE
            free.push(found)
            taken += 1
        if taken < LOCAL_FREE_TARGET:
            self._shrink(lists, LOCAL_FREE_TARGET - taken, free, LOCAL_FREE)

    # ---- moving ----

    def _move(self, lists: Lists, node: Node, kind: int) -> None:
        lists.leave(node)
        self.clear_mark(node)
        lists.enter(node, kind)

    def _rotate(self, lists: Lists) -> None:
        """__bpf_lru_list_rotate()."""
        if lists.counts[INACTIVE] < lists.counts[ACTIVE]:
            self._rotate_active(lists)
        self._rotate_inactive(lists)

    def _rotate_active(self, lists: Lists) -> None:
        """Marked ones stay, at the head and without mark; others become inactive."""
        first = lists.lists[ACTIVE].first()
        for scanned, node in enumerate(lists.lists[ACTIVE].backwards(), 1):
            self._move(lists, node, ACTIVE if self.is_marked(node) else INACTIVE)
            if scanned == self.nr_scans or node is first:
                break

    def _rotate_inactive(self, lists: Lists) -> None:
        """Marked ones become active; goes on where it stopped the last time."""
        head = lists.lists[INACTIVE].head
        if not lists.lists[INACTIVE]:
            return
        last = lists.rotation.next
        if last is head:
            last = last.next
        current, following, scanned = lists.rotation, head, 0
        while scanned < self.nr_scans:
            if current is head:
                current = current.prev
                continue
            following = current.prev
            node = current
            if self.is_marked(node):
                self._move(lists, node, ACTIVE)
            if node is last:
                break
            current = following
            scanned += 1
        lists.rotation = following

    def _shrink(self, lists: Lists, wanted: int, free: NodeList, kind: int) -> None:
        """__bpf_lru_list_shrink(): unmarked inactive elements go; if there is none, one goes all the same."""
        shrunk = 0
        for scanned, node in enumerate(lists.lists[INACTIVE].backwards(), 1):
            if self.is_marked(node):
                self._move(lists, node, ACTIVE)
            elif self.delete(node):
                self._to_free(lists, node, free, kind)
                shrunk += 1
                if shrunk == wanted:
                    return
            if scanned == self.nr_scans:
                break
        if shrunk:
            return
        source = INACTIVE if lists.lists[INACTIVE] else ACTIVE
        for node in lists.lists[source].backwards():
            if self.delete(node):
                self._to_free(lists, node, free, kind)
                return

    def _to_free(self, lists: Lists, node: Node, free: NodeList, kind: int) -> None:
        lists.leave(node)
        node.type = kind
        free.push(node)
