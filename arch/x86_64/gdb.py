"""gdb/features/i386/64bit-core.xml: floating-point registers are in the feature, but not shown."""

from arch.gdb import Feature, Gdb, Register, same, unseen

GDB = Gdb(
    "i386:x86-64",
    (
        Feature(
            "org.gnu.gdb.i386.core",
            (
                *same("rax rbx rcx rdx rsi rdi", 64, "int64"),
                *same("rbp rsp", 64, "data_ptr"),
                *same("r8 r9 r10 r11 r12 r13 r14 r15", 64, "int64"),
                Register("rip", "rip", 64, "code_ptr"),
                Register("eflags", "eflags", 32, "int32"),
                *unseen("cs ss ds es fs gs", 32, "int32"),
                *unseen("st0 st1 st2 st3 st4 st5 st6 st7", 80, "i387_ext"),
                *unseen("fctrl fstat ftag fiseg fioff foseg fooff fop", 32, "int"),
            ),
        ),
    ),
)
