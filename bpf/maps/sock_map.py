"""Maps of sockets: SOCKMAP, SOCKHASH and REUSEPORT_SOCKARRAY.  net/core/sock_map.c, kernel/bpf/reuseport_array.c of Linux 6.1.

Elements are the addresses of structs sock: put in by descriptor, by a program that holds a socket, or by bpf_sock_map_update();
user space sees cookies.  A socket that is closed leaves its maps (`Board.mapped_socks` knows which).  Programs that are
attached to a map are those of the sockets that are put into it from then on (psock.py).
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EBUSY, EEXIST, EINVAL, ENOENT, ENOSPC, ENOTSOCK, EOPNOTSUPP, EPERM
from arch.abi.limits import INT_MAX, U32_MAX
from bpf import uapi
from bpf.face import Prog
from bpf.maps.array import array_alloc_check
from bpf.maps.base import Board, BpfMap, MapAttr, refuse
from bpf.maps.jhash import jhash
from bpf.maps.psock import SKB_PROGS, Psock
from bpf.maps.rows import map_type
from bpf.maps.sizes import roundup_pow_of_two
from bpf.socket_face import SocketHost

CREATE_FLAGS = uapi.BPF_F_NUMA_NODE | uapi.BPF_F_RDONLY | uapi.BPF_F_WRONLY
OTHER_VERDICT = {
    uapi.BPF_SK_SKB_STREAM_VERDICT: uapi.BPF_SK_SKB_VERDICT,
    uapi.BPF_SK_SKB_VERDICT: uapi.BPF_SK_SKB_STREAM_VERDICT,
}
COOKIE = 8  # bytes
MAX_KEY = 512


class SocketsByKey(BpfMap):
    """What the three have in common."""

    takes_sock = True

    def alloc(self) -> None:
        super().alloc()
        self.socks: dict[bytes, int] = {}
        self.progs: dict[int, Prog] = {}  # by attach type

    def lookup(self, key: bytes) -> int:
        """For programs: the sock itself."""
        return self.socks.get(key, 0)

    def user_lookup(self, key: bytes, flags: int) -> bytes:
        """Its cookie, so 8-byte values only."""
        if self.value_size != COOKIE:
            raise refuse(ENOSPC)
        sk = self.lookup(key)
        if not sk:
            raise refuse(ENOENT)
        return self.bpf.cookie_of(sk).to_bytes(COOKIE, self.mem.byteorder)

    def sock_of(self, value: bytes) -> tuple[int, SocketHost]:
        """sockfd_lookup().  EINVAL, EBADF, ENOTSOCK."""
        fd = int.from_bytes(value, self.mem.byteorder)
        if fd > INT_MAX:
            raise refuse(EINVAL)
        sk, sockets = self.host.fd_owner(fd, "sock"), self.host.sockets
        if not sk or sockets is None:
            raise refuse(ENOTSOCK)
        return sk, sockets

    def check_flags(self, key: bytes, flags: int) -> None:
        """BPF_NOEXIST and BPF_EXIST."""
        if key in self.socks and flags == uapi.BPF_NOEXIST:
            raise refuse(EEXIST)
        if key not in self.socks and flags == uapi.BPF_EXIST:
            raise refuse(ENOENT)

    def keep(self, key: bytes, sk: int) -> None:
        """The element, which goes when its socket goes."""
        self.take(key)
        self.socks[key] = sk
        self.bpf.mapped_socks.setdefault(sk, set()).add(self)

    def take(self, key: bytes) -> int:
        """The sock that was there, 0 without."""
        sk = self.socks.pop(key, 0)
        if sk and sk not in self.socks.values():
            self.bpf.mapped_socks.get(sk, set()).discard(self)
        return sk

    def owner_gone(self, owner: int) -> None:
        """The socket is closed: sock_map_remove_links(), bpf_sk_reuseport_detach()."""
        for key in [key for key, sk in self.socks.items() if sk == owner]:
            self.take(key)

    def free_elements(self) -> None:
        for key in list(self.socks):
            self.take(key)

    def next_index(self, key: bytes | None) -> bytes:
        """As array maps: every index, whether filled or not."""
        index = U32_MAX if key is None else int.from_bytes(key[:4], self.mem.byteorder)
        if index == self.max_entries - 1:
            raise refuse(ENOENT)
        return (index + 1 if index < self.max_entries else 0).to_bytes(4, self.mem.byteorder)

    def index_of(self, key: bytes) -> int:
        """The number that a key of an array is."""
        return int.from_bytes(key[:4], self.mem.byteorder)


@map_type(
    15,
    "SOCKMAP",
    since="4.14",
    commit="174a79ff9515",
    struct="bpf_stab",
    helpers="msg_redirect_map sk_redirect_map sk_select_reuseport map_lookup_elem sock_map_update",
    btf="none",
    loader_btf=False,
)
class SockMap(SocketsByKey):
    """BPF_MAP_TYPE_SOCKMAP."""

    def check_kind(self, attach_type: int) -> None:
        """sock_map_prog_lookup().  EBUSY: there is the other kind of verdict."""
        if OTHER_VERDICT.get(attach_type) in self.progs:
            raise refuse(EBUSY)

    def set_prog(self, attach_type: int, prog: Prog | None, old: Prog | None) -> None:
        """sock_map_prog_update(): of the sockets to come.  EBUSY: with the other verdict; ENOENT: that is not attached."""
        self.check_kind(attach_type)
        was = self.progs.get(attach_type)
        if prog is None and (was is None or was is not old):
            raise refuse(ENOENT)
        if prog is not None:
            prog.get()
            self.progs[attach_type] = prog
        else:
            del self.progs[attach_type]
        if was is not None:
            was.put()

    def keep(self, key: bytes, sk: int) -> None:
        """sock_map_link(): the socket has the map's programs now.  EBUSY: it has others of the kind."""
        psock = self.bpf.psocks.get(sk) or Psock()
        psock.check(self.progs)
        psock.links += 1  # before the old element goes, which may be the same socket's
        self.bpf.psocks[sk] = psock
        super().keep(key, sk)
        psock.take(self.progs)
        self.watch(sk)

    def take(self, key: bytes) -> int:
        """sock_map_unref(): what judged the socket's data on behalf of this map stops; with the last map all is over."""
        sk = super().take(key)
        psock = self.bpf.psocks.get(sk)
        if psock is not None:
            psock.links -= 1
            if not psock.links:
                psock.drop(tuple(psock.progs))
                del self.bpf.psocks[sk]
                if self.host.sockets is not None:
                    self.host.sockets.forget_judged(sk)
            elif psock.judging:
                psock.drop(tuple(kind for kind in SKB_PROGS if kind in self.progs))
            self.watch(sk)
        return sk

    def watch(self, sk: int) -> None:
        """The network asks of a socket's data from now on, or no more."""
        if self.host.sockets is not None:
            psock = self.bpf.psocks.get(sk)
            self.host.sockets.watch(
                sk, psock is not None and psock.judging, psock is not None and psock.judges_messages
            )

    def free_elements(self) -> None:
        super().free_elements()
        for prog in self.progs.values():
            prog.put()
        self.progs = {}

    def redirect_target(self, key: bytes) -> int:
        """sock_map_redirect_allowed(): the sock that data may go to, or 0."""
        sk, sockets = self.socks.get(key, 0), self.host.sockets
        return sk if sk and sockets is not None and sockets.may_hear(sk) else 0

    def alloc(self) -> None:
        """sock_map_alloc()."""
        attr = self.attr
        if not self.bpf.capable("net_admin"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.max_entries > INT_MAX or attr.key_size != 4:
            raise refuse(EINVAL)
        if attr.value_size not in (4, 8) or attr.map_flags & ~CREATE_FLAGS:
            raise refuse(EINVAL)
        super().alloc()

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """sock_map_update_elem_sys()."""
        sk, sockets = self.sock_of(value)
        if not sockets.may_be_mapped(sk):
            raise refuse(EOPNOTSUPP)
        self.update_common(key, sk, flags)

    def update_sock(self, key: bytes, sk: int, flags: int) -> None:
        """sock_map_update_elem(), of programs.  EINVAL, EOPNOTSUPP."""
        sockets = self.host.sockets
        if not sk or sockets is None:
            raise refuse(EINVAL)
        if not sockets.may_be_mapped(sk):
            raise refuse(EOPNOTSUPP)
        self.update_common(key, sk, flags)

    def update_common(self, key: bytes, sk: int, flags: int) -> None:
        """sock_map_update_common().  EINVAL, E2BIG, EEXIST, ENOENT."""
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if self.index_of(key) >= self.max_entries:
            raise refuse(E2BIG)
        self.check_proto(sk)
        self.check_flags(key, flags)
        self.keep(key, sk)

    def check_proto(self, sk: int) -> None:
        """psock_update_sk_prot().  EOPNOTSUPP."""
        if self.host.sockets is not None and not self.host.sockets.may_be_judged(sk):
            raise refuse(EOPNOTSUPP)

    def delete(self, key: bytes) -> None:
        if not self.take(key):
            raise refuse(EINVAL)

    def next_key(self, key: bytes | None) -> bytes:
        return self.next_index(key)


@map_type(
    18,
    "SOCKHASH",
    since="4.18",
    commit="81110384441a",
    struct="bpf_shtab",
    helpers="msg_redirect_hash sk_redirect_hash sk_select_reuseport map_lookup_elem sock_hash_update",
    btf="none",
    loader_btf=False,
)
class SockHash(SockMap):
    """BPF_MAP_TYPE_SOCKHASH."""

    def alloc(self) -> None:
        """sock_hash_alloc()."""
        attr = self.attr
        if not self.bpf.capable("net_admin"):
            raise refuse(EPERM)
        if attr.max_entries == 0 or attr.key_size == 0 or attr.value_size not in (4, 8):
            raise refuse(EINVAL)
        if attr.map_flags & ~CREATE_FLAGS:
            raise refuse(EINVAL)
        if attr.key_size > MAX_KEY:
            raise refuse(E2BIG)
        if roundup_pow_of_two(attr.max_entries) > U32_MAX // 16:
            raise refuse(EINVAL)
        SocketsByKey.alloc(self)

    def update_common(self, key: bytes, sk: int, flags: int) -> None:
        """sock_hash_update_common()."""
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        self.check_proto(sk)
        self.check_flags(key, flags)
        if key not in self.socks and len(self.socks) >= self.max_entries:
            raise refuse(E2BIG)
        self.keep(key, sk)

    def delete(self, key: bytes) -> None:
        if not self.take(key):
            raise refuse(ENOENT)

    def next_key(self, key: bytes | None) -> bytes:
        """sock_hash_get_next_key(): bucket by bucket, the newest of each first."""
        mask = roundup_pow_of_two(self.max_entries) - 1
        newest_first = enumerate(reversed(self.socks))
        order = [k for _, _, k in sorted((jhash(k, 0, self.mem.byteorder) & mask, n, k) for n, k in newest_first)]
        at = order.index(key) + 1 if key in self.socks else 0
        if at >= len(order):
            raise refuse(ENOENT)
        return order[at]


@map_type(
    20,
    "REUSEPORT_SOCKARRAY",
    since="4.19",
    commit="5dc4c4b7d4e8",
    struct="reuseport_array",
    helpers="sk_select_reuseport",
)
class ReuseportArray(SocketsByKey):
    """BPF_MAP_TYPE_REUSEPORT_SOCKARRAY."""

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """reuseport_array_alloc_check()."""
        if attr.value_size not in (4, 8):
            raise refuse(EINVAL)
        array_alloc_check(bpf, attr)

    def alloc(self) -> None:
        if not self.bpf.capable("bpf"):
            raise refuse(EPERM)
        super().alloc()

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        """bpf_fd_reuseport_array_update_elem().  ENOTSUPP, EINVAL, EBUSY: it is in an array already."""
        if flags > uapi.BPF_EXIST:
            raise refuse(EINVAL)
        if self.index_of(key) >= self.max_entries:
            raise refuse(E2BIG)
        sk, sockets = self.sock_of(value)
        self.check_flags(key, flags)
        error = sockets.reuseport_error(sk)
        if error:
            raise refuse(error)
        if any(isinstance(other, ReuseportArray) for other in self.bpf.mapped_socks.get(sk, ())):
            raise refuse(EBUSY)
        self.keep(key, sk)

    def delete(self, key: bytes) -> None:
        if self.index_of(key) >= self.max_entries:
            raise refuse(E2BIG)
        if not self.take(key):
            raise refuse(ENOENT)

    def next_key(self, key: bytes | None) -> bytes:
        return self.next_index(key)
