"""Names of unix sockets.  A bound path is an inode of kind socket, found again by that inode; an abstract name is a key of
its own, one for each type of socket."""

from __future__ import annotations

from arch.abi.errno import EADDRINUSE, ECONNREFUSED, EEXIST, EINVAL, EPROTOTYPE
from arch.abi.fcntl import AT_FDCWD
from arch.abi.socket import AF_UNIX, UNIX_PATH_MAX
from arch.abi.stat import S_IFMT, S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.fdtable import fs_of
from simkernel.fs.inode import Path, inode_permission, to_str
from simkernel.fs.landlock_access import check_make
from simkernel.fs.namei import lookup_create
from simkernel.fs.pending import Pending
from simkernel.fs.posix_acl import umasked
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import Net
from simkernel.net.face import NetKernel
from simkernel.net.unix.sock import UnixSock, unix_sock

AUTOBIND_NAMES = 0x100000


def parse_address(k: NetKernel, raw: bytes) -> bytes:
    """unix_validate_addr(): sun_path as it identifies the socket."""
    if len(raw) <= 2 or len(raw) > 2 + UNIX_PATH_MAX:
        raise KernelError(EINVAL, "length of the address")
    if int.from_bytes(raw[:2], k.mem.byteorder) != AF_UNIX:
        raise KernelError(EINVAL, "address family")
    path = raw[2:]
    return path if path[0] == 0 else path.split(b"\0")[0] + b"\0"


@kernel_function(
    "int unix_bind(struct socket *sock, struct sockaddr *uaddr, int addr_len)", source="net/unix/af_unix.c"
)
def unix_bind(k: NetKernel, sock: int, uaddr: int, addr_len: int) -> int:
    """Give it a name: an inode of the file system, or an abstract one; EADDRINUSE, EINVAL when it has one."""
    sk = unix_sock(k, sock)
    raw = bytes(k.mem.read(uaddr, max(addr_len, 0)))
    if addr_len == 2 and int.from_bytes(raw, k.mem.byteorder) == AF_UNIX:
        autobind(k, sk)
        return 0
    name = parse_address(k, raw)
    if name[0] == 0:
        if sk.name:
            return -EINVAL
        if (sk.net, name, sk.type) in k.net.unix:
            return -EADDRINUSE
        k.net.unix[sk.net, name, sk.type] = sk
    else:
        made = _make_inode(k, to_str(name[:-1]), bool(sk.name))
        if sk.name or made is None:
            return -EINVAL
        sk.path, sk.inode = made, made.dentry.inode
        k.net.unix[sk.inode] = sk
    sk.name = name
    return 0


def _make_inode(k: NetKernel, path: str, only_check: bool) -> Path | None:
    vfs = k.vfs
    nd = vfs.nameidata(AT_FDCWD, path)
    try:
        parent = lookup_create(nd, path, False)
        check_make(k, nd.path, S_IFSOCK)
    except KernelError as error:
        raise KernelError(EADDRINUSE if error.errno == EEXIST else error.errno, str(error)) from None
    mode = S_IFSOCK | umasked(parent.inode.xattrs, 0o777, fs_of(k.current).umask)
    new = Pending(vfs, parent, nd.last, nd.cred)
    try:
        vfs.security.ask("path_mknod", nd.path, new.addr, mode, 0)
        inode_permission(parent.inode, c.MAY_WRITE | c.MAY_EXEC, nd.cred)
        if only_check:
            return None
        vfs.security.ask("inode_mknod", parent.inode, new.addr, mode, 0)
    finally:
        new.put()
    made = parent.inode.mknod(parent, nd.last, mode, 0, nd.cred)
    vfs.security.made(parent.inode, made, lambda: vfs.take_back(parent, made))
    return Path(nd.path.mnt, made)


def autobind(k: NetKernel, sk: UnixSock) -> None:
    """unix_autobind(): an abstract name of five hexadecimal digits, the next that is free."""
    if sk.name:
        return
    names = k.net.unix
    for step in range(1, AUTOBIND_NAMES + 1):
        number = (k.net.last_autobind + step) % AUTOBIND_NAMES
        name = b"\0%05x" % number
        if (sk.net, name, sk.type) not in names:
            k.net.last_autobind = number
            sk.name = name
            names[sk.net, name, sk.type] = sk
            return
    raise KernelError(EADDRINUSE, "no abstract name is free")


def shown_name(k: NetKernel, sk: UnixSock, named: UnixSock, attach_type: int) -> bytes:
    """unix_getname(): programs see, and may change, the name of who has one."""
    return k.net.programs.sock_addr(sk, named.address, attach_type)[1] if named.name else named.address


def find_other(k: NetKernel, net: Net, name: bytes, type_: int) -> UnixSock:
    """unix_find_other(): ECONNREFUSED, EPROTOTYPE, and what the path walk says."""
    if name[0] == 0:
        found = k.net.unix.get((net, name, type_))
    else:
        path = k.vfs.user_path(AT_FDCWD, to_str(name[:-1]))
        inode = path.dentry.inode
        inode_permission(inode, c.MAY_WRITE, k.vfs.cred())
        if inode.i_mode & S_IFMT != S_IFSOCK:
            raise KernelError(ECONNREFUSED, "not a socket")
        found = k.net.unix.get(inode)
    if not isinstance(found, UnixSock):
        raise KernelError(ECONNREFUSED, "nobody is bound there")
    if found.type != type_:
        raise KernelError(EPROTOTYPE, "another type of socket")
    return found
