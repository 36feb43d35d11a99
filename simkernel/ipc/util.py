"""What message queues, semaphores and shared memory have in common.  ipc/util.c, include/uapi/asm-generic/ipcbuf.h."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from arch.abi.capability import CAP_IPC_OWNER, CAP_SYS_ADMIN
from arch.abi.errno import EACCES, EEXIST, EINVAL, ENOENT, ENOSPC, EPERM
from arch.abi.ipc import IPC_64, IPC_CREAT, IPC_EXCL, IPC_PRIVATE, IPCMNI
from arch.abi.mqueue import DFLT_MSG, DFLT_MSGMAX, DFLT_MSGSIZE, DFLT_MSGSIZEMAX, DFLT_QUEUESMAX
from arch.abi.stat import S_IRWXUGO
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs.inode import SuperBlock
from simkernel.kernel.face import KernelFace
from simkernel.kernel.security import ask

OBJECT_SIZE = 256  # bytes of one, without what is in it
MESSAGE_SIZE = 64  # bytes of a struct msg_msg, without the text
INVALID_ID = 0xFFFFFFFF  # no user and no group
MIN_CYCLE = 64  # ipc_min_cycle: so many indexes are gone through before one is used again
SEQ_SHIFT = 15  # ipcid_seq_shift: an identifier is index + sequence number << 15


class IpcObject:
    """struct kern_ipc_perm: what a queue, a set and a segment have in common."""

    hooks = ""  # what its security hooks begin with

    def __init__(self, k: KernelFace, key: int, mode: int) -> None:
        cred = k.current.cred
        self.kernel = k
        self.key, self.mode = key, mode & S_IRWXUGO
        self.uid = self.cuid = cred.euid
        self.gid = self.cgid = cred.egid
        self.id = self.seq = 0
        self.deleted = False
        self.ctime = seconds(k)
        self.charge = k.mm.charge
        self.charged = 0  # bytes of memory
        self.take(OBJECT_SIZE)

    def take(self, size: int) -> None:
        """kmalloc() for it, or (negative) kfree().  KernelError(ENOMEM)."""
        self.charge(size)
        self.charged += size

    def give(self) -> None:
        """ipc_rcu_free()."""
        self.take(-self.charged)

    def check(self, k: KernelFace, wanted: int) -> None:
        """ipcperms(): `wanted` are permission bits as in a mode.  EACCES."""
        cred = k.current.cred
        asked = (wanted >> 6 | wanted >> 3 | wanted) & 7
        granted = self.mode
        if cred.euid in (self.cuid, self.uid):
            granted >>= 6
        elif {self.gid, self.cgid} & {cred.egid, *cred.groups}:
            granted >>= 3
        if asked & ~granted & 7 and not k.capable(CAP_IPC_OWNER):
            raise KernelError(EACCES)
        if "ipc_permission" in k.security_hooks.watched:
            try:
                self._asked(k, "ipc_permission", wanted)
            except KernelError:  # ipcperms() says no more than that it refuses
                raise KernelError(EACCES) from None

    def admit(self, k: KernelFace) -> None:
        """A new one, before it has a place.  KernelError."""
        try:
            self.ask(k, "alloc_security")
        except KernelError:
            self.give()
            raise

    def ask(self, k: KernelFace, what: str, *args: int) -> None:
        """A security hook about it.  KernelError."""
        if f"{self.hooks}_{what}" in k.security_hooks.watched:
            self._asked(k, f"{self.hooks}_{what}", *args)

    def _asked(self, k: KernelFace, hook: str, *args: int) -> None:
        perm = k.new("struct kern_ipc_perm")
        perm.id, perm.key, perm.mode, perm.seq = self.id, self.key, self.mode, self.seq
        perm.uid.val, perm.gid.val, perm.cuid.val, perm.cgid.val = self.uid, self.gid, self.cuid, self.cgid
        try:
            ask(k, hook, perm.addr, *args)
        finally:
            k.mem.free(perm.addr)

    def check_owner(self, k: KernelFace) -> None:
        """Who may remove it and change its rights.  EPERM."""
        if k.current.cred.euid not in (self.cuid, self.uid) and not k.capable(CAP_SYS_ADMIN):
            raise KernelError(EPERM)

    def perm(self, k: KernelFace) -> bytes:
        """struct ipc64_perm."""
        head = struct.pack(
            order_of(k) + "iIIII", self.key, self.uid, self.gid, self.cuid, self.cgid
        )  # fmt: skip
        if k.arch.calls.ipc_mode_is_wide:
            return head + struct.pack(">IHH4xQQ", self.mode, 0, self.seq, 0, 0)
        if k.arch.word == 8:
            return head + struct.pack("<IHH4xQQ", self.mode, self.seq, 0, 0, 0)
        return head + struct.pack("<HHHHII", self.mode, 0, self.seq, 0, 0, 0)

    def set_perm(self, k: KernelFace, raw: bytes) -> None:
        """ipc_update_perm(): owner, group and mode of a struct ipc64_perm.  EINVAL."""
        order = order_of(k)
        uid, gid = struct.unpack_from(order + "II", raw, 4)
        if INVALID_ID in (uid, gid):
            raise KernelError(EINVAL)
        self.uid, self.gid = uid, gid
        mode = struct.unpack_from(order + ("I" if k.arch.word == 8 else "H"), raw, 20)[0]
        self.mode = self.mode & ~S_IRWXUGO | mode & S_IRWXUGO
        self.ctime = seconds(k)


PERM_SIZE = {8: 48, 4: 36}  # by the size of a long


def order_of(k: KernelFace) -> str:
    """The byte order as struct wants it."""
    return "<" if k.mem.byteorder == "little" else ">"


def seconds(k: KernelFace) -> int:
    """ktime_get_real_seconds()."""
    return k.clock.realtime_ns // NSEC_PER_SEC


def words(k: KernelFace, *values: int) -> bytes:
    """Longs, one after the other."""
    mask = (1 << 8 * k.arch.word) - 1
    return b"".join((v & mask).to_bytes(k.arch.word, k.mem.byteorder) for v in values)


def times(k: KernelFace, *values: int) -> bytes:
    """Times: a long each, on 32-bit machines followed by their high half."""
    if k.arch.word == 8:
        return words(k, *values)
    return words(k, *(half for v in values for half in (v, v >> 32)))


T = TypeVar("T", bound=IpcObject)


class IpcIds(Generic[T]):
    """struct ipc_ids: the objects of one kind."""

    def __init__(self) -> None:
        self.by_index: dict[int, T] = {}
        self.seq = 0
        self.last = -1
        self.next_id = -1  # what the next one is to be called, if that is free; -1: nobody asked
        self._idr_next = 0  # where idr_alloc_cyclic() begins
        self._by_key: dict[int, T] = {}

    def __iter__(self) -> Iterator[T]:
        return iter([self.by_index[index] for index in sorted(self.by_index)])

    def add(self, item: T, limit: int) -> int:
        """ipc_addid(): its identifier.  The sequence number grows when the index falls."""
        if len(self.by_index) >= min(limit, IPCMNI):
            item.give()
            raise KernelError(ENOSPC)
        asked = self.next_id
        if asked >= 0:
            index = self._free_from(asked & (1 << SEQ_SHIFT) - 1, IPCMNI)
        elif item.kernel.version.before("5.2"):
            index = self._free_from(0, IPCMNI)
        else:
            index = self._next_index()
        if item.key != IPC_PRIVATE:
            self._by_key[item.key] = item
        if asked >= 0:
            item.seq, self.next_id = asked >> SEQ_SHIFT, -1
        else:
            if index <= self.last:
                self.seq = (self.seq + 1) & 0xFFFF
            self.last, item.seq = index, self.seq
        item.id = item.seq << SEQ_SHIFT | index
        self.by_index[index] = item
        return item.id

    def _free_from(self, least: int, end: int) -> int:
        """idr_alloc(): the lowest free index from `least` on; `end` when there is none."""
        return next((index for index in range(least, end) if index not in self.by_index), end)

    def _next_index(self) -> int:
        """idr_alloc_cyclic(): the first free one behind the last, among half as many again as are in use."""
        end = min(max(len(self.by_index) * 3 // 2, MIN_CYCLE), IPCMNI)
        index = self._free_from(self._idr_next, end)
        if index >= end:
            index = self._free_from(0, end)
        self._idr_next = index + 1
        return index

    def remove(self, item: T) -> None:
        """ipc_rmid()."""
        index = item.id & (1 << SEQ_SHIFT) - 1
        if self.by_index.get(index) is item:
            del self.by_index[index]
            self.hide(item)
            item.ask(item.kernel, "free_security")
            item.give()
        item.deleted = True

    def hide(self, item: T) -> None:
        """ipc_set_key_private(): nobody finds it by its key."""
        if self._by_key.get(item.key) is item:
            del self._by_key[item.key]
        item.key = IPC_PRIVATE

    def at(self, number: int) -> T:
        """ipc_obtain_object_check().  EINVAL for one that is not there, or another of the same index."""
        item = self.by_index.get(number & (1 << SEQ_SHIFT) - 1) if number >= 0 else None
        if item is None or item.id != number:
            raise KernelError(EINVAL)
        return item

    def by_position(self, index: int) -> T:
        """MSG_STAT and its kin name an object by its place in the table.  EINVAL."""
        item = self.by_index.get(index & (1 << SEQ_SHIFT) - 1)
        if item is None:
            raise KernelError(EINVAL)
        return item

    @property
    def highest(self) -> int:
        """The largest index in use."""
        return max(self.by_index, default=0)

    def get(self, k: KernelFace, key: int, flags: int, new: Callable[[], int], fits: Callable[[T], None]) -> int:
        """ipcget(): the identifier of a key's object, made by `new()` where flags say so.  ENOENT, EEXIST, EACCES."""
        if key == IPC_PRIVATE:
            return new()
        found = self._by_key.get(key)
        if found is None:
            if not flags & IPC_CREAT:
                raise KernelError(ENOENT)
            return new()
        if flags & IPC_CREAT and flags & IPC_EXCL:
            raise KernelError(EEXIST)
        fits(found)
        found.check(k, flags)
        found.ask(k, "associate", flags)
        return found.id


