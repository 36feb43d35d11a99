"""The lines of a program's text for LLVM: registers and words of the state, and the budget.  bpf/run/llvm_text.py says what they mean."""

from __future__ import annotations

from arch.native.ir import MOSTLY_TAKEN
from bpf.isa.registers import BUDGET_AT, NR_REGISTERS
from bpf.run.llvm_signed import Unsupported

# Words of the state that native code and Python share: the registers as in the interpreter, then these.
STATUS = NR_REGISTERS
DEPTH = NR_REGISTERS + 1  # functions of the program that are being called
WORDS = NR_REGISTERS + 2
SLICE = 1 << 24  # of the budget: 10 to 30 ms
OK, RAISED, BUDGET_SPENT, TAIL_CALLED, TOO_DEEP = 0, 1, 2, 3, 4


class Lines:
    """What is written of one LLVM function."""

    def __init__(self, entries: dict[str, int]) -> None:
        self.entries = entries
        self.text: list[str] = []
        self.count = 0
        self.loops = False  # some jump goes back: the budget counts

    def do(self, line: str) -> None:
        """A line without a value."""
        self.text.append("  " + line)

    def let(self, expression: str) -> str:
        """A line with a value; its name."""
        self.count += 1
        self.text.append(f"  %t{self.count} = {expression}")
        return f"%t{self.count}"

    def label(self, name: str) -> None:
        """What follows can be jumped to."""
        self.text.append(f"{name}:")

    def fresh(self, what: str) -> str:
        """A name for a label."""
        self.count += 1
        return f"{what}{self.count}"

    def get(self, reg: int) -> str:
        """Value of a register."""
        self.require(reg)
        return self.let(f"load i64, ptr %R{reg}")

    @staticmethod
    def require(reg: int) -> None:
        """Only registers that there are."""
        if reg > 11:
            raise Unsupported(f"register {reg}")

    def put(self, reg: int, value: str) -> None:
        """Change a register."""
        self.require(reg)
        self.do(f"store i64 {value}, ptr %R{reg}")

    def word(self, index: int) -> str:
        """Pointer to a word of the state."""
        return self.let(f"getelementptr i64, ptr %state, i64 {index}")

    def entry(self, name: str) -> str:
        """A function of Python's."""
        return f"inttoptr (i64 {self.entries[name]} to ptr)"

    def leave_unless_ok(self, status: str) -> None:
        """Hand a status other than OK to the caller."""
        bad, good = self.fresh("bad"), self.fresh("good")
        test = self.let(f"icmp eq i32 {status}, {OK}")
        self.do(f"br i1 {test}, label %{good}, label %{bad}, {MOSTLY_TAKEN}")
        self.label(bad)
        self.leave(status)
        self.label(good)

    def leave(self, status: object) -> None:
        """Back to the caller."""
        self.share_budget()
        self.do(f"ret i32 {status}")

    # ---- the budget: its low bits are a variable, as a word that every turn of a loop loads and stores costs more than the turn ----

    def take_budget(self) -> None:
        """The variable from the state."""
        if self.loops:
            low = self.let(f"and i64 {self.let(f'load i64, ptr {self.word(BUDGET_AT)}')}, {SLICE - 1}")
            self.do(f"store i64 {low}, ptr %slice")

    def share_budget(self) -> None:
        """The state from the variable, before anything that looks there; below 0 it takes from the upper bits."""
        if self.loops:
            at = self.word(BUDGET_AT)
            upper = self.let(f"and i64 {self.let(f'load i64, ptr {at}')}, {-SLICE}")
            low = self.let("load i64, ptr %slice")
            self.do(f"store i64 {self.let(f'add i64 {upper}, {low}')}, ptr {at}")
