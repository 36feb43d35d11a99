"""Sockets for programs: options, binding, who owns them.  net/core/filter.c of Linux 6.1: bpf_setsockopt() and its like."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.limits import OVERFLOWUID
from arch.errors import KernelError
from simkernel.fs.cgroup import Cgroup
from simkernel.net.calls.sockopt import get_option, set_option
from simkernel.net.core.message import parse_sockaddr_in
from simkernel.net.core.sock import Sock
from simkernel.net.ipv4.af_inet import BIND_FROM_BPF, bind_inet
from simkernel.observe.face import WatchedKernel


class Sockets:
    """bpf.face.SocketHost: sockets by the addresses of their structs."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k

    def _sock(self, address: int) -> Sock:
        found = self.k.net.socks.get(address)
        if found is None:
            raise KernelError(EINVAL, "no socket of the network")
        return found

    def bind(self, sk: int, address: bytes) -> int:
        """__inet_bind() for bpf_bind()."""
        parse_sockaddr_in(self.k, address)
        return bind_inet(self.k, self._sock(sk), address, BIND_FROM_BPF)

    def setsockopt(self, sk: int, level: int, name: int, value: bytes) -> int:
        """0 or -errno."""
        return set_option(self.k, self._sock(sk), level, name, value)

    def getsockopt(self, sk: int, level: int, name: int) -> bytes | int:
        """The value or -errno."""
        return get_option(self.k, self._sock(sk), level, name)

    def cgroup_id(self, sk: int, ancestor_level: int | None = None) -> int:
        """sock_cgroup_ptr(): 0 where there is no group at that level."""
        group: Cgroup | None = self._sock(sk).cgroup or self.k.vfs.cgroups.root
        if ancestor_level is not None and group is not None:
            group = group.ancestor(ancestor_level)
        return group.id if group is not None else 0

    def uid(self, sk: int) -> int:
        """sock_net_uid(): of its file, the overflow uid without one; a test run's own sock is root's."""
        if sk not in self.k.net.socks:
            return 0
        socket = self._sock(sk).socket
        file = socket.file if socket is not None else None
        return file.f_inode.i_uid if file is not None else OVERFLOWUID
