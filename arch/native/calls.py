"""Hypercalls: kernel text calls Python, and what Python answers becomes registers."""

from __future__ import annotations

from collections.abc import Sequence

from arch.native.block import HYPERCALL_RESUME, HYPERCALL_SWITCH, Reason, Word
from arch.native.ir import Function, Writer


class CallWriter(Writer):
    """hypercall, python_result."""

    def python_result(self) -> str:
        """Act on what a handler returned: an int (result, target 0) or a tuple (target, arguments...).

        Takes over the reference.  NULL: an exception; stop the emulation.
        """
        facts = self.facts
        c = self.c
        mask = c["PyLong_AsUnsignedLongLongMask"]
        f = Function("internal void @python_result(ptr %uc, i64 %blk, ptr %object)")
        f.do("%slot = alloca i64")
        f.branch(f.let("icmp eq ptr %object, null"), "failed", "typed")
        f.label("typed")
        type_at = f.let("getelementptr i8, ptr %object, i64 8")  # PyObject.ob_type
        kind = f.let(f"load i64, ptr {type_at}")
        f.branch(f.let(f"icmp eq i64 {kind}, {c['PyTuple_Type']}"), "call", "result")
        f.label("call")
        size = f.call(c["PyTuple_Size"], "i64", "ptr %object")
        registers = (facts.target_register, *facts.argument_registers)
        for i, name in enumerate(registers):
            here, after = f.name("item"), f.name("next")
            f.branch(f.let(f"icmp sgt i64 {size}, {i}"), here, "release")
            f.label(here)
            item = f.call(c["PyTuple_GetItem"], "ptr", f"ptr %object, i64 {i}")
            value = f.call(mask, "i64", f"ptr {item}")
            self.write_register_from(f, name, value, "%slot")
            f.goto(after)
            f.label(after)
        if facts.outgoing_slots:
            self._stack_arguments(f, size, len(registers))
        f.goto("release")
        f.label("result")
        value = f.call(mask, "i64", "ptr %object")
        self.write_register_from(f, facts.result_register, value, "%slot")
        self.write_register_from(f, facts.target_register, "0", "%slot")
        f.goto("release")
        f.label("release")
        f.do("call void @settle(i64 %blk)")
        f.call(c["Py_DecRef"], "void", "ptr %object")
        error = f.call(c["PyErr_Occurred"], "i64", "")
        f.branch(f.let(f"icmp eq i64 {error}, 0"), "done", "failed")
        f.label("failed")
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.call(c["uc_emu_stop"], "i32", "ptr %uc")
        f.goto("done")
        f.label("done")
        f.do("ret void")
        return f.text()

    def _stack_arguments(self, f: Function, size: str, first: int) -> None:
        """Arguments beyond the registers go to the frame's outgoing slots; a stack pointer that a broken program left
        outside the direct map is a fault in kernel mode.
        """
        f.branch(f.let(f"icmp sgt i64 {size}, {first}"), "stacked", "release")
        f.label("stacked")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[self.facts.sp]}, ptr %slot")
        sp = f.let("load i64, ptr %slot")
        at = f.let(f"sub i64 {sp}, {f.word('%blk', Word.DIRECT)}")
        at = f.let(f"add i64 {at}, {self.facts.outgoing_offset}")
        room = f.let(f"sub i64 {f.word('%blk', Word.PHYS_SIZE)}, {self.facts.outgoing_slots * self.word}")
        f.branch(f.let(f"icmp ule i64 {at}, {room}"), "on_stack", "no_stack")
        f.label("no_stack")
        f.set_word("%blk", Word.FAULT_ADDRESS, sp)
        f.set_word("%blk", Word.REASON, str(int(Reason.KERNEL_FAULT)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.goto("release")
        f.label("on_stack")
        at = f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")
        for i in range(self.facts.outgoing_slots):
            here, after = f.name("stack"), f.name("next")
            f.branch(f.let(f"icmp sgt i64 {size}, {first + i}"), here, "release")
            f.label(here)
            item = f.call(self.c["PyTuple_GetItem"], "ptr", f"ptr %object, i64 {first + i}")
            value = f.call(self.c["PyLong_AsUnsignedLongLongMask"], "i64", f"ptr {item}")
            stored, kind = self._swap(f, value, self.word)
            f.store(f.let(f"add i64 {at}, {i * self.word}"), stored, kind)
            f.goto(after)
            f.label(after)

    def _call_python(self, f: Function, word: Word, values: Sequence[str]) -> str:
        """handler(*values) by PyObject_Vectorcall; returns the result pointer (may be NULL)."""
        c = self.c
        handler = f.let(f"inttoptr i64 {f.word('%blk', word)} to ptr")
        array = "%" + f.name("args")
        f.do(f"{array} = alloca [{max(len(values), 1)} x ptr]")
        objects = []
        for i, value in enumerate(values):
            item = f.call(c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {value}")
            at = f.let(f"getelementptr ptr, ptr {array}, i64 {i}")
            f.do(f"store ptr {item}, ptr {at}")
            objects.append(item)
        result = f.call(c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr {array}, i64 {len(values)}, ptr null")
        for item in objects:
            f.call(c["Py_DecRef"], "void", f"ptr {item}")
        return result

    def _call_with(self, f: Function, target: str, arity: str, values: Sequence[str]) -> str:
        """target(first `arity` of the values)."""
        c = self.c
        f.do(f"%array = alloca [{len(values)} x ptr]")
        for i, value in enumerate(values):
            here = f.name("argument")
            f.branch(f.let(f"icmp ugt i64 {arity}, {i}"), here, "call_it")
            f.label(here)
            item = f.call(c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {value}")
            f.do(f"store ptr {item}, ptr {f.let(f'getelementptr ptr, ptr %array, i64 {i}')}")
        f.goto("call_it")
        f.label("call_it")
        handler = f.let(f"inttoptr i64 {target} to ptr")
        result = f.call(c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr %array, i64 {arity}, ptr null")
        for i in range(len(values)):
            here = f.name("release")
            f.branch(f.let(f"icmp ugt i64 {arity}, {i}"), here, "released")
            f.label(here)
            item = f.let(f"load ptr, ptr {f.let(f'getelementptr ptr, ptr %array, i64 {i}')}")
            f.call(c["Py_DecRef"], "void", f"ptr {item}")
        f.goto("released")
        f.label("released")
        return result

    def fault_in_place(self) -> str:
        """Mend, or ask Python to mend, a page fault of user mode, whose kernel text has not run: not 0 when that is done, or has raised."""
        f = Function("internal i64 @fault_in_place(i64 %blk, i64 %code, i64 %address)")
        fast = f.word("%blk", Word.FAST_FAULT)
        f.branch(f.let(f"icmp eq i64 {fast}, 0"), "python", "native")
        f.label("native")
        f.call(fast, "i64", f"i64 %blk, i64 {f.word('%blk', Word.FAST_FAULT_DATA)}, i64 %code, i64 %address")
        status = f.word("%blk", Word.NATIVE_STATUS)
        f.branch(f.let(f"icmp eq i64 {status}, 0"), "mended", "declined")
        f.label("mended")
        f.do("ret i64 1")
        f.label("declined")
        f.set_word("%blk", Word.NATIVE_STATUS, "0")
        f.goto("python")
        f.label("python")
        result = self._call_python(f, Word.ON_FAULT, ["%code", "%address"])
        f.branch(f.let(f"icmp eq ptr {result}, null"), "raised", "answered")
        f.label("raised")
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.do("ret i64 1")
        f.label("answered")
        done = f.call(self.c["PyLong_AsUnsignedLongLongMask"], "i64", f"ptr {result}")
        f.call(self.c["Py_DecRef"], "void", f"ptr {result}")
        f.do("call void @settle(i64 %blk)")
        f.do(f"ret i64 {done}")
        return f.text()

    def _clear_frame(self, f: Function) -> None:
        """A function begins: what nobody writes of its frame holds nothing of before, whoever looks there."""
        spans = ((self.facts.outgoing_offset, self.facts.outgoing_slots * self.word), self.facts.spare)
        places = [(start + at, min(8, size - at)) for start, size in spans for at in range(0, size, 8)]
        end = max(start + size for start, size in spans)
        f.do("%sp = alloca i64")
        f.do("store i64 0, ptr %sp")
        self.read_register_into(f, self.facts.sp, "%sp")
        at = f.let(f"sub i64 {f.let('load i64, ptr %sp')}, {f.word('%blk', Word.DIRECT)}")
        room = f.let(f"sub i64 {f.word('%blk', Word.PHYS_SIZE)}, {end}")
        f.branch(f.let(f"icmp ule i64 {at}, {room}"), "clear", "cleared")
        f.label("clear")
        at = f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")
        for offset, size in places:
            f.store(f.let(f"add i64 {at}, {offset}"), "0", f"i{8 * size}")
        f.goto("cleared")
        f.label("cleared")

    def hypercall(self) -> str:
        """Kernel text asks Python."""
        regs = self.regs
        f = Function("internal void @hypercall(ptr %uc, i64 %blk)")
        ids = f.word("%blk", Word.HYPER_IDS)
        ptrs = f.word("%blk", Word.HYPER_PTRS)
        self.read_registers(f, regs.hyper[:2], Word.VALUES, ids, ptrs)
        code = f.word("%blk", Word.VALUES)
        code = f.let(f"trunc i64 {code} to i32")
        f.do(f"switch i32 {code}, label %function [i32 {HYPERCALL_RESUME}, label %resume "
             f"i32 {HYPERCALL_SWITCH}, label %switch]")  # fmt: skip
        f.label("function")
        count = len(regs.hyper) - 2
        rest_ids, rest_ptrs = f.let(f"add i64 {ids}, 8"), f.let(f"add i64 {ptrs}, 16")
        self.read_registers(f, regs.hyper[2:], Word.VALUES + 2, rest_ids, rest_ptrs)
        self._clear_frame(f)
        wide = f.let(f"zext i32 {code} to i64")
        args = [f.word("%blk", Word.VALUES + 2 + i) for i in range(count)]
        known = f.let(f"icmp ult i64 {wide}, {f.word('%blk', Word.ENTER_SIZE)}")
        f.branch(known, "in_table", "general")
        f.label("in_table")
        slot = f.let(f"add i64 {f.word('%blk', Word.ENTER_TABLE)}, {f.let(f'shl i64 {wide}, 4')}")
        target = f.load(slot)
        f.branch(f.let(f"icmp ne i64 {target}, 0"), "direct", "general")
        f.label("direct")
        arity = f.load(f.let(f"add i64 {slot}, 8"))
        result = self._call_with(f, target, arity, args)
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        f.label("general")
        result = self._call_python(f, Word.ON_ENTER, [wide, *args])
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        f.label("resume")
        result = self._call_python(f, Word.ON_RESUME, [f.word("%blk", Word.VALUES + 1)])
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        f.label("switch")
        result = self._call_python(f, Word.ON_SWITCH, [])
        f.branch(f.let(f"icmp eq ptr {result}, null"), "failed", "release")
        f.label("release")
        f.do("call void @settle(i64 %blk)")
        f.call(self.c["Py_DecRef"], "void", f"ptr {result}")
        f.do("ret void")
        f.label("failed")
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        return f.text()
