"""The family of generic netlink that ethtool(8) asks.  net/ethtool/netlink.c and a file for each kind of request.

Devices have what drivers without hardware have; what they tell is core/ethtool.py's and the kind of device's, which the ioctl asks, too.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi import ethtool_netlink as eth
from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EINVAL, ENODEV, EOPNOTSUPP, EPERM
from arch.abi.ethtool import DUPLEX_FULL, ETH_SS_FEATURES, ETH_SS_LINK_MODES, ETH_SS_STATS
from arch.abi.inet import IFF_UP
from arch.abi.netlink import (
    GENL_CMD_CAP_DO,
    GENL_CMD_CAP_DUMP,
    GENL_CMD_CAP_HASPOL,
    GENL_HDRLEN,
    GENL_UNS_ADMIN_PERM,
    NLM_F_DUMP,
    NLM_F_MULTI,
    NLMSG_HDRLEN,
)
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.user_namespace import may_in
from simkernel.net.core.ethtool_names import OF_A_DEVICE, ethnl_strings
from simkernel.net.core.extack import Refusal
from simkernel.net.core.features import NEVER_CHANGED, mask, update
from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel
from simkernel.net.netlink import ethnl_bitset as bitset
from simkernel.net.netlink import policy
from simkernel.net.netlink.genetlink import FAMILIES, Answers, Family
from simkernel.net.netlink.message import Request, Wire, string

FEATURE_COUNT = 64  # NETDEV_FEATURE_COUNT, all of which have a word
STRING_SETS = 21  # ETH_SS_COUNT of 6.1
NTUPLE_FILTERS = 3  # of the sets nobody tells any more
ETH_SS_SOF_TIMESTAMPING, ETH_SS_STATS_STD = 12, 16


class Asked:
    """One request, its attributes and what its header says: struct ethnl_req_info."""

    def __init__(self, k: NetKernel, wire: Wire, request: Request, row: Row, dev: NetDevice | None = None) -> None:
        self.k, self.wire, self.request, self.row = k, wire, request, row
        self.given = policy.parse_strict(k, wire, request.body, GENL_HDRLEN, row.policy, row.last)
        start = NLMSG_HDRLEN + GENL_HDRLEN
        self.at = {kind: start + at for kind, _, at in wire.walk(request.body[GENL_HDRLEN:])}
        self.found, self.flags = dev, 0

    def header(self, needed: bool = True, missing: str = "") -> None:
        """ethnl_parse_header_dev_get(); `missing`: what is said where there is none.  EINVAL, ENODEV."""
        self.find(self.header_attributes(), needed, missing)

    def header_attributes(self) -> dict[int, bytes]:
        """EINVAL."""
        if self.row.header not in self.given:
            return {}
        rules = policy.ETHNL_HEADER_STATS if self.row.stats else policy.ETHNL_HEADER
        raw, start = self.given[self.row.header], self.at[self.row.header] + 4
        return policy.nested_strict(self.k, self.wire, raw, rules, eth.ETHTOOL_A_HEADER_FLAGS, start)

    def find(self, given: dict[int, bytes], needed: bool, missing: str = "") -> None:
        """The device that a header names, and its flags.  EINVAL, ENODEV."""
        wire, kind, net = self.wire, self.row.header, self.request.net
        if kind not in self.given:
            raise Refusal(EINVAL, missing, missing=None if missing else kind)
        start = self.at[kind]
        at = {found: start + 4 + place for found, _, place in wire.walk(self.given[kind])}
        self.flags = wire.number(given.get(eth.ETHTOOL_A_HEADER_FLAGS))
        index, name = given.get(eth.ETHTOOL_A_HEADER_DEV_INDEX), given.get(eth.ETHTOOL_A_HEADER_DEV_NAME)
        if index is not None:
            self.found = net.devices.get(wire.number(index))
            if self.found is None:
                raise Refusal(ENODEV, "no device matches ifindex", at[eth.ETHTOOL_A_HEADER_DEV_INDEX])
            if name is not None and string(name) != self.found.name:
                raise Refusal(ENODEV, "ifindex and name do not match", start)
        elif name is not None:
            self.found = net.named(string(name))
            if self.found is None:
                raise Refusal(ENODEV, "no device matches name", at[eth.ETHTOOL_A_HEADER_DEV_NAME])
        elif needed:
            raise Refusal(EINVAL, "neither ifindex nor name specified", start)

    @property
    def dev(self) -> NetDevice:
        """The one that it is about."""
        assert self.found is not None
        return self.found

    @property
    def compact(self) -> bool:
        """Sets are told as words."""
        return bool(self.flags & eth.ETHTOOL_FLAG_COMPACT_BITSETS)

    def bits(self, kind: int, value: int, meant: int | None, string_set: int) -> bytes:
        """A set whose names are those of a set of strings."""
        names = ethnl_strings(self.k.version, string_set) or ()
        return bitset.put(self.wire, kind, value, meant, len(names), names, self.compact)

    def reply(self, cmd: int, body: bytes, flags: int = 0) -> bytes:
        """One answer about the device."""
        head = self.wire.pack("BBH", cmd, eth.ETHTOOL_GENL_VERSION, 0)
        if self.found is not None:
            head += about(self.wire, self.found, self.row.header)
        return self.wire.message(self.request.kind, flags, self.request.seq, self.request.portid, head + body)


def about(wire: Wire, dev: NetDevice, kind: int) -> bytes:
    """ethnl_fill_reply_header()."""
    return wire.nested(
        kind, wire.u32(eth.ETHTOOL_A_HEADER_DEV_INDEX, dev.ifindex) + wire.text(eth.ETHTOOL_A_HEADER_DEV_NAME, dev.name)
    )


Get = Callable[[Asked], bytes]
Act = Callable[[Asked], list[bytes]]


@dataclass(frozen=True, slots=True)
class Row:
    """struct ethnl_request_ops and struct genl_ops: one command."""

    policy: policy.Policy
    last: int  # attributes up to this one are known
    reply: int = 0  # the command of its answers
    get: Get | None = None  # the body of its answer.  KernelError
    act: Act | None = None  # a change, or what is asked in its own way
    dumped: bool = True
    admin: bool = False  # GENL_UNS_ADMIN_PERM
    header: int = 1
    stats: bool = False  # its header may ask for statistics
    device: bool = True  # it is about one
    first: Callable[[Asked], object] | None = None  # reads what is asked for, once, before a dump.  KernelError

    @property
    def caps(self) -> int:
        """GENL_CMD_CAP_*."""
        dump = GENL_CMD_CAP_DUMP if self.dumped else 0
        return GENL_CMD_CAP_DO | dump | GENL_CMD_CAP_HASPOL | (GENL_UNS_ADMIN_PERM if self.admin else 0)


# -- asking ------------------------------------------------------------------------------------------------------------


def _refused(text: str = "") -> Get:
    """What no device here has.  EOPNOTSUPP."""

    def get(asked: Asked) -> bytes:
        raise Refusal(EOPNOTSUPP, text)

    return get


def _nothing(asked: Asked) -> bytes:
    """There is nothing to tell."""
    return b""


def _speed(asked: Asked) -> int:
    """get_link_ksettings().  EOPNOTSUPP."""
    if not asked.dev.kind.speed:
        raise Refusal(EOPNOTSUPP, "failed to retrieve link settings")
    return asked.dev.kind.speed


def _linkinfo(asked: Asked) -> bytes:
    """linkinfo_fill_reply(): a device without a socket and a chip has zeros."""
    _speed(asked)
    kinds = range(eth.ETHTOOL_A_LINKINFO_PORT, eth.ETHTOOL_A_LINKINFO_TRANSCEIVER + 1)
    return b"".join(asked.wire.u8(kind, 0) for kind in kinds)


def _linkmodes(asked: Asked) -> bytes:
    """linkmodes_fill_reply()."""
    wire, speed = asked.wire, _speed(asked)
    return (
        wire.u8(eth.ETHTOOL_A_LINKMODES_AUTONEG, 0)
        + asked.bits(eth.ETHTOOL_A_LINKMODES_OURS, 0, 0, ETH_SS_LINK_MODES)
        + wire.u32(eth.ETHTOOL_A_LINKMODES_SPEED, speed)
        + wire.u8(eth.ETHTOOL_A_LINKMODES_DUPLEX, DUPLEX_FULL)
        + wire.u8(eth.ETHTOOL_A_LINKMODES_RATE_MATCHING, 0)
    )


def _linkstate(asked: Asked) -> bytes:
    """linkstate_fill_reply()."""
    dev = asked.dev
    up = bool(dev.flags & IFF_UP) and dev.carrier
    return asked.wire.u8(eth.ETHTOOL_A_LINKSTATE_LINK, up) if dev.kind.reports_link else b""


def _features(asked: Asked) -> bytes:
    """features_fill_reply()."""
    dev, everything = asked.dev, (1 << FEATURE_COUNT) - 1
    out = asked.bits(eth.ETHTOOL_A_FEATURES_HW, dev.hw_features, everything, ETH_SS_FEATURES)
    for kind, value in (
        (eth.ETHTOOL_A_FEATURES_WANTED, dev.wanted_features),
        (eth.ETHTOOL_A_FEATURES_ACTIVE, dev.features),
        (eth.ETHTOOL_A_FEATURES_NOCHANGE, mask(asked.k.version, NEVER_CHANGED)),
    ):
        out += asked.bits(kind, value, None, ETH_SS_FEATURES)
    return out


def _channels(asked: Asked) -> bytes:
    """channels_fill_reply().  EOPNOTSUPP."""
    if not asked.dev.kind.channels:
        raise KernelError(EOPNOTSUPP)
    sent, received = asked.dev.queues
    return b"".join(
        asked.wire.u32(kind, value)
        for kind, value in (
            (eth.ETHTOOL_A_CHANNELS_RX_MAX, received), (eth.ETHTOOL_A_CHANNELS_RX_COUNT, received),
            (eth.ETHTOOL_A_CHANNELS_TX_MAX, sent), (eth.ETHTOOL_A_CHANNELS_TX_COUNT, sent),
        )
    )  # fmt: skip


def _tsinfo(asked: Asked) -> bytes:
    """tsinfo_fill_reply(): times are the kernel's."""
    names = ethnl_strings(asked.k.version, ETH_SS_SOF_TIMESTAMPING) or ()
    told = {"software-receive", "software-system-clock"} | (
        {"software-transmit"} if asked.dev.kind.stamps_sent else set()
    )
    value = sum(1 << bit for bit, name in enumerate(names) if name in told)
    return asked.bits(eth.ETHTOOL_A_TSINFO_TIMESTAMPING, value, None, ETH_SS_SOF_TIMESTAMPING)


