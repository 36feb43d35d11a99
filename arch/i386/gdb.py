"""gdb/features/i386/32bit-core.xml: floating-point registers are in the feature, but not shown."""

from arch.gdb import Feature, Gdb, Register, same, unseen

GDB = Gdb(
    "i386",
    (
        Feature(
            "org.gnu.gdb.i386.core",
            (
                *same("eax ecx edx ebx", 32, "int32"),
                *same("esp ebp", 32, "data_ptr"),
                *same("esi edi", 32, "int32"),
                Register("eip", "eip", 32, "code_ptr"),
                Register("eflags", "eflags", 32, "int32"),
                *unseen("cs ss ds es fs gs", 32, "int32"),
                *unseen("st0 st1 st2 st3 st4 st5 st6 st7", 80, "i387_ext"),
                *unseen("fctrl fstat ftag fiseg fioff foseg fooff fop", 32, "int"),
            ),
        ),
    ),
)
