"""The functions of net/bpf/test_run.c that exist to be traced, in the kernel's text."""

from __future__ import annotations

from bpf.syscall import test_functions as functions
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import kernel_function

SOURCE = "net/bpf/test_run.c"


@kernel_function("int bpf_fentry_test1(int a)", source=SOURCE, since="5.5")
def bpf_fentry_test1(k: KernelFace, a: int) -> int:
    """a + 1."""
    return functions.bpf_fentry_test1(k.mem, a)


@kernel_function("int bpf_fentry_test2(int a, u64 b)", source=SOURCE, since="5.5")
def bpf_fentry_test2(k: KernelFace, a: int, b: int) -> int:
    """The sum."""
    return functions.add(k.mem, a, b)


@kernel_function("int bpf_fentry_test3(char a, int b, u64 c)", source=SOURCE, since="5.5")
def bpf_fentry_test3(k: KernelFace, a: int, b: int, c: int) -> int:
    """The sum."""
    return functions.add(k.mem, a, b, c)


@kernel_function("int bpf_fentry_test4(void *a, char b, int c, u64 d)", source=SOURCE, since="5.5")
def bpf_fentry_test4(k: KernelFace, a: int, b: int, c: int, d: int) -> int:
    """The sum."""
    return functions.add(k.mem, a, b, c, d)


@kernel_function("int bpf_fentry_test5(u64 a, void *b, short int c, int d, u64 e)", source=SOURCE, since="5.5")
def bpf_fentry_test5(k: KernelFace, a: int, b: int, c: int, d: int, e: int) -> int:
    """The sum."""
    return functions.add(k.mem, a, b, c, d, e)


@kernel_function("int bpf_fentry_test6(u64 a, void *b, short int c, int d, void *e, u64 f)", source=SOURCE, since="5.5")
def bpf_fentry_test6(k: KernelFace, a: int, b: int, c: int, d: int, e: int, f: int) -> int:
    """The sum."""
    return functions.add(k.mem, a, b, c, d, e, f)


@kernel_function("int bpf_fentry_test7(struct bpf_fentry_test_t *arg)", source=SOURCE, since="5.6")
def bpf_fentry_test7(k: KernelFace, arg: int) -> int:
    """The pointer as an int."""
    return functions.bpf_fentry_test7(k.mem, arg)


@kernel_function("int bpf_fentry_test8(struct bpf_fentry_test_t *arg)", source=SOURCE, since="5.6")
def bpf_fentry_test8(k: KernelFace, arg: int) -> int:
    """What the struct holds."""
    return functions.bpf_fentry_test8(k.mem, arg)


@kernel_function("int bpf_modify_return_test(int a, int *b)", source=SOURCE, since="5.7")
def bpf_modify_return_test(k: KernelFace, a: int, b: int) -> int:
    """a + ++*b."""
    return functions.bpf_modify_return_test(k.mem, a, b)
