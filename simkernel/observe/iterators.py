"""BPF iterators: files whose reading runs a program once for every object of a kind.  kernel/bpf/bpf_iter.c, task_iter.c.

The program's context is a struct bpf_iter__KIND in kernel memory: a struct bpf_iter_meta with a struct seq_file, then the
object, NULL in the last call.  What the program prints with bpf_seq_printf() is what read(2) gives.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from arch.abi.errno import EINVAL, ENOENT
from arch.errors import KernelError
from bpf.board import Bpf
from bpf.face import FdObject, Link
from simkernel.observe.face import WatchedKernel

Row = dict[str, int]  # member of the context -> value
Rows = Generator[Row, None, None]


def tasks(k: WatchedKernel, bpf: Bpf, info: bytes) -> Rows:
    """Every thread, by pid; `info` may name one by tid or pid (union bpf_iter_link_info.task)."""
    order = k.mem.byteorder
    tid, pid = int.from_bytes(info[:4], order), int.from_bytes(info[4:8], order)
    for number in sorted(k.tasks.by_pid):
        task = k.tasks.by_pid[number]
        if (tid and task.pid != tid) or (pid and task.tgid != pid):
            continue
        yield {"task": task.addr}


def task_files(k: WatchedKernel, bpf: Bpf, info: bytes) -> Rows:
    """Every open file of every process."""
    for row in tasks(k, bpf, info):
        task = k.tasks.at(row["task"])
        if task.files is None or task.tgid != task.pid:
            continue
        for fd in sorted(task.files.fds):
            yield {**row, "fd": fd, "file": task.files.fds[fd].addr}


def task_vmas(k: WatchedKernel, bpf: Bpf, info: bytes) -> Rows:
    """Every area of every address space."""
    for row in tasks(k, bpf, info):
        task = k.tasks.at(row["task"])
        if task.mm is None or task.tgid != task.pid:
            continue
        for vma in task.mm.vmas:
            yield {**row, "vma": vma.addr}


def bpf_maps(k: WatchedKernel, bpf: Bpf, info: bytes) -> Rows:
    """Every map, by id."""
    for number in sorted(bpf.maps.objects):
        yield {"map": bpf.maps.objects[number].address}


def kernel_symbols(k: WatchedKernel, bpf: Bpf, info: bytes) -> Rows:
    """Every symbol of kallsyms, in the struct kallsym_iter that the context points to."""
    view = k.new("struct kallsym_iter")
    names = {member.name for member in k.types.struct("struct kallsym_iter").flat_members()}
    try:
        for position, symbol in enumerate(sorted(k.symbols, key=lambda s: s.address)):
            view.pos = position
            view.value = symbol.address
            view.type = ord(symbol.kind)
            k.mem.write(view.address_of("name"), symbol.name.encode()[:127] + b"\0")
            if "show_value" in names:
                view.show_value = 1
            yield {"ksym": view.addr}
    finally:
        k.mem.free(view.addr)


#  target -> (C type of the context, objects).  kernel/bpf/: bpf_iter_reg_target()
TARGETS: dict[str, tuple[str, Callable[[WatchedKernel, Bpf, bytes], Rows]]] = {
    "task": ("struct bpf_iter__task", tasks),
    "task_file": ("struct bpf_iter__task_file", task_files),
    "task_vma": ("struct bpf_iter__task_vma", task_vmas),
    "bpf_map": ("struct bpf_iter__bpf_map", bpf_maps),
    "ksym": ("struct bpf_iter__ksym", kernel_symbols),
}


class IterFile(FdObject):
    """What BPF_ITER_CREATE gives: reading runs the program until there is text, or the objects are at an end."""

    def __init__(self, owner: Iterators, link: Link, target: str, info: bytes, session: int) -> None:
        if target not in TARGETS:
            raise KernelError(ENOENT, f"no iterator over {target}")
        self.owner, self.link = owner, link
        k = self.k = owner.k
        self.ctype, source = TARGETS[target]
        self.rows = source(k, owner.bpf, info)
        self.text = b""
        self.done = False
        self.number = 0
        self.session = session
        self.seq = k.new("struct seq_file")
        self.meta = k.new("struct bpf_iter_meta")
        self.context = k.new(self.ctype)
        self.meta.seq = self.seq.addr
        self.meta.session_id = session
        self.context.meta = self.meta.addr
        owner.open[self.seq.addr] = self
        link.get()

    def read(self, size: int) -> bytes:
        """The next bytes of text."""
        while len(self.text) < size and not self.done:
            self.step()
        data, self.text = self.text[:size], self.text[size:]
        return data

    def step(self) -> None:
        """One object: run the program on it; after the last, once with NULL."""
        row = next(self.rows, None)
        members = [m.name for m in self.k.types.struct(self.ctype).flat_members() if m.name not in ("", "meta")]
        for name in members:
            setattr(self.context, name, 0 if row is None else row.get(name, 0))
        self.meta.seq_num = self.number
        before = self.text
        result = self.link.prog.run(self.context.addr)
        if result == 1:  # BPF_ITER: stop_err -EAGAIN, show this object again; here it is skipped, and its text dropped
            self.text = before
        self.number += 1
        self.done = row is None

    def release(self) -> None:
        """The last descriptor is closed."""
        self.rows.close()
        self.owner.open.pop(self.seq.addr, None)
        for view in (self.seq, self.meta, self.context):
            self.k.mem.free(view.addr)
        self.link.put()


class Iterators:
    """The open iterators of a machine."""

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k = k
        self.bpf = bpf
        self.open: dict[int, IterFile] = {}  # by address of the struct seq_file
        self.sessions = 0

    def create(self, link: Link, target: str, info: bytes) -> IterFile:
        """A file of the link; reading it goes through the objects once more.  ENOENT."""
        self.sessions += 1
        return IterFile(self, link, target, info, self.sessions)

    def write_text(self, seq: int, data: bytes) -> None:
        """seq_write(): text of the iterator whose struct seq_file this is.  EINVAL."""
        file = self.open.get(seq)
        if file is None:
            raise KernelError(EINVAL, "no such struct seq_file")
        file.text += data
