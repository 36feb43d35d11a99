"""Variables that every CPU has its own of, as programs reach them: bpf_per_cpu_ptr() and bpf_this_cpu_ptr().

A variable's symbol is the address of the first CPU's; those of the others follow at equal distances, as behind
__per_cpu_offset[] on Linux.  A kernel whose BTF is recorded has all the variables that stand there, at their places in the
section; what nothing here keeps is zero.
"""

from __future__ import annotations

from functools import cached_property

from arch.abi.limits import PAGE_SIZE
from arch.ctype import CType
from bpf.btf import Kind
from bpf.btf.recorded import machine_btf
from simkernel.kernel.face import KernelFace
from simkernel.kernel.runqueue import RunQueue
from simkernel.kernel.task import Task

# name -> (type, the first version with it)
VARIABLES: dict[str, tuple[str, str]] = {
    "bpf_prog_active": ("int", "4.1"),
    "bpf_task_storage_busy": ("int", "5.11"),
    "runqueues": ("struct rq", "4.1"),
}
SECTION = ".data..percpu"


class PerCpu:
    """The per-CPU section of one machine; it gets its memory when somebody asks for an address."""

    def __init__(self, k: KernelFace) -> None:
        self.k = k
        self.start = 0
        self._shown = False

    @cached_property
    def declared(self) -> dict[str, tuple[CType, int]]:
        """Type and offset of each variable, for a kernel that nobody asked."""
        found: dict[str, tuple[CType, int]] = {}
        size = 0
        for name, (text, since) in VARIABLES.items():
            if self.k.version.at_least(since):
                ctype = self.k.types.type(text)
                found[name] = (ctype, size)
                size += (ctype.size + 63) // 64 * 64
        return found

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Offset and size of each variable."""
        btf = machine_btf(self.k.arch.name, self.k.version)
        if btf is None or not btf.find(SECTION, Kind.DATASEC):  # 5.10: that BTF has no variables
            return {name: (offset, ctype.size) for name, (ctype, offset) in self.declared.items()}
        rows = btf[btf.find(SECTION, Kind.DATASEC)].secinfos
        return {btf[row.type].name: (row.offset, row.size) for row in rows}

    @cached_property
    def stride(self) -> int:
        """Bytes from one CPU's section to the next."""
        size = max((offset + size for offset, size in self.places.values()), default=0)
        return (size + PAGE_SIZE - 1) // PAGE_SIZE * PAGE_SIZE

    def add_symbol(self, name: str) -> bool:
        """The symbol of a variable; False for another name."""
        if name not in self.places:
            return False
        if not self.start:
            self._allocate()
        offset, size = self.places[name]
        self.k.symbols.add(name, self.start + offset, size, "D")
        return True

    def _allocate(self) -> None:
        k = self.k
        self.start = k.mem.alloc(self.stride * k.nr_cpus, PAGE_SIZE)
        for cpu in range(k.nr_cpus):
            base = self.start + self.offset(cpu)
            k.view(base + self.places["runqueues"][0], "struct rq").cpu = cpu
            for name, value in (("cpu_number", cpu), ("this_cpu_off", self.offset(cpu))):
                if name in self.places:
                    offset, size = self.places[name]
                    k.mem.write(base + offset, value.to_bytes(size, k.mem.byteorder))

    def show_queues(self) -> None:
        """From now on struct rq says how many tasks are on each CPU, and each task which queue it is in and what it has used."""
        if self._shown or "runqueues" not in self.places:  # without BTF of it nobody finds the queues
            return
        self._shown = self.k.mirror.shows_areas = True
        for task in self.k.tasks.by_pid.values():
            if task.mm is not None:
                self.k.mirror.areas_changed(task.mm)
        if not self.start:
            self._allocate()
        for rq in self.k.cpus.rqs:
            self._tell(rq, rq.current)
            for task in rq.tasks:
                self._tell(rq, task)
            rq.told, rq.ran = self._tell, self._used
        for task in self.k.tasks.by_pid.values():
            self._used(task, self.k.clock.now_ns)

    def hide_queues(self) -> None:
        """Nobody looks any more: until somebody does, that stays as it is."""
        if self._shown:
            self._shown = self.k.mirror.shows_areas = False
            for rq in self.k.cpus.rqs:
                rq.told = rq.ran = None

    def _used(self, task: Task, now_ns: int) -> None:
        """update_curr(), account_user_time(): what a task has used by now."""
        if not task.addr:
            return
        put = self.k.mirror.set_field
        for member, value in (
            ("se.sum_exec_runtime", task.sum_exec_ns), ("se.vruntime", task.vruntime), ("se.exec_start", now_ns), ("min_flt", task.min_flt),
            ("maj_flt", task.maj_flt), ("utime", task.utime_ns), ("stime", task.stime_ns),
        ):  # fmt: skip
            put(task.addr, "task_struct", member, value)

    def _tell(self, rq: RunQueue, task: Task) -> None:
        """update_rq(): `task` is on it from now on."""
        mirror = self.k.mirror
        address = self.start + self.offset(rq.cpu) + self.places["runqueues"][0]
        on_cpu = () if task is rq.idle or task in rq.tasks else (task,)
        if not on_cpu and rq.current is not rq.idle and rq.current.on_rq and rq.current not in rq.tasks:
            on_cpu = (rq.current,)
        fair = sum(other.prio_class for other in (*rq.tasks, *on_cpu))
        mirror.set_field(address, "rq", "nr_running", len(rq.tasks) + len(on_cpu))
        mirror.set_field(address, "rq", "cfs.nr_running", fair)
        mirror.set_field(address, "rq", "cfs.h_nr_running", fair)
        mirror.set_field(address, "rq", "curr", task.addr if task not in rq.tasks else rq.current.addr)
        if task.addr:  # one that a stopped machine lets end has given it back
            mirror.set_field(task.addr, "task_struct", "se.cfs_rq", address + mirror.offset_of("struct rq", "cfs"))
            mirror.set_field(task.addr, "task_struct", "se.exec_start", self.k.clock.now_ns)

    def offset(self, cpu: int) -> int:
        """Bytes from a variable's address to that CPU's own."""
        return cpu * self.stride
