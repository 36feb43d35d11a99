"""kprobe_events, uprobe_events, dynamic_events: recorded answers of Linux 6.1, and the grammar of 4.1."""

import json
import re
from pathlib import Path

import pytest

from arch.abi.errno import EBUSY, EINVAL, ENODEV, ENOENT, ENOSPC, ERANGE
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from tests.tracing.fakes import cat, echo, machine
from tests.tracing.test_filter import written

DATA = Path(__file__).parent.parent / "data" / "tracing" / "probes_6_1.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text().splitlines()]


def normal(text):
    text = re.sub(r"ID: \d+", "ID: 0", text)
    text = re.sub(r"\[ *\d+\.\d+\] ", "[ts] ", text)
    return re.sub(r"0x00000000[0-9a-f]{8}(?!\d)", "0xHASH", text) if "/h:" not in text else text


def shell(tracing, command):
    """`echo ... > FILE; ...` of the recording: exit status of the last part."""
    status = 0
    for part in command.split(";"):
        words = part.split()
        status = written(tracing, words[-1], " ".join(words[1 : words.index(">")]) + "\n", append=False)
    return int(status != 0)


def test_recorded_answers():
    tracing = machine(cpus=1)
    wrong, cases, text = [], 0, ""
    for row in ROWS:
        if "shell" in row:
            got, want = shell(tracing, row["shell"]), row["status"]
        elif "clear" in row:
            got = want = written(tracing, row["clear"], row.get("text", "\n"), append=False)
        elif "write" in row:
            cases, text = cases + 1, row["text"]
            got, want = written(tracing, row["write"], text), row["errno"]
        else:
            got, want = normal(cat(tracing, row["read"])), normal(row["data"])
        if got != want:
            wrong.append((text, got, want))
    assert cases > 300
    assert not wrong


def test_several_lines_in_one_write_stop_at_the_first_error():
    tracing = machine()
    lines = "p:a vfs_read\n# a comment\n\np:b vfs_write # too\np:c nosuch\np:d vfs_open\n"
    assert written(tracing, "kprobe_events", lines) == ENOENT
    assert cat(tracing, "kprobe_events") == "p:kprobes/a vfs_read\np:kprobes/b vfs_write\n"


def test_synthetic_events_stand_among_the_others():
    tracing = machine()
    assert written(tracing, "dynamic_events", "s:syn u64 a\np:b vfs_read") == 0
    assert cat(tracing, "dynamic_events") == "s:synthetic/syn\tu64 a\np:kprobes/b vfs_read\n"
    assert written(tracing, "dynamic_events", "-:syn") == 0
    assert cat(tracing, "dynamic_events") == "p:kprobes/b vfs_read\n"


def test_event_probes():
    """`e:` makes an event of another one's fields, by a trigger there that the user does not see."""
    tracing = machine("6.1", cpus=1)
    definition = "e:mine synthetic.source x=$n:u32 s=$t:string c=$comm:string if n > 3"
    assert written(tracing, "dynamic_events", definition) == ENODEV
    assert written(tracing, "synthetic_events", "source u64 n; char t[16]") == 0
    assert written(tracing, "dynamic_events", definition) == 0
    assert cat(tracing, "dynamic_events").endswith(
        "e:eprobes/mine synthetic.source x=$n:u32 s=$t:string c=$comm:string\n"
    )
    echo(tracing, "events/eprobes/mine/enable", "1")
    assert cat(tracing, "events/synthetic/source/enable") == "0*\n"
    assert cat(tracing, "events/synthetic/source/trigger").startswith("# Available triggers:")
    for values in ([2, b"no"], [5, b"yes"]):
        tracing.synth.find("source").fire(values)
    assert last_line(tracing) == 'mine: (synthetic.source) x=5 s="yes" c="sh"'
    assert written(tracing, "dynamic_events", "-:mine") == EBUSY
    echo(tracing, "events/eprobes/mine/enable", "0")
    assert cat(tracing, "events/synthetic/source/enable") == "0\n"
    assert written(tracing, "dynamic_events", "-:mine") == 0


@pytest.mark.parametrize(
    ("line", "message", "column"),
    [
        ("e:a source", "This requires both group and event name to attach", 4),
        ("e:a sched.nosuch", "Attached event does not exist", 4),
        ("e:a sched.sched_switch x=$nosuch", "Attached event does not have this field", 23),
        ("e:a sched.sched_switch x=%di", "Invalid fetch argument", 25),
        ("e:a sched.sched_switch if", "No filter rule after 'if'", 26),
    ],
)
def test_event_probes_refused(line, message, column):
    tracing = machine("6.1", cpus=1)
    assert written(tracing, "dynamic_events", line) in (EINVAL, ENODEV, ENOENT)
    first, command, caret = cat(tracing, "error_log").splitlines()[-3:]  # the newest
    assert (first.split("error: ")[1], command) == (message, f"  Command: {line}")
    assert caret.index("^") == len("  Command: ") + column