def _stats(asked: Asked) -> bytes:
    """stats_parse_request(), stats_fill_reply(): the groups that are asked for, without anything in them.  EINVAL."""
    if eth.ETHTOOL_A_STATS_GROUPS not in asked.given:
        raise Refusal(EINVAL, "no stats requested")
    names = ethnl_strings(asked.k.version, ETH_SS_STATS_STD) or ()
    raw, start = asked.given[eth.ETHTOOL_A_STATS_GROUPS], asked.at[eth.ETHTOOL_A_STATS_GROUPS] + 4
    value, meant = bitset.read(asked.k, asked.wire, raw, start, len(names), names)
    if not value & meant:
        raise Refusal(EINVAL, "no stats requested")
    wire = asked.wire
    return b"".join(
        wire.nested(
            eth.ETHTOOL_A_STATS_GRP,
            wire.u32(eth.ETHTOOL_A_STATS_GRP_ID, group) + wire.u32(eth.ETHTOOL_A_STATS_GRP_SS_ID, ETH_SS_STATS_STD + 1 + group),
        )
        for group in range(len(names)) if (value & meant) >> group & 1
    )  # fmt: skip


def _eeprom(asked: Asked) -> bytes:
    """eeprom_parse_request().  EINVAL, EOPNOTSUPP."""
    needed = (
        eth.ETHTOOL_A_MODULE_EEPROM_OFFSET, eth.ETHTOOL_A_MODULE_EEPROM_LENGTH, eth.ETHTOOL_A_MODULE_EEPROM_PAGE,
        eth.ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS,
    )  # fmt: skip
    raise KernelError(EOPNOTSUPP if all(kind in asked.given for kind in needed) else EINVAL)


