"""Host binds: read-only, confined, without host times."""

import os

import pytest

from arch.abi.errno import ELOOP, ENOENT, EROFS
from arch.abi.fcntl import O_APPEND, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY
from simkernel.fs.hostfs import BindError, bind, parse_bind


@pytest.fixture
def shared(libc, tmp_path):
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "b").write_bytes(b"bee")
    (inside / "a").write_bytes(b"x" * 10000)
    (inside / "sub" / "c").write_text("sea")
    (tmp_path / "secret").write_text("secret")
    os.symlink(tmp_path / "secret", inside / "out")
    os.symlink("../secret", inside / "up")
    os.symlink("sub/c", inside / "in")
    os.symlink(tmp_path, inside / "dirout")
    os.mkfifo(inside / "fifo")
    bind(libc.vfs, str(inside), "/host", False)
    bind(libc.vfs, str(inside), "/rw", True)
    return libc, inside


def test_listing_is_in_byte_order_and_hides_special_files(shared):
    libc, _ = shared
    assert libc.listdir("/host") == [".", "..", "a", "b", "dirout", "in", "out", "sub", "up"]
    assert libc.get("/host/a") == b"x" * 10000
    assert libc.get("/host/sub/c") == b"sea"
    assert libc.get("/host/in") == b"sea"
    assert libc.openat("/host/fifo") == -ENOENT


def test_links_do_not_lead_out(shared):
    libc, inside = shared
    assert libc.openat("/host/out") == -ENOENT  # resolved in the guest, where no such path exists
    assert libc.openat("/host/up") == -ENOENT
    assert libc.openat("/host/dirout/secret") == -ENOENT
    libc.put("/secret", b"the guest's own")
    assert libc.get("/host/up") == b"the guest's own"
    assert libc.openat("/host/../../secret") >= 0
    os.unlink(inside / "b")
    os.symlink(inside.parent / "secret", inside / "b")  # swapped by the host after the guest saw a file
    assert libc.openat("/host/b") in (-ENOENT, -ELOOP)


def test_read_only_unless_rw(shared):
    libc, inside = shared
    assert libc.openat("/host/a", O_WRONLY) == -EROFS
    assert libc.openat("/host/new", O_CREAT | O_WRONLY) == -EROFS
    assert libc.mkdir("/host/d", 0o755) == -EROFS
    assert libc.unlink("/host/a") == -EROFS
    assert (inside / "a").exists()


def test_rw_goes_through(shared):
    libc, inside = shared
    libc.put("/rw/new", b"hello")
    assert (inside / "new").read_bytes() == b"hello"
    fd = libc.openat("/rw/new", O_RDWR | O_APPEND)
    libc.write_bytes(fd, b" world")
    assert (inside / "new").read_bytes() == b"hello world"
    assert libc.get("/rw/new") == b"hello world"
    assert libc.mkdir("/rw/d", 0o755) == 0
    assert libc.rename("/rw/new", "/rw/d/moved") == 0
    assert (inside / "d" / "moved").read_bytes() == b"hello world"
    assert libc.get("/rw/d/moved") == b"hello world"
    assert libc.truncate("/rw/d/moved", 5) == 0
    assert (inside / "d" / "moved").read_bytes() == b"hello"
    assert libc.openat("/rw/d/moved", O_WRONLY | O_TRUNC) >= 0
    assert (inside / "d" / "moved").read_bytes() == b""
    assert libc.symlink("anything", "/rw/l") == 0
    assert os.readlink(inside / "l") == "anything"
    assert libc.unlink("/rw/d/moved") == 0
    assert libc.rmdir("/rw/d") == 0
    assert not (inside / "d").exists()
    assert libc.fchmodat(-100, "/rw/a", 0o600) == 0
    assert (inside / "a").stat().st_mode & 0o777 == 0o600


def test_no_host_times_or_owners(shared):
    libc, inside = shared
    os.utime(inside / "a", (1, 1))
    status = libc.stat("/host/a")
    assert status["st_mtime"] == libc.vfs.now() // 10**9
    assert (status["st_uid"], status["st_gid"], status["st_size"]) == (0, 0, 10000)


def test_bind_of_one_file(libc, tmp_path):
    (tmp_path / "data").write_text("payload")
    bind(libc.vfs, str(tmp_path / "data"), "/etc/payload", False)
    assert libc.get("/etc/payload") == b"payload"
    assert libc.openat("/etc/payload", O_WRONLY) == -EROFS


def test_what_cannot_be_bound(libc, tmp_path):
    os.mkfifo(tmp_path / "p")
    for text in ("x", "a:b:c:d", "a:/b:what", "a:b", ":/b"):
        with pytest.raises(BindError):
            parse_bind(text)
    assert parse_bind("/x:/y:rw") == ("/x", "/y", True)
    with pytest.raises(BindError, match="No such file"):
        bind(libc.vfs, str(tmp_path / "missing"), "/m", False)
    with pytest.raises(BindError, match="neither"):
        bind(libc.vfs, str(tmp_path / "p"), "/m", False)


def test_device_nodes_on_a_bind_do_not_open(shared):
    libc, _ = shared
    assert libc.mknod("/rw/null", 0o020666, 0x103) < 0
