"""/proc/net/snmp and netstat: what the protocols count.  net/ipv4/proc.c.

The names are 6.1's; what nothing here counts (most of TcpExt) stays 0.
"""

from __future__ import annotations

from arch.abi.inet import IPPROTO_UDPLITE, TCP_CLOSE_WAIT, TCP_ESTABLISHED
from simkernel.net.core.netns import Net
from simkernel.net.core.protocols import is_there
from simkernel.net.face import NetKernel

IP = [
    "InReceives",
    "InHdrErrors",
    "InAddrErrors",
    "ForwDatagrams",
    "InUnknownProtos",
    "InDiscards",
    "InDelivers",
    "OutRequests",
    "OutDiscards",
    "OutNoRoutes",
    "ReasmTimeout",
    "ReasmReqds",
    "ReasmOKs",
    "ReasmFails",
    "FragOKs",
    "FragFails",
    "FragCreates",
]
TCP = [
    "ActiveOpens",
    "PassiveOpens",
    "AttemptFails",
    "EstabResets",
    "CurrEstab",
    "InSegs",
    "OutSegs",
    "RetransSegs",
    "InErrs",
    "OutRsts",
    "InCsumErrors",
]
UDP = [
    "InDatagrams",
    "NoPorts",
    "InErrors",
    "OutDatagrams",
    "RcvbufErrors",
    "SndbufErrors",
    "InCsumErrors",
    "IgnoredMulti",
    "MemErrors",
]
TCP_EXT = [
    "SyncookiesSent",
    "SyncookiesRecv",
    "SyncookiesFailed",
    "EmbryonicRsts",
    "PruneCalled",
    "RcvPruned",
    "OfoPruned",
    "OutOfWindowIcmps",
    "LockDroppedIcmps",
    "ArpFilter",
    "TW",
    "TWRecycled",
    "TWKilled",
    "PAWSActive",
    "PAWSEstab",
    "DelayedACKs",
    "DelayedACKLocked",
    "DelayedACKLost",
    "ListenOverflows",
    "ListenDrops",
    "TCPHPHits",
    "TCPPureAcks",
    "TCPHPAcks",
    "TCPRenoRecovery",
    "TCPSackRecovery",
    "TCPSACKReneging",
    "TCPSACKReorder",
    "TCPRenoReorder",
    "TCPTSReorder",
    "TCPFullUndo",
    "TCPPartialUndo",
    "TCPDSACKUndo",
    "TCPLossUndo",
    "TCPLostRetransmit",
    "TCPRenoFailures",
    "TCPSackFailures",
    "TCPLossFailures",
    "TCPFastRetrans",
    "TCPSlowStartRetrans",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLossProbeRecovery",
    "TCPRenoRecoveryFail",
    "TCPSackRecoveryFail",
    "TCPRcvCollapsed",
    "TCPBacklogCoalesce",
    "TCPDSACKOldSent",
    "TCPDSACKOfoSent",
    "TCPDSACKRecv",
    "TCPDSACKOfoRecv",
    "TCPAbortOnData",
    "TCPAbortOnClose",
    "TCPAbortOnMemory",
    "TCPAbortOnTimeout",
    "TCPAbortOnLinger",
    "TCPAbortFailed",
    "TCPMemoryPressures",
    "TCPMemoryPressuresChrono",
    "TCPSACKDiscard",
    "TCPDSACKIgnoredOld",
    "TCPDSACKIgnoredNoUndo",
    "TCPSpuriousRTOs",
    "TCPMD5NotFound",
    "TCPMD5Unexpected",
    "TCPMD5Failure",
    "TCPSackShifted",
    "TCPSackMerged",
    "TCPSackShiftFallback",
    "TCPBacklogDrop",
    "PFMemallocDrop",
    "TCPMinTTLDrop",
    "TCPDeferAcceptDrop",
    "IPReversePathFilter",
    "TCPTimeWaitOverflow",
    "TCPReqQFullDoCookies",
    "TCPReqQFullDrop",
    "TCPRetransFail",
    "TCPRcvCoalesce",
    "TCPOFOQueue",
    "TCPOFODrop",
    "TCPOFOMerge",
    "TCPChallengeACK",
    "TCPSYNChallenge",
    "TCPFastOpenActive",
    "TCPFastOpenActiveFail",
    "TCPFastOpenPassive",
    "TCPFastOpenPassiveFail",
    "TCPFastOpenListenOverflow",
    "TCPFastOpenCookieReqd",
    "TCPFastOpenBlackhole",
    "TCPSpuriousRtxHostQueues",
    "BusyPollRxPackets",
    "TCPAutoCorking",
    "TCPFromZeroWindowAdv",
    "TCPToZeroWindowAdv",
    "TCPWantZeroWindowAdv",
    "TCPSynRetrans",
    "TCPOrigDataSent",
    "TCPHystartTrainDetect",
    "TCPHystartTrainCwnd",
    "TCPHystartDelayDetect",
    "TCPHystartDelayCwnd",
    "TCPACKSkippedSynRecv",
    "TCPACKSkippedPAWS",
    "TCPACKSkippedSeq",
    "TCPACKSkippedFinWait2",
    "TCPACKSkippedTimeWait",
    "TCPACKSkippedChallenge",
    "TCPWinProbe",
    "TCPKeepAlive",
    "TCPMTUPFail",
    "TCPMTUPSuccess",
    "TCPDelivered",
    "TCPDeliveredCE",
    "TCPAckCompressed",
    "TCPZeroWindowDrop",
    "TCPRcvQDrop",
    "TCPWqueueTooBig",
    "TCPFastOpenPassiveAltKey",
    "TcpTimeoutRehash",
    "TcpDuplicateDataRehash",
    "TCPDSACKRecvSegs",
    "TCPDSACKIgnoredDubious",
    "TCPMigrateReqSuccess",
    "TCPMigrateReqFailure",
]
IP_EXT = [
    "InNoRoutes",
    "InTruncatedPkts",
    "InMcastPkts",
    "OutMcastPkts",
    "InBcastPkts",
    "OutBcastPkts",
    "InOctets",
    "OutOctets",
    "InMcastOctets",
    "OutMcastOctets",
    "InBcastOctets",
    "OutBcastOctets",
    "InCsumErrors",
    "InNoECTPkts",
    "InECT1Pkts",
    "InECT0Pkts",
    "InCEPkts",
    "ReasmOverlaps",
]
MPTCP_EXT = [
    "MPCapableSYNRX",
    "MPCapableSYNTX",
    "MPCapableSYNACKRX",
    "MPCapableACKRX",
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
    "MPCapableEndpAttempt",
    "MPFallbackTokenInit",
    "MPTCPRetrans",
    "MPJoinNoTokenFound",
    "MPJoinSynRx",
    "MPJoinSynBackupRx",
    "MPJoinSynAckRx",
    "MPJoinSynAckBackupRx",
    "MPJoinSynAckHMacFailure",
    "MPJoinAckRx",
    "MPJoinAckHMacFailure",
    "DSSNotMatching",
    "DSSCorruptionFallback",
    "DSSCorruptionReset",
    "InfiniteMapTx",
    "InfiniteMapRx",
    "DSSNoMatchTCP",
    "DataCsumErr",
    "OFOQueueTail",
    "OFOQueue",
    "OFOMerge",
    "NoDSSInWindow",
    "DuplicateData",
    "AddAddr",
    "EchoAdd",
    "PortAdd",
    "AddAddrDrop",
    "MPJoinPortSynRx",
    "MPJoinPortSynAckRx",
    "MPJoinPortAckRx",
    "MismatchPortSynRx",
    "MismatchPortAckRx",
    "RmAddr",
    "RmAddrDrop",
    "RmSubflow",
    "MPPrioTx",
    "MPPrioRx",
    "MPFailTx",
    "MPFailRx",
    "MPFastcloseTx",
    "MPFastcloseRx",
    "MPRstTx",
    "MPRstRx",
    "RcvPruned",
    "SubflowStale",
    "SubflowRecover",
    "SndWndShared",
    "RcvWndShared",
    "RcvWndConflictUpdate",
    "RcvWndConflict",
]
# icmpmibmap[]
ICMP_TYPES = {
    3: "DestUnreachs", 11: "TimeExcds", 12: "ParmProbs", 4: "SrcQuenchs", 5: "Redirects", 8: "Echos", 0: "EchoReps", 13: "Timestamps",
    14: "TimestampReps", 17: "AddrMasks", 18: "AddrMaskReps",
}  # fmt: skip
TCP_FIRST = ("RtoAlgorithm 1", "RtoMin 200", "RtoMax 120000", "MaxConn -1")  # RtoAlgorithm: other


