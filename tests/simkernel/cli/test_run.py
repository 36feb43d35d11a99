"""`simkernel run` as a person meets it: what it says of bad input, its exit statuses, and that it writes nothing unasked."""

from __future__ import annotations

import filecmp
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import simkernel
from arch.errors import KernelError
from arch.hosttime import HostStop
from bpf.loader.object import BpfObject
from simkernel.cli import cli
from simkernel.program import ProgramError
from simkernel.recording.maps import Maps
from simkernel.usertask import TaskEnded
from tests.tools.warm import warm_server

ROOT = Path(__file__).parents[3]
BIN, OBJ = ROOT / "samples" / "bin", ROOT / "samples" / "obj"
HELLO, WRITER, WRITES = BIN / "x86_64" / "hello", BIN / "x86_64" / "writer", OBJ / "x86_64" / "writes.bpf.o"
COMMAND = [sys.executable, "-c", "import sys; sys.argv[0] = 'simkernel'; from simkernel.cli import main; main()"]


def run(*args: object) -> Result:
    """`simkernel run ARGS` in this process.  A traceback is a failure of the test."""
    result = CliRunner().invoke(cli, ["run", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def shell(args: list[object], **options: object) -> subprocess.CompletedProcess[bytes]:
    """`simkernel run ARGS` as a process of its own, for what needs real streams."""
    return subprocess.run(warm_server().command("run", *args), cwd=ROOT, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def cold(args: list[object], **options: object) -> subprocess.CompletedProcess[bytes]:
    """The same from the start of Python on, for what is there before our first line."""
    return subprocess.run([*COMMAND, "run", *map(str, args)], cwd=ROOT, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ([], "no program given"),
        (["nosuch-program"], "not found on PATH"),
        (["./nosuch"], "no such file"),
        (["/"], "is a directory"),
        (["/dev/null"], "not a regular file"),
        ([BIN / "s390x" / "hello"], "use --arch s390x"),
        ([WRITES], "built for bpf"),
        (["--kernel", "abc", HELLO], "not a kernel version"),
        (["--kernel", "9.0", HELLO], "no kernel version 9.0"),
        (["--kernel", "2.6", HELLO], "no kernel version 2.6"),
        (["--kernel", "4.21", HELLO], "no kernel version 4.21"),
        (["--timeout", "nan", HELLO], "--timeout nan"),
        (["--timeout", "-1", HELLO], "--timeout -1"),
        (["--host-timeout", "1e300", HELLO], "--host-timeout 1e300"),
        (["--out", "", HELLO], "--out ''"),
        (["--out", HELLO, HELLO], "not a directory"),
        (["--out", "/proc/nosuch", HELLO], "No such file"),
        (["--bind", "/tmp", HELLO], "HOST:GUEST"),
        (["--bind", "/nosuch:/in", HELLO], "does not exist"),
        (["--bind", "/tmp:in", HELLO], "has to begin with /"),
        (["--bind", "/tmp:/in:xx", HELLO], "HOST:GUEST"),
        (["--bind", "/tmp:/in/../..", HELLO], "root cannot be covered"),
        (["--bind", "/tmp:/etc/hostname", HELLO], "ENOTDIR"),
        (["--env", "=x", HELLO], "NAME=VALUE"),
        (["--workload", "nosuch"], "no workload named 'nosuch'"),
        (["--workload", "disk", HELLO], "not both"),
        (["--bpf", "/nosuch", HELLO], "no such file"),
        (["--bpf", HELLO, HELLO], "not a valid eBPF object"),
        (["--bpf", OBJ / "s390x" / "writes.bpf.o", HELLO], "big endian"),
        (["--kernel", "4.1", "--bpf", WRITES, HELLO], "invalid func 14"),
        (["--event", "", HELLO], "no such event"),
        (["--event", "sched:sched_swich", HELLO], "near: sched:sched_switch"),
        (["--event", "power:foo", HELLO], "no such event"),
        (["--event", "power:foo*", HELLO], "no such event"),
        (["--event", "p:nosuch", HELLO], "Invalid probed address or symbol"),
        (["--event", "p:x vfs_write %zz", HELLO], "Invalid register name"),
    ],
)
def test_bad_input_is_a_sentence_and_status_2(args: list[object], sentence: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.startswith("simkernel run: ")


def test_an_unknown_function_in_an_object_gets_near_names(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.bpf.o"
    wrong.write_bytes(WRITES.read_bytes().replace(b"vfs_write", b"vfs_wrote"))
    result = run("--bpf", wrong, HELLO)
    assert result.exit_code == 2
    assert "did you mean vfs_write" in result.stderr


def test_the_exit_status_is_the_programs(busybox: str) -> None:
    assert run(busybox, "sh", "-c", "exit 7").exit_code == 7
    assert run(busybox, "nosuch-applet").exit_code == 127


def test_a_crash_is_told_and_the_maps_are_printed(busybox: str) -> None:
    result = run("--json", "--bpf", WRITES, busybox, "sh", "-c", "echo before; kill -SEGV $$")
    assert result.exit_code == 128 + 11
    assert "killed by SIGSEGV at address" in result.stderr
    assert "RIP: " in result.stderr
    document = json.loads(result.stdout)
    assert document["crash"]["signal"] == 11
    assert document["maps"][str(WRITES)]["sizes"]


def test_other_signals_are_one_line_and_sigpipe_none(busybox: str) -> None:
    killed = run(busybox, "sh", "-c", "kill -TERM $$")
    assert (killed.exit_code, killed.stderr) == (143, f"simkernel run: {Path(busybox).name}[100]: killed by SIGTERM\n")
    assert run(busybox, "sh", "-c", "kill -KILL $$").stderr == f"simkernel run: {busybox}: killed by SIGKILL\n"
    piped = run(busybox, "sh", "-c", "kill -PIPE $$")
    assert (piped.exit_code, piped.stderr) == (141, "")


def test_time_limits_end_a_program(busybox: str) -> None:
    endless = run("--timeout", "0.001", busybox, "sh", "-c", "while :; do :; done")
    assert (endless.exit_code, "virtual time is up" in endless.stderr) == (124, True)
    real = run("--host-timeout", "0.3", busybox, "sh", "-c", "while :; do :; done")
    assert (real.exit_code, "real time is up" in real.stderr) == (124, True)
    assert run("--timeout", "0.0001", "--workload", "disk").exit_code == 124


def test_a_full_file_system_is_an_errno_of_the_program(busybox: str) -> None:
    result = run("--json", busybox, "dd", "if=/dev/zero", "of=/tmp/x", "bs=1M")
    assert result.exit_code == 1
    assert "No space left on device" in json.loads(result.stdout)["stderr"]


def test_a_bind_over_bin_leaves_the_hosts_directory_alone(tmp_path: Path, busybox: str) -> None:
    """The program that the machine gets is not written into, nor replaces, what the host has there."""
    (tmp_path / "busybox").write_text("the host's own")
    for mode in ("", ":rw"):
        result = run("--json", "--bind", f"{tmp_path}:/bin{mode}", busybox, "ls", "/bin")
        assert (result.exit_code, json.loads(result.stdout)["stdout"]) == (0, "busybox\n")
    assert [p.name for p in tmp_path.iterdir()] == ["busybox"]
    assert (tmp_path / "busybox").read_text() == "the host's own"


def test_a_bind_makes_no_directory_in_another_bind(tmp_path: Path) -> None:
    result = run("--bind", f"{tmp_path}:/in", "--bind", f"{tmp_path}:/in/sub", HELLO)
    assert (result.exit_code, "EROFS" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_has_the_memory_that_it_is_given(busybox: str) -> None:
    told = run("--json", "--memory", "1G", busybox, "head", "-1", "/proc/meminfo")
    assert json.loads(told.stdout)["stdout"].split() == ["MemTotal:", "1048576", "kB"]
    for words, reason in (
        (["--memory", "63M"], "--memory 63M: a machine has from 64M to 16G"),
        (["--memory", "much"], "--memory much: write it as bytes, such as 4096, 64K or 2G"),
        (["--arch", "i386", "--memory", "1G", "--workload", "udp"], "a machine of i386 has at most 896M of memory"),
    ):
        result = run(*words, *([] if "--workload" in words else [busybox]))
        assert (result.exit_code, result.stderr) == (2, f"simkernel run: {reason}\n")


def test_the_same_command_gives_the_same_files(tmp_path: Path) -> None:
    """Whatever the hash seed and the number of host cores."""
    trees = []
    for name, hash_seed in (("one", "1"), ("two", "77")):
        args = ["--out", tmp_path / name, "--cpus", 4, "--seed", 5, "--strace", "--event", "sched:sched_switch"]
        cold([*args, "--bpf", WRITES, "--", WRITER], env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True)
        trees.append(tmp_path / name)
    names = sorted(p.name for p in trees[0].iterdir())
    assert names == [
        "events.jsonl", "maps.txt", "recording.json", "result.json", "stats.txt", "stderr", "stdout", "strace.txt", "trace.txt",
    ]  # fmt: skip
    assert filecmp.cmpfiles(*trees, names, shallow=False) == (names, [], [])


# ---- streams ----


def test_bytes_pass_through(busybox: str) -> None:
    data = bytes(range(256)) * 1000
    result = shell([busybox, "cat"], input=data, capture_output=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, data, b"")


def test_a_closed_reader_is_sigpipe_for_the_program(busybox: str) -> None:
    child = subprocess.Popen(
        warm_server().command("run", busybox, "yes"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == b"y\n"
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this host")
def test_a_full_disk_is_said_to_the_program_and_to_the_person(busybox: str) -> None:
    with open("/dev/full", "wb") as full:
        program = shell([busybox, "echo", "hi"], stdout=full, stderr=subprocess.PIPE)
        trace = shell(["--event", "syscalls:sys_enter_wr*", HELLO], stdout=full, stderr=subprocess.PIPE)
    assert (program.returncode, b"No space left on device" in program.stderr) == (1, True)
    assert trace.returncode == 2
    assert trace.stderr == b"simkernel run: cannot write the results: No space left on device\n"


def test_closed_standard_streams_are_dev_null() -> None:
    result = cold([HELLO], stderr=subprocess.PIPE, preexec_fn=lambda: (os.close(0), os.close(1)))
    assert (result.returncode, result.stderr) == (0, b"")


def test_ctrl_c_is_quiet(busybox: str) -> None:
    loop = [busybox, "sh", "-c", "echo on; while :; do :; done"]
    child = subprocess.Popen(
        warm_server().command("run", *loop), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == b"on\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 130
    assert child.stderr.read() == b""


def test_ctrl_c_before_the_command_has_begun_is_quiet() -> None:
    """In the middle of the imports."""
    code = (
        "import os, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'click': os.kill(os.getpid(), 2)\n"
        "sys.argv = ['simkernel', 'list']; sys.meta_path.insert(0, Interrupted())\n"
        "from simkernel.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_a_shell_on_a_terminal_answers_line_by_line(busybox: str) -> None:
    import pty

    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(COMMAND[0], [*COMMAND, "run", busybox, "sh"])  # with a controlling terminal
    os.set_blocking(fd, True)
    seen = b""

    def until(mark: bytes) -> None:
        nonlocal seen
        while mark not in seen:
            seen += os.read(fd, 4096)
        seen = seen.partition(mark)[2]

    until(b"# ")
    os.write(fd, b"read x; echo got-$x\n")
    until(b"\n")
    os.write(fd, b"it\n")
    until(b"got-it")
    os.write(fd, b"exit 5\n")
    until(b"exit 5")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    os.close(fd)


# ---- damaged programs ----


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A program with bits or header bytes changed, or its end missing."""
    out = bytearray(data)
    kind = rng.randrange(3)
    if kind == 0:
        return bytes(out[: rng.randrange(len(out))])
    for _ in range(rng.randint(1, 4) if kind == 1 else rng.randint(1, 40)):
        at = rng.randrange(64 + 56 * 6) if kind == 1 else rng.randrange(len(out))
        out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF)) if kind == 1 else out[at] ^ 1 << rng.randrange(8)
    return bytes(out)


def run_damaged(arch: str, seed: int, count: int, tmp_path: Path) -> int:
    """Install and run so many; anything but a refusal or an end of the program is an exception here."""
    rng = random.Random(seed)
    original = (BIN / arch / "hello").read_bytes()
    m = simkernel.boot(arch=arch)
    path, ran = tmp_path / "damaged", 0
    for _ in range(count):
        path.write_bytes(damaged(original, rng))
        try:
            m.run([m.install(path)], timeout_virtual_ns=5_000_000, timeout_host_s=2)
            ran += 1
        except (ProgramError, KernelError):
            continue
    return ran


@pytest.mark.parametrize("arch", ["x86_64", "s390x"])
def test_damaged_programs_are_refused_or_end(arch: str, tmp_path: Path) -> None:
    assert run_damaged(arch, 3, 40, tmp_path) > 5


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x", "i386", "arm"])
def test_many_damaged_programs_are_refused_or_end(arch: str, tmp_path: Path) -> None:
    assert run_damaged(arch, 11, 1500, tmp_path) > 100


REMOUNTING = """
mount -o remount,rw /in; echo "remount $?"
mount -o remount,bind,rw /in; echo "bind $?"
mkdir -p /b; mount --bind /in /b; mount -o remount,rw /b
( i=0; while [ $i -lt 40 ]; do mount -o remount,bind,rw /in; mount -o remount,bind,ro /in; i=$((i+1)); done ) &
( i=0; while [ $i -lt 40 ]; do echo x > /in/file; echo x >> /b/file; echo x > /in/new; i=$((i+1)); done ) &
wait
exec 5< /in/file; echo x > /proc/self/fd/5; chmod 777 /in/file; touch -d 1999-01-01 /in/file; ln -s x /in/link
truncate -s 0 /in/file; mv /in/file /in/gone; rm -f /in/file; mkdir /in/sub; mknod /in/null c 1 3
chroot /in /file; unshare -m true; unshare -m sh -c 'mount -o remount,rw /in; echo x > /in/file'
cat /in/file; echo; head -n 1 /in/file > /dev/null && echo still there
"""


def test_a_read_only_bind_stays_so_whatever_is_mounted(tmp_path: Path, busybox: str) -> None:
    """Two processes on two CPUs: one changes the mounts all the time, the other writes."""
    (tmp_path / "file").write_text("of the host")
    before = (tmp_path / "file").lstat()
    result = run("--json", "--cpus", 2, "--bind", f"{tmp_path}:/in", busybox, "sh", "-c", REMOUNTING)
    told = json.loads(result.stdout)
    assert told["stdout"] == "remount 255\nbind 0\nof the host\nstill there\n"
    assert told["stderr"].count("Read-only file system") > 120
    after = (tmp_path / "file").lstat()
    assert (after.st_mtime_ns, after.st_mode, after.st_ino) == (before.st_mtime_ns, before.st_mode, before.st_ino)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "of the host"


def test_a_bug_of_ours_is_one_line_and_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit status 70 (EX_SOFTWARE); --debug adds the traceback."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["simkernel", "run", "--seed", "7", str(HELLO)])

    def wrong(*args: object) -> int:
        raise LookupError("a mistake")

    monkeypatch.setattr("simkernel.fs.vfs.Vfs.open_exec", wrong)
    plain, debugged = run("--seed", "7", HELLO), run("--seed", "7", "--debug", HELLO)
    assert plain.exit_code == debugged.exit_code == 70
    assert plain.stderr.count("\n") == 1 and "this is a bug of simkernel, please report it; " in plain.stderr
    assert "Traceback" in debugged.stderr and "LookupError: a mistake" in debugged.stderr
    report = next(path for path in tmp_path.iterdir() if str(path) in plain.stderr).read_text()
    assert f"command: simkernel run --seed 7 {HELLO}\n" in report and "seed: 7\n" in report
    for name in ("simkernel: ", "python: 3.", "unicorn: 2.", "llvmlite: 0.", "kernel BUG at ", "Traceback "):
        assert name in report


# ---- limits of what comes out, and results that are whole or marked ----


def test_output_ends_at_its_limit(busybox: str, tmp_path: Path) -> None:
    passed = shell(["--max-output", "100K", busybox, "yes"], stdout=subprocess.PIPE)
    assert (passed.returncode, 0 < len(passed.stdout) <= 102400) == (141, True)
    collected = run("--json", "--max-output", "100K", busybox, "yes")
    document = json.loads(collected.stdout)
    assert 0 < len(document["stdout"]) <= 102400
    assert document["incomplete"] == ["simkernel run: stdout is not complete: more than 102,400 bytes"]
    traced = run("--json", "--strace", "--max-output", "64", "--event", "syscalls:sys_enter_getppid", HELLO)
    assert "strace is not complete" in "".join(json.loads(traced.stdout)["incomplete"])
    assert run("--max-output", "many", HELLO).exit_code == 2


def test_results_are_whole_or_marked(busybox: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("--out", str(out), HELLO).exit_code == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "events.jsonl", "maps.txt", "recording.json", "result.json", "stats.txt", "stderr", "stdout", "trace.txt",
    ]  # fmt: skip
    assert run("--out", str(out), "--max-output", "1K", busybox, "yes").exit_code == 141
    assert "stdout is not complete" in (out / "INCOMPLETE").read_text()
    child = subprocess.Popen(
        [*COMMAND, "run", "--out", str(out), busybox, "sh", "-c", "echo on; while :; do :; done"], cwd=ROOT
    )
    partial = out / ".partial" / "stdout"
    while not partial.exists() or not partial.read_bytes():
        time.sleep(0.02)
    child.kill()
    child.wait()
    assert (out / "INCOMPLETE").exists() and not (out / "result.json").exists() and not (out / "stdout").exists()
    assert run("--out", str(out), HELLO).exit_code == 0
    assert not (out / "INCOMPLETE").exists() and (out / "result.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_with_its_results(number: signal.Signals, busybox: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    child = subprocess.Popen(
        warm_server().command("run", "--out", out, "--event", "syscalls:sys_enter_getppid", busybox, "sh", "-c",
                              "echo on; while :; do :; done"), cwd=ROOT,
    )  # fmt: skip
    while not (out / ".partial" / "stdout").exists() or not (out / ".partial" / "stdout").read_bytes():
        time.sleep(0.02)
    child.send_signal(number)
    assert child.wait(60) == 128 + number
    assert json.loads((out / "result.json").read_text())["timed_out"] == "interrupted"
    assert "sys_getppid" in (out / "trace.txt").read_text()


def test_a_signal_ends_a_long_recording_with_what_can_be_read_in_time(busybox: str, tmp_path: Path) -> None:
    """A full buffer takes seconds to read: the first events are there, and how many are not is said."""
    out = tmp_path / "out"
    child = subprocess.Popen(
        warm_server().command("run", "--out", out, "--event", "p:vfs_read", busybox, "sh", "-c",
                              "head -c 90000000 /dev/zero | wc -c >&2; echo on; while :; do :; done"),
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (out / ".partial" / "stdout").exists() or not (out / ".partial" / "stdout").read_bytes():
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    assert child.stderr is not None
    assert "the recording is not complete" in child.stderr.read()
    assert child.wait(60) == 128 + signal.SIGTERM
    main = json.loads((out / "recording.json").read_text())
    events = (out / "events.jsonl").read_text().splitlines()
    (told,) = [line for line in main["lost"] if line.startswith("the first ")]
    assert told.startswith(f"the first {len(events):,} of ") and len(events) > 100
    assert "the recording is not complete" in (out / "INCOMPLETE").read_text()


@pytest.mark.parametrize("kib", [200_000, 330_000, 370_000, 400_000, 420_000])
def test_too_little_memory_of_the_host_is_a_sentence(kib: int) -> None:
    import resource

    done = cold(
        [HELLO], capture_output=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10,) * 2)
    )
    if done.returncode:  # what a process needs differs from host to host
        assert done.returncode == 2
        assert done.stderr.count(b"\n") == 1 and b"no memory of the host is left" in done.stderr


def test_a_run_that_is_stopped_while_it_reads_maps_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The tool's task went with the call that was stopped: nobody is there to be asked for verifier logs."""

    def stopped(obj: BpfObject) -> Maps:
        assert obj.task is not None
        with pytest.raises(TaskEnded):
            obj.task.call("exit_group", 0)
            obj.task.sys.alloc(8)
        raise HostStop

    monkeypatch.setattr("simkernel.recording.maps.object_maps", stopped)
    result = run("--bpf", WRITES, "--out", tmp_path / "out", WRITER)
    assert "the maps are not complete" in result.stderr
    assert "verifier logs are not complete" in result.stderr
    assert (tmp_path / "out").exists()
