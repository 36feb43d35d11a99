"""BPF iterators: files whose reading runs a program once for every object of a kind.  kernel/bpf/bpf_iter.c, task_iter.c.

The program's context is a struct bpf_iter__KIND in kernel memory: a struct bpf_iter_meta with a struct seq_file, then the
object, NULL in the last call.  What the program prints with bpf_seq_printf() is what read(2) gives.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator

from arch.abi.errno import E2BIG, EAGAIN, EINVAL, ENOENT, EOPNOTSUPP, EOVERFLOW
from arch.abi.inet import IN_ADDR_SIZE, IPPROTO_TCP, IPPROTO_UDP, TCP_TIME_WAIT
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.abi.rtnetlink import RTF_GATEWAY, RTF_NONEXTHOP, RTF_REJECT, RTN_UNREACHABLE, RTPROT_KERNEL
from arch.abi.socket import AF_INET, AF_INET6
from arch.errors import KernelError
from bpf import uapi
from bpf.board import Bpf
from bpf.core.link import BpfLink
from bpf.core.program import BpfProg
from bpf.face import FdObject, IterAttach, Link
from bpf.maps.base import BpfMap
from bpf.maps.sock_map import SockMap
from bpf.maps.storage import LocalStorageMap
from simkernel.fs.cgroup import Cgroup
from simkernel.fs.fdtable import files_of
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.sock import Sock
from simkernel.net.core.state import Flow
from simkernel.net.face import current_net
from simkernel.net.netlink.sock import PROTOCOLS, KernelNetlinkSock, NetlinkSock, kernel_socks
from simkernel.net.proc6 import all_routes, route_flags
from simkernel.net.unix.sock import UnixSock
from simkernel.observe.caches import all_caches
from simkernel.observe.face import WatchedKernel

Row = dict[str, int]  # member of the context -> value
Rows = Generator[Row, None, None]
UDP_BUCKETS = 2048


def tasks(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every thread, by pid; `info` may name one by tid or pid (union bpf_iter_link_info.task)."""
    order, info = k.mem.byteorder, request.info
    tid, pid = int.from_bytes(info[:4], order), int.from_bytes(info[4:8], order)
    for number in sorted(k.tasks.by_pid):
        task = k.tasks.by_pid.get(number)
        if task is None or (tid and task.pid != tid) or (pid and task.tgid != pid):
            continue
        yield {"task": task.addr}


