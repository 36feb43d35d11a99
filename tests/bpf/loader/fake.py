"""A kernel of cardboard for the loader's tests: maps are dictionaries, programs are accepted and remembered.

`lacks` names features this kernel is without, so that the loader's probes find it old.
"""

import struct

from arch.abi.errno import EBADF, EEXIST, EINVAL, ENOENT, EPERM
from bpf import uapi as u
from bpf.btf import Btf, BtfError, Kind
from bpf.isa.insn import decode

DEFAULT_FILES = {
    "/sys/bus/event_source/devices/kprobe/type": b"8\n",
    "/sys/bus/event_source/devices/kprobe/format/retprobe": b"config:0\n",
    "/sys/bus/event_source/devices/uprobe/type": b"9\n",
    "/sys/bus/event_source/devices/uprobe/format/retprobe": b"config:0\n",
    "/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset": b"config:32-63\n",
    "/sys/devices/system/cpu/possible": b"0-1\n",
    "/sys/devices/system/cpu/online": b"0-1\n",
    "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id": b"21\n",
    "/sys/kernel/tracing/events/raw_syscalls/sys_exit/id": b"20\n",
    "/sys/kernel/tracing/available_events": b"raw_syscalls:sys_enter\nraw_syscalls:sys_exit\nsched:sched_switch\n",
    "/proc/kallsyms": b"ffffffff81000000 T vfs_write\nffffffff81000100 T vfs_writev\nffffffff81000200 T vfs_read\n",
}


