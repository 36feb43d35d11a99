"""`python -m tests.fuzz --minutes 10 [--seed N] [--kinds elf,btf] [--record]`, or `--only KIND:SEED:CASE` for one case.

Each kind (kinds.py) gets an equal share of the time, or --cases cases.  Cases run in child processes, some in each; one that
dies of a signal, or is not done in time, is a finding as much as an exception.  A finding is told with what to give to
--only: the cases of its process until then, since some kinds go on with one machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import simkernel
from tests.fuzz import kinds
from tests.fuzz.kinds import ARCHS, KINDS, machine

RECORD = Path(__file__).with_name("last_run.json")
BATCH_CPU_S = 2.0  # no further case begins in a child that has used so much
BATCH_S = 400  # until a child counts as hanging


def one(name: str, seed: int, case: int) -> str:
    """The outcome of a case; FINDING: ... with where it happened."""
    rng = random.Random(f"{name} {seed} {case}")
    try:
        return KINDS[name][1](rng)
    except simkernel.Oops as oops:
        return f"FINDING: oops: {type(oops.__cause__).__name__}: {oops.__cause__}{where(oops.__cause__)}"
    except BaseException as error:
        return f"FINDING: {type(error).__name__}: {error}{where(error)}"


def where(error: BaseException | None) -> str:
    """The last place of our own code."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__ if error else None) if "/site-packages/" not in f.filename
    ]
    return f" ({os.path.relpath(frames[-1].filename, kinds.ROOT)}:{frames[-1].lineno})" if frames else ""


def batch(name: str, seed: int, first: int, most: int) -> list[str]:
    """Outcomes of up to `most` cases, run in a child; the case that ended the child has its end as outcome."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(BATCH_S)
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 1)
            os.dup2(null.fileno(), 2)
        begin = time.process_time()
        for case in range(first, first + most):
            os.write(write, (one(name, seed, case).replace("\n", " ") + "\n").encode("utf-8", "replace"))
            if time.process_time() - begin > BATCH_CPU_S:
                break
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        outcomes = pipe.read().decode("utf-8", "replace").splitlines()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        outcomes.append("FINDING: no end" if number == signal.SIGALRM else f"FINDING: {signal.Signals(number).name}")
    elif status:
        outcomes.append(f"FINDING: the process ended with status {os.waitstatus_to_exitcode(status)}")
    return outcomes


def campaign(name: str, seed: int, seconds: float, cases: int) -> tuple[Counter[str], list[str]]:
    """Outcomes by name, and findings with what repeats them; until the time is over or so many cases were tried."""
    end, case = time.monotonic() + seconds, 0
    outcomes: Counter[str] = Counter()
    findings = []
    while time.monotonic() < end and case < cases:
        told = batch(name, seed, case, cases - case)
        for number, outcome in enumerate(told):
            if outcome.startswith("FINDING"):
                findings.append(f"--only {name}:{seed}:{case}-{case + number}  {outcome}")
                print(findings[-1], flush=True)
                outcome = "finding"
            outcomes[outcome] += 1
        case += len(told)
    return outcomes, findings


def record(name: str, row: dict[str, Any], add: bool) -> None:
    """Kinds that were not tried this time keep what is known of them; `add`: so does this one."""
    whole = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    known = whole.get("kinds", {})
    if add and name in known:
        old = known[name]
        row = {
            "seed": f"{old['seed']}, {row['seed']}",
            "minutes": round(old["minutes"] + row["minutes"], 1),
            "tried": old["tried"] + row["tried"],
            "findings": old["findings"] + row["findings"],
            "outcomes": dict(sorted((Counter(old["outcomes"]) + Counter(row["outcomes"])).items())),
        }
    known[name] = row
    rows = {name: known[name] for name in KINDS if name in known}
    RECORD.write_text(json.dumps({**whole, "kinds": rows}, indent=1) + "\n")


def main() -> int:
    """Exit status 1 when there is a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="so many of each kind, if the time lasts")
    parser.add_argument("--calls", type=int, default=kinds.CALLS, help="of one case of `syscalls` and `sequences`")
    parser.add_argument("--only", help="KIND:SEED:CASE or KIND:SEED:FIRST-LAST, in this process")
    parser.add_argument(
        "--record", action="store_true", help=f"write {RECORD.name}, from which docs/reliability.md is made"
    )
    parser.add_argument("--add", action="store_true", help="with --record: to what is recorded of the kind")
    options = parser.parse_args()
    kinds.CALLS = options.calls
    if options.only:
        name, seed, cases = options.only.split(":")
        first, _, last = cases.partition("-")
        for case in range(int(first), int(last or first) + 1):
            print(KINDS[name][1](random.Random(f"{name} {seed} {case}")))
        return 0
    names = options.kinds.split(",")
    failed = 0
    for arch in ARCHS:  # the children inherit them
        machine(arch)
    for name in names:
        if name in kinds.WARM:
            kinds.WARM[name]()
        begin = time.monotonic()
        outcomes, findings = campaign(name, options.seed, options.minutes * 60 / len(names), options.cases)
        failed += len(findings)
        row = {
            "seed": str(options.seed),
            "minutes": round((time.monotonic() - begin) / 60, 1),
            "tried": sum(outcomes.values()),
            "findings": findings,
            "outcomes": dict(sorted(outcomes.items())),
        }
        if options.record:
            record(name, row, options.add)
        print(
            f"{name:10} {sum(outcomes.values()):7} tried, {len(findings)} findings; {dict(outcomes.most_common(4))}",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