# -- strings -----------------------------------------------------------------------------------------------------------


def _wanted_sets(asked: Asked) -> list[int]:
    """strset_parse_request().  EINVAL, EOPNOTSUPP."""
    k, wire, kind = asked.k, asked.wire, eth.ETHTOOL_A_STRSET_STRINGSETS
    if kind not in asked.given:
        return []
    start = asked.at[kind] + 4
    policy.nested_strict(k, wire, asked.given[kind], policy.STRINGSETS, eth.ETHTOOL_A_STRINGSETS_STRINGSET, start)
    wanted = []
    for _, row, at in wire.walk(asked.given[kind]):
        within = start + at + 4
        given = policy.nested_strict(k, wire, row, policy.STRINGSET, eth.ETHTOOL_A_STRINGSET_ID, within)
        if eth.ETHTOOL_A_STRINGSET_ID not in given:
            raise Refusal(EINVAL, missing=eth.ETHTOOL_A_STRINGSET_ID, nest=within - 4)
        number = wire.number(given[eth.ETHTOOL_A_STRINGSET_ID])
        if number >= STRING_SETS:
            raise Refusal(EOPNOTSUPP, "unknown string set id", within - 4)
        wanted.append(number)
    return sorted(set(wanted))


def _strset(asked: Asked) -> bytes:
    """strset_prepare_data(), strset_fill_reply(): sets that are asked for, else all of the device's, or all of nobody's."""
    wire, dev, wanted = asked.wire, asked.found, _wanted_sets(asked)
    if not wanted:
        wanted = [number for number in range(STRING_SETS) if (number in OF_A_DEVICE) == (dev is not None) and number != NTUPLE_FILTERS]  # fmt: skip
    elif dev is None and any(number in OF_A_DEVICE for number in wanted):
        raise Refusal(EINVAL, "requested per device strings without dev")
    if NTUPLE_FILTERS in wanted:
        raise KernelError(EOPNOTSUPP)
    sets = b""
    for number in wanted:
        rows = ethnl_strings(asked.k.version, number)
        if number in OF_A_DEVICE:
            rows = list(dev.kind.statistics(dev)) if dev is not None and number == ETH_SS_STATS else None
        if not rows:
            continue
        body = wire.u32(eth.ETHTOOL_A_STRINGSET_ID, number) + wire.u32(eth.ETHTOOL_A_STRINGSET_COUNT, len(rows))
        if eth.ETHTOOL_A_STRSET_COUNTS_ONLY not in asked.given:
            strings = b"".join(
                wire.nested(
                    eth.ETHTOOL_A_STRINGS_STRING,
                    wire.u32(eth.ETHTOOL_A_STRING_INDEX, index) + wire.text(eth.ETHTOOL_A_STRING_VALUE, row),
                )
                for index, row in enumerate(rows)
            )
            body += wire.nested(eth.ETHTOOL_A_STRINGSET_STRINGS, strings)
        sets += wire.nested(eth.ETHTOOL_A_STRINGSETS_STRINGSET, body)
    return wire.nested(eth.ETHTOOL_A_STRSET_STRINGSETS, sets)


