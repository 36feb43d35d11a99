"""Compare the names of this machine's kernel functions with a real kernel's symbols.

    python tests/tools/compare_functions.py --kernel 6.12 BOOT_COMMAND...      # as in record_tracefs.py
    python tests/tools/compare_functions.py --kernel 6.12 --answer FILE        # its /proc/kallsyms

Prints what can be probed here and is no function there; the exit status says whether anything does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from simkernel.cli.listing import function_names
from simkernel.machine import boot

# What the simulated computer has in place of hardware, modules and a disk's file system.
OURS = frozenset(["af_alg_release", "alg_bind", "dummy_xmit", "hash_recvmsg", "hash_sendmsg", "hostio_read", "hostio_write", "netem_dequeue", "netem_enqueue", "sim_disk_interrupt", "sim_eth_interrupt", "sim_eth_xmit", "sim_queue_rq", "simfs_file_read_iter", "simfs_file_write_iter", "veth_xmit"])  # fmt: skip


def ask(command: list[str]) -> str:
    """The symbols of a real kernel."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        subprocess.run([*command, "-o", out, "cat /proc/kallsyms > /tmp/out"], check=True)
        return out.read_text()


def missing(kernel: str, kallsyms: str) -> list[str]:
    """Names of ours that it lacks."""
    there = {words[2] for line in kallsyms.splitlines() if len(words := line.split()) >= 3}
    return [name for name in function_names(boot(kernel=kernel).kernel) if name not in there | OURS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answer", type=Path)
    parser.add_argument("--kernel", default="6.1")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    found = missing(args.kernel, args.answer.read_text() if args.answer else ask(args.command))
    print("".join(f"{name}\n" for name in found), end="")
    print(f"{len(found)} functions of {args.kernel} that the real one has under no such name")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
