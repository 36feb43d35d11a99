"""/proc/net/fib_trie and fib_triestat: the tree that routes of IPv4 lie in.  net/ipv4/fib_trie.c."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from socket import inet_ntoa

from arch.abi.rtnetlink import (
    RT_SCOPE_HOST,
    RT_SCOPE_LINK,
    RT_SCOPE_NOWHERE,
    RT_SCOPE_SITE,
    RT_SCOPE_UNIVERSE,
    RT_TABLE_LOCAL,
    RT_TABLE_MAIN,
)
from simkernel.net.core.lc_trie import KEYLENGTH, Node, Trie
from simkernel.net.core.netns import Net, Route, RouteTable
from simkernel.net.face import NetKernel

SCOPES = {
    RT_SCOPE_UNIVERSE: "universe", RT_SCOPE_SITE: "site", RT_SCOPE_LINK: "link", RT_SCOPE_HOST: "host", RT_SCOPE_NOWHERE: "nowhere",
}  # fmt: skip
TYPES = [
    "UNSPEC",
    "UNICAST",
    "LOCAL",
    "BROADCAST",
    "ANYCAST",
    "MULTICAST",
    "BLACKHOLE",
    "UNREACHABLE",
    "PROHIBIT",
    "THROW",
    "NAT",
    "XRESOLVE",
]
NAMES = {RT_TABLE_LOCAL: "Local", RT_TABLE_MAIN: "Main"}
STEP = "   "
# Bytes: a struct tnode without places is two pointers of RCU, two counts, the parent, and a key with four bytes of numbers; a struct fib_alias
TNODE_WORDS, TNODE_REST, ALIAS_WORDS, ALIAS_REST = 3, 16, 5, 16


def _tables(net: Net) -> Iterator[tuple[RouteTable, Trie]]:
    """As net->ipv4.fib_table_hash has them: by the lowest byte of the number, the newest first."""
    newest_first = reversed(net.ipv4.tables.values())
    for table in sorted(newest_first, key=lambda table: table.number & 255):
        if table.trie is not None:
            yield table, table.trie


def _title(table: RouteTable) -> str:
    return f"{NAMES.get(table.number, f'Id {table.number}')}:\n"


def _alias(route: Route) -> str:
    """rtn_scope(), rtn_type()."""
    scope = SCOPES.get(route.scope, f"scope={route.scope}")
    tos = f" tos={route.tos}" if route.tos else ""
    return f"/{route.prefix} {scope} {TYPES[route.kind]}{tos}\n"


def _address(key: int) -> str:
    return inet_ntoa(key.to_bytes(4, "big"))


def _leaf_routes(net: Net, trie: Trie) -> dict[int, list[Route]]:
    """The routes of every leaf: the longer prefix first, then the higher table."""
    found: dict[int, list[Route]] = {}
    for table in sorted(net.ipv4.tables.values(), key=lambda table: -table.number):
        for route in table.routes() if table.trie is trie else ():
            found.setdefault(int.from_bytes(route.dst, "big"), []).append(route)
    return {key: sorted(routes, key=lambda route: -route.prefix) for key, routes in found.items()}


def _rows(node: Node, depth: int, routes: dict[int, list[Route]]) -> str:
    if node.bits:
        prefix = KEYLENGTH - node.pos - node.bits
        return f"{STEP * depth}  +-- {_address(node.key)}/{prefix} {node.bits} {node.full} {node.empty}\n"
    out = f"{STEP * depth}  |-- {_address(node.key)}\n"
    return out + "".join(f"{STEP * (depth + 1)}  {_alias(route)}" for route in routes[node.key])


def fib_trie(k: NetKernel, net: Net) -> str:
    """/proc/net/fib_trie."""
    out = ""
    for table, trie in _tables(net):
        routes, first = _leaf_routes(net, trie), True
        for node, depth in trie.nodes():
            out += (_title(table) if first else "") + _rows(node, depth, routes)
            first = False
    return out


def fib_triestat(k: NetKernel, net: Net) -> str:
    """/proc/net/fib_triestat."""
    word = k.arch.model.word
    node, alias = TNODE_WORDS * word + TNODE_REST, ALIAS_WORDS * word + ALIAS_REST
    out = f"Basic info: size of leaf: {node + word} bytes, size of tnode: {node} bytes.\n"
    for table, trie in _tables(net):
        out += _title(table) + _statistics(trie, node, alias, word) + _use(trie)
    return out


def _statistics(trie: Trie, node_size: int, alias_size: int, word: int) -> str:
    """trie_show_stats()."""
    nodes = list(trie.nodes())
    leaves = [(node, depth) for node, depth in nodes if not node.bits]
    inner = [node for node, _ in nodes if node.bits]
    depths = [depth for _, depth in leaves]
    average = sum(depths) * 100 // len(depths) if depths else 0
    prefixes = sum(len(node.suffixes) for node, _ in leaves)
    sizes = Counter(node.bits for node in inner)
    pointers = sum(count << bits for bits, count in sizes.items())
    size = (node_size + word) * len(leaves) + alias_size * prefixes + node_size * len(inner) + word * pointers
    rows = "".join(f"  {bits}: {sizes[bits]}" for bits in sorted(sizes))
    return (
        f"\tAver depth:     {average // 100}.{average % 100:02d}\n\tMax depth:      {max(depths, default=0)}\n"
        f"\tLeaves:         {len(leaves)}\n\tPrefixes:       {prefixes}\n\tInternal nodes: {len(inner)}\n\t{rows}\n"
        f"\tPointers: {pointers}\nNull ptrs: {sum(node.empty for node in inner)}\nTotal size: {(size + 1023) // 1024}  kB\n"
    )


def _use(trie: Trie) -> str:
    """trie_show_usage()."""
    return (
        f"\nCounters:\n---------\ngets = {trie.gets}\nbacktracks = {trie.backtracks}\nsemantic match passed = {trie.passed}\n"
        f"semantic match miss = {trie.missed}\nnull node hit= {trie.null_hits}\nskipped node resize = 0\n\n"
    )
