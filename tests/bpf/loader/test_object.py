"""Objects opened, loaded and attached, against a kernel of cardboard."""

import itertools
import struct
from pathlib import Path

import pytest

from arch.typetable import TypeTable
from bpf import uapi
from bpf.btf.build import kernel_btf
from bpf.btf.codec import Kind
from bpf.isa.insn import BPF_PSEUDO_CALL, BPF_PSEUDO_FUNC, BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE
from bpf.loader.core_patch import BAD_RELO
from bpf.loader.errors import LoadError
from bpf.loader.object import BpfObject, object_name
from bpf.loader.sections import find
from bpf.loader.sys import Task
from simkernel.machine import boot
from tests.bpf.loader.compile import bpf_object
from tests.bpf.loader.fake import DEFAULT_FILES, FakeKernel

SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "obj"


def load(data, kernel=None, name="test", **kwargs):
    kernel = kernel or FakeKernel()
    obj = BpfObject(data, name, **kwargs)
    obj.load(Task(kernel))
    return obj, kernel


def of(obj, kernel):
    """What the kernel was given for the object's last program."""
    return kernel.fds[list(obj.programs.values())[-1].fd]


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x"])
def test_the_writes_sample(arch):
    kernel = FakeKernel("big" if arch == "s390x" else "little")
    obj, _ = load((SAMPLES / arch / "writes.bpf.o").read_bytes(), kernel, "writes")
    assert set(obj.maps) == {"asked", "sizes", "by_process"}
    assert {p.section_name for p in obj.programs.values()} == {"kprobe/vfs_write", "kretprobe/vfs_write"}
    links = obj.attach()
    assert [(e["name"], e["config"]) for e in kernel.events] == [("vfs_write", 0), ("vfs_write", 1)]
    assert len(links) == 2 and all(link.fd >= 0 for link in links)
    obj.maps["by_process"][7] = {"writes": 3, "bytes": 100}
    assert obj.maps["by_process"][7] == {"writes": 3, "bytes": 100, "failed": 0}
    assert dict(obj.maps["sizes"].items())[31] == 0
    raw = obj.maps["by_process"].lookup(obj.maps["by_process"].encode_key(7))
    assert obj.maps["by_process"].format_value(raw) == "{.writes = 3, .bytes = 100, .failed = 0}"
    for program in (kernel.fds[p.fd] for p in obj.programs.values()):
        wide = [i for i in program["insns"] if i.code == 0x18 and i.src_reg == BPF_PSEUDO_MAP_FD]
        assert wide and all("map" in kernel.fds[i.imm] for i in wide)
        assert program["btf_fd"] > 0 and program["func_info"][2] == 1 and program["line_info"][2] > 3
    obj.close()
    assert not any("prog" in thing or "map" in thing for thing in kernel.fds.values())


@pytest.mark.parametrize("arch", ["x86_64", "s390x"])
def test_objects_of_2015(arch):
    known = ["kfree_skb", "sys_write"]
    lacks = ["names", "btf", "global_data", "array_mmap", "link", "cookie", "probe_read_kernel", "bind", "kprobe_pmu"]
    kernel = FakeKernel("big" if arch == "s390x" else "little", lacks=lacks, known=known, release="4.1.0")
    obj, _ = load((SAMPLES / arch / "tracex2.bpf.o").read_bytes(), kernel, "tracex2")
    obj.attach()
    drops = obj.maps["drops"].definition
    assert (drops.type, drops.key_size, drops.value_size, drops.max_entries) == (uapi.BPF_MAP_TYPE_HASH, 8, 8, 1024)
    assert of(obj, kernel)["version"] == 4 << 16 | 1 << 8
    written = [text for name, text in kernel.log if name == "kprobe_events"]
    assert written[0].startswith("p:kprobes/libbpf_77_kfree_skb_0x0_") and written[0].endswith(" kfree_skb+0x0\n")
    assert all(e["perf"] == 2 and e["program"] is not None for e in kernel.events)
    obj.close()
    removed = [text for name, text in kernel.log if text.startswith("-:kprobes/")]
    assert len(removed) == 2


