"""struct pt_regs: from the CPU, to the CPU, and the way up into the kernel."""

from __future__ import annotations

from arch.native.block import Role, Word
from arch.native.ir import Function, Writer


class FrameWriter(Writer):
    """store_frame, load_frame, enter."""

    def store_frame(self) -> str:
        """Read all registers in one batch and lay them out as struct pt_regs at host address %frame."""
        f = Function("internal void @store_frame(ptr %uc, i64 %blk, i64 %frame)")
        ids = f.word("%blk", Word.READ_IDS)
        ptrs = f.word("%blk", Word.READ_PTRS)
        self.read_registers(f, self.regs.names, Word.VALUES, ids, ptrs)
        for index, row in self.regs.rows:
            value, kind = self._swap(f, f.word("%blk", Word.VALUES + index), row.size)
            f.store(f.let(f"add i64 %frame, {row.offset}"), value, kind)
        f.do("ret void")
        return f.text()

    def load_frame(self) -> str:
        """Write to the CPU whichever register differs between the frame and the values last read."""
        f = Function("internal void @load_frame(ptr %uc, i64 %blk, i64 %frame)")
        f.do("%count = alloca i64")
        f.do("store i64 0, ptr %count")
        f.do("%jump = alloca i1")
        f.do("store i1 0, ptr %jump")
        ids = f.word("%blk", Word.WRITE_IDS)
        ptrs = f.word("%blk", Word.WRITE_PTRS)
        pc_slot = f.word_address("%blk", Word.VALUES + self.regs.index[self.facts.pc])
        for index, row in self.regs.writable:
            old = f.word("%blk", Word.VALUES + index)
            if row.size != 8:
                old = f.let(f"and i64 {old}, {(1 << (8 * row.size)) - 1}")
            new = self._unswap(f, f.load(f.let(f"add i64 %frame, {row.offset}"), f"i{8 * row.size}"), row.size)
            changed, same = f.name("changed"), f.name("same")
            different = f.let(f"icmp ne i64 {old}, {new}")
            if row.register == self.facts.pc:
                f.do(f"store i1 {different}, ptr %jump")
            f.branch(different, changed, same)
            f.label(changed)
            slot = f.word_address("%blk", Word.VALUES + index)
            f.store(slot, new)
            if row.register != self.facts.pc:
                count = f.let("load i64, ptr %count")
                at = f.let(f"add i64 {ids}, {f.let(f'shl i64 {count}, 2')}")
                f.store(at, str(self.ids[str(row.register)]), "i32")
                f.store(f.let(f"add i64 {ptrs}, {f.let(f'shl i64 {count}, 3')}"), slot)
                f.do(f"store i64 {f.let(f'add i64 {count}, 1')}, ptr %count")
            f.goto(same)
            f.label(same)
        count = f.let("load i64, ptr %count")
        f.branch(f.let(f"icmp eq i64 {count}, 0"), "written", "write")
        f.label("write")
        count32 = f.let(f"trunc i64 {count} to i32")
        f.call(self.c["uc_reg_write_batch"], "i32", f"ptr %uc, i64 {ids}, i64 {ptrs}, i32 {count32}")
        f.goto("written")
        f.label("written")
        f.branch(f.let("load i1, ptr %jump"), "jump_now", "done")
        f.label("jump_now")  # only uc_reg_write() keeps the emulator from restoring the pc of the probed instruction
        pc_ptr = f.let(f"inttoptr i64 {pc_slot} to ptr")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr {pc_ptr}")
        f.goto("done")
        f.label("done")
        f.do("ret void")
        return f.text()

    def show_user(self) -> str:
        """struct pt_regs of a system call, where enter() puts it."""
        facts = self.facts
        f = Function("internal void @show_user(ptr %uc, i64 %blk, i64 %adjust)")
        frame = f.let(f"sub i64 {f.word('%blk', Word.KERNEL_STACK)}, {self.layout.size + facts.frame_reserve}")
        host = f.let(f"sub i64 {frame}, {f.word('%blk', Word.DIRECT)}")
        host = f.let(f"add i64 {host}, {f.word('%blk', Word.HOST)}")
        f.do(f"call void @store_frame(ptr %uc, i64 %blk, i64 {host})")
        self._finish_user_frame(f, host)
        self._fill_fields(f, host, facts.syscall_fill)
        f.do("ret void")
        return f.text()

    def _finish_user_frame(self, f: Function, host: str) -> str:
        """The user's pc as it goes on, and flags without what the emulator adds; the pc."""
        facts, regs = self.facts, self.regs
        pc_row = next(row for _, row in regs.rows if row.register == facts.pc)
        pc = f.word("%blk", Word.VALUES + regs.index[facts.pc])
        pc = f.let(f"add i64 {pc}, %adjust")
        self._put(f, host, pc_row.field, pc)
        f.set_word("%blk", Word.VALUES + regs.index[facts.pc], pc)
        if facts.user_flag is not None:
            register, mask = facts.user_flag
            row = next(row for _, row in regs.rows if row.register == register)
            value = f.let(f"and i64 {f.word('%blk', Word.VALUES + regs.index[register])}, {~mask}")
            self._put(f, host, row.field, value)
        return pc

    def enter(self) -> str:
        """From user mode to the entry stub of %role, with pt_regs and up to two more arguments.

        %adjust is added to the user's pc; %bias to the pc that is written (x86 `syscall` adds its length later).
        """
        facts, regs = self.facts, self.regs
        f = Function("void @enter(i64 %blk, i64 %role, i64 %arg1, i64 %arg2, i64 %adjust, i64 %bias)")
        f.do("%number = alloca i64")
        f.do("store i64 %arg1, ptr %number")
        f.do(f"%uc = inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        top = f.word("%blk", Word.KERNEL_STACK)
        frame = f.let(f"sub i64 {top}, {self.layout.size + facts.frame_reserve}")
        host = f.let(f"sub i64 {frame}, {f.word('%blk', Word.DIRECT)}")
        host = f.let(f"add i64 {host}, {f.word('%blk', Word.HOST)}")
        f.do(f"call void @store_frame(ptr %uc, i64 %blk, i64 {host})")
        pc = self._finish_user_frame(f, host)
        f.branch(f.let(f"icmp eq i64 %role, {int(Role.SYSCALL)}"), "syscall", "trap")
        f.label("syscall")
        self._fill_fields(f, host, facts.syscall_fill)
        if facts.svc_number_in_insn:
            self._svc_number(f, host, pc)
        else:
            f.do(f"store i64 {f.word('%blk', Word.VALUES + regs.index[facts.syscall_number_register])}, ptr %number")
        f.goto("up")
        f.label("trap")
        self._fill_fields(f, host, facts.trap_fill)
        f.goto("up")
        f.label("up")
        if facts.user_context:
            context = f.let(f"inttoptr i64 {f.word('%blk', Word.CONTEXT)} to ptr")
            f.call(self.c["uc_context_restore"], "i32", f"ptr %uc, ptr {context}")
        arg1 = f.let("load i64, ptr %number")
        entry = f.load(f.let(f"add i64 {f.let('shl i64 %role, 3')}, {f.word_address('%blk', Word.ENTRY)}"))
        entry = f.let(f"add i64 {entry}, %bias")
        values: list[str] = [str(value) for _, value in facts.up_constants]
        values += [f.word("%blk", Word.VALUES + regs.index[source]) for _, source in facts.up_syncs]
        values += [f.word("%blk", Word.VALUES + regs.index[name]) for name in facts.keep]
        sp = f.let(f"add i64 {frame}, {facts.up_sp_offset}")
        values += [sp, frame, arg1, "%arg2", entry]
        for i, value in enumerate(values):
            f.set_word("%blk", Word.SCRATCH + i, value)
        ids = f.word("%blk", Word.UP_IDS)
        ptrs = f.word("%blk", Word.UP_PTRS)
        self.write_registers(f, regs.up, Word.SCRATCH, ids, ptrs)
        f.do("ret void")
        return f.text()

    def _svc_number(self, f: Function, host: str, pc: str) -> None:
        """s390x: the number is the byte before the return address, or register 1 when that is 0."""
        at = f.let(f"sub i64 {pc}, 1")
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', Word.USER_ROOT)}, i64 {at})")
        at = f.let(f"or i64 {f.let(f'and i64 {entry}, -4096')}, {f.let(f'and i64 {at}, 4095')}")
        at = f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")
        number = f.let(f"zext i8 {f.load(at, 'i8')} to i64")
        in_register = f.word("%blk", Word.VALUES + self.regs.index[self.facts.syscall_number_register])
        in_register = f.let(f"and i64 {in_register}, 65535")
        zero = f.let(f"icmp eq i64 {number}, 0")
        number = f.let(f"select i1 {zero}, i64 {in_register}, i64 {number}")
        f.do(f"store i64 {number}, ptr %number")
        self._put(f, host, "int_code", f.let(f"or i64 {number}, {2 << 16}"))
