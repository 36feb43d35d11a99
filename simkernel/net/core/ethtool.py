"""ioctl(SIOCETHTOOL): what a device without hardware says of itself, and which of its features may be switched.  net/ethtool/ioctl.c.

The netlink family of the same name tells of the same things: netlink/ethnl.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EINVAL, ENODEV, EOPNOTSUPP, EPERM
from arch.abi.ethtool import (
    DUPLEX_FULL,
    ETH_FLAG_LRO,
    ETH_FLAG_NTUPLE,
    ETH_FLAG_RXHASH,
    ETH_FLAG_RXVLAN,
    ETH_FLAG_TXVLAN,
    ETH_GSTRING_LEN,
    ETH_SS_LINK_MODES,
    ETH_SS_STATS,
    ETHTOOL_F_UNSUPPORTED,
    ETHTOOL_F_WISH,
    ETHTOOL_FLASHDEV,
    ETHTOOL_GCHANNELS,
    ETHTOOL_GDRVINFO,
    ETHTOOL_GET_TS_INFO,
    ETHTOOL_GFEATURES,
    ETHTOOL_GFLAGS,
    ETHTOOL_GGRO,
    ETHTOOL_GGSO,
    ETHTOOL_GLINK,
    ETHTOOL_GLINKSETTINGS,
    ETHTOOL_GPERMADDR,
    ETHTOOL_GRXCSUM,
    ETHTOOL_GSET,
    ETHTOOL_GSG,
    ETHTOOL_GSSET_INFO,
    ETHTOOL_GSTATS,
    ETHTOOL_GSTRINGS,
    ETHTOOL_GTSO,
    ETHTOOL_GTXCSUM,
    ETHTOOL_SCHANNELS,
    ETHTOOL_SFEATURES,
    ETHTOOL_SFLAGS,
    ETHTOOL_SGRO,
    ETHTOOL_SGSO,
    ETHTOOL_SRXCSUM,
    ETHTOOL_SSG,
    ETHTOOL_STSO,
    ETHTOOL_STXCSUM,
    FOR_EVERYBODY,
)
from arch.abi.inet import IFF_UP, IFNAMSIZ
from arch.abi.socket import SOF_TIMESTAMPING_RX_SOFTWARE, SOF_TIMESTAMPING_SOFTWARE, SOF_TIMESTAMPING_TX_SOFTWARE
from arch.errors import KernelError
from simkernel.kernel.user_namespace import may_in
from simkernel.net.core.ethtool_names import feature_names, strings
from simkernel.net.core.features import NEVER_CHANGED, mask, update
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.face import NetKernel

ETOOSMALL = 525  # include/linux/errno.h: the kernel's own, which this call lets out
WORDS = 2  # of 32 bits, in lists of features
FLASH_TAKEN = "6.1"  # ETHTOOL_FLASHDEV of a device that cannot is nothing; before it is EOPNOTSUPP (5.10)

# The features that an old request is about, by name
MASKS = {
    ETHTOOL_GTXCSUM: "tx-checksum-ipv4 tx-checksum-ip-generic tx-checksum-ipv6 tx-checksum-fcoe-crc tx-checksum-sctp",
    ETHTOOL_GRXCSUM: "rx-checksum", ETHTOOL_GSG: "tx-scatter-gather tx-scatter-gather-fraglist",
    ETHTOOL_GTSO: "tx-tcp-segmentation tx-tcp-ecn-segmentation tx-tcp-mangleid-segmentation tx-tcp6-segmentation",
    ETHTOOL_GGSO: "tx-generic-segmentation", ETHTOOL_GGRO: "rx-gro",
}  # fmt: skip
SETTERS = {
    ETHTOOL_STXCSUM: ETHTOOL_GTXCSUM, ETHTOOL_SRXCSUM: ETHTOOL_GRXCSUM, ETHTOOL_SSG: ETHTOOL_GSG, ETHTOOL_STSO: ETHTOOL_GTSO,
    ETHTOOL_SGSO: ETHTOOL_GGSO, ETHTOOL_SGRO: ETHTOOL_GGRO,
}  # fmt: skip
FLAGS = {
    ETH_FLAG_LRO: "rx-lro", ETH_FLAG_RXVLAN: "rx-vlan-hw-parse", ETH_FLAG_TXVLAN: "tx-vlan-hw-insert", ETH_FLAG_NTUPLE: "rx-ntuple-filter",
    ETH_FLAG_RXHASH: "rx-hashing",
}  # fmt: skip


def dev_ethtool(k: NetKernel, net: Net, arg: int) -> int:
    """ENODEV, EPERM, EOPNOTSUPP, EFAULT, EINVAL."""
    name = bytes(k.usercopy.copy_from_user(arg, IFNAMSIZ)).split(b"\0")[0].decode("latin-1")
    data = k.usercopy.get_user(arg + IFNAMSIZ, k.arch.word)
    cmd = k.usercopy.get_user(data, 4)
    dev = net.named(name)
    if dev is None:
        raise KernelError(ENODEV, f"no interface {name!r}")
    if cmd not in FOR_EVERYBODY and not may_in(k, net.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM, "changing an interface")
    return Request(k, dev, cmd, data).answer()


class Request:
    """One request, and its structure in user memory at `data`."""

    def __init__(self, k: NetKernel, dev: NetDevice, cmd: int, data: int) -> None:
        self.k, self.dev, self.cmd, self.data = k, dev, cmd, data

    def answer(self) -> int:
        """EOPNOTSUPP where it is the driver's, and there is none."""
        if self.cmd in MASKS:
            return self._write(4, int(bool(self.dev.features & self._mask(MASKS[self.cmd]))))
        if self.cmd in SETTERS:
            return self._set_one()
        known = REQUESTS.get(self.cmd)
        if known is None:
            raise KernelError(EOPNOTSUPP, f"ethtool request {self.cmd:#x}")
        return known(self)

    # -- words -----------------------------------------------------------------------------------------------------

    def _word(self, at: int) -> int:
        return int(self.k.usercopy.get_user(self.data + at, 4))

    def _write(self, at: int, *words: int) -> int:
        order = self.k.mem.byteorder
        self.k.usercopy.copy_to_user(self.data + at, b"".join((word & 0xFFFFFFFF).to_bytes(4, order) for word in words))
        return 0

    def _mask(self, names: str) -> int:
        return mask(self.k.version, names)

    def _update(self, among: int, wanted: int) -> None:
        self.dev.wanted_features = self.dev.wanted_features & ~among | wanted & among
        update(self.k, self.dev)

    # -- requests --------------------------------------------------------------------------------------------------

    def _set_one(self) -> int:
        mask = self._mask(MASKS[SETTERS[self.cmd]]) & self.dev.hw_features
        if not mask:
            raise KernelError(EOPNOTSUPP, "not to be switched")
        self._update(mask, -1 if self._word(4) else 0)
        return 0

    def get_link(self) -> int:
        """ETHTOOL_GLINK."""
        if not self.dev.kind.reports_link:
            raise KernelError(EOPNOTSUPP)
        return self._write(4, int(bool(self.dev.flags & IFF_UP) and self.dev.carrier))

    def get_ts_info(self) -> int:
        """ETHTOOL_GET_TS_INFO: times are the kernel's."""
        sent = SOF_TIMESTAMPING_TX_SOFTWARE if self.dev.kind.stamps_sent else 0
        return self._write(4, SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | sent, -1, *[0] * 8)

    def _strings(self, string_set: int) -> Sequence[str] | None:
        """Of the driver or for all."""
        if string_set == ETH_SS_STATS:
            return list(self.dev.kind.statistics(self.dev))
        return strings(self.k.version, string_set)

    def get_driver(self) -> int:
        """ETHTOOL_GDRVINFO."""
        kind = self.dev.kind
        if not kind.kind:
            raise KernelError(EOPNOTSUPP)
        # of the firmware, the bus and the ROM: none
        texts = [kind.kind, kind.driver_version or self.k.version.release, "", "", ""]
        raw = b"".join(text.encode()[:31].ljust(32, b"\0") for text in texts) + bytes(12)
        self.k.usercopy.copy_to_user(self.data + 4, raw)
        return self._write(176, 0, len(kind.statistics(self.dev)), 0, 0, 0)

    def get_statistics(self) -> int:
        """ETHTOOL_GSTATS."""
        rows = self.dev.kind.statistics(self.dev)
        if not rows:
            raise KernelError(EOPNOTSUPP)
        order = self.k.mem.byteorder
        self._write(4, len(rows))
        self.k.usercopy.copy_to_user(self.data + 8, b"".join(value.to_bytes(8, order) for value in rows.values()))
        return 0

    def _speed(self) -> int:
        if not self.dev.kind.speed:
            raise KernelError(EOPNOTSUPP)
        return self.dev.kind.speed

    def get_settings(self) -> int:
        """ETHTOOL_GSET: struct ethtool_cmd."""
        speed, order = self._speed(), self.k.mem.byteorder
        self._write(4, 0, 0)
        self.k.usercopy.copy_to_user(
            self.data + 12, (speed & 0xFFFF).to_bytes(2, order) + bytes((DUPLEX_FULL,)) + bytes(13)
        )
        self.k.usercopy.copy_to_user(self.data + 28, (speed >> 16).to_bytes(2, order) + bytes(14))
        return 0

    def get_link_settings(self) -> int:
        """ETHTOOL_GLINKSETTINGS: struct ethtool_link_settings, once both sides agree how many words link modes have."""
        speed, words = self._speed(), -(-len(strings(self.k.version, ETH_SS_LINK_MODES) or ()) // 32)
        agreed = self.k.usercopy.get_user(self.data + 15, 1) == words
        base = speed.to_bytes(4, self.k.mem.byteorder) + bytes((DUPLEX_FULL,)) if agreed else b""
        raw = base.ljust(11, b"\0") + bytes(((words if agreed else -words) & 0xFF,)) + bytes(32 + 12 * words * agreed)
        self.k.usercopy.copy_to_user(self.data + 4, raw)
        return 0

    def get_channels(self) -> int:
        """ETHTOOL_GCHANNELS."""
        if not self.dev.kind.channels:
            raise KernelError(EOPNOTSUPP)
        sent, received = self.dev.queues
        return self._write(4, received, sent, 0, 0, received, sent, 0, 0)

    def set_channels(self) -> int:
        """ETHTOOL_SCHANNELS: there are never others than those that the device was made with."""
        if not self.dev.kind.channels:
            raise KernelError(EOPNOTSUPP)
        received, sent, other, combined = (self._word(at) for at in (20, 24, 28, 32))
        if received > self.dev.queues[1] or sent > self.dev.queues[0] or other or combined or not (received and sent):
            raise KernelError(EINVAL)
        return 0

    def get_perm_addr(self) -> int:
        """ETHTOOL_GPERMADDR."""
        length = self.dev.kind.addr_len
        if self._word(4) < length:
            return -ETOOSMALL
        self._write(4, length)
        self.k.usercopy.copy_to_user(self.data + 8, self.dev.permanent_mac.ljust(length, b"\0")[:length])
        return 0

    def get_strings(self) -> int:
        """ETHTOOL_GSTRINGS."""
        found = self._strings(self._word(4))
        if not found:
            raise KernelError(EOPNOTSUPP, "a set of the driver's")
        self._write(8, len(found))
        self.k.usercopy.copy_to_user(
            self.data + 12, b"".join(name.encode().ljust(ETH_GSTRING_LEN, b"\0") for name in found)
        )
        return 0

    def get_sset_info(self) -> int:
        """ETHTOOL_GSSET_INFO: how many strings the sets of a mask have; the mask of those that are known."""
        wanted = self._word(8) | self._word(12) << 32
        counts = {
            number: len(found) for number in range(64) if wanted >> number & 1 and (found := self._strings(number))
        }
        if not wanted:
            return 0
        known = sum(1 << number for number in counts)
        self._write(8, known & 0xFFFFFFFF, known >> 32, *counts.values())
        return 0

    def get_flags(self) -> int:
        """ETHTOOL_GFLAGS."""
        return self._write(4, sum(flag for flag, name in FLAGS.items() if self.dev.features & self._mask(name)))

    def set_flags(self) -> int:
        """ETHTOOL_SFLAGS."""
        flags = self._word(4)
        if flags & ~sum(FLAGS):
            raise KernelError(EINVAL, "no such flag")
        wanted = sum(self._mask(name) for flag, name in FLAGS.items() if flags & flag)
        changed = (wanted ^ self.dev.features) & self._mask(" ".join(FLAGS.values()))
        if changed & ~self.dev.hw_features:
            raise KernelError(EOPNOTSUPP, "not to be switched")
        self._update(changed, wanted)
        return 0

    def get_features(self) -> int:
        """ETHTOOL_GFEATURES: of each 32 bits what may be switched, what is wanted, what is, what never changes."""
        room = min(self._word(4), WORDS)
        never = self._mask(NEVER_CHANGED)
        dev = self.dev
        self._write(4, WORDS)
        for number in range(room):
            masks = (dev.hw_features, dev.wanted_features, dev.features, never)
            self._write(8 + 16 * number, *(mask >> 32 * number for mask in masks))
        return 0

    def set_features(self) -> int:
        """ETHTOOL_SFEATURES: pairs of what is meant and what is wanted."""
        if self._word(4) != WORDS:
            raise KernelError(EINVAL, "not the size of the list")
        valid = sum(self._word(8 + 8 * number) << 32 * number for number in range(WORDS))
        wanted = sum(self._word(12 + 8 * number) << 32 * number for number in range(WORDS))
        if valid & ~(self._mask(" ".join(feature_names(self.k.version))) & ~self._mask(NEVER_CHANGED)):
            raise KernelError(EINVAL, "no feature of ethtool's")
        ret = ETHTOOL_F_UNSUPPORTED if valid & ~self.dev.hw_features else 0
        self._update(valid & self.dev.hw_features, wanted)
        return ret | (ETHTOOL_F_WISH if (self.dev.wanted_features ^ self.dev.features) & valid else 0)

    def flash(self) -> int:
        """ETHTOOL_FLASHDEV."""
        if self.k.version.before(FLASH_TAKEN):
            raise KernelError(EOPNOTSUPP, "nothing to flash")
        return 0


REQUESTS: dict[int, Callable[[Request], int]] = {
    ETHTOOL_GLINK: Request.get_link, ETHTOOL_GET_TS_INFO: Request.get_ts_info, ETHTOOL_GPERMADDR: Request.get_perm_addr,
    ETHTOOL_GSTRINGS: Request.get_strings, ETHTOOL_GSSET_INFO: Request.get_sset_info, ETHTOOL_GFLAGS: Request.get_flags,
    ETHTOOL_SFLAGS: Request.set_flags, ETHTOOL_GFEATURES: Request.get_features, ETHTOOL_SFEATURES: Request.set_features,
    ETHTOOL_FLASHDEV: Request.flash, ETHTOOL_GDRVINFO: Request.get_driver, ETHTOOL_GSTATS: Request.get_statistics,
    ETHTOOL_GSET: Request.get_settings, ETHTOOL_GLINKSETTINGS: Request.get_link_settings, ETHTOOL_GCHANNELS: Request.get_channels,
    ETHTOOL_SCHANNELS: Request.set_channels,
}  # fmt: skip