def _lines(title: str, rows: list[tuple[str, int]]) -> str:
    names, values = " ".join(name for name, _ in rows), " ".join(str(value) for _, value in rows)
    return f"{title}: {names}\n{title}: {values}\n"


def snmp(k: NetKernel, net: Net) -> str:
    """/proc/net/snmp."""
    mib = net.ipv4.mib
    forwarding = 1 if net.conf_all["ipv4"]["forwarding"] else 2
    first = [("Forwarding", forwarding), ("DefaultTTL", int(net.sysctl["ipv4.ip_default_ttl"]))]
    out = _lines("Ip", first + [(name, mib[name]) for name in IP])
    icmp = [(name, mib[f"Icmp{name}"]) for name in ("InMsgs", "InErrors", "InCsumErrors")]
    icmp += [(f"In{name}", mib[f"IcmpInType{kind}"]) for kind, name in ICMP_TYPES.items()]
    icmp += [(name, mib[f"Icmp{name}"]) for name in ("OutMsgs", "OutErrors", "OutRateLimitGlobal", "OutRateLimitHost")]
    icmp += [(f"Out{name}", mib[f"IcmpOutType{kind}"]) for kind, name in ICMP_TYPES.items()]
    out += _lines("Icmp", icmp)
    seen = [
        (f"{way}Type{kind}", mib[f"Icmp{way}Type{kind}"])
        for way in ("In", "Out") for kind in range(256) if mib.get(f"Icmp{way}Type{kind}")
    ]  # fmt: skip
    out += _lines("IcmpMsg", seen) if seen else ""
    tcp = [(name, int(value)) for name, value in (row.split() for row in TCP_FIRST)]
    tcp += [(name, _established(k, net) if name == "CurrEstab" else net.mib[f"Tcp{name}"]) for name in TCP]
    out += _lines("Tcp", tcp) + _lines("Udp", [(name, mib[f"Udp{name}"]) for name in UDP])
    if is_there(k, IPPROTO_UDPLITE):
        out += _lines("UdpLite", [(name, mib[f"UdpLite{name}"]) for name in UDP])
    return out


def _established(k: NetKernel, net: Net) -> int:
    return sum(sk.state in (TCP_ESTABLISHED, TCP_CLOSE_WAIT) for sk in k.net.connections(net))


def netstat(k: NetKernel, net: Net) -> str:
    """/proc/net/netstat."""
    mib = net.mib
    out = _lines("TcpExt", [(name, mib[name]) for name in TCP_EXT]) + _lines(
        "IpExt", [(name, mib[name]) for name in IP_EXT]
    )
    return out + _lines("MPTcpExt", [(name, 0) for name in MPTCP_EXT])


SNMP_FILES = [("netstat", netstat), ("snmp", snmp)]