# -- changing ----------------------------------------------------------------------------------------------------------

HEADER_MISSING = "request header missing"


def _no_change(asked: Asked) -> list[bytes]:
    """A change that no device here takes.  EOPNOTSUPP."""
    asked.header(missing=HEADER_MISSING)
    raise KernelError(EOPNOTSUPP)


def _set_privflags(asked: Asked) -> list[bytes]:
    """ethnl_set_privflags()."""
    if eth.ETHTOOL_A_PRIVFLAGS_FLAGS not in asked.given:
        raise KernelError(EINVAL)
    return _no_change(asked)


def _tunnel_info(asked: Asked) -> list[bytes]:
    """ethnl_tunnel_info_doit(): no device here has tunnels of its own."""
    asked.header(missing=HEADER_MISSING)
    raise Refusal(EOPNOTSUPP, "device does not report tunnel offload info")


def _only(kind: int, text: str) -> Act:
    """Without this attribute nothing happens; it is refused."""

    def act(asked: Asked) -> list[bytes]:
        asked.header(missing=HEADER_MISSING)
        if kind in asked.given:
            raise Refusal(EOPNOTSUPP, text, asked.at[kind] if kind == eth.ETHTOOL_A_MODULE_POWER_MODE_POLICY else None)
        return []

    return act


