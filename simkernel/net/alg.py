"""Hashes as sockets (AF_ALG): bind names an algorithm, accept gives a socket that is written to and read from.
crypto/af_alg.c, crypto/algif_hash.c; of the types only "hash" is here.
"""

from __future__ import annotations

from functools import partial
from typing import Protocol

from arch.abi.errno import EBUSY, EINVAL, ENOENT, ENOKEY, ENOPROTOOPT, ENOSYS, EOPNOTSUPP
from arch.abi.socket import AF_ALG, MSG_MORE, MSG_TRUNC, SOCK_SEQPACKET, SOL_ALG
from arch.cstring import c_string
from simkernel.kernel import digests
from simkernel.kernel.digests import DIGESTS
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import drain_and_free
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import ProtoOps, Sock, Socket
from simkernel.net.face import NetKernel

ALG_SET_KEY = 1
CRYPTO_ALG_KERN_DRIVER_ONLY = 0x1000
# struct sockaddr_alg: family, type[14], feat, mask, name
TYPE_AT, FEAT_AT, MASK_AT, NAME_AT = 2, 16, 20, 24
# A socket that only bind, accept and setsockopt are for, and one that is written to and read from.
ALG = ProtoOps("alg_proto_ops", "sock_no_sendmsg", "sock_no_recvmsg")
ALGIF_HASH = ProtoOps("algif_hash_ops", "hash_sendmsg", "hash_recvmsg")


class Digest(Protocol):
    """A hash under way."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def copy(self) -> Digest: ...


class AlgSock(Sock):
    """struct alg_sock of the socket that was bound."""

    def __init__(self, k: NetKernel, net: Net) -> None:
        super().__init__(k, net, AF_ALG, SOCK_SEQPACKET, 0)
        self.algorithm = ""  # none until bind
        self.key: bytes | None = None
        self.children = self.children_without_key = 0

    @property
    def keyed(self) -> bool:
        """It is of no use without ALG_SET_KEY."""
        return self.algorithm.startswith("hmac(")

    def begin(self) -> Digest:
        """crypto_ahash_init()."""
        import hmac

        name = self.algorithm.removeprefix("hmac(").removesuffix(")")

        plain = partial(digests.begin, name)
        return hmac.new(self.key or b"", digestmod=plain) if self.keyed else plain()


class HashSock(Sock):
    """struct hash_ctx of a socket that was accepted."""

    def __init__(self, k: NetKernel, parent: AlgSock) -> None:
        super().__init__(k, parent.net, AF_ALG, SOCK_SEQPACKET, 0)
        self.parent = parent
        self.without_key = parent.keyed and parent.key is None
        self.under_way: Digest | None = None  # after MSG_MORE
        self.done: bytes | None = None  # what the next read gives
        parent.children += 1
        parent.children_without_key += self.without_key

    def missing_key(self) -> bool:
        """hash_check_key(): a key that came after accept will do."""
        if not self.without_key:
            return False
        if self.parent.key is None:
            return True
        self.without_key = False
        self.parent.children_without_key -= 1
        return False


def create(k: NetKernel, net: Net) -> Socket:
    """alg_create()."""
    return Socket(k, AF_ALG, SOCK_SEQPACKET, ALG, AlgSock(k, net))


def name_in(raw: bytes) -> str:
    """Up to the first 0; the last byte is 0 whatever was given."""
    return c_string(raw[:-1])


@kernel_function("int alg_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="crypto/af_alg.c")
def alg_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> int:
    """Name an algorithm.  EINVAL, ENOENT: there is no such type or algorithm, EBUSY: it is in use."""
    sk = k.net.sockets[sock].sk
    if not isinstance(sk, AlgSock) or addr_len < NAME_AT + 1:
        return -EINVAL
    raw = k.mem.read(uaddr, addr_len)
    if any(
        int.from_bytes(raw[at : at + 4], k.mem.byteorder) & ~CRYPTO_ALG_KERN_DRIVER_ONLY for at in (FEAT_AT, MASK_AT)
    ):
        return -EINVAL
    name = name_in(raw[NAME_AT:])
    if name_in(raw[TYPE_AT:FEAT_AT]) != "hash" or (
        name not in DIGESTS and name not in [f"hmac({one})" for one in DIGESTS]
    ):
        return -ENOENT
    if sk.children:
        return -EBUSY
    sk.algorithm, sk.key = name, None
    return 0


def accept_hash(k: NetKernel, listener: Socket) -> Socket | int:
    """af_alg_accept(), hash_accept(): a fresh hash, or a copy of one that is under way.  -EINVAL: not bound."""
    sk = listener.sk
    parent = sk.parent if isinstance(sk, HashSock) else sk
    if not isinstance(parent, AlgSock) or not parent.algorithm:
        return -EINVAL
    made = HashSock(k, parent)
    if isinstance(sk, HashSock) and sk.under_way is not None:
        made.under_way = sk.under_way.copy()
    return Socket(k, AF_ALG, SOCK_SEQPACKET, ALGIF_HASH, made)


def set_alg_option(k: NetKernel, sk: Sock, level: int, optname: int, data: bytes) -> int:
    """alg_setsockopt().  EBUSY, ENOPROTOOPT, EOPNOTSUPP, ENOSYS: this algorithm has no key."""
    if not isinstance(sk, AlgSock):
        return -EOPNOTSUPP
    if sk.children != sk.children_without_key:
        return -EBUSY
    if level != SOL_ALG or not sk.algorithm or optname != ALG_SET_KEY:
        return -ENOPROTOOPT
    if not sk.keyed:
        return -ENOSYS
    sk.key = data
    return 0


@kernel_function(
    "int hash_sendmsg(struct socket *sock, struct msghdr *msg, size_t ignored)", source="crypto/algif_hash.c"
)
def hash_sendmsg(k: NetKernel, sock: int, msg: int, ignored: int) -> int:
    """More to be hashed; all of it, unless MSG_MORE.  ENOKEY."""
    sk, message = k.net.sockets[sock].sk, k.net.messages[msg]
    assert isinstance(sk, HashSock)
    if sk.missing_key():
        return -ENOKEY
    digest = sk.under_way or sk.parent.begin()
    digest.update(message.data)
    sk.under_way, sk.done = (digest, None) if message.flags & MSG_MORE else (None, digest.digest())
    return len(message.data)


@kernel_function(
    "int hash_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags)", source="crypto/algif_hash.c"
)
def hash_recvmsg(k: NetKernel, sock: int, msg: int, length: int, flags: int) -> int:
    """The digest, of nothing if nothing was written; it is given once.  ENOKEY."""
    sk, message = k.net.sockets[sock].sk, k.net.messages[msg]
    assert isinstance(sk, HashSock)
    if sk.missing_key():
        return -ENOKEY
    if sk.under_way is not None:
        sk.done, sk.under_way = sk.under_way.digest(), None
    digest = sk.done or sk.parent.begin().digest()
    sk.done = None
    if length < len(digest):
        message.out_flags |= MSG_TRUNC
    message.scatter(digest[:length])
    return min(length, len(digest))


@kernel_function("int af_alg_release(struct socket *sock)", source="crypto/af_alg.c")
def af_alg_release(k: NetKernel, sock: int) -> Body:
    """Close either kind."""
    sk = k.net.sockets[sock].sk
    if isinstance(sk, HashSock):
        sk.parent.children -= 1
        sk.parent.children_without_key -= sk.without_key
    yield from drain_and_free(k, sk)
    return 0
