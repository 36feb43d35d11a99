"""What user code reads of the CPU itself: its counter of time, and registers that the kernel answers for where the read traps.

The emulator would tell the host's time, nothing at all, or zero.  Here a look at the counter is a look at the machine's clock: x86's
instructions have a hook, arm64's and riscv64's trap, and s390x's, which store to memory and do neither, are found in a page of code
when it is first fetched from (tlb.py), and get a hook of their own each.
"""

from __future__ import annotations

from arch.abi.limits import PAGE_SIZE
from arch.mmu import PTE_WRITE
from arch.native.block import Reason, Word
from arch.native.facts import CounterScale
from arch.native.ir import Function, Writer

LOOK_NS = 20  # what a look at the counter takes: the next one says more
STCK, STCKE, STCKF = 0xB205, 0xB278, 0xB27C
STORES = (STCK, STCKE, STCKF)
STCKE_LOW = 0x10000  # the last 8 bytes of stcke's 16 behind the clock: a bit, and the programmable field


class ClockWriter(Writer):
    """count, counter, told, found, stored."""

    def count(self) -> str:
        """The machine's time in ns, as the user code sees it that runs: no two looks tell the same."""
        f = Function("internal i64 @count(i64 %blk)")
        clock = f.word("%blk", Word.CLOCK)
        f.branch(f.let(f"icmp eq i64 {clock}, 0"), "timeless", "timed")
        f.label("timed")
        number = f.let(f"inttoptr i64 {f.load(clock)} to ptr")
        now = f.call(self.c["PyLong_AsUnsignedLongLongMask"], "i64", f"ptr {number}")
        busy = f.let(f"call i64 @llvm.umax.i64(i64 {f.word('%blk', Word.BUSY_CPUS)}, i64 1)")
        work = f.let(f"add i64 {f.word('%blk', Word.WORK)}, {f.let(f'mul i64 {busy}, {LOOK_NS}')}")
        f.set_word("%blk", Word.WORK, work)
        pending = f.let(f"sub i64 {work}, {f.word('%blk', Word.WORK_SEEN)}")
        now = f.let(f"add i64 {now}, {f.let(f'udiv i64 {pending}, {busy}')}")
        f.goto("tell")
        f.label("timeless")
        f.goto("tell")
        f.label("tell")
        now = f.let(f"phi i64 [ {now}, %timed ], [ 0, %timeless ]")
        least = f.let(f"add i64 {f.word('%blk', Word.CYCLES)}, 1")  # of another CPU
        now = f.let(f"call i64 @llvm.umax.i64(i64 {now}, i64 {least})")
        f.set_word("%blk", Word.CYCLES, now)
        f.do(f"ret i64 {now}")
        return f.text()

    def _scaled(self, f: Function, ns: str, scale: CounterScale) -> str:
        """ns in the counter's unit."""
        if scale.from_epoch:
            ns = f.let(f"add i64 {ns}, {f.word('%blk', Word.BOOT_TIME)}")
        whole = f.let(f"udiv i64 {ns}, {scale.ns}")
        rest = f.let(f"urem i64 {ns}, {scale.ns}")
        rest = f.let(f"udiv i64 {f.let(f'mul i64 {rest}, {scale.units}')}, {scale.ns}")
        value = f.let(f"add i64 {f.let(f'mul i64 {whole}, {scale.units}')}, {rest}")
        return f.let(f"add i64 {value}, {scale.first}")

    def counter(self, index: int) -> str:
        """rdtsc and rdtscp: cycles of 1 GHz; 1 lets the emulator leave it at that."""
        _, registers = self.facts.counter_insns[index]
        f = Function(f"i32 @counter{index}(ptr %uc, i64 %blk)")
        f.do("%slot = alloca i64")
        now = f.let("call i64 @count(i64 %blk)")
        parts = (f.let(f"and i64 {now}, {(1 << 32) - 1}"), f.let(f"lshr i64 {now}, 32"), f.word("%blk", Word.CPU))
        for name, part in zip(registers, parts, strict=False):
            f.do(f"store i64 {part}, ptr %slot")
            f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {self.ids[name]}, ptr %slot")
        f.do("ret i32 1")
        return f.text()

    def _code(self, f: Function, address: str, missing: str) -> str:
        """Two bytes of the user's code, as a number, from a page that is there."""
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', Word.USER_ROOT)}, i64 {address})")
        there = f.name("there")
        f.branch(f.let(f"icmp eq i64 {entry}, 0"), missing, there)
        f.label(there)
        at = f.let(f"or i64 {f.let(f'and i64 {entry}, {-PAGE_SIZE}')}, {f.let(f'and i64 {address}, {PAGE_SIZE - 2}')}")
        return self._unswap(f, f.load(f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}"), "i16"), 2)

    def _register(self, f: Function, index: str, names: tuple[str, ...]) -> str:
        """unicorn's number of a register that an instruction names by number; 0 of one that is none."""
        number = "0"
        for i, name in enumerate(names):
            if name:
                chosen = f.let(f"icmp eq i64 {index}, {i}")
                number = f.let(f"select i1 {chosen}, i32 {self.ids[name]}, i32 {number}")
        return number

    def _go_to(self, f: Function, address: str) -> None:
        f.do(f"store i64 {address}, ptr %slot")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr %slot")

    def told(self) -> str:
        """User code read a system register and trapped: is it one of `reads`?  Then it has been told, and goes on behind."""
        facts = self.facts
        f = Function("internal i1 @told(ptr %uc, i64 %blk, i64 %adjust)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[facts.pc]}, ptr %slot")
        pc = f.let(f"add i64 {f.let('load i64, ptr %slot')}, %adjust")
        low = self._code(f, pc, "no")
        high = self._code(f, f.let(f"add i64 {pc}, 2"), "no")
        insn = f.let(f"or i64 {low}, {f.let(f'shl i64 {high}, 16')}")
        told = []
        for row in facts.reads:
            yes, other = f.name("yes"), f.name("other")
            masked = f.let(f"and i64 {insn}, {row.mask}")
            f.branch(f.let(f"icmp eq i64 {masked}, {row.insn}"), yes, other)
            f.label(yes)
            value = str(row.value)
            if isinstance(row.value, CounterScale):
                value = self._scaled(f, f.let("call i64 @count(i64 %blk)"), row.value)
            f.goto("tell")
            told.append(f"[ {value}, %{yes} ]")
            f.label(other)
        f.goto("no")
        f.label("no")
        f.do("ret i1 false")
        f.label("tell")
        f.do(f"%value = phi i64 {', '.join(told)}")
        field = f.let(f"and i64 {f.let(f'lshr i64 {insn}, {facts.read_shift}')}, 31")
        register = self._register(f, field, facts.numbered)
        f.branch(f.let(f"icmp eq i32 {register}, 0"), "behind", "write")
        f.label("write")
        f.do("store i64 %value, ptr %slot")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {register}, ptr %slot")
        f.goto("behind")
        f.label("behind")
        self._go_to(f, f.let(f"add i64 {pc}, 4"))
        f.do("ret i1 true")
        return f.text()

    def found(self) -> str:
        """Look through a page of user code for what stores the counter, and have each place hooked; is there any?"""
        f = Function("internal i1 @found(ptr %uc, i64 %blk, i64 %vaddr, i64 %paddr)")
        f.do("%args = alloca ptr")
        page = f.let(f"and i64 %vaddr, {-PAGE_SIZE}")
        host = f.let(f"add i64 %paddr, {f.word('%blk', Word.HOST)}")
        f.goto("look")
        f.label("look")
        f.do("%at = phi i64 [ 0, %entry ], [ %next, %on ]")
        f.do("%any = phi i1 [ false, %entry ], [ %more, %on ]")
        code = self._unswap(f, f.load(f.let(f"add i64 {host}, %at"), "i16"), 2)
        self._branch_on_store(f, code, "store", "plain")
        f.label("store")
        address = f.let(f"add i64 {page}, %at")
        number = f.call(self.c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {address}")
        f.do(f"store ptr {number}, ptr %args")
        hook = f.let(f"inttoptr i64 {f.word('%blk', Word.ON_COUNTER)} to ptr")
        result = f.call(self.c["PyObject_Vectorcall"], "ptr", f"ptr {hook}, ptr %args, i64 1, ptr null")
        f.call(self.c["Py_DecRef"], "void", f"ptr {number}")
        f.branch(f.let(f"icmp eq ptr {result}, null"), "failed", "hooked")
        f.label("hooked")
        f.call(self.c["Py_DecRef"], "void", f"ptr {result}")
        f.goto("on")
        f.label("failed")
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret i1 true")
        f.label("plain")
        f.goto("on")
        f.label("on")
        f.do("%more = phi i1 [ true, %hooked ], [ %any, %plain ]")
        f.do("%next = add i64 %at, 2")
        f.branch(f.let(f"icmp eq i64 %next, {PAGE_SIZE}"), "end", "look")
        f.label("end")
        f.do("ret i1 %more")
        return f.text()

    @staticmethod
    def _branch_on_store(f: Function, code: str, yes: str, no: str) -> None:
        f.do(f"switch i64 {code}, label %{no} [{' '.join(f'i64 {insn}, label %{yes}' for insn in STORES)}]")

    def stored(self) -> str:
        """uc_cb_hookcode_t on such an instruction: the clock goes to memory, the condition code is 0.

        Memory that is not there or may not be written is left to the emulator, whose store faults.
        """
        scale = self.facts.stored_counter
        assert scale is not None
        f = Function("void @stored(ptr %uc, i64 %addr, i32 %size, i64 %blk)")
        f.do("%slot = alloca i64")
        f.do("%bytes = alloca [3 x i64]")
        f.branch(f.let("call i1 @is_user(ptr %uc, i64 %blk)"), "user", "leave")
        f.label("user")
        code = self._code(f, "%addr", "leave")
        operand = self._code(f, f.let("add i64 %addr, 2"), "leave")
        self._branch_on_store(f, code, "store", "leave")
        f.label("store")
        f.do("store i64 0, ptr %slot")
        base = self._register(f, f.let(f"lshr i64 {operand}, 12"), self.facts.numbered)
        f.branch(f.let(f"icmp eq i32 {base}, 0"), "based", "read")
        f.label("read")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {base}, ptr %slot")
        f.goto("based")
        f.label("based")
        target = f.let(f"add i64 {f.let('load i64, ptr %slot')}, {f.let(f'and i64 {operand}, 4095')}")
        long = f.let(f"icmp eq i64 {code}, {STCKE}")
        size = f.let(f"select i1 {long}, i64 16, i64 8")
        first = self._writable(f, target)
        last = self._writable(f, f.let(f"add i64 {target}, {f.let(f'sub i64 {size}, 1')}"))
        now = self._scaled(f, f.let("call i64 @count(i64 %blk)"), scale)
        words = (f.let(f"lshr i64 {now}, 8"), f.let(f"or i64 {f.let(f'shl i64 {now}, 56')}, {STCKE_LOW}"))
        whole = f.let(f"select i1 {long}, i64 {words[0]}, i64 {now}")
        for i, word in enumerate((whole, words[1])):
            place = f.let(f"getelementptr i64, ptr %bytes, i64 {i}")
            f.do(f"store i64 {self._swap(f, word, 8)[0]}, ptr {place}")
        room = f.let(f"sub i64 {PAGE_SIZE}, {f.let(f'and i64 {target}, {PAGE_SIZE - 1}')}")
        here = f.let(f"call i64 @llvm.umin.i64(i64 {size}, i64 {room})")
        self._copy(f, first, "%bytes", here)
        beyond = f.let(f"sub i64 {size}, {here}")
        start = f.let(f"sub i64 {f.let(f'add i64 {last}, 1')}, {beyond}")
        self._copy(f, start, f.let(f"getelementptr i8, ptr %bytes, i64 {here}"), beyond)
        self._clear_condition(f)
        self._go_to(f, f.let("add i64 %addr, 4"))
        f.goto("leave")
        f.label("leave")
        f.do("ret void")
        return f.text()

    def _writable(self, f: Function, address: str) -> str:
        """Host address of a byte that user code may write at once."""
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', Word.USER_ROOT)}, i64 {address})")
        may, free = f.name("may"), f.name("free")
        f.branch(f.let(f"icmp eq i64 {f.let(f'and i64 {entry}, {PTE_WRITE}')}, 0"), "leave", may)
        f.label(may)
        mark = f.let(f"add i64 {f.let(f'lshr i64 {entry}, 12')}, {f.word('%blk', Word.CODE_PAGES)}")
        f.branch(f.let(f"icmp eq i8 {f.load(mark, 'i8')}, 0"), free, "leave")
        f.label(free)
        at = f.let(f"or i64 {f.let(f'and i64 {entry}, {-PAGE_SIZE}')}, {f.let(f'and i64 {address}, {PAGE_SIZE - 1}')}")
        return f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")

    @staticmethod
    def _copy(f: Function, address: str, source: str, size: str) -> None:
        to = f.let(f"inttoptr i64 {address} to ptr")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    def _clear_condition(self, f: Function) -> None:
        register = self.ids[self.facts.privilege]
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {register}, ptr %slot")
        mask = f.let(f"and i64 {f.let('load i64, ptr %slot')}, {~self.facts.condition_mask}")
        f.do(f"store i64 {mask}, ptr %slot")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {register}, ptr %slot")
