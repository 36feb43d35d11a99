"""gdb/features/arm/arm-core.xml."""

from arch.gdb import Feature, Gdb, Register, same

GDB = Gdb(
    "arm",
    (
        Feature(
            "org.gnu.gdb.arm.core",
            (
                *same(" ".join(f"r{n}" for n in range(11)), 32, "uint32"),
                Register("r11", "fp", 32, "uint32"),
                Register("r12", "ip", 32, "uint32"),
                Register("sp", "sp", 32, "data_ptr"),
                Register("lr", "lr", 32),
                Register("pc", "pc", 32, "code_ptr"),
                Register("cpsr", "cpsr", 32),
            ),
        ),
    ),
)
