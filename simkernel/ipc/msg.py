"""System V message queues.  ipc/msg.c."""

from __future__ import annotations

import struct
from collections import deque

from arch.abi.capability import CAP_SYS_RESOURCE
from arch.abi.errno import E2BIG, EAGAIN, EIDRM, EINVAL, ENOMSG, EPERM, ERESTARTNOHAND
from arch.abi.ipc import (
    IPC_INFO,
    IPC_NOWAIT,
    IPC_RMID,
    IPC_SET,
    IPC_STAT,
    MSG_COPY,
    MSG_EXCEPT,
    MSG_INFO,
    MSG_NOERROR,
    MSG_STAT,
    MSG_STAT_ANY,
)
from arch.abi.stat import S_IRUGO, S_IWUGO
from arch.errors import KernelError
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.util import MESSAGE_SIZE, PERM_SIZE, IpcObject, order_of, seconds, times, version_of, words
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask
from simkernel.kernel.task import WaitQueue

MESSAGE_HOOKS = ("msg_msg_alloc_security", "msg_msg_free_security", "msg_queue_msgsnd", "msg_queue_msgrcv")
SEARCH_ANY, SEARCH_EQUAL, SEARCH_NOTEQUAL, SEARCH_LESSEQUAL, SEARCH_NUMBER = range(1, 6)


class MsgQueue(IpcObject):
    """struct msg_queue."""

    hooks = "msg_queue"

    def __init__(self, k: IpcKernel, key: int, mode: int) -> None:
        super().__init__(k, key, mode)
        self.messages: deque[tuple[int, bytes]] = deque()  # (type, text), oldest first
        self.cbytes = 0  # of text
        self.qbytes = k.ipc.msgmnb
        self.stime = self.rtime = 0
        self.lspid = self.lrpid = 0
        self.senders, self.receivers = WaitQueue("msg-send"), WaitQueue("msg-receive")

    def msqid_ds(self, k: IpcKernel) -> bytes:
        """struct msqid64_ds."""
        counts = words(k, self.cbytes, len(self.messages), self.qbytes)
        pids = struct.pack(order_of(k) + "ii", self.lspid, self.lrpid)
        return self.perm(k) + times(k, self.stime, self.rtime, self.ctime) + counts + pids + words(k, 0, 0)

    def find(self, mtype: int, flags: int) -> int | None:
        """testmsg(): the place of the first message that a receiver of `mtype` takes."""
        if flags & MSG_COPY:
            return mtype if mtype < len(self.messages) else None
        if mtype < 0:
            best = min((t for t, _ in self.messages if t <= -mtype), default=None)
            return next((i for i, (t, _) in enumerate(self.messages) if t == best), None)
        for index, (kind, _) in enumerate(self.messages):
            if not mtype or (kind != mtype if flags & MSG_EXCEPT else kind == mtype):
                return index
        return None


def _queue(k: IpcKernel, msqid: int) -> MsgQueue:
    found = k.ipc.msg.at(msqid)
    assert isinstance(found, MsgQueue)
    return found


@kernel_function("int newque(struct ipc_namespace *ns, struct ipc_params *params)", source="ipc/msg.c")
def newque(k: IpcKernel, key: int, flags: int) -> int:
    """A new queue's identifier.  ENOSPC."""
    queue = MsgQueue(k, (key ^ 1 << 31) - (1 << 31), flags)
    queue.admit(k)
    return k.ipc.msg.add(queue, k.ipc.msgmni)


@syscall("msgget", "key_t key, int msgflg", source="ipc/msg.c")
def sys_msgget(k: IpcKernel, key: int, msgflg: int) -> int:
    """ENOENT, EEXIST, EACCES, ENOSPC."""
    return k.ipc.msg.get(k, key, msgflg, lambda: newque(k, key & 0xFFFFFFFF, msgflg), lambda queue: None)


@kernel_function("long do_msgsnd(int msqid, long mtype, void *mtext, size_t msgsz, int msgflg)", source="ipc/msg.c")
def do_msgsnd(k: IpcKernel, msqid: int, mtype: int, mtext: int, msgsz: int, msgflg: int) -> Body:
    """Put a message in, waiting for room.  EINVAL, EAGAIN, EIDRM, EACCES, EFAULT."""
    if msgsz > k.ipc.msgmax or msgsz >= 1 << 8 * k.arch.word - 1 or msqid < 0 or mtype < 1:
        raise KernelError(EINVAL)
    text = k.usercopy.copy_from_user(mtext, msgsz) if msgsz else b""
    shown = _shown(k, mtype, msgsz)
    try:
        yield from _send(k, _queue(k, msqid), mtype, text, msgflg, shown)
    except KernelError:
        ask(k, "msg_msg_free_security", shown)
        raise
    finally:
        if shown:
            k.mem.free(shown)
    return 0


