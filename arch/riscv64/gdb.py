"""gdb/features/riscv/64bit-cpu.xml."""

from arch.gdb import Feature, Gdb, Register, same, unseen

GDB = Gdb(
    "riscv:rv64",
    (
        Feature(
            "org.gnu.gdb.riscv.cpu",
            (
                *unseen("zero", 64),
                Register("ra", "ra", 64, "code_ptr"),
                *same("sp gp tp", 64, "data_ptr"),
                *same("t0 t1 t2", 64),
                Register("fp", "s0", 64, "data_ptr"),
                *same("s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6", 64),
                Register("pc", "pc", 64, "code_ptr"),
            ),
        ),
    ),
)
