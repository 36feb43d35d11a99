"""Keys and keyrings: what they are, who may do what with them, how one is found.  security/keys/{key,keyring,permission,user_defined}.c."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

from arch.abi.errno import (
    EACCES,
    EAGAIN,
    EDEADLK,
    EDQUOT,
    EKEYEXPIRED,
    EKEYREVOKED,
    ELOOP,
    ENOENT,
    ENOKEY,
    ENOTDIR,
)
from arch.abi.time import NSEC_PER_SEC
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from simkernel.kernel.keys.own import rows_of
from simkernel.kernel.keys.types import KEY_GROUP, KEY_POSSESSOR, KEY_USER, NEED_ALL, NEED_SEARCH, TYPES, KeyType

KEYRING_SEARCH_MAX_DEPTH = 6
LINK_BYTES = 4  # KEYQUOTA_LINK_BYTES
NO_GID, OVERFLOW_GID = 0xFFFFFFFF, 65534
BIG_PAYLOAD = (1 << 20) - 1


Place = tuple[str, str]  # type and description: a keyring has one key of each


class Account:
    """struct key_user: what an owner has."""

    def __init__(self) -> None:
        self.keys = self.charged = self.bytes = 0  # all, those in its quota, their bytes


class Key:
    """struct key.  A keyring has links, everything else a payload."""

    def __init__(
        self, serial: int, kind: KeyType, description: str, owner: tuple[int, int], perm: int, accounts: Accounts
    ) -> None:
        self.serial, self.type, self.description, self.perm = serial, kind, description, perm
        self.uid, self.gid = owner
        self.payload = b""
        self.charged = 0  # bytes of memory
        self.links: dict[Place, Key] = {}  # changed by put(), drop() and clear() only
        self.rings: dict[Place, Key] = {}  # those of them that are keyrings
        self.holders = 0  # keyrings that it is in
        self.accounts = accounts
        self.counted: tuple[Account, int] | None = None  # where it stands, with how many bytes
        self.expiry_ns = 0
        self.revoked = self.invalidated = self.uid_keyring = False
        self.restricted = 0  # the errno of who links another to it
        self.in_quota = True
        self.rejected = 0  # of a negative key: the errno of who asks for it

    @property
    def is_keyring(self) -> bool:
        """It holds others."""
        return self.type.name == "keyring"

    @property
    def shown_gid(self) -> int:
        """from_kgid_munged(): nobody's where there is no group."""
        return OVERFLOW_GID if self.gid == NO_GID else self.gid

    @property
    def quotalen(self) -> int:
        """Bytes on its owner's account."""
        return len(self.description) + 1 + (LINK_BYTES * len(self.links) if self.is_keyring else len(self.payload))

    @property
    def place(self) -> Place:
        """Where it lies in a keyring."""
        return self.type.name, self.description

    def count(self) -> None:
        """Its owner's account has what it is now."""
        self.discount()
        account = self.accounts.setdefault(self.uid, Account())
        size = self.quotalen if self.in_quota else 0
        account.keys += 1
        account.charged += self.in_quota
        account.bytes += size
        self.counted = account, size

    def discount(self) -> None:
        """It stands on no account."""
        if self.counted is not None:
            account, size = self.counted
            account.keys -= 1
            account.charged -= self.in_quota
            account.bytes -= size
            self.counted = None

    def store(self, payload: bytes) -> None:
        """Another payload."""
        self.payload = payload
        self.count()

    def put(self, key: Key) -> None:
        """Last among the links, in the place of one of the same type and name."""
        self.drop(key.place)
        self.links[key.place] = key
        key.holders += 1
        if key.is_keyring:
            self.rings[key.place] = key
        self.count()

    def drop(self, place: Place) -> None:
        """One link less, if it is there."""
        key = self.links.pop(place, None)
        if key is not None:
            key.holders -= 1
            self.accounts.loose.append(key)
            self.rings.pop(place, None)
            self.count()

    def clear(self) -> None:
        """No links."""
        for place in list(self.links):
            self.drop(place)

    def state(self, now: int) -> int:
        """key_validate(): 0, or why it is not to be used."""
        if self.invalidated:
            return ENOKEY
        if self.revoked:
            return EKEYREVOKED
        return EKEYEXPIRED if self.expiry_ns and now >= self.expiry_ns else 0

    def revoke(self, now: int) -> None:
        """key_revoke(): the type drops what it holds.  When that was stands where its end would."""
        self.revoked = True
        if not self.expiry_ns or self.expiry_ns > now:
            self.expiry_ns = now
        self.store(b"")
        self.clear()


class Accounts(dict[int, Account]):
    """By user."""

    def __init__(self) -> None:
        super().__init__()
        self.loose: list[Key] = []  # a keyring has lost it: perhaps nobody has it any more
        self.invalidated: list[Key] = []  # leave all keyrings