def test_an_unknown_function_names_near_ones(tmp_path):
    obj, _kernel = load(bpf_object(tmp_path, 'SEC("kprobe/vfs_wirte") int f(void *c) { return 0; }'))
    with pytest.raises(LoadError, match=r"failed to create kprobe 'vfs_wirte\+0x0' perf event: ENOENT .*vfs_write"):
        obj.attach()


def test_an_unknown_section_says_so(tmp_path):
    data = bpf_object(tmp_path, 'SEC("kporbe/x") int f(void *c) { return 0; }')
    with pytest.raises(LoadError, match=r"missing BPF prog type, check ELF section name 'kporbe/x'.*kprobe"):
        load(data)


def test_rejected_program_carries_the_log(tmp_path):
    kernel = FakeKernel()
    kernel.reject = ("bad", 13, "0: (b7) r0 = 0\nR1 !read_ok\n")
    with pytest.raises(LoadError) as caught:
        load(bpf_object(tmp_path, 'SEC("kprobe/x") int bad(void *c) { return 0; }'), kernel)
    assert caught.value.errno == 13 and "R1 !read_ok" in caught.value.log


SUBPROGRAMS = """
static __attribute__((noinline)) int helper(int x) { return x * 3; }
__attribute__((noinline)) int global_one(int x) { return helper(x) + 1; }
static int callback(u32 i, void *c) { return i; }
static long (*const loop)(u32, void *, void *, u64) = (void *)181;
SEC("kprobe/vfs_write") int main_one(void *c) { return global_one((long)c) + helper(5); }
SEC("kprobe/vfs_read") int main_two(void *c) { return helper((long)c) + loop(3, callback, c, 0); }
"""


@pytest.mark.parametrize("order", ["little", "big"])
def test_subprograms_are_appended_and_called(tmp_path, order):
    obj, _kernel = load(bpf_object(tmp_path, SUBPROGRAMS, order), FakeKernel(order))
    assert set(obj.programs) == {"main_one", "main_two"}
    one = obj.programs["main_one"].linked
    assert set(one.starts) == {"main_one", "global_one", "helper"}
    starts = set(one.starts.values())
    calls = [(at, i) for at, i in enumerate(one.insns) if i.code == 0x85 and i.src_reg == BPF_PSEUDO_CALL]
    assert len(calls) == 3 and all(at + 1 + i.imm in starts for at, i in calls)
    assert {at for at, _ in one.func_info} == starts
    two = obj.programs["main_two"].linked
    at, pointer = next((n, i) for n, i in enumerate(two.insns) if i.code == 0x18 and i.src_reg == BPF_PSEUDO_FUNC)
    assert at + 1 + pointer.imm == two.starts["callback"]


GLOBALS = """
const volatile int target_pid = 0;
const volatile char prefix[8] = "abc";
int hits = 5; u64 bytes; static u64 secret = 9; struct { int a; struct { short b; }; u32 low : 3, high : 5; } pair;
SEC("kprobe/vfs_write") int f(void *c) { if (target_pid) hits++; bytes += secret + prefix[2] + pair.low; secret++; return 0; }
"""


@pytest.mark.parametrize("order", ["little", "big"])
def test_global_variables(tmp_path, order):
    obj = BpfObject(bpf_object(tmp_path, GLOBALS, order), "globals")
    obj.rodata.target_pid = 77
    obj.rodata.prefix = "xy"
    assert obj.data.hits == 5 and obj.data.secret == 9
    kernel = FakeKernel(order)
    obj.load(Task(kernel))
    assert obj.maps["globals.rodata"].definition.flags == uapi.BPF_F_RDONLY_PROG | uapi.BPF_F_MMAPABLE
    assert obj.rodata.target_pid == 77 and obj.rodata.prefix == "xy"
    obj.bss.bytes = 1 << 40
    obj.bss.pair = {"a": -1, "b": -2, "low": 5, "high": 17}
    assert obj.bss.bytes == 1 << 40 and obj.bss.pair == {"a": -1, "b": -2, "low": 5, "high": 17}
    values = [i for i in of(obj, kernel)["insns"] if i.code == 0x18]
    assert values and all(i.src_reg == BPF_PSEUDO_MAP_VALUE for i in values)
    with pytest.raises(AttributeError):
        obj.bss.nothing  # noqa: B018
    assert ("bpf", "BPF_MAP_FREEZE") in kernel.calls or any("FREEZE" in str(c) for c in kernel.calls)


