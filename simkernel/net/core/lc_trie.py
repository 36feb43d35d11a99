"""The shape of the trie that routes of IPv4 lie in, as /proc/net/fib_trie shows it.  net/ipv4/fib_trie.c, trie_rebalance().

Look-ups go to the dictionaries of the table (`RouteTable`); here is only which inner node would hold which prefix. It depends on the order
in which prefixes came, because a node grows and shrinks at different fillings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

KEYLENGTH = 32  # bits of an address
INFLATE, INFLATE_ROOT = (
    50,
    30,
)  # percent: half of the places used and as much again for whole children, at which a node is doubled
HALVE, HALVE_ROOT = 25, 15  # percent below which it is halved
MAX_WORK = 10  # so often at one time


class Node:
    """struct key_vector: an inner node of 1 << `bits` places, or a leaf (`bits` is 0)."""

    __slots__ = ("bits", "children", "empty", "full", "key", "parent", "pos", "slen", "suffixes")

    def __init__(self, key: int, pos: int, bits: int) -> None:
        self.pos, self.bits = pos, bits
        shift = pos + bits
        self.key = key >> shift << shift
        self.parent: Node | None = None
        self.children: list[Node | None] = [None] * (1 << bits) if bits else []
        self.empty, self.full = len(self.children), 0  # how many places are, or hold a node that skips no bit
        self.slen = pos  # the longest suffix below: bits that the shortest prefix leaves open
        self.suffixes: list[int] = []  # of the routes of a leaf

    def holds_whole(self, node: Node | None) -> bool:
        """tnode_full(): it is an inner node of the very next bits."""
        return node is not None and node.bits > 0 and node.pos + node.bits == self.pos

    def index(self, key: int) -> int:
        """get_index(): the place of a key, which may lie outside."""
        return (key ^ self.key) >> self.pos

    def put(self, index: int, node: Node | None) -> None:
        """put_child()."""
        old = self.children[index]
        self.empty += (node is None) - (old is None)
        self.full += self.holds_whole(node) - self.holds_whole(old)
        self.children[index] = node
        if node is not None:
            node.parent = self
            self.slen = max(self.slen, node.slen)

    @property
    def used(self) -> int:
        """Places that are not empty."""
        return len(self.children) - self.empty


class Trie:
    """struct trie: leaves by address."""

    def __init__(self) -> None:
        self.root = Node(0, KEYLENGTH, 0)
        self.root.children, self.root.empty = [None], 1
        self.gets = self.backtracks = self.passed = self.missed = self.null_hits = 0  # struct trie_use_stats

    def nodes(self) -> Iterator[tuple[Node, int]]:
        """(inner node or leaf, how many are above it), as fib_trie_get_next() goes."""
        stack = [(self.root.children[0], 0)]
        while stack:
            node, depth = stack.pop()
            if node is None:
                continue
            yield node, depth
            stack += [(child, depth + 1) for child in reversed(node.children)]

    def _place(self, node: Node, key: int) -> int:
        return 0 if node is self.root else node.index(key)

    def _find(self, key: int) -> tuple[Node, Node | None]:
        """fib_find_node(): the node that holds it, or would; and its leaf."""
        at, index = self.root, 0
        while True:
            node = at.children[index]
            if node is None:
                return at, None
            index = node.index(key)
            if index >= 1 << node.bits:
                return at, None
            if not node.bits:
                return at, node
            at = node

    def insert(self, key: int, prefix: int) -> None:
        """fib_insert_alias(), fib_insert_node(): one more route at an address."""
        slen = KEYLENGTH - prefix
        at, leaf = self._find(key)
        if leaf is not None:
            leaf.suffixes.append(slen)
            leaf.slen = max(leaf.suffixes)
            self._push(at, slen)
            return
        leaf = Node(key, 0, 0)
        leaf.suffixes, leaf.slen = [slen], slen
        other = at.children[self._place(at, key)]
        if other is not None:
            fork = Node(key, (key ^ other.key).bit_length() - 1, 1)
            fork.put(fork.index(key) ^ 1, other)
            at.put(self._place(at, key), fork)
            at = fork
        self._push(at, slen)
        at.put(self._place(at, key), leaf)
        self._rebalance(at)

    def _push(self, node: Node, slen: int) -> None:
        """node_push_suffix()."""
        while node is not self.root and node.slen < slen:
            node.slen = slen
            node = _there(node.parent)

    def _pull(self, node: Node) -> None:
        """node_pull_suffix()."""
        while node is not self.root:
            slen = max([node.pos, *(child.slen for child in node.children if child is not None)])
            if slen == node.slen:
                return
            node.slen = slen
            node = _there(node.parent)

    def remove(self, key: int, prefix: int) -> None:
        """fib_remove_alias(): one of its routes is gone."""
        at, leaf = self._find(key)
        leaf = _there(leaf)
        leaf.suffixes.remove(KEYLENGTH - prefix)
        if leaf.suffixes:
            leaf.slen = max(leaf.suffixes)
            self._pull(at)
            return
        at.put(self._place(at, key), None)
        self._pull(at)
        self._rebalance(at)

    def flush(self, routes: Iterable[tuple[int, int]]) -> None:
        """fib_table_flush(): many (address, prefix) go at once, and each node is resized when all below it is done."""
        for key, prefix in routes:
            leaf = _there(self._find(key)[1])
            leaf.suffixes.remove(KEYLENGTH - prefix)
            leaf.slen = max(leaf.suffixes, default=0)

        def below(node: Node) -> None:
            for index in reversed(range(len(node.children))):
                child = node.children[index]
                if child is not None and child.bits:
                    below(child)
                elif child is not None and not child.suffixes:
                    node.put(index, None)
            if node is not self.root:
                node.slen = max([node.pos, *(child.slen for child in node.children if child is not None)])
                self._resize(node)

        below(self.root)

    def count(self, key: int, suits: tuple[int, int] | None) -> None:
        """fib_table_lookup(): count what a look-up does until it is at the route that `suits` (address, prefix), if one does."""
        self.gets += 1
        parent, index = self.root, 0
        node = self.root.children[0]
        while node is not None:  # down, as far as the address leads
            at = node.index(key)
            if at >= 1 << node.bits or not node.bits:
                break
            if node.slen > node.pos:
                parent, index = node, at
            node = node.children[at]
        exact = node is not None and node.key == key
        while True:
            if node is None:
                self.null_hits += 1
            elif exact or not (_mismatch(key, node) or (node.slen == node.pos)):
                exact = False
                if node.bits:
                    node = node.children[0]
                    continue
                if suits is not None and node.key == suits[0] and KEYLENGTH - suits[1] in node.suffixes:
                    self.passed += 1
                    return
                self.missed += 1
            while not index:
                if parent is self.root:
                    return
                self.backtracks += 1
                below, parent = parent, _there(parent.parent)
                index = self._place(parent, below.key)
            index &= index - 1
            node = parent.children[index]

    def _rebalance(self, node: Node) -> None:
        while node is not self.root:
            node = self._resize(node)

    def _should_inflate(self, parent: Node, node: Node) -> bool:
        used = node.used + node.full
        threshold = len(node.children) * (INFLATE_ROOT if parent is self.root else INFLATE)
        return used > 1 and node.pos > 0 and 50 * used >= threshold

    def _should_halve(self, parent: Node, node: Node) -> bool:
        threshold = len(node.children) * (HALVE_ROOT if parent is self.root else HALVE)
        return node.used > 1 and node.bits > 1 and 100 * node.used < threshold

    def _resize(self, node: Node) -> Node:
        """resize(): the node's parent, when it has the number of places that suits it."""
        parent = node.parent
        assert parent is not None
        index = self._place(parent, node.key)
        work = MAX_WORK
        while work and self._should_inflate(parent, node):
            self._replace(node, _inflated(node))
            work -= 1
            node = _there(parent.children[index])
        if work != MAX_WORK:
            return parent
        while work and self._should_halve(parent, node):
            self._replace(node, _halved(node))
            work -= 1
            node = _there(parent.children[index])
        if node.used < 2:
            parent.put(index, next((child for child in reversed(node.children) if child is not None), None))
        return parent

    def _replace(self, old: Node, new: Node) -> None:
        """replace(): and what is a whole child of the new one gets its own size."""
        parent = old.parent
        assert parent is not None
        parent.put(self._place(parent, new.key), new)
        for index in reversed(range(len(new.children))):
            child = new.children[index]
            if child is not None and new.holds_whole(child):
                self._resize(child)


