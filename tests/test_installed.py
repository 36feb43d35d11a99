"""simkernel installed from its own distributions, outside the checkout, and beside packages that have its floors' names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import simkernel
from simkernel.own_floors import FLOORS_BELOW, MARK
from tests.test_docs import blocks, run_console, why_not

ROOT = Path(__file__).parent.parent
NOT_SOURCES = shutil.ignore_patterns(
    "__pycache__", ".git", ".venv", "build", "dist", "*.egg-info", ".*_cache", ".hypothesis"
)
BUILD = "from hatchling import build; print(build.build_{kind}({out!r}))"
PYTHONS = ("python3.11", "python3.12", "python3.13")


def run(
    *command: str | Path, cwd: Path, path: tuple[Path, ...] = (), check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command with nothing of this checkout on its sys.path."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def build(kind: str, source: Path, out: Path) -> Path:
    """An sdist or a wheel of a source tree, as `python -m build` makes them, without a network."""
    done = run(sys.executable, "-c", BUILD.format(kind=kind, out=str(out)), cwd=source)
    return out / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    pytest.importorskip("hatchling")
    out = tmp_path_factory.mktemp("sdist")
    source = out / "checkout"
    shutil.copytree(ROOT, source, ignore=NOT_SOURCES)
    archive = build("sdist", source, out)
    with tarfile.open(archive) as tar:
        tar.extractall(out, filter="data")
    return out / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """The wheel, built from the source distribution."""
    return build("wheel", sdist, sdist.parent)


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The Python of a new environment with the wheel in it, and the dependencies of this one."""
    home = wheel.parent / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    packages = next(home.glob("lib/python*/site-packages"))
    python = home / "bin" / "python"
    run(
        sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index",
        "--disable-pip-version-check", wheel, cwd=home,
    )  # fmt: skip
    ours = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_path("purelib")]
    (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in ours))
    return python


def sources(root: Path, *folders: str) -> set[str]:
    """The files under some folders of a tree, without what running it leaves behind."""
    return {
        str(path.relative_to(root))
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".hypothesis" not in path.parts
    }


def test_the_sdist_has_the_docs_and_the_tests(sdist: Path) -> None:
    folders = ("arch", "tracing", "bpf", "simkernel", "samples", "docs", "tests", "bench")
    assert sources(ROOT, *folders) <= sources(sdist, *folders)


def test_the_wheel_is_four_packages_with_the_samples_inside(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
    samples = {f"simkernel/{name}" for name in sources(ROOT, "samples")}
    assert files == sources(ROOT, *FLOORS_BELOW, "simkernel") | samples


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = run(installed.parent / "simkernel", "demo", cwd=tmp_path)
    command, *shown = done.stdout.splitlines()
    assert "wrote 98305 bytes in 91 writes" in done.stdout
    assert any("|****" in line for line in shown)
    # What it says one can type is true from any folder.
    assert (
        run("sh", "-c", f"{installed.parent}/{command.removeprefix('$ ')}", cwd=tmp_path).stdout.splitlines() == shown
    )


def test_a_sample_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "-m", "simkernel.samples.v41.sock_example", cwd=tmp_path)
    assert "TCP" in done.stdout


def test_both_ways_to_the_command_and_the_version(installed: Path, tmp_path: Path) -> None:
    said = [
        run(*command, "--version", cwd=tmp_path).stdout
        for command in ((installed.parent / "simkernel",), (installed, "-m", "simkernel"))
    ]
    of_the_distribution = run(
        installed, "-c", "from importlib.metadata import version; print(version('simkernel'))", cwd=tmp_path
    )
    assert said == [f"simkernel, version {simkernel.__version__}\n"] * 2
    assert of_the_distribution.stdout.strip() == simkernel.__version__


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_every_supported_python_with_its_own_dependencies(python: str, wheel: Path, tmp_path: Path) -> None:
    """As a user installs it: an environment of its own, the dependencies from the index."""
    if shutil.which(python) is None or run(python, "-V", cwd=tmp_path, check=False).returncode:
        pytest.skip(f"no {python} here")
    home = tmp_path / "environment"
    run(python, "-m", "venv", home, cwd=tmp_path)
    done = run(home / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path, check=False)
    if "Could not find a version" in done.stderr or "Max retries" in done.stderr:
        pytest.skip("no package index here")
    assert done.returncode == 0, done.stderr
    assert "wrote 98305 bytes in 91 writes" in run(home / "bin" / "simkernel", "demo", cwd=tmp_path).stdout
    assert simkernel.__version__ in run(home / "bin" / "python", "-m", "simkernel", "--version", cwd=tmp_path).stdout