def test_global_data_needs_a_kernel_that_has_it(tmp_path):
    with pytest.raises(LoadError, match="global data"):
        load(bpf_object(tmp_path, GLOBALS), FakeKernel(lacks=["global_data", "btf"]))


MAPS = """
struct inner { __uint(type, 2); __uint(max_entries, 4); __type(key, int); __type(value, u64); };
struct inner first SEC(".maps"), second SEC(".maps");
struct { __uint(type, 12); __uint(max_entries, 3); __uint(key_size, 4); __array(values, struct inner); } outer SEC(".maps") =
    { .values = { [0] = &first, [2] = &second } };
SEC("socket") int target(void *c) { return 1; }
struct { __uint(type, 3); __uint(max_entries, 2); __uint(key_size, 4); __array(values, int (void *)); } jumps SEC(".maps") =
    { .values = { [1] = (void *)&target } };
struct { __uint(type, 1); __uint(max_entries, 9); __uint(map_flags, 1); __uint(pinning, 1); __type(key, u32); __type(value, u32); } kept SEC(".maps");
struct { __uint(type, 4); __uint(key_size, 4); __uint(value_size, 4); } events SEC(".maps");
"""


def test_map_definitions(tmp_path):
    kernel = FakeKernel()
    data = bpf_object(tmp_path, MAPS)
    obj, _ = load(data, kernel)
    maps = {fd: m for fd, m in kernel.fds.items() if "map" in m}
    outer = kernel.fds[obj.maps["outer"].fd]["rows"]
    assert {int.from_bytes(k, "little"): int.from_bytes(v, "little") for k, v in outer.items() if any(v)} == {
        0: obj.maps["first"].fd,
        2: obj.maps["second"].fd,
    }
    jumps = kernel.fds[obj.maps["jumps"].fd]["rows"]
    assert int.from_bytes(jumps[b"\1\0\0\0"], "little") == obj.programs["target"].fd
    assert obj.maps["events"].definition.max_entries == 2  # possible CPUs
    assert "/sys/fs/bpf/kept" in kernel.pins and maps
    again = BpfObject(data, "again")
    again.load(Task(kernel))
    assert again.maps["kept"].reused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('struct { __uint(type, 1); __uint(colour, 3); } m SEC(".maps");', "unknown field 'colour'"),
        ('struct { __uint(max_entries, 3); } m SEC(".maps");', "map type isn't specified"),
        (
            'struct { __uint(type, 1); __uint(key_size, 8); __type(key, int); } m SEC(".maps");',
            "conflicting key size 8",
        ),
        ('struct { int type; } m SEC(".maps");', "expected PTR"),
    ],
)
def test_bad_map_definitions(tmp_path, text, message):
    with pytest.raises(LoadError, match=message):
        BpfObject(bpf_object(tmp_path, text), "bad")


EXTERNS = """
extern int LINUX_KERNEL_VERSION __kconfig;
extern _Bool LINUX_HAS_BPF_COOKIE __kconfig __weak;
extern int CONFIG_HZ __kconfig;
extern _Bool CONFIG_BPF __kconfig;
extern char CONFIG_NAME[8] __kconfig;
extern int CONFIG_ABSENT __kconfig __weak;
extern const void vfs_write __ksym;
extern const void nowhere __ksym __weak;
u64 out[8];
SEC("kprobe/vfs_write") int f(void *c) {
  out[0] = LINUX_KERNEL_VERSION; out[1] = LINUX_HAS_BPF_COOKIE; out[2] = CONFIG_HZ; out[3] = CONFIG_BPF;
  out[4] = CONFIG_NAME[1]; out[5] = CONFIG_ABSENT; out[6] = (u64)&vfs_write; out[7] = (u64)&nowhere; return 0; }
"""


