/* What the programs beside it have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/hw_breakpoint.h>
#include <sys/stat.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define R(e) ({ errno = 0; long r_ = (long)(e); r_ < 0 ? (long)-errno : r_; })
static int peo(struct perf_event_attr *a, int pid, int cpu, int group, unsigned long flags) { a->size = sizeof *a; return R(syscall(SYS_perf_event_open, a, pid, cpu, group, flags)); }
static int tp_id(const char *e) { char p[200], b[20] = {0}; sprintf(p, "/sys/kernel/tracing/events/%s/id", e); int fd = open(p, O_RDONLY); read(fd, b, 19); close(fd); return atoi(b); }
static long put(const char *f, const char *t) { int fd = open(f, O_WRONLY | O_TRUNC); if (fd < 0) return -errno; long r = R(write(fd, t, strlen(t))); close(fd); return r; }
static unsigned long long cnt(int fd) { unsigned long long v[8] = {0}; read(fd, v, sizeof v); return v[0]; }