Asked = Callable[[Key, bool, int], int]  # (key, whether it is possessed, KEY_NEED bit) -> 0 or -errno


class Searcher:
    """Who looks for keys, as key_task_permission() asks."""

    def __init__(self, fsuid: int, in_group: Callable[[int], bool], asked: Asked | None = None) -> None:
        self.fsuid, self.in_group = fsuid, in_group
        self.asked = asked  # the security hook, while somebody watches it
        self.refusal = EACCES  # what the last refusal is called

    def may(self, key: Key, possessed: bool, need: int) -> bool:
        """key_task_permission()."""
        if key.uid == self.fsuid:
            allowed = key.perm >> KEY_USER
        elif key.perm >> KEY_GROUP & NEED_ALL and self.in_group(key.gid):
            allowed = key.perm >> KEY_GROUP
        else:
            allowed = key.perm
        if possessed:
            allowed |= key.perm >> KEY_POSSESSOR
        self.refusal = EACCES
        if allowed & need != need:
            return False
        answer = self.asked(key, possessed, need) if self.asked is not None else 0
        self.refusal = -answer or EACCES
        return not answer

    def check(self, key: Key, possessed: bool, need: int) -> None:
        """EACCES."""
        if not self.may(key, possessed, need):
            raise KernelError(self.refusal, "key permissions")


def search(
    keyring: Key,
    place: Place,
    who: Searcher,
    possessed: bool,
    now: int,
    only: Key | None = None,
    skip_expired: bool = False,
) -> Key:
    """keyring_search_rcu(): the keyring itself, its keys, those of keyrings in it.  EAGAIN when there is none, or why one cannot be had.

    With `only` it is that key which is looked for, whatever its state; who wants another for an expired one skips those.
    """
    who.check(keyring, possessed, NEED_SEARCH)
    error = EAGAIN
    if keyring.revoked or keyring.invalidated:
        raise KernelError(EKEYREVOKED if keyring.revoked else ENOKEY)
    if keyring is only or (only is None and keyring.place == place and not keyring.state(now)):
        return keyring
    for ring in reached(keyring, who, possessed):
        key = ring.links.get(place)
        if key is None or only not in (None, key):
            continue
        state = 0 if only is not None else key.state(now)
        if not state and not who.may(key, possessed, NEED_SEARCH):
            state = EACCES
        elif not state and only is None:
            state = key.rejected
        if not state:
            return key
        if not (skip_expired and state == EKEYEXPIRED):
            error = state
    raise KernelError(error)


def reached(keyring: Key, who: Searcher, possessed: bool) -> Iterator[Key]:
    """search_nested_keyrings(): a keyring and those in it, level by level, as deep as a search goes; also expired ones."""
    seen: set[int] = set()
    level = [keyring]
    for _ in range(KEYRING_SEARCH_MAX_DEPTH + 1):
        below: list[Key] = []
        for ring in level:
            if ring.serial not in seen:
                seen.add(ring.serial)
                yield ring
                below += [
                    key
                    for key in ring.rings.values()
                    if not (key.revoked or key.invalidated) and who.may(key, possessed, NEED_SEARCH)
                ]
        level = below


def link(keyring: Key, key: Key) -> None:
    """key_link(): in the place of one of the same type and name.  ENOTDIR, EKEYREVOKED, EPERM, EDEADLK, ELOOP."""
    if not keyring.is_keyring:
        raise KernelError(ENOTDIR)
    if keyring.revoked:
        raise KernelError(EKEYREVOKED)
    if keyring.restricted:
        raise KernelError(keyring.restricted, "the keyring takes no more")
    if key.is_keyring:
        _check_cycle(keyring, key, {})
    keyring.put(key)


def _check_cycle(into: Key, key: Key, deepest: dict[int, int], depth: int = 0) -> None:
    """keyring_detect_cycle(): what a keyring holds is looked at before its depth.

    `deepest`: by number of a keyring, how deep it was when nothing was found below it, which holds for less deep, too.
    """
    if key is into or key.rings.get(into.place) is into:
        raise KernelError(EDEADLK, "a keyring in itself")
    if key.rings and depth >= KEYRING_SEARCH_MAX_DEPTH:
        raise KernelError(ELOOP)
    for child in key.rings.values():
        if deepest.get(child.serial, -1) <= depth:
            _check_cycle(into, child, deepest, depth + 1)
    deepest[key.serial] = depth


def unlink(keyring: Key, key: Key) -> None:
    """key_unlink().  ENOTDIR, ENOENT."""
    if not keyring.is_keyring:
        raise KernelError(ENOTDIR)
    if keyring.links.get(key.place) is not key:
        raise KernelError(ENOENT)
    keyring.drop(key.place)


