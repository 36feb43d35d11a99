"""Programs written with Debian's own libbpf-dev headers (and systemtap's sys/sdt.h), unmodified, compiled here.

Skipped by name without ziglang or the headers.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import simkernel
from bpf.btf.dump import dump_c
from tests.kconfig import typed

HERE = Path(__file__).parent / "programs"
SAMPLES = Path(__file__).resolve().parents[3] / "samples"
ASM = Path("/usr/include/x86_64-linux-gnu")
ASM_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
DATA = Path(__file__).resolve().parents[2] / "data"
SDT = [ASM / "sys" / "sdt.h", ASM / "sys" / "sdt-config.h"]
# ours: (BPF target, __TARGET_ARCH_, target of user programs)
ARCHES = {
    "x86_64": ("bpfel", "x86", ["x86_64-linux-musl"]),
    "arm64": ("bpfel", "arm64", ["aarch64-linux-musl"]),
    "riscv64": ("bpfel", "riscv", ["riscv64-linux-musl"]),
    "s390x": ("bpfeb", "s390", ["s390x-linux-musl", "-mcpu=arch8"]),
}
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None or not Path("/usr/include/bpf/usdt.bpf.h").exists() or not ASM.is_dir(),
    reason="needs ziglang and Debian's libbpf-dev",
)


def zig(*words):
    done = subprocess.run([sys.executable, "-m", "ziglang", "cc", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def bpf_object(machine, arch, source, tmp_path):
    target, define, _ = ARCHES[arch]
    (tmp_path / "vmlinux.h").write_text(dump_c(machine.kernel.observer.kernel_btf.get()))
    out = tmp_path / f"{source}.o"
    zig("-target", f"{target}-freestanding", "-O2", "-g", "-mcpu=v3", f"-D__TARGET_ARCH_{define}", "-I", tmp_path,
        "-I/usr/include", f"-I{ASM}", "-Wno-everything", "-c", HERE / source, "-o", out)  # fmt: skip
    return out


@pytest.mark.parametrize("arch", ARCHES)
def test_every_way_of_attaching(arch, tmp_path):
    binds = [(str(SAMPLES / "bin" / arch), "/samples", False)]
    with closing(simkernel.boot(arch=arch, binds=binds, config=["FPROBE", *typed(arch)])) as machine:
        obj = machine.load(bpf_object(machine, arch, "headers.bpf.c", tmp_path))
        obj.attach()
        assert machine.run(["/samples/server", "12"]).stdout == b"answered 12 requests\n"
        bss = obj.bss
        assert (bss.entered, bss.bytes, bss.left, bss.multi, bss.ksys) == (1, 21, 21, 1, 21)
        assert bss.raw >= 1 and bss.btf_switches > 10
        assert (bss.uses, bss.arg_count, list(bss.got)[:2]) == (12, 3, [12, 200])
        assert bss.returned == 9 * 200 + 3 * 404
        assert (bss.comm, bss.route_name) == ("server", "/")
        machine.session.read_file("/etc/hostname")
        assert obj.bss.modified >= 1


@pytest.mark.slow  # the compiler builds its C library for each target first
@pytest.mark.skipif(not SDT[0].exists(), reason="needs Debian's systemtap-sdt-dev")
@pytest.mark.parametrize(
    ("flags", "kernel"), [([], "6.1"), ([], "5.10"), (["-pie"], "6.1")], ids=["fixed", "ip-map", "pie"]
)
@pytest.mark.parametrize("arch", ARCHES)
def test_places_of_arguments_children_and_semaphores(arch, flags, kernel, tmp_path):
    """Static and position-independent; in the program, in a forked child and in what the child executes."""
    (tmp_path / "sys").mkdir()
    for header in SDT:
        shutil.copy(header, tmp_path / "sys")
    program = tmp_path / "places"
    zig("-target", *ARCHES[arch][2], "-O1", "-static", *flags, "-fno-sanitize=all", "-I", tmp_path,
        HERE / "places.c", "-o", program)  # fmt: skip
    with closing(simkernel.boot(arch=arch, kernel=kernel)) as machine:
        path = machine.install(str(program))
        assert machine.run([path]).stdout == b"4 0 0\n2 0 0\n"
        obj = machine.load(bpf_object(machine, arch, "places.bpf.c", tmp_path))
        obj.attach()
        assert machine.run([path]).stdout == b"4 1 0\n2 1 0\n"
        bss = obj.bss
        assert (bss.plain, bss.guarded) == (7, 7)  # three, one in the child, three after exec
        assert (bss.small, bss.middle) == (2 * (-1 + 2 - 3) + 2, 2 * (-300 + 301 + 302) + 301)
        assert bss.wide == 2 * (70000 + 0xFFFFFFF0 + 3) + 0xFFFFFFF0
        assert (bss.constant, bss.missing) == (-5, -2)
        assert bss.guarded_sum == 2 * (2 * (0 + 1 + 2)) + 2
        assert (bss.calls, bss.returned) == (9, 2 * bss.call_sum)
        for link in obj.links:
            link.destroy()
        assert machine.run([path]).stdout == b"4 0 0\n2 0 0\n"
        assert bss.plain == 7


@pytest.mark.skipif(
    not all(
        [
            shutil.which("gcc"),
            *((ASM_LIBRARIES / name).exists() for name in ("libbpf.a", "libelf.a", "libz.a")),
            SDT[0].exists(),
        ]
    ),
    reason="needs gcc, systemtap-sdt-dev and the static libraries libbpf, libelf and zlib",
)
@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
def test_libbpf_itself_answers_as_on_linux(kernel, tmp_path):
    """Debian's libbpf in a static program, unmodified: what it attached and every byte the probes counted.

    The recorded answer is a real 6.1's, to the same three files. The map of argument specifications is left out of it,
    since the compiler chooses where arguments lie; all other bytes are the program's own.
    """
    for name, libraries in (("loader", ["-lbpf", "-lelf", "-lz"]), ("places", [])):
        subprocess.run(["gcc", "-static", "-O0", "-w", HERE / f"{name}.c", "-o", tmp_path / name, *libraries],
                       check=True, capture_output=True)  # fmt: skip
    with closing(simkernel.boot(kernel=kernel, binds=[(str(tmp_path), "/given", False)])) as machine:
        program = machine.install(str(tmp_path / "places"))
        bpf_object(machine, "x86_64", "places.bpf.c", tmp_path)
        result = machine.run(["/given/loader", "/given/places.bpf.c.o", program])
        lines = result.stdout.decode().splitlines(keepends=True)
    recorded = (DATA / "libbpf_places_6_1.txt").read_text()
    if kernel == "5.10":  # no BPF cookie: .kconfig's LINUX_HAS_BPF_COOKIE is 0, and the probes are found by address
        recorded = recorded.replace("places.kconfig 00000000: 01\n", "")
        assert any(line.startswith("__bpf_usdt_ip_to_spec_id") for line in lines)
    assert "".join(line for line in lines if not line.startswith("__bpf_")) == recorded
