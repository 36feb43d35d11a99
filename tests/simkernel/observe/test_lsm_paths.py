"""Every security hook on the paths of programs/lsm_walk.c: what it is asked with, in which order, and what a refusal does, as on 6.1.

programs/lsm_GROUP.deny.6.1 are what the program printed on Linux 6.1 of Debian.  What differs here is named, with its reason.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from simkernel.machine import boot

HERE = Path(__file__).parent / "programs"
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler on this host")

# name -> the paths, and the refusals of hooks on them, that differ
DIFFER: dict[str, tuple[str, ...]] = {
    "no /dev/mem, a devpts from the start": ("fs mem", "fs mem -capable", "fs mem -file_open", "fs mem -locked_down", "fs ptmx"),
    "init has no memory of its own here": ("fs proc_environ", "fs proc_environ -ptrace_access_check"),
    "the first walk over /proc/self reads the link's time": ("fs proc_stat", "exec exec"),
    "capable() is asked more often or less": (
        "fs fanotify_mark", "fs fanotify_mark -capable", "ipc mq_open", "ipc mq_open -capable", "mm migrate_pages", "mm migrate_pages -capable",
        "mount private",
    ),
    "messages of mqueues have no struct": ("ipc mq_receive", "ipc mq_send", "ipc mq_send -msg_msg_alloc_security"),
    "shared memory that is attached, or anonymous, has no file of its own": (
        "ipc shmat", "ipc shmat -file_alloc_security", "ipc shmdt", "mm shared",
        "mm shared -file_alloc_security", "mm shared -inode_alloc_security",
    ),
    "another file is the first descriptor": ("task pidfd_getfd",),
    "the signal of a pipe comes before its owner is asked": ("task sigio", "task sigio -file_send_sigiotask"),
    "parameters of a new file system are asked by mount(2) only": (
        "mount fsconfig", "mount fsconfig -fs_context_parse_param", "mount fsconfig_create", "mount fsconfig_create -capable",
        "mount fsconfig_create -inode_alloc_security", "mount fsconfig_create -sb_alloc_security",
        "mount fsconfig_create -sb_kern_mount", "mount fsconfig_create -sb_set_mnt_opts", "mount tmpfs",
        "mount tmpfs -sb_eat_lsm_opts",
    ),
    "no modules": ("mount missing_type", "mount missing_type -kernel_module_request"),
    "other mounts": ("mount proc_mounts", "mount proc_mounts -sb_show_options"),
    "there is no quota and no swap area": ("mount quotactl", "mount quotactl -quotactl", "mm swapon", "mm swapon -file_alloc_security"),
    "a socket's file is made after it was accepted": ("net accept_tcp", "net accept_unix"),
    "a new sock of AF_UNIX is made after the walk": ("net connect_unix",),
    "a connection's sock is made with its request": ("net connect_tcp",),
    "acknowledgements come at another time": ("net close_tcp", "net shutdown_tcp"),
    "what the kernel answers on netlink passes no filter": ("net netlink_send", "net netlink_send -socket_sock_rcv_skb"),
    "in whose name a packet is received, and so refused, is chance": (
        "net connect_tcp -inet_conn_request", "net connect_tcp -sk_alloc_security", "net connect_tcp -socket_sock_rcv_skb",
        "net sendto_udp", "net sendto_udp -socket_sock_rcv_skb",
    ),
}  # fmt: skip
RECORDED = sorted(HERE.glob("lsm_*.6.1"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Linked statically."""
    built = tmp_path_factory.mktemp("built") / "lsm_walk"
    subprocess.run(["gcc", "-static", "-O0", "-w", "-o", built, HERE / "lsm_walk.c"], check=True)
    return built


def paths(text: str) -> dict[str, list[str]]:
    """Each path's result and hooks; numbers of processes and places of areas are chance."""
    text = re.sub(r'd_instantiate\("\d+"', 'd_instantiate("PID"', text)
    text = re.sub(r'(task_setpgid\("\w+"), \d+', r"\1, PID", text)
    text = re.sub(r"mmap_addr\(\w+\)", "mmap_addr(AREA)", text)
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line.startswith("  "):
            found[line.partition(":")[0]] = rows = []
        rows.append(line)
    return found


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_hooks_are_asked_as_on_linux(program: Path, recorded: Path) -> None:
    _, group, how = recorded.name.removesuffix(".6.1").replace(".", "_").split("_")
    machine = boot()
    result = machine.run([machine.install(program), how, group], timeout_host_s=300)
    assert result.crash is None
    here, there = paths(result.text), paths(recorded.read_text())
    if group == "net":  # the order differs, what is asked does not: see above
        flows = [
            [row for row in found["net connect_tcp"] if "classify_flow" in row or "sk_getsecid" in row]
            for found in (here, there)
        ]
        assert flows[0] == flows[1] and len(flows[0]) == 4
    differ = {name for name in here.keys() | there.keys() if here.get(name) != there.get(name)}
    assert differ == {name for names in DIFFER.values() for name in names if name.split()[0] == group}
