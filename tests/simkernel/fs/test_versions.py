"""The same small story on every version and architecture: other functions on the way, the same answers."""

import pytest

import simkernel
from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDWR
from arch.architecture import get, names
from bpf.loader.externs import kernel_version
from simkernel.fs.testing import Libc

VERSIONS = ("3.20-rfc", "4.1", "4.10", "4.17", "5.4", "5.10", "5.15", "6.1", "6.12", "7.2")


def story(libc):
    libc.put("/tmp/a", b"abc")
    assert libc.get("/tmp/a") == b"abc"
    assert libc.mkdir("/tmp/d", 0o755) == 0
    assert libc.rename("/tmp/a", "/tmp/d/b") == 0
    assert libc.renameat2(AT_FDCWD, "/tmp/nothing", AT_FDCWD, "/tmp/d/b", 0) == -2
    assert libc.listdir("/tmp/d") == [".", "..", "b"]
    assert libc.symlink("d/b", "/tmp/l") == 0
    assert libc.readlink("/tmp/l") == "d/b"
    assert libc.stat("/tmp/l")["st_size"] == 3
    assert libc.stat("/tmp/l", 0x100)["st_mode"] == 0o120777
    assert libc.link("/tmp/d/b", "/tmp/h") == 0
    assert libc.truncate("/tmp/h", 1) == 0
    assert libc.stat("/tmp/d/b")["st_nlink"] == 2
    assert libc.unlink("/tmp/h") == 0
    assert libc.unlink("/tmp/d/b") == 0
    assert libc.rmdir("/tmp/d") == 0
    assert libc.access("/tmp", 7) == 0
    release = libc.k.version.release.encode()
    assert libc.get("/proc/sys/kernel/osrelease") == release + b"\n"
    assert libc.get("/sys/kernel/fscaps") == b"1\n"
    for device, text in (("/dev/null", b""), ("/dev/zero", bytes(8))):
        assert libc.read_bytes(libc.openat(device), 8) == text
    assert len(libc.read_bytes(libc.openat("/dev/urandom"), 8)) == 8
    r, w = libc.pipe()
    assert libc.write_bytes(w, b"through") == 7
    assert libc.read_bytes(r) == b"through"
    assert libc.mount("tmpfs", "/mnt", "tmpfs", 0, 0) == 0
    assert libc.umount2("/mnt", 0) == 0
    k = libc.k
    files = set(libc.vfs.files)
    for fd in sorted(k.current.files.fds):
        assert libc.close(fd) == 0
    assert files and not libc.vfs.files
    assert (
        not libc.vfs.objects and not libc.vfs.kiocbs and not libc.vfs.iters
    )  # nothing that a call brought along is left behind


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version(version):
    libc = Libc(version=version)
    story(libc)


@pytest.mark.parametrize("arch", names())
def test_every_architecture(arch):
    libc = Libc(arch=arch)
    abi = libc.vfs.abi
    generic = {O_DIRECTORY: abi.flags_to_user(O_DIRECTORY), O_NOFOLLOW: abi.flags_to_user(O_NOFOLLOW)}
    real = libc.openat
    libc.openat = lambda path, flags=0, mode=0o644, dfd=AT_FDCWD: real(path, abi.flags_to_user(flags), mode, dfd)
    story(libc)
    assert abi.flags_from_user(generic[O_DIRECTORY]) == O_DIRECTORY
    fd = libc.openat("/tmp/f", O_CREAT | O_RDWR)
    assert abi.flags_from_user(libc.fcntl(fd, 3, 0)) & 3 == O_RDWR
    assert libc.openat("/tmp/f", O_DIRECTORY) == -20


def test_stat_layouts_hold_what_was_put_in():
    for abi in (get(name).files for name in names()):
        for record in (abi.stat, abi.statfs):
            values = {field: (i + 1) * 3 for i, (_, _, field) in enumerate(record.rows)}
            for order in ("little", "big"):
                assert record.unpack(record.pack(values, order), order) == values


@pytest.mark.parametrize(
    "kernel, release, code",
    [
        ("5.10", "5.10.262", 0x050AFF),
        ("6.1", "6.1.192", 0x0601C0),
        ("6.12", "6.12.117", 0x060C75),
        ("7.2", "7.2.13", 0x07020D),
    ],
)
def test_the_stable_release_that_is_compared_with(kernel, release, code):
    """uname -r, /proc/version and what programs see as LINUX_KERNEL_VERSION; a release that is asked for by number is that."""
    for text, wanted in ((kernel, release), (f"{kernel}.7", f"{kernel}.7")):
        session = simkernel.boot(kernel=text).session
        assert session.read_file("/proc/sys/kernel/osrelease").decode() == wanted + "\n"
        assert session.read_file("/proc/version").decode().startswith(f"Linux version {wanted} ")
        assert kernel_version(session.task) == (code if text == kernel else code & 0xFFFF00 | 7)
