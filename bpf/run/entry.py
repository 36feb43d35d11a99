"""The way into a compiled program, for native callers and for Python, as text for LLVM."""

from __future__ import annotations

from arch.native import Block, Native, Word
from arch.native.ir import Function
from bpf.isa.registers import BUDGET, BUDGET_AT
from bpf.run.llvm_lines import OK, WORDS


def program_text(start: int, block: Block, data: int) -> str:
    """`code(block, data, ctx)`, which runs the program from its first function on, and `py_code(ctx, fp)` for Python.

    In `data` lie where the stack ends and, after a run that did not end well, its status; while a native caller's run is on
    its way its context and 1.  Python gets R0, or minus the status.
    """
    f = Function("i64 @start(i64 %ctx, i64 %fp) noinline")
    f.do(f"%state = alloca [{WORDS} x i64]")
    f.do(f"call void @llvm.memset.p0.i64(ptr %state, i8 0, i64 {8 * WORDS}, i1 false)")
    f.do(f"store i64 {BUDGET}, ptr {f.let(f'getelementptr i64, ptr %state, i64 {BUDGET_AT}')}")
    status = f.let(f"call i32 @f{start}(ptr %state, i64 %ctx, i64 0, i64 0, i64 0, i64 0, i64 %fp)")
    f.branch(f.let(f"icmp eq i32 {status}, {OK}"), "good", "bad")
    f.label("good")
    f.do(f"ret i64 {f.let('load i64, ptr %state')}")
    f.label("bad")
    f.store(str(data + 8), f.let(f"zext i32 {status} to i64"))
    f.store(str(block.address + 8 * Word.NATIVE_STATUS), str(int(Native.RAISED)))
    f.do("ret i64 0")
    code = Function("i64 @code(i64 %blk, i64 %data, i64 %ctx)")
    code.store(str(data + 16), "%ctx")
    code.store(str(data + 24), "1")
    answer = code.let(f"call i64 @start(i64 %ctx, i64 {code.load(str(data))})")
    code.store(str(data + 24), "0")
    code.do(f"ret i64 {answer}")
    py = Function("ptr @py_code(ptr %self, ptr %args, i64 %count)")
    values = []
    for i in range(2):
        item = py.let(f"load ptr, ptr {py.let(f'getelementptr ptr, ptr %args, i64 {i}')}")
        values.append(py.let(f"call i64 @PyLong_AsUnsignedLongLongMask(ptr {item})"))
    result = py.let(f"call i64 @start(i64 {values[0]}, i64 {values[1]})")
    failed = py.let(f"icmp ne i64 {py.load(str(block.address + 8 * Word.NATIVE_STATUS))}, 0")
    py.branch(failed, "failed", "good")
    py.label("good")
    py.do(f"ret ptr {py.let(f'call ptr @PyLong_FromUnsignedLongLong(i64 {result})')}")
    py.label("failed")
    py.store(str(block.address + 8 * Word.NATIVE_STATUS), "0")
    negative = py.let(f"sub i64 0, {py.load(str(data + 8))}")
    py.do(f"ret ptr {py.let(f'call ptr @PyLong_FromLongLong(i64 {negative})')}")
    return f.text() + code.text() + py.text()
