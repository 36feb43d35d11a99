"""Objects on kernels and CPUs: outcomes, their classes, journals, formats, and what moved between two kernels."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arch.abi.errno import EINVAL, ESRCH
from arch.abi.version import KernelVersion
from bpf.loader.errors import LoadError
from bpf.loader.object import BpfObject
from simkernel.matrix import tables
from simkernel.matrix.cells import Outcome, run_cell
from simkernel.matrix.moved import Facts, moved
from simkernel.matrix.reasons import KINDS, classify
from simkernel.matrix.workers import cells, run_cells
from simkernel.pool import Journal, NoCluster, on_cluster
from tests.tools.warm import warm_server

ROOT = Path(__file__).parents[3]
OBJECTS = ROOT / "samples/obj/x86_64"
WRITES, TASKS, REQUESTS = (str(OBJECTS / f"{name}.bpf.o") for name in ("writes", "tasks", "requests"))


def outcomes(objects, kernels, *, attach=False, test="", **options):
    asked = cells(objects, kernels, ["x86_64"], attach, test)
    return {(Path(o.obj).name, o.kernel): o for o in run_cells(asked, Journal(None), **options)}


def test_each_refusal_has_its_class_and_its_sentence():
    found = outcomes([WRITES, TASKS, REQUESTS], ["4.1", "6.1"], attach=True)
    assert {key: (o.kind, o.text) for key, o in found.items()} == {
        ("writes.bpf.o", "4.1"): ("helper", "get_current_pid_tgid needs 4.2"),
        ("writes.bpf.o", "6.1"): ("ok", ""),
        ("tasks.bpf.o", "4.1"): ("feature", "the kernel's own types (BTF) need 5.2 and CONFIG_DEBUG_INFO_BTF"),
        ("tasks.bpf.o", "6.1"): ("ok", ""),
        ("requests.bpf.o", "4.1"): ("feature", "global data needs 5.2"),
        ("requests.bpf.o", "6.1"): ("hook", "usdt: failed to open ELF binary '/samples/server': -2"),
    }
    assert found["writes.bpf.o", "6.1"].programs > 0 < found["writes.bpf.o", "6.1"].insns
    assert {o.kind for o in found.values()} <= set(KINDS)


def test_functions_that_are_gone_and_maps_that_a_tool_sizes_are_told_apart():
    obj, version = BpfObject(Path(WRITES).read_bytes(), "writes"), KernelVersion.parse("6.1")
    gone = LoadError("prog 'x': failed to find kernel BTF type ID of 'blk_account_io_start': -3", ESRCH)
    assert classify(gone, obj, version, False).kind == "hook"
    name = next(iter(obj.maps))
    refused = LoadError(f"map '{name}': failed to create: EINVAL(-22)", EINVAL)
    assert classify(refused, obj, version, False).text == f"map '{name}': failed to create: EINVAL(-22)"
    obj.maps[name].definition.max_entries = 0
    assert "the tool's own half sets it" in classify(refused, obj, version, False).text


def test_what_is_no_object_and_what_is_for_another_cpu(tmp_path):
    (tmp_path / "text.o").write_text("no ELF")
    found = outcomes([str(tmp_path / "text.o"), str(ROOT / "samples/obj/s390x/writes.bpf.o")], ["6.1"])
    assert found["text.o", "6.1"].kind == "object"
    assert found["writes.bpf.o", "6.1"].kind == "cpu"


def test_cells_do_not_see_each_other_and_a_test_runs_in_each(tmp_path):
    test = tmp_path / "check.py"
    test.write_text(
        "def test(machine, obj):\n"
        f"    machine.run([machine.install({str(ROOT / 'samples/bin/x86_64/hello')!r})])\n"
        "    assert sum(v for _, v in obj.maps['sizes'].items()) == 1\n"
        "    assert machine.kernel.version.before('6.0'), 'too new'\n"
    )
    found = outcomes([WRITES], ["5.10", "6.1"], test=str(test))
    assert found["writes.bpf.o", "5.10"].good
    assert (found["writes.bpf.o", "6.1"].kind, found["writes.bpf.o", "6.1"].text) == ("test", "check.py:4: too new")


def test_whatever_a_test_raises_is_its_failure(tmp_path):
    test = tmp_path / "check.py"
    for text, said in (
        ("def test(machine, obj):\n    obj.maps['none']\n", "check.py:2: KeyError: 'none'"),
        ("x = 1\n", "check.py: it has no function test(machine, obj)"),
        ("import no_such_module\n", "check.py:1: ModuleNotFoundError: No module named 'no_such_module'"),
    ):
        test.write_text(text)
        (outcome,) = outcomes([WRITES], ["6.1"], test=str(test)).values()
        assert (outcome.kind, outcome.text) == ("test", said)


def test_a_fault_of_the_machine_is_a_class_of_its_own(tmp_path):
    check = tmp_path / "check.py"
    check.write_text(
        "from simkernel.bug import Oops\n"
        "def test(machine, obj):\n    raise Oops('------\\nkernel BUG at fs/open.py:7!\\nCPU: 0', {}, True)\n"
    )
    (found,) = outcomes([WRITES], ["6.1"], test=str(check)).values()
    assert (found.kind, found.text) == ("bug", "kernel BUG at fs/open.py:7! (loading it alone writes a report)")


def test_a_vendors_kernel_is_a_column_by_its_types(tmp_path):
    """These have little of task_struct: the object's own."""
    obj = BpfObject(Path(WRITES).read_bytes(), "writes")
    path = tmp_path / "vendor.btf"
    path.write_bytes(next(bytes(s.data) for s in obj.elf.sections if s.name == ".BTF"))
    asked = cells([WRITES, TASKS], ["6.1"], ["x86_64"], True, "", [("5.4", "x86_64", str(path))])
    found = {(Path(o.obj).name, o.kernel): o for o in run_cells(asked, Journal(None))}
    assert [o.kind for o in found.values()] == ["ok", "ok", "ok", "field"]
    assert "struct task_struct" in found["tasks.bpf.o", "5.4-vendor"].text
    assert {o.kernel: o.confidence for o in found.values()} == {"6.1": "compared", "5.4-vendor": "between"}
    assert "5.4: between 4.1 and 5.10, the nearest versions" in tables.plain(list(found.values()))