def _mismatch(key: int, node: Node) -> bool:
    """prefix_mismatch(): the address differs from the node's above its lowest bit."""
    return bool((key ^ node.key) & (node.key | -node.key))


def _there(node: Node | None) -> Node:
    assert node is not None
    return node


def _inflated(old: Node) -> Node:
    """inflate(): twice the places."""
    new = Node(old.key, old.pos - 1, old.bits + 1)
    for index, child in enumerate(old.children):
        if child is None:
            continue
        if not old.holds_whole(child):
            new.put(new.index(child.key), child)
        elif child.bits == 1:
            new.put(2 * index, child.children[0])
            new.put(2 * index + 1, child.children[1])
        else:
            half = len(child.children) // 2
            for side, part in enumerate((child.children[:half], child.children[half:])):
                node = Node(child.key | side << new.pos, child.pos, child.bits - 1)
                for i, grandchild in enumerate(part):
                    node.put(i, grandchild)
                new.put(2 * index + side, node)
    return new


def _halved(old: Node) -> Node:
    """halve(): half the places."""
    new = Node(old.key, old.pos + 1, old.bits - 1)
    for index in range(0, len(old.children), 2):
        first, second = old.children[index : index + 2]
        if first is None or second is None:
            new.put(index // 2, first or second)
            continue
        both = Node(first.key, old.pos, 1)
        both.put(0, first)
        both.put(1, second)
        new.put(index // 2, both)
    return new
