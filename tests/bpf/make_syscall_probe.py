"""Writes syscall_probe.c from syscall_rows.py: `python tests/bpf/make_syscall_probe.py > syscall_probe.c`.

The C program makes the maps and programs the rows name, makes every call, and prints `result name` per row, where the
result is 0 (or a descriptor, printed as `fd`) or the negative errno.  What Linux 6.1 printed is syscall_6_1.txt.
"""

from __future__ import annotations

from syscall_rows import ROWS, SYMBOLS, build

from bpf.syscall.attr import LAYOUTS

HEAD = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t symbols[64];
static unsigned char attr[4608] __attribute__((aligned(8)));

static long bpf(int cmd, void *a, unsigned size) { long r = syscall(SYS_bpf, cmd, a, size); return r < 0 ? -errno : r; }

static int map(int type, int key, int value, int entries, int flags, int inner)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.map_type = type; a.key_size = key; a.value_size = value; a.max_entries = entries; a.map_flags = flags;
	a.inner_map_fd = inner;
	return bpf(BPF_MAP_CREATE, &a, sizeof(a));
}

static uint64_t insns[] = { 0x00000000000000b7, 0x0000000000000095 };
static uint64_t endless[] = { 0x00000000ffff0005 };

static int prog(int type)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.prog_type = type; a.insns = (uintptr_t)insns; a.insn_cnt = 2; a.license = (uintptr_t)"GPL";
	return bpf(BPF_PROG_LOAD, &a, sizeof(a));
}

static uint64_t keys[3] = { 0, 1, 2 }, value = 7;
static unsigned char out[4096], big[4096], packet[64];
static int array_fd, filter_fd, two = 2;

static void setup(void)
{
	union bpf_attr a;
	int n = 0, frozen;

	memset(big, 0xff, sizeof(big));
	symbols[n++] = 999;
	symbols[n++] = open("/dev/null", O_RDWR);
	symbols[n++] = array_fd = map(2, 4, 8, 2, 0, 0);
	symbols[n++] = map(1, 8, 8, 2, 0, 0);
	symbols[n++] = map(22, 0, 8, 2, 0, 0);
	symbols[n++] = map(23, 0, 8, 2, 0, 0);
	symbols[n++] = map(30, 0, 8, 2, 0, 0);
	symbols[n++] = map(11, 8, 8, 2, 1, 0);
	symbols[n++] = map(27, 0, 0, 4096, 0, 0);
	symbols[n++] = map(6, 4, 8, 2, 0, 0);
	symbols[n++] = map(9, 4, 8, 2, 0, 0);
	symbols[n++] = map(3, 4, 4, 2, 0, 0);
	symbols[n++] = map(4, 4, 4, 2, 0, 0);
	symbols[n++] = map(7, 4, 16, 2, 0, 0);
	symbols[n++] = map(12, 4, 4, 2, 0, array_fd);
	symbols[n++] = frozen = map(2, 4, 8, 2, 0, 0);
	symbols[n++] = map(2, 4, 8, 2, BPF_F_RDONLY, 0);
	symbols[n++] = map(2, 4, 8, 2, BPF_F_WRONLY, 0);
	symbols[n++] = filter_fd = prog(1);
	symbols[n++] = prog(2);
	symbols[n++] = prog(17);
	symbols[n++] = 0x1000;
	symbols[n++] = (uintptr_t)&keys[0];
	symbols[n++] = (uintptr_t)&keys[1];
	symbols[n++] = (uintptr_t)&keys[2];
	symbols[n++] = (uintptr_t)&value;
	symbols[n++] = (uintptr_t)out;
	symbols[n++] = (uintptr_t)big;
	symbols[n++] = (uintptr_t)insns;
	symbols[n++] = (uintptr_t)endless;
	symbols[n++] = (uintptr_t)"GPL";
	symbols[n++] = (uintptr_t)&array_fd;
	symbols[n++] = (uintptr_t)&filter_fd;
	symbols[n++] = (uintptr_t)&two;
	symbols[n++] = (uintptr_t)packet;
	symbols[n++] = (uintptr_t)"sys_enter";
	symbols[n++] = (uintptr_t)"no_such_tracepoint";
	memset(&a, 0, sizeof(a));
	a.map_fd = frozen;
	bpf(BPF_MAP_FREEZE, &a, sizeof(a));
	memset(&a, 0, sizeof(a));
	a.map_fd = symbols[3]; a.key = (uintptr_t)&keys[0]; a.value = (uintptr_t)&value;
	bpf(BPF_MAP_UPDATE_ELEM, &a, sizeof(a));
}

static void number(int offset, int size, uint64_t n) { memcpy(attr + offset, &n, size); }

static void call(const char *name, int cmd, unsigned size)
{
	long r = bpf(cmd, attr, size);

	if (r > 2) {
		close(r);
		printf("fd %s\n", name);
	} else {
		printf("%ld %s\n", r, name);
	}
	memset(attr, 0, sizeof(attr));
	memset(out, 0, sizeof(out));
	memset(big, 0xff, sizeof(big));
	memset(packet, 0, sizeof(packet));
}

int main(void)
{
	setup();
"""


def main() -> None:
    text = [HEAD.strip(), ""]
    for row in ROWS:
        name, cmd, fields = row[:3]
        size = row[3] if len(row) > 3 else 144
        places = LAYOUTS[cmd].fields if cmd in LAYOUTS else {}
        for field, value in fields.items():
            offset, width = (int(field[1:]), 4) if field.startswith("@") else places[field]
            if isinstance(value, bytes):
                escaped = "".join(f"\\x{byte:02x}" for byte in value[:width])
                text.append(f'\tmemcpy(attr + {offset}, "{escaped}", {min(len(value), width)});')
            elif isinstance(value, str):
                text.append(f"\tnumber({offset}, {width}, symbols[{SYMBOLS.index(value[1:])}]);")
            else:
                text.append(f"\tnumber({offset}, {width}, {value}ull);")
        text.append(f'\tcall("{name}", {cmd}, {size});')
    text += ["\treturn 0;", "}"]
    print("\n".join(text))


__all__ = ["build", "main"]

if __name__ == "__main__":
    main()
