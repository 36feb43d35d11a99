"""What devices do of the work on packets, and what of that is wanted: NETIF_F_*.  net/core/dev.c: __netdev_update_features().

Features are kept and shown; packets of this machine are whole anyway, so nothing is sent otherwise without them.
"""

from __future__ import annotations

from arch.abi.rtnetlink import IFLA_EVENT_FEATURES
from arch.abi.version import KernelVersion
from simkernel.net.core.ethtool_names import feature_names
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.registry import store
from simkernel.net.face import NetKernel

NEVER_CHANGED = "vlan-challenged tx-lockless netns-local"
SEGMENTATION = "tx-tcp-segmentation tx-tcp-ecn-segmentation tx-tcp-mangleid-segmentation tx-tcp6-segmentation"
SOFTWARE_SEGMENTATION = f"""
    {SEGMENTATION} tx-gre-segmentation tx-gre-csum-segmentation tx-ipxip4-segmentation tx-ipxip6-segmentation
    tx-udp_tnl-segmentation tx-udp_tnl-csum-segmentation tx-sctp-segmentation tx-udp-segmentation tx-gso-list
"""
# What goes when all of some others are missing: (features, one of those that they need).  netdev_fix_features()
NEEDS = (
    (SEGMENTATION, "tx-scatter-gather"), ("tx-generic-segmentation", "tx-scatter-gather"),
    ("tx-tcp-segmentation", "tx-checksum-ip-generic tx-checksum-ipv4"), ("tx-tcp6-segmentation", "tx-checksum-ip-generic tx-checksum-ipv6"),
    ("tx-tcp-mangleid-segmentation", "tx-tcp-segmentation"),
    ("tx-tcp-ecn-segmentation", "tx-tcp-segmentation tx-tcp-mangleid-segmentation tx-tcp6-segmentation"), ("rx-gro-hw", "rx-checksum"),
)  # fmt: skip


def mask(version: KernelVersion, names: str) -> int:
    """Their bits, as far as the version has them."""
    bits = {name: bit for bit, name in enumerate(feature_names(version)) if name}
    return sum(1 << bits[name] for name in names.split() if name in bits)


def fixed(version: KernelVersion, features: int) -> int:
    """netdev_fix_features(): without those whose needs are not met."""
    for names, needs in NEEDS:
        if not features & mask(version, needs):
            features &= ~mask(version, names)
    return features


def update(k: NetKernel, dev: NetDevice) -> bool:
    """__netdev_update_features(): what is wanted becomes what is, as far as it can be; whether anything has changed."""
    wanted = fixed(k.version, dev.features & ~dev.hw_features | dev.wanted_features & dev.hw_features)
    if wanted == dev.features:
        return False
    dev.features = wanted
    store(k, dev)
    k.net.announce.link(dev, 0, IFLA_EVENT_FEATURES)
    k.net.announce.features(dev)
    return True