def _set_features(asked: Asked) -> list[bytes]:
    """ethnl_set_features(): the answer tells what was not done, and what else was.  EINVAL."""
    kind, k = eth.ETHTOOL_A_FEATURES_WANTED, asked.k
    if kind not in asked.given:
        raise KernelError(EINVAL)
    asked.header(missing=HEADER_MISSING)
    dev, names = asked.dev, ethnl_strings(k.version, ETH_SS_FEATURES) or ()
    value, meant = bitset.read(k, asked.wire, asked.given[kind], asked.at[kind] + 4, len(names), names)
    if meant & mask(k.version, NEVER_CHANGED):
        raise Refusal(EINVAL, "attempt to change non-ethtool features")
    before = dev.features
    wanted = dev.wanted_features & ~meant | value & meant
    if wanted != dev.wanted_features:
        dev.wanted_features = wanted & dev.hw_features
        update(k, dev)
    if asked.flags & eth.ETHTOOL_FLAG_OMIT_REPLY:
        return []
    undone, done = (wanted ^ dev.features) & meant, before ^ dev.features
    body = asked.bits(kind, wanted & undone, undone, ETH_SS_FEATURES)
    body += asked.bits(eth.ETHTOOL_A_FEATURES_ACTIVE, dev.features & done, done, ETH_SS_FEATURES)
    return [asked.reply(eth.ETHTOOL_MSG_FEATURES_SET_REPLY, body)]


def _set_channels(asked: Asked) -> list[bytes]:
    """ethnl_set_channels(): there are never others than those that the device was made with.  EOPNOTSUPP, EINVAL."""
    asked.header(missing=HEADER_MISSING)
    dev, wire = asked.dev, asked.wire
    if not dev.kind.channels:
        raise KernelError(EOPNOTSUPP)
    sent, received = dev.queues
    most = {
        eth.ETHTOOL_A_CHANNELS_RX_COUNT: received, eth.ETHTOOL_A_CHANNELS_TX_COUNT: sent, eth.ETHTOOL_A_CHANNELS_OTHER_COUNT: 0,
        eth.ETHTOOL_A_CHANNELS_COMBINED_COUNT: 0,
    }  # fmt: skip
    for kind, limit in most.items():
        if wire.number(asked.given.get(kind)) > limit:
            raise Refusal(EINVAL, "requested channel count exceeds maximum", asked.at[kind])
    for kind in (eth.ETHTOOL_A_CHANNELS_RX_COUNT, eth.ETHTOOL_A_CHANNELS_TX_COUNT):
        if not wire.number(asked.given.get(kind), default=1):
            text = "requested channel counts would result in no RX or TX channel being configured"
            raise Refusal(EINVAL, text, asked.at[kind])
    return []


# -- the family --------------------------------------------------------------------------------------------------------

HEAD = policy.ETHNL_HEAD


def _get_row(reply: int, get: Get, admin: bool = False, stats: bool = False) -> Row:
    return Row(HEAD, 1, reply, get, admin=admin, stats=stats)


def _set_row(rules: dict[int, policy.Rule], act: Act) -> Row:
    return Row(HEAD | rules, max((1, *rules)), act=act, dumped=False, admin=True)


