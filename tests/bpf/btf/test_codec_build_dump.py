"""BTF bytes, BTF from C types, and BTF back to C."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arch.abi.version import NEWEST
from arch.architecture import get
from arch.datamodel import LP64_LE
from arch.typetable import TypeTable, kernel_types
from bpf.btf import Btf, BtfError, BtfType, Kind, Member, Param, Secinfo
from bpf.btf.build import Builder, kernel_btf
from bpf.btf.codec import Strings, essential_name
from bpf.btf.dump import dump_c, type_text
from bpf.btf.ext import BtfExt, CoreRelo, FuncInfo, LineInfo
from bpf.btf.raw import dump_raw, records
from tests.tools import foreign_packages


def every_kind():
    btf = Btf()
    i = btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
    p = btf.append(BtfType(Kind.PTR, type=i))
    a = btf.append(BtfType(Kind.ARRAY, type=i, index_type=i, nelems=3))
    btf.append(BtfType(Kind.STRUCT, "s", 16, members=[Member("a", i, 0, 3), Member("b", i, 3, 5), Member("p", p, 64)]))
    btf.append(BtfType(Kind.UNION, "u", 12, members=[Member("x", a, 0)]))
    btf.append(BtfType(Kind.ENUM, "e", 4, kflag=True, values=[("LOW", -1), ("HIGH", 7)]))
    btf.append(BtfType(Kind.FWD, "f", kflag=True))
    t = btf.append(BtfType(Kind.TYPEDEF, "t", type=i))
    for kind in (Kind.VOLATILE, Kind.CONST, Kind.RESTRICT):
        t = btf.append(BtfType(kind, type=t))
    proto = btf.append(BtfType(Kind.FUNC_PROTO, type=i, params=[Param("x", t), Param("", 0)]))
    btf.append(BtfType(Kind.FUNC, "fn", type=proto, linkage=1))
    var = btf.append(BtfType(Kind.VAR, "v", type=i, linkage=1))
    btf.append(BtfType(Kind.DATASEC, ".data", 4, secinfos=[Secinfo(var, 0, 4)]))
    btf.append(BtfType(Kind.FLOAT, "double", 8))
    btf.append(BtfType(Kind.DECL_TAG, "tag", type=var, component_idx=-1))
    btf.append(BtfType(Kind.TYPE_TAG, "user", type=i))
    btf.append(BtfType(Kind.ENUM64, "big", 8, kflag=True, values=[("NEG", -(1 << 40)), ("POS", 1 << 40)]))
    return btf


@pytest.mark.parametrize("order", ["little", "big"])
def test_round_trip_of_every_kind(order):
    btf = every_kind()
    btf.types[4].kflag = True  # the encoder sets it for bit-fields
    again = Btf.parse(btf.encode(order))
    assert again.byteorder == order
    assert {t.kind for t in again.types} == set(Kind)
    assert again.types == btf.types


def test_ext_round_trip():
    btf, strings = every_kind(), Strings()
    ext = BtfExt(
        {"kprobe/x": [FuncInfo(0, 13)]},
        {"kprobe/x": [LineInfo(0, "a.c", "int x;", 5 << 10 | 3)]},
        {"kprobe/x": [CoreRelo(8, 4, "0:1", 0)]},
    )
    for order in ("little", "big"):
        data = ext.encode(strings, order)
        again = BtfExt.parse(data, Btf.parse(btf.encode(order, strings)))
        assert again.func_info == ext.func_info and again.core_relo == ext.core_relo
        assert again.line_info["kprobe/x"][0].line == "int x;"


@pytest.mark.parametrize(
    ("name", "essential"),
    [("task_struct___old", "task_struct"), ("a___b___c", "a___b"), ("x____y", "x____y"), ("___x", "___x"), ("p", "p")],
)
def test_flavors(name, essential):
    assert essential_name(name) == essential


@pytest.mark.parametrize("data", [b"", b"\x9f\xeb", bytes(24), b"\x9f\xeb\x01\0" + bytes(20)])
def test_broken_bytes_are_errors(data):
    with pytest.raises(BtfError):
        Btf.parse(data)


@pytest.fixture(scope="module")
def kernel():
    table = kernel_types(get("x86_64"), NEWEST)
    fire = table.prototype("void f(bool preempt, struct task_struct *prev, struct task_struct *next)")
    extra = [table.prototype("ssize_t vfs_write(struct file *file, const char *buf, size_t count, loff_t *pos)")]
    return kernel_btf(table, extra, {"sched_switch": fire.params}, {"runqueues": (table.type("struct rq"), 64)})


def test_kernel_btf_holds_types_functions_and_tracepoints(kernel):
    task = kernel[kernel.find("task_struct", Kind.STRUCT)]
    assert {"pid", "comm", "mm"} <= {m.name for m in task.members}
    func = kernel[kernel.find("vfs_write", Kind.FUNC)]
    assert type_text(kernel, func.type, "vfs_write") == (
        "ssize_t vfs_write(struct file *file, const char *buf, size_t count, loff_t *pos)"
    )
    trace = kernel[kernel.find("btf_trace_sched_switch", Kind.TYPEDEF)]
    assert type_text(kernel, trace.type, "f") == (
        "void (*f)(void *__data, bool preempt, struct task_struct *prev, struct task_struct *next)"
    )
    assert kernel.find("bpf_fentry_test1", Kind.FUNC)
    assert kernel[kernel.find(".data..percpu", Kind.DATASEC)].secinfos[0].offset == 64
    assert Btf.parse(kernel.encode()).types == kernel.types


def test_two_builds_give_the_same_bytes():
    def build():
        table = kernel_types(get("x86_64"), NEWEST)
        return kernel_btf(table).encode()

    assert build() == build()


def asserts(btf):
    """C that checks every struct's size and offsets against the BTF."""
    lines = []
    for t in btf.types:
        if t.kind in (Kind.STRUCT, Kind.UNION) and t.name:
            tag = f"{t.kind.name.lower()} {t.name}"
            lines.append(f'_Static_assert(sizeof({tag}) == {t.size}, "{t.name}");')
            for m in t.members:
                if m.name and not m.bit_size:
                    where = f"__builtin_offsetof({tag}, {m.name}) == {m.bit_offset // 8}"
                    lines.append(f'_Static_assert({where}, "{t.name}.{m.name}");')
    return "\n".join(lines)


