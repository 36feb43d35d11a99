"""CPython 3.11's own tests of what it asks of a kernel, in the simulated machine, compared with the host's kernel.

    python tests/tools/cpython_tests.py                     # all modules of MODULES
    python tests/tools/cpython_tests.py test_os test_pty    # some of them
    python tests/tools/cpython_tests.py -v test_os          # with what the differing ones say
    python tests/tools/cpython_tests.py --page              # write docs/cpython-tests.md from what the runs so far have said

Debian's packages (the interpreter, its library, libpython3.11-testsuite) are unpacked into the user's cache, never into the
project.  A test differs when it passes on the host and not in the machine; one that does not end within its module's time is
named, left out, and the rest is run again.  Needs an x86-64 Debian 12 or one whose C library is as new.

What a run finds is kept (tests/data/cpython_here.json), by module.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from foreign_packages import cache, unpack

import simkernel
from arch.abi.version import RELEASES
from simkernel.kernel.hostio import HostOutput

PACKAGES = [
    "libpython3.11-testsuite",
    "python3.11-minimal",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libexpat1",
    "zlib1g",
    "libffi8",
    "libssl3",
    "libbz2-1.0",
    "liblzma5",
    "libsqlite3-0",
]
MODULES = [
    "test_os",
    "test_posix",
    "test_signal",
    "test_threading",
    "test_subprocess",
    "test_socket",
    "test_select",
    "test_selectors",
    "test_epoll",
    "test_fcntl",
    "test_mmap",
    "test_pty",
    "test_time",
    "test_shutil",
    "test_tempfile",
    "test_asyncio.test_futures",
    "test_asyncio.test_unix_events",
    "test_asyncio.test_subprocess",
    "test_asyncio.test_selector_events",
    "test_multiprocessing_fork",
    "test_multiprocessing_spawn",
    "test_poll",
    "test_pwd",
    "test_resource",
    "test_thread",
    "test_wait3",
    "test_wait4",
    "test_openpty",
    "test_fork1",
    "test_threadsignals",
]
RUNNER = Path(__file__).with_name("cpython_runner.py")
DATA = Path(__file__).parents[1] / "data/cpython_here.json"
PAGE = Path(__file__).parents[2] / "docs/cpython-tests.md"
MODULE_S = 900  # host seconds for a module inside
HANGS = 12  # tests of one module that may be left out because they do not end


def root() -> Path:
    """Where the packages are unpacked; fetched when they are not there."""
    where = cache() / "cpython-3.11"
    if not (where / ".complete").exists():
        unpack(where, *PACKAGES)
        (where / ".complete").touch()
    # As the packages' own scripts do, else each process that is spawned compiles what it imports; unchecked, as host files are all of one time inside.
    compiled = where / ".compiled"
    if not compiled.exists():
        python = f"{where}/usr/bin/python3.11"
        command = [
            python,
            "-m",
            "compileall",
            "-qf",
            "--invalidation-mode",
            "unchecked-hash",
            f"{where}/usr/lib/python3.11",
        ]
        subprocess.run(
            command, env=environment(where), stdout=subprocess.DEVNULL, check=False
        )  # some of the suite is no Python
        compiled.touch()
    return where


def environment(where: Path) -> dict[str, str]:
    return {
        "PYTHONHOME": f"{where}/usr", "LD_LIBRARY_PATH": f"{where}/usr/lib/x86_64-linux-gnu", "PATH": "/usr/bin:/bin", "HOME": "/root",
        "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb",
    }  # fmt: skip


def verdicts(output: bytes) -> tuple[dict[str, str], dict[str, str], bool]:
    """(test -> verdict, test -> why, whether the module came to its end)."""
    found: dict[str, str] = {}
    why: dict[str, str] = {}
    last = ""
    for line in output.decode("utf-8", "replace").splitlines():
        match = re.search(r"@@ (\S+) (\w+)$", line)
        if match:
            last = match[1]
            if match[2] != "begin" and found.get(last) not in ("error", "failed"):
                found[last] = match[2]
            elif match[2] == "begin":
                found.setdefault(last, "unended")
        elif line.startswith("## "):
            why.setdefault(last, line[3:])
    return found, why, found.pop("end", "") == "end"


def on_the_host(where: Path, module: str) -> dict[str, str]:
    command = [f"{where}/usr/bin/python3.11", str(RUNNER), module]
    try:
        ran = subprocess.run(
            command, env=environment(where), capture_output=True, timeout=900, cwd="/tmp", stdin=subprocess.DEVNULL
        )
        output = ran.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    return verdicts(output)[0]


def release() -> str:
    """The host's kernel, if a machine can be of that version, else the newest there is."""
    return _host() if _host() in RELEASES else RELEASES[-1]


