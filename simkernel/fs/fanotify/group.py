"""One listener: its marks, and which of what happens becomes an event of it.  fs/notify/fanotify/fanotify.c, fs/notify/mark.c."""

from __future__ import annotations

from collections import deque

from arch.abi import fanotify as fan
from arch.abi.errno import EPERM
from arch.abi.stat import S_IFDIR, S_IFMT, S_IFREG
from arch.records import dataclass
from simkernel.fs.face import FsKernel
from simkernel.fs.fsnotify import Happened
from simkernel.fs.inode import Inode, Mount, Path, SuperBlock
from simkernel.kernel.face import Body
from simkernel.kernel.task import Task, WaitQueue

Marked = Inode | Mount | SuperBlock
INODE, PARENT, MOUNT, SUPER, INODE2 = range(5)  # what a mark that an event meets is on


class Mark:
    """struct fsnotify_mark of one object."""

    def __init__(self, on: Marked) -> None:
        self.on = on
        self.mask = self.ignored = 0
        self.survives = False  # FAN_MARK_IGNORED_SURV_MODIFY
        self.flagged = False  # FAN_MARK_IGNORE: its ignored events have flags of their own
        self.evictable = False

    def applies(self, mask: int, kind: int, is_dir: bool) -> bool:
        """fsnotify_mask_applicable()."""
        return (not is_dir or bool(mask & fan.FAN_ONDIR)) and (kind != PARENT or bool(mask & fan.FAN_EVENT_ON_CHILD))

    def ignores(self, kind: int, is_dir: bool) -> int:
        """fsnotify_effective_ignore_mask(): without flags of its own, what is asked of children is ignored of them, and so on."""
        if not self.ignored:
            return 0
        flags = self.ignored if self.flagged else fan.FAN_ONDIR | self.mask & fan.FAN_EVENT_ON_CHILD
        return self.ignored & ~fan.EVENT_FLAGS if self.applies(flags, kind, is_dir) else 0


@dataclass(slots=True, eq=False)
class Event:
    """struct fanotify_event."""

    mask: int
    task: Task
    pid: int  # which is told
    path: Path | None = None
    object: Inode | None = None  # whose handle is told alone, or second
    directory: Inode | None = None
    name: str | None = None
    new_directory: Inode | None = None  # of a FAN_RENAME
    new_name: str | None = None
    response: int | None = None  # of a permission event
    fd: int = fan.FAN_NOFD
    answered: WaitQueue | None = None

    @property
    def asks(self) -> bool:
        """Somebody waits for leave."""
        return self.answered is not None

    def same(self, other: Event) -> bool:
        """fanotify_should_merge()."""
        mine = (self.object, self.directory, self.name, self.new_directory, self.new_name)
        theirs = (other.object, other.directory, other.name, other.new_directory, other.new_name)
        if (
            self.asks
            or other.asks
            or self.pid != other.pid
            or (self.mask ^ other.mask) & (fan.FAN_ONDIR | fan.FAN_RENAME)
        ):
            return False
        if self.path is not None and other.path is not None:
            return self.path.mnt is other.path.mnt and self.path.dentry is other.path.dentry
        return self.path is other.path and all(a == b for a, b in zip(mine, theirs, strict=True))


