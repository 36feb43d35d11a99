"""capstone, read when something is to be disassembled: at an oops, a fault to be located, `simkernel disasm`."""

from __future__ import annotations

from functools import cache
from typing import Any

from arch.support import TextFacts


def decoder(facts: TextFacts, detail: bool = False) -> Any:
    """A capstone.Cs for kernel and user text of one CPU; with operands if `detail` is asked for."""
    return _decoder(facts.capstone_arch, facts.capstone_modes, detail)


@cache
def _decoder(arch: str, modes: tuple[str, ...], detail: bool) -> Any:
    import capstone

    names = vars(capstone)
    made = capstone.Cs(names[arch], sum(names[mode] for mode in modes))
    made.detail = detail
    return made
