"""Variables an object expects from the kernel: `.kconfig` (options and facts) and `.ksyms` (addresses, kfuncs).

tools/lib/bpf/libbpf.c: bpf_object__collect_externs(), bpf_object__resolve_externs().
"""

from __future__ import annotations

import zlib

from arch.abi.elf import SHN_UNDEF, STB_WEAK
from arch.abi.errno import EINVAL, ENOENT, ESRCH
from arch.errors import KernelError
from arch.records import dataclass
from bpf.btf import Btf, BtfError, Kind
from bpf.btf.codec import INT_BOOL, INT_SIGNED
from bpf.loader.elf import ElfObject
from bpf.loader.errors import LoadError
from bpf.loader.probes import Features
from bpf.loader.sys import Task


@dataclass
class Extern:
    """One expected symbol.  `kind`: "kconfig", "ksym" (address), "ksym var" (BTF), "kfunc"."""

    name: str
    kind: str
    type_id: int
    weak: bool
    size: int = 0
    align: int = 1
    offset: int = 0  # in the .kconfig data
    is_set: bool = False
    number: int = 0
    second: int = 0


def collect(elf: ElfObject, btf: Btf | None) -> dict[str, Extern]:
    """The undefined symbols, classified by the BTF section that declares them."""
    names = {s.name: s for s in elf.symbols if s.section == SHN_UNDEF and s.name and s.bind != 0}
    if not names or btf is None:
        return {}
    found: dict[str, Extern] = {}
    for section in (".kconfig", ".ksyms"):
        datasec = btf.find(section, Kind.DATASEC)
        for row in btf[datasec].secinfos if datasec else ():
            t = btf[row.type]
            if t.name in names:
                found[t.name] = _classify(btf, section, row.type, names[t.name].bind == STB_WEAK)
    _place(found)
    return found


def _classify(btf: Btf, section: str, type_id: int, weak: bool) -> Extern:
    t = btf[type_id]
    if section == ".kconfig":
        try:
            size = btf.size_of(t.type)
        except BtfError:
            raise LoadError(f"failed to resolve size of extern (kcfg) '{t.name}'") from None
        if size <= 0:
            raise LoadError(f"failed to resolve size of extern (kcfg) '{t.name}': {size}")
        return Extern(t.name, "kconfig", t.type, weak, size, btf.align_of(t.type))
    if t.kind is Kind.FUNC:
        return Extern(t.name, "kfunc", t.type, weak)
    kind = "ksym" if btf.resolved(t.type).kind is Kind.VOID else "ksym var"
    return Extern(t.name, kind, t.type, weak)


def _place(externs: dict[str, Extern]) -> None:
    """Layout of the .kconfig data: big alignments first, as libbpf sorts them."""
    offset = 0
    kconfig = [e for e in externs.values() if e.kind == "kconfig"]
    for e in sorted(kconfig, key=lambda e: (-e.align, e.size, e.name)):
        offset = (offset + e.align - 1) // e.align * e.align
        e.offset = offset
        offset += e.size


def kconfig_size(externs: dict[str, Extern]) -> int:
    return max((e.offset + e.size for e in externs.values() if e.kind == "kconfig"), default=0)


