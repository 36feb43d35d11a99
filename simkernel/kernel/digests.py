"""Hashes that the kernel's crypto knows by name.  crypto/shash.c."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hashlib

DIGESTS = (
    "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3-224", "sha3-256", "sha3-384", "sha3-512",
)  # fmt: skip


def begin(algorithm: str, data: bytes = b"") -> hashlib._Hash:
    """One of DIGESTS, begun."""
    import hashlib  # OpenSSL's library comes with it

    return hashlib.new(algorithm.replace("sha3-", "sha3_"), data, usedforsecurity=False)
