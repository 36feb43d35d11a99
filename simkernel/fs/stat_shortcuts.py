"""stat(2), lstat(2) and fstatat(2) without kernel text: what a path of directories in memory names, or that it names nothing.

kernel/shortcuts.py tells how. The walk is Python (quick_walk.py), called from the hook; it has no effect that could be seen, so the call
can still be declined behind it.
"""

from __future__ import annotations

import ctypes
from functools import partial

from arch.abi.errno import ENOENT
from arch.abi.fcntl import AT_FDCWD, AT_SYMLINK_NOFOLLOW
from arch.abi.limits import U32_MAX
from arch.errors import Fault
from arch.native.block import Word
from arch.native.slots import LENGTH
from arch.native.subset import Words, call_python, copy_in, decline, native, shared
from arch.native.walk import user_readable
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of, fs_of
from simkernel.fs.inode import Path, to_bytes, to_str
from simkernel.fs.quick_walk import QuickWalk
from simkernel.fs.shortcuts import piece, set_at
from simkernel.fs.stat import AT_STAT_FLAGS, stat_record
from simkernel.kernel.shortcuts import (
    OTHER_COST,
    OTHER_WALK,
    OWN,
    UNPROBED_COST,
    UNPROBED_WALK,
    Shortcut,
    Way,
    at,
    begin,
    end,
    user_place,
)
from simkernel.kernel.visits import arrive, depart

FLAGS = int(Word.VALUES) + 3  # where the fourth argument is
NAME_CHUNK = 256  # strncpy_from_user() looks at a name in pieces that end at multiples of it
FOUND, NOTHING = 1, 2
HERE = AT_FDCWD & U32_MAX

# Own words: functions that have probes; what Python has in place of the bodies, where it finds the directory's descriptor and the flags,
# where it leaves what it found and the bytes of struct stat, how many those are; the flags of stat() or lstat().
PROBED, WALKS, DIRECTORY, MODE, ANSWER, BYTES, SIZE, GIVEN = range(OWN, OWN + 8)


@native
def newfstatat(s: Words, nr: int, dfd: int, name: int, buf: int) -> int:
    return stat_at(s, nr, dfd, name, buf, shared[FLAGS] & U32_MAX, dfd, name, buf)


@native
def stat(s: Words, nr: int, name: int, buf: int, c: int) -> int:
    return stat_at(s, nr, HERE, name, buf, s[GIVEN], name, buf, c)


@native
def stat_at(s: Words, nr: int, dfd: int, name: int, buf: int, flags: int, a: int, b: int, c: int) -> int:
    """vfs_fstatat(); a, b and c are the call's arguments."""
    now = begin(s, s[UNPROBED_COST])
    if at(s[PROBED] + LENGTH) or not user_readable(name):
        decline()
    set_at(s[DIRECTORY], dfd & U32_MAX)
    set_at(s[MODE], flags)
    set_at(s[ANSWER], 0)
    shared[Word.VISITED] = 1
    if call_python(s[WALKS], name):
        return 0
    found = at(s[ANSWER])
    if not found:
        shared[Word.VISITED] = 0
        decline()
    if found == NOTHING:
        arrive(s[OTHER_WALK], now, nr, a, b, c, 0, 0)
        depart(s[OTHER_WALK], now, 0 - ENOENT)
        end(s, nr, now, s[OTHER_COST])
        return 0 - ENOENT
    done = 0
    shared[Word.VISITED] = 0
    while done < s[SIZE]:
        user_place(buf + done, piece(buf + done, s[SIZE] - done))
        done += piece(buf + done, s[SIZE] - done)
    shared[Word.VISITED] = 1
    arrive(s[UNPROBED_WALK], now, nr, a, b, c, 0, 0)
    done = 0
    while done < s[SIZE]:
        step = piece(buf + done, s[SIZE] - done)
        copy_in(user_place(buf + done, step), s[BYTES] + done, step)
        done += step
    depart(s[UNPROBED_WALK], now, 0)
    end(s, nr, now, s[UNPROBED_COST])
    return 0


class Walks:
    """What stands in place of the bodies."""

    def __init__(self, k: FsKernel) -> None:
        self.k, self.quick = k, QuickWalk(k.vfs.mounts)
        self.directory, self.mode, self.answer = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint64()
        self.bytes = (ctypes.c_char * k.vfs.abi.stat.size)()
        mirror = k.vfs.mirror
        self.filename, self.flags = mirror.struct("struct filename").size, mirror.struct("struct open_flags").size
        self.path = mirror.struct("struct path").size

    def stat(self, address: int) -> None:
        """What the name at a user address is."""
        k = self.k
        if k.objects.watched or k.security_hooks.watched or not k.vfs.kstats or self.mode.value & ~AT_STAT_FLAGS:
            return
        name, start = self._name(address)
        # What the bodies allocate and free leaves no trace where there is something free.
        room = (self.filename + len(to_bytes(name)) + 8 & ~7) + self.flags
        if start is None or not k.mem.has_free(room) or not k.mem.has_free(self.path):
            return
        path = self.quick.look(start, name.lstrip("/"), k.current.cred, not self.mode.value & AT_SYMLINK_NOFOLLOW)
        if path is None:
            return
        if isinstance(path, int):
            self.answer.value = NOTHING
            return
        if not path.dentry.addr or not path.mnt.addr:
            held = k.mem.alloc(room)
            k.vfs.mirror.vfsmount(path.mnt)
            k.vfs.mirror.dentry(path.dentry)
            k.mem.free(held)
        inode = path.dentry.inode
        inode.getattr()
        self.bytes.raw = stat_record(k, inode, k.vfs.abi.stat)
        self.answer.value = FOUND

    def _name(self, address: int) -> tuple[str, Path | None]:
        """A name, and where its walk begins."""
        task = self.k.current
        assert task.mm is not None
        try:
            raw = task.mm.user.nofault.read(address, NAME_CHUNK - (address & NAME_CHUNK - 1))
            end = raw.index(0)
        except (Fault, ValueError):
            return "", None
        name, fs = to_str(raw[:end]), fs_of(task)
        if name.startswith("/"):
            return name, fs.root
        if self.directory.value == HERE or not name:
            return name, fs.pwd if name else None
        file = files_of(task).fds.get(self.directory.value)
        return name, None if file is None else file.f_path


def stat_shortcuts(k: FsKernel) -> tuple[Shortcut, ...]:
    """The rows of a machine's file system."""
    walks = Walks(k)
    look = walks.stat  # alive as long as the rows
    calls = ("vfs_fstatat", "vfs_statx")
    missing, found = Way(calls), Way(calls, "vfs_getattr")

    def words(flags: int) -> tuple[int, ...]:
        places = [ctypes.addressof(place) for place in (walks.directory, walks.mode, walks.answer, walks.bytes)]
        return (id(k.vfs.probed), id(look), *places, len(walks.bytes), flags)

    if not k.vfs.names.statx:
        return ()
    rows = (("newfstatat", newfstatat, 0), ("stat", stat, 0), ("lstat", stat, AT_SYMLINK_NOFOLLOW))
    return tuple(
        Shortcut(call, function, other_way=missing, unprobed_way=found, words=partial(words, flags))
        for call, function, flags in rows
    )
