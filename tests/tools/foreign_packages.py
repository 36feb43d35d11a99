"""Fetch Debian packages of other architectures and unpack them into a cache, never into the project.

    python3 tests/tools/foreign_packages.py          # everything the tests use
    foreign_packages.path("busybox-static", "arm64") # from a test: directory of the unpacked package, or None

A private apt configuration is used, so the machine's own package lists and architectures stay as they are.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# (package, Debian architecture)
PACKAGES = (
    ("busybox-static", "arm64"),
    ("busybox-static", "s390x"),
    ("busybox-static", "i386"),
    ("busybox-static", "armhf"),
    ("libbpf-tools", "amd64"),
    ("bpftool", "amd64"),
    ("libc6", "arm64"),
    ("bash", "arm64"),
    ("libtinfo6", "arm64"),
    ("musl", "amd64"),
    ("musl", "arm64"),
    ("gdb-multiarch", "amd64"),
)


def cache() -> Path:
    """Where unpacked packages lie: $SIMKERNEL_TEST_CACHE or the user's cache directory."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("SIMKERNEL_TEST_CACHE") or Path(home) / "simkernel-tests")


def fresh_make() -> dict[str, str]:
    """Our environment for a `make` that shall not know of the one it may be run by.

    The kernel's selftests take MAKELEVEL for a sign that somebody above has said where to write, and else write into /.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}


def path(package: str, architecture: str) -> Path | None:
    """The unpacked package's root, or None where it was not fetched."""
    root = cache() / f"{package}_{architecture}"
    return root if (root / ".complete").exists() else None


def _apt_options(architecture: str) -> list[str]:
    state = cache() / "apt" / architecture
    for part in ("lists/partial", "archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Dir::State": str(state),
        "Dir::State::lists": str(state / "lists"),
        "Dir::State::status": str(state / "status"),
        "Dir::Cache": str(state),
        "Dir::Cache::archives": str(state / "archives"),
        "APT::Sandbox::User": "root",
    }
    return [word for key, value in options.items() for word in ("-o", f"{key}={value}")]


def unpack(root: Path, *packages: str, options: Sequence[str] = ()) -> Path:
    """Download packages and unpack them there."""
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", *options, "-qq", "download", *packages], check=True, cwd=root, timeout=1800)
    for archive in sorted(root.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", archive, root], check=True, timeout=600)
        archive.unlink()
    return root


def fetch(package: str, architecture: str, updated: set[str]) -> None:
    """Download and unpack one package unless it is there already."""
    if path(package, architecture):
        return
    options = _apt_options(architecture)
    if architecture not in updated:
        # One list out of several may be out of step with its mirror; the download below decides.
        subprocess.run(["apt-get", *options, "-qq", "update"], check=False, timeout=300)
        updated.add(architecture)
    root = cache() / f"{package}_{architecture}"
    unpack(root, f"{package}:{architecture}", options=options)
    (root / ".complete").touch()


def main() -> int:
    updated: set[str] = set()
    failed = 0
    for package, architecture in PACKAGES:
        try:
            fetch(package, architecture, updated)
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            print(f"{package}:{architecture}: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
