"""Names that ethtool(8) reads of the kernel: features of devices, link modes, settings.  net/ethtool/common.c, by version.

A name that no bit has is `-`; a version is the first of 5.10, 6.1, 6.12 and 7.2 that has the names behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi.ethtool import (
    ETH_SS_FEATURES,
    ETH_SS_LINK_MODES,
    ETH_SS_PHY_STATS,
    ETH_SS_PHY_TUNABLES,
    ETH_SS_PRIV_FLAGS,
    ETH_SS_RSS_HASH_FUNCS,
    ETH_SS_STATS,
    ETH_SS_TEST,
    ETH_SS_TUNABLES,
)
from arch.abi.version import KernelVersion, newest

# ETH_SS_FEATURES: the bits of NETIF_F_*, from 0
FEATURES = """
    tx-scatter-gather tx-checksum-ipv4 - tx-checksum-ip-generic tx-checksum-ipv6 highdma tx-scatter-gather-fraglist
    tx-vlan-hw-insert rx-vlan-hw-parse rx-vlan-filter vlan-challenged tx-generic-segmentation tx-lockless netns-local rx-gro rx-lro
    tx-tcp-segmentation tx-gso-robust tx-tcp-ecn-segmentation tx-tcp-mangleid-segmentation tx-tcp6-segmentation tx-fcoe-segmentation
    tx-gre-segmentation tx-gre-csum-segmentation tx-ipxip4-segmentation tx-ipxip6-segmentation tx-udp_tnl-segmentation
    tx-udp_tnl-csum-segmentation tx-gso-partial tx-tunnel-remcsum-segmentation tx-sctp-segmentation tx-esp-segmentation -
    tx-udp-segmentation tx-gso-list tx-checksum-fcoe-crc tx-checksum-sctp fcoe-mtu rx-ntuple-filter rx-hashing rx-checksum
    tx-nocache-copy loopback rx-fcs rx-all tx-vlan-stag-hw-insert rx-vlan-stag-hw-parse rx-vlan-stag-filter l2-fwd-offload
    hw-tc-offload esp-hw-offload esp-tx-csum-hw-offload rx-udp_tunnel-port-offload tls-hw-tx-offload tls-hw-rx-offload rx-gro-hw
    tls-hw-record rx-gro-list macsec-hw-offload rx-udp-gro-forwarding hsr-tag-ins-offload hsr-tag-rm-offload hsr-fwd-offload
    hsr-dup-offload
"""
# What other versions have at some bits: (since, bit, name)
FEATURES_LATER = (("6.12", 12, "-"), ("6.12", 13, "-"), ("6.12", 37, "-"))
FEATURES_BEFORE_6_1 = 60  # as many
# 7.2 has one more behind this one, and none for fcoe-mtu
BEFORE_ACCECN, ACCECN = "tx-gso-list", "tx-tcp-accecn-segmentation"

# ETH_SS_LINK_MODES
LINK_MODES = """
    10baseT/Half 10baseT/Full 100baseT/Half 100baseT/Full 1000baseT/Half 1000baseT/Full Autoneg TP AUI MII FIBRE BNC 10000baseT/Full
    Pause Asym_Pause 2500baseX/Full Backplane 1000baseKX/Full 10000baseKX4/Full 10000baseKR/Full 10000baseR_FEC 20000baseMLD2/Full
    20000baseKR2/Full 40000baseKR4/Full 40000baseCR4/Full 40000baseSR4/Full 40000baseLR4/Full 56000baseKR4/Full 56000baseCR4/Full
    56000baseSR4/Full 56000baseLR4/Full 25000baseCR/Full 25000baseKR/Full 25000baseSR/Full 50000baseCR2/Full 50000baseKR2/Full
    100000baseKR4/Full 100000baseSR4/Full 100000baseCR4/Full 100000baseLR4_ER4/Full 50000baseSR2/Full 1000baseX/Full
    10000baseCR/Full 10000baseSR/Full 10000baseLR/Full 10000baseLRM/Full 10000baseER/Full 2500baseT/Full 5000baseT/Full None RS
    BASER 50000baseKR/Full 50000baseSR/Full 50000baseCR/Full 50000baseLR_ER_FR/Full 50000baseDR/Full 100000baseKR2/Full
    100000baseSR2/Full 100000baseCR2/Full 100000baseLR2_ER2_FR2/Full 100000baseDR2/Full 200000baseKR4/Full 200000baseSR4/Full
    200000baseLR4_ER4_FR4/Full 200000baseDR4/Full 200000baseCR4/Full 100baseT1/Full 1000baseT1/Full 400000baseKR8/Full
    400000baseSR8/Full 400000baseLR8_ER8_FR8/Full 400000baseDR8/Full 400000baseCR8/Full LLRS 100000baseKR/Full 100000baseSR/Full
    100000baseLR_ER_FR/Full 100000baseCR/Full 100000baseDR/Full 200000baseKR2/Full 200000baseSR2/Full 200000baseLR2_ER2_FR2/Full
    200000baseDR2/Full 200000baseCR2/Full 400000baseKR4/Full 400000baseSR4/Full 400000baseLR4_ER4_FR4/Full 400000baseDR4/Full
    400000baseCR4/Full 100baseFX/Half 100baseFX/Full 10baseT1L/Full 800000baseCR8/Full 800000baseKR8/Full 800000baseDR8/Full
    800000baseDR8_2/Full 800000baseSR8/Full 800000baseVR8/Full 10baseT1S/Full 10baseT1S/Half 10baseT1S_P2MP/Half 10baseT1BRR/Full
    200000baseCR/Full 200000baseKR/Full 200000baseDR/Full 200000baseDR_2/Full 200000baseSR/Full 200000baseVR/Full 400000baseCR2/Full
    400000baseKR2/Full 400000baseDR2/Full 400000baseDR2_2/Full 400000baseSR2/Full 400000baseVR2/Full 800000baseCR4/Full
    800000baseKR4/Full 800000baseDR4/Full 800000baseDR4_2/Full 800000baseSR4/Full 800000baseVR4/Full 1600000baseCR8/Full
    1600000baseKR8/Full 1600000baseDR8/Full 1600000baseDR8_2/Full
