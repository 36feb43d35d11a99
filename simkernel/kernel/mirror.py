"""Tasks, credentials and address spaces as structures in kernel memory: what a BPF program that walks
task->real_parent->tgid finds.  include/linux/{sched,cred,mm_types}.h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from arch.abi.limits import PAGE_SIZE
from arch.abi.sched import SCHED_DEADLINE, SCHED_FIFO, SCHED_RR
from arch.abi.signal import SS_DISABLE
from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.cview import number_place
from arch.memory import KernelMemory, Memory
from arch.typetable import TypeTable
from simkernel.kernel.areas import Space, Vma, area_counts
from simkernel.kernel.exec_state import LinuxBinprm
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import PF_IDLE, TASK_DEAD, CloneArgs, Cred, SignalStruct, Task
from simkernel.kernel.user_structs import UserStructs
from simkernel.kernel.weights import weight_of

SAVED_AUXV = 48  # words of mm->saved_auxv (AT_VECTOR_SIZE of x86-64)
MMF_DUMP_FILTER_SHIFT = 2
SCHED_CLASSES = {SCHED_FIFO: "rt", SCHED_RR: "rt", SCHED_DEADLINE: "dl"}

Setter = Callable[[Memory, int, int], None]
Getter = Callable[[Memory, int], int]


class Members:
    """Some members of a structure that are stored together; those that a version lacks are skipped."""

    __slots__ = ("names", "struct")

    def __init__(self, struct: str, *names: str) -> None:
        self.struct, self.names = struct, names


BORDER_NAMES = (
    "start_code", "end_code", "start_data", "end_data", "start_brk", "brk", "start_stack", "arg_start", "arg_end", "env_start", "env_end",
    "mmap_base",
)  # fmt: skip
MM_BORDERS, borders_of = Members("mm_struct", *BORDER_NAMES), attrgetter(*BORDER_NAMES)
MM_AREAS = Members("mm_struct", "total_vm", "stack_vm", "data_vm", "exec_vm", "locked_vm", "map_count")
ID_NAMES = ("uid", "euid", "suid", "fsuid", "gid", "egid", "sgid", "fsgid")
CAP_NAMES = ("cap_inheritable", "cap_permitted", "cap_effective", "cap_bset", "cap_ambient")
CRED_IDS, ids_of = (
    Members("cred", *(f"{name}.val" for name in ID_NAMES), "securebits"),
    attrgetter(*ID_NAMES, "securebits"),
)
# As two words until 6.3, as one since then.
CRED_CAPS, caps_of = (
    Members("cred", *(f"{name}.{part}" for name in CAP_NAMES for part in ("cap[0]", "cap[1]", "val"))),
    attrgetter(*CAP_NAMES),
)
CRED_USAGE = Members("cred", "usage.counter", "usage.counter.counter")
THREADS = Members(
    "signal_struct", "nr_threads", "live.counter", "quick_threads", "sigcnt.refs.counter", "sigcnt.counter"
)
OWN_MEMORY = Members(
    "task_struct", "robust_list", "rseq", "rseq_sig", "sas_ss_sp", "sas_ss_size", "sas_ss_flags", "self_exec_id"
)
OF_A_TASK = Members(
    "task_struct", "stack", "flags", "pid", "tgid", "real_parent", "parent", "group_leader", "prio", "static_prio", "normal_prio",
    "policy", "exit_signal", "exit_state", "start_time", "start_boottime", "real_start_time", "signal", "sighand", "usage.refs.counter",
    "usage.counter", "personality", "stack_refcount.refs.counter", "rcu_users.refs.counter", "timer_slack_ns", "default_timer_slack_ns",
    "loginuid.val", "sessionid", "set_child_tid", "clear_child_tid", "parent_exec_id",
)  # fmt: skip
CLONE_NAMES = ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size", "tls")
CLONE_ARGS, clone_args_of = Members("kernel_clone_args", *CLONE_NAMES), attrgetter(*CLONE_NAMES)


class Mirror:
    """`k.mirror`: writes the members that have a true value; members that a version lacks are skipped."""

    def __init__(
        self, arch: Architecture, version: KernelVersion, types: TypeTable, mem: KernelMemory, nr_cpus: int
    ) -> None:
        self.arch, self.version, self.types, self.mem, self.nr_cpus = arch, version, types, mem, nr_cpus
        self.stack_size = arch.map.stack_size
        self.user_ns_of: Callable[[Task], int] = lambda task: 0  # the struct of a task's user namespace
        self.static: Callable[[str], int] = lambda name: 0  # the address of a variable of the kernel: statics.py
        self.shows_areas = (
            False  # somebody looks: what an address space has mapped is brought up to date at each change
        )
        self.init_task = 0  # address of the first CPU's idle task, the head of the list of tasks; set at boot
        self._setters: dict[tuple[str, str], Setter] = {}
        self._stores: dict[Members, Callable[[int, Sequence[int]], None]] = {}
        self._getters: dict[tuple[str, str], Getter] = {}
        self._sizes: dict[str, int] = {}
        self._offsets: dict[tuple[str, str], int] = {}
        self._scratch = mem.alloc(64)
        self._constants: dict[str, int] = {}
        self.constants: dict[int, str] = {}  # by address
        # What every wake-up and switch stores.
        self.users = UserStructs(types, mem, self.set_field, self.offset_of)
        self._old_states = version.before("4.14")
        self._set_state = self._setter("task_struct", "__state" if version.at_least("5.14") else "state")
        self._set_cpu = [
            self._setter("task_struct", name) for name in ("cpu", "thread_info.cpu", "wake_cpu", "recent_used_cpu")
        ]
        self._set_se_on_rq = self._setter("task_struct", "se.on_rq")
        self._set_on_rq, self._set_on_cpu, self._set_nvcsw, self._set_nivcsw, self._set_utime, self._set_stime = (
            self._setter("task_struct", name) for name in ("on_rq", "on_cpu", "nvcsw", "nivcsw", "utime", "stime")
        )

    def _setter(self, struct: str, member: str) -> Setter:
        key = (struct, member)
        found = self._setters.get(key)
        if found is None:
            found = self._setters[key] = self._made_setter(f"struct {struct}", member)
        return found

    def _made_setter(self, struct: str, member: str) -> Setter:
        if not self.types.has_member(struct, member):
            return _nothing
        place = number_place(self.types.resolve(struct, member))
        return self.types.setter(struct, member) if place is None else self.mem.storer(*place)

    def set_field(self, addr: int, struct: str, member: str, value: int) -> None:
        """Store one member of a structure at a kernel address."""
        setter = self._setters.get((struct, member)) or self._setter(struct, member)
        setter(self.mem, addr, value)

    def set_fields(self, addr: int, members: Members, values: Sequence[int]) -> None:
        """set_field() of each."""
        store = self._stores.get(members)
        if store is None:
            store = self._stores[members] = self._made_store(members)
        store(addr, values)

    def _made_store(self, members: Members) -> Callable[[int, Sequence[int]], None]:
        struct = f"struct {members.struct}"
        there = [(which, name) for which, name in enumerate(members.names) if self.types.has_member(struct, name)]
        places = [(which, number_place(self.types.resolve(struct, name))) for which, name in there]
        plain = [(which, *place) for which, place in places if place is not None]
        if len(plain) == len(there):
            return self.mem.storer_of_many(plain)

        def store(addr: int, values: Sequence[int]) -> None:
            for which, name in there:
                self.set_field(addr, members.struct, name, values[which])

        return store

    def get_field(self, addr: int, struct: str, member: str) -> int:
        """Read one member; 0 when this version has none."""
        key = (struct, member)
        found = self._getters.get(key)
        if found is None:
            known = self.types.has_member(f"struct {struct}", member)
            found = self._getters[key] = self.types.getter(f"struct {struct}", member) if known else _zero
        return found(self.mem, addr)

    def size_of(self, ctype: str) -> int:
        """sizeof(), remembered."""
        found = self._sizes.get(ctype)
        if found is None:
            found = self._sizes[ctype] = self.types.sizeof(ctype)
        return found

    def offset_of(self, ctype: str, member: str) -> int:
        """offsetof(), remembered; -1 when this version has no such member."""
        key = (ctype, member)
        found = self._offsets.get(key)
        if found is None:
            found = self.types.offsetof(ctype, member) if self.types.has_member(ctype, member) else -1
            self._offsets[key] = found
        return found

    def scratch(self, data: bytes) -> int:
        """At most 64 bytes in kernel memory that live until the next ones."""
        self.mem.write(self._scratch, data)
        return self._scratch

    def constant_string(self, text: str) -> int:
        """A C string in kernel memory that is always the same one."""
        found = self._constants.get(text)
        if found is None:
            found = self._constants[text] = self.mem.alloc(len(text) + 1)
            self.mem.write(found, text.encode() + b"\0")
            self.constants[found] = text
        return found

    def scratch_string(self, text: bytes) -> int:
        """A short C string in kernel memory that lives until the next one."""
        self.mem.write(self._scratch, text[:63] + b"\0")
        return self._scratch

    # -- memory --------------------------------------------------------------------------------------------------

    def alloc_task_memory(self, task: Task) -> None:
        """struct task_struct, kernel stack, signal_struct and sighand_struct."""
        task.addr = self.mem.alloc(self.size_of("struct task_struct"), 64)
        task.stack = self.mem.alloc(self.stack_size, 4096)

    def free_task_memory(self, task: Task) -> None:
        """put_task_struct()."""
        if not task.addr:
            return
        self.mem.free(task.stack)
        self.mem.free(task.pid_addr)
        if task.security:
            self.mem.free(task.security)
            task.security = 0
        self.mem.free(task.clone_args_addr)
        task.clone_args_addr = 0
        task.pid_addr = 0
        self.mem.free(task.addr)
        self._put_cred(task)
        if task.signal.addr and not task.signal.threads:
            self.mem.free(task.signal.addr)
            self.mem.free(task.signal.sighand_addr)
            task.signal.addr = 0
        task.addr = 0

    def store_task(self, task: Task) -> None:
        """Everything that is known when a task appears."""
        addr = task.addr
        signal = task.signal
        if not signal.addr:
            signal.addr = self.mem.alloc(self.size_of("struct signal_struct"))
            signal.real_timer.addr = signal.addr + self.offset_of("struct signal_struct", "real_timer")
            self.store_oom_score_adj(task)
            signal.sighand_addr = self.mem.alloc(self.size_of("struct sighand_struct"))
            self.set_field(signal.sighand_addr, "sighand_struct", "count.refs.counter", 1)
            self.store_limits(task)
        began = task.start_time_ns
        self.set_fields(addr, OF_A_TASK, (
            task.stack, task.flags, task.pid, task.tgid, task.real_parent.addr, task.parent.addr, task.group_leader.addr, task.prio,
            task.static_prio, task.normal_prio, task.policy, task.exit_signal, task.exit_state, began, began, began, signal.addr,
            signal.sighand_addr, 1, 1, task.personality, 1, 2, task.timer_slack_ns, task.default_timer_slack_ns, task.loginuid,
            task.sessionid, task.set_child_tid, task.clear_child_tid, task.parent_exec_id,
        ))  # fmt: skip
        self.store_own_memory(task)
        self._store_load(task)
        self.store_threads(signal)
        self.store_affinity(task)
        self.store_pid(task)
        self.store_comm(task)
        self.store_state(task)
        self.store_cpu(task)
        self.store_class(task)
        self.link_lists(task)

    def store_own_memory(self, task: Task) -> None:
        """What a thread told the kernel of its memory, and how often it was another program before."""
        sas_flags = task.sas_flags if task.sas_size else SS_DISABLE | task.sas_flags
        self.set_fields(task.addr, OWN_MEMORY, (
            task.robust_list, task.rseq, task.rseq_sig, task.sas_sp, task.sas_size, sas_flags, task.self_exec_id,
        ))  # fmt: skip

    def change_flags(self, task: Task, on: int, off: int = 0) -> None:
        """task->flags (PF_*): some appear, some go."""
        task.flags = task.flags & ~off | on
        self.set_field(task.addr, "task_struct", "flags", task.flags)

    def store_threads(self, signal: SignalStruct) -> None:
        """signal->nr_threads, and how many of them are not on their way out."""
        number, live = len(signal.threads), signal.live
        self.set_fields(signal.addr, THREADS, (number, live, live, number, number))

    def store_affinity(self, task: Task) -> None:
        """task->cpus_mask, and cpus_ptr to it."""
        everywhere = (1 << self.nr_cpus) - 1
        mask = task.affinity & everywhere or everywhere
        self.set_field(task.addr, "task_struct", "nr_cpus_allowed", mask.bit_count())
        for member in ("cpus_mask", "cpus_allowed"):
            if (offset := self.offset_of("struct task_struct", member)) >= 0:
                self.mem.write_uint(task.addr + offset, self.arch.word, mask & (1 << 8 * self.arch.word) - 1)
                self.set_field(task.addr, "task_struct", "cpus_ptr", task.addr + offset)

    def store_limits(self, task: Task) -> None:
        """signal->rlim."""
        word, order = self.arch.word, self.mem.byteorder
        offset, mask = self.offset_of("struct signal_struct", "rlim"), (1 << 8 * self.arch.word) - 1
        if offset >= 0:
            data = b"".join(
                (value & mask).to_bytes(word, order) for _, pair in sorted(task.rlimits.items()) for value in pair
            )
            self.mem.write(task.signal.addr + offset, data)

    def store_pid(self, task: Task) -> None:
        """struct pid with a number for each pid namespace, from the first to the task's, and task->thread_pid."""
        mem, size = self.mem, self.size_of("struct upid")
        inside = task.pid_ns.chain() if task.pid_ns is not None else []
        if not task.pid_addr:
            task.pid_addr = mem.alloc(self.size_of("struct pid") + size * (1 + len(inside)))
        at = task.pid_addr + self.offset_of("struct pid", "numbers") + self.offset_of("struct upid", "nr")
        for level, number in enumerate((task.pid, *(space.number.get(task.pid, 0) for space in reversed(inside)))):
            mem.write_uint(at + level * size, 4, number)
        self.set_field(task.pid_addr, "pid", "level", len(inside))
        self.set_field(task.addr, "task_struct", "thread_pid", task.pid_addr)
        self.set_field(task.addr, "task_struct", "pids[0].pid", task.pid_addr)

    def link_lists(self, task: Task) -> None:
        """task->tasks, children, sibling, thread_group: circular lists with true neighbours."""
        for member in ("tasks", "children", "sibling", "thread_group", "thread_node"):
            if (offset := self.offset_of("struct task_struct", member)) >= 0:
                self._list_init(task.addr + offset)
        if task.pid and task is task.group_leader:
            offset = self.offset_of("struct task_struct", "tasks")
            self._list_add_tail(task.addr + offset, self.init_task + offset if self.init_task else 0)
        parent = task.real_parent
        if parent is not task and task is task.group_leader:
            head = parent.addr + self.offset_of("struct task_struct", "children")
            self._list_add_tail(task.addr + self.offset_of("struct task_struct", "sibling"), head)
        elif task is not task.group_leader and (offset := self.offset_of("struct task_struct", "thread_group")) >= 0:
            self._list_add_tail(task.addr + offset, task.group_leader.addr + offset)

    def adopt(self, child: Task) -> None:
        """task->real_parent, parent and sibling, when it has got another parent: the old one's list goes with its task_struct."""
        parent = child.real_parent
        self.set_field(child.addr, "task_struct", "real_parent", parent.addr)
        self.set_field(child.addr, "task_struct", "parent", child.parent.addr)
        self.disown(child)
        sibling = child.addr + self.offset_of("struct task_struct", "sibling")
        self._list_add_tail(sibling, parent.addr + self.offset_of("struct task_struct", "children"))

    def disown(self, child: Task) -> None:
        """Out of its parent's list."""
        self._list_del(child.addr + self.offset_of("struct task_struct", "sibling"))

    def unlink_task(self, task: Task) -> None:
        """Take a task out of the lists."""
        for member in ("tasks", "sibling", "thread_group"):
            if (offset := self.offset_of("struct task_struct", member)) >= 0:
                self._list_del(task.addr + offset)

    def _list_init(self, addr: int) -> None:
        word = self.arch.word
        self.mem.write_uint(addr, word, addr)
        self.mem.write_uint(addr + word, word, addr)

    def _list_add_tail(self, node: int, head: int) -> None:
        if not head or head == node:
            return
        word, mem = self.arch.word, self.mem
        last = mem.read_uint(head + word, word) or head
        mem.write_uint(node, word, head)
        mem.write_uint(node + word, word, last)
        mem.write_uint(last, word, node)
        mem.write_uint(head + word, word, node)

    def _list_del(self, node: int) -> None:
        word, mem = self.arch.word, self.mem
        following, previous = mem.read_uint(node, word), mem.read_uint(node + word, word)
        if following and previous:
            mem.write_uint(previous, word, following)
            mem.write_uint(following + word, word, previous)
            self._list_init(node)

    def store_comm(self, task: Task) -> None:
        """task->comm."""
        offset = self.offset_of("struct task_struct", "comm")
        self.mem.write(task.addr + offset, task.comm.encode("latin-1")[:15].ljust(16, b"\0"))

    def set_comm(self, task: Task, name: str) -> None:
        """Rename a task."""
        task.comm = name
        self.store_comm(task)

    def store_oom_score_adj(self, task: Task) -> None:
        """signal->oom_score_adj."""
        self.set_field(task.signal.addr, "signal_struct", "oom_score_adj", task.signal.oom_score_adj)

    def store_login(self, task: Task) -> None:
        """task->loginuid and sessionid."""
        self.set_field(task.addr, "task_struct", "loginuid.val", task.loginuid)
        self.set_field(task.addr, "task_struct", "sessionid", task.sessionid)

    def store_state(self, task: Task) -> None:
        """task->__state (state before 5.14)."""
        state = task.state
        if state == TASK_DEAD and self._old_states:
            state = 64  # TASK_DEAD before TASK_PARKED took its bit
        self._set_state(self.mem, task.addr, state)

    def store_cpu(self, task: Task) -> None:
        """task->cpu, in thread_info or beside it by version."""
        for setter in self._set_cpu:
            setter(self.mem, task.addr, task.cpu)

    def store_on_rq(self, task: Task) -> None:
        """task->on_rq, and that of its scheduling entity."""
        on_rq = int(task.on_rq)
        self._set_on_rq(self.mem, task.addr, on_rq)
        if task.prio_class:
            self._set_se_on_rq(self.mem, task.addr, on_rq)

    def store_current(self, prev: Task, following: Task) -> None:
        """At a switch: on_cpu and the context-switch counts."""
        mem = self.mem
        if prev.addr:
            self._set_on_cpu(mem, prev.addr, 0)
            self._set_nvcsw(mem, prev.addr, prev.nvcsw)
            self._set_nivcsw(mem, prev.addr, prev.nivcsw)
            self._set_utime(mem, prev.addr, prev.utime_ns)
            self._set_stime(mem, prev.addr, prev.stime_ns)
        self._set_on_cpu(mem, following.addr, 1)
        self._set_on_rq(mem, following.addr, 1)
        if following.prio_class:
            self._set_se_on_rq(mem, following.addr, 1)

    # -- credentials ---------------------------------------------------------------------------------------------

    def publish_cred(self, task: Task) -> None:
        """commit_creds(): struct cred, and task->cred, task->real_cred.  What was there before is given back."""
        cred = task.cred
        if not cred.addr:
            cred.addr = self.mem.alloc(self.size_of("struct cred"))
        self.store_cred(cred)
        user_ns = self.user_ns_of(task)
        self.users.show(cred, user_ns)
        self.set_field(task.addr, "task_struct", "cred", cred.addr)
        self.set_field(task.addr, "task_struct", "real_cred", cred.addr)
        self.set_field(cred.addr, "cred", "user_ns", user_ns)
        if task.shown_cred is not cred:
            self._put_cred(task)
            cred.usage += 1
            task.shown_cred = cred
        self._store_usage(cred)

    def _store_usage(self, cred: Cred) -> None:
        """Two for each task: task->cred and task->real_cred; one for each file."""
        users = 2 * cred.usage + cred.files
        self.set_fields(cred.addr, CRED_USAGE, (users, users))

    def hold_cred(self, cred: Cred) -> int:
        """get_cred() of a file that is being opened: the struct's address."""
        cred.files += 1
        if cred.addr:
            self._store_usage(cred)
        return cred.addr

    def drop_cred(self, cred: Cred) -> None:
        """put_cred() of the file."""
        cred.files -= 1
        self._free_cred(cred)

    def _put_cred(self, task: Task) -> None:
        """put_cred() of what task->cred points to."""
        cred, task.shown_cred = task.shown_cred, None
        if cred is None:
            return
        cred.usage -= 1
        self._free_cred(cred)

    def _free_cred(self, cred: Cred) -> None:
        if not cred.addr:
            return
        if cred.usage or cred.files:
            self._store_usage(cred)
            return
        self.users.hide(cred)
        self.users.free_groups(cred)
        self.mem.free(cred.addr)
        cred.addr = 0

    def store_cred(self, cred: Cred) -> None:
        """The numbers of a struct cred."""
        self.set_fields(cred.addr, CRED_IDS, ids_of(cred))
        self.set_fields(
            cred.addr, CRED_CAPS, [part for mask in caps_of(cred) for part in (mask & 0xFFFFFFFF, mask >> 32, mask)]
        )

    # -- mm ------------------------------------------------------------------------------------------------------

    def alloc_mm_memory(self, mm: Mm) -> None:
        """struct mm_struct."""
        mm.addr = self.mem.alloc(self.size_of("struct mm_struct"), 64)
        self.store_mm(mm)

    def free_mm_memory(self, mm: Mm) -> None:
        """mmdrop()."""
        self.mem.free(mm.addr)
        mm.addr = 0

    def store_mm(self, mm: Mm) -> None:
        """The borders of code, data, heap, stack, arguments."""
        self.set_fields(mm.addr, MM_BORDERS, borders_of(mm))
        self.set_field(mm.addr, "mm_struct", "task_size", self.arch.map.user_end)
        self.store_mm_users(mm)
        self.set_field(mm.addr, "mm_struct", "mm_count.counter", 1)
        self.store_mm_flags(mm)
        self._store_areas(mm)
        self.set_field(mm.addr, "mm_struct", "context.vdso", mm.vdso)
        if (at := self.offset_of("struct mm_struct", "saved_auxv")) >= 0:
            self.mem.write(mm.addr + at, mm.auxv[: SAVED_AUXV * self.arch.word])
        if mm.exe_file is not None:
            self.set_field(mm.addr, "mm_struct", "binfmt", self.static("elf_format"))
            self.set_field(mm.addr, "mm_struct", "exe_file", mm.exe_file.addr)

    def store_mm_users(self, mm: Mm) -> None:
        """mm->mm_users: so many tasks share it."""
        self.set_field(mm.addr, "mm_struct", "mm_users.counter", mm.users)

    def store_mm_flags(self, mm: Mm) -> None:
        """mm->flags: MMF_DUMPABLE, and what a core holds."""
        self.set_field(mm.addr, "mm_struct", "flags", mm.dumpable | mm.dump_filter << MMF_DUMP_FILTER_SHIFT)

    def store_mm_owner(self, task: Task) -> None:
        """mm->owner and user_ns: whose program it is."""
        if task.mm is not None:
            self.set_field(task.mm.addr, "mm_struct", "owner", task.addr)
            self.set_field(task.mm.addr, "mm_struct", "user_ns", self.user_ns_of(task))

    def _store_areas(self, mm: Mm) -> None:
        self.set_fields(mm.addr, MM_AREAS, (*area_counts(mm.vmas), len(mm.vmas)))

    def areas_changed(self, mm: Mm) -> None:
        """Something was mapped, unmapped or protected otherwise."""
        if self.shows_areas:
            self._store_areas(mm)

    def last_put(self, task: Task) -> None:
        """Nobody refers to the task any more."""
        self.set_field(task.addr, "task_struct", "usage.refs.counter", 0)

    def vma_struct(self, mm: Space, vma: Vma) -> int:
        """struct vm_area_struct of an area, made at the first request and brought up to date at each."""
        if not vma.addr:
            vma.addr = self.mem.alloc(self.size_of("struct vm_area_struct"))
        put = self.set_field
        for member, value in (
            ("vm_start", vma.start), ("vm_end", vma.end), ("vm_flags", vma.vm_flags),
            ("vm_pgoff", vma.start // PAGE_SIZE if _private_memory(vma) else vma.pgoff),
            ("vm_mm", mm.addr), ("vm_file", vma.file.addr if vma.file is not None else 0),
        ):  # fmt: skip
            put(vma.addr, "vm_area_struct", member, value)
        return int(vma.addr)

    # -- exec ----------------------------------------------------------------------------------------------------

    def binprm_memory(self, bprm: LinuxBinprm) -> int:
        """struct linux_binprm with its file names."""
        addr = int(self.mem.alloc(self.size_of("struct linux_binprm") + 256))
        text = addr + self.size_of("struct linux_binprm")
        self.mem.write(text, bprm.filename[:255] + b"\0")
        self.set_field(addr, "linux_binprm", "filename", text)
        self.set_field(addr, "linux_binprm", "interp", text)
        if bprm.opened:
            self.set_field(addr, "linux_binprm", "file", bprm.file.addr)
        self.set_field(addr, "linux_binprm", "argc", len(bprm.argv))
        self.set_field(addr, "linux_binprm", "envc", len(bprm.envp))
        return addr

    def filename_memory(self, name: bytes, uptr: int = 0) -> int:
        """struct filename: of a name from user space at `uptr`, or of the kernel's own."""
        size = self.size_of("struct filename")
        addr = int(self.mem.alloc(size + len(name) + 1))
        self.mem.write(addr, b"\0" * size + name + b"\0")
        self.set_field(addr, "filename", "name", addr + size)
        self.set_field(addr, "filename", "uptr", uptr)
        self.set_field(addr, "filename", "refcnt.counter", 1)
        return addr

    def write_clone_args(self, task: Task, args: CloneArgs) -> int:
        """struct kernel_clone_args; one per task, freed with the next."""
        addr = self.mem.alloc(self.size_of("struct kernel_clone_args"))
        self.set_fields(addr, CLONE_ARGS, clone_args_of(args))
        self.mem.free(task.clone_args_addr)
        task.clone_args_addr = addr
        return addr

    def store_prio(self, task: Task) -> None:
        """task->prio, static_prio, normal_prio, policy, rt_priority."""
        for name in ("prio", "static_prio", "normal_prio", "policy", "rt_priority"):
            self.set_field(task.addr, "task_struct", name, getattr(task, name))
        self.store_class(task)
        self._store_load(task)

    def store_class(self, task: Task) -> None:
        """task->sched_class."""
        name = "idle" if task.flags & PF_IDLE else SCHED_CLASSES.get(task.policy, "fair")
        self.set_field(task.addr, "task_struct", "sched_class", self.static(f"{name}_sched_class"))

    def _store_load(self, task: Task) -> None:
        """set_load_weight(): task->se.load, with the more bits that 64-bit machines have."""
        weight = weight_of(task.policy, task.static_prio)
        self.set_field(task.addr, "task_struct", "se.load.weight", weight << (10 if self.arch.word == 8 else 0))
        self.set_field(task.addr, "task_struct", "se.load.inv_weight", ((1 << 32) + weight // 2) // weight)


def _private_memory(vma: Vma) -> bool:
    """Memory of nobody else's: its place is its offset; what the kernel maps for itself has none."""
    return vma.file is None and not vma.shared and vma.name not in ("[vdso]", "[vvar]")


def _nothing(mem: Memory, addr: int, value: int) -> None:
    """A member that this kernel version does not have."""


def _zero(mem: Memory, addr: int) -> int:
    """The same for reading."""
    return 0