U8, U32, NESTED = policy.U8, policy.U32, policy.NESTED
ROWS: dict[int, Row] = {
    eth.ETHTOOL_MSG_STRSET_GET: Row(policy.STRSET, 3, eth.ETHTOOL_MSG_STRSET_GET_REPLY, _strset, device=False),
    eth.ETHTOOL_MSG_LINKINFO_GET: _get_row(eth.ETHTOOL_MSG_LINKINFO_GET_REPLY, _linkinfo),
    eth.ETHTOOL_MSG_LINKINFO_SET: _set_row({2: U8, 3: policy.UNSUPPORTED, 5: U8}, _no_change),
    eth.ETHTOOL_MSG_LINKMODES_GET: _get_row(eth.ETHTOOL_MSG_LINKMODES_GET_REPLY, _linkmodes),
    eth.ETHTOOL_MSG_LINKMODES_SET: _set_row({2: U8, 3: NESTED, 5: U32, 6: U8, 7: U8, 9: U32}, _no_change),
    eth.ETHTOOL_MSG_LINKSTATE_GET: _get_row(eth.ETHTOOL_MSG_LINKSTATE_GET_REPLY, _linkstate),
    eth.ETHTOOL_MSG_DEBUG_GET: _get_row(0, _refused()),
    eth.ETHTOOL_MSG_DEBUG_SET: _set_row({2: NESTED}, _no_change),
    eth.ETHTOOL_MSG_WOL_GET: _get_row(0, _refused(), admin=True),
    eth.ETHTOOL_MSG_WOL_SET: _set_row({2: NESTED, 3: policy.Rule(policy.Kind.BINARY, 6)}, _no_change),
    eth.ETHTOOL_MSG_FEATURES_GET: _get_row(eth.ETHTOOL_MSG_FEATURES_GET_REPLY, _features),
    eth.ETHTOOL_MSG_FEATURES_SET: _set_row({3: NESTED}, _set_features),
    eth.ETHTOOL_MSG_PRIVFLAGS_GET: _get_row(0, _refused()),
    eth.ETHTOOL_MSG_PRIVFLAGS_SET: _set_row({2: NESTED}, _set_privflags),
    eth.ETHTOOL_MSG_RINGS_GET: _get_row(0, _refused()),
    eth.ETHTOOL_MSG_RINGS_SET: _set_row({kind: U32 for kind in range(6, 11)} | {11: U8, 12: U32, 13: U8}, _no_change),
    eth.ETHTOOL_MSG_CHANNELS_GET: _get_row(eth.ETHTOOL_MSG_CHANNELS_GET_REPLY, _channels),
    eth.ETHTOOL_MSG_CHANNELS_SET: _set_row({kind: U32 for kind in range(6, 10)}, _set_channels),
    eth.ETHTOOL_MSG_COALESCE_GET: _get_row(0, _refused()),
    eth.ETHTOOL_MSG_COALESCE_SET: _set_row({kind: U32 for kind in range(2, 25)} | {11: U8, 12: U8, 24: U8, 25: U8}, _no_change),
    eth.ETHTOOL_MSG_PAUSE_GET: _get_row(0, _refused(), stats=True),
    eth.ETHTOOL_MSG_PAUSE_SET: _set_row({2: U8, 3: U8, 4: U8}, _no_change),
    eth.ETHTOOL_MSG_EEE_GET: _get_row(0, _refused()),
    eth.ETHTOOL_MSG_EEE_SET: _set_row({2: NESTED, 5: U8, 6: U8, 7: U32}, _no_change),
    eth.ETHTOOL_MSG_TSINFO_GET: _get_row(eth.ETHTOOL_MSG_TSINFO_GET_REPLY, _tsinfo),
    eth.ETHTOOL_MSG_CABLE_TEST_ACT: _set_row({}, _no_change),
    eth.ETHTOOL_MSG_CABLE_TEST_TDR_ACT: _set_row({2: NESTED}, _no_change),
    eth.ETHTOOL_MSG_TUNNEL_INFO_GET: Row(HEAD, 1, act=_tunnel_info),
    eth.ETHTOOL_MSG_FEC_GET: _get_row(0, _refused(), stats=True),
    eth.ETHTOOL_MSG_FEC_SET: _set_row({2: NESTED, 3: U8}, _no_change),
    eth.ETHTOOL_MSG_MODULE_EEPROM_GET: Row(policy.MODULE_EEPROM, 6, 0, _eeprom, admin=True, first=_eeprom),
    eth.ETHTOOL_MSG_STATS_GET: Row(policy.STATS, 3, eth.ETHTOOL_MSG_STATS_GET_REPLY, _stats, header=eth.ETHTOOL_A_STATS_HEADER, first=_stats),
    eth.ETHTOOL_MSG_PHC_VCLOCKS_GET: _get_row(eth.ETHTOOL_MSG_PHC_VCLOCKS_GET_REPLY, _nothing),
    eth.ETHTOOL_MSG_MODULE_GET: _get_row(eth.ETHTOOL_MSG_MODULE_GET_REPLY, _nothing),
    eth.ETHTOOL_MSG_MODULE_SET: _set_row(
        {2: policy.Rule(policy.Kind.U8, least=1, most=2)},
        _only(eth.ETHTOOL_A_MODULE_POWER_MODE_POLICY, "Setting power mode policy is not supported by this device"),
    ),
    eth.ETHTOOL_MSG_PSE_GET: _get_row(0, _refused("No PHY is attached")),
    eth.ETHTOOL_MSG_PSE_SET: _set_row({3: policy.Rule(policy.Kind.U32, least=1, most=2)}, _only(3, "No PHY is attached")),
}  # fmt: skip


