"""What differs by version in how a rewritten program is shown."""

from arch.abi.version import KernelVersion, newest
from bpf.isa.insn import BPF_REG_AX
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.dump import AX_SHOWN, dump


def test_the_register_of_rewritten_programs_has_another_number_on_7_2():
    """R11 is there what a function gets on the stack."""
    insns = [emit.mov64(BPF_REG_AX, 1), emit.alu64(0, 2, BPF_REG_AX)]
    shown = {v: dump(insns, ax=newest(AX_SHOWN, KernelVersion.parse(v))) for v in ("6.1", "6.12", "7.2")}
    assert shown["6.1"] == shown["6.12"] == insns
    assert [(insn.dst_reg, insn.src_reg) for insn in shown["7.2"]] == [(12, 1), (2, 12)]
