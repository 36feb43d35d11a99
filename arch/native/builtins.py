"""Functions that Python calls often, as builtins made of compiled code: 30 ns a call instead of ctypes' 350."""

from __future__ import annotations

import ctypes

from arch.native.block import Word
from arch.native.ir import Function, Writer

# (name, arguments after the block, returns a number)
BUILTINS = (
    ("switch_stack", 1, True),
    ("read_register", 1, True),
    ("write_register", 2, False),
    ("save", 1, False),
    ("restore", 1, False),
    ("fetch", 1, False),
    ("load", 1, False),
)

METH_FASTCALL = 0x0080


class MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    )


class BuiltinWriter(Writer):
    """Registers, contexts and stacks for Python."""

    def fetch(self) -> str:
        """Registers into the struct pt_regs at host address %frame."""
        f = Function("void @fetch(i64 %blk, i64 %frame)")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.do(f"call void @store_frame(ptr {uc}, i64 %blk, i64 %frame)")
        f.do("ret void")
        return f.text()

    def load(self) -> str:
        """Registers from the struct pt_regs at host address %frame; clobbers nothing else."""
        f = Function("void @load(i64 %blk, i64 %frame)")
        f.do(f"%uc = inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        ids = f.word("%blk", Word.READ_IDS)
        ptrs = f.word("%blk", Word.READ_PTRS)
        self.read_registers(f, self.regs.names, Word.VALUES, ids, ptrs)
        f.do("call void @load_frame(ptr %uc, i64 %blk, i64 %frame)")
        f.do("ret void")
        return f.text()

    def restore(self) -> str:
        """Another task's context, without the registers that the kernel is using."""
        f = Function("void @restore(i64 %blk, i64 %context)")
        f.do(f"%uc = inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        ids, ptrs = f.word("%blk", Word.BACK_IDS), f.word("%blk", Word.BACK_PTRS)
        self.read_registers(f, self.regs.back, Word.SCRATCH, ids, ptrs)
        f.call(self.c["uc_context_restore"], "i32", "ptr %uc, i64 %context")
        self.write_registers(f, self.regs.back, Word.SCRATCH, ids, ptrs)
        f.do("ret void")
        return f.text()

    def save(self) -> str:
        """The whole CPU into a context."""
        f = Function("void @save(i64 %blk, i64 %context)")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.call(self.c["uc_context_save"], "i32", f"ptr {uc}, i64 %context")
        f.do("ret void")
        return f.text()

    def read_register(self) -> str:
        f = Function("i64 @read_register(i64 %blk, i64 %number)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        number = f.let("trunc i64 %number to i32")
        f.call(self.c["uc_reg_read"], "i32", f"ptr {uc}, i32 {number}, ptr %slot")
        f.do(f"ret i64 {f.let('load i64, ptr %slot')}")
        return f.text()

    def write_register(self) -> str:
        f = Function("void @write_register(i64 %blk, i64 %number, i64 %value)")
        f.do("%slot = alloca i64")
        f.do("store i64 %value, ptr %slot")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        number = f.let("trunc i64 %number to i32")
        f.call(self.c["uc_reg_write"], "i32", f"ptr {uc}, i32 {number}, ptr %slot")
        f.do("ret void")
        return f.text()

    def switch_stack(self) -> str:
        """Exchange the stack pointer."""
        sp = self.ids[self.facts.sp]
        f = Function("i64 @switch_stack(i64 %blk, i64 %value)")
        old = f.let(f"call i64 @read_register(i64 %blk, i64 {sp})")
        f.do(f"call void @write_register(i64 %blk, i64 {sp}, i64 %value)")
        f.do(f"ret i64 {old}")
        return f.text()

    def builtin(self, name: str, arguments: int, result: bool) -> str:
        """A METH_FASTCALL function around another one; `self` is an int, the block's address.  No checks: for us."""
        mask = self.c["PyLong_AsUnsignedLongLongMask"]
        f = Function(f"ptr @py_{name}(ptr %self, ptr %args, i64 %count)")
        values = [f.call(mask, "i64", "ptr %self")]
        for i in range(arguments):
            item = f.let(f"load ptr, ptr {f.let(f'getelementptr ptr, ptr %args, i64 {i}')}")
            values.append(f.call(mask, "i64", f"ptr {item}"))
        inner = ", ".join(f"i64 {value}" for value in values)
        if result:
            value = f.let(f"call i64 @{name}({inner})")
            f.do(f"ret ptr {f.call(self.c['PyLong_FromUnsignedLongLong'], 'ptr', f'i64 {value}')}")
        else:
            f.do(f"call void @{name}({inner})")
            none = f.let(f"inttoptr i64 {self.c['_Py_NoneStruct']} to ptr")
            f.call(self.c["Py_IncRef"], "void", f"ptr {none}")
            f.do(f"ret ptr {none}")
        return f.text()
