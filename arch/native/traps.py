"""The emulator's hooks for traps, system calls and probed addresses, and the loop around the emulation."""

from __future__ import annotations

from arch.native.block import UC_ERR_EXCEPTION, Native, Reason, Role, Word
from arch.native.handler import AT_ENTRY, NO_FRAME, READ_ONLY
from arch.native.ir import Function, Writer

# CPUX86State: error_code, exception_is_int and exception_next_eip, dr[8], four pointers, old_exception.
ERROR_CODE_BEFORE = 4 + 4 + 8 + 8 * 8 + 4 * 8


class TrapWriter(Writer):
    """intr, invalid, insn, probe, run."""

    def trap(self) -> str:
        """A trap with number %intno: user mode enters the kernel, kernel mode ends the run."""
        f = Function("internal void @trap(ptr %uc, i64 %blk, i64 %role, i64 %intno, i64 %adjust)")
        f.set_word("%blk", Word.TRAP, "%intno")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "up", "crash")
        f.label("up")
        f.set_word("%blk", Word.TRAPPED, "1")
        if self.facts.user_context:
            self._forget_exception(f)
        if self.facts.reads:
            f.branch(f.let(f"icmp eq i64 %role, {int(Role.UNDEFINED)}"), "undefined", "enter")
            f.label("undefined")
            f.branch(f.let("call i1 @told(ptr %uc, i64 %blk, i64 %adjust)"), "answered", "enter")
            f.label("answered")
            f.do("ret void")
            f.label("enter")
        role = f.let("call i64 @refine_role(ptr %uc, i64 %blk, i64 %role)") if self.facts.trap_opcodes else "%role"
        f.do(f"call void @enter(i64 %blk, i64 {role}, i64 %intno, i64 0, i64 %adjust, i64 0)")
        f.do("ret void")
        f.label("crash")
        f.set_word("%blk", Word.REASON, str(int(Reason.KERNEL_TRAP)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        return (self.refine_role() if self.facts.trap_opcodes else "") + f.text()

    def _forget_exception(self, f: Function) -> None:
        """x86: the emulator thinks that an exception is being delivered, and would make the next one a double fault."""
        context = f.let(f"inttoptr i64 {f.word('%blk', Word.SPARE_CONTEXT)} to ptr")
        f.call(self.c["uc_context_save"], "i32", f"ptr %uc, ptr {context}")
        pending = f.word("%blk", Word.OLD_EXCEPTION)
        code = f.load(f.let(f"sub i64 {pending}, {ERROR_CODE_BEFORE}"), "i32")
        f.set_word("%blk", Word.TRAP_ERROR, f.let(f"zext i32 {code} to i64"))
        f.store(pending, "-1", "i32")
        f.call(self.c["uc_context_restore"], "i32", f"ptr %uc, ptr {context}")

    def refine_role(self) -> str:
        """The role that the instruction at the user's pc asks for, where the trap number does not tell."""
        f = Function("internal i64 @refine_role(ptr %uc, i64 %blk, i64 %role)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr %slot")
        pc = f.let("load i64, ptr %slot")
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', Word.USER_ROOT)}, i64 {pc})")
        f.branch(f.let(f"icmp eq i64 {entry}, 0"), "unknown", "decode")
        f.label("decode")
        at = f.let(f"or i64 {f.let(f'and i64 {entry}, -4096')}, {f.let(f'and i64 {pc}, 4095')}")
        host, last = f.word("%blk", Word.HOST), f.let(f"sub i64 {f.word('%blk', Word.PHYS_SIZE)}, 1")

        def byte(n: int) -> str:
            """The n-th byte; the last one of memory for what would lie beyond."""
            there = f.let(f"add i64 {at}, {n}")
            there = f.let(f"call i64 @llvm.umin.i64(i64 {there}, i64 {last})")
            return f.let(f"zext i8 {f.load(f.let(f'add i64 {there}, {host}'), 'i8')} to i32")

        first, second, sixth = byte(0), byte(1), byte(5)
        long_form = f.let(f"icmp eq i32 {first}, 227")
        second = f.let(f"select i1 {long_form}, i32 {sixth}, i32 {second}")
        pair = f.let(f"or i32 {f.let(f'shl i32 {first}, 8')}, {second}")
        for mask, value, role in self.facts.trap_opcodes:
            yes, no = f.name("yes"), f.name("no")
            masked = f.let(f"and i32 {pair}, {mask}")
            f.branch(f.let(f"icmp eq i32 {masked}, {value}"), yes, no)
            f.label(yes)
            f.do(f"ret i64 {int(role)}")
            f.label(no)
        f.goto("unknown")
        f.label("unknown")
        f.do("ret i64 %role")
        return f.text()

    def intr(self) -> str:
        """uc_cb_hookintr_t."""
        facts = self.facts
        f = Function("void @intr(ptr %uc, i32 %intno, i64 %blk)")
        wide = f.let("zext i32 %intno to i64")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "user", "kernel")
        f.label("kernel")
        f.branch(f.let(f"icmp eq i32 %intno, {facts.hypercall_intno}"), "hyper", "other")
        f.label("hyper")
        if not facts.syscall_pc_after:  # the emulator leaves the pc on the instruction
            self._advance_pc(f, facts.syscall_insn_size)
        f.do("call void @hypercall(ptr %uc, i64 %blk)")
        f.do("ret void")
        f.label("user")
        if facts.syscall_intno >= 0:
            f.branch(f.let(f"icmp eq i32 %intno, {facts.syscall_intno}"), "syscall", "other")
            f.label("syscall")
            adjust = 0 if facts.syscall_pc_after else facts.syscall_insn_size
            role = int(Role.SYSCALL)
            if facts.syscall_pc_after:
                f.branch(f.let("call i1 @shortcut(ptr %uc, i64 %blk, i64 0)"), "answered", "enter")
                f.label("answered")
                f.do("ret void")
                f.label("enter")
            f.do(f"call void @enter(i64 %blk, i64 {role}, i64 0, i64 0, i64 {adjust}, i64 0)")
            f.do("ret void")
        else:
            f.goto("other")
        f.label("other")
        cases = []
        for intno in facts.trap_roles:
            cases.append(f"i32 {intno}, label %role{intno}")
        f.do(f"switch i32 %intno, label %unknown [{' '.join(cases)}]")
        for intno, role in facts.trap_roles.items():
            f.label(f"role{intno}")
            adjust = facts.trap_pc_adjust.get(intno, 0)
            f.do(f"call void @trap(ptr %uc, i64 %blk, i64 {int(role)}, i64 {wide}, i64 {adjust})")
            f.do("ret void")
        f.label("unknown")
        protection = int(Role.PROTECTION)
        f.do(f"call void @trap(ptr %uc, i64 %blk, i64 {protection}, i64 {wide}, i64 {facts.invalid_pc_adjust})")
        f.do("ret void")
        return f.text()

    def _advance_pc(self, f: Function, size: int) -> None:
        slot = "%" + f.name("slot")
        f.do(f"{slot} = alloca i64")
        f.do(f"store i64 0, ptr {slot}")
        pc = self.ids[self.facts.pc]
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {pc}, ptr {slot}")
        value = f.let(f"load i64, ptr {slot}")
        f.do(f"store i64 {f.let(f'add i64 {value}, {size}')}, ptr {slot}")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {pc}, ptr {slot}")

    def invalid(self) -> str:
        """uc_cb_hookinsn_invalid_t: true means handled."""
        facts = self.facts
        f = Function("i8 @invalid(ptr %uc, i64 %blk)")
        role, adjust = int(facts.invalid_role), facts.invalid_pc_adjust
        f.do(f"call void @trap(ptr %uc, i64 %blk, i64 {role}, i64 6, i64 {adjust})")
        f.do("ret i8 1")
        return f.text()

    def insn(self) -> str:
        """uc_cb_insn_syscall_t: x86-64's syscall.  The emulator adds the instruction's length to the pc afterwards."""
        size = self.facts.syscall_insn_size
        f = Function("void @insn(ptr %uc, i64 %blk)")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "up", "crash")
        f.label("up")
        f.branch(f.let(f"call i1 @shortcut(ptr %uc, i64 %blk, i64 {size})"), "answered", "enter")
        f.label("answered")
        f.do("ret void")
        f.label("enter")
        f.do(f"call void @enter(i64 %blk, i64 {int(Role.SYSCALL)}, i64 0, i64 0, i64 {size}, i64 {-size})")
        f.do("ret void")
        f.label("crash")
        f.set_word("%blk", Word.REASON, str(int(Reason.KERNEL_TRAP)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        return f.text()

    def probe(self) -> str:
        """uc_cb_hookcode_t on one address.

        user_data: [block, PyObject *handler, ip offset, user mode wanted | AT_ENTRY, compiled handler, its data, PyObject *after,
        its flags];
        see handler.py.
        """
        facts, regs = self.facts, self.regs
        f = Function("void @probe(ptr %uc, i64 %addr, i32 %size, i64 %data)")
        f.do("%blk = add i64 0, " + f.load("%data"))
        handler = f.let(f"inttoptr i64 {f.load(f.let('add i64 %data, 8'))} to ptr")
        offset = f.load(f.let("add i64 %data, 16"))
        seen = f.let(f"add i64 %addr, {offset}")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.do("%chosen = alloca ptr")
        f.do(f"store ptr {handler}, ptr %chosen")
        size = 8 * len(regs.names)
        f.do(f"%kept = alloca [{len(regs.names)} x i64]")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        wanted = f.let(f"trunc i64 {f.load(f.let('add i64 %data, 24'))} to i1")
        f.branch(f.let(f"icmp eq i1 {user}, {wanted}"), "right_mode", "miss")
        f.label("right_mode")
        skip = f.word("%blk", Word.SKIP_PROBE)
        f.set_word("%blk", Word.SKIP_PROBE, "0")
        f.branch(f.let(f"icmp eq i64 {skip}, %addr"), "miss", "choose")
        f.label("choose")
        compiled = f.load(f.let("add i64 %data, 32"))
        own = f.load(f.let("add i64 %data, 40"))
        flags = f.load(f.let("add i64 %data, 56"))
        is_compiled = f.let(f"icmp ne i64 {compiled}, 0")
        fallback = f.let(f"icmp eq i64 {f.word('%blk', Word.FALLBACK)}, 0")
        native = f.let(f"and i1 {is_compiled}, {fallback}")
        blind = f.let(f"icmp ne i64 {f.let(f'and i64 {flags}, {NO_FRAME}')}, 0")
        f.branch(f.let(f"and i1 {native}, {blind}"), "without_frame", "build")
        f.label("without_frame")
        self._call_compiled(f, compiled, own, "0", "done", "build")
        f.label("build")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[facts.sp]}, ptr %slot")
        sp = f.let("load i64, ptr %slot")
        below = f.let(f"sub i64 {sp}, {self.layout.size + facts.probe_red_zone}")
        below = f.let(f"and i64 {below}, -16")
        top = f.word("%blk", Word.KERNEL_STACK)
        top = f.let(f"sub i64 {top}, {self.layout.size + facts.frame_reserve}")
        frame = f.let(f"select i1 {user}, i64 {top}, i64 {below}")
        direct = f.let(f"sub i64 {frame}, {f.word('%blk', Word.DIRECT)}")
        room = f.let(f"sub i64 {f.word('%blk', Word.PHYS_SIZE)}, {self.layout.size}")
        inside = f.let(f"icmp ule i64 {direct}, {room}")
        f.branch(inside, "hit", "miss")
        f.label("hit")
        host = f.let(f"add i64 {direct}, {f.word('%blk', Word.HOST)}")
        f.do(f"call void @store_frame(ptr %uc, i64 %blk, i64 {host})")
        self._fill_fields(f, host, facts.probe_fill)
        if facts.entry_fill:
            kind = f.let(f"and i64 {f.load(f.let('add i64 %data, 24'))}, {AT_ENTRY}")
            entry = f.let(f"icmp ne i64 {kind}, 0")
            for field, value in facts.entry_fill.items():
                self._put(f, host, field, f.let(f"select i1 {entry}, i64 {value}, i64 {facts.probe_fill[field]}"))
        pc_row = next(row for _, row in regs.rows if row.register == facts.pc)
        self._put(f, host, pc_row.field, seen)
        f.set_word("%blk", Word.VALUES + regs.index[facts.pc], seen)
        # Handlers and what they call in Python may copy registers themselves: keep the values of this hit.
        values_at = f.let(f"inttoptr i64 {f.word_address('%blk', Word.VALUES)} to ptr")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %kept, ptr {values_at}, i64 {size}, i1 false)")
        sighted = f.let(f"and i1 {native}, {f.let(f'xor i1 {blind}, true')}")
        f.branch(sighted, "with_frame", "python")
        f.label("with_frame")
        self._call_compiled(f, compiled, own, frame, "handled", "python")
        f.label("handled")
        read_only = f.let(f"icmp ne i64 {f.let(f'and i64 {flags}, {READ_ONLY}')}, 0")
        f.branch(read_only, "done", "loaded")
        f.label("loaded")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {values_at}, ptr %kept, i64 {size}, i1 false)")
        f.do(f"call void @load_frame(ptr %uc, i64 %blk, i64 {host})")
        f.goto("done")
        f.label("done")  # a program may have called Python
        f.do("call void @settle(i64 %blk)")
        f.do("ret void")
        f.label("python")
        handler = f.let("load ptr, ptr %chosen")
        array = "%args"
        f.do(f"{array} = alloca ptr")
        number = f.call(self.c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {frame}")
        f.do(f"store ptr {number}, ptr {array}")
        result = f.call(self.c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr {array}, i64 1, ptr null")
        f.call(self.c["Py_DecRef"], "void", f"ptr {number}")
        f.branch(f.let(f"icmp eq ptr {result}, null"), "failed", "back")
        f.label("back")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {values_at}, ptr %kept, i64 {size}, i1 false)")
        f.do("call void @settle(i64 %blk)")
        f.call(self.c["Py_DecRef"], "void", f"ptr {result}")
        f.do(f"call void @load_frame(ptr %uc, i64 %blk, i64 {host})")
        # Stopped by its handler: the instruction is not executed now, and must not be hit again later.
        stopped = f.let(f"icmp ne i64 {f.word('%blk', Word.REASON)}, 0")
        pc_now = f.word("%blk", Word.VALUES + regs.index[facts.pc])
        here = f.let(f"icmp eq i64 {pc_now}, {seen}")
        again = f.let(f"and i1 {stopped}, {here}")
        f.set_word("%blk", Word.SKIP_PROBE, f.let(f"select i1 {again}, i64 %addr, i64 0"))
        f.do("ret void")
        f.label("failed")
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        f.label("miss")
        f.do("ret void")
        return f.text()

    def probes(self) -> str:
        """uc_cb_hookcode_t on a span of addresses.  user_data: [first address, then data for probe() or 0 for each]."""
        f = Function("void @probes(ptr %uc, i64 %addr, i32 %size, i64 %table)")
        index = f.let(f"sub i64 %addr, {f.load('%table')}")
        at = f.let(f"add i64 %table, {f.let(f'shl i64 {index}, 3')}")
        data = f.load(f.let(f"add i64 {at}, 8"))
        f.branch(f.let(f"icmp eq i64 {data}, 0"), "none", "found")
        f.label("found")
        f.do(f"call void @probe(ptr %uc, i64 %addr, i32 %size, i64 {data})")
        f.goto("none")
        f.label("none")
        f.do("ret void")
        return f.text()

    def _call_compiled(self, f: Function, function: str, own: str, frame: str, done: str, python: str) -> None:
        """A compiled handler; what it leaves to Python is done by the handler or by the one for the rest."""
        answer = f.call(function, "i64", f"i64 %blk, i64 {own}, i64 {frame}")
        status = f.word("%blk", Word.NATIVE_STATUS)
        more, declined, rest = f.name("more"), f.name("declined"), f.name("rest")
        f.branch(f.let(f"icmp eq i64 {f.let(f'or i64 {answer}, {status}')}, 0"), done, more)
        f.label(more)
        f.branch(f.let(f"icmp eq i64 {status}, {int(Native.DECLINED)}"), declined, rest)
        f.label(declined)
        f.set_word("%blk", Word.NATIVE_STATUS, "0")
        f.goto(python)
        f.label(rest)
        after = f.let(f"inttoptr i64 {f.load(f.let('add i64 %data, 48'))} to ptr")
        f.do(f"store ptr {after}, ptr %chosen")
        f.goto(python)

    def run(self) -> str:
        """Emulate until a Reason.  %pc 1 marks nothing special: the current pc is read from the CPU."""
        c = self.c
        f = Function("i64 @run(i64 %blk)")
        f.do("%slot = alloca i64")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.do("call void @settle(i64 %blk)")
        f.goto("again")
        f.label("again")
        f.set_word("%blk", Word.REASON, "0")
        f.set_word("%blk", Word.FAULT_CODE, "0")
        f.set_word("%blk", Word.TRAPPED, "0")
        f.set_word("%blk", Word.KERNEL_BLOCKS, "0")
        begun = f.word("%blk", Word.WORK)
        f.do("store i64 0, ptr %slot")
        f.call(c["uc_reg_read"], "i32", f"ptr {uc}, i32 {self.ids[self.facts.pc]}, ptr %slot")
        pc = f.let("load i64, ptr %slot")
        pc = f.let(f"call i64 @start_pc(ptr {uc}, i64 {pc})")
        err = f.call(c["uc_emu_start"], "i32", f"ptr {uc}, i64 {pc}, i64 0, i64 0, i64 0")
        reason = f.word("%blk", Word.REASON)
        f.branch(f.let(f"icmp eq i64 {reason}, 0"), "no_reason", "has_reason")
        f.label("has_reason")
        f.branch(f.let(f"icmp eq i64 {reason}, {int(Reason.BUDGET)}"), "budget", "leave")
        f.label("budget")  # reached in user mode, but the block may not have begun: still user mode, or go on
        user = f.let(f"call i1 @is_user(ptr {uc}, i64 %blk)")
        f.branch(user, "leave", "again")
        f.label("leave")
        f.do(f"ret i64 {reason}")
        f.label("no_reason")
        code = f.word("%blk", Word.FAULT_CODE)
        faulted = f.let(f"icmp ne i64 {code}, 0")
        is_exception = f.let(f"icmp eq i32 {err}, {UC_ERR_EXCEPTION}")
        f.branch(f.let(f"and i1 {faulted}, {is_exception}"), "fault", "error")
        f.label("fault")
        user = f.let(f"call i1 @is_user(ptr {uc}, i64 %blk)")
        f.branch(user, "user_fault", "kernel_fault")
        f.label("user_fault")
        clean = f.let(f"and i64 {code}, 31")
        clean = f.let(f"or i64 {clean}, 4")
        address = f.word("%blk", Word.FAULT_ADDRESS)
        in_place = f.word("%blk", Word.ON_FAULT)
        f.branch(f.let(f"icmp eq i64 {in_place}, 0"), "page_fault", "in_place")
        f.label("in_place")
        done = f.let(f"call i64 @fault_in_place(i64 %blk, i64 {clean}, i64 {address})")
        f.branch(f.let(f"icmp eq i64 {done}, 0"), "page_fault", "taken")
        f.label("taken")  # Python may want to do something before user code goes on
        asked = f.word("%blk", Word.REASON)
        f.branch(f.let(f"icmp eq i64 {asked}, 0"), "again", "leave_for")
        f.label("leave_for")
        f.do(f"ret i64 {asked}")
        f.label("page_fault")
        f.do(f"call void @enter(i64 %blk, i64 {int(Role.PAGE_FAULT)}, i64 {clean}, i64 {address}, i64 0, i64 0)")
        f.goto("again")
        f.label("kernel_fault")
        f.do(f"ret i64 {int(Reason.KERNEL_FAULT)}")
        f.label("error")  # riscv64 reports ebreak as an error even when it was handled
        trapped = f.word("%blk", Word.TRAPPED)
        f.branch(f.let(f"icmp ne i64 {trapped}, 0"), "again", "halted")
        f.label("halted")  # ARM's wfi stops the emulator without a word: user code that has got on goes on behind it
        silent = f.let(f"icmp eq i32 {err}, 0")
        worked = f.let(f"icmp ne i64 {f.word('%blk', Word.WORK)}, {begun}")
        user = f.let(f"call i1 @is_user(ptr {uc}, i64 %blk)")
        waits = f.let(f"and i1 {f.let(f'and i1 {silent}, {worked}')}, {user}")
        f.branch(waits, "again", "give_up")
        f.label("give_up")
        wide = f.let(f"zext i32 {err} to i64")
        wide = f.let(f"shl i64 {wide}, 4")
        f.do(f"ret i64 {f.let(f'or i64 {wide}, {int(Reason.ERROR)}')}")
        start = Function("internal i64 @start_pc(ptr %uc, i64 %pc)")
        if self.facts.thumb_flag:
            start.do("%slot = alloca i64")
            start.do("store i64 0, ptr %slot")
            privilege = self.ids[self.facts.privilege]
            start.call(c["uc_reg_read"], "i32", f"ptr %uc, i32 {privilege}, ptr %slot")
            flag = start.let(f"and i64 {start.let('load i64, ptr %slot')}, {self.facts.thumb_flag}")
            thumb = start.let(f"icmp ne i64 {flag}, 0")
            start.do(f"ret i64 {start.let('or i64 %pc, ' + start.let(f'zext i1 {thumb} to i64'))}")
        else:
            start.do("ret i64 %pc")
        return start.text() + f.text()