class FakeKernel:
    word = 8
    page_size = 4096
    packed_epoll_event = False
    mmap_takes_block = False

    def __init__(self, byteorder="little", lacks=(), files=None, machine="x86_64", release="6.1.0", known=()):
        self.byteorder = byteorder
        self.mark = "<" if byteorder == "little" else ">"
        self.lacks = set(lacks)
        self.machine, self.release = machine, release
        self.files = dict(DEFAULT_FILES if files is None else files)
        if "kprobe_pmu" in self.lacks:
            self.files = {k: v for k, v in self.files.items() if "/devices/kprobe/" not in k}
        if "uprobe_pmu" in self.lacks:
            self.files = {k: v for k, v in self.files.items() if "/devices/uprobe/" not in k}
        if "ref_ctr" in self.lacks:
            self.files.pop("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", None)
        self.known_functions = set(known) | {"vfs_write", "vfs_read", "vfs_writev"}
        self.memory = bytearray(1 << 22)
        self.top = 64
        self.live = 0
        self.fds = {}
        self.pins = {}
        self.programs, self.events, self.links, self.log = [], [], [], []
        self.calls = []
        self.next_fd = 3
        self.reject = None  # program name -> (errno, log)

    # memory

    def alloc(self, size):
        at = self.top
        self.top += (size + 15) // 8 * 8
        if self.top > len(self.memory):
            self.memory += bytes(self.top)
        self.live += 1
        return at

    def free(self, addr):
        self.live -= 1
        if not self.live:
            self.memory[64 : self.top] = bytes(self.top - 64)
            self.top = 64

    def read(self, addr, size):
        return bytes(self.memory[addr : addr + size])

    def write(self, addr, data):
        self.memory[addr : addr + len(data)] = data

    def cstr(self, addr):
        return self.memory[addr : self.memory.index(0, addr)].decode()

    def new(self, thing):
        fd = self.next_fd
        self.next_fd += 1
        self.fds[fd] = thing
        return fd

    def unpack(self, form, addr):
        return struct.unpack_from(self.mark + form, self.memory, addr)

    # system calls

    def syscall(self, name, *args):
        self.calls.append((name, *args))
        return getattr(self, "sys_" + name)(*args)

    def sys_bpf(self, cmd, attr, size):
        raw = self.read(attr, size).ljust(160, b"\0")
        self.calls[-1] = ("bpf", u.CMD_NAMES[cmd])
        return {
            u.BPF_MAP_CREATE: self.map_create, u.BPF_MAP_UPDATE_ELEM: self.map_update,
            u.BPF_MAP_LOOKUP_ELEM: self.map_lookup, u.BPF_MAP_DELETE_ELEM: self.map_delete,
            u.BPF_MAP_GET_NEXT_KEY: self.map_next, u.BPF_PROG_LOAD: self.prog_load, u.BPF_BTF_LOAD: self.btf_load,
            u.BPF_MAP_FREEZE: lambda raw: 0, u.BPF_PROG_BIND_MAP: self.bind, u.BPF_LINK_CREATE: self.link_create,
            u.BPF_RAW_TRACEPOINT_OPEN: self.raw_tp, u.BPF_OBJ_PIN: self.pin, u.BPF_OBJ_GET: self.get_pinned,
            u.BPF_OBJ_GET_INFO_BY_FD: self.info,
        }[cmd](raw)  # fmt: skip

    def s(self, form, raw, at=0):
        return struct.unpack_from(self.mark + form, raw, at)

    def map_create(self, raw):
        kind, key, value, entries, flags, inner, _node = self.s("7I", raw)
        name = raw[28:44].split(b"\0")[0].decode(errors="replace")
        if name and "names" in self.lacks:
            return -EINVAL
        if flags & u.BPF_F_MMAPABLE and "array_mmap" in self.lacks:
            return -EINVAL
        if kind in (u.BPF_MAP_TYPE_ARRAY_OF_MAPS, u.BPF_MAP_TYPE_HASH_OF_MAPS) and inner not in self.fds:
            return -EBADF
        rows = {}
        if kind == u.BPF_MAP_TYPE_ARRAY:
            order = self.byteorder
            rows = {i.to_bytes(4, order): bytes(value) for i in range(entries)}
        return self.new({"map": kind, "key": key, "value": value, "entries": entries, "flags": flags, "name": name,
                         "rows": rows, "btf": self.s("IIII", raw, 48)})  # fmt: skip

    def map_update(self, raw):
        fd, _, key, value, flags = self.s("IIQQQ", raw)
        m = self.fds.get(fd)
        if m is None:
            return -EBADF
        k, v = self.read(key, m["key"]), self.read(value, m["value"])
        if flags == 1 and k in m["rows"]:
            return -EEXIST
        m["rows"][k] = v
        return 0

    def map_lookup(self, raw):
        fd, _, key, value, _ = self.s("IIQQQ", raw)
        m = self.fds[fd]
        found = m["rows"].get(self.read(key, m["key"]))
        if found is None:
            return -ENOENT
        self.write(value, found)
        return 0

    def map_delete(self, raw):
        fd, _, key, _, _ = self.s("IIQQQ", raw)
        m = self.fds[fd]
        return 0 if m["rows"].pop(self.read(key, m["key"]), None) is not None else -ENOENT

    def map_next(self, raw):
        fd, _, key, out, _ = self.s("IIQQQ", raw)
        m = self.fds[fd]
        keys = list(m["rows"])
        now = self.read(key, m["key"]) if key else None
        at = keys.index(now) + 1 if now in m["rows"] else 0
        if at >= len(keys):
            return -ENOENT
        self.write(out, keys[at])
        return 0

    def prog_load(self, raw):
        kind, count, insns, licence, level, log_size, log, version, flags = self.s("IIQQIIQII", raw)
        name = raw[48:64].split(b"\0")[0].decode(errors="replace")
        code = decode(self.read(insns, 8 * count), self.byteorder)
        if name and "names" in self.lacks:
            return -EINVAL
        helpers = {i.imm for i in code if i.code == 0x85 and i.src_reg == 0}
        if u.BPF_FUNC_get_attach_cookie in helpers and "cookie" in self.lacks:
            return -EINVAL
        if u.BPF_FUNC_probe_read_kernel in helpers and "probe_read_kernel" in self.lacks:
            return -EINVAL
        if any(i.code == 0x18 and i.src_reg == 2 for i in code) and "global_data" in self.lacks:
            return -EINVAL
        if self.reject and self.reject[0] == name:
            if level and log:
                self.write(log, self.reject[2].encode()[: log_size - 1] + b"\0")
            return -self.reject[1]
        attach_btf_id = self.s("I", raw, 108)[0]
        expected, btf_fd = self.s("II", raw, 68)
        program = {"prog": kind, "insns": code, "name": name, "licence": self.cstr(licence), "version": version,
                   "attach_btf_id": attach_btf_id, "expected": expected, "btf_fd": btf_fd, "flags": flags,
                   "func_info": self.s("IQI", raw, 76), "line_info": self.s("IQI", raw, 92)}  # fmt: skip
        self.programs.append(program)
        return self.new(program)

    def btf_load(self, raw):
        if "btf" in self.lacks:
            return -EINVAL
        data, _, size = self.s("QQI", raw)
        try:
            btf = Btf.parse(self.read(data, size))
        except BtfError:
            return -EINVAL
        absent = {Kind.VAR: "datasec", Kind.DATASEC: "datasec", Kind.FLOAT: "float", Kind.ENUM64: "enum64",
                  Kind.DECL_TAG: "decl_tag", Kind.TYPE_TAG: "type_tag", Kind.FUNC: "func"}  # fmt: skip
        if any(absent.get(t.kind) in self.lacks for t in btf.types):
            return -EINVAL
        return self.new({"btf": btf})

    def bind(self, raw):
        return 0 if "bind" not in self.lacks else -EINVAL

    def link_create(self, raw):
        if "link" in self.lacks:
            return -EINVAL
        prog, target, kind, _flags, tail = self.s("IIIIQ", raw)
        if kind == u.BPF_PERF_EVENT and target not in self.fds:
            return -EBADF
        link = {"link": kind, "prog": prog, "target": target, "tail": tail, "raw": raw}
        self.links.append(link)
        return self.new(link)

    def raw_tp(self, raw):
        name, prog = self.s("QI", raw)
        link = {"raw_tp": self.cstr(name) if name else None, "prog": prog}
        self.links.append(link)
        return self.new(link)

    def pin(self, raw):
        path, fd = self.s("QI", raw)
        self.pins[self.cstr(path)] = self.fds[fd]
        return 0

    def get_pinned(self, raw):
        found = self.pins.get(self.cstr(self.s("Q", raw)[0]))
        return self.new(found) if found else -ENOENT

    def info(self, raw):
        fd, _size, at = self.s("IIQ", raw)
        m = self.fds[fd]
        self.write(at, struct.pack(self.mark + "6I", m["map"], 1, m["key"], m["value"], m["entries"], m["flags"]))
        return 0

    def sys_close(self, fd):
        return 0 if self.fds.pop(fd, None) is not None else -EBADF

    def sys_openat(self, dirfd, path, flags, mode):
        name = self.cstr(path)
        if name not in self.files and not name.endswith(("kprobe_events", "uprobe_events")):
            return -ENOENT
        return self.new({"file": name, "at": 0})

    def sys_read(self, fd, at, size):
        f = self.fds[fd]
        data = self.files[f["file"]][f["at"] : f["at"] + size]
        f["at"] += len(data)
        self.write(at, data)
        return len(data)

    def sys_write(self, fd, at, size):
        name, text = self.fds[fd]["file"], self.read(at, size).decode()
        self.log.append((name.rsplit("/", 1)[1], text))
        if text[0] in "pr":
            event = text.split()[0].split(":")[1]
            function = text.split()[1].split("+")[0]
            if "kprobe" in name and function not in self.known_functions:
                return -ENOENT
            self.files[f"/sys/kernel/tracing/events/{event}/id"] = b"%d\n" % (1000 + len(self.log))
        return size

    def sys_faccessat(self, dirfd, path, mode):
        return 0 if self.cstr(path) in self.files else -ENOENT

    def sys_getpid(self):
        return 77

    def sys_uname(self, at):
        for index, text in enumerate(("Linux", "fake", self.release, "#1", self.machine)):
            self.write(at + 65 * index, text.encode() + b"\0")
        return 0

    def sys_perf_event_open(self, attr, pid, cpu, group, flags):
        kind, _size, config = self.unpack("IIQ", attr)
        config1, config2 = self.unpack("QQ", attr + 56)
        event = {"perf": kind, "config": config, "pid": pid, "cpu": cpu, "offset": config2, "program": None}
        if kind in (8, 9) and config1:
            event["name"] = self.cstr(config1)
        if kind == 8 and event["name"] not in self.known_functions:
            return -ENOENT
        if "perf" in self.lacks:
            return -EPERM
        self.events.append(event)
        return self.new(event)

    def sys_ioctl(self, fd, request, argument):
        if request == 0x40042408:
            self.fds[fd]["program"] = argument
        self.fds[fd].setdefault("ioctls", []).append(request)
        return 0
