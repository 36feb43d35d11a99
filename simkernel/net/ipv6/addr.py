"""Kinds of IPv6 addresses.  net/ipv6/addrconf_core.c, include/net/ipv6.h, RFC 4291."""

from __future__ import annotations

from arch.abi.inet import IN6ADDR_ANY, IN6ADDR_LOOPBACK
from arch.abi.rtnetlink import RT_SCOPE_HOST, RT_SCOPE_LINK, RT_SCOPE_SITE, RT_SCOPE_UNIVERSE
from simkernel.net.core.netns import in_prefix

LINK_LOCAL = bytes.fromhex("fe80") + bytes(14)
ALL_NODES = bytes.fromhex("ff02") + bytes(13) + b"\1"
ALL_NODES_HERE = bytes.fromhex("ff01") + bytes(13) + b"\1"
ALL_ROUTERS = bytes.fromhex("ff02") + bytes(13) + b"\2"
SOLICITED = bytes.fromhex("ff02") + bytes(9) + b"\1\xff"
SCOPE_NODE, SCOPE_LINK, SCOPE_SITE, SCOPE_GLOBAL = 1, 2, 5, 14  # IPV6_ADDR_SCOPE_


def is_group(address: bytes) -> bool:
    """ipv6_addr_is_multicast()."""
    return address[0] == 0xFF


def is_link_local(address: bytes) -> bool:
    """fe80::/10."""
    return address[0] == 0xFE and address[1] & 0xC0 == 0x80


def scope(address: bytes) -> int:
    """ipv6_addr_scope(): a group says its own."""
    if is_group(address):
        return address[1] & 15
    if address == IN6ADDR_LOOPBACK:
        return SCOPE_NODE
    if is_link_local(address):
        return SCOPE_LINK
    return SCOPE_SITE if address[0] == 0xFE and address[1] & 0xC0 == 0xC0 else SCOPE_GLOBAL


def rt_scope(address: bytes) -> int:
    """rt_scope(): as rtnetlink says it."""
    return {SCOPE_NODE: RT_SCOPE_HOST, SCOPE_LINK: RT_SCOPE_LINK, SCOPE_SITE: RT_SCOPE_SITE}.get(
        scope(address), RT_SCOPE_UNIVERSE
    )


def needs_device(address: bytes) -> bool:
    """rt6_need_strict(): without a device nobody knows where that is."""
    return is_link_local(address) or is_group(address) or address == IN6ADDR_LOOPBACK


def solicited(address: bytes) -> bytes:
    """addrconf_addr_solict_mult(): the group in which an address is asked for."""
    return SOLICITED + address[13:]


# Addresses of IPv4 that mean something to some only: prefix and its bits.
NEAR_ONLY = tuple(
    (bytes.fromhex(prefix), length)
    for prefix, length in (
        ("00000000", 8), ("0a000000", 8), ("7f000000", 8), ("a9fe0000", 16), ("ac100000", 12), ("c0000200", 24), ("c0586300", 24),
        ("c0a80000", 16), ("c6120000", 15), ("e0000000", 4), ("ffffffff", 32),
    )
)  # fmt: skip


def isatap_identifier(address: bytes) -> bytes:
    """__ipv6_isatap_ifid(): of an address of IPv4; the first byte says whether all the world knows it."""
    near = any(in_prefix(address, prefix, length) for prefix, length in NEAR_ONLY)
    return bytes((0 if near else 2, 0, 0x5E, 0xFE)) + address


def eui64(mac: bytes) -> bytes:
    """addrconf_ifid_eui48()."""
    return bytes((mac[0] ^ 2,)) + mac[1:3] + b"\xff\xfe" + mac[3:]


def text(address: bytes) -> str:
    """%pI6c without the mixed notation."""
    words = [int.from_bytes(address[i : i + 2], "big") for i in range(0, 16, 2)]
    best, size, at = 0, 1, 0
    while at < 8:
        run = 0
        while at + run < 8 and not words[at + run]:
            run += 1
        if run > size:
            best, size = at, run
        at += run or 1
    if size == 1:
        return ":".join(f"{word:x}" for word in words)
    head, tail = words[:best], words[best + size :]
    return ":".join(f"{word:x}" for word in head) + "::" + ":".join(f"{word:x}" for word in tail)


def is_unspecified(address: bytes) -> bool:
    """ipv6_addr_any()."""
    return address == IN6ADDR_ANY