def test_a_journal_goes_on_where_it_ended(tmp_path):
    asked = cells([WRITES], ["5.10", "6.1"], ["x86_64"], False, "")
    path = tmp_path / "journal"
    first = next(run_cells(asked, Journal(path)))
    with path.open("a") as file:
        file.write('{"key": "cut off')
    again = list(run_cells(asked, Journal(path)))
    assert len(again) == 2 and again[0] == first
    assert len(Journal(path).done) == 2
    assert list(run_cells(asked, Journal(path))) == again  # nothing is asked any more


def test_two_processes_give_the_same():
    assert outcomes([WRITES, TASKS], ["5.10", "6.1"], jobs=2) == outcomes([WRITES, TASKS], ["5.10", "6.1"])


@pytest.mark.slow  # tests/simkernel/experiments has the same pool on a cluster
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs the Python package distributed")
def test_a_dask_cluster_gives_the_same():
    asked = cells([WRITES], ["6.1"], ["x86_64"], False, "")
    assert [outcome for _, outcome in on_cluster(asked, run_cell, "local")] == [run_cell(asked[0])]
    with pytest.raises(NoCluster, match=r"no Dask cluster at nothing-there"):
        list(on_cluster(asked, run_cell, "nothing-there"))


SOME = [
    Outcome("a/one.bpf.o", "4.1", "x86_64", "map type", "map rb: RINGBUF needs 5.8", 1, 7),
    Outcome("a/one.bpf.o", "5.10", "x86_64", "ok", "", 1, 7),
    Outcome("a/two.bpf.o", "4.1", "x86_64", "ok", "", 2, 20),
    Outcome("a/two.bpf.o", "5.10", "x86_64", "hook", "no <f> here", 2, 20),
]
PLAIN = """object  4.1 x86_64  5.10 x86_64
one     map type    ok
two     ok          hook

one.bpf.o (4.1 x86_64): map type: map rb: RINGBUF needs 5.8
two.bpf.o (5.10 x86_64): hook: no <f> here
"""


