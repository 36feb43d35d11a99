"""POSIX access control lists: who else may use a file, and what new files of a directory begin with.  fs/posix_acl.c.

A list is kept among the file's extended attributes as user space writes it (include/uapi/linux/posix_acl_xattr.h), with ids as the
kernel knows them.  What a file's mode says of its group is the list's mask while there is one; a list that says no more than a mode
is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.abi.limits import U32_MAX
from arch.abi.stat import S_IRWXUGO
from arch.errors import KernelError

ACL_ACCESS, ACL_DEFAULT = b"system.posix_acl_access", b"system.posix_acl_default"
ACL_NAMES = (ACL_ACCESS, ACL_DEFAULT)  # in the order in which they are listed
ACL_VERSION = 2
ACL_USER_OBJ, ACL_USER, ACL_GROUP_OBJ, ACL_GROUP, ACL_MASK, ACL_OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
ACL_HEADER, ACL_ENTRY = (
    4,
    8,
)  # bytes, little endian on every CPU: the version; tag and permissions of 16 bits, an id of 32
RWX = 7

Attributes = dict[bytes, bytes] | None


class Entry(NamedTuple):
    """struct posix_acl_entry."""

    tag: int
    perm: int
    id: int = U32_MAX


Acl = tuple[Entry, ...]
Translate = Callable[[str, int], int]  # (uid or gid, number) -> the number on the other side

# tag -> those that may come before it; a list begins with its owner and ends with the others
AFTER = {
    ACL_USER_OBJ: (0,),
    ACL_USER: (ACL_USER_OBJ, ACL_USER),
    ACL_GROUP_OBJ: (ACL_USER_OBJ, ACL_USER),
    ACL_GROUP: (ACL_GROUP_OBJ, ACL_GROUP),
    ACL_MASK: (ACL_GROUP_OBJ, ACL_GROUP),
    ACL_OTHER: (ACL_GROUP_OBJ, ACL_MASK),
}
SHIFTS = {ACL_USER_OBJ: 6, ACL_GROUP_OBJ: 3, ACL_MASK: 3, ACL_OTHER: 0}  # where the mode has what they say
ID_KINDS = {ACL_USER: "uid", ACL_GROUP: "gid"}


def pack(acl: Acl, translate: Translate) -> bytes:
    """posix_acl_to_xattr()."""
    out = ACL_VERSION.to_bytes(ACL_HEADER, "little")
    for tag, perm, who in acl:
        number = translate(ID_KINDS[tag], who) if tag in ID_KINDS else U32_MAX
        out += tag.to_bytes(2, "little") + perm.to_bytes(2, "little") + number.to_bytes(4, "little")
    return out


def unpack(value: bytes, translate: Translate) -> Acl:
    """posix_acl_from_xattr(): empty where there is only a header.  EINVAL, EOPNOTSUPP."""
    if len(value) < ACL_HEADER:
        raise KernelError(EINVAL, "no header")
    if int.from_bytes(value[:ACL_HEADER], "little") != ACL_VERSION:
        raise KernelError(EOPNOTSUPP, "another version")
    if (len(value) - ACL_HEADER) % ACL_ENTRY:
        raise KernelError(EINVAL, "half an entry")
    out = []
    for at in range(ACL_HEADER, len(value), ACL_ENTRY):
        tag, perm = (int.from_bytes(value[at + i : at + i + 2], "little") for i in (0, 2))
        who = U32_MAX
        if tag in ID_KINDS:
            who = translate(ID_KINDS[tag], int.from_bytes(value[at + 4 : at + ACL_ENTRY], "little"))
            if who == U32_MAX:
                raise KernelError(EINVAL, "nobody")
        elif tag not in SHIFTS:
            raise KernelError(EINVAL, "unknown tag")
        out.append(Entry(tag, perm, who))
    return tuple(out)


def as_kept(kind: str, number: int) -> int:
    """Ids of a list that the kernel keeps are its own."""
    return number


def acl_of(xattrs: Attributes, name: bytes = ACL_ACCESS) -> Acl:
    """get_acl(): empty where the file has none."""
    value = None if xattrs is None else xattrs.get(name)
    return () if value is None else unpack(value, as_kept)


def check_valid(acl: Acl) -> None:
    """posix_acl_valid(): entries in order, each permission one; a mask where users or groups are named.  EINVAL."""
    last = 0
    for entry in acl:
        if entry.perm & ~RWX or last not in AFTER[entry.tag]:
            raise KernelError(EINVAL, "not in order")
        last = entry.tag
    tags = {entry.tag for entry in acl}
    if last != ACL_OTHER or (tags & {ACL_USER, ACL_GROUP} and ACL_MASK not in tags):
        raise KernelError(EINVAL, "incomplete")


class Groups(Protocol):
    """The groups of who asks."""

    @property
    def fsgid(self) -> int: ...
    @property
    def groups(self) -> Collection[int]: ...  # the supplementary ones


def in_group(cred: Groups, gid: int) -> bool:
    """in_group_p(), kernel/groups.c."""
    return gid == cred.fsgid or gid in cred.groups


def permitted(acl: Acl, want: int, uid: int, in_group: Callable[[int], bool], group: int) -> bool:
    """posix_acl_permission() for somebody who is not the owner; `group`: the file's."""
    mask = next((entry.perm for entry in acl if entry.tag == ACL_MASK), RWX)
    named = next((entry for entry in acl if entry.tag == ACL_USER and entry.id == uid), None)
    if named is not None:
        return not want & ~(named.perm & mask)
    groups = [entry for entry in acl if entry.tag in (ACL_GROUP_OBJ, ACL_GROUP)]
    mine = [entry.perm for entry in groups if in_group(group if entry.tag == ACL_GROUP_OBJ else entry.id)]
    if mine:  # the first that gives all that is wanted counts
        enough = next((perm for perm in mine if not want & ~perm), None)
        return enough is not None and not want & ~(enough & mask)
    return not want & ~next(entry.perm for entry in acl if entry.tag == ACL_OTHER)


