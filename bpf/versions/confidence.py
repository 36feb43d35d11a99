"""How sure an answer of the verifier is: asked, modelled on a kernel that is compared, or between such kernels."""

from __future__ import annotations

from typing import Final

from arch.abi.version import KernelVersion

RECORDED: Final = "recorded"  # this very program was asked of the real kernel
COMPARED: Final = "compared"  # the version is held against recorded answers of a real kernel
BETWEEN: Final = "between"  # rows of other versions say what it does; nobody compared it

# version: the real kernel behind the recorded answers in tests/data/
REAL_KERNELS: Final[dict[str, str]] = {
    "4.1": "Linux 4.1.3",
    "5.10": "Debian 5.10.262",
    "6.1": "Debian 6.1.192",
    "6.12": "Debian 6.12.117",
    "7.2": "Debian 7.2.13",
}


def real_kernel(version: KernelVersion) -> str | None:
    """The kernel that this version is compared with."""
    return REAL_KERNELS.get(f"{version.major}.{version.minor}")


def confidence(version: KernelVersion, recorded: bool = False) -> str:
    """RECORDED, COMPARED or BETWEEN."""
    if recorded:
        return RECORDED
    return COMPARED if real_kernel(version) is not None else BETWEEN


def in_words(version: KernelVersion) -> str:
    """The same for people, of verdicts that were not recorded."""
    real = real_kernel(version)
    if real is not None:
        return f"modelled on {real}, with whose answers this version is compared"
    known = sorted((KernelVersion.parse(text) for text in REAL_KERNELS), key=lambda row: row.key)
    below = [str(row) for row in known if row.key < version.key]
    above = [str(row) for row in known if row.key > version.key]
    place = (
        f"between {below[-1]} and {above[0]}" if below and above else f"beyond {(below or above)[-1 if below else 0]}"
    )
    return f"{place}, the nearest versions that are compared with real kernels"
