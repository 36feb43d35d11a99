// calls SEED COUNT: random hot system calls of several processes; prints what came out, and what the kernel counted.
// build.py builds it for each architecture.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SYS_getuid32
#define ID(name) SYS_##name##32
#else
#define ID(name) SYS_##name
#endif
#ifdef SYS_gettimeofday_time32
#define SYS_gettimeofday SYS_gettimeofday_time32
#endif
#ifdef SYS_clock_gettime32
#define SYS_clock_gettime SYS_clock_gettime32
#endif

static uint64_t state;
static unsigned rnd(unsigned n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 33) % n;
}

static uint64_t hash = 14695981039346656037u;
static void mix(const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
}

static unsigned char *room;  // four pages: writable, writable, never touched, read-only
static int fds[12], pipes[2], nr_fds;

static void *place(void) {
  switch (rnd(12)) {
    case 0: return 0;
    case 1: return (void *)-4096;
    case 2: return room + 4096 - rnd(20);      // across two pages
    case 3: return room + 2 * 4096 + rnd(64);  // not there yet
    case 4: return room + 3 * 4096;            // read-only
    case 5: return (void *)0x10;
    default: return room + rnd(4000);
  }
}

static long size(void) {
  static const long sizes[] = {0, 1, 8, 17, 511, 4096, 4097, 8192, 70000, 0x7ffff000, -1};
  return rnd(3) ? (long)rnd(300) : sizes[rnd(sizeof sizes / sizeof *sizes)];
}

static long clocks[] = {0, 1, 2, 3, 4, 5, 6, 7, 11, 12, -1, -6};

static long one(void) {
  int fd = rnd(8) ? fds[rnd(nr_fds)] : (int)rnd(40) - 5;
  switch (rnd(20)) {
    case 0: return syscall(SYS_getpid);
    case 1: return syscall(SYS_gettid);
    case 2: return syscall(SYS_getppid);
    case 3: return syscall(ID(getuid));
    case 4: return syscall(ID(geteuid));
    case 5: return syscall(ID(getgid));
    case 6: return syscall(ID(getegid));
#ifdef SYS_clock_gettime
    case 7: return syscall(SYS_clock_gettime, clocks[rnd(sizeof clocks / sizeof *clocks)], place());
#endif
#ifdef SYS_clock_gettime64
    case 8: return syscall(SYS_clock_gettime64, clocks[rnd(sizeof clocks / sizeof *clocks)], place());
#endif
#ifdef SYS_gettimeofday
    case 9: return syscall(SYS_gettimeofday, place(), rnd(3) ? 0 : place());
#endif
    case 10: case 11: case 12: {
      long n = size();
      if (fd == pipes[1] && n > 100) n = 100;
      return syscall(SYS_write, fd, place(), n);
    }
    case 13: case 14: case 15: return syscall(SYS_read, fd, place(), size());
    case 16: return syscall(SYS_lseek, fd, (long)rnd(50) - 5, rnd(4));
    case 17: return syscall(SYS_sched_yield);
    case 18: {
      struct stat st;
      long ret = fstat(fd, &st);
      if (!ret) mix(&st.st_size, sizeof st.st_size);
      return ret;
    }
    default: {
      static volatile unsigned sum;
      for (unsigned i = rnd(rnd(40) ? 300 : 300000); i; i--) sum += i;
      return sum & 7;
    }
  }
}

static void show(const char *name) {
  char text[512];
  int fd = open(name, O_RDONLY);
  ssize_t got = read(fd, text, sizeof text);
  close(fd);
  if (got > 0) write(1, text, got);
}

static void work(int who, int count) {
  long ret = 0;
  state = state * 6364136223846793005u + who;
  for (int i = 0; i < 8; i++) rnd(2);
  for (int i = 0; i < count; i++) {
    ret = one();
    mix(&ret, sizeof ret);
    if (i % 16 == 0) mix(room, 2 * 4096);
    if (i % 200 == 199) printf("%d %d %016llx\n", who, i, (unsigned long long)hash);
  }
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  printf("%d user %ld.%06ld faults %ld switches %ld %ld\n", who, (long)use.ru_utime.tv_sec, (long)use.ru_utime.tv_usec,
         use.ru_minflt, use.ru_nvcsw, use.ru_nivcsw);
  fflush(stdout);
  show("/proc/self/io");
  show("/proc/self/stat");
}

int main(int argc, char **argv) {
  int count = atoi(argv[2]);
  state = 88172645463325252u + strtoul(argv[1], 0, 0);
  room = mmap(0, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(room, 7, 2 * 4096);
  mprotect(room + 3 * 4096, 4096, PROT_READ);
  pipe2(pipes, O_NONBLOCK);
  fds[nr_fds++] = open("/dev/null", O_RDWR);
  fds[nr_fds++] = open("/dev/null", O_RDONLY);
  fds[nr_fds++] = open("/dev/null", O_WRONLY);
  fds[nr_fds++] = open("/dev/zero", O_RDWR);
  fds[nr_fds++] = open("/dev/zero", O_RDWR);
  fds[nr_fds++] = open("/dev/null", O_PATH);
  fds[nr_fds++] = open("/tmp", O_RDONLY);
  fds[nr_fds++] = open("/tmp/calls", O_RDWR | O_CREAT, 0600);
  fds[nr_fds++] = pipes[0];
  fds[nr_fds++] = pipes[1];
  int pid = fork();
  if (!pid) {
    work(1, count);
    return 0;
  }
  work(0, count);
  int status = 0;
  waitpid(pid, &status, 0);
  setgid(5);
  setuid(6);
  work(2, count / 2);
  printf("%d\n", status);
  return 0;
}