class Group:
    """struct fsnotify_group of one fanotify instance."""

    def __init__(self, k: FsKernel, flags: int, event_flags: int, limit: int) -> None:
        self.k, self.flags, self.event_flags, self.limit = k, flags, event_flags, limit
        self.fid_mode = flags & fan.FID_BITS
        self.uid = k.current.cred.uid
        self.unprivileged = False
        self.events: deque[Event] = deque()
        self.asking: list[Event] = []  # read, and waiting for their answer
        self.marks: dict[Marked, Mark] = {}
        self.wait = WaitQueue("notification_waitq")
        self.closed = False

    # -- marks -----------------------------------------------------------------------------------------------------

    def add(self, on: Marked) -> Mark:
        """fanotify_add_new_mark()."""
        mark = self.marks.get(on)
        if mark is None:
            mark = self.marks[on] = Mark(on)
            self.k.vfs.fsnotify.active += 1
        return mark

    def drop(self, mark: Mark) -> None:
        """fsnotify_destroy_mark()."""
        if self.marks.pop(mark.on, None) is not None:
            self.k.vfs.fsnotify.active -= 1

    def inode_gone(self, inode: Inode) -> None:
        """The inode is no more, and so is its mark."""
        mark = self.marks.get(inode)
        if mark is not None:
            self.drop(mark)

    def unmounted(self, sb: SuperBlock) -> None:
        """Marks of a file system and of its files end without a word."""
        for on, mark in list(self.marks.items()):
            if on is sb or (isinstance(on, Inode) and on.i_sb is sb):
                self.drop(mark)

    # -- events ----------------------------------------------------------------------------------------------------

    def _met(self, event: Happened) -> list[tuple[int, Mark]]:
        """The marks that an event meets, as fsnotify() goes through them."""
        path, at = event.path, event.inode if not event.entry else event.directory
        objects: list[tuple[int, Marked | None]] = [
            (SUPER, at.i_sb if at is not None else None), (MOUNT, path.mnt if path is not None else None), (INODE, at),
            (PARENT, None if event.entry else event.directory), (INODE2, event.new_directory),
        ]  # fmt: skip
        return [(kind, self.marks[on]) for kind, on in objects if on is not None and on in self.marks]

    def heard(self, event: Happened) -> Event | None:
        """fanotify_handle_event(): the event that was queued for it, if any."""
        if not self.marks:
            return None
        met = self._met(event)
        if event.mask & fan.FAN_MODIFY:
            for kind, mark in met:
                if (
                    kind in (INODE, PARENT)
                    and not mark.survives
                    and mark.ignored
                    and (kind == INODE or mark.mask & fan.FAN_EVENT_ON_CHILD)
                ):
                    mark.ignored = 0
        path = event.path
        if not self.fid_mode:
            if path is None or path.dentry.inode.i_mode & S_IFMT not in (S_IFREG, S_IFDIR):
                return None
        elif not self.fid_mode & fan.FAN_REPORT_FID and event.directory is None and not event.mask & fan.FAN_ONDIR:
            return None
        is_dir = bool(event.mask & fan.FAN_ONDIR)
        wanted = ignored = matched = 0
        for kind, mark in met:
            ignored |= mark.ignores(kind, is_dir)
            if mark.mask and mark.applies(mark.mask, kind, is_dir):
                wanted |= mark.mask
                matched |= 1 << kind
        mask = event.mask & wanted & ~ignored & fan.ALL_EVENTS
        if not mask:
            return None
        return self._queue(self._make(event, mask, is_dir, matched))

    def _make(self, event: Happened, mask: int, is_dir: bool, matched: int) -> Event:
        """fanotify_alloc_event()."""
        task = self.k.current
        made = Event(mask, task, self.k.tasks.vnr(task.pid if self.flags & fan.FAN_REPORT_TID else task.tgid))
        if not self.fid_mode:
            made.path = event.path
            made.answered = WaitQueue("access_waitq") if mask & fan.PERM_EVENTS else None
            return made
        made.mask |= fan.FAN_ONDIR if is_dir else 0
        dirent = bool(mask & fan.DIRENT_EVENTS)
        target = bool(self.fid_mode & fan.FAN_REPORT_TARGET_FID)
        made.object = event.directory if dirent and not target else event.inode
        directory = event.directory if dirent or not is_dir else event.inode
        if not self.fid_mode & fan.FAN_REPORT_DIR_FID or directory is None:
            return made
        tells_child = target if dirent else bool(self.fid_mode & fan.FAN_REPORT_FID) and not is_dir
        child = made.object if tells_child and made.object is not directory else None
        if not self.fid_mode & fan.FAN_REPORT_NAME:
            if child is None:
                made.object = directory
            else:
                made.directory, made.object = directory, child
            return made
        if not dirent and is_dir:
            made.object = directory
            return made
        made.directory, made.name, made.object = directory, event.name, child
        if mask & fan.FAN_RENAME:
            old, new = matched & (1 << SUPER | 1 << INODE), matched & (1 << SUPER | 1 << INODE2)
            if new:
                made.new_directory, made.new_name = event.new_directory, event.new_name
            if not old:
                made.directory = made.name = None
        return made

    def _queue(self, event: Event) -> Event | None:
        """fsnotify_insert_event(): merged with one that waits, or behind the others; a full queue says so once."""
        for waiting in reversed(self.events):
            if waiting.same(event):
                waiting.mask |= event.mask
                return None
        if len(self.events) >= self.limit and not event.asks:
            if not any(waiting.mask == fan.FAN_Q_OVERFLOW for waiting in self.events):
                self.events.append(Event(fan.FAN_Q_OVERFLOW, self.k.current, 0))
                self.k.wake_up(self.wait, 0)
            return None
        self.events.append(event)
        self.k.wake_up(self.wait, 0)
        return event

    def ask(self, event: Happened) -> Body:
        """Of a permission event (`yield from`): 0, or -EPERM if the listener says no."""
        queued = self.heard(event)
        if queued is None or queued.answered is None:
            return 0
        while queued.response is None and not self.closed:
            ret = yield self.k.wait(queued.answered, interruptible=False, killable=True)
            if ret < 0:
                for queue in (self.events, self.asking):
                    if queued in queue:
                        queue.remove(queued)
                return ret
        return -EPERM if queued.response is not None and queued.response & ~fan.FAN_AUDIT == fan.FAN_DENY else 0

    def answer(self, event: Event, response: int) -> None:
        """finish_permission_event()."""
        assert event.answered is not None
        event.response = response
        self.k.wake_up(event.answered, 0)

    def release(self) -> None:
        """fanotify_release(): nobody will answer, so all may go on."""
        self.closed = True
        for event in [*self.events, *self.asking]:
            if event.asks:
                self.answer(event, fan.FAN_ALLOW)
        for mark in list(self.marks.values()):
            self.drop(mark)
