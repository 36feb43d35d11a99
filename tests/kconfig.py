"""Options that tests have kernels built with beyond Debian's."""

# Programs that are compiled, and types: Debian's 6.1 has neither on s390x, other distributions' kernels do.
TYPED = ("BPF_JIT", "DEBUG_INFO_BTF")


def typed(arch: str) -> tuple[str, ...]:
    """For programs that name the kernel's types, on that CPU."""
    return TYPED if arch == "s390x" else ()
