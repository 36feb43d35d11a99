"""The argument strings of USDT probes: `-4@-20(%rbp) 8@%rax 4@$5`.  tools/lib/bpf/usdt.c: parse_usdt_arg().

Which forms there are and where each register is, the architecture says: its rows are of arch/usdt.py.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL, ENOENT, ENOTSUP
from arch.records import dataclass
from arch.usdt import CONST, REG, REG_DEREF, SIB, Form, Usdt
from bpf.loader.scanf import scanf

MAX_ARGS = 12  # BPF_USDT_MAX_ARG_CNT
TYPE_NAMES = {CONST: "const", REG: "reg", REG_DEREF: "reg_deref", SIB: "sib"}


class ArgumentError(Exception):
    """An argument string libbpf refuses: errno, and its warning."""

    def __init__(self, errno: int, warning: str) -> None:
        super().__init__(errno, warning)
        self.errno = errno
        self.warning = warning


@dataclass(frozen=True, slots=True)
class Argument:
    """Where one argument is: struct __bpf_usdt_arg_spec."""

    type: int
    val_off: int = 0
    reg_off: int = 0
    signed: bool = False
    bitshift: int = 0
    idx_reg_off: int = 0
    scale_bitshift: int = 0


def forms(usdt: Usdt | None, version: tuple[int, ...]) -> tuple[Form, ...]:
    """The grammar of an architecture in a version of libbpf; empty where it has none."""
    return () if usdt is None else tuple(form for form in usdt.forms if form.since <= version < form.until)


def register_offset(usdt: Usdt, name: str) -> int:
    """calc_pt_regs_off()."""
    found = usdt.registers.get(name)
    if found is not None:
        return found
    numbered = usdt.numbered
    if numbered is not None and numbered.format:
        match = scanf(name, numbered.format)
        if match.count == 1:
            number = match.values[0]
            if isinstance(number, int) and 0 <= number < numbered.count:
                return numbered.first + numbered.step * number
    raise ArgumentError(ENOENT, f"usdt: unrecognized register '{name}'")


def parse_argument(text: str, number: int, usdt: Usdt | None, version: tuple[int, ...]) -> tuple[Argument, int]:
    """The first argument of a string, and how many characters it took."""
    known = forms(usdt, version)
    for form in known:
        match = scanf(text, form.format)
        if match.count != len(form.order):
            continue
        found = dict(zip(form.order, match.values, strict=True))
        assert usdt is not None
        place = _place(form, found, usdt)
        size = int(found["size"])
        if abs(size) not in (1, 2, 4, 8):
            shown = abs(size) & 0xFFFFFFFF
            shown = shown - (1 << 32) if shown >> 31 else shown
            raise ArgumentError(EINVAL, f"usdt: unsupported arg #{number} (spec '{text}') size: {shown}")
        if match.length is None:
            # libbpf would go on by an uninitialised number of characters.
            raise ArgumentError(EINVAL, f"usdt: unrecognized arg #{number} spec '{text}'")
        shift = 64 - 8 * abs(size)
        return Argument(form.type, signed=size < 0, bitshift=shift, **place), match.length
    if not known:
        raise ArgumentError(ENOTSUP, "usdt: libbpf doesn't support USDTs on current architecture")
    raise ArgumentError(EINVAL, f"usdt: unrecognized arg #{number} spec '{text}'")


def _place(form: Form, found: dict[str, int | str], usdt: Usdt) -> dict[str, int]:
    place: dict[str, int] = {}
    if form.type != REG:
        place["val_off"] = int(found.get("off", 0))
    if "number" in found and usdt.numbered is not None:
        register = int(found["number"])
        if register >= usdt.numbered.count:
            raise ArgumentError(EINVAL, f"usdt: unrecognized register '%r{register}'")
        place["reg_off"] = usdt.numbered.first + usdt.numbered.step * register
    if "reg" in found:
        place["reg_off"] = register_offset(usdt, str(found["reg"]))
    if "index" in found:
        place["idx_reg_off"] = register_offset(usdt, str(found["index"]))
        scale = int(found.get("scale", 1))
        if scale not in (1, 2, 4, 8):
            raise ArgumentError(EINVAL, f"usdt: invalid SIB scale {scale}, expected 1, 2, 4, 8")
        place["scale_bitshift"] = scale.bit_length() - 1
    return place


def parse_arguments(
    text: str, usdt: Usdt | None, provider: str = "prov", name: str = "name", version: tuple[int, ...] = (1, 1)
) -> list[Argument]:
    """All arguments of a note.  parse_usdt_spec(); ArgumentError as libbpf fails."""
    found: list[Argument] = []
    rest = text
    while rest:
        if len(found) >= MAX_ARGS:
            where = f"'{provider}:{name}' with args spec '{text}'"
            raise ArgumentError(E2BIG, f"usdt: too many USDT arguments (> {MAX_ARGS}) for {where}")
        argument, length = parse_argument(rest, len(found), usdt, version)
        found.append(argument)
        rest = rest[length:]
    return found
