"""What keyctl(2) computes with keys.  security/keys/{dh,keyctl_pkey}.c.

Asymmetric keys cannot be made here, so that public-key operations end where the key turns out to be of another type.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EMSGSIZE, ENOENT, ENOKEY, EOPNOTSUPP, EOVERFLOW
from arch.errors import KernelError
from arch.hosttime import check
from simkernel.kernel.digests import DIGESTS, begin
from simkernel.kernel.face import KernelFace
from simkernel.kernel.keys.special import lookup
from simkernel.kernel.keys.types import NEED_READ, NEED_SEARCH

PRIME_BYTES = 1536 // 8  # dh_check_params_length(): no fewer, zeros in front included
MAX_EXTERN_MPI_BITS = 16384  # lib/mpi/mpicoder.c: larger numbers are not read
LIMB = 64  # bits: results are as many bytes as the prime's value has in whole limbs
WINDOW = 5  # bits of an exponent that are done at a time: 2 ms with the largest prime
KDF_OUTPUT, KDF_OTHERINFO = 1024, 64  # KEYCTL_KDF_MAX_{OUTPUT,OI}_LEN
ALGORITHM = 128  # CRYPTO_MAX_ALG_NAME
PKEY_WORDS = ("enc=", "hash=")  # param_keys


def _signed(number: int) -> int:
    return number - (number >> 31 << 32)


def _number(k: KernelFace, serial: int) -> bytes:
    """dh_data_from_key().  ENOKEY, EOPNOTSUPP, EKEYEXPIRED."""
    try:
        key = lookup(k, _signed(serial), NEED_READ).key
    except KernelError:
        raise KernelError(ENOKEY) from None
    if key.type.name != "user":
        raise KernelError(EOPNOTSUPP)
    return key.payload


def _kdf(k: KernelFace, addr: int, size: int) -> tuple[str, bytes]:
    """struct keyctl_kdf_params: the name of a hash, and what is hashed behind the secret.  EFAULT, EINVAL, EMSGSIZE, ENOENT, ENOKEY."""
    word, order = k.arch.model.word, k.mem.byteorder
    raw = k.usercopy.copy_from_user(addr, 2 * word + 4 + 32)
    name_at, info_at = (int.from_bytes(raw[at : at + word], order) for at in (0, word))
    length = int.from_bytes(raw[2 * word : 2 * word + 4], order)
    if any(raw[2 * word + 4 :]):
        raise KernelError(EINVAL)
    if size > KDF_OUTPUT or length > KDF_OTHERINFO:
        raise KernelError(EMSGSIZE)
    name = bytes(k.usercopy.strncpy_from_user(name_at, ALGORITHM)).decode("latin-1")
    if name.removeprefix("hmac(").removesuffix(")") not in DIGESTS:
        raise KernelError(ENOENT)
    return name, k.usercopy.copy_from_user(info_at, length) if length else b""


def _derive(name: str, secret: bytes, size: int) -> bytes:
    """crypto_kdf108_ctr_generate().  ENOKEY of a hash that needs a key, where it is used at all."""
    if size and name not in DIGESTS:
        raise KernelError(ENOKEY)
    out, counter = b"", 1
    while len(out) < size:
        out += begin(name, counter.to_bytes(4, "big") + secret).digest()
        counter += 1
    return out[:size]


def _power(base: int, exponent: int, modulus: int) -> int:
    """mpi_powm(), some bits of the exponent at a time: whoever stops the host does not wait for all of it."""
    powers = [1 % modulus]
    while len(powers) < 1 << WINDOW:
        powers.append(powers[-1] * base % modulus)
    result = powers[0]
    for at in range(-(-exponent.bit_length() // WINDOW) - 1, -1, -1):
        check()
        result = pow(result, 1 << WINDOW, modulus) * powers[exponent >> at * WINDOW & (1 << WINDOW) - 1] % modulus
    return result


def dh_compute(k: KernelFace, params: int, buffer: int, size: int, kdf: int) -> int:
    """base to the private key modulo prime, or what is derived from it.  EINVAL, EFAULT, EMSGSIZE, ENOENT, ENOKEY, EOPNOTSUPP, EOVERFLOW."""
    if not params or (not buffer and size):
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(params, 12)
    derived = _kdf(k, kdf, size) if kdf else None
    private, prime, base = (int.from_bytes(raw[at : at + 4], k.mem.byteorder) for at in (0, 4, 8))
    p, g, x = (_number(k, serial) for serial in (prime, base, private))
    if len(x) > len(p) or len(g) > len(p) or len(p) < PRIME_BYTES:
        raise KernelError(EINVAL)
    modulus, number, exponent = (int.from_bytes(raw, "big") for raw in (p, g, x))
    if not modulus or max(modulus, number, exponent).bit_length() > MAX_EXTERN_MPI_BITS:
        raise KernelError(EINVAL)
    length = -(-modulus.bit_length() // LIMB) * LIMB // 8
    if derived is None and size == 0:
        return length
    if derived is None and length > size:
        raise KernelError(EOVERFLOW)
    secret = _power(number, exponent, modulus).to_bytes(length, "big")
    answer = secret if derived is None else _derive(derived[0], secret + derived[1], size)
    k.usercopy.copy_to_user(buffer, answer)
    return len(answer)


def _pkey(k: KernelFace, serial: int, info: int) -> None:
    """keyctl_pkey_params_get().  EFAULT, EINVAL, ENOKEY, EOPNOTSUPP."""
    words = bytes(k.usercopy.strncpy_from_user(info, 4096)).decode("latin-1").split()
    seen = [next((name for name in PKEY_WORDS if word.startswith(name) and word != name), None) for word in words]
    if None in seen or len(set(seen)) < len(seen):
        raise KernelError(EINVAL)
    try:
        lookup(k, _signed(serial), NEED_SEARCH)
    except KernelError:
        raise KernelError(ENOKEY) from None
    raise KernelError(EOPNOTSUPP)


def pkey_query(k: KernelFace, serial: int, password: int, info: int, answer: int) -> int:
    """What a key can do.  EINVAL, and _pkey()'s."""
    if password:
        raise KernelError(EINVAL)
    _pkey(k, serial & 0xFFFFFFFF, info)
    return 0


def pkey_operation(k: KernelFace, params: int, info: int, data: int, other: int) -> int:
    """Encrypt, decrypt, sign, verify.  EFAULT, and _pkey()'s."""
    raw = k.usercopy.copy_from_user(params, 40)
    _pkey(k, int.from_bytes(raw[:4], k.mem.byteorder), info)
    return 0