def test_the_text():
    assert tables.plain(SOME) == PLAIN
    assert tables.plain(list(reversed(SOME))) == PLAIN  # not the order in which workers were done


def test_the_other_formats():
    assert json.loads(tables.as_json(SOME))[0]["text"] == "map rb: RINGBUF needs 5.8"
    assert tables.as_csv(SOME).splitlines()[1] == "one.bpf.o,4.1,x86_64,failure,map type,map rb: RINGBUF needs 5.8,1,7,"
    suites = ElementTree.fromstring(tables.as_junit(SOME))
    assert [(s.get("name"), s.get("failures")) for s in suites] == [("4.1 x86_64", "1"), ("5.10 x86_64", "1")]
    assert tables.as_markdown(SOME).splitlines()[2] == "| one.bpf.o | map type | ok |"
    page = tables.as_html(SOME)
    assert page.count("<td") == 4 and "no &lt;f&gt; here" in page and "http" not in page


def command(*words, cwd):
    full = warm_server().command(*words)
    return subprocess.run(full, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_the_command(tmp_path):
    ran = command("matrix", "--kernel", "4.1,6.1", WRITES, cwd=tmp_path)
    assert ran.returncode == 1 and ran.stderr == ""
    assert ran.stdout.splitlines()[1].split() == ["writes", "helper", "ok"]
    ran = command("matrix", "--kernel", "6.1", "--format", "json", "--out", "o.json", WRITES, cwd=tmp_path)
    assert ran.returncode == 0 and json.loads((tmp_path / "o.json").read_text())[0]["kind"] == "ok"
    for words, said in (
        (["--kernel", "99.1", WRITES], "no kernel version 99.1 here"),
        (["--arch", "vax", WRITES], "unknown architecture vax"),
        (["nothing.o"], "nothing.o: no such file"),
        (["--btf", "5.4", WRITES], "write it as VERSION=FILE"),
        (["--btf", f"5.4={__file__}", WRITES], "no BTF: bad BTF magic"),
    ):
        ran = command("matrix", *words, cwd=tmp_path)
        assert ran.returncode == 2 and said in ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_ends_the_command_and_its_workers(tmp_path, jobs):
    """To the command alone: nobody else tells its workers, whose cells would never end."""
    started = tmp_path / "started"
    test = tmp_path / "check.py"
    text = f"import os, time\ndef test(machine, obj):\n    open({str(started)!r}, 'a').write(f'{{os.getpid()}}\\n')\n    time.sleep(600)\n"
    test.write_text(text)
    words = ["matrix", "-j", jobs, "--kernel", "6.1,5.10,6.12", "--run", str(test), WRITES, TASKS]
    full = [sys.executable, "-m", "simkernel", *words]
    running = subprocess.Popen(full, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 240
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        _, said = running.communicate(timeout=240)
    finally:
        running.kill()
    assert running.returncode == 128 + signal.SIGTERM and said == "", (running.returncode, said)
    pids = [int(line) for line in started.read_text().split()]
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_what_moved_is_what_the_object_names(tmp_path):
    ran = command("diff", "5.10", "6.1", "--for", TASKS, cwd=tmp_path)
    assert ran.returncode == 1
    lines = [line.strip() for line in ran.stdout.splitlines()]
    assert "- struct task_struct.state" in lines and "+ struct task_struct.__state" in lines
    assert not any("struct file." in line for line in lines)
    assert command("diff", "6.1", "6.1", cwd=tmp_path).stdout == ""
    assert command("diff", "6.1", "0.1", cwd=tmp_path).returncode == 2


def test_the_difference_of_two_sets_of_facts():
    old = Facts(frozenset({"a", "b"}), frozenset({"sched:x"}), {"struct s.m": "0", "struct s.gone": "8"})
    new = Facts(frozenset({"b", "c"}), frozenset({"sched:x"}), {"struct s.m": "16", "struct s.more": "8"})
    found = moved(old, new)
    assert found.gone == {"functions": ["a"], "events": [], "members": ["struct s.gone"]}
    assert found.new["functions"] == ["c"] and found.changed == [("struct s.m", "0", "16")]
    assert found and not moved(old, old)