def group_class(acl: Acl) -> int:
    """The tag of the entry that a mode's group bits are."""
    return ACL_MASK if any(entry.tag == ACL_MASK for entry in acl) else ACL_GROUP_OBJ


def says_more(acl: Acl) -> bool:
    """Whether there is something in it that a mode cannot say."""
    return any(entry.tag in (ACL_USER, ACL_GROUP, ACL_MASK) for entry in acl)


def mode_of(acl: Acl) -> int:
    """posix_acl_equiv_mode(): the nine bits."""
    bits = (ACL_USER_OBJ, group_class(acl), ACL_OTHER)
    return sum(entry.perm << SHIFTS[entry.tag] for entry in acl if entry.tag in bits)


def with_mode(acl: Acl, mode: int) -> Acl:
    """posix_acl_chmod(): what a new mode makes of it."""
    bits = (ACL_USER_OBJ, group_class(acl), ACL_OTHER)
    return tuple(e._replace(perm=mode >> SHIFTS[e.tag] & RWX) if e.tag in bits else e for e in acl)


def umasked(directory: Attributes, mode: int, umask: int) -> int:
    """The umask is for directories without a default list."""
    return mode if directory is not None and ACL_DEFAULT in directory else mode & ~umask


def inherited(directory: Attributes, mode: int, is_dir: bool) -> tuple[int, dict[bytes, bytes]]:
    """posix_acl_create(): (mode, lists) of a new file in a directory with a default list."""
    default = acl_of(directory, ACL_DEFAULT)
    if not default:
        return mode, {}
    acl = with_mode(default, mode & mode_of(default))
    kept = {ACL_ACCESS: pack(acl, as_kept)} if says_more(acl) else {}
    if is_dir:
        kept[ACL_DEFAULT] = pack(default, as_kept)
    return mode & ~S_IRWXUGO | mode_of(acl), kept
