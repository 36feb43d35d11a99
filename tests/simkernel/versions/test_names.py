"""Names of functions on the paths, by version, as in the symbols of Debian's kernels (tests/tools/compare_functions.py asks for all)."""

import pytest

from arch.abi.errno import EINVAL
from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_WRONLY
from simkernel.cli.listing import function_names
from simkernel.machine import boot

# kernel: (there, not there)
NAMES = {
    "5.10": ("random_read_iter urandom_read_iter random_write_iter pipe_read kmem_cache_alloc", "random_read urandom_read __sys_bpf futex_unlock_pi"),
    "6.1": ("random_write_iter __sys_bpf pipe_read pipe_write do_unlinkat do_coredump vfs_ioctl exit_to_user_mode_prepare", "random_write __futex_wait do_mseal"),
    "6.12": (
        "kmem_cache_alloc_noprof kmem_cache_alloc_node_noprof __futex_wait do_mseal pipe_read do_filp_open do_unlinkat do_coredump",
        "kmem_cache_alloc kmem_cache_alloc_node exit_to_user_mode_prepare",
    ),
    "7.2": (
        "anon_pipe_read anon_pipe_write do_file_open filename_mkdirat filename_rmdir filename_unlinkat vfs_coredump ksys_truncate"
        " __rseq_handle_slowpath unix_gc udp_rcv",
        "pipe_read pipe_write do_filp_open do_mkdirat do_rmdir do_unlinkat do_coredump __udp6_lib_rcv vfs_ioctl __unix_gc",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kernel", NAMES)
def test_names_are_those_of_the_version(kernel):
    there, gone = (set(words.split()) for words in NAMES[kernel])
    names = set(function_names(boot(kernel=kernel).kernel))
    assert not there - names and not gone & names


def test_a_function_that_was_inlined_is_still_what_happens():
    """unlink, ioctl, ftruncate and pipes on 7.2, where other functions or none stand on the way."""
    session = boot(kernel="7.2").session
    calls = session.syscalls
    for probe in ("p:gone filename_unlinkat", "p:piped anon_pipe_write", "p:opened do_file_open"):
        session.enable_event(probe)
    session.write_file("/tmp/a", b"text", O_WRONLY | O_CREAT)
    name, ends = calls.alloc(16), calls.alloc(8)
    calls.write(name, b"/tmp/a\0")
    fd = calls.syscall("openat", AT_FDCWD, name, O_WRONLY, 0)
    assert calls.syscall("ftruncate", fd, 2) == 0 and calls.syscall("truncate", name, -1) == -EINVAL
    assert session.read_file("/tmp/a") == b"te"
    assert calls.syscall("pipe2", ends, 0) == 0
    reader, writer = (int.from_bytes(calls.read(ends + 4 * n, 4), "little") for n in range(2))
    assert calls.syscall("write", writer, name, 3) == 3
    assert calls.syscall("ioctl", reader, 0x541B, ends) == 0  # FIONREAD
    assert calls.read(ends, 4) == b"\3\0\0\0"
    assert calls.syscall("unlinkat", AT_FDCWD, name, 0) == 0
    trace = session.read_file("/sys/kernel/tracing/trace").decode()
    assert all(f"{event}: ({function}" in trace for event, function in SEEN)


SEEN = [("gone", "filename_unlinkat"), ("piped", "anon_pipe_write"), ("opened", "do_file_open")]