KEY_SIZE = 256  # bytes of memory: struct key


class Keys:
    """All keys of a machine: `k.keys`."""

    def __init__(self, numbers: random.Random, charge: Callable[[int], None], version: KernelVersion) -> None:
        self.numbers, self.charge = numbers, charge
        self.by_serial: dict[int, Key] = {}
        self.accounts = Accounts()
        self._roots: dict[int, Key] = {}  # what tasks had when it was last swept
        self.users: dict[int, tuple[Key, Key]] = {}  # uid -> _uid.N, _uid_ses.N
        self.registers: dict[str, Key] = {}  # .user_reg, .persistent_register
        self.limits = {"maxkeys": 200, "maxbytes": 20000, "root_maxkeys": 1000000, "root_maxbytes": 25000000}
        self.persistent_expiry = 3 * 24 * 3600  # s
        self.own: dict[str, Key] = {}
        for row in rows_of(version):
            self.own[row.name] = key = self.new(row.kind, row.name, (0, 0), row.perm, row.payload, charged=False)
            for ring in row.inside:
                self.own[ring].put(key)

    def set_persistent_expiry(self, seconds: int) -> None:
        """/proc/sys/kernel/keys/persistent_keyring_expiry."""
        self.persistent_expiry = seconds

    def limits_of(self, uid: int) -> tuple[int, int]:
        """How many keys an owner may have, and bytes."""
        whose = "" if uid else "root_"
        return self.limits[f"{whose}maxkeys"], self.limits[f"{whose}maxbytes"]

    def reserve(self, key: Key, payload: bytes) -> None:
        """key_payload_reserve(), before another payload is stored.  EDQUOT."""
        more = len(payload) - len(key.payload)
        owner = self.accounts.get(key.uid)
        if more > 0 and owner is not None and owner.bytes + more > self.limits_of(key.uid)[1]:
            raise KernelError(EDQUOT)

    def new(
        self, kind: str, description: str, owner: tuple[int, int], perm: int, payload: bytes = b"", charged: bool = True
    ) -> Key:
        """key_alloc().  EDQUOT."""
        if charged:
            keys, size = self.limits_of(owner[0])
            mine = self.accounts.setdefault(owner[0], Account())
            if mine.charged + 1 > keys or mine.bytes + len(description) + 1 + len(payload) > size:
                raise KernelError(EDQUOT)
        room = KEY_SIZE + len(description) + len(payload)
        self.charge(room)
        serial = 0
        while serial < 3 or serial in self.by_serial:
            serial = self.numbers.getrandbits(30)
        key = Key(serial, TYPES[kind], description, owner, perm, self.accounts)
        key.in_quota = charged
        key.charged = room
        key.store(payload)
        self.by_serial[serial] = key
        return key

    def sweep(self, roots: Iterable[Key | None]) -> None:
        """key_garbage_collector(): what no keyring and no task has is gone, what was invalidated leaves its keyrings.

        `roots` is what tasks have.  Keyrings make no circles, so counting who holds a key is enough.
        """
        held = {key.serial: key for key in (*roots, *self._owned()) if key is not None}
        loose = self.accounts.loose
        loose += [key for serial, key in self._roots.items() if serial not in held]
        self._roots = held
        if self.accounts.invalidated:
            gone = {key.serial for key in self.accounts.invalidated}
            self.accounts.invalidated.clear()
            for ring in self.by_serial.values():
                for place in [place for place, child in ring.links.items() if child.serial in gone]:
                    ring.drop(place)
        while loose:
            key = loose.pop()
            if not key.holders and key.serial not in held and self.by_serial.pop(key.serial, None) is not None:
                key.clear()
                key.discount()
                self.charge(-key.charged)

    def register(self, name: str, perm: int, gid: int, charged: bool) -> Key:
        """A keyring of the kernel's, made when it is first asked for."""
        if name not in self.registers:
            self.registers[name] = self.new("keyring", name, (0, gid), perm, charged=charged)
        return self.registers[name]

    def _owned(self) -> Iterator[Key]:
        yield from self.own.values()
        yield from self.registers.values()


def left(key: Key, now: int) -> str:
    """How long a key lives, as /proc/keys says it.  `now` in ns."""
    if not key.expiry_ns:
        return "perm"
    seconds = key.expiry_ns // NSEC_PER_SEC - now // NSEC_PER_SEC
    if seconds <= 0:
        return "expd"
    for size, unit, step in ((60, "s", 1), (3600, "m", 60), (86400, "h", 3600), (604800, "d", 86400)):
        if seconds < size:
            return f"{seconds // step}{unit}"
    return f"{seconds // 604800}w"
