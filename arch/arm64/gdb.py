"""gdb/features/aarch64-core.xml."""

from arch.gdb import Feature, Gdb, Register, same

GDB = Gdb(
    "aarch64",
    (
        Feature(
            "org.gnu.gdb.aarch64.core",
            (
                *same(" ".join(f"x{n}" for n in range(31)), 64),
                Register("sp", "sp", 64, "data_ptr"),
                Register("pc", "pc", 64, "code_ptr"),
                Register("cpsr", "pstate", 32),
            ),
        ),
    ),
)