class IpcNamespace:
    """struct ipc_namespace: the tables and the limits."""

    def __init__(self) -> None:
        # each kind's module puts its own objects in
        self.msg: IpcIds[IpcObject] = IpcIds()
        self.sem: IpcIds[IpcObject] = IpcIds()
        self.shm: IpcIds[IpcObject] = IpcIds()
        self.msgmax, self.msgmnb, self.msgmni = 8192, 16384, 32000
        self.sem_limits = [32000, 1024000000, 500, 32000]  # semmsl, semmns, semopm, semmni
        self.shm_rmid_forced = 0
        self.shmmax, self.shmall, self.shmmni = (1 << 64) - 1 - (1 << 24), (1 << 64) - 1 - (1 << 24), 4096


def version_of(k: KernelFace, cmd: int) -> int:
    """ipc_parse_version(), where a call by its own number has it: the command without the flag for today's structures."""
    return cmd & ~IPC_64 if k.arch.calls.ipc_version else cmd


class MqNamespace:
    """What the machine keeps: the file system, and the limits of /proc/sys/fs/mqueue."""

    def __init__(self, sb: SuperBlock) -> None:
        self.sb = sb
        self.limits = {
            "queues_max": DFLT_QUEUESMAX, "msg_max": DFLT_MSGMAX, "msgsize_max": DFLT_MSGSIZEMAX,
            "msg_default": DFLT_MSG, "msgsize_default": DFLT_MSGSIZE,
        }  # fmt: skip