def _shown(k: IpcKernel, mtype: int, size: int) -> int:
    """A struct msg_msg for who watches the hooks of messages; 0 for nobody."""
    watched = k.security_hooks.watched
    if not watched or watched.isdisjoint(MESSAGE_HOOKS):
        return 0
    message = k.new("struct msg_msg")
    message.m_type, message.m_ts = mtype, size
    return message.addr


def _send(k: IpcKernel, queue: MsgQueue, mtype: int, text: bytes, msgflg: int, shown: int) -> Steps[None]:
    msgsz = len(text)
    ask(k, "msg_msg_alloc_security", shown)
    while True:
        queue.check(k, S_IWUGO)
        if queue.deleted:
            raise KernelError(EIDRM)
        queue.ask(k, "msgsnd", shown, msgflg)
        if queue.cbytes + msgsz <= queue.qbytes and len(queue.messages) + 1 <= queue.qbytes:
            break
        if msgflg & IPC_NOWAIT:
            raise KernelError(EAGAIN)
        if (yield k.wait(queue.senders)) < 0:
            raise KernelError(EIDRM if queue.deleted else ERESTARTNOHAND)
        if queue.deleted:
            raise KernelError(EIDRM)
    queue.lspid, queue.stime = k.current.tgid, seconds(k)
    queue.take(len(text) + MESSAGE_SIZE)
    queue.messages.append((mtype, text))
    queue.cbytes += len(text)
    k.wake_up(queue.receivers, 0)


@syscall("msgsnd", "int msqid, struct msgbuf *msgp, size_t msgsz, int msgflg", source="ipc/msg.c")
def sys_msgsnd(k: IpcKernel, msqid: int, msgp: int, msgsz: int, msgflg: int) -> Body:
    """The type is the first long of the buffer."""
    mtype = k.usercopy.get_user(msgp, k.arch.word, signed=True)
    return (yield k.call("do_msgsnd", msqid, mtype, msgp + k.arch.word, msgsz, msgflg))


def _take(k: IpcKernel, queue: MsgQueue, index: int, size: int, flags: int) -> tuple[int, bytes]:
    kind, text = queue.messages[index]
    if size < len(text) and not flags & MSG_NOERROR:
        raise KernelError(E2BIG)
    if not flags & MSG_COPY:
        del queue.messages[index]
        queue.cbytes -= len(text)
        queue.take(-len(text) - MESSAGE_SIZE)
        queue.lrpid, queue.rtime = k.current.tgid, seconds(k)
        k.wake_up(queue.senders, 0)
    return kind, text[:size]


def _may_take(k: IpcKernel, queue: MsgQueue, index: int, msgtyp: int, flags: int) -> bool:
    """security_msg_queue_msgrcv() of find_msg(): what it refuses is as if it were not there."""
    kind, text = queue.messages[index]
    shown = _shown(k, kind, len(text))
    if not shown:
        return True
    mode = (
        SEARCH_NUMBER
        if flags & MSG_COPY
        else SEARCH_ANY
        if not msgtyp
        else SEARCH_LESSEQUAL
        if msgtyp < 0
        else SEARCH_EQUAL
    )
    if mode == SEARCH_EQUAL and flags & MSG_EXCEPT:
        mode = SEARCH_NOTEQUAL
    try:
        queue.ask(k, "msgrcv", shown, k.current.addr, abs(msgtyp), mode)
    except KernelError:
        return False
    finally:
        k.mem.free(shown)
    return True


