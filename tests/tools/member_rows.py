"""The rows of tests/simkernel/calls/programs/members.c: where members of 6.1's structures are, by its recorded types.

    python tests/tools/member_rows.py >tests/simkernel/calls/programs/members_rows.h

A row is a function, where the walk begins (the task, or an argument), pointers to follow, a member, and whether its number is the
same on every machine ("=") or only whether it is there ("?").  Text is read as such ("s").
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from arch.abi.version import KernelVersion
from bpf.btf.codec import COMPOSITES, QUALIFIERS, BtfType, Kind
from bpf.btf.recorded import recorded_btf
from simkernel.net.core.conf_rows import PER_NET
from simkernel.net.core.netns_struct import RENAMED

BTF = recorded_btf("x86_64", KernelVersion.parse("6.1"))
assert BTF is not None
SYSCTLS = sorted(RENAMED.get(name[5:], name[5:]) for name in PER_NET if name.startswith("ipv4."))
TASK = (0, "task_struct")
FILE = (1, "file")
SOCK = (1, "sock")
# function -> (where it begins, what is read: "=path", "?path" or "spath")
WALKS: dict[str, tuple[tuple[tuple[int, str], str], ...]] = {
    "vfs_write": (
        (TASK, "?cred->user =cred->user->uid ?cred->ucounts =cred->ucounts->uid ?cred->ucounts->ns ?cred->group_info"),
        (TASK, "=cred->group_info->ngroups ?cred->user_ns ?sched_class =se.on_rq =sas_ss_flags =rseq_sig ?rseq ?robust_list"),
        (TASK, "?mm->owner =mm->flags ?mm->binfmt ?mm->user_ns ?mm->data_vm ?mm->exec_vm ?mm->total_vm ?mm->stack_vm ?mm->map_count"),
        (TASK, "=sighand->count ?cgroups->dfl_cgrp->root ?cgroups->dfl_cgrp->kn =cgroups->dfl_cgrp->max_descendants"),
        (TASK, "?cgroups->dfl_cgrp->self.cgroup ?cgroups->dom_cset ?nsproxy->net_ns =mm->exe_file->f_flags =mm->exe_file->f_mode"),
        (TASK, " ".join(f"=nsproxy->net_ns->ipv4.sysctl_{name}" for name in SYSCTLS)),
        (FILE, "?f_cred =f_cred->uid ?f_cred->user =f_ra.prev_pos ?f_inode->i_op =f_inode->i_writecount ?f_mapping->a_ops"),
        (FILE, "=f_inode->i_data.gfp_mask ?f_inode->i_sb->s_op ?f_inode->i_sb->s_user_ns =f_inode->i_sb->s_time_min"),
        (FILE, "=f_inode->i_sb->s_time_max ?f_path.dentry->d_op =f_path.dentry->d_flags =f_mode"),
    ),
    "tcp_sendmsg": (
        (SOCK, "?__sk_common.skc_prot s__sk_common.skc_prot->name ?sk_prot_creator ?sk_socket->ops =sk_socket->ops->family"),
        (SOCK, "=sk_socket->state ?sk_wq ?sk_cgrp_data.cgroup =sk_peek_off =sk_pacing_shift =sk_allocation =sk_max_pacing_rate"),
        ((2, "msghdr"), "=msg_iter.iter_type =msg_iter.count =msg_iter.user_backed =msg_iter.data_source ?msg_iter.iov =msg_name"),
    ),
    "udp_sendmsg": (
        (SOCK, "s__sk_common.skc_prot->name =sk_socket->ops->family =sk_socket->state"),
        ((2, "msghdr"), "=msg_iter.iter_type =msg_iter.count =msg_iter.nr_segs =msg_iter.iov->iov_len ?msg_name =msg_namelen"),
    ),
    "udpv6_sendmsg": ((SOCK, "s__sk_common.skc_prot->name =sk_socket->ops->family =sk_allocation"),),
    "tcp_rcv_established": (((1, "tcp_sock"), "?copied_seq ?rcv_nxt"), ((2, "sk_buff"), "?dev")),
    "unix_stream_sendmsg": (
        ((1, "socket"), "ssk->__sk_common.skc_prot->name =ops->family =state =sk->sk_allocation =sk->sk_wmem_alloc"),
    ),
    "ip_rcv": (((2, "net_device"), "=features =hw_features =wanted_features =gso_max_size =gso_max_segs =gro_max_size =state"),),
}  # fmt: skip


def bare(number: int) -> BtfType:
    """Without typedefs and qualifiers."""
    found = BTF[number]
    while found.kind in QUALIFIERS or found.kind is Kind.TYPEDEF:
        found = BTF[found.type]
    return found


def member(inside: BtfType, name: str) -> tuple[int, BtfType, int] | None:
    """(bit, type, bits of a bit-field)."""
    for each in inside.members:
        if each.name == name:
            return each.bit_offset, bare(each.type), each.bit_size
        if not each.name and (found := member(bare(each.type), name)) is not None:
            return each.bit_offset + found[0], found[1], found[2]
    return None


def place(struct: str, path: str) -> tuple[list[int], int, int, int]:
    """Pointers to follow, then byte, size in bytes and (for a bit-field) bits from there."""
    inside, pointers, bit, bits = BTF[BTF.find(struct, Kind.STRUCT)], [], 0, 0
    for step, name in re.findall(r"(->|\.|^)(\w+)", path):
        if step == "->":
            pointers.append(bit // 8)
            inside, bit = bare(inside.type), 0
        found = member(inside, name)
        assert found is not None, path
        bit, inside, bits = bit + found[0], found[1], found[2]
    size = 8 if inside.kind is Kind.PTR else inside.size
    if inside.kind is Kind.ARRAY:
        size = inside.nelems * max(bare(inside.type).size, 1)
    assert inside.kind not in COMPOSITES or size <= 8, path
    return pointers, bit // 8, min(size, 32), bits and (bits << 8 | bit % 8)


def main() -> None:
    """Write the header."""
    print("/* Written by tests/tools/member_rows.py. */")
    for function, walks in WALKS.items():
        rows = []
        for (base, struct), text in walks:
            for word in text.split():
                try:
                    pointers, at, size, bits = place(struct, word[1:])
                except AssertionError:
                    if "sysctl_" in word:
                        continue
                    raise
                steps = ", ".join(map(str, pointers)) or "0"
                rows.append(
                    f"\t{{ \"{struct}.{word[1:]}\", '{word[0]}', {base}, {len(pointers)}, {{ {steps} }}, {at}, {size}, {bits:#x} }},"
                )
        print(f"static const struct row rows_{function}[] = {{\n" + "\n".join(rows) + "\n\t{ 0 } };")
    names = "".join(f'\t{{ "{name}", rows_{name} }},\n' for name in WALKS)
    print(f"static const struct walk walks[] = {{\n{names}\t{{ 0 }} }};")


if __name__ == "__main__":
    main()
