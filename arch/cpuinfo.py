"""/proc/cpuinfo: what an architecture says of its CPUs, as rows.  arch/*/kernel/{cpu/proc,setup,cpuinfo,processor}.c.

Names and values are texts in which {cpu} is the CPU's number and {cpus} how many there are.
"""

from __future__ import annotations

from arch.records import dataclass


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache, as drivers/base/cacheinfo.c tells it; `line` in bytes."""

    level: int
    kind: str  # Data, Instruction, Unified
    kilobytes: int
    ways: int
    line: int = 64
    shared: bool = False  # by all CPUs


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """The file: `head` once, `rows` (name, value) for each CPU with an empty line after, then `lines`, one per CPU."""

    head: str = ""
    rows: tuple[tuple[str, str], ...] = (("processor\t", "{cpu}"),)
    line: str = ""
    caches: tuple[Cache, ...] = ()  # in /sys/devices/system/cpu/cpuN/cache
    tells_vulnerabilities: bool = False  # CONFIG_GENERIC_CPU_VULNERABILITIES

    def text(self, cpus: int) -> str:
        """The file of a machine with so many CPUs."""
        out = [self.head.format(cpus=cpus)]
        for cpu in range(cpus) if self.rows else ():
            for name, value in self.rows:
                value = value.format(cpu=cpu, cpus=cpus)
                out.append(f"{name}: {value}\n" if value else f"{name}:\n")
            out.append("\n")
        if self.line:
            out += [self.line.format(cpu=cpu) for cpu in range(cpus)]
            out.append("\n")
        return "".join(out)