@kernel_function("long do_msgrcv(int msqid, void *buf, size_t bufsz, long msgtyp, int msgflg)", source="ipc/msg.c")
def do_msgrcv(k: IpcKernel, msqid: int, buf: int, bufsz: int, msgtyp: int, msgflg: int) -> Body:
    """Take a message, waiting for one.  ENOMSG, E2BIG, EIDRM, EACCES, EINVAL, EFAULT."""
    if msqid < 0 or bufsz >= 1 << 8 * k.arch.word - 1:
        raise KernelError(EINVAL)
    if msgflg & MSG_COPY and (msgflg & MSG_EXCEPT or not msgflg & IPC_NOWAIT):
        raise KernelError(EINVAL)
    if msgflg & MSG_COPY:  # Debian has no CONFIG_CHECKPOINT_RESTORE off: the copy is made
        msgtyp = max(msgtyp, 0)
    queue = _queue(k, msqid)
    while True:
        queue.check(k, S_IRUGO)
        index = queue.find(msgtyp, msgflg)
        if index is not None and _may_take(k, queue, index, msgtyp, msgflg):
            break
        if msgflg & IPC_NOWAIT:
            raise KernelError(ENOMSG)
        if (yield k.wait(queue.receivers)) < 0:
            raise KernelError(EIDRM if queue.deleted else ERESTARTNOHAND)
        if queue.deleted:
            raise KernelError(EIDRM)
    kind, text = _take(k, queue, index, bufsz, msgflg)
    shown = _shown(k, kind, len(text))
    if shown:
        ask(k, "msg_msg_free_security", shown)
        k.mem.free(shown)
    k.usercopy.copy_to_user(buf, words(k, kind) + text)
    return len(text)


@syscall("msgrcv", "int msqid, struct msgbuf *msgp, size_t msgsz, long msgtyp, int msgflg", source="ipc/msg.c")
def sys_msgrcv(k: IpcKernel, msqid: int, msgp: int, msgsz: int, msgtyp: int, msgflg: int) -> Body:
    """How many bytes of text."""
    return (yield k.call("do_msgrcv", msqid, msgp, msgsz, msgtyp, msgflg))


def _info(k: IpcKernel, cmd: int, buf: int) -> int:
    """msgctl_info(): struct msginfo."""
    ns = k.ipc.msg
    pool, maps, tql = 16384, 16384, 16384
    if cmd == MSG_INFO:
        queues = [queue for queue in ns if isinstance(queue, MsgQueue)]
        pool, maps = len(queues), sum(len(q.messages) for q in queues)
        tql = sum(q.cbytes for q in queues)
    else:
        pool, maps, tql = k.ipc.msgmni * k.ipc.msgmnb // 1024, k.ipc.msgmnb, k.ipc.msgmnb
    raw = struct.pack(order_of(k) + "iiiiiiiH", pool, maps, k.ipc.msgmax, k.ipc.msgmnb, k.ipc.msgmni, 16, tql, 0xFFFF)
    k.usercopy.copy_to_user(buf, raw + bytes(2))
    return ns.highest


@syscall("msgctl", "int msqid, int cmd, struct msqid_ds *buf", source="ipc/msg.c")
def sys_msgctl(k: IpcKernel, msqid: int, cmd: int, buf: int) -> int:
    """IPC_STAT, IPC_SET, IPC_RMID, and MSG_STAT, MSG_INFO.  EINVAL, EACCES, EPERM, EFAULT."""
    cmd = version_of(k, cmd)
    if msqid < 0 or cmd < 0:
        raise KernelError(EINVAL)
    if cmd in (IPC_INFO, MSG_INFO):
        ask(k, "msg_queue_msgctl", 0, cmd)
        return _info(k, cmd, buf)
    if cmd in (MSG_STAT, MSG_STAT_ANY, IPC_STAT):
        queue = k.ipc.msg.at(msqid) if cmd == IPC_STAT else k.ipc.msg.by_position(msqid)
        assert isinstance(queue, MsgQueue)
        if cmd != MSG_STAT_ANY:
            queue.check(k, S_IRUGO)
        queue.ask(k, "msgctl", cmd)
        k.usercopy.copy_to_user(buf, queue.msqid_ds(k))
        return 0 if cmd == IPC_STAT else queue.id
    if cmd not in (IPC_SET, IPC_RMID):
        raise KernelError(EINVAL)
    size = PERM_SIZE[k.arch.word]
    raw = k.usercopy.copy_from_user(buf, size + len(times(k, 0, 0, 0)) + 3 * k.arch.word) if cmd == IPC_SET else b""
    queue = _queue(k, msqid)
    queue.check_owner(k)
    queue.ask(k, "msgctl", cmd)
    if cmd == IPC_RMID:
        k.ipc.msg.remove(queue)
    else:
        qbytes = int.from_bytes(raw[-k.arch.word :], k.mem.byteorder)
        if qbytes > k.ipc.msgmnb and not k.capable(CAP_SYS_RESOURCE):
            raise KernelError(EPERM)
        queue.qbytes = qbytes
        queue.set_perm(k, raw)
    k.wake_up(queue.senders, 0)
    k.wake_up(queue.receivers, 0)
    return 0