def _dump(k: NetKernel, wire: Wire, request: Request, row: Row) -> Answers:
    """ethnl_default_start(), ethnl_default_dumpit(): every device that has an answer.  EINVAL, ENODEV."""
    asked = Asked(k, wire, request, row)
    given = asked.header_attributes()
    try:
        asked.find(given, needed=False)
        if row.first is not None:
            row.first(asked)
    except Refusal as refusal:  # of what is wrong before the first answer only the number is told
        raise KernelError(refusal.errno) from None
    rows: list[bytes] = []
    failed = KernelError(EOPNOTSUPP) if row.get is None else None
    for _, dev in sorted(request.net.devices.items()) if row.get is not None else ():
        asked.found = dev
        try:
            assert row.get is not None
            rows.append(asked.reply(row.reply, row.get(asked), NLM_F_MULTI))
        except KernelError as error:
            if error.errno != EOPNOTSUPP:
                raise
    return [*rows, wire.done(request, request.portid, failed)], True


def _answer(k: NetKernel, wire: Wire, request: Request) -> Answers:
    """genl_family_rcv_msg(): EOPNOTSUPP, EPERM and what each says."""
    row = ROWS.get(request.body[0])
    dump = request.flags & NLM_F_DUMP == NLM_F_DUMP
    if row is None:
        raise KernelError(EOPNOTSUPP)
    if row.admin and not may_in(k, request.net.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if dump and not row.dumped:
        raise KernelError(EOPNOTSUPP)
    if dump:
        return _dump(k, wire, request, row)
    asked = Asked(k, wire, request, row)
    if row.act is not None:
        return row.act(asked), False
    assert row.get is not None
    asked.header(needed=row.device)
    return [asked.reply(row.reply, row.get(asked))], False


def features_notification(k: NetKernel, wire: Wire, dev: NetDevice, seq: int) -> bytes:
    """ETHTOOL_MSG_FEATURES_NTF."""
    request = Request(eth.ETHTOOL_GENL_ID, 0, seq, 0, bytes(GENL_HDRLEN), b"", dev.net)
    asked = Asked(k, wire, request, ROWS[eth.ETHTOOL_MSG_FEATURES_GET], dev)
    asked.flags = eth.ETHTOOL_FLAG_COMPACT_BITSETS
    return asked.reply(eth.ETHTOOL_MSG_FEATURES_NTF, _features(asked))


FAMILIES[eth.ETHTOOL_GENL_ID] = Family(
    eth.ETHTOOL_GENL_ID, eth.ETHTOOL_GENL_NAME, eth.ETHTOOL_GENL_VERSION, 0,
    tuple((number, row.caps) for number, row in ROWS.items()), ((eth.ETHTOOL_MCGRP_MONITOR, eth.ETHTOOL_MCGRP_MONITOR_NAME),), _answer,
    since="5.6",
)  # fmt: skip
