"""USDT probes: notes, segments, specs and the attach sequence."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.usdt import CONST, REG, SIB
from bpf.loader.errors import LoadError
from bpf.loader.object import BpfObject
from bpf.loader.sys import Task
from bpf.loader.usdt import Binary, attach_usdt, pack_spec, parse_notes
from bpf.loader.usdt_args import Argument, parse_arguments
from tests.bpf.loader.compile import bpf_object
from tests.bpf.loader.fake import DEFAULT_FILES, FakeKernel


def note(provider, name, args, location=0x1000, base=0, semaphore=0, m="<", word="Q", owner=b"stapsdt\0", kind=3):
    text = struct.pack(m + 3 * word, location, base, semaphore) + b"\0".join(
        x.encode() for x in (provider, name, args)
    ) + b"\0"  # fmt: skip
    return struct.pack(m + "III", len(owner), len(text), kind) + owner + text + bytes(-len(text) % 4)


def elf(notes, *, kind=2, machine=62, base=None, writable=True, m="<", segments=None):
    """A tiny program file: code at 0x1000 (offset 0x200), data at 0x3000 (offset 0x400), notes."""
    names = b"\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0"
    segments = segments if segments is not None else [(0x1000, 0x100, 0x200, 5), (0x3000, 0x100, 0x400, 6)]
    ph = b"".join(struct.pack(m + "IIQQQQQQ", 1, fl, off, va, va, size, size, 16) for va, size, off, fl in segments)
    body = bytearray(b"\0" * 0x600)
    body[0x500:0x500] = b""
    at = len(body)
    body += notes
    names_at = len(body)
    body += names + bytes(-len(names) % 8)
    body += bytes(-len(body) % 8)
    sh = [bytes(64)]

    def section(name, typ, addr, off, size):
        sh.append(
            struct.pack(m + "IIQQQQIIQQ", names.index(name.encode() + b"\0"), typ, 0, addr, off, size, 0, 0, 4, 0)
        )

    if notes:
        section(".note.stapsdt", 7, 0, at, len(notes))
    if base is not None:
        section(".stapsdt.base", 1, base, 0x500, 1)
    section(".shstrtab", 3, 0, names_at, len(names))
    head = struct.pack(m + "16sHHIQQQIHHHHHH", b"\x7fELF\2" + (b"\1" if m == "<" else b"\2") + b"\1" + bytes(9), kind,
                       machine, 1, 0x1000, 64, len(body), 0, 64, 56, len(segments), 64, len(sh), len(sh) - 1)  # fmt: skip
    body[: len(head)] = head
    body[64 : 64 + len(ph)] = ph
    return bytes(body) + b"".join(sh)


PROGRAM = """
struct arg { u64 val_off; u32 type; short reg_off; _Bool is_signed; char bitshift; };
struct spec { struct arg args[12]; u64 cookie; short count; };
struct { __uint(type, 2); __uint(max_entries, 4); __type(key, int); __type(value, struct spec); } __bpf_usdt_specs SEC(".maps");
struct { __uint(type, 1); __uint(max_entries, 16); __type(key, long); __type(value, u32); } __bpf_usdt_ip_to_spec_id SEC(".maps");
SEC("usdt//bin/app:prov:name") int probe(void *c) { return 0; }
SEC("usdt") int other(void *c) { return 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return bpf_object(tmp_path_factory.mktemp("usdt"), PROGRAM)


def loaded(program, notes, lacks=(), **kwargs):
    extra = kwargs.pop("files", {})
    files = {**DEFAULT_FILES, "/bin/app": elf(notes, **kwargs), **extra}
    kernel = FakeKernel(files=files, lacks=lacks)
    obj = BpfObject(program, "usdt")
    obj.load(Task(kernel))
    return obj, kernel


def ids(kernel):
    return [link["tail"] for link in kernel.links]


def test_attach_with_cookies(program):
    notes = note("prov", "name", "8@%rax", 0x1010) + note("prov", "else", "4@$1", 0x1020)
    notes += note("prov", "name", "-4@-8(%rbp) 1@$3", 0x1030, semaphore=0x3010) + note("prov", "name", "8@%rax", 0x1040)
    obj, kernel = loaded(program, notes)
    (link,) = obj.attach()
    uprobes = [e for e in kernel.events if e["perf"] == 9]
    assert [e["offset"] for e in uprobes] == [0x210, 0x230, 0x240]
    assert [e["config"] >> 32 for e in uprobes] == [0, 0x410, 0]
    assert all(e["pid"] == -1 and e["cpu"] == 0 and e["name"] == "/bin/app" for e in uprobes)
    assert ids(kernel) == [0, 1, 0]
    specs = obj.maps["__bpf_usdt_specs"]
    assert specs[1]["count"] == 2 and specs[1]["args"][0] == {
        "val_off": (1 << 64) - 8, "type": 2, "reg_off": 32, "is_signed": True, "bitshift": 32,
    }  # fmt: skip
    link.destroy()
    assert obj.usdt.free_ids == [0, 1] and not any("perf" in f for f in kernel.fds.values())
    again = attach_usdt(obj, obj.programs["probe"], "/bin/app", "prov", "name", cookie=0xCAFE)
    assert ids(kernel)[3:] == [1, 0, 1] and specs[1]["cookie"] == 0xCAFE
    again.destroy()


def test_attach_without_cookies_uses_the_ip_map(program):
    notes = note("prov", "name", "8@%rax", 0x1010) + note("prov", "name", "8@%rbx", 0x1030)
    obj, kernel = loaded(program, notes, lacks=["cookie", "link"])
    (link,) = obj.attach()
    assert dict(obj.maps["__bpf_usdt_ip_to_spec_id"].items()) == {0x1010: 0, 0x1030: 1}
    assert all(e["program"] == obj.programs["probe"].fd for e in kernel.events)
    link.destroy()
    assert dict(obj.maps["__bpf_usdt_ip_to_spec_id"].items()) == {}


def test_shared_objects_without_cookies_need_the_process(program):
    notes = note("prov", "name", "8@%rax", 0x1010)
    maps = b"7f0000000000-7f0000001000 r-xp 00000200 08:01 42   /bin/app\n7f0000003000-7f0000004000 rw-p 00000400 08:01 42 /bin/app\n"
    obj, _ = loaded(program, notes, lacks=["cookie"], kind=3, files={"/proc/5/maps": maps})
    with pytest.raises(LoadError, match="without specific PID is not supported"):
        obj.attach()
    attach_usdt(obj, obj.programs["probe"], "/bin/app", "prov", "name", pid=5)
    assert list(obj.maps["__bpf_usdt_ip_to_spec_id"].items()) == [(0x7F0000000010, 0)]
    with pytest.raises(LoadError, match="failed to open '/proc/6/maps'"):
        attach_usdt(obj, obj.programs["probe"], "/bin/app", "prov", "name", pid=6)


def test_too_many_specs_undo_everything(program):
    notes = b"".join(note("prov", "name", f"8@${n}", 0x1000 + n) for n in range(5))
    obj, kernel = loaded(program, notes)
    with pytest.raises(LoadError) as caught:
        obj.attach()
    assert caught.value.errno == 7 and not any("perf" in f for f in kernel.fds.values())
    assert sorted(obj.usdt.free_ids) == [0, 1, 2, 3]


def test_base_adjustment(program):
    notes = note("prov", "name", "", 0x1010, base=0x5000)
    obj, kernel = loaded(program, notes, base=0x5040)
    obj.attach()
    assert kernel.events[-1]["offset"] == 0x250


@pytest.mark.parametrize(
    ("notes", "kwargs", "message"),
    [
        (b"", {}, r"no USDT notes section \(.note.stapsdt\) found in '/bin/app'"),
        (note("prov", "name", "", 0x9000), {}, "failed to find ELF program segment for 'prov:name' in '/bin/app' at IP 0x9000"),
        (note("prov", "name", "", 0x3000), {}, r"segment \[0x3000, 0x3100\) for 'prov:name' at IP 0x3000 is not executable"),
        (note("prov", "name", "", semaphore=0x9000), {}, "failed to find ELF loadable segment with semaphore"),
        (note("prov", "name", "", semaphore=0x1010), {}, "semaphore of 'prov:name' at 0x1010 is executable"),
        (note("prov", "name", "", semaphore=0x3010), {"lacks": ["ref_ctr"]}, "doesn't support USDT semaphore refcounting"),
        (note("prov", "name", "8@%xyz"), {}, "usdt: unrecognized register 'xyz'"),
        (note("prov", "nope", ""), {}, "no probe 'prov:name'"),
        (note("prov", "name", "") + note("prov", "", ""), {}, "note without"),
        (note("prov", "name", "", kind=4), {}, "unexpected note"),
        (note("prov", "name", ""), {"kind": 1}, r"unsupported type of ELF binary '/bin/app' \(1\), only ET_EXEC and ET_DYN"),
        (note("prov", "name", "", m=">"), {"m": ">"}, "ELF endianness mismatch"),
        (note("prov", "name", ""), {"segments": []}, "failed to find PT_LOAD program headers"),
    ],
)  # fmt: skip
def test_errors(program, notes, kwargs, message):
    obj, _ = loaded(program, notes, **kwargs)
    with pytest.raises(LoadError, match=message):
        obj.attach()


def test_an_object_without_the_maps(tmp_path):
    obj, _ = loaded(bpf_object(tmp_path, 'SEC("usdt//bin/app:a:b") int p(void *c) { return 0; }'), note("a", "b", ""))
    with pytest.raises(LoadError, match=r"did you forget to include bpf/usdt\.bpf\.h"):
        obj.attach()


def test_bad_section_name(tmp_path):
    obj, _ = loaded(bpf_object(tmp_path, 'SEC("usdt//bin/app:a") int p(void *c) { return 0; }'), note("a", "b", ""))
    with pytest.raises(LoadError, match=r'invalid section \'usdt//bin/app:a\', expected SEC\("usdt/<path>'):
        obj.attach()


def test_spec_layouts():
    args = (Argument(CONST, -9, 0, True, 32), Argument(REG, 0, 112))
    raw = pack_spec(args, 0xAB, "little")
    assert len(raw) == 208 and struct.unpack_from("<qIhBb", raw) == (-9, 0, 0, 1, 32)
    assert struct.unpack_from("<Qh", raw, 192) == (0xAB, 2)
    big = pack_spec(args, 0xAB, "big")
    assert struct.unpack_from(">qIhBb", big, 16) == (0, 1, 112, 0, 0)
    wide = pack_spec((Argument(SIB, 4, 32, False, 56, 80, 3),), 1, "little", 304)
    assert (
        len(wide) == 304 and wide[8] == SIB and struct.unpack_from("<HBxhBb", wide, 10) == (80 | 3 << 12, 0, 32, 0, 56)
    )
    assert struct.unpack_from("<Qh", wide, 288) == (1, 1)


def test_colon_means_no_arguments():
    (found,) = parse_notes(note("p", "n", ":x"), 8, "little")
    assert found.arguments == "" and parse_arguments("", None) == []


def test_a_32_bit_note():
    (found,) = parse_notes(note("p", "n", "4@%eax", 0x10, word="I"), 4, "little")
    assert (found.location, found.arguments) == (0x10, "4@%eax")


BASE = elf(note("prov", "name", "8@%rax", 0x1010) + note("prov", "name", "-4@-8(%rbp)", 0x1020, semaphore=0x3010))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(BASE) - 1), st.integers(0, 255)), max_size=8), st.integers(0, len(BASE)))
def test_broken_files_are_errors_only(changes, cut):
    data = bytearray(BASE)
    for at, value in changes:
        data[at] = value
    for raw in (bytes(data), bytes(data[:cut])):
        try:
            Binary(raw, "/bin/app").notes()
        except LoadError:
            continue


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.sampled_from([4, 8]), st.sampled_from(["little", "big"]))
def test_any_note_section(data, word, order):
    try:
        parse_notes(data, word, order)
    except LoadError:
        return
