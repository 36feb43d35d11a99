"""/proc/keys and /proc/key-users.  security/keys/proc.c."""

from __future__ import annotations

from collections import Counter
from functools import partial

from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.procfs import proc_file
from simkernel.kernel.keys.key import NEED_VIEW, Key, left
from simkernel.kernel.keys.special import keys_of, possesses, searcher


def _line(k: FsKernel, key: Key, refs: int) -> str:
    """proc_keys_show(): the number of references is that of keyrings it is in, and one."""
    flags = f"I{'R' if key.revoked else '-'}-Q-{'N' if key.rejected else '-'}{'i' if key.invalidated else '-'}"
    size = (len(key.links) or "empty") if key.is_keyring else len(key.payload)
    when = left(key, k.clock.realtime_ns)
    return (
        f"{key.serial:08x} {flags} {refs:5} {when:>4} {key.perm:08x} {key.uid:5} {key.shown_gid:5} "
        f"{key.type.name:<9.9} {key.description}{'' if key.rejected or (key.revoked and not key.is_keyring) else f': {size}'}\n"
    )


def _keys(k: FsKernel) -> str:
    """Those that the reader may view."""
    who = searcher(k)
    seen = [key for _, key in sorted(keys_of(k).by_serial.items()) if who.may(key, possesses(k, key), NEED_VIEW)]
    links = Counter(key.serial for ring in keys_of(k).by_serial.values() for key in ring.links.values())
    return "".join(_line(k, key, 1 + links[key.serial]) for key in seen)


def _users(k: FsKernel) -> str:
    """How much each user has."""
    lines = []
    for uid, account in sorted(keys_of(k).accounts.items()):
        count, (most, bytes_) = account.keys, keys_of(k).limits_of(uid)
        if count:
            lines.append(f"{uid:5}: {count:5} {count}/{count} {count}/{most} {account.bytes}/{bytes_}\n")
    return "".join(lines)


def install(k: FsKernel) -> None:
    """At boot."""
    keys = keys_of(k)
    for name in keys.limits:
        k.vfs.sysctl.on_write(f"kernel.keys.{name}", partial(keys.limits.__setitem__, name))
    k.vfs.sysctl.on_write("kernel.keys.persistent_keyring_expiry", keys.set_persistent_expiry)
    proc_file(k.vfs, "keys", PseudoFile(lambda: _keys(k)))
    proc_file(k.vfs, "key-users", PseudoFile(lambda: _users(k)))
