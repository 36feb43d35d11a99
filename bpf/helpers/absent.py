"""Helpers that have no body here: they type-check, and a call answers EOPNOTSUPP; and tail calls, which every program
that runs has had rewritten into instructions."""

from __future__ import annotations

from bpf.helpers.rows import declare

declare(
    "tail_call",
    12,
    "4.2",
    returns="VOID",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING",
    func="",
    given="base_anyone bpf_tracing lirc_mode2",
    maps="PROG_ARRAY",
)
declare("bprm_opts_set", 159, "5.11", args="PTR_TO_BTF_ID:linux_binprm ANYTHING", given="bpf_lsm", missing="all of it")
declare(
    "ima_inode_hash",
    161,
    "5.11",
    args="PTR_TO_BTF_ID:inode PTR_TO_UNINIT_MEM CONST_SIZE",
    flags="might_sleep",
    given="bpf_lsm",
    allowed="ima_inode_hash",
    missing="all of it",
)
declare(
    "ima_file_hash",
    193,
    "5.18",
    args="PTR_TO_BTF_ID:file PTR_TO_UNINIT_MEM CONST_SIZE",
    flags="might_sleep",
    given="bpf_lsm",
    allowed="ima_inode_hash",
    missing="all of it",
)
