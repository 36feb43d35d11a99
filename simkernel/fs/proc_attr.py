"""/proc/PID/attr: what the security module says of a task, and is asked for.  fs/proc/base.c, security/apparmor/lsm.c.

The module is AppArmor, as in Debian's kernels, without a profile: every task is unconfined, and no other label exists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from arch.abi.errno import EINVAL, ENOENT, EPERM
from arch.cstring import c_string
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import Dir, Node, SilentFile
from simkernel.kernel.task import Task

UNCONFINED = "unconfined"
# what may be written, by file: the word before the label
WORDS = {"current": ("changeprofile", "permprofile", "stack"), "exec": ("exec", "stack")}
HATS, HAT = ("changehat", "permhat"), re.compile(r"[0-9a-fA-Fx]+\^.*")  # split_token_from_name(): a token and a name
OTHERS = ("fscreate", "keycreate", "sockcreate")  # of other modules


def attr_dir(k: FsKernel, task: Task) -> Dir:
    """The directory."""
    names = ("current", "prev", "exec")
    files: dict[str, Node] = {name: _file(k, task, name) for name in (*names, *OTHERS)}
    return _ordered({**files, "apparmor": _ordered({name: _file(k, task, name) for name in names})})


def _ordered(nodes: Mapping[str, Node]) -> Dir:
    folder = Dir(nodes)
    folder.ordered = True
    return folder


def _file(k: FsKernel, task: Task, name: str) -> SilentFile:
    def show() -> str:
        label = told_label(task, name)
        if not label:
            raise KernelError(EINVAL, "nothing to say")
        return f"{label}\n"

    def store(data: bytes) -> None:
        if task is not k.current:
            raise KernelError(EPERM, "another's")
        change_label(task, name, data)

    return SilentFile(show, store, 0o444 if name == "prev" else 0o666)


def told_label(task: Task, name: str) -> str:
    """apparmor_getprocattr(): nothing where there is none."""
    return {"current": UNCONFINED, "exec": task.onexec}.get(name, "")


def change_label(task: Task, name: str, data: bytes) -> None:
    """do_setattr(): what a task asks for itself.  EINVAL, EPERM, ENOENT."""
    word, _, label = c_string(data).strip().partition(" ")
    if name == "current" and word in HATS and HAT.fullmatch(label.strip()):
        raise KernelError(EPERM, "not confined")
    if word not in WORDS.get(name, ()) or not label.strip():
        raise KernelError(EINVAL, "not a request")
    if label.strip() != UNCONFINED:
        raise KernelError(ENOENT, "no such profile")
    if name == "exec":
        task.onexec = UNCONFINED