def hit(tracing, name, **fields):
    host = tracing.host
    regs = host.regs(**fields)
    host.armed[host.address[name]](regs)


def last_line(tracing):
    return cat(tracing, "trace").splitlines()[-1].split(": ", 1)[1]


# Printed by the real 6.1 for the same definition.
CONSTANTS = (
    r'p:imm vfs_write a=\1:u8 b=\-1:s32 c=\0x123:x16 d=\-1:u64 e=\-5:s64 f=\255:x8 g=\"abc" h=$comm i=\10:u32 '
    r"j=\-1:s8 k=\0xf0:b4@4/8 l=\10:x64 m=\10 n=+0(\0):string o=+0(\0):u32 p=+0(\0):x8[4] q=\65535:s16 r=\5:symbol "
    r"t=\200:u16"
)
PRINTED = (
    'a=1 b=-1 c=0x123 d=18446744073709551615 e=-5 f=0xff g="abc" h="sh" i=10 j=-1 k=15 l=0xa m=0xa n=(fault) o=0 '
    "p={0x0,0x0,0x0,0x0} q=-1 r=0x5 t=200"
)


@pytest.mark.parametrize("arch", ["x86_64", "s390x"])
def test_values_print_as_recorded(arch):
    tracing = machine(arch=arch)
    echo(tracing, "kprobe_events", CONSTANTS)
    echo(tracing, "events/kprobes/imm/enable", "1")
    hit(tracing, "vfs_write")
    assert last_line(tracing) == f"imm: (vfs_write+0x0/0x400) {PRINTED}"


@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x"])
def test_memory_registers_stack_and_strings(arch):
    tracing = machine(arch=arch)
    host = tracing.host
    mem, regs = host.mem, host.arch.kprobe_registers
    first, second = (next(n for n, f in regs.items() if f == arg) for arg in host.arch.function_args[:2])
    text, table, stack = mem.alloc(16), mem.alloc(32), mem.alloc(64)
    mem.write(text, b"hello\0")
    mem.write_uint(table, 8, text)
    mem.write_uint(table + 8, 8, text + 1)
    mem.write_uint(table + 16, 8, 0x1122334455667788)
    mem.write_uint(stack + 16, 8, 0xABC)
    echo(tracing, "kprobe_events",
         f"p:e vfs_read a=%{first} b=$stack2 c=+0(+0(%{second})):string d=+16(%{second}):x64 e=+0(%{second}):string[2] "
         f"f=$arg1 g=+16(%{second}):x8[3] h=$stack i=%{first}:b4@4/32")  # fmt: skip
    echo(tracing, "events/kprobes/enable", "1")
    fields = {host.arch.function_args[0]: 0x123, host.arch.function_args[1]: table, host.arch.stack_pointer: stack}
    hit(tracing, "vfs_read", **fields)
    data = (0x1122334455667788).to_bytes(8, host.arch.byteorder)[:3]
    array = ",".join(f"0x{byte:x}" for byte in data)
    assert last_line(tracing) == (
        f'e: (vfs_read+0x0/0x400) a=0x123 b=0xabc c="hello" d=0x1122334455667788 e={{"hello","ello"}} f=0x123 '
        f"g={{{array}}} h=0x{stack:x} i=2"
    )


def test_return_probe_line():
    tracing = machine()
    host = tracing.host
    echo(tracing, "kprobe_events", "r:bar vfs_write ret=$retval:s32")
    echo(tracing, "events/kprobes/bar/enable", "1")
    stack = host.mem.alloc(16)
    host.mem.write_uint(stack, 8, host.address["ksys_write"] + 0x6B)
    hit(tracing, "vfs_write", sp=stack)
    assert host.mem.read_uint(stack, 8) == host.return_trampoline
    assert host.return_handler(host.regs(ax=-9)) == host.address["ksys_write"] + 0x6B
    assert last_line(tracing) == "bar: (ksys_write+0x6b/0x400 <- vfs_write) ret=-9"
    assert cat(tracing, "kprobe_profile") == f"  {'bar':<44} {1:15d} {0:15d}\n"


def test_siblings_share_one_event():
    tracing = machine()
    echo(tracing, "kprobe_events", "p:foo vfs_read a=%di\np:foo vfs_write a=%si\n")
    echo(tracing, "events/kprobes/foo/enable", "1")
    hit(tracing, "vfs_read", di=1)
    hit(tracing, "vfs_write", si=2)
    lines = [line.split(": ", 1)[1] for line in cat(tracing, "trace").splitlines() if "foo:" in line]
    assert lines == ["foo: (vfs_read+0x0/0x400) a=0x1", "foo: (vfs_write+0x0/0x400) a=0x2"]
    assert written(tracing, "kprobe_events", "-:foo vfs_read") == 0  # a sibling may go while the event is in use
    assert written(tracing, "kprobe_events", "-:foo") == EBUSY
    with pytest.raises(KernelError):
        echo(tracing, "kprobe_events", "\n")  # O_TRUNC: EBUSY, nothing removed
    assert cat(tracing, "kprobe_events") == "p:kprobes/foo vfs_write a=%si\n"


