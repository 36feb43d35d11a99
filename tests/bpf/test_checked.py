"""Running with every check on: it notices what it should, and a sample of random programs does nothing wrong."""

import importlib.util
from pathlib import Path

import pytest

from bpf.isa.asm import assemble
from bpf.testing.checked import CheckedProgram, Violation
from bpf.testing.host import TestHost
from bpf.verifier.api import Verdict, VerifyRequest

spec = importlib.util.spec_from_file_location("soundness", Path(__file__).with_name("soundness.py"))
soundness = importlib.util.module_from_spec(spec)
spec.loader.exec_module(soundness)


def run(text):
    """A program that no verifier has seen."""
    host = TestHost()
    insns = assemble(text)
    prog = CheckedProgram(host.bpf, VerifyRequest(insns, 2), Verdict(0, insns=insns))
    return prog.run(host.mem.alloc(168))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("r0 = r3\nr0 += 1\nexit", "before it is written"),
        ("exit", "result was never written"),
        ("r0 = 0\nif r2 == 0 goto +0\nexit", "before it is written"),
        ("call bpf_ktime_get_ns\nr0 += r1\nexit", "before it is written"),
        ("r0 = *(u64 *)(r10 +8)\nexit", "load of 8 bytes"),
        ("r0 = 0\n*(u64 *)(r10 -600) = r0\nexit", "store of 8 bytes"),
        ("r0 = *(u64 *)(r1 +168)\nexit", "load of 8 bytes"),
        ("r1 = 0x5 ll\nr0 = *(u8 *)(r1 +0)\nexit", "load of 1 bytes"),
    ],
)
def test_violations(text, message):
    with pytest.raises(Violation, match=message):
        run(text)


def test_good_programs_run():
    assert run("*(u64 *)(r10 -8) = 5\nr0 = *(u64 *)(r10 -8)\nr2 = *(u64 *)(r1 +160)\nr0 += r2\nexit") == 5
    assert run("r6 = 1\nr1 = 2\ncall f\nr0 += r6\nexit\nf: r0 = r1\nexit") == 3


def test_a_sample_of_random_programs():
    assert soundness.main(["--programs", "400", "--seed", "11"]) == 0


def test_the_kernels_own_programs_about_maps():
    """Unchanged: what the verifier puts in the place of a lookup is theirs, too."""
    rng = soundness.random.Random(1)
    pool, definitions = soundness.seeds(rng), soundness.json.loads(soundness.MAPS_FILE.read_text())["maps"]
    options = soundness.Options(soundness.KernelVersion.parse("6.1"), run=True)
    names = {"fixup_map_xskmap", "fixup_map_sockmap", "fixup_map_sockhash"}
    names |= {"fixup_cgroup_storage", "fixup_percpu_cgroup_storage"}
    wanted = [row for row in pool if set(row.get("maps", {})) & names]
    assert len(wanted) > 5
    found = [soundness.check(row, options, definitions, rng) for row in wanted]
    assert [wrong for _, wrong in found if wrong] == []
    assert any(accepted for accepted, _ in found)
