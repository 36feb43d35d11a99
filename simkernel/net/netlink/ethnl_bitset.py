"""Sets of bits with names, as the ethtool family tells and takes them: words, or a list.  net/ethtool/bitset.c."""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.ethtool_netlink import (
    ETHTOOL_A_BITSET_BIT_INDEX,
    ETHTOOL_A_BITSET_BIT_NAME,
    ETHTOOL_A_BITSET_BIT_VALUE,
    ETHTOOL_A_BITSET_BITS,
    ETHTOOL_A_BITSET_BITS_BIT,
    ETHTOOL_A_BITSET_MASK,
    ETHTOOL_A_BITSET_NOMASK,
    ETHTOOL_A_BITSET_SIZE,
    ETHTOOL_A_BITSET_VALUE,
)
from simkernel.net.core.extack import Refusal
from simkernel.net.face import NetKernel
from simkernel.net.netlink import policy
from simkernel.net.netlink.message import Wire, string


def put(
    wire: Wire, kind: int, value: int, mask: int | None, count: int, names: Sequence[str], compact: bool
) -> bytes:  # fmt: skip
    """ethnl_put_bitset32(); `mask` None: a list of what is set."""
    body = wire.attribute(ETHTOOL_A_BITSET_NOMASK, b"") if mask is None else b""
    body += wire.u32(ETHTOOL_A_BITSET_SIZE, count)
    if compact:
        body += wire.attribute(ETHTOOL_A_BITSET_VALUE, _words(wire, value, count))
        return wire.nested(kind, body + (wire.attribute(ETHTOOL_A_BITSET_MASK, _words(wire, mask, count)) if mask is not None else b""))  # fmt: skip
    rows = b""
    for bit in range(count):
        if (value if mask is None else mask) >> bit & 1:
            row = wire.u32(ETHTOOL_A_BITSET_BIT_INDEX, bit) + wire.text(ETHTOOL_A_BITSET_BIT_NAME, names[bit])
            row += wire.attribute(ETHTOOL_A_BITSET_BIT_VALUE, b"") if mask is not None and value >> bit & 1 else b""
            rows += wire.nested(ETHTOOL_A_BITSET_BITS_BIT, row)
    return wire.nested(kind, body + wire.nested(ETHTOOL_A_BITSET_BITS, rows))


def _words(wire: Wire, value: int, count: int) -> bytes:
    """Of 32 bits each."""
    return wire.pack(f"{-(-count // 32)}I", *(value >> at & 0xFFFFFFFF for at in range(0, count, 32)))


def _number(wire: Wire, raw: bytes) -> int:
    return sum(wire.number(raw[at : at + 4]) << 8 * at for at in range(0, len(raw), 4))


def read(
    k: NetKernel, wire: Wire, raw: bytes, start: int, count: int, names: Sequence[str]
) -> tuple[int, int]:  # fmt: skip
    """ethnl_parse_bitset(): values, and the bits that are meant; its attributes begin at `start` of the message.  EINVAL, EOPNOTSUPP."""
    given = policy.nested_strict(k, wire, raw, policy.BITSET, ETHTOOL_A_BITSET_MASK, start)
    at = {kind: start + place for kind, _, place in wire.walk(raw)}
    full = ETHTOOL_A_BITSET_NOMASK in given
    if ETHTOOL_A_BITSET_BITS in given:
        for kind in (ETHTOOL_A_BITSET_VALUE, ETHTOOL_A_BITSET_MASK):
            if kind in given:
                what = "value" if kind == ETHTOOL_A_BITSET_VALUE else "mask"
                raise Refusal(EINVAL, f"{what} only allowed in compact bitset", at[kind])
        listed = _listed(k, wire, given[ETHTOOL_A_BITSET_BITS], at[ETHTOOL_A_BITSET_BITS] + 4, count, names, full)
        return listed[0], (1 << count) - 1 if full else listed[1]
    for kind, what in ((ETHTOOL_A_BITSET_SIZE, "size"), (ETHTOOL_A_BITSET_VALUE, "value")):
        if kind not in given:
            raise Refusal(EINVAL, f"missing {what} in compact bitset", start - 4)
    if full and ETHTOOL_A_BITSET_MASK in given:
        raise Refusal(EINVAL, "mask not allowed in list bitset", at[ETHTOOL_A_BITSET_MASK])
    if not full and ETHTOOL_A_BITSET_MASK not in given:
        raise Refusal(EINVAL, "missing mask in compact bitset", start - 4)
    size = wire.number(given[ETHTOOL_A_BITSET_SIZE])
    for kind, what in ((ETHTOOL_A_BITSET_VALUE, "value"), (ETHTOOL_A_BITSET_MASK, "mask")):
        if kind in given and len(given[kind]) != -(-size // 32) * 4:
            raise Refusal(EINVAL, f"bitset {what} length does not match size", at[kind])
    value = _number(wire, given[ETHTOOL_A_BITSET_VALUE])
    mask = (1 << count) - 1 if full else _number(wire, given[ETHTOOL_A_BITSET_MASK])
    if (value if full else mask) >> count:
        raise Refusal(EINVAL, f"cannot modify bits past kernel bitset size ({count})")
    return value, mask


def _listed(
    k: NetKernel, wire: Wire, raw: bytes, start: int, count: int, names: Sequence[str], full: bool
) -> tuple[int, int]:  # fmt: skip
    """ethnl_update_bitset32_verbose()."""
    value = mask = 0
    for kind, row, place in wire.walk(raw):
        if kind != ETHTOOL_A_BITSET_BITS_BIT:
            raise Refusal(EINVAL, "only ETHTOOL_A_BITSET_BITS_BIT allowed in ETHTOOL_A_BITSET_BITS", start + place)
        bit, on = _bit(k, wire, row, start + place + 4, count, names)
        mask |= 1 << bit
        value |= int(on or full) << bit
    return value, mask


def _bit(k: NetKernel, wire: Wire, row: bytes, start: int, count: int, names: Sequence[str]) -> tuple[int, bool]:
    """ethnl_parse_bit()."""
    given = policy.nested_strict(k, wire, row, policy.BITSET_BIT, ETHTOOL_A_BITSET_BIT_VALUE, start)
    at = {kind: start + place for kind, _, place in wire.walk(row)}
    index, name = given.get(ETHTOOL_A_BITSET_BIT_INDEX), given.get(ETHTOOL_A_BITSET_BIT_NAME)
    if index is not None:
        bit = wire.number(index)
        if bit >= count:
            raise Refusal(EOPNOTSUPP, "bit index too high", at[ETHTOOL_A_BITSET_BIT_INDEX])
        if name is not None and names[bit] != string(name):
            raise Refusal(EINVAL, "bit index and name mismatch", start - 4)
    elif name is not None:
        if string(name) not in names:
            raise Refusal(EOPNOTSUPP, "bit name not found", at[ETHTOOL_A_BITSET_BIT_NAME])
        bit = list(names).index(string(name))
    else:
        raise Refusal(EINVAL, "neither bit index nor name specified", start - 4)
    return bit, ETHTOOL_A_BITSET_BIT_VALUE in given
