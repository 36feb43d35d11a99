"""The keyrings that threads, processes, sessions and users have.  security/keys/{process_keys,persistent}.c."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from arch.abi.errno import EAGAIN, EINVAL, ENOKEY
from arch.errors import KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.keys.key import NO_GID, Key, Keys, Place, Searcher, link, search
from simkernel.kernel.keys.types import (
    KEY_POSSESSOR,
    KEY_USER,
    NEED_ALL,
    NEED_LINK,
    NEED_READ,
    NEED_SEARCH,
    NEED_SETATTR,
    NEED_VIEW,
    NEED_WRITE,
)
from simkernel.kernel.security import ask, prepare_creds
from simkernel.kernel.task import Task

THREAD, PROCESS, SESSION, USER_RING, USER_SESSION, GROUP_RING, REQKEY_AUTH, REQUESTOR = range(-1, -9, -1)
OWN_PERM = NEED_ALL << KEY_POSSESSOR | NEED_VIEW << KEY_USER
SESSION_PERM = OWN_PERM | NEED_READ << KEY_USER
JOINED_PERM = SESSION_PERM | NEED_LINK << KEY_USER
USER_PERM = (NEED_ALL & ~NEED_SETATTR) << KEY_POSSESSOR | NEED_ALL << KEY_USER
REGISTER_SHOWN = (NEED_ALL & ~NEED_SETATTR) << KEY_POSSESSOR | (NEED_VIEW | NEED_READ) << KEY_USER
REGISTER_PERM = (NEED_WRITE | NEED_SEARCH) << KEY_POSSESSOR | (NEED_VIEW | NEED_READ) << KEY_USER  # 0x0c030000
PERSISTENT_PERM = (NEED_ALL & ~NEED_SETATTR) << KEY_POSSESSOR | (NEED_VIEW | NEED_READ) << KEY_USER


class KeyRef(NamedTuple):
    """key_ref_t: a key, and whether the caller has it in its own keyrings."""

    key: Key
    possessed: bool


def keys_of(k: KernelFace) -> Keys:
    """All of the machine's; made when somebody first asks, and swept of what nobody has."""
    if k.keys is None:
        k.keys = Keys(k.random, k.mm.charge, k.version)
    assert isinstance(k.keys, Keys)
    k.keys.sweep(key for task in k.tasks.by_pid.values() for key in _rings(task))
    return k.keys


def _rings(task: Task) -> Iterator[Key | None]:
    for ring in (task.thread_keyring, task.process_keyring, task.cred.session_keyring):
        yield ring if isinstance(ring, Key) else None


# include/linux/key.h
KEY_ALLOC_QUOTA_OVERRUN = 1
KEY_NEED_WRITE, KEY_NEED_UNLINK, KEY_DEFER_PERM_CHECK = 3, 7, 10


def searcher(k: KernelFace) -> Searcher:
    """The current task."""
    cred = k.current.cred
    asked = partial(_asked, k) if "key_permission" in k.security_hooks.watched else None
    return Searcher(cred.fsuid, lambda gid: gid == cred.fsgid or gid in cred.groups, asked)


def _asked(k: KernelFace, key: Key, possessed: bool, need: int) -> int:
    """Needs are bits here, and an enum there."""
    try:
        ask_permission(k, key, possessed, need.bit_length())
    except KernelError as refused:
        return -refused.errno
    return 0


def ask_permission(k: KernelFace, key: Key, possessed: bool, need: int) -> None:
    """security_key_permission(): a key_ref_t has the possession in its lowest bit.  KernelError."""
    if "key_permission" in k.security_hooks.watched:
        with shown_key(k, key) as addr:
            ask(k, "key_permission", addr | possessed, k.current.cred.addr, need)


def ask_alloc(k: KernelFace, key: Key, flags: int = 0) -> Key:
    """security_key_alloc() of a new key, which goes again if a program refuses."""
    if "key_alloc" in k.security_hooks.watched:
        try:
            with shown_key(k, key) as addr:
                ask(k, "key_alloc", addr, k.current.cred.addr, flags)
        except KernelError:
            keys_of(k).accounts.loose.append(key)
            raise
    return key


@contextmanager
def shown_key(k: KernelFace, key: Key) -> Iterator[int]:
    """A struct key for who watches a hook."""
    text = k.mirror.scratch_string(key.description.encode("utf-8", "surrogateescape")[:255])
    struct = k.new("struct key")
    struct.serial, struct.perm, struct.description = key.serial, key.perm, text
    struct.uid.val, struct.gid.val = key.uid, key.gid & 0xFFFFFFFF
    try:
        yield struct.addr
    finally:
        k.mem.free(struct.addr)


def user_rings(k: KernelFace, uid: int) -> tuple[Key, Key]:
    """look_up_user_keyrings(): a user's keyring, and the session of who has none."""
    keys = keys_of(k)
    if uid not in keys.users:
        register = keys.register(".user_reg", REGISTER_PERM, NO_GID, True)
        mine = keys.new("keyring", f"_uid.{uid}", (uid, NO_GID), USER_PERM)
        link(register, mine)
        session = keys.new("keyring", f"_uid_ses.{uid}", (uid, NO_GID), USER_PERM)
        link(register, session)
        mine.uid_keyring = session.uid_keyring = True
        link(session, mine)
        keys.users[uid] = mine, session
    return keys.users[uid]


def _new_ring(k: KernelFace, name: str, perm: int) -> Key:
    cred = k.current.cred
    prepare_creds(k)
    return ask_alloc(k, keys_of(k).new("keyring", name, (cred.uid, cred.gid), perm), KEY_ALLOC_QUOTA_OVERRUN)


