/* BPF_PROG_LOAD of each type with each attach type and each flag, and of nothing but one member. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
typedef uint32_t u32; typedef uint64_t u64;
static long bpf(int cmd, void *a, int n) { long r = syscall(__NR_bpf, cmd, a, n); return r < 0 ? -errno : (r > 2 ? (close(r), 0) : r); }
int main(void) {
    unsigned char a[256]; u32 *w = (u32 *)a;
    for (int i = 0; i < 148; i += 4) { memset(a, 0, 256); w[i / 4] = 0xffffffff; printf("%d: %ld\n", i, bpf(5, a, 148)); }
    u64 code[] = {0xb7, 0x95};
    for (int t = 0; t < 35; t++) { printf("prog %d:", t); for (int e = 0; e < 64; e++) { memset(a, 0, 256); w[0] = t; w[1] = 2; ((u64 *)a)[1] = (u64)(long)code; ((u64 *)a)[2] = (u64)(long)"GPL"; w[17] = e; printf(" %ld", bpf(5, a, 144)); } printf("\n flags:"); for (int f = 0; f < 32; f++) { memset(a, 0, 256); w[0] = t; w[1] = 2; ((u64 *)a)[1] = (u64)(long)code; ((u64 *)a)[2] = (u64)(long)"GPL"; w[11] = 1u << f; printf(" %ld", bpf(5, a, 144)); } printf("\n"); }
    return 0;
}
