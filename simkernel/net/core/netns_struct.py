"""net->ipv4.sysctl_*: what programs read of /proc/sys/net/ipv4 in struct net.  include/net/netns/ipv4.h."""

from __future__ import annotations

from arch.abi.time import HZ
from simkernel.net.core.netns import Net
from simkernel.net.face import NetKernel

# The file -> the member, where that is not called as the file is.
RENAMED = {
    "ip_forward_use_pmtu": "ip_fwd_use_pmtu", "ip_forward_update_priority": "ip_fwd_update_priority", "ip_unprivileged_port_start": "ip_prot_sock",
    "tcp_no_metrics_save": "tcp_nometrics_save", "tcp_max_syn_backlog": "max_syn_backlog", "igmp_link_local_mcast_reports": "igmp_llm_reports",
    "tcp_fastopen_blackhole_timeout_sec": "tcp_fastopen_blackhole_timeout",
}  # fmt: skip
# Times that the struct has in jiffies: how many of them one of the file is, in thousandths.
JIFFIES = {
    "tcp_keepalive_time": HZ * 1000, "tcp_keepalive_intvl": HZ * 1000, "tcp_fin_timeout": HZ * 1000,
    "icmp_ratelimit": HZ, "tcp_invalid_ratelimit": HZ,
}  # fmt: skip


def store_sysctl(k: NetKernel, net: Net, name: str) -> None:
    """A value is another one now; `name` is behind "net."."""
    family, _, file = name.partition(".")
    member = f"ipv4.sysctl_{RENAMED.get(file, file)}"
    if family != "ipv4" or not k.types.has_member("struct net", member):
        return
    place = k.types.resolve("struct net", member)
    numbers = [int(word) for word in str(net.sysctl[name]).split()]
    size = place.type.size // len(numbers)
    for index, number in enumerate(numbers):
        value = number * JIFFIES.get(file, 1000) // 1000
        k.mem.write_uint(net.addr + place.offset + index * size, size, value & (1 << 8 * size) - 1)


def store_sysctls(k: NetKernel, net: Net) -> None:
    """All of them, of a namespace that is new."""
    for name in net.sysctl:
        store_sysctl(k, net, name)