# -- names that others have too ----------------------------------------------------------------------------------------


@pytest.fixture(params=["package", "module"])
def stranger(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """Something else that `import arch` finds first: (the folder for sys.path, the path that the sentence names)."""
    first = tmp_path / "first"
    taker = first / ("arch.py" if request.param == "module" else "arch/__init__.py")
    taker.parent.mkdir(parents=True)
    taker.write_text("raise SystemExit('the stranger was run')\n")
    return first, taker


def test_python_gets_an_import_error_that_says_who_has_the_name(
    stranger: tuple[Path, Path], installed: Path, tmp_path: Path
) -> None:
    first, taker = stranger
    program = "try: import simkernel\nexcept ImportError as error: print(type(error).__name__, error.path, error)"
    said = run(installed, "-c", program, cwd=tmp_path, path=(first,)).stdout
    assert said.startswith(f"NameTaken {taker} simkernel's own package `arch`")
    assert f"has been taken by {taker}: install simkernel into an environment of its own" in said
    assert "pipx" in said and said.count("\n") == 1


@pytest.mark.parametrize("command", [("bin/simkernel", "demo"), ("bin/python", "-m", "simkernel", "list", "vfs_*")])
def test_at_the_command_line_it_is_one_line(
    command: tuple[str, ...], stranger: tuple[Path, Path], installed: Path, tmp_path: Path
) -> None:
    first, taker = stranger
    done = run(installed.parents[1] / command[0], *command[1:], cwd=tmp_path, path=(first,), check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("simkernel: ") and done.stderr.count("\n") == 1
    assert f"taken by {taker}" in done.stderr


@pytest.mark.parametrize("floor", FLOORS_BELOW)
def test_a_package_installed_over_ours_is_seen(floor: str, wheel: Path, tmp_path: Path) -> None:
    """Two distributions in one environment write into the same folder; the last one's __init__.py stays."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    ours = tmp_path / floor / "__init__.py"
    assert MARK in ours.read_text()
    ours.write_text('"""Models of conditional heteroskedasticity."""\n')
    done = run(sys.executable, "-m", "simkernel", "--version", cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"has been taken by {ours}" in done.stderr


def test_a_folder_before_an_editable_install(tmp_path: Path) -> None:
    """A folder `arch` without __init__.py, as the sources of Linux have it, takes no name from a package behind it.

    An editable install is a folder at the end of sys.path, as PYTHONPATH makes one.
    """
    (tmp_path / "arch" / "x86").mkdir(parents=True)
    done = run(sys.executable, "-c", "import arch; print(arch.__file__)", cwd=tmp_path, path=(ROOT,))
    assert done.stdout.strip() == str(ROOT / "arch" / "__init__.py")
    run(sys.executable, "-c", "import simkernel", cwd=tmp_path, path=(ROOT,))


def test_a_missing_floor_is_said_too(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    shutil.rmtree(tmp_path / "bpf")
    done = run(sys.executable, "-S", "-m", "simkernel", "--version", cwd=tmp_path, check=False)
    assert done.returncode == 2 and "`bpf`" in done.stderr and "is missing" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_a_newcomer_with_the_wheel_comes_through_readme_and_tutorial(
    page: str, installed: Path, tmp_path: Path
) -> None:
    """From `pip install` to a passing test of an own kprobe program, outside the checkout: every command, every snippet."""
    text = ROOT / page
    if reason := why_not(text):
        pytest.skip(reason)
    (samples,) = (installed.parent.parent / "lib").glob("python*/site-packages/simkernel/samples")
    (tmp_path / "samples").symlink_to(samples)
    script = ""
    for language, file, block in blocks(text):
        if file:
            (tmp_path / file).write_text(block)
        elif language == "console":
            run_console(block, tmp_path, installed.parent)
        else:
            script += block
    (tmp_path / "snippets.py").write_text(script + "\nassert 'site-packages' in simkernel.__file__\n")
    run(installed, "snippets.py", cwd=tmp_path)
