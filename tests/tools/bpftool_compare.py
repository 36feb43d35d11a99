"""Compare Debian's bpftool, command by command, on a real 6.1 and inside the machine.

    python tests/tools/bpftool_compare.py BOOT_COMMAND...      # asks a real 6.1 (BOOT_COMMAND as in record_tracefs.py)
    python tests/tools/bpftool_compare.py --answer FILE        # FILE: what such a run printed; --keep FILE keeps it
    python tests/tools/bpftool_compare.py --lines 40 --ours FILE ...   # FILE: what the machine printed, kept or made

One shell script runs all commands on both sides.  Its objects are those of the kernel's BPF selftests that
bpf_selftests.py has built.  Ids, times of loading, process numbers, addresses and distances between functions are read as
the same; the exit status says whether anything else differs.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bpf_selftests
import foreign_packages

LIBRARIES = ("/lib64/ld-linux-x86-64.so.2", *(f"/lib/x86_64-linux-gnu/{name}" for name in
             ("libelf.so.1", "libz.so.1", "libcap.so.2", "libc.so.6")))  # fmt: skip

# What `map create` says of each type: key, value, entries, and more words.
MAPS = {
    "hash": "4 4 4", "array": "4 4 4", "percpu_hash": "4 4 4", "percpu_array": "4 4 4", "lru_hash": "4 4 4",
    "lru_percpu_hash": "4 4 4", "lpm_trie": "8 4 4 flags 1", "queue": "0 4 4", "stack": "0 4 4", "ringbuf": "0 0 4096",
    "bloom_filter": "0 4 4", "hash_of_maps": "4 4 4 inner_map pinned B/m_hash",
    "array_of_maps": "4 4 4 inner_map pinned B/m_hash", "prog_array": "4 4 4", "perf_event_array": "4 4 4",
    "cgroup_array": "4 4 4", "stack_trace": "4 8 4", "devmap": "4 4 4", "devmap_hash": "4 4 4", "sockmap": "4 4 4",
    "cpumap": "4 4 4", "xskmap": "4 4 4", "sockhash": "4 4 4", "reuseport_sockarray": "4 4 4",
    "cgroup_storage": "8 4 0", "percpu_cgroup_storage": "8 4 0", "sk_storage": "4 4 0 flags 1",
    "inode_storage": "4 4 0 flags 1", "task_storage": "4 4 0 flags 1", "struct_ops": "4 4 1", "user_ringbuf": "0 0 4096",
    "cgrp_storage": "4 4 0 flags 1", "nonsense": "4 4 4",
}  # fmt: skip
ON_EACH_MAP = (
    "map show pinned M", "-j map show pinned M", "map update pinned M key K value V", "map lookup pinned M key K",
    "map update pinned M key K value V noexist", "map update pinned M key K value V exist", "-j map lookup pinned M key K",
    "map getnext pinned M", "map getnext pinned M key K", "map dump pinned M", "-jp map dump pinned M",
    "map push pinned M value V", "map enqueue pinned M value V", "map peek pinned M", "map pop pinned M",
    "map dequeue pinned M", "map delete pinned M key K", "map delete pinned M key K", "map freeze pinned M",
    "map update pinned M key K value V", "map show pinned M",
)  # fmt: skip
# Objects of the suite whose programs are loaded, shown and dumped.
OBJECTS = (
    "xdp_dummy", "connect4_prog", "test_tracepoint", "trace_printk", "netcnt_prog", "dev_cgroup", "tailcall1",
    "bind4_prog", "test_stacktrace_map", "test_perf_buffer", "timer", "fentry_test", "kfunc_call_test",
    "bpf_iter_task", "test_core_read_macros",
)  # fmt: skip
ON_EACH_OBJECT = (
    "prog loadall D/O.bpf.o B/O pinmaps B/O_maps", "prog show pinned P", "-j prog show pinned P",
    "prog dump xlated pinned P", "prog dump xlated pinned P opcodes", "prog dump xlated pinned P linum",
    "prog dump xlated pinned P visual", "-j prog dump xlated pinned P", "prog dump jited pinned P",
    "btf dump prog pinned P", "btf dump map pinned A value", "btf dump map pinned A format c", "map dump pinned A",
)  # fmt: skip
# The rest; a line that begins with ! is the shell's own.
REST = """
prog load D/xdp_dummy.bpf.o B/run type xdp
prog load D/xdp_dummy.bpf.o B/run
prog load D/nobody.bpf.o B/nobody
!printf 'abcdefghijklmnopqrst' > data_in
prog run pinned B/run data_in data_in
prog run pinned B/run data_in data_in data_out - data_size_out 64
prog run pinned B/run data_in data_in data_out data_out repeat 5
-j prog run pinned B/run data_in data_in repeat 2
prog run pinned B/run data_in -
prog run pinned B/run
prog attach pinned B/run sk_msg_verdict pinned B/m_sockmap
prog detach pinned B/run sk_msg_verdict pinned B/m_sockmap
prog pin pinned B/run B/run2
prog show tag 3b185187f1855c4c
prog show name xdp_dummy_prog
prog show
prog list
-jp prog show
-f prog show
-n map show
link show
-j link show
struct_ops show
struct_ops list
struct_ops register D/bpf_dctcp.bpf.o
struct_ops show
-j struct_ops show
struct_ops dump name dctcp
struct_ops dump
struct_ops unregister name bpf_dctcp
struct_ops unregister name nobody
struct_ops show
iter pin D/bpf_iter_bpf_map.bpf.o B/iter_map
iter pin D/bpf_iter_task.bpf.o B/iter_task
iter pin D/xdp_dummy.bpf.o B/iter_none
link show pinned B/iter_map
link show
-jp link show
link pin id 1 B/nolink
link detach pinned B/iter_map
gen skeleton D/xdp_dummy.bpf.o
gen skeleton D/test_core_read_macros.bpf.o name other
gen skeleton -L D/trace_printk.bpf.o
gen object out.o D/xdp_dummy.bpf.o
gen subskeleton D/test_core_read_macros.bpf.o
gen min_core_btf /sys/kernel/btf/vmlinux min.btf D/test_core_read_macros.bpf.o
btf dump file min.btf
gen min_core_btf D/nobody.bpf.o min.btf D/xdp_dummy.bpf.o
feature probe
feature probe kernel
feature probe dev lo
-j feature probe
feature probe unprivileged
feature list_builtins map_types
net show
net attach xdpgeneric pinned B/run dev lo
net attach xdpgeneric pinned B/run dev lo
net attach xdpgeneric pinned B/run dev lo overwrite
net attach xdp pinned B/run dev lo overwrite
net attach xdpdrv pinned B/run dev lo
net attach xdpoffload pinned B/run dev lo
net show
-jp net show
net show dev lo
net show dev nobody
net detach xdpgeneric dev lo
net detach xdp dev lo
net detach xdp dev lo
net show
!mkdir -p C/one/two
cgroup show C
cgroup tree C
cgroup attach C/one connect4 pinned B/connect4_prog/connect_v4_prog
cgroup attach C/one connect4 pinned B/connect4_prog/connect_v4_prog multi
cgroup attach C/one/two bind4 pinned B/bind4_prog/bind_v4_prog multi
cgroup attach C/one/two device pinned B/dev_cgroup/bpf_prog1 override
cgroup attach C/one ingress pinned B/connect4_prog/connect_v4_prog
cgroup attach C/one nonsense pinned B/connect4_prog/connect_v4_prog
cgroup show C/one
cgroup show C/one/two
cgroup show C/one/two effective
-jp cgroup show C/one/two effective
cgroup tree C
-jp cgroup tree C
cgroup tree
cgroup detach C/one connect4 pinned B/connect4_prog/connect_v4_prog
cgroup detach C/one connect4 pinned B/connect4_prog/connect_v4_prog
cgroup show C/nobody
cgroup show C/one
perf show
-j perf show
prog loadall D/test_tracepoint.bpf.o B/auto autoattach
link show
perf show
btf show
-j btf show
btf dump id 1 format raw | head -50
btf dump id 1 format c | grep -A12 "^struct list_head {"
btf dump id 4000000
btf dump file D/btf_dump_test_case_syntax.bpf.o
btf dump file D/btf_dump_test_case_syntax.bpf.o format c
btf dump file D/btf_dump_test_case_packing.bpf.o format c
-j btf dump file D/btf_dump_test_case_bitfields.bpf.o
btf dump map name nobody
btf dump prog name nobody
map show name m_hash
map show id 4000000
map create B/again type hash key 4 value 4 entries 4
map create B/zero type hash key 0 value 4 entries 4 name zero
map pin name m_hash B/pinned_again
map event_pipe pinned B/m_hash
map show
-jp map show
map nonsense
prog nonsense
nonsense
version
-j version
"""
BEGIN = "=== "


def commands() -> list[str]:
    """All, in order."""
    found = [f"map create B/m_{name} type {name} " + "key {} value {} entries {} ".format(*words.split()[:3])
             + " ".join([*words.split()[3:], "name", f"m_{name}"]) for name, words in MAPS.items()]  # fmt: skip
    for name, words in MAPS.items():
        key, value = (" ".join(["1", *["0"] * (int(size) - 1)]) for size in words.split()[:2])
        for each in ON_EACH_MAP:
            text = each.replace("key K", f"key {key}" if words[0] != "0" else "").replace("value V", f"value {value}")
            found.append(text.replace(" M", f" B/m_{name}"))
    for name in OBJECTS:
        for each in ON_EACH_OBJECT:
            text = each.replace(" P", " $P").replace(" A", " $A").replace("/O", f"/{name}")
            found.append(text)
            if each.startswith("prog loadall"):
                found.append(f"!P=$(ls -d B/{name}/* | head -n1); A=$(ls -d B/{name}_maps/* 2>/dev/null | head -n1)")
    return found + REST.strip().splitlines()


def script() -> str:
    """The one that both sides run."""
    lines = ["cd /tmp", "B=/sys/fs/bpf", "C=/sys/fs/cgroup", "mount -t bpf bpf /sys/fs/bpf 2>/dev/null"]
    for each in commands():
        text = re.sub(r"\b(B|C)(?=/|$| )", r"$\1", each)
        text = re.sub(r"\bD/", "/bpft/", text)
        if text[0] == "!":
            lines.append(text[1:])
            continue
        tool, _, pipe = text.partition(" | ")
        run = f"bpftool {tool}" + (f" | {pipe}" if pipe else "")
        lines += [f"echo '{BEGIN}{each}'", f'{run} </tmp/data_in 2>&1; echo "= $?"']
    return "\n".join(["touch /tmp/data_in", *lines]) + "\n"


def folder_of_all(place: Path) -> None:
    """What both sides see: bpftool, its libraries, the objects, the script."""
    tool = foreign_packages.path("bpftool", "amd64")
    if tool is None:
        raise SystemExit("Debian's bpftool was not fetched (tests/tools/foreign_packages.py)")
    shutil.copy(tool / "usr" / "sbin" / "bpftool", place / "bpftool")
    for library in LIBRARIES:
        shutil.copy(library, place)
    suite = bpf_selftests.suite()
    for name in sorted(set(OBJECTS) | set(re.findall(r"D/(\w+)\.bpf", REST))):
        if (suite / f"{name}.bpf.o").exists():
            shutil.copy(suite / f"{name}.bpf.o", place)
    (place / "all.sh").write_text(
        'bpftool() { /bpft/ld-linux-x86-64.so.2 --library-path /bpft /bpft/bpftool "$@"; }\n' + script()
    )


def ask(place: Path, boot: list[str]) -> str:
    """What a real kernel says."""
    files = [word for path in sorted(place.iterdir()) for word in ("-f", str(path))]
    out = place.parent / "out"
    names = " ".join(f"/{path.name}" for path in sorted(place.iterdir()))
    subprocess.run(
        [*boot, *files, "-o", out, f"mkdir /bpft; cp {names} /bpft; sh /bpft/all.sh > /tmp/out 2>&1"], check=True
    )
    return out.read_text(errors="surrogateescape")


def inside(place: Path) -> str:
    words = [
        sys.executable,
        "-m",
        "simkernel",
        "run",
        "--memory",
        "1G",
        "--bind",
        f"{place}:/bpft",
        "busybox",
        "sh",
        "/bpft/all.sh",
    ]
    done = subprocess.run(words, capture_output=True)
    return (done.stdout + done.stderr).decode(errors="surrogateescape")


# What each side has its own of, and what is written instead.
RULES = (
    (r"^\d+: ", "N: "), (r'"(id|prog_id|map_id|btf_id|link_id|attach_btf_obj_id|btf_obj_id|target_btf_id|target_obj_id)": ?\d+', r'"\1":N'),
    (r"\b(id|btf_id|map_ids|prog|map|target_obj_id|target_btf_id|prog_id) [\d,]+", r"\1 N"),
    (r'"map_ids": ?\[[\d,\s]*\]', '"map_ids":[]'),
    (r"loaded_at \S+", "loaded_at T"), (r'"loaded_at": ?\d+', '"loaded_at":T'), (r"pids [\w-]+\(\d+\)", "pids P"),
    (r'"pid": ?\d+', '"pid":P'), (r"duration( \(average\))?: \d+ns", r"duration\1: Tns"), (r'"duration": ?\d+', '"duration":T'),
    (r"0xffff[0-9a-f]{12}", "ADDRESS"), (r"bpf_prog_[0-9a-f]{16}", "bpf_prog_TAG"), (r"prog_ids [\d,]+", "prog_ids N"),
    (r'"prog_ids": ?\[[\d,\s]*\]', '"prog_ids":[]'), (r"85 ([02]0 00 00)( \w\w){4}", r"85 \1 N"),
    (r"(18 \w\w 00 00)( \w\w){4} 00 00 00 00( \w\w){2} ff ff", r"\1 ADDRESS"),
    (r'("imm"|"pointer"): ?".*?"', r"\1:N"), (r'^.*(CONFIG_|kernel config).*\n', ""), (r'"CONFIG_\w+": ?[^,}]+,?', ""), (r"map\[id:\d+\]", "map[id:N]"), (r"#-?\d+", "#N"),
)  # fmt: skip


def parts(text: str) -> list[tuple[str, str]]:
    found = []
    for part in text.split(BEGIN)[1:]:
        name, _, body = part.partition("\n")
        found.append((name, body))
    return found


def plain(text: str) -> str:
    for pattern, put in RULES:
        text = re.sub(pattern, put, text, flags=re.MULTILINE)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answer", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--ours", type=Path, help="what the machine printed, kept there before")
    parser.add_argument("--lines", type=int, default=12, help="of each difference")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "bpft"
        place.mkdir()
        folder_of_all(place)
        answer = args.answer.read_text(errors="surrogateescape") if args.answer else ask(place, args.command)
        if args.keep:
            args.keep.write_text(answer, errors="surrogateescape")
        if args.ours and args.ours.exists():
            text = args.ours.read_text(errors="surrogateescape")
        else:
            text = inside(place)
            if args.ours:
                args.ours.write_text(text, errors="surrogateescape")
    real, ours = parts(answer), parts(text)
    same = 0
    for (name, there), (_, here) in zip(real, ours):
        a, b = plain(there), plain(here)
        same += a == b
        if a != b:
            print(f"!= {name}")
            lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), "there", "here", lineterm="", n=0))[2:]
            print("".join(f"     {line}\n" for line in lines[: args.lines]), end="")
    print(f"{same} of {len(real)} commands say the same on the real kernel and here ({len(ours)} were run here)")
    return 0 if same == len(real) == len(ours) else 1


if __name__ == "__main__":
    raise SystemExit(main())
