"""Other kernels than 6.1: what the real 5.10, 6.12 and 7.2 said about the same programs."""

from pathlib import Path

import pytest

from arch.abi.errno import EACCES, EINVAL
from arch.abi.version import KernelVersion
from bpf.isa.asm import assemble
from bpf.isa.insn import Insn, encode
from bpf.testing.case_files import CaseFile, read_cases
from bpf.testing.cases import Options, compare, run_cases
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify
from bpf.versions.confidence import confidence, in_words

DATA = Path(__file__).parents[2] / "data"
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("level", [1, 2])
def test_every_recorded_answer_of_5_10(level, part):
    file = read_cases(DATA / "answers_5_10_suite.json.gz")
    file.rows = file.rows[part::PARTS]
    options = Options(file.version, log_level=level)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []
    assert summary.errnos.compared == len(file.rows) and summary.logs.compared > len(file.rows) // 2


LONG = 810  # a case that walks a million instructions: half a minute

# of 191 cases
RECORDED = {"6.12": 191, "7.2": 191}


@pytest.mark.parametrize("level", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("version", RECORDED)
def test_nothing_is_accepted_that_the_real_kernel_rejects(version, level):
    file = read_cases(DATA / f"answers_{version.replace('.', '_')}_suite.json.gz")
    file.rows = [row for row in file.rows if row["id"] != LONG]
    options = Options(file.version, log_level=level)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == []
    assert summary.differences == [] and summary.errnos.equal == RECORDED[version]
    assert summary.logs.compared >= RECORDED[version] - 1  # one is too long to keep at level 2


@pytest.mark.slow
@pytest.mark.parametrize("version", RECORDED)
def test_a_million_instructions_are_walked(version):
    file = read_cases(DATA / f"answers_{version.replace('.', '_')}_suite.json.gz")
    file.rows = [row for row in file.rows if row["id"] == LONG]
    options = Options(file.version, log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.verdicts.equal == summary.errnos.equal == 1


def test_each_verdict_says_how_sure_it_is():
    path = DATA / "answers_5_10_suite.json.gz"
    file = read_cases(path)
    version = file.version
    assert confidence(version, recorded=True) == "recorded"
    assert [confidence(KernelVersion.parse(text)) for text in ("5.10", "5.15", "6.12")] == [
        "compared",
        "between",
        "compared",
    ]
    assert in_words(version) == "modelled on Debian 5.10.262, with whose answers this version is compared"
    assert in_words(KernelVersion.parse("5.15")).startswith("between 5.10 and 6.1, ")
    assert in_words(KernelVersion.parse("3.18")).startswith("beyond 4.1, ")


def test_the_file_says_whose_answers_they_are():
    file = read_cases(DATA / "answers_5_10_suite.json.gz")
    assert str(file.version) == "5.10" and all("answer" in row for row in file.rows)


# programs whose callbacks change what their callers rely on: verdicts are all equal, logs at least so many
@pytest.mark.parametrize("name, version, logs", [("callbacks_6_12", "6.12", 60), ("answers_7_2_callbacks", "7.2", 61)])
def test_callbacks_are_walked_as_loops(name, version, logs):
    file = read_cases(DATA / f"{name}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.verdicts.equal == summary.errnos.equal == len(file.rows)
    assert summary.logs.equal >= logs


# sign-extending loads and moves, signed division, bswap, may_goto, narrow atomics: (opcode, offset, the last version without)
LATER = [(0x91, 0, "6.5"), (0xBF, 8, "6.5"), (0x37, 1, "6.5"), (0xD7, 0, "6.5"), (0xE5, 1, "6.8"), (0xCB, 0, "6.14")]


@pytest.mark.parametrize("code, off, version", LATER)
def test_instructions_that_came_later_are_refused(version, code, off):
    """Never taken for something else."""
    imm = {0x37: 3, 0xD7: 16}.get(code, 0)
    insns = [Insn(0x7A, 10, 0, -8, 0), Insn(0xB7, 0, 0, 0, 7), Insn(0xBF, 1, 10), Insn(0x07, 1, 0, 0, -8)]
    insns += [Insn(code, 0, 0 if code in (0x37, 0xD7, 0xE5) else 1, off, imm), Insn(0xB7, 0), Insn(0x95)]
    assert verify(VerifyRequest(insns, 1, version=KernelVersion.parse(version))).ret == -EINVAL


@pytest.mark.parametrize("version", ["5.10", "6.1", "6.12", "7.2"])
def test_kernel_structures_are_walked_as_by_the_real_one(version):
    """Arguments of tracepoints and security hooks, ten pointers deep, read and written at every kind of place; which hooks may sleep."""
    file = read_cases(DATA / f"struct_walks_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []
    assert summary.errnos.equal == summary.logs.equal == len(file.rows) > 600


# random programs of tests/oracle/programs.py, with logs and what they returned
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("name, version", [("instructions_6_12", "6.12")])
def test_random_programs_are_answered_as_by_the_real_kernel(name, version, level):
    file = read_cases(DATA / f"{name}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=level, run=level == 1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []


def test_programs_of_netfilter_and_values_of_groups():
    """Contexts, return values, attach types and helpers of the one, bpf_cgrp_storage_get() of the other, on 7.2."""
    file = read_cases(DATA / "netfilter_7_2.json.gz")
    options = Options(KernelVersion.parse("7.2"), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == [] and summary.verdicts.equal == 55


# random programs of tests/oracle/kernel_programs.py: pointers of the kernel followed and handed to its functions, read sections,
# references, iterators.  Verdicts and errnos are all equal, logs (level 1, 2) at least so many
KERNEL_POINTERS = [("6.12", 1, 220), ("6.12", 2, 220), ("7.2", 1, 160), ("7.2", 2, 160)]


@pytest.mark.parametrize("version, level, logs", KERNEL_POINTERS)
def test_pointers_of_the_kernel_are_trusted_as_by_the_real_one(version, level, logs):
    file = read_cases(DATA / f"kernel_pointers_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=level)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.verdicts.equal == summary.errnos.equal == len(file.rows)
    assert summary.logs.equal >= logs


def test_random_programs_of_7_2_have_its_ranges():
    """Arithmetic, jumps and changed programs of the suite: a range there is one arc of the circle of numbers."""
    file = read_cases(DATA / "random_7_2.json.gz")
    options = Options(KernelVersion.parse("7.2"), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []


def test_offsets_of_pointers_in_messages_of_7_2():
    """Which numbers are decimals, and what a pointer is told that has no least offset."""
    file = read_cases(DATA / "pointer_offsets_7_2.json.gz")
    options = Options(KernelVersion.parse("7.2"), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == [] and summary.logs.equal == len(file.rows)


@pytest.mark.parametrize("name, version", [("arcs_7_2", "7.2"), ("linked_slots_6_12", "6.12")])
def test_what_a_long_log_tells_of_ranges_and_copies(name, version):
    """Arcs over both ends of the circle of numbers; slots that hold a copy of what a comparison has followed."""
    file = read_cases(DATA / f"{name}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=2)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == [] and summary.logs.equal == len(file.rows)


# random programs of tests/oracle/helper_programs.py: helpers of all kinds, arguments of the right kind mostly.
@pytest.mark.parametrize(
    "version, level", [("5.10", 1), ("5.10", 2), ("6.1", 1), ("6.12", 1), ("6.12", 2), ("7.2", 1), ("7.2", 2)]
)
def test_helpers_take_what_the_real_ones_take(version, level):
    file = read_cases(DATA / f"helper_calls_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=level)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []


# random programs of tests/oracle/object_programs.py: dynptrs; objects of programs, kernel pointers in maps, casts.  Logs: at least so many
@pytest.mark.parametrize("version, level, logs", [("6.12", 1, 140), ("6.12", 2, 137), ("7.2", 1, 140), ("7.2", 2, 140)])
def test_dynptrs_and_objects_are_what_the_real_ones_are(version, level, logs):
    file = read_cases(DATA / f"objects_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=level)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.verdicts.equal == summary.errnos.equal == len(file.rows)
    assert summary.logs.equal >= logs


# loops over numbers, sets of processors, dynptrs, tasks: what they return
@pytest.mark.parametrize("version", ["6.12", "7.2"])
def test_kernel_functions_return_what_the_real_ones_do(version):
    file = read_cases(DATA / f"kernel_functions_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=1, run=True)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.differences == []


# random programs of tests/oracle/object_programs.py: nodes in lists and trees of a map's value, references, locks; exceptions
@pytest.mark.parametrize("version", ["6.12", "7.2"])
def test_lists_and_trees_of_programs_are_what_the_real_ones_are(version):
    file = read_cases(DATA / f"graphs_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=1, run=True)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == []


# random programs of tests/oracle/function_programs.py, and global functions that throw or sleep where something is held
def test_what_is_handed_to_functions_is_what_the_real_ones_take():
    file = read_cases(DATA / "functions_7_2.json.gz")
    options = Options(KernelVersion.parse("7.2"), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == [] and summary.errnos.equal == len(file.rows)


# random programs of tests/oracle/network_programs.py: congestion control, contexts of control groups and sockets, and (7.2) 15 calls deep
@pytest.mark.parametrize("version", ["6.12", "7.2"])
def test_operations_and_contexts_of_the_network_are_what_the_real_ones_are(version):
    file = read_cases(DATA / f"network_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=1)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.wrongly_accepted == [] and summary.differences == [] and summary.errnos.equal == len(file.rows)


# bytes of a socket that a real kernel let congestion control write, of those from 0 to 2,699
@pytest.mark.parametrize("version, count", [("5.10", 109), ("6.1", 111), ("6.12", 113), ("7.2", 113)])
def test_what_congestion_control_may_write_is_each_versions_own(version, count):
    rows = [
        {"prog_type": 27, "attach_type": 14 if version == "5.10" else 0, "attach": ["tcp_congestion_ops", 4],
         "insns": encode(assemble(f"r7 = *(u64 *)(r1 +0)\n*(u8 *)(r7 +{at}) = 1\nr0 = 0\nexit")).hex()}
        for at in range(2700)
    ]  # fmt: skip
    file = CaseFile("6.1", rows, {}, version)
    assert [row["ret"] for row in run_cases(file, Options(KernelVersion.parse(version)))].count(0) == count


# the same programs at both levels: references in lines about checkpoints, what callbacks that run later return, loops left by bpf_throw()
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("version", ["6.12", "7.2"])
def test_logs_of_programs_of_several_functions_are_the_real_ones(version, level):
    file = read_cases(DATA / f"function_logs_{version.replace('.', '_')}.json.gz")
    options = Options(KernelVersion.parse(version), log_level=level)
    summary = compare(file, options, list(run_cases(file, options)))
    assert summary.differences == [] and summary.errnos.equal == len(file.rows) and summary.logs.compared > 10


# 8,193 jumps of which both ways are still to be walked, as real kernels answered
@pytest.mark.parametrize("version, answer", [("5.10", -14), ("6.1", -14), ("6.12", -7), ("7.2", -7)])
def test_too_many_paths_that_wait_are_refused_as_on_each_version(version, answer):
    text = "call bpf_get_prandom_u32\n" + "if r0 > 5 goto +1\ncall bpf_get_prandom_u32\n" * 8200 + "r0 = 0\nexit"
    rows = [{"prog_type": 1, "insns": encode(assemble(text)).hex()}]
    file = CaseFile("6.1", rows, {}, version)
    assert [row["ret"] for row in run_cases(file, Options(KernelVersion.parse(version)))] == [answer]


# a pointer that may be NULL compared with one that is not, and used where they are equal (twice) and where they differ (twice);
# these are the real kernels' answers
@pytest.mark.parametrize("version, answers", [("6.1", (-13, -13, -13, -13)), ("6.12", (0, 0, -13, -13)), ("7.2", (0, 0, -13, -13))])  # fmt: skip
def test_what_equals_a_pointer_that_is_there_is_there(version, answers):
    file = read_cases(DATA / "equal_pointers.json")
    assert tuple(row["ret"] for row in run_cases(file, Options(KernelVersion.parse(version)))) == answers


@pytest.mark.parametrize("version, answer", [("5.10", 0), ("6.1", 0), ("6.12", -13), ("7.2", 0)])
def test_packets_behind_a_tail_call_are_each_versions_own(version, answer):
    file = read_cases(DATA / "behind_a_tail_call.json")
    assert [row["ret"] for row in run_cases(file, Options(KernelVersion.parse(version)))] == [answer]


# functions with a tail call whose caller relies on what they return, on its packet pointers, on nothing; the last is a callback
@pytest.mark.parametrize(
    "version, answers",
    [("6.12", (0, 0, 0, -13, -13, 0, 0, 0, -13, 0, 0)), ("7.2", (-22, 0, 0, -13, -13, 0, -13, 0, 0, 0, -22))],
)
def test_a_taken_tail_call_is_a_return_with_any_number(version, answers):
    file = read_cases(DATA / "tail_calls_in_functions.json")
    results = list(run_cases(file, Options(KernelVersion.parse(version), log_level=1)))
    assert tuple(row["ret"] for row in results) == answers
    assert not any("reg type unsupported" in row["log"] for row in results)


# (type, instruction with the context in R6) -> what the real 6.12 and 7.2 say: a byte of registers written, eight bytes anywhere
# in the context of a system call's program
CONTEXTS = [(2, Insn(0x72, 6, 0, 125, 0), -EACCES, 0), (31, Insn(0x7A, 6, 0, 98, 0), -EACCES, 0)]


@pytest.mark.parametrize("kind, store, before, since", CONTEXTS)
def test_contexts_that_may_be_written_since_6_18(kind, store, before, since):
    insns = [Insn(0xBF, 6, 1), store, Insn(0xB7, 0), Insn(0x95)]
    flags = 16 if kind == 31 else 0  # such programs sleep
    for version, answer in (("6.12", before), ("7.2", since)):
        asked = VerifyRequest(insns, kind, version=KernelVersion.parse(version), prog_flags=flags)
        assert verify(asked).ret == answer
