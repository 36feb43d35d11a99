"""BPF_PROG_TEST_RUN of programs that are members of struct bpf_dummy_ops.  net/bpf/bpf_dummy_struct_ops.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EOPNOTSUPP
from arch.errors import KernelError
from bpf.btf.codec import Kind
from bpf.core.program import BpfProg
from bpf.maps.struct_ops import DUMMY, WORD
from bpf.syscall.attr import Call
from bpf.syscall.test_request import TestRequest

STATE_SIZE = 4  # struct bpf_dummy_ops_state


def struct_ops_test_run(call: Call, prog: BpfProg, request: TestRequest) -> int:
    """The context holds the arguments; the first is the address of a state in user memory, or 0."""
    btf, mem, user = call.host.vmlinux_btf, call.bpf.mem, call.user
    if btf is None or prog.attach_btf_id != btf.find(DUMMY, Kind.STRUCT):
        raise KernelError(EOPNOTSUPP, "only the struct that exists for tests")
    member = btf.types[prog.attach_btf_id].members[prog.expected_attach_type]
    proto = btf.resolved(btf.resolved(member.type).type)
    if request.ctx_size_in != WORD * len(proto.params):
        raise KernelError(EINVAL, "one word for each argument")
    raw = request.ctx_in or b""
    state = int.from_bytes(raw[:WORD], mem.byteorder)
    with call.bpf.scratch(len(raw)) as context, call.bpf.scratch(STATE_SIZE) as copy:
        if state:
            mem.write(copy, user.read(state, STATE_SIZE))
        mem.write(context, (copy if state else 0).to_bytes(WORD, mem.byteorder) + raw[WORD:])
        retval = prog.run64(context)
        if state:
            user.write(state, bytes(mem.read(copy, STATE_SIZE)))
    user.put(call.attr.place("retval"), 4, retval & 0xFFFFFFFF)
    return 0
