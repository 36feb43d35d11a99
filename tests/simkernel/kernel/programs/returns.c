/* Calls whose returns are probed: deep ones, jumps from one into another, some that never return, some that return twice.
   returns SEED COUNT */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, used, section(".text.kept")))
static jmp_buf back;
static unsigned seed;
static volatile long sum;
static unsigned next(void) { return seed = seed * 1103515245u + 12345u, seed >> 16 & 0x7fff; }

KEPT long plain(long x) { sum += x; return x * 3 + 1; }
KEPT long deep(long n) { long below = n ? deep(n - 1) : 0; sum += n; return below + n; }
KEPT long jumped(long x) { sum += x; return plain(x) + 5; }
KEPT long jumps(long x) { sum -= x; return jumped(x + 1); }
KEPT long leaves(long n) { if (n == 0) longjmp(back, 1); long below = leaves(n - 1); sum += n; return below + 1; }
KEPT long twice(long x) {
  int status;
  fflush(stdout);
  long pid = fork();
  if (pid == 0) return x + plain(x);
  waitpid(pid, &status, 0);
  sum += status;
  return -1;
}

int main(int argc, char **argv) {
  seed = atoi(argv[1]);
  for (int i = atoi(argv[2]); i > 0; i--) {
    long x = next() % 90, got = 0;
    switch (next() % 8) {
    case 0: case 1: got = plain(x); break;
    case 2: got = deep(x); break;
    case 3: got = jumps(x); break;
    case 4: if (!setjmp(back)) got = leaves(x % 9); else got = plain(x) + 7; break;
    case 5: if (!setjmp(back)) got = deep(3) + leaves(x % 70); break;
    case 6: got = jumped(x) + deep(x % 5); break;
    default:
      got = twice(x);
      if (got != -1) { sum += got; _exit(got & 127); }
    }
    printf("%ld %ld\n", got, (long)sum);
  }
  return 0;
}
