"""What the loader knows better than the verifier: a refused call stands for a relocation that found nothing.  fixup_verifier_log()."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bpf.btf import Btf
from bpf.btf.ext import CoreRelo
from bpf.loader.core_patch import BAD_RELO
from bpf.loader.core_spec import parse_spec

FOUND_NOTHING = "<invalid CO-RE relocation>"
REFUSED = re.compile(rf"^(\d+): [^\n]*call unknown#{BAD_RELO}\ninvalid func unknown#{BAD_RELO}\n", re.MULTILINE)


def in_loader_words(log: str, local: Btf, relocations: Iterable[tuple[int, int, CoreRelo]]) -> str:
    """The log of a rejected program; `relocations`: (instruction, number, what the compiler meant)."""
    found = list(REFUSED.finditer(log))
    if not found:
        return log
    refused = found[-1]
    at = int(refused[1])
    for place, _, relo in relocations:
        if place == at:
            words = f"{at}: {FOUND_NOTHING}\nfailed to resolve CO-RE relocation {parse_spec(local, relo)}\n"
            return log[: refused.start()] + words + log[refused.end() :]
    return log