class Resolver:
    """Gives externs their values from the kernel at hand."""

    def __init__(
        self, task: Task, features: Features, btf: Btf, kernel_btf: Btf | None, kconfig_text: str = ""
    ) -> None:
        self.task = task
        self.features = features
        self.btf = btf
        self.kernel_btf = kernel_btf
        self.kconfig_text = kconfig_text

    def resolve(self, externs: dict[str, Extern], data: bytearray) -> None:
        options: dict[str, str] | None = None
        for e in externs.values():
            if e.kind != "kconfig":
                continue
            if e.name.startswith("LINUX_"):
                self._virtual(e, data)
            elif e.name.startswith("CONFIG_"):
                if options is None:
                    options = self._options()
                if e.name in options:
                    self._option(e, options[e.name], data)
            else:
                raise LoadError(f"extern (kcfg) '{e.name}': unrecognized extern")
        symbols: dict[str, int] | None = None
        for e in externs.values():
            if e.kind == "ksym":
                if symbols is None:
                    symbols = self._kallsyms()
                if e.name in symbols:
                    e.number, e.is_set = symbols[e.name], True
            elif e.kind == "ksym var":
                self._variable(e)
            elif e.kind == "kfunc":
                self._function(e)
        for e in externs.values():
            if not e.is_set and not e.weak:
                raise LoadError(f"extern '{e.name}' (strong): not resolved", ESRCH)

    def _virtual(self, e: Extern, data: bytearray) -> None:
        """bpf_object__resolve_externs(): what libbpf itself knows about the kernel."""
        match e.name:
            case "LINUX_KERNEL_VERSION":
                value = kernel_version(self.task)
                if not value:
                    raise LoadError(f"extern (kcfg) '{e.name}': failed to get kernel version")
            case "LINUX_HAS_BPF_COOKIE":
                value = int(self.features.bpf_cookie)
            case "LINUX_HAS_SYSCALL_WRAPPER":
                value = int(self.features.syscall_wrapper)
            case _:
                if e.weak:
                    return
                raise LoadError(f"extern (kcfg) '{e.name}': unrecognized virtual extern")
        self._number(e, value, data)

    def _options(self) -> dict[str, str]:
        """CONFIG_* from /boot/config-RELEASE or /proc/config.gz, overridden by what the user gave."""
        text = ""
        for path in (f"/boot/config-{uname_release(self.task)}", "/proc/config.gz"):
            try:
                raw = self.task.read_file(path)
            except KernelError:
                continue
            text = zlib.decompress(raw, 31).decode() if raw[:2] == b"\x1f\x8b" else raw.decode()
            break
        lines = (text + "\n" + self.kconfig_text).splitlines()
        pairs = (line.split("=", 1) for line in lines if line.startswith("CONFIG_") and "=" in line)
        return {name: value.strip() for name, value in pairs}

    def _option(self, e: Extern, value: str, data: bytearray) -> None:
        t = self.btf.resolved(e.type_id)
        is_char = t.kind is Kind.INT and t.size == 1 and not t.encoding & INT_BOOL
        if value in ("y", "n", "m"):
            if t.kind is Kind.INT and t.encoding & INT_BOOL:
                if value == "m":
                    raise LoadError(f"extern (kcfg) '{e.name}': value '{value}' implies tristate or char type")
                self._number(e, int(value == "y"), data)
            elif t.kind in (Kind.ENUM, Kind.ENUM64):
                self._number(e, {"n": 0, "y": 1, "m": 2}[value], data)
            elif is_char:
                self._number(e, ord(value), data)
            else:
                raise LoadError(f"extern (kcfg) '{e.name}': value '{value}' implies bool, tristate, or char type")
        elif value.startswith('"'):
            if t.kind is not Kind.ARRAY or not value.endswith('"') or len(value) < 2:
                raise LoadError(f"extern (kcfg) '{e.name}': value '{value}' implies char array type")
            text = value[1:-1].encode("utf-8", "surrogateescape")[: e.size - 1]
            data[e.offset : e.offset + e.size] = text.ljust(e.size, b"\0")
            e.is_set = True
        else:
            try:
                number = int(value, 0)
            except ValueError:
                raise LoadError(f"extern (kcfg) '{e.name}': value '{value}' isn't a valid integer") from None
            self._number(e, number, data)

    def _number(self, e: Extern, value: int, data: bytearray) -> None:
        t = self.btf.resolved(e.type_id)
        bits = 8 * e.size
        signed = t.kind is Kind.INT and bool(t.encoding & INT_SIGNED)
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
        if not low <= value < high:
            raise LoadError(f"extern (kcfg) '{e.name}': value '{value}' doesn't fit in {e.size} bytes")
        data[e.offset : e.offset + e.size] = (value & ((1 << bits) - 1)).to_bytes(e.size, self.task.byteorder)
        e.is_set = True

    def _kallsyms(self) -> dict[str, int]:
        table: dict[str, int] = {}
        for line in self.task.read_file("/proc/kallsyms").decode().splitlines():
            parts = line.split()
            if len(parts) >= 3:
                table.setdefault(parts[2], int(parts[0], 16))
        return table

    def _kernel(self, e: Extern) -> Btf | None:
        if self.kernel_btf is None and not e.weak:
            raise LoadError(f"extern '{e.name}': the kernel has no BTF", ENOENT)
        return self.kernel_btf

    def _variable(self, e: Extern) -> None:
        btf = self._kernel(e)
        found = btf.find(e.name, Kind.VAR) if btf else 0
        if found:
            e.number, e.is_set = found, True
        elif not e.weak:
            raise LoadError(f"extern (var ksym) '{e.name}': not found in kernel BTF")

    def _function(self, e: Extern) -> None:
        btf = self._kernel(e)
        found = btf.find(e.name, Kind.FUNC) if btf else 0
        if found:
            e.number, e.is_set = found, True
        elif not e.weak:
            raise LoadError(f"extern (func ksym) '{e.name}': not found in kernel or module BTFs")


def uname_release(task: Task) -> str:
    with task.memory() as m:
        at = m.put(bytes(65 * 6))
        task.call("uname", at)
        return task.sys.read(at, 65 * 6)[130:195].split(b"\0")[0].decode()


def kernel_version(task: Task) -> int:
    """LINUX_VERSION_CODE of the running kernel: `6.1.192` is 6 << 16 | 1 << 8 | 192."""
    numbers = []
    for part in uname_release(task).replace("-", ".").replace("+", ".").split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major << 16 | minor << 8 | min(patch, 255)


__all__ = ["EINVAL", "Extern", "Resolver", "collect", "kconfig_size", "kernel_version", "uname_release"]
