"""Files on their way through unix sockets, and sockets that hang only in each other.  net/unix/garbage.c, net/unix/scm.c.

A file that was sent and not yet received is in flight.  A socket all of whose references are in flight lives by the queues
that it lies in; if these are of sockets that nobody else has either, nobody can ever receive it, and unix_gc() takes it out.
It comes when a socket is released while others are in flight, and when somebody sends while 16,000 are.

Where Linux hands it to a worker (6.10, and the stable series before) it runs in the task that asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from arch.abi.capability import CAP_SYS_ADMIN, CAP_SYS_RESOURCE
from arch.abi.errno import ETOOMANYREFS
from arch.abi.resource import RLIMIT_NOFILE
from arch.errors import KernelError
from simkernel.fs.inode import File
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.sock import Socket
from simkernel.net.face import NetKernel
from simkernel.net.unix.sock import Parcel, UnixSock

UNIX_INFLIGHT_TRIGGER_GC = 16000


def unix_get_socket(file: File) -> UnixSock | None:
    """The unix socket that an open file is."""
    socket = file.private_data
    if isinstance(socket, Socket) and isinstance(socket.sk, UnixSock):
        return socket.sk
    return None


def send_parcel(k: NetKernel, peer: UnixSock, parcel: Parcel) -> None:
    """Into the queue of who is to have it.  ETOOMANYREFS, ENOMEM: then the files are the sender's as before."""
    unix_attach_fds(k, parcel)
    try:
        peer.put(parcel)
    except KernelError:
        parcel.files = unix_detach_fds(k, parcel)
        raise


def unix_attach_fds(k: NetKernel, parcel: Parcel) -> None:
    """Its files are in flight now.  ETOOMANYREFS when the user has more than RLIMIT_NOFILE of them (since 4.5)."""
    files = parcel.files
    if not files:
        return
    user, limit = k.users.of(k.current.cred.uid), k.current.rlimits[RLIMIT_NOFILE][0]
    if user.unix_inflight > limit >= 0 and k.version.at_least("4.5"):
        if not k.capable(CAP_SYS_RESOURCE) and not k.capable(CAP_SYS_ADMIN):
            raise KernelError(ETOOMANYREFS)
    user.unix_inflight += len(files)
    for file in files:
        sk = unix_get_socket(file)
        if sk is not None:
            k.net.inflight[sk] = k.net.inflight.get(sk, 0) + 1
            k.net.tot_inflight += 1
    parcel.user = user


def unix_detach_fds(k: NetKernel, parcel: Parcel) -> list[File]:
    """A parcel's files, no longer in flight."""
    files, parcel.files = parcel.files, []
    if parcel.user is not None:
        parcel.user.unix_inflight -= len(files)
        parcel.user = None
        for file in files:
            sk = unix_get_socket(file)
            if sk is not None:
                k.net.tot_inflight -= 1
                k.net.inflight[sk] -= 1
                if not k.net.inflight[sk]:
                    del k.net.inflight[sk]
    return files


def drop_files(k: NetKernel, files: Sequence[File]) -> Steps[None]:
    """`yield from`: fput() of files that nobody received.

    One that was the last reference of a socket drops what lies in that one's queue, and so on: as delayed_fput() does,
    whoever began goes on until nothing is left, and the depth of the stack stays the same.
    """
    falling = k.net.falling
    falling += files
    if k.net.files_fall:
        return
    k.net.files_fall = True
    try:
        while falling:
            yield k.call("fput", falling.popleft().addr)
    finally:
        k.net.files_fall = False


def drop_parcel(k: NetKernel, parcel: Parcel) -> Steps[None]:
    """`yield from`: kfree_skb() of what nobody received."""
    parcel.free()
    yield from drop_files(k, unix_detach_fds(k, parcel))


def _queues(sk: UnixSock) -> Iterator[tuple[UnixSock, Parcel]]:
    """What lies in a socket, or in connections that wait to be accepted there."""
    for each in (sk, *sk.pending):
        for parcel in each.parcels:
            yield each, parcel


def unreachable(k: NetKernel) -> list[tuple[UnixSock, Parcel]]:
    """Parcels with sockets that nobody can receive any more, and the socks in whose queues they lie."""
    candidates = {
        sk: count for sk, count in k.net.inflight.items()
        if isinstance(sk, UnixSock) and sk.socket is not None and sk.socket.file is not None and sk.socket.file.f_count == count
    }  # fmt: skip
    inside = {
        sk: [other for _, parcel in _queues(sk) for file in parcel.files if (other := unix_get_socket(file)) in candidates]
        for sk in candidates
    }  # fmt: skip
    outside = dict(candidates)  # references from elsewhere
    for others in inside.values():
        for other in others:
            assert other is not None
            outside[other] -= 1
    todo = [sk for sk, count in outside.items() if count]
    reached = set(todo)
    while todo:
        for other in inside[todo.pop()]:
            if other is not None and other not in reached:
                reached.add(other)
                todo.append(other)
    return [
        (owner, parcel) for sk in candidates if sk not in reached for owner, parcel in _queues(sk)
        if any(unix_get_socket(file) in candidates for file in parcel.files)
    ]  # fmt: skip


def _collect(k: NetKernel) -> Steps[None]:
    if k.net.gc_in_progress:
        return
    k.net.gc_in_progress = True
    try:
        hitlist = unreachable(k)
        files = []
        for owner, parcel in hitlist:
            owner.parcels.remove(parcel)
            owner.queued -= len(parcel.data)
            parcel.free()
            files += unix_detach_fds(k, parcel)
        yield from drop_files(k, files)
    finally:
        k.net.gc_in_progress = False


@kernel_function("void unix_gc(void)", source="net/unix/garbage.c", until="6.1")
def unix_gc(k: NetKernel) -> Body:
    """Purge what is unreachable."""
    yield from _collect(k)
    return 0


@kernel_function("void unix_gc(void)", source="net/unix/garbage.c", since="6.1")
def unix_gc_6_1(k: NetKernel) -> Body:
    """Have it done."""
    if not k.net.gc_in_progress:
        yield k.call("__unix_gc", 0)
    return 0


@kernel_function("void __unix_gc(struct work_struct *work)", source="net/unix/garbage.c", since="6.1", until="7.0")
def __unix_gc(k: NetKernel, work: int) -> Body:
    """Purge what is unreachable."""
    yield from _collect(k)
    return 0


@kernel_function(
    "void wait_for_unix_gc(void)",
    source="net/unix/garbage.c",
    names={None: "wait_for_unix_gc", "7.0": "unix_schedule_gc"},
)
def wait_for_unix_gc(k: NetKernel) -> Body:
    """Before something is sent."""
    if k.net.tot_inflight > UNIX_INFLIGHT_TRIGGER_GC and not k.net.gc_in_progress:
        yield k.call("unix_gc")
    return 0
