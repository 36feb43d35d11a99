"""/proc/keys and /proc/key-users.  security/keys/proc.c."""

from __future__ import annotations

from functools import partial

from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.procfs import proc_file
from simkernel.kernel.keys.key import Key, left
from simkernel.kernel.keys.special import keys_of, possesses, references, searcher, user_rings
from simkernel.kernel.keys.types import NEED_VIEW, provisioning_type


def _tail(k: FsKernel, key: Key) -> str:
    """key_type.describe(): what follows the description."""
    if key.is_keyring:
        return f": {len(key.links) or 'empty'}"
    if key.rejected:
        return ""
    if key.type.name == "asymmetric":
        return f": X509.{key.payload.decode()} {key.description[-8:]} []"
    kind = f" [{provisioning_type(key.payload, k.mem.byteorder)}]" if key.type.name == "fscrypt-provisioning" else ""
    return f": {len(key.payload)}{kind}"


def _line(k: FsKernel, key: Key) -> str:
    """proc_keys_show()."""
    flags = f"I{'R' if key.revoked else '-'}-{'Q' if key.in_quota else '-'}-{'N' if key.rejected else '-'}{'i' if key.invalidated else '-'}"
    return (
        f"{key.serial:08x} {flags} {references(k, key):5} {left(key, k.clock.realtime_ns):>4} {key.perm:08x} {key.uid:5} {key.shown_gid:5} "
        f"{key.type.name:<9.9} {key.description}{_tail(k, key)}\n"
    )


def _keys(k: FsKernel) -> str:
    """Those that the reader may view."""
    who = searcher(k)
    user_rings(k, k.current.cred.uid)  # search_process_keyrings_rcu()
    seen = [key for _, key in sorted(keys_of(k).by_serial.items()) if who.may(key, possesses(k, key), NEED_VIEW)]
    return "".join(_line(k, key) for key in seen)


def _users(k: FsKernel) -> str:
    """How much each user has."""
    lines = []
    for uid, account in sorted(keys_of(k).accounts.items()):
        count, (most, bytes_) = account.keys, keys_of(k).limits_of(uid)
        if count:  # root's is referred to once more: root_key_user
            lines.append(
                f"{uid:5}: {count + (uid == 0):5} {count}/{count} {account.charged}/{most} {account.bytes}/{bytes_}\n"
            )
    return "".join(lines)


def install(k: FsKernel) -> None:
    """At boot."""
    keys = keys_of(k)
    for name in keys.limits:
        k.vfs.sysctl.on_write(f"kernel.keys.{name}", partial(keys.limits.__setitem__, name))
    k.vfs.sysctl.on_write("kernel.keys.persistent_keyring_expiry", keys.set_persistent_expiry)
    proc_file(k.vfs, "keys", PseudoFile(lambda: _keys(k)))
    proc_file(k.vfs, "key-users", PseudoFile(lambda: _users(k)))
