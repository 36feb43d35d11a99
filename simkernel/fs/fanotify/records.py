"""What a reader of fanotify gets: struct fanotify_event_metadata and the information records behind it.

fs/notify/fanotify/fanotify_user.c:copy_event_to_user().
"""

from __future__ import annotations

import struct

from arch.abi import fanotify as fan
from simkernel.fs.face import FsKernel
from simkernel.fs.fanotify.group import Event, Group
from simkernel.fs.fhandle import encode_fh, fsid
from simkernel.fs.inode import Inode, to_bytes

METADATA = struct.Struct("IBBHQii")
METADATA_LEN = 24


def _record(k: FsKernel, kind: int, inode: Inode, name: bytes | None) -> bytes:
    """struct fanotify_event_info_fid: the file system's number, the handle, and a name with its NUL."""
    order = "<" if k.mem.byteorder == "little" else ">"
    handle = encode_fh(k, inode)
    kept, handle_type = handle if handle is not None else (b"", 0)
    body = struct.pack(order + "2i", *fsid(inode.i_sb)) + struct.pack(order + "Ii", len(kept), handle_type) + kept
    if name is not None:
        body += name + b"\0"
    body = body.ljust((len(body) + 3) & -4, b"\0")
    return struct.pack(order + "BBH", kind, 0, 4 + len(body)) + body


def info_records(k: FsKernel, group: Group, event: Event, pidfd: int | None) -> bytes:
    """copy_info_records_to_user()."""
    out = b""
    mode = group.fid_mode
    if event.directory is not None:
        kind = fan.FAN_EVENT_INFO_TYPE_DFID if event.name is None else fan.FAN_EVENT_INFO_TYPE_DFID_NAME
        kind = fan.FAN_EVENT_INFO_TYPE_OLD_DFID_NAME if event.mask & fan.FAN_RENAME else kind
        out += _record(k, kind, event.directory, None if event.name is None else to_bytes(event.name))
    if event.new_directory is not None and event.new_name is not None:
        out += _record(k, fan.FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, event.new_directory, to_bytes(event.new_name))
    if event.object is not None and mode:
        kind, name = fan.FAN_EVENT_INFO_TYPE_FID, None
        if mode != fan.FAN_REPORT_FID and not out:
            if mode & fan.FAN_REPORT_NAME and event.mask & fan.FAN_ONDIR:
                kind, name = fan.FAN_EVENT_INFO_TYPE_DFID_NAME, b"."
            elif event.mask & (fan.DIRENT_EVENTS | fan.FAN_ONDIR):
                kind = fan.FAN_EVENT_INFO_TYPE_DFID
        out += _record(k, kind, event.object, name)
    if pidfd is not None:
        order = "<" if k.mem.byteorder == "little" else ">"
        out += struct.pack(order + "BBHi", fan.FAN_EVENT_INFO_TYPE_PIDFD, 0, 8, pidfd)
    return out


def pack(k: FsKernel, group: Group, event: Event, fd: int, pidfd: int | None) -> bytes:
    """One event as it is read."""
    order = "<" if k.mem.byteorder == "little" else ">"
    info = info_records(k, group, event, pidfd)
    mask = event.mask
    head = struct.pack(
        order + METADATA.format, METADATA_LEN + len(info), fan.FANOTIFY_METADATA_VERSION, 0, METADATA_LEN, mask, fd, event.pid
    )  # fmt: skip
    return head + info


def size_of(k: FsKernel, group: Group, event: Event) -> int:
    """fanotify_event_len(), before anything is opened for it."""
    return METADATA_LEN + len(info_records(k, group, event, 0 if group.flags & fan.FAN_REPORT_PIDFD else None))
