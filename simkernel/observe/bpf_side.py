"""The BPF half of the host (bpf.face.BpfHost): descriptors, pinning, tasks, output, programs on perf events.  kernel/bpf/syscall.c."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from arch.abi.errno import EACCES, EBADF, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, EPERM, ESRCH
from arch.abi.fcntl import AT_FDCWD, O_ACCMODE
from arch.abi.perf_event import PERF_BPF_EVENT_PROG_LOAD, PERF_BPF_EVENT_PROG_UNLOAD
from arch.errors import Fault, KernelError
from arch.memory import KernelMemory
from bpf import perf_face, uapi
from bpf.board import Bpf
from bpf.btf import Btf
from bpf.core.program import BpfProg, prog_of_fd
from bpf.face import (
    AttachRequest,
    Cgroup,
    Detach,
    FdObject,
    FunctionsAttach,
    FunctionsAttached,
    IterAttach,
    Link,
    NetNamespace,
    PerfEventAttach,
    Prog,
    RawTracepointAttach,
    TracingAttach,
    TracingMultiAttach,
    XdpAttach,
)
from bpf.layout import KernelLayout, layout_of
from bpf.maps.base import BpfMap
from bpf.perf_face import PerfEventInfo
from simkernel.fs.bpffs import BpfInode
from simkernel.fs.cgroup import Cgroup as FsCgroup
from simkernel.fs.constants import MAY_READ, MAY_WRITE
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File, Path, to_str
from simkernel.fs.pseudo import PseudoInode
from simkernel.kernel.namespaces import initial_namespace
from simkernel.kernel.security import LSM
from simkernel.net.core.device import receive_frames
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import Socket
from simkernel.net.face import current_net
from simkernel.net.netlink.nsid import net_of_fd
from simkernel.observe.attach import Attached, Attachments
from simkernel.observe.bpf_files import opened_fops, pinned_fops
from simkernel.observe.btf import KernelBtf
from simkernel.observe.buildid import locate
from simkernel.observe.face import WatchedKernel
from simkernel.observe.iterators import Iterators, IterFile
from simkernel.observe.multi import FileOfProbes, MultiProbes
from simkernel.observe.percpu import PerCpu
from simkernel.observe.perf_files import event_of_fd
from simkernel.observe.tokens import token_refused
from simkernel.observe.walks import KernelWalks
from simkernel.observe.within import ProbesWithin
from simkernel.observe.xdp import XdpPrograms
from tracing.perf.event import PerfEvent
from tracing.probes.event import ProbeEvent
from tracing.probes.trace_kprobe import TraceKprobe
from tracing.probes.trace_uprobe import TraceUprobe
from tracing.record.event import TraceEvent
from tracing.system import Tracing

BPF_CALL_INSN = 0x85
LOOKS_AT_TASKS = {  # programs that follow task->se.cfs_rq, and what is behind it
    uapi.BPF_PROG_TYPE_KPROBE, uapi.BPF_PROG_TYPE_TRACEPOINT, uapi.BPF_PROG_TYPE_PERF_EVENT, uapi.BPF_PROG_TYPE_RAW_TRACEPOINT,
    uapi.BPF_PROG_TYPE_TRACING,
}  # fmt: skip
PRINTING_HELPERS = {uapi.BPF_FUNC_trace_printk, uapi.BPF_FUNC_trace_vprintk}

# What PERF_EVENT_IOC_SET_BPF wants, by kind of event.  kernel/events/core.c:perf_event_set_bpf_prog()
PROG_TYPE_OF_EVENT = {
    "kprobe": uapi.BPF_PROG_TYPE_KPROBE,
    "uprobe": uapi.BPF_PROG_TYPE_KPROBE,
    "tracepoint": uapi.BPF_PROG_TYPE_TRACEPOINT,
    "syscall": uapi.BPF_PROG_TYPE_TRACEPOINT,
    "perf_event": uapi.BPF_PROG_TYPE_PERF_EVENT,
}


class BpfSide(ABC):
    """The BPF half of the host."""

    k: WatchedKernel
    mem: KernelMemory
    tracing: Tracing
    bpf: Bpf
    attachments: Attachments
    multi: MultiProbes
    walks: KernelWalks
    iterators: Iterators
    xdp: XdpPrograms
    kernel_btf: KernelBtf
    within: ProbesWithin
    percpu: PerCpu
    _loaded: dict[int, BpfProg]  # programs that perf was told of

    @abstractmethod
    def kernel_stack(self) -> list[int]:
        """The kernel stack of the running task here and now."""

    @property
    def structs(self) -> KernelLayout:
        """Where the kernel keeps the members of its structures."""
        return layout_of(self.k.types)

    @property
    def vmlinux_btf(self) -> Btf | None:
        """The kernel's own BTF, made when first asked for; not every kernel is built with it."""
        return self.kernel_btf.get() if self.bpf.built_with("DEBUG_INFO_BTF") else None

    def receive_frames(self, device: int, frames: list[bytes]) -> bool:
        """xdp_recv_frames()."""
        receive_frames(self.k, self.k.net.devices[device], frames)
        return True

    def net_device(self, ifindex: int) -> int:
        """Address of a struct net_device, 0 if there is none."""
        dev = current_net(self.k).devices.get(ifindex)
        return dev.addr if dev is not None else 0

    def iter_create(self, link: Link) -> IterFile:
        """BPF_ITER_CREATE."""
        assert isinstance(link.request, IterAttach)
        return self.iterators.create(link, link.request)

    def any_watched(self, names: Iterable[str]) -> bool:
        """A probe or a trampoline sits in one of these functions."""
        return bool(self.k.text.probed) and any(map(self.k.text.is_probed, filter(self.k.text.has, names)))

    def around(self, name: str, args: tuple[int, ...], body: Callable[[], int]) -> int:
        """The trampoline's programs and the probes."""
        if name.startswith(LSM):
            return self.k.security_hooks.call(name.removeprefix(LSM), args)
        found = self.attachments.trampolines.get(name)
        if found is None:
            return self.within.around(name, args, body)
        return found.around(args, lambda: self.within.around(name, args, body))

    def tracepoint(self, name: str, *args: int) -> None:
        """As the kernel's own code fires it."""
        self.k.trace(name, *args)

    def seq_write(self, seq: int, data: bytes) -> None:
        """Text of an iterator.  EINVAL."""
        self.iterators.write_text(seq, data)

    def task_fd(self, pid: int, fd: int) -> object:
        """The object behind another task's descriptor; ENOENT without such a task, EBADF."""
        task = self.k.tasks.find(pid)
        if task is None:
            raise KernelError(ENOENT, f"no task {pid}")
        file = self.k.vfs.file_of(self.k, task, fd)
        return file.private_data if file.private_data is not None else file

    def perf_event_query(self, obj: object) -> PerfEventInfo | None:
        """bpf_get_perf_event_info(): None for what is no perf event; ENOENT without a program, EOPNOTSUPP for a counter's."""
        if not isinstance(obj, PerfEvent):
            return None
        program, event = obj.program, obj.trace_event
        if program is None:
            raise KernelError(ENOENT, "the event has no program")
        if event is None:
            raise KernelError(EOPNOTSUPP, "a program of a counter")
        prog_id = program.id
        probe = event.probes[0] if isinstance(event, ProbeEvent) else None
        if isinstance(probe, TraceUprobe):
            kind = uapi.BPF_FD_TYPE_UPROBE + probe.is_return
            return PerfEventInfo(prog_id, kind, probe.path, probe.offset, ref_ctr_offset=probe.ref_ctr_offset)
        if isinstance(probe, TraceKprobe):
            kind = uapi.BPF_FD_TYPE_KPROBE + probe.is_return
            return PerfEventInfo(prog_id, kind, probe.symbol or None, probe.offset, probe.kp.addr, probe.nmissed)
        return PerfEventInfo(prog_id, uapi.BPF_FD_TYPE_TRACEPOINT, event.name)

    def load_packet(self, skb: int, off: int, size: int) -> int:
        """LD_ABS and LD_IND: bytes of a packet in network order, -1 beyond its end."""
        packet = self.k.net.skbs.get(skb)
        offset = (off + (1 << 31)) % (1 << 32) - (1 << 31)  # an int, whichever way the instruction had it
        found = packet.load(offset, size) if packet is not None else None
        return -1 if found is None else found

    def hook_perf(self) -> None:
        """After tracing is there: programs on perf events."""
        core = self.tracing.perf
        core.resolve_fd = lambda fd: event_of_fd(self.k, fd)
        core.pmus.watch = self.k.hw_breakpoints.watch
        core.set_bpf_hook = self.set_bpf
        core.overflow_program_hook = self.attachments.perf_overflow
        self.k.exec.perf_event_exec = core.task_exec
        self.k.vfs.namespaces.when_entered.append(core.entered_namespaces)
        self.k.exec.perf_event_task = core.set_owned

    def hook_sysctls(self) -> None:
        """What /proc/sys says of programs."""
        bpf, table = self.bpf, self.k.vfs.sysctl
        table.on_write(
            "kernel.unprivileged_bpf_disabled", lambda value: setattr(bpf, "unprivileged_bpf_disabled", value)
        )
        table.on_write("kernel.bpf_stats_enabled", lambda value: bpf.count_always(bool(value)))
        table["net.core.bpf_jit_enable"] = bpf.jit_enable
        table.on_write("net.core.bpf_jit_enable", lambda value: setattr(bpf, "jit_enable", value))
        table.on_write("net.core.bpf_jit_harden", lambda value: setattr(bpf, "jit_harden", value))

    def program_symbols(self) -> list[tuple[int, str, str]]:
        """bpf_get_kallsym(): the functions of loaded programs, (address, name, module)."""
        shown = self.k.version.at_least("4.11") and self.k.vfs.sysctl["net.core.bpf_jit_kallsyms"]
        if not shown or self.bpf.jit_harden:
            return []
        progs = [prog for _, prog in sorted(self.bpf.progs.objects.items()) if isinstance(prog, BpfProg) and prog.jited]
        return [(address, name, "bpf") for prog in progs for address, name in prog.symbols()]

    # ---- descriptors ----

    def fd_install(self, obj: FdObject, name: str, flags: int) -> int:
        """A descriptor of the current task for an object of BPF.  EMFILE."""
        if isinstance(obj, BpfProg):
            self._printk_wanted(obj)
        elif isinstance(obj, BpfMap):
            self._describe_map(obj)
        return self.k.vfs.anon_inode_getfd(self.k, name, opened_fops(obj), obj, flags)

    def _describe_map(self, new: BpfMap) -> None:
        """id and name into the struct bpf_map, which iterators show."""
        view = self.k.view(new.address, "struct bpf_map")
        if self.k.types.has_member("struct bpf_map", "id"):
            view.id = new.id
        if new.name and self.k.types.has_member("struct bpf_map", "name"):
            self.mem.write(view.address_of("name"), new.name.encode()[:15] + b"\0")

    def _printk_wanted(self, prog: BpfProg) -> None:
        """bpf_get_trace_printk_proto()."""
        calls = {i.imm for i in prog.orig_insns if i.code == BPF_CALL_INSN and i.src_reg == 0}
        if calls & PRINTING_HELPERS:
            self.tracing.printk_wanted()

    def fd_get(self, fd: int) -> object:
        """What is behind a descriptor.  EBADF."""
        file = self.k.vfs.fget(fd)
        return file.private_data if file.private_data is not None else file

    def fd_flags(self, fd: int) -> int:
        """O_RDONLY, O_WRONLY or O_RDWR.  EBADF."""
        return self.k.vfs.fget(fd).f_flags & O_ACCMODE

    def close(self, fd: int) -> None:
        """close_fd(): a program cannot make the CPU run __fput(), so what the last reference does is done at once."""
        file = files_of(self.k.current).remove(fd)
        if file is None:
            raise KernelError(EBADF)
        self.k.vfs.put_file(file)

    def fd_perf_event(self, fd: int) -> PerfEvent:
        """EBADF."""
        found = self.fd_get(fd)
        if not isinstance(found, PerfEvent):
            raise KernelError(EBADF, "not a perf event")
        return found

    def _published_group(self, file: File) -> int:
        """The struct cgroup of a group's directory.  EBADF."""
        group = self.cgroup_of_file(file)
        self.k.vfs.cgroups.publish(group)
        return group.addr

    def fd_cgroup(self, fd: int) -> Cgroup:
        """EBADF for what is no directory of a group."""
        return self.cgroup_of_file(self.k.vfs.fget(fd))

    def cgroup_of_file(self, file: File) -> FsCgroup:
        """EBADF for what is no directory of a group."""
        inode = file.f_inode
        if not isinstance(inode, PseudoInode) or not isinstance(inode.node, FsCgroup):
            raise KernelError(EBADF, "not a control group")
        return inode.node

    def cgroup_parent(self, address: int) -> int:
        """Address of the struct cgroup above one, or 0."""
        group = self.k.vfs.cgroups.at.get(address)
        return 0 if group is None or group.parent is None else group.parent.addr

    def cgroup_by_id(self, number: int) -> Cgroup | None:
        """cgroup_get_from_id(): along the tree."""
        waiting = [self.k.vfs.cgroups.root]
        while waiting:
            group = waiting.pop()
            if number in (0, group.id):
                return group
            waiting += group.subgroups.values()
        return None

    def pid_of_fd(self, fd: int) -> int:
        """pidfd_get_pid().  EBADF."""
        return self.k.pidfds.task(self.k, fd)[0].tgid

    def probed_file(self, path: str | None, fd: int) -> FileOfProbes:
        """kern_path() of the current task, or fget().  EBADF for what is no regular file."""
        vfs = self.k.vfs
        if path is None:
            found = vfs.fget(fd).f_path
        else:
            found = vfs.user_path(AT_FDCWD, path, empty=self.k.version.before("7.2"))
        file = FileOfProbes(self.k, found)
        assert file.inode
        return file

    def process_of_pid(self, pid: int) -> int:
        """get_pid_task() of a group.  ESRCH."""
        task = self.k.tasks.find(pid)
        if task is None or task.tgid != task.pid:
            raise KernelError(ESRCH)
        return task.pid

    def pid_of_process(self, process: int) -> int:
        """task_pid_nr_ns()."""
        return self.k.tasks.vnr(process) if process in self.k.tasks.by_pid else 0

    def fd_netns(self, fd: int) -> NetNamespace:
        """Its token is the Net."""
        return self._netns(net_of_fd(self.k, fd))

    def current_netns(self) -> NetNamespace:
        """The current task's."""
        return self._netns(current_net(self.k))

    def _netns(self, net: Net) -> NetNamespace:
        return NetNamespace(net, net.namespace.ino, net is self.k.net.init)

    def fd_owner(self, fd: int, kind: str) -> int:
        """The struct of the process of a pidfd, of a file's inode, of a socket; 0 for another file.  EBADF."""
        if kind == "inode":  # fget_raw(): O_PATH will do
            return self.k.vfs.mirror.inode(self.k.vfs.file_of(self.k, self.k.current, fd).f_inode)
        file = self.k.vfs.fget(fd)
        if kind == "cgroup":
            return self._published_group(file)
        if kind == "sock":
            return file.private_data.sk.addr if isinstance(file.private_data, Socket) else 0
        return self.k.pidfds.task(self.k, fd)[0].addr if kind == "task" else 0

    # ---- bpffs ----

    def _pin_place(self, path: int) -> tuple[Path, str]:
        """(directory path, last name) in a bpffs; EPERM where the directory is on another file system."""
        name = to_str(self.k.usercopy.strncpy_from_user(path, 4096))
        directory, _, last = name.rstrip("/").rpartition("/")
        where = self.k.vfs.user_path(-100, directory or ("/" if name.startswith("/") else "."))
        if where.dentry.inode.i_sb.fs_name != "bpf":
            raise KernelError(EPERM, f"{directory} is not in a bpffs")
        return where, last

    def bpffs_pin(self, path: int, obj: FdObject, name: str) -> None:
        """bpf_obj_pin_user().  EPERM, EEXIST, and what the path says."""
        where, last = self._pin_place(path)
        if not last or "." in last:
            raise KernelError(EPERM, "no name, or one with a dot")
        if where.dentry.inode.lookup(where.dentry, last) is not None:
            raise KernelError(EEXIST, f"{last} exists")
        directory = where.dentry.inode
        assert isinstance(directory, BpfInode)
        directory.pin(where.dentry, last, 0o600, self.k.vfs.cred(), obj, pinned_fops(obj))

    def bpffs_get(self, path: int, flags: int) -> object:
        """bpf_obj_get_user().  EACCES, and what the path says."""
        name = to_str(self.k.usercopy.strncpy_from_user(path, 4096))
        found = self.k.vfs.user_path(-100, name)
        inode = found.dentry.inode
        wanted = {0: MAY_READ, 1: MAY_WRITE, 2: MAY_READ | MAY_WRITE}[flags & O_ACCMODE]
        inode.permission(wanted, self.k.vfs.cred())
        if not isinstance(inode, BpfInode) or inode.obj is None:
            raise KernelError(EACCES, f"{name} is not a pinned object")
        return inode.obj

    def token_refused(self, fd: int) -> KernelError:
        """bpf_token_create(): no bpffs belongs to another user namespace than the first."""
        return token_refused(self.k, fd)

    # ---- the current task, and others ----

    def current_cgroup_id(self, ancestor_level: int | None = None) -> int:
        """cgroup_id() of its group, or of the one above at that level; 0 where there is none."""
        return self.k.vfs.cgroups.id_of(self.k.current, ancestor_level)

    def ns_pid_tgid(self, dev: int, ino: int) -> tuple[int, int] | None:
        """bpf_get_ns_current_pid_tgid(): (pid, tgid) in the namespace that the task is in, if that is the one asked for."""
        task, tasks = self.k.current, self.k.tasks
        holder = task.pid_ns.holder if task.pid_ns is not None else None
        number = (holder or initial_namespace(self.k.version, "pid")).ino
        if (self.k.vfs.namespaces.mnt.mnt_sb.s_dev, number) != (dev, ino):
            return None
        return tasks.number_in(task.pid_ns, task.pid), tasks.number_in(task.pid_ns, task.tgid)

    def send_signal(self, signal: int, whole_process: bool) -> int:
        """bpf_send_signal_common(): -EPERM for a kernel thread, -EINVAL for no signal."""
        task = self.k.current
        if task.mm is None:
            return -EPERM
        if not 0 <= signal <= 64:
            return -EINVAL
        if signal:
            (self.k.signals.send if whole_process else self.k.signals.send_thread)(task, signal)
        return 0

    def in_nmi(self) -> bool:
        """Only tests of programs make such interrupts."""
        return self.k.irqs.nmi[self.k.cpus.rq.cpu] > 0

    def task_callchain(self, task: int, max_depth: int) -> list[int] | None:
        """Kernel stack of a task; of one that does not run, the functions that it is in."""
        found = self.k.tasks.at(task)
        stack = self.kernel_stack() if found is self.k.current else self.k.text.stack_trace_save_tsk(found)
        return stack[:max_depth]

    def is_user_task(self, task: int) -> bool:
        """A kernel thread's registers are not those of user mode."""
        return self.k.tasks.at(task).user is not None

    def task_pt_regs(self, task: int) -> int:
        """task_pt_regs(): of a task_struct's address."""
        return self.k.tasks.at(task).regs

    def read_task_user(self, task: int, addr: int, size: int) -> bytes:
        """access_process_vm().  Fault."""
        found = self.k.tasks.at(task)
        if found.user is None:
            raise Fault(addr)
        return found.user.read(addr, size)

    def build_id(self, ip: int) -> tuple[bytes, int] | None:
        """Of executables and shared objects."""
        mm = self.k.current.mm
        return locate(mm.vmas, ip, self.k.arch) if mm is not None else None

    def find_vma(self, task: int, addr: int) -> int:
        """The struct vm_area_struct is made when a program asks."""
        mm = self.k.tasks.at(task).mm
        if mm is None:
            return 0
        found = next((vma for vma in mm.vmas if vma.start <= addr < vma.end), None)
        return self.k.mirror.vma_struct(mm, found) if found is not None else 0

    def d_path(self, path: int) -> bytes:
        """By the struct path inside a struct file, or one that travels through arguments.  EINVAL."""
        passed = self.k.vfs.paths.get(path)
        if passed is not None:
            return self.k.vfs.d_path(passed).encode("utf-8", "surrogateescape")
        file = self.k.vfs.files.get(path - self.k.types.offsetof("struct file", "f_path"))
        if file is None:
            raise KernelError(EINVAL, "no such struct path")
        return self.k.vfs.d_path(file.f_path).encode("utf-8", "surrogateescape")

    # ---- output ----

    def trace_printk(self, text: str) -> None:
        """Into the trace."""
        self.tracing.bpf_trace_printk(text)

    def perf_event_output(self, event: perf_face.PerfEvent, regs: int, data: bytes) -> bool:
        """PerfEvent.bpf_output().  EINVAL, EOPNOTSUPP."""
        assert isinstance(event, PerfEvent)
        return event.bpf_output(data, regs)

    def perf_event_read(self, event: perf_face.PerfEvent) -> tuple[int, int, int]:
        """Counter, time enabled, time running (ns), up to now."""
        assert isinstance(event, PerfEvent)
        event.update()
        return event.count, event.time_enabled, event.time_running

    def dump_stack(self) -> None:
        """The kernel stack of here into the trace."""
        self.tracing.dump_stack()

    # ---- attaching ----

    def set_bpf(self, event: PerfEvent, fd: int, kind: str) -> Attached:
        """PERF_EVENT_IOC_SET_BPF: the program behind a descriptor, of the type that this event takes."""
        prog = prog_of_fd(self.bpf, fd)
        self.check_event_program(prog, event, kind)
        return Attached(prog, 0, probe_address(event))

    def check_event_program(self, prog: BpfProg, event: PerfEvent, kind: str) -> None:
        """perf_event_set_bpf_prog(): EINVAL for another type; EACCES where it reads beyond the record."""
        if prog.type != PROG_TYPE_OF_EVENT[kind]:
            raise KernelError(EINVAL, f"a program of another type than {kind} events take")
        if prog.type == uapi.BPF_PROG_TYPE_KPROBE and prog.sleepable and kind != "uprobe":
            raise KernelError(EINVAL, "only uprobe programs may sleep")
        if prog.type == uapi.BPF_PROG_TYPE_TRACEPOINT and prog.sleepable and kind != "syscall":
            raise KernelError(EINVAL, "a program that may sleep, where that must not be")
        if prog.writes_registers and kind != "uprobe":
            raise KernelError(EINVAL, "only uprobe programs may write registers")
        found = event.trace_event
        if found is not None and any(
            isinstance(other, Attached) and other.prog is prog for other in found.bpf_programs
        ):
            raise KernelError(EEXIST, "the program is attached to that event")
        limit = prog.max_ctx_offset
        if kind in ("tracepoint", "syscall") and found is not None and limit > context_size(found):
            raise KernelError(EACCES, "the program reads beyond the event's record")

    def attach(self, prog: Prog, request: AttachRequest) -> Detach:
        """One way for each kind of event; EOPNOTSUPP for those that this machine has not."""
        assert isinstance(prog, BpfProg)
        match request:
            case PerfEventAttach(event, cookie):
                assert isinstance(event, PerfEvent)
                return self._attach_perf(prog, event, cookie)
            case RawTracepointAttach():
                return self.attachments.attach_raw_tracepoint(prog, request)
            case TracingAttach():
                return self.attachments.attach_tracing(prog, request)
            case TracingMultiAttach():
                return self.attachments.attach_many(prog, request)
            case IterAttach():
                return self.attachments.attach_iter(prog, request)
            case XdpAttach():
                return self.xdp.attach_link(prog, request)
        raise KernelError(EOPNOTSUPP, f"no {type(request).__name__} on this machine")

    def attach_functions(self, prog: Prog, request: FunctionsAttach) -> FunctionsAttached:
        """bpf_kprobe_multi_link_attach(), bpf_uprobe_multi_link_attach()."""
        assert isinstance(prog, BpfProg)
        return self.multi.attach(prog, request)

    def attach_lsm_cgroup(self, symbol: str, place: int) -> Detach:
        """bpf_trampoline_link_cgroup_shim()."""
        return self.attachments.attach_lsm_cgroup(symbol, place)

    def xdp_replace(self, request: XdpAttach, prog: Prog) -> None:
        """bpf_xdp_link_update()."""
        assert isinstance(prog, BpfProg)
        self.xdp.replace(request, prog)

    def sys_bpf(self, cmd: int, attr: int, size: int) -> int:
        """bpf(2) from a program of type syscall."""
        from bpf.syscall.sys_bpf import bpf_from_kernel  # with the verifier behind it: who needs it waits for it

        return bpf_from_kernel(self.bpf, cmd, attr, size)

    def per_cpu_offset(self, cpu: int) -> int:
        """__per_cpu_offset[]."""
        return self.percpu.offset(cpu)

    def sock_from_file(self, file: int) -> int:
        """sock_from_file(): the struct socket of an open file, 0 of one that is none."""
        found = self.k.vfs.files.get(file)
        socket = found.private_data if found is not None else None
        return socket.addr if isinstance(socket, Socket) else 0

    def _attach_perf(self, prog: BpfProg, event: PerfEvent, cookie: int) -> Detach:
        """BPF_LINK_CREATE on a perf event: as PERF_EVENT_IOC_SET_BPF, with a cookie."""
        kind = event.program_kind
        self.check_event_program(prog, event, kind)
        if event.program is not None:
            raise KernelError(EEXIST, "the event has a program")
        attached = Attached(prog, cookie, probe_address(event))
        if event.trace_event is not None:
            event.trace_event.add_bpf(attached)
        event.program = attached
        event.get()

        def detach() -> None:
            if event.program is attached:
                event.program = None
                if event.trace_event is not None:
                    event.trace_event.remove_bpf(attached)
                attached.release()
            event.put()

        return detach

    def bpf_symbols_changed(self) -> None:
        """bpf_prog_kallsyms_add(), _del(): perf records tell of it; /proc/kallsyms reads the table of programs when asked for."""
        now = {number: prog for number, prog in self.bpf.progs.objects.items() if isinstance(prog, BpfProg)}
        perf = self.tracing.perf
        for number, prog in self._loaded.items() - now.items():
            perf.bpf_event(PERF_BPF_EVENT_PROG_UNLOAD, number, prog.tag, prog.symbols())
        for number, prog in now.items() - self._loaded.items():
            perf.bpf_event(PERF_BPF_EVENT_PROG_LOAD, number, prog.tag, prog.symbols())
        self._loaded = now
        if any(prog.prog_type in LOOKS_AT_TASKS for prog in now.values()):
            self.percpu.show_queues()
        else:
            self.percpu.hide_queues()


def probe_address(event: PerfEvent) -> int:
    """Where the kprobe of a perf event sits; 0 for other events."""
    found = event.trace_event
    probe = found.probes[0] if isinstance(found, ProbeEvent) else None
    return probe.kp.addr if isinstance(probe, TraceKprobe) else 0


def context_size(event: TraceEvent) -> int:
    """Bytes of an event's record."""
    return max((field.offset + field.size for field in event.fields), default=8)
