"""Compile a few lines of BPF C with ziglang (or skip the test)."""

import subprocess
import sys

import pytest

PRELUDE = """
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef int s32; typedef long long s64;
#define SEC(name) __attribute__((section(name), used))
#define NULL ((void *)0)
#define __weak __attribute__((weak))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define relocatable __attribute__((preserve_access_index))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
static long (*const probe_read_kernel)(void *, u32, const void *) = (void *)113;
static void *(*const map_lookup)(void *, const void *) = (void *)1;
#define field_info(field, kind) __builtin_preserve_field_info(field, kind)
char LICENSE[] SEC("license") = "GPL";
"""


def bpf_object(tmp_path, text, byteorder="little", name="test", flags=()):
    pytest.importorskip("ziglang")
    source, out = tmp_path / f"{name}.bpf.c", tmp_path / f"{name}.bpf.o"
    source.write_text(PRELUDE + text)
    target = "bpfel-freestanding" if byteorder == "little" else "bpfeb-freestanding"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-O2", "-g", "-mcpu=v1", *flags, "-c", str(source),
               "-o", str(out)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()
