"""busybox on the simulated machine prints what it prints on the real Linux 6.1: applets.txt, answers in applets.out.

record_applets.py wrote the answers.  The scripts run one after the other on one machine, each in a directory of its own: all on
x86_64, and on each other CPU an eighth of them, not the same; the rest are slow tests.
"""

import re
import shutil
import sys
from pathlib import Path

import pytest

from simkernel.fs import rootfs

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import foreign_packages  # noqa: E402

BUSYBOX = {"x86_64": shutil.which("busybox")}
for _arch, _debian in (("arm64", "arm64"), ("s390x", "s390x"), ("i386", "i386"), ("arm", "armhf")):
    _package = foreign_packages.path("busybox-static", _debian)
    BUSYBOX[_arch] = str(_package / "bin/busybox") if _package else None
# Where we differ from the recorded answer, and why.  docs/differences.md has the list.
DIFFERENT: dict[str, str] = {}


def scripts():
    text = (HERE / "applets.txt").read_text()
    return dict(block.split("\n", 1) for block in text.split("### ")[1:])


def answers():
    found = re.findall(r"^@@@ (\S+) (\d+)\n(.*?)@@@ end$", (HERE / "applets.out").read_text(), re.M | re.S)
    return {name: (int(status), output) for name, status, output in found}


SCRIPTS, ANSWERS = scripts(), answers()


def put_busybox(vfs, program):
    rootfs.add_host_file(vfs, program, "/bin/busybox")
    for name in (HERE / "applets.list").read_text().split():
        rootfs.add_link(vfs, f"/bin/{name}", "busybox")


@pytest.fixture(scope="module")
def box(request):
    if BUSYBOX[request.param] is None:
        pytest.skip(f"no busybox-static for {request.param}; tests/tools/foreign_packages.py fetches it")
    from simkernel.machine import boot

    m = boot(arch=request.param, kernel="6.1")
    put_busybox(m.kernel.vfs, BUSYBOX[request.param])
    for name, script in SCRIPTS.items():
        rootfs.add_file(m.kernel.vfs, f"/cases/{name}", script)
    yield m
    m.close()


def run_case(machine, name):
    rootfs.make_directory(machine.kernel.vfs, f"/tmp/w/{name}")
    result = machine.run(
        [
            "/bin/busybox",
            "sh",
            "-c",
            f"exec </dev/null; cd /tmp/w/{name}; umask 022; busybox sh /cases/{name} >/tmp/result 2>&1; exit $?",
        ],
        timeout_host_s=60,
    )
    inode = machine.kernel.vfs.resolve("/tmp/result").dentry.inode
    output = inode.i_mapping.read(0, inode.i_size).decode("utf-8", "surrogateescape")
    return result.status, output


def test_every_script_has_an_answer():
    assert set(SCRIPTS) == set(ANSWERS)
    assert len(SCRIPTS) >= 60


def cases():
    """Script by script for each CPU."""
    for cpu, arch in enumerate(BUSYBOX):
        for number, name in enumerate(SCRIPTS):
            often = arch == "x86_64" or number % 8 == cpu
            yield pytest.param(arch, name, id=f"{arch}-{name}", marks=() if often else pytest.mark.slow)


@pytest.mark.parametrize(("box", "name"), list(cases()), indirect=["box"])
def test_applet(box, name):
    status, output = run_case(box, name)
    assert output == ANSWERS[name][1]
    assert status == ANSWERS[name][0]


@pytest.mark.parametrize("box", ["x86_64", "s390x", "arm"], indirect=True)
def test_reading_proc_of_many_processes_leaves_nothing(box):
    """Structures of /proc/PID go away with the process."""
    script = (
        "i=0; while [ $i -lt 20 ]; do cat /proc/self/stat >/dev/null; ls /proc/self/fd >/dev/null; i=$((i+1)); done"
    )
    live = []
    for _ in range(3):
        assert box.run(["/bin/busybox", "sh", "-c", script], timeout_host_s=60).status == 0
        live.append(box.kernel.mem.live_objects)
    assert live[2] - live[1] <= 30