def _host() -> str:
    return ".".join(os.uname().release.split(".")[:2])


def inside(where: Path, module: str, passing: dict[str, str], seconds: float) -> tuple[dict[str, str], dict[str, str]]:
    """The same in machines: again without the test that did not end, a few times."""
    found: dict[str, str] = {}
    why: dict[str, str] = {}
    skip = [test for test, verdict in passing.items() if verdict != "ok"]
    binds = [
        (path, path, False)
        for path in ("/lib", "/lib64", "/usr/lib", "/bin", "/usr/bin", "/etc/services")
        if Path(path).exists()
    ]
    for _ in range(HANGS):
        done = [test for test, verdict in found.items() if verdict != "unended"]
        with closing(
            simkernel.boot(
                kernel=release(), binds=[*binds, (str(where), str(where), False), (str(RUNNER.parent), "/runner", False)], memory=1 << 30, cpus=2,
            )
        ) as machine:  # fmt: skip
            output = HostOutput()
            out_of = ",".join([*skip, *done, *(t for t, v in found.items() if v == "unended")])
            try:
                result = machine.run(
                    [f"{where}/usr/bin/python3.11", "/runner/cpython_runner.py", module], env=environment(where) | {"SKIP": out_of},
                    stdout=output, stderr=HostOutput(), timeout_host_s=seconds, timeout_virtual_ns=3600 * 10**9,
                )  # fmt: skip
                said = result.stdout
            except simkernel.MachineError:
                said = output.data
        more, reasons, ended = verdicts(said)
        found |= more
        why |= reasons
        if ended or not more:
            break
    return found, why


# ---- what is kept, and the page ----

HEAD = """# CPython's own tests

Made by `make test-cpython`: modules of CPython 3.11's tests (Debian's libpython3.11-testsuite, fetched into the user's cache) inside, on two simulated CPUs and a kernel
of the host's version (where the table says so), and on the host, test by test. Compared are those that pass on the host.

{agree} of {total} pass inside, too ({percent:.2f} %).

| module | of those that pass on the host | host's kernel | the machine's | what differs |
|---|---|---|---|---|
"""
# test, or the beginning of its name -> why it does otherwise
REASONS = {
    "test_socket.BasicVSOCKTest": "AF_VSOCK is EAFNOSUPPORT, as in Debian's 6.1 and 6.12 until a module is loaded",
}  # fmt: skip


def load() -> dict[str, dict[str, object]]:
    """module -> what its last run said."""
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def keep(module: str, passing: int, differs: dict[str, str]) -> None:
    """One run of a module."""
    kept = load() | {module: {"host": _host(), "machine": release(), "of": passing, "differs": differs}}
    DATA.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")


def _why(test: str) -> str:
    return next((f": {why}" for name, why in REASONS.items() if test.startswith(name)), "")


def page(kept: dict[str, dict]) -> str:
    """docs/cpython-tests.md."""
    total = sum(row["of"] for row in kept.values())
    agree = total - sum(len(row["differs"]) for row in kept.values())
    text = HEAD.format(agree=agree, total=total, percent=100 * agree / max(total, 1))
    for module, row in kept.items():
        said = "; ".join(
            f"`{test.removeprefix(module + '.')}` ({verdict}{_why(test)})" for test, verdict in row["differs"].items()
        )
        text += f"| {module} | {row['of'] - len(row['differs'])} of {row['of']} | {row['host']} | {row['machine']} | {said} |\n"
    left = [module for module in MODULES if module not in kept]
    return text + ("\nNot run for this table: " + ", ".join(left) + ".\n" if left else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-s", "--seconds", type=float, default=MODULE_S, help="host seconds for a module inside")
    parser.add_argument("--page", action="store_true", help="write docs/cpython-tests.md from what is kept")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(load()))
        return 0
    where = root()
    agree = total = 0
    for module in options.modules or MODULES:
        host = on_the_host(where, module)
        passing = [test for test, verdict in host.items() if verdict == "ok"]
        ours, why = inside(where, module, host, options.seconds)
        differs = [test for test in passing if ours.get(test) != "ok"]
        keep(module, len(passing), {test.removeprefix("test."): ours.get(test, "not run") for test in differs})
        agree, total = agree + len(passing) - len(differs), total + len(passing)
        print(f"{module}: {len(passing) - len(differs)} of {len(passing)}", flush=True)
        for test in differs:
            print(f"  {ours.get(test, 'not run')}: {test.removeprefix('test.')}")
            if options.verbose and test in why:
                print(f"      {why[test]}")
        sys.stdout.flush()
    print(f"{agree} of {total} tests that pass on this host ({os.uname().release}) pass in the machine")
    return 0


if __name__ == "__main__":
    sys.exit(main())
