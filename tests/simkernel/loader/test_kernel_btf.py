"""The machine's own BTF: whole, loadable, and of the machine's layout."""

import pytest

import simkernel
from bpf.btf import Btf, Kind
from bpf.btf.check import btf_parse
from bpf.btf.recorded import recorded_btf
from tests.kconfig import typed


@pytest.mark.parametrize("kernel", ["6.1", "5.10"])
@pytest.mark.parametrize("arch", ["x86_64", "arm64", "riscv64", "s390x"])
def test_every_function_and_tracepoint_is_in_it(arch, kernel):
    machine = simkernel.boot(arch=arch, kernel=kernel, config=typed(arch))
    k = machine.kernel
    btf = k.observer.kernel_btf.get()
    functions = {t.name for t in btf.functions()}
    made_by_gcc = {name for name in k.text.functions if "." in name}  # do_execveat_common.isra.0: BTF leaves them out
    recorded = recorded_btf(arch, k.version) is not None
    assert recorded or set(k.text.functions) - made_by_gcc <= functions
    assert all(btf.find(f"btf_trace_{name}", Kind.TYPEDEF) for name in k.observer.tracing.tracepoints)
    assert btf.find("trace_event_raw_sys_enter", Kind.STRUCT)
    task = btf[btf.find("task_struct", Kind.STRUCT)]
    for member in task.members:
        if member.name and not member.bit_size and k.types.has_member("struct task_struct", member.name):
            assert k.types.offsetof("struct task_struct", member.name) == member.bit_offset // 8
    data = machine.session.read_file("/sys/kernel/btf/vmlinux")
    assert data == btf.encode() if recorded else Btf.parse(data).types == btf.types


def test_the_kernels_btf_would_pass_its_own_check():
    machine = simkernel.boot(kernel="5.10")
    data = machine.session.read_file("/sys/kernel/btf/vmlinux")
    ret, log = btf_parse(data)
    assert ret == 0, log[-200:]