def task_files(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every open file of every process."""
    for row in tasks(k, bpf, request):
        task = k.tasks.at(row["task"])
        if task.files is None or task.tgid != task.pid:
            continue
        fds = files_of(task).fds
        for fd in sorted(fds):
            file = fds.get(fd)
            if file is not None:
                if k.types.has_member("struct file", "f_count"):  # until 6.13
                    k.view(file.addr, "struct file").f_count.counter = file.f_count + 1  # the walk's own
                yield {**row, "fd": fd, "file": file.addr}


def task_vmas(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every area of every address space."""
    for row in tasks(k, bpf, request):
        task = k.tasks.at(row["task"])
        if task.mm is None or task.tgid != task.pid:
            continue
        for vma in list(task.mm.vmas):
            yield {**row, "vma": k.mirror.vma_struct(task.mm, vma)}


def kernel_symbols(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
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


def slab_caches(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every cache of the slab."""
    yield from ({"s": address} for address in all_caches(k))


def device_buffers(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """No device shares any."""
    yield from ()


# ---- objects of BPF ----


def bpf_maps(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every map, by id."""
    for number in sorted(bpf.maps.objects):
        found = bpf.maps.objects.get(number)
        if found is not None:
            view = k.view(found.address, "struct bpf_map")
            view.usercnt.counter, view.writecnt.counter, view.frozen = found.users, found.writecnt, int(found.frozen)
            view.refcnt.counter = found.refs + 1  # the walk's own
            view.numa_node = found.numa_node
            yield {"map": found.address}


def _describe_prog(k: WatchedKernel, prog: BpfProg) -> list[int]:
    """A struct bpf_prog and its aux, for as long as a program looks at them: what to free, the first is the struct."""
    view, aux = k.new("struct bpf_prog"), k.new("struct bpf_prog_aux")
    made = [view.addr, aux.addr]
    view.pages, aux.stack_depth = prog.pages, next(iter(prog.verdict.stack_depths), 0)
    functions = len(prog.verdict.subprog_starts)
    aux.func_cnt = functions if functions > 1 else 0
    view.type, view.expected_attach_type, view.len = prog.type, prog.expected_attach_type, len(prog.insns)
    view.jited, view.gpl_compatible, view.aux = int(prog.jited), int(prog.gpl_compatible), aux.addr
    k.mem.write(view.address_of("tag"), prog.tag)
    aux.id, aux.attach_btf_id, aux.used_map_cnt = prog.id, prog.attach_btf_id, len(prog.used_maps)
    aux.load_time, aux.verified_insns, aux.prog = prog.load_time_ns, prog.verified_insns, view.addr
    k.mem.write(aux.address_of("name"), prog.name.encode()[:15] + b"\0")
    attached = prog.attach_info.get("attach_func_name")
    if attached:
        text = k.mem.alloc(len(attached) + 1)
        k.mem.write(text, str(attached).encode() + b"\0")
        aux.attach_func_name = text
        made.append(text)
    if prog.dst_prog is not None:
        target = _describe_prog(k, prog.dst_prog)
        aux.dst_prog = target[0]
        made += target
    return made


def bpf_progs(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every program, by id."""
    for number in sorted(bpf.progs.objects):
        prog = bpf.progs.objects.get(number)
        if isinstance(prog, BpfProg):
            made = _describe_prog(k, prog)
            try:
                yield {"prog": made[0]}
            finally:
                for address in made:
                    k.mem.free(address)


def bpf_links(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every link, by id."""
    for number in sorted(bpf.links.objects):
        link = bpf.links.objects.get(number)
        if isinstance(link, BpfLink) and isinstance(link.prog, BpfProg):
            view, made = k.new("struct bpf_link"), _describe_prog(k, link.prog)
            view.id, view.type, view.prog = link.id, link.type, made[0]
            view.refcnt.counter = link.refs + 1
            try:
                yield {"link": view.addr}
            finally:
                for address in (*made, view.addr):
                    k.mem.free(address)


def map_elements(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every element of a map: its value itself, or a copy of the values of all CPUs."""
    found = request.map
    assert isinstance(found, BpfMap)
    copied = found.user_value_size != found.value_size
    with bpf.scratch(found.key_size) as key_at, bpf.scratch(found.user_value_size) as copy:
        for key in _keys(found):
            k.mem.write(key_at, key)
            if copied:
                k.mem.write(copy, found.user_lookup(key, 0))
            value = copy if copied else found.lookup(key)
            if value:
                yield {"map": found.address, "key": key_at, "value": value}


def _keys(found: BpfMap) -> Iterator[bytes]:
    """All keys that are there when the walk begins."""
    keys: list[bytes] = []
    key: bytes | None = None
    while True:
        try:
            key = found.next_key(key)
        except KernelError:
            break
        keys.append(key)
    yield from keys


def storage_elements(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every socket's value of a map of socket storage."""
    found = request.map
    assert isinstance(found, LocalStorageMap)
    for owner, value in list(found.owners.items()):
        yield {"map": found.address, "sk": owner, "value": value}


def socket_map_elements(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every index of an array of sockets, every key of a hash: sock_map_seq_show(), sock_hash_seq_show()."""
    found = request.map
    assert isinstance(found, SockMap)
    with bpf.scratch(found.key_size) as key_at:
        for key in _keys(found):
            k.mem.write(key_at, key)
            yield {"map": found.address, "key": key_at, "sk": found.lookup(key)}


# ---- routes ----


def ipv6_routes(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Every way of every route, as /proc/net/ipv6_route shows them."""
    net = current_net(k)
    for found in list(all_routes(net)):
        if found is None:
            nowhere = RTF_REJECT | RTF_NONEXTHOP
            yield from _route(k, bytes(16), 0, U32_MAX, nowhere, RTN_UNREACHABLE, RTPROT_KERNEL, None, net.loopback)
        else:
            route, way = found
            shown = route_flags(route, way) & ~RTF_GATEWAY
            yield from _route(
                k, route.dst, route.prefix, route.priority, shown, route.kind, route.protocol, way.gateway, way.dev
            )


def _route(
    k: WatchedKernel,
    dst: bytes,
    prefix: int,
    metric: int,
    flags: int,
    kind: int,
    protocol: int,
    gateway: bytes | None,
    dev: NetDevice | None,
) -> Rows:
    """One struct fib6_info with its struct fib6_nh, for as long as a program looks at it."""
    size = k.types.sizeof("struct fib6_info")
    address = k.mem.alloc(size + k.types.sizeof("struct fib6_nh"))
    k.mem.write(address, bytes(size + k.types.sizeof("struct fib6_nh")))
    view = k.view(address, "struct fib6_info")
    view.fib6_metric, view.fib6_flags, view.fib6_type, view.fib6_protocol = metric, flags, kind, protocol
    k.mem.write(view.address_of("fib6_dst"), dst)
    view.fib6_dst.plen = prefix
    view.fib6_ref.refs.counter = 1
    common = k.view(address + size, "struct fib6_nh").nh_common
    common.nhc_dev = dev.addr if dev is not None else 0
    if gateway is not None:
        common.nhc_gw_family = AF_INET6
        k.mem.write(common.address_of("nhc_gw"), gateway)
    try:
        yield {"rt": address}
    finally:
        k.mem.free(address)


# ---- sockets ----


def _uid(sk: Sock) -> int:
    """sock_i_uid()."""
    file = sk.socket.file if sk.socket is not None else None
    return file.f_inode.i_uid if file is not None else 0


def _hold(k: WatchedKernel, sk: Sock, count: int) -> None:
    """sock_hold() of whoever keeps it: the table it is found by, the other end, the walk."""
    k.view(sk.addr, "struct sock_common").skc_refcnt.refs.counter = count


def tcp_socks(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Listening sockets by port, then connections."""
    net = k.net
    space = current_net(k)
    for sk in (*net.in_order(space, net.tcp_listen), *net.connections(space)):
        if sk.protocol == IPPROTO_TCP and sk.addr in net.socks:
            _hold(k, sk, 2)
            yield {"sk_common": sk.addr, "uid": _uid(sk)}
    for key in sorted((key for key in net.time_wait if key[0] is space), key=lambda key: key[1:]):
        yield from _time_wait(k, key)


def _time_wait(k: WatchedKernel, key: Flow) -> Rows:
    """A struct inet_timewait_sock, for as long as a program looks at it."""
    net, own, port, other, their_port = key
    view = k.new("struct inet_timewait_sock")
    common = view["__tw_common"]
    common.skc_family, common.skc_state = AF_INET if len(own) == IN_ADDR_SIZE else AF_INET6, TCP_TIME_WAIT
    common.skc_num, common.skc_dport = port, int.from_bytes(their_port.to_bytes(2, "big"), k.mem.byteorder)
    common.skc_net.net = net.addr
    common.skc_refcnt.refs.counter = 2
    if len(own) == IN_ADDR_SIZE:
        k.mem.write(common.address_of("skc_rcv_saddr"), own)
        k.mem.write(common.address_of("skc_daddr"), other)
    else:
        k.mem.write(common.address_of("skc_v6_rcv_saddr"), own)
        k.mem.write(common.address_of("skc_v6_daddr"), other)
    try:
        yield {"sk_common": view.addr, "uid": 0}
    finally:
        k.mem.free(view.addr)


def udp_socks(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """Bound sockets, by port."""
    for sk in k.net.in_order(current_net(k), k.net.udp):
        if sk.protocol == IPPROTO_UDP:
            _hold(k, sk, 2)
            yield {"udp_sk": sk.addr, "uid": _uid(sk), "bucket": sk.lport % UDP_BUCKETS}


def _of_kind(k: WatchedKernel, kind: type[Sock]) -> Iterable[Sock]:
    space = current_net(k)
    return [sk for sk in k.net.socks.values() if isinstance(sk, kind) and sk.net is space]


def unix_socks(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """In the order in which they were made."""
    for sk in _of_kind(k, UnixSock):
        assert isinstance(sk, UnixSock)
        view = k.view(sk.addr, "struct unix_sock")
        view.peer = sk.peer.addr if sk.peer is not None else 0
        _hold(k, sk, 3 + (sk.peer is not None))
        yield {"unix_sk": sk.addr, "uid": _uid(sk)}


def netlink_socks(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """By protocol: the kernel's own first, then in the order in which they were made."""
    kernel_socks(k, current_net(k))
    for sk in sorted(_of_kind(k, NetlinkSock), key=lambda sk: (sk.protocol, not isinstance(sk, KernelNetlinkSock))):
        assert isinstance(sk, NetlinkSock)
        view = k.view(sk.addr, "struct netlink_sock")
        view.bound, view.ngroups = int(bool(sk.portid)), max(PROTOCOLS[sk.protocol].groups, 32) if sk.has_groups else 0
        _hold(k, sk, 2 if sk.portid else 1)
        yield {"sk": sk.addr}


# ---- control groups ----


def cgroups(k: WatchedKernel, bpf: Bpf, request: IterAttach) -> Rows:
    """From one group on, in the order that was asked for."""
    start = request.cgroup
    assert isinstance(start, Cgroup)

    def below(group: Cgroup) -> Iterator[Cgroup]:
        if request.order == uapi.BPF_CGROUP_ITER_DESCENDANTS_PRE:
            yield group
        for child in list(group.subgroups.values()):
            yield from below(child)
        if request.order == uapi.BPF_CGROUP_ITER_DESCENDANTS_POST:
            yield group

    def upwards() -> Iterator[Cgroup]:
        group: Cgroup | None = start
        while group is not None:
            yield group
            group = group.parent

    groups: Iterable[Cgroup] = (start,)
    if request.order == uapi.BPF_CGROUP_ITER_ANCESTORS_UP:
        groups = upwards()
    elif request.order != uapi.BPF_CGROUP_ITER_SELF_ONLY:
        groups = below(start)
    for group in groups:
        k.vfs.cgroups.publish(group)
        view = k.view(group.addr, "struct cgroup")
        view.nr_descendants = group.descendants()
        if k.types.has_member("struct cgroup", "nr_populated_csets"):
            view.nr_populated_csets = int(bool(group.tasks()))
        yield {"cgroup": group.addr}


Source = Callable[[WatchedKernel, Bpf, IterAttach], Rows]
#  target -> objects; the context is a struct bpf_iter__TARGET.  kernel/bpf/: bpf_iter_reg_target()
TARGETS: dict[str, Source] = {
    "task": tasks,
    "task_file": task_files,
    "task_vma": task_vmas,
    "bpf_map": bpf_maps,
    "bpf_map_elem": map_elements,
    "bpf_prog": bpf_progs,
    "bpf_link": bpf_links,
    "bpf_sk_storage_map": storage_elements,
    "cgroup": cgroups,
    "dmabuf": device_buffers,
    "ipv6_route": ipv6_routes,
    "kmem_cache": slab_caches,
    "ksym": kernel_symbols,
    "netlink": netlink_socks,
    "sockmap": socket_map_elements,
    "tcp": tcp_socks,
    "udp": udp_socks,
    "unix": unix_socks,
}
ONE_SESSION = ("cgroup",)  # an answer other than 0 ends the walk, and a second read does not go on with it
WITHOUT_END = ("dmabuf",)  # no call without an object
MAX_ITER_OBJECTS = 1000000  # of one read
SEQ_SIZE = 8 * PAGE_SIZE


class Text:
    """struct seq_file's buffer: eight pages, and whether what was printed did not fit."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.overflowed = False

    def write(self, data: bytes) -> None:
        """seq_write().  EOVERFLOW."""
        if self.overflowed or len(self.data) + len(data) >= SEQ_SIZE:
            self.overflowed = True
            raise KernelError(EOVERFLOW, "the text of a read is full")
        self.data += data

    def cut(self, length: int) -> None:
        """Back to what was there."""
        del self.data[length:]
        self.overflowed = False


class IterFile(FdObject):
    """What BPF_ITER_CREATE gives: reading runs the program until there is enough text, or the objects are at an end."""

    def __init__(self, owner: Iterators, link: Link, request: IterAttach, session: int) -> None:
        target = request.target
        if target not in TARGETS:
            raise KernelError(ENOENT, f"no iterator over {target}")
        self.owner, self.prog, self.map = owner, link.prog, request.map
        k = self.k = owner.k
        self.ctype = f"struct bpf_iter__{target}"
        self.rows = TARGETS[target](k, owner.bpf, request)
        self.current: Row | None = None  # the object to be shown next
        self.one_session, self.has_end = target in ONE_SESSION, target not in WITHOUT_END
        self.always = {"map": request.map.address} if isinstance(request.map, BpfMap) else {}  # also in the last call
        self.text = Text()
        self.started = self.done = False
        self.number = 0
        self.session = session
        self.seq = k.new("struct seq_file")
        self.meta = k.new("struct bpf_iter_meta")
        self.context = k.new(self.ctype)
        self.members = [m.name for m in k.types.struct(self.ctype).flat_members() if m.name not in ("", "meta")]
        self.meta.seq = self.seq.addr
        self.meta.session_id = session
        self.context.meta = self.meta.addr
        owner.open[self.seq.addr] = self
        self.prog.get()  # of the link no more than this: it may go, or get another program
        if isinstance(self.map, BpfMap):
            self.map.get_user()

    def read(self, size: int) -> bytes:
        """bpf_seq_read(): what is left of the last read, or the text of more objects.  EAGAIN, E2BIG, EOPNOTSUPP."""
        if not self.text.data:
            self._fill(size)
        data = bytes(self.text.data[:size])
        del self.text.data[: len(data)]
        return data

    def _fill(self, size: int) -> None:
        if not self.started:
            self.started, self.current = True, next(self.rows, None)
        elif self.one_session and not self.done:
            raise KernelError(EOPNOTSUPP, "these objects are walked in one read")
        for _ in range(MAX_ITER_OBJECTS):
            if self.current is None or len(self.text.data) >= size:
                break
            if not self._show(self.current):
                return
            self.current = next(self.rows, None)
            self.number += self.current is not None
        else:
            if not self.text.data:
                raise KernelError(EAGAIN, "many objects without a word")
        if self.current is None and not self.done and self.has_end:
            self._stop()

    def _show(self, row: Row) -> bool:
        """The program on one object; its text is complete, or the object waits for the next read.  EAGAIN, E2BIG."""
        before = len(self.text.data)
        result = self._run(row)
        if self.one_session:  # the answer ends the walk
            if result:
                self.rows.close()
            result = 0
        if not result and not self.text.overflowed:
            return True
        self.text.cut(before)
        if not before:
            raise KernelError(EAGAIN if result else E2BIG)
        return False

    def _stop(self) -> None:
        """The program without an object, once."""
        before = len(self.text.data)
        self._run(self.always)
        if not self.text.overflowed:
            self.done = True
            return
        self.text.cut(before)
        if not before:
            raise KernelError(E2BIG)

    def _run(self, row: Row) -> int:
        for name in self.members:
            setattr(self.context, name, row.get(name, 0))
        self.meta.seq_num = self.number
        return self.prog.run(self.context.addr)

    def release(self) -> None:
        """The last descriptor is closed."""
        self.rows.close()
        self.owner.open.pop(self.seq.addr, None)
        for view in (self.seq, self.meta, self.context):
            self.k.mem.free(view.addr)
        self.prog.put()
        if isinstance(self.map, BpfMap):
            self.map.put_user()


class Iterators:
    """The open iterators of a machine."""

    def __init__(self, k: WatchedKernel, bpf: Bpf) -> None:
        self.k = k
        self.bpf = bpf
        self.open: dict[int, IterFile] = {}  # by address of the struct seq_file
        self.sessions = 0

    def create(self, link: Link, request: IterAttach) -> IterFile:
        """A file of the link; reading it goes through the objects once more.  ENOENT."""
        self.sessions += 1
        return IterFile(self, link, request, self.sessions)

    def write_text(self, seq: int, data: bytes) -> None:
        """seq_write(): text of the iterator whose struct seq_file this is.  EINVAL; EOVERFLOW: too much for one read."""
        file = self.open.get(seq)
        if file is None:
            raise KernelError(EINVAL, "no such struct seq_file")
        file.text.write(data)