# Linux 4.1

LINES_4_1 = [
    # definition, errno, what kprobe_events shows
    ("p vfs_write", 0, "p:kprobes/p_vfs_write_0 vfs_write\n"),
    ("r vfs_write", 0, "r:kprobes/r_vfs_write_0 vfs_write\n"),
    ("p:g/foo vfs_write+5 a=%di", 0, "p:g/foo vfs_write+5 a=%di\n"),
    ("pxx vfs_write", 0, "p:kprobes/p_vfs_write_0 vfs_write\n"),
    ("r10:foo vfs_write", 0, "r:kprobes/r_vfs_write_0 vfs_write\n"),  # 4.1 knows no maxactive: not a colon, ignored
    ("x vfs_write", EINVAL, ""),
    ("p:/x vfs_write", EINVAL, ""),
    ("p: vfs_write", EINVAL, ""),
    ("-", EINVAL, ""),
    ("-:nosuch", ENOENT, ""),
    ("p:foo", EINVAL, ""),
    ("r:foo 0xffffffff81001000", EINVAL, ""),
    ("r:foo vfs_write+4", EINVAL, ""),
    ("p:fo-o vfs_write", EINVAL, ""),
    ("p:foo 99999999999999999999", ERANGE, ""),
    ("p:foo nosuch", ENOENT, ""),
    ("p:foo nomod:nosuch", 0, "p:kprobes/foo nomod:nosuch\n"),
    ("p:foo vfs_write+1", EINVAL, ""),  # EILSEQ inside
    ("p:foo exc_int3", EINVAL, ""),
    ("p:foo 0x1000", EINVAL, ""),
    ("p:foo vfs_write a=%di:u32 b=+0(%si):string c=@linux_banner", 0,
     "p:kprobes/foo vfs_write a=%di:u32 b=+0(%si):string c=@linux_banner\n"),
    ("p:foo vfs_write a=%di:x32", EINVAL, ""),
    ("p:foo vfs_write a=$comm", EINVAL, ""),
    ("p:foo vfs_write a=$arg1", EINVAL, ""),
    ("p:foo vfs_write a=$retval", EINVAL, ""),
    ("p:foo vfs_write a=@linux_banner-4", EINVAL, ""),
    ("p:foo vfs_write a=%di a=%si", EINVAL, ""),
    ("p:foo vfs_write common_pid=%si", EINVAL, ""),
    ("p:foo vfs_write a=" + "+0(" * 20 + "%di" + ")" * 20, ENOSPC, ""),
    ("p:foo vfs_write a=%di:string", EINVAL, ""),
    ("p:foo vfs_write a=@+10", EINVAL, ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "errno", "shown"), LINES_4_1)
def test_grammar_of_4_1(line, errno, shown):
    tracing = machine(KernelVersion.parse("4.1"))
    assert written(tracing, "kprobe_events", line) == errno
    assert cat(tracing, "kprobe_events") == shown


def test_a_new_definition_replaces_the_old_one_in_4_1():
    tracing = machine(KernelVersion.parse("4.1"))
    echo(tracing, "kprobe_events", "p:foo vfs_write")
    first = cat(tracing, "events/kprobes/foo/id")
    assert written(tracing, "kprobe_events", "p:foo vfs_read a=%di") == 0
    assert cat(tracing, "kprobe_events") == "p:kprobes/foo vfs_read a=%di\n"
    assert cat(tracing, "events/kprobes/foo/id") != first
    echo(tracing, "events/kprobes/foo/enable", "1")
    assert written(tracing, "kprobe_events", "p:foo vfs_open") == EBUSY


def test_print_of_4_1_has_hex_unsigned_and_irqs_off():
    tracing = machine(KernelVersion.parse("4.1"))
    echo(tracing, "kprobe_events", "p:foo vfs_write a=%di b=%di:s16")
    assert 'print fmt: "(%lx) a=0x%Lx b=%d", REC->__probe_ip, REC->a, REC->b' in cat(
        tracing, "events/kprobes/foo/format"
    )
    echo(tracing, "events/kprobes/foo/enable", "1")
    hit(tracing, "vfs_write", di=0xFFFF)
    assert cat(tracing, "trace").splitlines()[-1] == (
        "           <...>-81    [000] d...     1.000000: foo: (vfs_write+0x0/0x400) a=0xffff b=-1"
    )
