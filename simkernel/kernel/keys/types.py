"""Kinds of keys: what a description and a payload must be.  security/keys/{user_defined,keyring}.c, certs/blacklist.c, fs/crypto/keyring.c, crypto/asymmetric_keys/."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arch.abi.errno import EBADMSG, EDEADLK, EINVAL, ENOKEY, EPERM
from arch.errors import KernelError

NEED_VIEW, NEED_READ, NEED_WRITE, NEED_SEARCH, NEED_LINK, NEED_SETATTR, NEED_ALL = (
    1,
    2,
    4,
    8,
    16,
    32,
    63,
)  # KEY_NEED_*: bits of each part of the permissions
KEY_POSSESSOR, KEY_USER, KEY_GROUP = 24, 16, 8  # where the part of each begins
USER_PAYLOAD = 32767

Vet = Callable[[str], None]  # vet_description()
Preparse = Callable[[bytes], None]  # preparse(), with all of the payload
Restriction = Callable[[str, int, Mapping[int, object]], None]  # (words, the keyring's number, all keys)


def _any(description: str) -> None:
    """Whatever it says."""


def _service(description: str) -> None:
    """logon_vet_description().  EINVAL."""
    if description.find(":") < 1:
        raise KernelError(EINVAL, "a service's name and a colon")


def _hash(description: str) -> None:
    """blacklist_vet_description(): a word, a colon, lower-case bytes.  EINVAL."""
    word, colon, digits = description.partition(":")
    if not word or not colon or not digits or len(digits) % 2 or set(digits) - set("0123456789abcdef"):
        raise KernelError(EINVAL, "a hash")


def _user_payload(payload: bytes) -> None:
    """user_preparse().  EINVAL."""
    if not 0 < len(payload) <= USER_PAYLOAD:
        raise KernelError(EINVAL, "payload")


def _nothing(payload: bytes) -> None:
    """keyring_preparse().  EINVAL."""
    if payload:
        raise KernelError(EINVAL, "keyrings have no payload")


def _kept(payload: bytes) -> None:
    """Whatever it is."""


def _certificate(payload: bytes) -> None:
    """asymmetric_key_preparse(): nobody here reads certificates.  EINVAL, EBADMSG."""
    raise KernelError(EBADMSG if payload else EINVAL)


PROVISIONING_HEAD, PROVISIONING_RAW = (
    8,
    range(16, 65),
)  # bytes: struct fscrypt_provisioning_key_payload, FSCRYPT_{MIN,MAX}_KEY_SIZE
PROVISIONING_TYPES = (1, 2)  # FSCRYPT_KEY_SPEC_TYPE_*


def provisioning_type(payload: bytes, order: str) -> int:
    """The first word."""
    return int.from_bytes(payload[:4], "little" if order == "little" else "big")


def _provisioning(payload: bytes) -> None:
    """fscrypt_provisioning_key_preparse().  EINVAL."""
    kinds = {provisioning_type(payload, order) for order in ("little", "big")}
    if (
        len(payload) - PROVISIONING_HEAD not in PROVISIONING_RAW
        or not kinds & set(PROVISIONING_TYPES)
        or any(payload[4:8])
    ):
        raise KernelError(EINVAL, "payload")


def _asymmetric_restriction(words: str, ring: int, keys: Mapping[int, object]) -> None:
    """asymmetric_lookup_restriction().  EINVAL, ENOKEY, EDEADLK."""
    if words in ("builtin_trusted", "builtin_and_secondary_trusted"):
        return
    kind, _, rest = words.partition(":")
    number, colon, chain = rest.partition(":")
    if kind != "key_or_keyring" or not number.isdigit() or (colon and chain != "chain") or not int(number):
        raise KernelError(EINVAL)
    if int(number) not in keys:
        raise KernelError(ENOKEY)
    if int(number) == ring:
        raise KernelError(EDEADLK)


class KeyType:
    """struct key_type."""

    def __init__(
        self, name: str, readable: bool, updatable: bool, preparse: Preparse = _user_payload, vet: Vet = _any,
        refused: int = 0, restriction: Restriction | None = None,
    ) -> None:  # fmt: skip
        self.name, self.readable, self.updatable = name, readable, updatable
        self.preparse, self.vet = preparse, vet
        self.refused = refused  # instantiate(): why users make none
        self.restriction = restriction  # lookup_restriction()

    @property
    def perm(self) -> int:
        """KEY_PERM_UNDEF: what a new key of this type allows."""
        mine = NEED_VIEW | NEED_SEARCH | NEED_LINK | NEED_SETATTR | (NEED_READ if self.readable else 0)
        return (
            mine | (NEED_WRITE if self.updatable or self.name == "keyring" else 0)
        ) << KEY_POSSESSOR | NEED_VIEW << KEY_USER


TYPES = {
    row.name: row
    for row in (
        KeyType("keyring", True, False, _nothing), KeyType("user", True, True), KeyType("logon", False, True, vet=_service),
        KeyType("blacklist", False, False, _kept, _hash, EPERM),
        KeyType("fscrypt-provisioning", False, False, _provisioning),
        KeyType("asymmetric", False, False, _certificate, restriction=_asymmetric_restriction),
    )
}  # fmt: skip