@pytest.mark.parametrize(("arch", "target"), [("x86_64", "bpfel"), ("s390x", "bpfeb")])
def test_vmlinux_h_compiles_with_the_same_layout(tmp_path, arch, target):
    if not shutil.which("clang"):
        pytest.skip("no clang here")
    table = kernel_types(get(arch), NEWEST)
    btf = kernel_btf(table)
    (tmp_path / "vmlinux.h").write_text(dump_c(btf))
    (tmp_path / "x.c").write_text('#include "vmlinux.h"\n' + asserts(btf))
    done = subprocess.run(
        ["clang", "-target", target, "-g", "-O2", "-Werror", "-c", "x.c", "-o", "x.o"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:2000]


def test_packed_and_padded_structs_dump_as_they_are():
    table = TypeTable(LP64_LE)
    table.parse(
        "struct packed { char a; long b; } __attribute__((packed)); struct wide { char c; } __attribute__((aligned(32)));"
        "struct loop { struct loop *next; void (*fn)(struct loop *); }; struct outer { struct packed p; struct wide w; };"
    )
    builder = Builder(table)
    builder.type_id(table.type("struct outer"))
    builder.type_id(table.type("struct loop"))
    text = dump_c(builder.btf, header_guard=False)
    assert "} __attribute__((packed));" in text
    assert text.index("struct packed {") < text.index("struct outer {")
    assert "void (*fn)(struct loop *);" in text


def test_a_32_bit_kernel_has_32_bit_pointers():
    table = kernel_types(get("arm"), NEWEST)
    btf = kernel_btf(table)
    assert btf.size_of(btf.find("list_head", Kind.STRUCT)) == 8 and btf.pointer_size == 4


def test_records_are_those_of_bpftool(tmp_path: Path) -> None:
    """Text and JSON of every kind, by Debian's bpftool."""
    package = foreign_packages.path("bpftool", "amd64")
    if package is None:
        pytest.skip("no bpftool; tests/tools/foreign_packages.py fetches it")
    file = tmp_path / "types"
    file.write_bytes(every_kind().encode())
    said = [
        subprocess.run(
            [package / "usr/sbin/bpftool", *words, "btf", "dump", "file", file], capture_output=True, text=True
        )
        for words in ([], ["--json"])
    ]
    assert dump_raw(every_kind()) == said[0].stdout
    assert records(every_kind()) == json.loads(said[1].stdout)["types"]


CYCLE = """
import gc
import struct
from bpf.btf import Btf, BtfError, BtfType, Kind
btf = Btf()
btf.append(BtfType(Kind.ENUM, "e", 4, values=[("LOW", 77), ("HIGH", 88)]))
data = btf.encode()
at = data.index(struct.pack("=I", 88)) - 4  # where the name of the second lies
data = data[:at] + b"\\xff\\xff\\xff\\x7f" + data[at + 4:]
try:
    Btf.parse(data)
    raise SystemExit("it was taken")
except BtfError as error:
    error.itself = error
    del error
gc.collect()
"""


def test_a_refusal_in_a_cycle_is_collected():
    """A memoryview that an iterator still reads must not be in it: Python below 3.12.7 dies when it collects that (gh-77894)."""
    subprocess.run([sys.executable, "-c", CYCLE], check=True, timeout=120)
