"""What moved between two kernels: functions, members of structures, values of enumerations, trace events.

Asked of two machines, so it is about what the simulated kernels have: every function that can be probed, every type of
their BTF, every trace event.  For one object only what that object names counts.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from arch.records import dataclass, field
from bpf.btf import Btf
from bpf.btf.codec import essential_name
from bpf.loader.core_spec import SpecError, parse_spec
from simkernel.cli.listing import event_names, function_names
from simkernel.machine import boot

FUNCTION_SECTIONS = ("kprobe", "kretprobe", "fentry", "fexit", "fmod_ret", "ksyscall", "kretsyscall", "lsm")
EVENT_SECTIONS = ("tp", "tracepoint", "raw_tp", "raw_tracepoint", "tp_btf", "raw_tp.w", "raw_tracepoint.w")


@dataclass(frozen=True)
class Facts:
    """What one kernel has."""

    functions: frozenset[str]
    events: frozenset[str]
    members: dict[str, str]  # "struct task_struct.pid" -> its place, "enum x.NAME" -> its value


@dataclass
class Moved:
    """The difference; of what stayed nothing is kept."""

    gone: dict[str, list[str]] = field(default_factory=dict)  # functions, events, members
    new: dict[str, list[str]] = field(default_factory=dict)
    changed: list[tuple[str, str, str]] = field(default_factory=list)  # (member, before, after)

    def __bool__(self) -> bool:
        return any((*self.gone.values(), *self.new.values(), self.changed))


@dataclass(frozen=True)
class Named:
    """What an object names of the kernel."""

    functions: frozenset[str]
    events: frozenset[str]
    members: frozenset[str]


def facts(kernel: str, arch: str) -> Facts:
    """Everything of one kernel."""
    with closing(boot(kernel=kernel, arch=arch)) as machine:
        k = machine.kernel
        return Facts(frozenset(function_names(k)), frozenset(event_names(k)), members(k.observer.kernel_btf.get()))


def members(btf: Btf) -> dict[str, str]:
    """Each named member of each named structure, and each enumerator."""
    out = {}
    for each in btf.types[1:]:
        if not each.name:
            continue
        kind = each.kind.name.lower()
        for member in each.members:
            if member.name:
                bits = member.bit_offset
                out[f"{kind} {each.name}.{member.name}"] = f"{bits // 8}" + (f" bit {bits % 8}" if bits % 8 else "")
        for name, value in each.values:
            out[f"{kind} {each.name}.{name}"] = str(value)
    return out


def named_by(path: Path, arch: str) -> Named:
    """The hooks of an object's programs and the members that its relocations are about."""
    with closing(boot(arch=arch)) as machine:
        obj = machine.open(path)
    functions, events, fields = set(), set(), set()
    for program in obj.programs.values():
        kind, _, target = program.section_name.partition("/")
        kind = kind.removesuffix(".s")
        if kind in FUNCTION_SECTIONS and target:
            functions.add(target.partition("+")[0])
        elif kind in EVENT_SECTIONS and target:
            events.add(target.replace("/", ":"))
    if obj.btf is not None and obj.ext is not None:
        for relos in obj.ext.core_relo.values():
            for relo in relos:
                try:
                    spec = parse_spec(obj.btf, relo)
                except SpecError:
                    continue
                root = obj.btf.resolved(spec.root)
                first = next((step.name for step in spec.steps if step.name), "")
                if root.name and first:
                    fields.add(f"{root.kind.name.lower()} {essential_name(root.name)}.{first}")
    return Named(frozenset(functions), frozenset(events), frozenset(fields))


def moved(before: Facts, after: Facts, only: Named | None = None) -> Moved:
    """The difference, of everything or of what an object names."""
    out = Moved()
    sets = {
        "functions": (before.functions, after.functions, None if only is None else only.functions),
        "events": (before.events, after.events, None if only is None else only.events),
        "members": (frozenset(before.members), frozenset(after.members), None if only is None else only.members),
    }
    for what, (old, new, wanted) in sets.items():
        out.gone[what] = sorted(name for name in old - new if named(name, wanted))
        out.new[what] = sorted(name for name in new - old if named(name, wanted))
    both = before.members.keys() & after.members.keys()
    changes = ((name, before.members[name], after.members[name]) for name in sorted(both))
    out.changed = [c for c in changes if c[1] != c[2] and named(c[0], None if only is None else only.members)]
    return out


def named(name: str, wanted: frozenset[str] | None) -> bool:
    """An event is also named without its group."""
    return wanted is None or name in wanted or name.rpartition(":")[2] in wanted