"""
LINK_MODES_OF = (("7.2", 125), ("6.12", 103), ("6.1", 93), (None, 92))  # how many, since

RSS_HASH_FUNCS = ("toeplitz", "xor", "crc32")
TUNABLES = ("Unspec", "rx-copybreak", "tx-copybreak", "pfc-prevention-tout", "tx-copybreak-buf-size")
TUNABLES_BEFORE_6_1 = 4
PHY_TUNABLES = (
    "Unspec", "phy-downshift", "phy-fast-link-down", "phy-energy-detect-power-down", "phy-short-cable-preset", "phy-lpf-bandwidth",
    "phy-dsp-eq-init-value",
)  # fmt: skip
PHY_TUNABLES_BEFORE_7_2 = 4


def feature_names(version: KernelVersion) -> list[str]:
    """By bit; "" where there is none."""
    names = FEATURES.split()[: FEATURES_BEFORE_6_1 if version.before("6.1") else None]
    for since, bit, name in FEATURES_LATER:
        if not version.before(since):
            names[bit] = name
    if not version.before("7.2"):
        names.insert(names.index(BEFORE_ACCECN) + 1, ACCECN)
        del names[38]
        names[names.index("tls-hw-record")] = "-"
    return ["" if name == "-" else name for name in names]


def strings(version: KernelVersion, string_set: int) -> Sequence[str] | None:
    """Those of an ETH_SS_* that the ioctl knows without a driver."""
    if string_set == ETH_SS_FEATURES:
        return feature_names(version)
    if string_set == ETH_SS_RSS_HASH_FUNCS:
        return RSS_HASH_FUNCS
    if string_set == ETH_SS_TUNABLES:
        return TUNABLES[: TUNABLES_BEFORE_6_1 if version.before("6.1") else None]
    if string_set == ETH_SS_PHY_TUNABLES:
        return PHY_TUNABLES[: PHY_TUNABLES_BEFORE_7_2 if version.before("7.2") else None]
    if string_set == ETH_SS_LINK_MODES:
        return LINK_MODES.split()[: newest(LINK_MODES_OF, version)]
    return None


# What the netlink family alone tells names of.  net/ethtool/strset.c: info_template[], 6.1
ETHNL_STRINGS = {
    10: "drv probe link timer ifdown ifup rx_err tx_err tx_queued intr tx_done rx_status pktdata hw wol",  # ETH_SS_MSG_CLASSES
    11: "phy ucast mcast bcast arp magic magicsecure filter",  # ETH_SS_WOL_MODES
    12: "hardware-transmit software-transmit hardware-receive software-receive software-system-clock hardware-legacy-clock hardware-raw-clock "
    "option-id sched-transmit ack-transmit option-cmsg option-tsonly option-stats option-pktinfo option-tx-swhw bind-phc",
    13: "off on onestep-sync onestep-p2p",  # ETH_SS_TS_TX_TYPES
    14: "none all some ptpv1-l4-event ptpv1-l4-sync ptpv1-l4-delay-req ptpv2-l4-event ptpv2-l4-sync ptpv2-l4-delay-req ptpv2-l2-event "
    "ptpv2-l2-sync ptpv2-l2-delay-req ptpv2-event ptpv2-sync ptpv2-delay-req ntp-all",
    15: "vxlan geneve vxlan-gpe",  # ETH_SS_UDP_TUNNEL_TYPES
    16: "eth-phy eth-mac eth-ctrl rmon",  # ETH_SS_STATS_STD, and what each of these has
    17: "SymbolErrorDuringCarrier",
    18: "FramesTransmittedOK SingleCollisionFrames MultipleCollisionFrames FramesReceivedOK FrameCheckSequenceErrors AlignmentErrors "
    "OctetsTransmittedOK FramesWithDeferredXmissions LateCollisions FramesAbortedDueToXSColls FramesLostDueToIntMACXmitError "
    "CarrierSenseErrors OctetsReceivedOK FramesLostDueToIntMACRcvError MulticastFramesXmittedOK BroadcastFramesXmittedOK "
    "FramesWithExcessiveDeferral MulticastFramesReceivedOK BroadcastFramesReceivedOK InRangeLengthErrors OutOfRangeLengthField "
    "FrameTooLongErrors",
    19: "MACControlFramesTransmitted MACControlFramesReceived UnsupportedOpcodesReceived",
    20: "etherStatsUndersizePkts etherStatsOversizePkts etherStatsFragments etherStatsJabbers",
}  # fmt: skip
OF_A_DEVICE = (ETH_SS_TEST, ETH_SS_STATS, ETH_SS_PRIV_FLAGS, ETH_SS_PHY_STATS)  # sets that are each device's own


def ethnl_strings(version: KernelVersion, string_set: int) -> Sequence[str] | None:
    """Those of a set that is no device's, as the netlink family knows it."""
    own = ETHNL_STRINGS.get(string_set)
    return own.split() if own is not None else strings(version, string_set)
