"""System calls that native code answers in the hook: the CPU stays in user mode, and neither kernel text nor Python runs."""

from __future__ import annotations

from arch.native.block import Word
from arch.native.ir import Function, Writer

PASSED = 3  # so many of them are passed
READ_ARGUMENTS = 4  # and so many are read: the fourth is in Word.VALUES + 3
PAIR_SIZE = 16  # of Word.SYSCALLS: function and data


class ShortcutWriter(Writer):
    """shortcut."""

    def shortcut(self) -> str:
        """Whether the call is done: Word.SYSCALLS has a function for its number, and that did not decline.

        The function is i64 f(block, data, number, three arguments).  %adjust is added to the user's pc where it is copied.
        """
        facts = self.facts
        f = Function("internal i1 @shortcut(ptr %uc, i64 %blk, i64 %adjust)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        table = f.word("%blk", Word.SYSCALLS)
        f.branch(f.let(f"icmp eq i64 {table}, 0"), "no", "number")
        f.label("number")
        self.read_register_into(f, facts.syscall_number_register, "%slot")
        number = f.let("load i64, ptr %slot")
        f.branch(f.let(f"icmp ult i64 {number}, {f.word('%blk', Word.SYSCALLS_SIZE)}"), "known", "no")
        f.label("known")
        at = f.let(f"add i64 {table}, {f.let(f'mul i64 {number}, {PAIR_SIZE}')}")
        function = f.load(at)
        f.branch(f.let(f"icmp eq i64 {function}, 0"), "no", "call")
        f.label("call")
        f.branch(f.let(f"icmp eq i64 {f.word('%blk', Word.SHOWN)}, 0"), "asked", "shown")
        f.label("shown")
        f.do("call void @show_user(ptr %uc, i64 %blk, i64 %adjust)")
        f.goto("asked")
        f.label("asked")
        extra = self.regs.syscall_copies
        ids, ptrs = f.word("%blk", Word.SYSCALL_IDS), f.word("%blk", Word.SYSCALL_PTRS)
        read = [*self.regs.syscall_arguments, *(source for _, source in extra)]
        if len(read) == READ_ARGUMENTS + len(extra):
            self.read_registers(f, read, Word.VALUES, ids, ptrs)
        arguments = [f.word("%blk", Word.VALUES + i) for i in range(PASSED)]
        data = f.load(f.let(f"add i64 {at}, 8"))
        values = ", ".join(f"i64 {value}" for value in ("%blk", data, number, *arguments))
        result = f.call(function, "i64", values)
        status = f.word("%blk", Word.NATIVE_STATUS)
        f.branch(f.let(f"icmp eq i64 {status}, 0"), "done", "declined")
        f.label("declined")
        f.set_word("%blk", Word.NATIVE_STATUS, "0")
        f.goto("no")
        f.label("done")
        f.branch(f.let(f"icmp eq i64 {f.word('%blk', Word.VISITED)}, 0"), "answer", "visited")
        f.label("visited")  # who was visited may have called Python, which may have raised something
        f.set_word("%blk", Word.VISITED, "0")
        f.do("call void @settle(i64 %blk)")
        f.branch(f.let(f"icmp eq i64 {f.word('%blk', Word.REASON)}, 0"), "answer", "stop")
        f.label("stop")
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.goto("answer")
        f.label("answer")
        f.set_word("%blk", Word.SCRATCH, result)
        for i, (_, source) in enumerate(extra):
            value = f.word("%blk", Word.VALUES + READ_ARGUMENTS + i)
            if source == facts.pc:
                value = f.let(f"add i64 {value}, %adjust")
            f.set_word("%blk", Word.SCRATCH + 1 + i, value)
        ids, ptrs = f.word("%blk", Word.RESULT_IDS), f.word("%blk", Word.RESULT_PTRS)
        written = [facts.result_register, *(target for target, _ in extra)]
        self.write_registers(f, written, Word.SCRATCH, ids, ptrs)
        f.do("ret i1 1")
        f.label("no")
        f.do("ret i1 0")
        return f.text()