def test_externs(tmp_path):
    data = bpf_object(tmp_path, EXTERNS)
    obj = BpfObject(data, "ext", kconfig='CONFIG_HZ=250\nCONFIG_BPF=y\nCONFIG_NAME="abc"\n')
    kernel = FakeKernel(release="6.1.20-custom", lacks=["cookie"])
    obj.load(Task(kernel))
    g = obj.globals(".kconfig")
    assert g.LINUX_KERNEL_VERSION == 6 << 16 | 1 << 8 | 20 and g.LINUX_HAS_BPF_COOKIE is False
    assert g.CONFIG_HZ == 250 and g.CONFIG_BPF is True and g.CONFIG_NAME == "abc" and g.CONFIG_ABSENT == 0
    insns = of(obj, kernel)["insns"]
    wide = [(a.imm & 0xFFFFFFFF) | (b.imm & 0xFFFFFFFF) << 32 for a, b in itertools.pairwise(insns)
            if a.code == 0x18 and a.src_reg == 0]  # fmt: skip
    assert 0xFFFFFFFF81000000 in wide and 0 in wide
    with pytest.raises(LoadError, match="'CONFIG_HZ'"):
        BpfObject(data, "ext").load(Task(FakeKernel()))


# ---------------------------------------------------------------------------------------------------- CO-RE

KERNEL_TYPES = """
typedef unsigned int u32; typedef unsigned long long u64; typedef int pid_t;
enum state { RUNNING, SLEEPING = 4, DEAD = 9 };
struct inner { u64 pad; int deep; };
struct task { u64 a, b; union { u64 whole; struct { u32 low, high; }; }; pid_t pid; struct inner in[3];
  struct task *parent; unsigned int f1 : 3, f2 : 9; int f3 : 5; u64 wide; enum state state; char name[16]; };
"""
CORE = """
enum state { SLEEPING = 77, GONE = 3 };
struct inner { int deep; } relocatable;
struct task { int pid; struct inner in[3]; struct task *parent; u32 high; unsigned f2 : 9; int f3 : 5; u32 wide; int absent; } relocatable;
struct task___old { int missing; long state; } relocatable;
u64 out[16];
SEC("raw_tp/x") int f(struct task **ctx) {
  struct task *t = *ctx;
  out[0] = (u64)__builtin_preserve_access_index(&t->pid) - (u64)t;
  out[1] = (u64)__builtin_preserve_access_index(&t->in[2].deep) - (u64)t;
  out[2] = field_info(t->high, 0);
  out[3] = field_info(t->absent, 2);
  out[4] = field_info(t->pid, 2);
  out[5] = field_info(t->wide, 1);
  out[6] = field_info(t->f3, 3);
  out[7] = field_info(t->f2, 4);
  out[8] = field_info(t->f2, 5);
  out[9] = field_info(t->f2, 0);
  out[10] = __builtin_preserve_type_info(*(struct task *)0, 0);
  out[11] = __builtin_preserve_type_info(*(struct task *)0, 1);
  out[12] = __builtin_preserve_enum_value(*(enum state *)SLEEPING, 1);
  out[13] = __builtin_preserve_enum_value(*(enum state *)GONE, 0);
  out[14] = __builtin_btf_type_id(*(struct task *)0, 1);
  return 0; }
"""


def kernel_with_types(text, order="little"):
    from arch.datamodel import LP64_BE, LP64_LE

    table = TypeTable(LP64_LE if order == "little" else LP64_BE)
    table.parse(text)
    btf = kernel_btf(table)
    files = {**DEFAULT_FILES, "/sys/kernel/btf/vmlinux": btf.encode()}
    return FakeKernel(order, files=files), btf, table


