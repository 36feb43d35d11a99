"""The argument strings of USDT probes: `-4@-20(%rbp) 8@%rax 4@$5`.  tools/lib/bpf/usdt.c: parse_usdt_arg().

Per architecture: which forms there are, in the order they are tried, and where each register is in the struct
pt_regs that programs see.  Offsets in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arch.abi.errno import E2BIG, EINVAL, ENOENT
from bpf.loader.scanf import scanf

MAX_ARGS = 12  # BPF_USDT_MAX_ARG_CNT
CONST, REG, REG_DEREF, SIB = 0, 1, 2, 3
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


@dataclass(frozen=True, slots=True)
class Form:
    """One sscanf format; `needs` conversions must be stored; `order` names them."""

    type: int
    format: str
    order: tuple[str, ...]


def _x86(pointer: int, names: tuple[str, ...], numbered: bool) -> dict[str, int]:
    """Names of each register at every width; `names` in the order of struct pt_regs."""
    offsets = {name: pointer * at for at, name in enumerate(names)}
    table = {}
    for wide, letters in (("ax", "al"), ("bx", "bl"), ("cx", "cl"), ("dx", "dl"), ("si", "sil"), ("di", "dil"),
                          ("bp", "bpl"), ("sp", "spl")):  # fmt: skip
        for alias in (f"r{wide}", f"e{wide}", wide, letters):
            table[alias] = offsets[wide]
    table["rip"] = table["eip"] = offsets["ip"]
    for number in range(8, 16) if numbered else ():
        for suffix in ("", "d", "w", "b"):
            table[f"r{number}{suffix}"] = offsets[f"r{number}"]
    return table


_X86_64_ORDER = ("r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di",
                 "orig_ax", "ip", "cs", "flags", "sp", "ss")  # fmt: skip
_I386_ORDER = ("bx", "cx", "dx", "si", "di", "bp", "ax", "ds", "es", "fs", "gs", "orig_ax", "ip", "cs", "flags", "sp",
               "ss")  # fmt: skip
_RISCV_ORDER = ("pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
                "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6")  # fmt: skip
_ARM_NAMES = {**{f"r{n}": 4 * n for n in range(11)}, "fp": 44, "ip": 48, "sp": 52, "lr": 56, "pc": 60}

REGISTERS: dict[str, Mapping[str, int]] = {
    "x86_64": _x86(8, _X86_64_ORDER, True),
    "i386": _x86(4, _I386_ORDER, False),
    "riscv64": {name: 8 * at for at, name in enumerate(_RISCV_ORDER) if name != "pc"},
    "arm": _ARM_NAMES,
}

_SIB_FORMS = (
    Form(SIB, " %d @ %ld ( %%%15[^,] , %%%15[^,] , %d ) %n", ("size", "off", "reg", "index", "scale")),
    Form(SIB, " %d @ ( %%%15[^,] , %%%15[^,] , %d ) %n", ("size", "reg", "index", "scale")),
    Form(SIB, " %d @ %ld ( %%%15[^,] , %%%15[^)] ) %n", ("size", "off", "reg", "index")),
    Form(SIB, " %d @ ( %%%15[^,] , %%%15[^)] ) %n", ("size", "reg", "index")),
)
_X86_FORMS = (
    Form(REG_DEREF, " %d @ %ld ( %%%15[^)] ) %n", ("size", "off", "reg")),
    Form(REG_DEREF, " %d @ ( %%%15[^)] ) %n", ("size", "reg")),
    Form(REG, " %d @ %%%15s %n", ("size", "reg")),
    Form(CONST, " %d @ $%ld %n", ("size", "off")),
)
_S390_FORMS = (
    Form(REG_DEREF, " %d @ %ld ( %%r%u ) %n", ("size", "off", "number")),
    Form(REG, " %d @ %%r%u %n", ("size", "number")),
    Form(CONST, " %d @ %ld %n", ("size", "off")),
)


def _arm64_forms(comma: str) -> tuple[Form, ...]:
    return (
        Form(REG_DEREF, f" %d @ [ %15[a-z0-9]{comma} %ld ] %n", ("size", "reg", "off")),
        Form(REG_DEREF, " %d @ [ %15[a-z0-9] ] %n", ("size", "reg")),
        Form(CONST, " %d @ %ld %n", ("size", "off")),
        Form(REG, " %d @ %15[a-z0-9] %n", ("size", "reg")),
    )


_RISCV_FORMS = (
    Form(REG_DEREF, " %d @ %ld ( %15[a-z0-9] ) %n", ("size", "off", "reg")),
    Form(CONST, " %d @ %ld %n", ("size", "off")),
    Form(REG, " %d @ %15[a-z0-9] %n", ("size", "reg")),
)
_ARM_FORMS = (
    Form(REG_DEREF, " %d @ [ %15[a-z0-9] , #%ld ] %n", ("size", "reg", "off")),
    Form(REG_DEREF, " %d @ [ %15[a-z0-9] ] %n", ("size", "reg")),
    Form(CONST, " %d @ #%ld %n", ("size", "off")),
    Form(REG, " %d @ %15[a-z0-9] %n", ("size", "reg")),
)
NEWEST = (1, 8)
_SIB_SINCE, _ARM_SINCE, _COMMA_SINCE = (1, 7), (1, 2), (1, 2)


def forms(arch: str, version: tuple[int, ...]) -> tuple[Form, ...]:
    """The grammar of an architecture in a version of libbpf; empty where it has none."""
    match arch:
        case "x86_64" | "i386":
            return (_SIB_FORMS if version >= _SIB_SINCE else ()) + _X86_FORMS
        case "s390x":
            return _S390_FORMS
        case "arm64" | "aarch64":
            return _arm64_forms(" ," if version >= _COMMA_SINCE else ",")
        case "riscv64":
            return _RISCV_FORMS
        case "arm" if version >= _ARM_SINCE:
            return _ARM_FORMS
        case _:
            return ()


def register_offset(arch: str, name: str) -> int:
    """calc_pt_regs_off()."""
    if arch in ("arm64", "aarch64"):
        match = scanf(name, "x%d")
        if match.count == 1:
            number = match.values[0]
            if isinstance(number, int) and 0 <= number < 31:
                return 8 * number
        elif name == "sp":
            return 248
    else:
        found = REGISTERS[arch].get(name)
        if found is not None:
            return found
    raise ArgumentError(ENOENT, f"usdt: unrecognized register '{name}'")


def parse_argument(text: str, number: int, arch: str, version: tuple[int, ...]) -> tuple[Argument, int]:
    """The first argument of a string, and how many characters it took."""
    for form in forms(arch, version):
        match = scanf(text, form.format)
        if match.count != len(form.order):
            continue
        found = dict(zip(form.order, match.values, strict=True))
        place = _place(form, found, arch)
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
    if not forms(arch, version):
        raise ArgumentError(95, "usdt: libbpf doesn't support USDTs on current architecture")
    raise ArgumentError(EINVAL, f"usdt: unrecognized arg #{number} spec '{text}'")


def _place(form: Form, found: dict[str, int | str], arch: str) -> dict[str, int]:
    place: dict[str, int] = {}
    if form.type != REG:
        place["val_off"] = int(found.get("off", 0))
    if "number" in found:
        register = int(found["number"])
        if register > 15:
            raise ArgumentError(EINVAL, f"usdt: unrecognized register '%r{register}'")
        place["reg_off"] = 24 + 8 * register
    if "reg" in found:
        place["reg_off"] = register_offset(arch, str(found["reg"]))
    if "index" in found:
        place["idx_reg_off"] = register_offset(arch, str(found["index"]))
        scale = int(found.get("scale", 1))
        if scale not in (1, 2, 4, 8):
            raise ArgumentError(EINVAL, f"usdt: invalid SIB scale {scale}, expected 1, 2, 4, 8")
        place["scale_bitshift"] = scale.bit_length() - 1
    return place


def parse_arguments(
    text: str, arch: str, provider: str = "prov", name: str = "name", version: tuple[int, ...] = (1, 1)
) -> list[Argument]:
    """All arguments of a note.  parse_usdt_spec(); ArgumentError as libbpf fails."""
    found: list[Argument] = []
    rest = text
    while rest:
        if len(found) >= MAX_ARGS:
            where = f"'{provider}:{name}' with args spec '{text}'"
            raise ArgumentError(E2BIG, f"usdt: too many USDT arguments (> {MAX_ARGS}) for {where}")
        argument, length = parse_argument(rest, len(found), arch, version)
        found.append(argument)
        rest = rest[length:]
    return found
