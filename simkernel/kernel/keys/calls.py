"""add_key(2), request_key(2), keyctl(2).  security/keys/keyctl.c.

Nobody makes keys for others here: there is no /sbin/request-key.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_SETUID, CAP_SYS_ADMIN
from arch.abi.errno import (
    EACCES,
    EAGAIN,
    EEXIST,
    EFAULT,
    EINVAL,
    ENAMETOOLONG,
    ENODEV,
    ENOENT,
    ENOKEY,
    ENOTDIR,
    EOPNOTSUPP,
    EPERM,
)
from arch.abi.limits import PAGE_SIZE
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.keys import key as key_
from simkernel.kernel.keys.crypto import dh_compute, pkey_operation, pkey_query
from simkernel.kernel.keys.key import BIG_PAYLOAD, Key
from simkernel.kernel.keys.special import (
    KEY_DEFER_PERM_CHECK,
    KEY_NEED_UNLINK,
    KEY_NEED_WRITE,
    THREAD,
    ask_alloc,
    ask_permission,
    default_ring,
    install_session,
    join_session,
    keys_of,
    lookup,
    persistent_ring,
    search_process,
    searcher,
    special,
)
from simkernel.kernel.keys.types import (
    NEED_LINK,
    NEED_READ,
    NEED_SEARCH,
    NEED_SETATTR,
    NEED_VIEW,
    NEED_WRITE,
    TYPES,
    KeyType,
)
from simkernel.kernel.kfunc import syscall

KEYCTL = "security/keys/keyctl.c"
PERM_MASK = 0x3F3F3F3F
CAPABILITIES = bytes([0xEF, 0x03])  # without big keys; names and tags of keyrings by namespace


def _text(k: KernelFace, addr: int) -> str:
    """strndup_user().  EFAULT, EINVAL."""
    try:
        raw = k.usercopy.strncpy_from_user(addr, PAGE_SIZE)
    except KernelError as error:
        raise KernelError(EINVAL if error.errno == ENAMETOOLONG else error.errno) from None
    return bytes(raw).decode("utf-8", "surrogateescape")


def _type(k: KernelFace, addr: int) -> str:
    """key_get_type_from_user().  EFAULT, EINVAL, EPERM."""
    try:
        name = bytes(k.usercopy.strncpy_from_user(addr, 32)).decode("utf-8", "surrogateescape")
    except KernelError as error:
        raise KernelError(EINVAL if error.errno == ENAMETOOLONG else error.errno) from None
    if not name:
        raise KernelError(EINVAL)
    if name[0] == ".":
        raise KernelError(EPERM)
    return name


@syscall(
    "add_key", "const char *_type, const char *_description, const void *_payload, size_t plen, key_serial_t ringid",
    source=KEYCTL,
)  # fmt: skip
def sys_add_key(k: KernelFace, type_: int, description: int, payload: int, plen: int, ringid: int) -> int:
    """A new key in a keyring, or a new payload for one that is there.  EINVAL, EPERM, EFAULT, ENODEV, EACCES, EDQUOT, ENOKEY."""
    if plen > BIG_PAYLOAD:
        raise KernelError(EINVAL)
    name = _type(k, type_)
    text = _text(k, description) if description else ""
    if text.startswith(".") and name.startswith("keyring"):
        raise KernelError(EPERM)
    data = bytes(k.usercopy.copy_from_user(payload, plen)) if plen else None
    ring = lookup(k, ringid, NEED_WRITE, create=True)
    kind = TYPES.get(name)
    if kind is None:
        raise KernelError(ENODEV)
    if not ring.key.is_keyring:
        raise KernelError(ENOTDIR)
    kind.preparse(data or b"")
    if not text:
        raise KernelError(EINVAL)
    return _create_or_update(k, ring.key, ring.possessed, kind, text, data or b"").serial


def _create_or_update(k: KernelFace, ring: Key, possessed: bool, kind: KeyType, text: str, data: bytes) -> Key:
    """key_create_or_update()."""
    if ring.restricted:
        raise KernelError(ring.restricted)
    ask_permission(k, ring, possessed, KEY_NEED_WRITE)
    old = ring.links.get((kind.name, text))
    if kind.updatable and old is not None and not old.revoked:
        searcher(k).check(old, possessed, NEED_WRITE)
        old.expiry_ns = old.rejected = 0
        keys_of(k).reserve(old, data)
        old.store(data)
        return old
    cred = k.current.cred
    keys = keys_of(k)
    kind.vet(text)
    key = ask_alloc(k, keys.new(kind.name, text, (cred.fsuid, cred.fsgid), kind.perm, data))
    if kind.refused:
        keys.accounts.loose.append(key)
        raise KernelError(kind.refused)
    try:
        key_.link(ring, key)
    except KernelError:
        keys.accounts.loose.append(key)  # nobody has it
        raise
    return key


@syscall(
    "request_key",
    "const char *_type, const char *_description, const char *_callout_info, key_serial_t destringid", source=KEYCTL,
)  # fmt: skip
def sys_request_key(k: KernelFace, type_: int, description: int, callout: int, destringid: int) -> int:
    """A key that the task's keyrings hold.  EINVAL, EFAULT, ENOKEY, ENOENT, EACCES, EDQUOT, EKEYREVOKED, EKEYEXPIRED.

    What is not found is to be made by /sbin/request-key, if the caller says for what; there is none, so that for a minute
    a negative key stands in its place.
    """
    name, text = _type(k, type_), _text(k, description)
    if callout:
        _text(k, callout)
    dest = lookup(k, destringid, NEED_WRITE, create=True).key if destringid else None
    if name not in TYPES:
        raise KernelError(ENOKEY)
    try:
        found = search_process(k, (name, text), skip_expired=True)
    except KernelError as error:
        if error.errno != EAGAIN:
            raise
        if not callout:
            raise KernelError(ENOKEY) from None
        _reject(k, TYPES[name], text, dest if dest is not None else default_ring(k))
        raise KernelError(ENOENT) from None
    if dest is not None:
        key_.link(dest, found)
    return found.serial


NEGATIVE_S = 60  # key_negative_timeout


def _in_seconds(k: KernelFace, seconds: int) -> int:
    """An end in ns: the kernel's is a whole second."""
    return (k.clock.realtime_ns // NSEC_PER_SEC + seconds) * NSEC_PER_SEC


def _reject(k: KernelFace, kind: KeyType, text: str, ring: Key) -> None:
    """construct_alloc_key(), key_negate_and_link()."""
    cred, keys = k.current.cred, keys_of(k)
    key = ask_alloc(k, keys.new(kind.name, text, (cred.fsuid, cred.fsgid), kind.perm))
    key.rejected, key.expiry_ns = ENOKEY, _in_seconds(k, NEGATIVE_S)
    try:
        key_.link(ring, key)
    except KernelError:
        keys.accounts.loose.append(key)
        raise


# --- keyctl(2) ---

Operation = Callable[[KernelFace, int, int, int, int], int]


def _signed(value: int) -> int:
    """A key_serial_t that came as a register."""
    value &= 0xFFFFFFFF
    return value - (value >> 31 << 32)


def _get_keyring_id(k: KernelFace, number: int, create: int, c: int, d: int) -> int:
    return lookup(k, _signed(number), NEED_SEARCH, create=bool(_signed(create))).key.serial


def _join_session(k: KernelFace, name: int, b: int, c: int, d: int) -> int:
    text = _text(k, name) if name else None
    if text is not None and text.startswith("."):
        raise KernelError(EPERM)
    if not text and name:  # find_keyring_by_name()
        raise KernelError(EINVAL)
    return join_session(k, text).serial


def _update(k: KernelFace, number: int, payload: int, plen: int, d: int) -> int:
    if plen > PAGE_SIZE:
        raise KernelError(EINVAL)
    data = bytes(k.usercopy.copy_from_user(payload, plen)) if payload and plen else None
    key = lookup(k, _signed(number), NEED_WRITE).key
    if not key.type.updatable:
        raise KernelError(EOPNOTSUPP)
    key.type.preparse(data or b"")
    key.expiry_ns = 0
    keys_of(k).reserve(key, data or b"")
    key.store(data or b"")
    return 0


def _revoke(k: KernelFace, number: int, b: int, c: int, d: int) -> int:
    try:
        found = lookup(k, _signed(number), NEED_WRITE)
    except KernelError as error:
        if error.errno != EACCES:
            raise
        found = lookup(k, _signed(number), NEED_SETATTR)
    found.key.revoke(_in_seconds(k, 0))
    return 0


def _chown(k: KernelFace, number: int, uid: int, gid: int, d: int) -> int:
    uid, gid = _signed(uid), _signed(gid)
    if uid == -1 and gid == -1:
        return 0
    key, cred = lookup(k, _signed(number), NEED_SETATTR, create=True).key, k.current.cred
    if not k.capable(CAP_SYS_ADMIN):
        if uid not in (-1, key.uid) or (gid not in (-1, key.gid, cred.fsgid) and gid not in cred.groups):
            raise KernelError(EACCES)
    key.uid, key.gid = key.uid if uid == -1 else uid, key.gid if gid == -1 else gid
    key.count()
    return 0


def _setperm(k: KernelFace, number: int, perm: int, c: int, d: int) -> int:
    perm &= 0xFFFFFFFF
    if perm & ~PERM_MASK:
        raise KernelError(EINVAL)
    key = lookup(k, _signed(number), NEED_SETATTR, create=True).key
    if key.uid != k.current.cred.fsuid and not k.capable(CAP_SYS_ADMIN):
        raise KernelError(EACCES)
    key.perm = perm
    return 0


def _give(k: KernelFace, data: bytes, buffer: int, size: int) -> int:
    """Copied where all of it fits; its length in any case."""
    if buffer and size >= len(data):
        k.usercopy.copy_to_user(buffer, data)
    return len(data)


def _describe(k: KernelFace, number: int, buffer: int, size: int, d: int) -> int:
    key = lookup(k, _signed(number), NEED_VIEW).key
    text = f"{key.type.name};{key.uid};{key.shown_gid};{key.perm:08x};{key.description}\0"
    return _give(k, text.encode("utf-8", "surrogateescape"), buffer, size)


def _clear(k: KernelFace, number: int, b: int, c: int, d: int) -> int:
    key = lookup(k, _signed(number), NEED_WRITE, create=True).key
    if not key.is_keyring:
        raise KernelError(ENOTDIR)
    key.clear()
    return 0


def _link(k: KernelFace, number: int, ring: int, c: int, d: int) -> int:
    into = lookup(k, _signed(ring), NEED_WRITE, create=True).key
    key_.link(into, lookup(k, _signed(number), NEED_LINK, create=True).key)
    return 0


def _unlink(k: KernelFace, number: int, ring: int, c: int, d: int) -> int:
    out_of = lookup(k, _signed(ring), NEED_WRITE).key
    found = lookup(k, _signed(number), 0)
    ask_permission(k, found.key, found.possessed, KEY_NEED_UNLINK)
    key_.unlink(out_of, found.key)
    return 0


def _search(k: KernelFace, ring: int, type_: int, description: int, dest: int) -> int:
    name, text = _type(k, type_), _text(k, description)
    start = lookup(k, _signed(ring), NEED_SEARCH)
    into = lookup(k, _signed(dest), NEED_WRITE, create=True) if _signed(dest) else None
    if name not in TYPES:
        raise KernelError(ENOKEY)
    if not start.key.is_keyring:
        raise KernelError(ENOTDIR)

    try:
        found = key_.search(start.key, (name, text), searcher(k), start.possessed, k.clock.realtime_ns)
    except KernelError as error:
        raise KernelError(ENOKEY if error.errno == EAGAIN else error.errno) from None
    if into is not None:
        searcher(k).check(found, start.possessed, NEED_LINK)
        key_.link(into.key, found)
    return found.serial


def _read(k: KernelFace, number: int, buffer: int, size: int, d: int) -> int:
    try:
        found = lookup(k, _signed(number), 0)
    except KernelError:
        raise KernelError(ENOKEY) from None
    key = found.key
    if key.rejected:
        raise KernelError(key.rejected)
    try:
        ask_permission(k, key, found.possessed, KEY_DEFER_PERM_CHECK)
    except KernelError:
        raise KernelError(ENOKEY) from None
    if not searcher(k).may(key, found.possessed, NEED_READ) and not found.possessed:
        raise KernelError(EACCES)
    if not key.type.readable:
        raise KernelError(EOPNOTSUPP)
    state = key.state(k.clock.realtime_ns)
    if state:
        raise KernelError(state)
    order = k.mem.byteorder
    serials = b"".join(child.serial.to_bytes(4, order) for child in key.links.values())
    return _give(k, serials if key.is_keyring else key.payload, buffer, size)


MAX_IOV = 1024  # UIO_MAXIOV


def _instantiate(k: KernelFace, number: int, payload: int, plen: int, d: int) -> int:
    """Instantiating is for those whom request_key(2) has started: nobody.  EFAULT, EINVAL, EPERM."""
    if payload and plen and payload + plen > k.arch.map.user_end:
        raise KernelError(EFAULT)
    raise KernelError(EINVAL if plen > BIG_PAYLOAD else EPERM)


def _instantiate_iov(k: KernelFace, number: int, iov: int, count: int, d: int) -> int:
    """The same of many pieces.  EFAULT, EINVAL, EPERM."""
    count &= 0xFFFFFFFF
    if iov and count:
        if count > MAX_IOV:
            raise KernelError(EINVAL)
        k.usercopy.copy_from_user(iov, count * 2 * k.arch.model.word)
    raise KernelError(EPERM)


def _negate(k: KernelFace, number: int, timeout: int, error: int, ring: int) -> int:
    if not 0 < error & 0xFFFFFFFF < 4095:
        raise KernelError(EINVAL)
    raise KernelError(EPERM)


def _negate_plain(k: KernelFace, number: int, timeout: int, ring: int, d: int) -> int:
    return _negate(k, number, timeout, ENOKEY, ring)


def _set_reqkey_keyring(k: KernelFace, choice: int, b: int, c: int, d: int) -> int:
    choice, task = _signed(choice), k.current
    old = task.cred.jit_keyring
    if choice == -1:
        return old
    if choice not in (0, 1, 2, 3, 4, 5, 7):
        raise KernelError(EINVAL)
    if choice in (1, 2):
        special(k, THREAD - (choice - 1), True)
    task.cred = task.cred.copy()
    task.cred.jit_keyring = choice
    k.mirror.publish_cred(task)
    return old


def _set_timeout(k: KernelFace, number: int, seconds: int, c: int, d: int) -> int:
    key = lookup(k, _signed(number), NEED_SETATTR, create=True).key
    seconds &= 0xFFFFFFFF
    key.expiry_ns = _in_seconds(k, seconds) if seconds else 0
    return 0


def _assume_authority(k: KernelFace, number: int, b: int, c: int, d: int) -> int:
    if _signed(number) < 0:
        raise KernelError(EINVAL)
    if _signed(number):
        raise KernelError(ENOKEY)
    return 0


def _get_security(k: KernelFace, number: int, buffer: int, size: int, d: int) -> int:
    try:
        lookup(k, _signed(number), NEED_VIEW)
    except KernelError as error:  # who makes a key may see it: nobody
        raise KernelError(ENOKEY if error.errno == EACCES else error.errno) from None
    return _give(k, b"\0", buffer, size) if size else 1


def _session_to_parent(k: KernelFace, a: int, b: int, c: int, d: int) -> int:
    """The parent gets this session: it must be somebody's who could have made it.  EPERM."""
    me, parent = k.current, k.current.real_parent
    mine, theirs = me.cred, parent.cred
    ring = mine.session_keyring
    if parent.pid <= 1 or parent.mm is None or len(parent.signal.threads) != 1:
        raise KernelError(EPERM)
    if mine is theirs or ring is theirs.session_keyring:
        return 0
    ids = {theirs.uid, theirs.euid, theirs.suid} | {mine.uid}
    groups = {theirs.gid, theirs.egid, theirs.sgid} | {mine.gid}
    owners = {held.uid for held in (ring, theirs.session_keyring) if isinstance(held, Key)}
    if len(ids) != 1 or len(groups) != 1 or owners - {mine.euid} or not isinstance(ring, Key):
        raise KernelError(EPERM)
    install_session(k, parent, ring)
    return 0


def _invalidate(k: KernelFace, number: int, b: int, c: int, d: int) -> int:
    key = lookup(k, _signed(number), NEED_SEARCH).key
    key.invalidated = True
    key.accounts.invalidated.append(key)
    return 0


def _get_persistent(k: KernelFace, uid: int, ring: int, c: int, d: int) -> int:
    uid = _signed(uid)
    cred = k.current.cred
    uid = cred.uid if uid == -1 else uid
    if uid not in (cred.uid, cred.euid) and not k.capable(CAP_SETUID):
        raise KernelError(EPERM)
    into = lookup(k, _signed(ring), NEED_WRITE, create=True).key
    if not into.is_keyring:
        raise KernelError(ENOTDIR)
    found = persistent_ring(k, uid)
    key_.link(into, found)
    found.expiry_ns = _in_seconds(k, keys_of(k).persistent_expiry)
    return found.serial


def _restrict(k: KernelFace, number: int, type_: int, restriction: int, d: int) -> int:
    key = lookup(k, _signed(number), NEED_SETATTR).key
    kind, words = None, ""
    if bool(type_) != bool(restriction):
        if type_:
            _type(k, type_)
        raise KernelError(EINVAL)
    if type_:
        kind, words = _type(k, type_), _text(k, restriction)
    if not key.is_keyring:
        raise KernelError(ENOTDIR)
    reason = EPERM
    if kind is not None:
        if kind not in TYPES:
            raise KernelError(ENOKEY)
        allowed = TYPES[kind].restriction
        if allowed is None:
            raise KernelError(ENOENT)
        allowed(words, key.serial, keys_of(k).by_serial)
        reason = EOPNOTSUPP  # for keys of other types, and there are none of that
    if key.restricted:
        raise KernelError(EEXIST)
    key.restricted = reason
    return 0


def _move(k: KernelFace, number: int, from_: int, to: int, flags: int) -> int:
    if flags & 0xFFFFFFFE:
        raise KernelError(EINVAL)
    key = lookup(k, _signed(number), NEED_LINK, create=True).key
    source = lookup(k, _signed(from_), NEED_WRITE).key
    target = lookup(k, _signed(to), NEED_WRITE, create=True).key
    if source is target:
        return 0
    if not source.is_keyring or not target.is_keyring:
        raise KernelError(ENOTDIR)
    if source.links.get(key.place) is not key:
        raise KernelError(ENOENT)
    if flags & 1 and key.place in target.links:
        raise KernelError(EEXIST)
    key_.link(target, key)
    key_.unlink(source, key)
    return 0


def _capabilities(k: KernelFace, buffer: int, size: int, c: int, d: int) -> int:
    """KEYCTL_CAPABILITIES: what fits, and zeros behind it.  EFAULT."""
    k.usercopy.copy_to_user(buffer, CAPABILITIES[:size])
    rest = size - len(CAPABILITIES)
    if rest > 0 and k.usercopy.clear_user(buffer + len(CAPABILITIES), rest) < rest:
        raise KernelError(EFAULT)
    return len(CAPABILITIES)


OPERATIONS: dict[int, Operation] = {
    0: _get_keyring_id, 1: _join_session, 2: _update, 3: _revoke, 4: _chown, 5: _setperm, 6: _describe, 7: _clear,
    8: _link, 9: _unlink, 10: _search, 11: _read, 12: _instantiate, 13: _negate_plain,
    14: _set_reqkey_keyring, 15: _set_timeout, 16: _assume_authority, 17: _get_security, 18: _session_to_parent,
    19: _negate, 20: _instantiate_iov, 21: _invalidate, 22: _get_persistent,
    23: dh_compute, 24: pkey_query, 25: pkey_operation, 26: pkey_operation, 27: pkey_operation, 28: pkey_operation, 29: _restrict, 30: _move,
    31: _capabilities,
}  # fmt: skip


@syscall(
    "keyctl", "int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5",
    source=KEYCTL,
)  # fmt: skip
def sys_keyctl(k: KernelFace, option: int, arg2: int, arg3: int, arg4: int, arg5: int) -> int:
    """One operation.  EOPNOTSUPP, and what the operation says."""
    operation = OPERATIONS.get(option)
    if operation is None:
        raise KernelError(EOPNOTSUPP)
    return operation(k, arg2, arg3, arg4, arg5)