def join_session(k: KernelFace, name: str | None) -> Key:
    """join_session_keyring(): an anonymous one, or the one of that name."""
    found = next((key for key in keys_of(k).by_serial.values() if _joinable(k, key, name)), None)
    if name is None or found is None:
        found = _new_ring(k, "_ses" if name is None else name, SESSION_PERM if name is None else JOINED_PERM)
    install_session(k, k.current, found)
    return found


def _joinable(k: KernelFace, key: Key, name: str | None) -> bool:
    """find_keyring_by_name()."""
    usable = key.is_keyring and key.description == name and not key.revoked and not key.uid_keyring
    return usable and searcher(k).may(key, False, NEED_SEARCH)


def install_session(k: KernelFace, task: Task, ring: Key) -> None:
    """The credentials are others' too: a copy has the new session."""
    task.cred = task.cred.copy()
    task.cred.session_keyring = ring
    k.mirror.publish_cred(task)


def special(k: KernelFace, number: int, create: bool) -> Key:
    """The keyring of a negative number.  ENOKEY, EINVAL."""
    task = k.current
    if number == THREAD:
        if task.thread_keyring is None and create:
            task.thread_keyring = _new_ring(k, "_tid", OWN_PERM)
        return _there(task.thread_keyring)
    if number == PROCESS:
        if task.process_keyring is None and create:
            ring = _new_ring(k, "_pid", OWN_PERM)
            for thread in task.signal.threads:
                thread.process_keyring = ring
        return _there(task.process_keyring)
    if number == SESSION:
        held = task.cred.session_keyring
        if isinstance(held, Key) and not (held.uid_keyring and create):
            return held
        if create:
            return join_session(k, None)
        session = user_rings(k, task.cred.uid)[1]
        install_session(k, task, session)
        return session
    if number in (USER_RING, USER_SESSION):
        return user_rings(k, task.cred.uid)[number == USER_SESSION]
    raise KernelError(ENOKEY if number in (REQKEY_AUTH, REQUESTOR) else EINVAL)


def _there(ring: object) -> Key:
    if not isinstance(ring, Key):
        raise KernelError(ENOKEY)
    return ring


def persistent_ring(k: KernelFace, uid: int) -> Key:
    """A user's persistent keyring; a new one where the last has expired."""
    keys = keys_of(k)
    register = keys.register(".persistent_register", REGISTER_SHOWN, 0, False)
    name = f"_persistent.{uid}"
    found = register.links.get(("keyring", name))
    if found is None or found.state(k.clock.realtime_ns):
        found = keys.new("keyring", name, (uid, NO_GID), PERSISTENT_PERM, charged=False)
        link(register, found)
    return found


def references(k: KernelFace, key: Key) -> int:
    """key->usage: keyrings, credentials and the kernel that have it."""
    keys = keys_of(k)
    creds = {id(task.cred) for task in k.tasks.by_pid.values() if key in _rings(task)}
    return key.holders + len(creds) + (key in (*keys.own.values(), *keys.registers.values()))


def search_process(k: KernelFace, place: Place, only: Key | None = None, skip_expired: bool = False) -> Key:
    """search_process_keyrings_rcu(): thread, process, session.  EAGAIN where none has one of that name, else why it cannot be had."""
    task, who, now = k.current, searcher(k), k.clock.realtime_ns
    errors: list[int] = []
    session = task.cred.session_keyring
    users = keys_of(k).users.get(task.cred.uid)
    rings = [task.thread_keyring, task.process_keyring, session if session is not None else users and users[1]]
    for ring in rings:
        if not isinstance(ring, Key):
            continue
        try:
            return search(ring, place, who, True, now, only, skip_expired)
        except KernelError as refused:
            errors.append(refused.errno)
    if ENOKEY in errors:
        raise KernelError(ENOKEY)
    raise KernelError(EAGAIN if not errors or EAGAIN in errors else errors[-1])


def default_ring(k: KernelFace) -> Key:
    """construct_get_dest_keyring(): where a key goes that is made for who asks for it.  EACCES."""
    task = k.current
    rings = (task.thread_keyring, task.process_keyring, task.cred.session_keyring)
    ring = next((ring for ring in rings if isinstance(ring, Key)), None) or special(k, USER_SESSION, True)
    searcher(k).check(ring, True, NEED_WRITE)
    return ring


def possesses(k: KernelFace, key: Key) -> bool:
    """Can the current task reach it from its own keyrings?"""
    try:
        search_process(k, key.place, key)
    except KernelError:
        return False
    return True


def lookup(k: KernelFace, number: int, need: int, create: bool = False) -> KeyRef:
    """lookup_user_key(): `need` 0 asks for no permission.  ENOKEY, EINVAL, EKEYREVOKED, EKEYEXPIRED, EACCES."""
    if number < 1:
        if not -8 <= number <= -1:
            raise KernelError(EINVAL)
        found = KeyRef(special(k, number, create), True)
    else:
        key = keys_of(k).by_serial.get(number)
        if key is None:
            raise KernelError(ENOKEY)
        found = KeyRef(key, possesses(k, key))
    state = found.key.state(k.clock.realtime_ns) if need else 0
    if found.key.rejected and need & (NEED_READ | NEED_WRITE | NEED_SEARCH | NEED_LINK):
        raise KernelError(found.key.rejected)
    if state:
        raise KernelError(state)
    if need:
        searcher(k).check(found.key, found.possessed, need)
    return found
