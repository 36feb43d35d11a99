"""What BPF asks of the machine's sockets."""

from __future__ import annotations

from typing import Protocol

SynQueue = tuple[int, bool, bool, bool]  # of a listener: net.ipv4.tcp_syncookies, full, lately overflowed, IPV6_V6ONLY


class SocketHost(Protocol):
    """The sockets of the network, for programs that hold the address of a struct sock; errnos are negative."""

    def bind(self, sk: int, address: bytes) -> int:
        """To a struct sockaddr_in or sockaddr_in6."""

    def setsockopt(self, sk: int, level: int, name: int, value: bytes) -> int: ...
    def getsockopt(self, sk: int, level: int, name: int) -> bytes | int: ...
    def lookup(
        self, net: int, nsid: int | None, protocol: int, four: tuple[bytes, int, bytes, int], ifindex: int
    ) -> int:
        """The sock that a packet from the first to the second address would find, 0 without; of TCP also requests."""

    def listener(self, sk: int) -> int: ...
    def syn_queue(self, sk: int, overflows: bool) -> SynQueue: ...
    def may_be_mapped(self, sk: int) -> bool:
        """sock_map_sk_is_suitable(), sock_map_sk_state_allowed()."""

    def may_hear(self, sk: int) -> bool:
        """sock_map_redirect_allowed(): data may be redirected to it."""

    def may_be_judged(self, sk: int) -> bool: ...
    def forget_judged(self, sk: int) -> None: ...
    def watch(self, sk: int, received: bool, sent: bool) -> None:
        """What a socket receives, or is given to send, is judged by programs; nothing where the socket is gone."""

    def reuseport_error(self, sk: int) -> int:
        """reuseport_array_update_check(): the errno for what is no listening or bound sock of a group, or 0."""

    def select_reuseport(self, sk: int, chosen: int, sockarray: bool) -> int:
        """sk_select_reuseport(): may the one be chosen where the other was found?  0 or the errno."""

    def assign_error(self, sk: int, family: int, protocol: int) -> int:
        """bpf_sk_lookup_assign(): may it be what such a look-up finds?  0 or the errno."""

    def in_group(self, sk: int) -> bool: ...
    def netns_cookie(self, sk: int) -> int:
        """Of the namespace of a sock; 0 as address: the first one's."""

    def cgroup_id(self, sk: int, ancestor_level: int | None = None) -> int: ...
    def uid(self, sk: int) -> int: ...
    def fib_lookup(self, net: int, params: bytes, flags: int) -> tuple[int, bytes]:
        """The answer of bpf_fib_lookup() in a namespace, and its struct bpf_fib_lookup."""
