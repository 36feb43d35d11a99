"""gdb/features/s390-core64.xml, s390-acr.xml, s390-fpr.xml: access and floating-point registers are not shown."""

from arch.gdb import Feature, Gdb, Register, same, unseen

GDB = Gdb(
    "s390:64-bit",
    (
        Feature(
            "org.gnu.gdb.s390.core",
            (
                Register("pswm", "pswm", 64, "uint64"),
                Register("pswa", "pc", 64, "uint64"),
                *same(" ".join(f"r{n}" for n in range(16)), 64, "uint64"),
            ),
        ),
        Feature("org.gnu.gdb.s390.acr", unseen(" ".join(f"acr{n}" for n in range(16)), 32, "uint32")),
        Feature(
            "org.gnu.gdb.s390.fpr",
            (*unseen("fpc", 32, "uint32"), *unseen(" ".join(f"f{n}" for n in range(16)), 64, "ieee_double")),
        ),
    ),
)