def stored(insns):
    """What ends up in out[n]: follow constants into stores."""
    registers, found, last = {}, {}, None
    for at, i in enumerate(insns):
        if i.code == 0xB7:
            registers[i.dst_reg] = i.imm
        elif i.code == 0x18 and i.src_reg == 0:
            registers[i.dst_reg] = (i.imm & 0xFFFFFFFF) | insns[at + 1].imm << 32
        elif i.code == 0x18 and i.src_reg == BPF_PSEUDO_MAP_VALUE:
            last = insns[at + 1].imm
            registers[i.dst_reg] = None
        elif i.code == 0x7B and last is not None:
            found[(last + i.off) // 8] = registers.get(i.src_reg)
    return found


@pytest.mark.parametrize("order", ["little", "big"])
def test_core_relocations_of_every_kind(tmp_path, order):
    kernel, btf, table = kernel_with_types(KERNEL_TYPES, order)
    obj, _ = load(bpf_object(tmp_path, CORE, order), kernel)
    values = stored(of(obj, kernel)["insns"])
    offset = table.offsetof
    f2 = table.resolve("struct task", "f2")
    expected = {
        2: offset("struct task", "high"), 3: 0, 4: 1, 5: 8, 6: 1, 8: 64 - 9,
        10: 1, 11: table.sizeof("struct task"), 12: 4, 13: 0, 14: btf.find("task", Kind.STRUCT),
    }  # fmt: skip
    for number, value in expected.items():
        assert values[number] == value, number
    window = values[9]
    bit = f2.bit_position - 8 * window
    lshift = 64 - (bit + 9) if order == "little" else (8 - 4) * 8 + bit
    assert values[7] == lshift
    offsets = {i.imm for i in of(obj, kernel)["insns"] if i.code in (0x07, 0xB7)}
    assert offset("struct task", "pid") in offsets and offset("struct task", "in[2].deep") in offsets


def test_core_poisons_what_is_not_there(tmp_path):
    kernel, _, _ = kernel_with_types(KERNEL_TYPES)
    text = """struct task { int absent; } relocatable;
    SEC("raw_tp/x") int f(struct task **ctx) { struct task *t = *ctx; return *(int *)__builtin_preserve_access_index(&t->absent); }"""
    obj, _ = load(bpf_object(tmp_path, text), kernel)
    assert any(i.code == 0x85 and i.imm == BAD_RELO for i in of(obj, kernel)["insns"])
    assert any("no matching targets found" in m and "struct task.absent (0:0 @ offset 0)" in m for m in obj.messages)


def test_core_refuses_ambiguity(tmp_path):
    kernel, _, _ = kernel_with_types(
        "struct task { long a; int pid; }; struct task___2 { int pid; };struct other { int x; };"
    )
    text = """struct task { int pid; } relocatable;
    SEC("raw_tp/x") int f(struct task **ctx) { return (*ctx)->pid; }"""
    with pytest.raises(LoadError, match="field offset ambiguity"):
        load(bpf_object(tmp_path, text), kernel)


def test_attach_target_of_btf_programs(tmp_path):
    table = TypeTable()
    table.parse("typedef long ssize_t; struct file;")
    decl = table.prototype("ssize_t vfs_write(struct file *file, const char *buf)")
    btf = kernel_btf(table, [decl], {"sched_switch": decl.params})
    kernel = FakeKernel(files={**DEFAULT_FILES, "/sys/kernel/btf/vmlinux": btf.encode()})
    text = """SEC("fentry/vfs_write") int enter(u64 *c) { return 0; }
    SEC("tp_btf/sched_switch") int sw(u64 *c) { return 0; }"""
    obj, _ = load(bpf_object(tmp_path, text), kernel)
    ids = {p["name"]: p["attach_btf_id"] for p in kernel.programs if p["attach_btf_id"]}
    assert ids == {"enter": btf.find("vfs_write", Kind.FUNC), "sw": btf.find("btf_trace_sched_switch", Kind.TYPEDEF)}
    obj.attach()
    assert [link["raw_tp"] for link in kernel.links] == [None, None]
    with pytest.raises(LoadError, match=r"failed to find kernel BTF type ID of 'vfs_wite'.*did you mean vfs_write"):
        load(bpf_object(tmp_path, 'SEC("fentry/vfs_wite") int enter(u64 *c) { return 0; }'), kernel)


@pytest.mark.parametrize(
    ("name", "attach"),
    [("kprobe/x", "kprobe"), ("kretprobe.multi/a*", "kprobe_multi"), ("uprobe.session.s/p:a*", "uprobe_multi"), ("usdt/p:a:b", "usdt"), ("tp/a/b", "tracepoint"),
     ("?fentry.s/x", "trace"), ("iter/task", "iter"), ("xdp", ""), ("kprobex", None), ("tc/x", None), ("fentry.multi/a*", "trace_multi"),
     ("fsession.multi.s/a", "trace_multi"), ("tp.s/a/b", "tracepoint"), ("raw_tp.s/a", "raw_tracepoint"), ("tp_btf.s/a", "trace"), ("usdt.s/p:a:b", "usdt"), ("sk_skb/verdict", "")],
)  # fmt: skip
def test_section_names(name, attach):
    found = find(name)
    assert (found.attach if found else None) == attach


def test_one_link_for_all_functions_of_a_file_that_match(tmp_path):
    functions = "".join(
        f'SEC("socket") int {name}(void *c) {{ return 0; }}\n' for name in ("read_a", "other", "read_b")
    )
    kernel = FakeKernel(files={**DEFAULT_FILES, "/bin/thing": bpf_object(tmp_path, functions)})
    text = """SEC("uprobe.multi//bin/thing:read_*") int in(void *c) { return 0; }
    SEC("uretprobe.multi//bin/thing:other") int out(void *c) { return 0; }
    SEC("kprobe.session/vfs_*") int both(void *c) { return 0; }"""
    obj, _ = load(bpf_object(tmp_path, text), kernel)
    obj.attach()
    places = [
        struct.unpack_from("<QQQQIII" if link["link"] == 48 else "<IIQQQ", link["raw"], 16) for link in kernel.links
    ]
    assert [link["link"] for link in kernel.links] == [48, 48, 56]
    assert [place[4:] for place in places[:2]] == [(2, 0, 0), (1, 1, 0)] and places[2][:2] == (0, 3)


def test_trampolines_of_all_functions_that_match(tmp_path):
    text = """int entered, left, slept;
    SEC("fentry.multi/__x64_sys_get*id") int in(u64 *c) { entered++; return 0; }
    SEC("fexit.multi/__x64_sys_getp*") int out(u64 *c) { left++; return 0; }
    SEC("fentry.multi") int nowhere(u64 *c) { return 0; }
    SEC("tp.s/syscalls/sys_enter_getsid") int sleepy(u64 *c) { slept++; return 0; }"""
    machine = boot(kernel="7.2")
    obj = machine.load(bpf_object(tmp_path, text))
    links = obj.attach()
    assert [link.what for link in links] == [
        "fentry.multi '__x64_sys_get*id'", "fexit.multi '__x64_sys_getp*'", "tracepoint 'syscalls/sys_enter_getsid'",
    ]  # fmt: skip
    for name in ("getpgid", "getsid", "getpgid", "getcpu"):
        machine.session.syscalls.syscall(name, 0, 0, 0)
    counts = obj.globals(".bss")
    assert (counts.entered, counts.left, counts.slept) == (3, 2, 1)
    with pytest.raises(LoadError, match=r"no function that can be traced matches 'nothing\*'"):
        machine.load(bpf_object(tmp_path, 'SEC("fexit.multi/nothing*") int f(u64 *c) { return 0; }')).attach()


def test_fallbacks_of_old_kernels(tmp_path):
    text = """struct { __uint(type, 1); __uint(max_entries, 1); __type(key, int); __type(value, int); } a_map SEC(".maps");
    SEC("kprobe/vfs_write") int f(void *c) { int v = 0; probe_read_kernel(&v, 4, c); map_lookup(&a_map, &v); return v; }"""
    data = bpf_object(tmp_path, text)
    kernel = FakeKernel(lacks=["probe_read_kernel", "names", "btf", "link"])
    obj, _ = load(data, kernel)
    assert 4 in {i.imm for i in of(obj, kernel)["insns"] if i.code == 0x85}
    assert of(obj, kernel)["name"] == "" and of(obj, kernel)["btf_fd"] == 0
    obj.attach()
    assert kernel.events[-1]["program"] == obj.programs["f"].fd and kernel.events[-1]["ioctls"] == [0x40042408, 0x2400]


@pytest.mark.parametrize("kind", ["datasec", "float", "decl_tag", "func"])
def test_btf_is_made_acceptable(tmp_path, kind):
    text = """struct { __uint(type, 1); __uint(max_entries, 1); __type(key, int); __type(value, double); } m SEC(".maps");
    int counter __attribute__((btf_decl_tag("note"))); SEC("socket") int f(void *c) { counter++; return 0; }"""
    obj, _kernel = load(bpf_object(tmp_path, text), FakeKernel(lacks=[kind]))
    assert obj.btf_fd >= 0


def test_names():
    assert object_name("/tmp/writes.bpf.o") == "writes"


def test_a_wrong_byte_order_is_refused():
    with pytest.raises(LoadError, match="endian"):
        load((SAMPLES / "s390x" / "writes.bpf.o").read_bytes())
