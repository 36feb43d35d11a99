/* A program on sys_enter puts a record somewhere at each getppid(), and somebody else reads them.
 *
 *   outputs ring|perf HOW WAIT COUNT FLAGS WAKEUP
 *
 * HOW: "poll" or "epoll", or "late" (when all is done); WAIT: after so many calls the caller sleeps; FLAGS of the output;
 * WAKEUP: perf_event_attr.wakeup_events.  A seventh word puts the program on a "kprobe" or a "tracepoint" in place of a raw one.
 * Prints what was read.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSN(c, d, s, o, i) ((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV(d, i) INSN(0xb7, d, 0, 0, i)
#define MOVR(d, s) INSN(0xbf, d, s, 0, 0)
#define ADD(d, i) INSN(0x07, d, 0, 0, i)
#define CALL(n) INSN(0x85, 0, 0, 0, n)
#define STORE(o, s) INSN(0x7b, 10, s, o, 0)
#define PAGES 8

static long bpf(int cmd, union bpf_attr *attr) { return syscall(__NR_bpf, cmd, attr, sizeof(*attr)); }
static char *base;
static int perf, fd;
static unsigned long tail;

static void show(const char *what, const unsigned char *at, unsigned size) {
  printf("%s %u:", what, size);
  for (unsigned i = 0; i < size; i++)
    printf(" %02x", at[i]);
  printf("\n");
}

static int number_in(const char *path) {
  char text[32] = "";
  int file = open(path, O_RDONLY);
  read(file, text, sizeof(text) - 1);
  close(file);
  return atoi(text);
}

/* The records that are there: how many. */
static int consume(void) {
  int seen = 0;
  char *data = base + (perf ? 1 : 2) * 4096;
  unsigned long mask = (perf ? PAGES : 1) * 4096 - 1;
  if (perf) {
    struct perf_event_mmap_page *page = (void *)base;
    unsigned long head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    while (tail < head) {
      unsigned char record[256];
      struct perf_event_header *h = (void *)(data + (tail & mask));
      unsigned size = h->size;
      for (unsigned i = 0; i < size; i++)
        record[i] = data[(tail + i) & mask];
      show(h->type == PERF_RECORD_LOST ? "lost" : "sample", record, size);
      seen += h->type == PERF_RECORD_LOST ? 0 : 1;
      tail += size;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
  } else {
    unsigned long head = __atomic_load_n((unsigned long *)(base + 4096), __ATOMIC_ACQUIRE);
    while (tail < head) {
      unsigned size = *(unsigned *)(data + (tail & mask)) & ~(3u << 30);
      show("record", (unsigned char *)data + (tail & mask) + 8, size);
      tail += (size + 8 + 7) & ~7ul;
      seen++;
    }
    __atomic_store_n((unsigned long *)base, tail, __ATOMIC_RELEASE);
  }
  return seen;
}

int main(int argc, char **argv) {
  if (argc < 7)
    return 2;
  perf = !strcmp(argv[1], "perf");
  int wait_every = atoi(argv[3]), count = atoi(argv[4]), flags = atoi(argv[5]), late = !strcmp(argv[2], "late");
  const char *where = argc > 7 ? argv[7] : "raw";
  int kprobe = !strcmp(where, "kprobe"), raw = !strcmp(where, "raw");
  union bpf_attr attr;
  memset(&attr, 0, sizeof(attr));
  attr.map_type = perf ? BPF_MAP_TYPE_PERF_EVENT_ARRAY : BPF_MAP_TYPE_RINGBUF;
  attr.key_size = attr.value_size = perf ? 4 : 0;
  attr.max_entries = perf ? 4 : 4096;
  int map = bpf(BPF_MAP_CREATE, &attr);
  struct bpf_insn insns[] = {
      MOVR(6, 1), kprobe ? MOV(0, __NR_getppid) : INSN(0x79, 0, 6, 8, 0), INSN(0x55, 0, 0, 14, __NR_getppid), CALL(BPF_FUNC_ktime_get_ns), STORE(-24, 0),
      CALL(BPF_FUNC_get_current_pid_tgid), STORE(-16, 0), MOV(0, 77), STORE(-8, 0), MOVR(1, 6),
      INSN(0x18, perf ? 2 : 1, 1, 0, map), INSN(0, 0, 0, 0, 0), MOVR(perf ? 4 : 2, 10), ADD(perf ? 4 : 2, -24),
      MOV(perf ? 5 : 3, 20), INSN(0xb4, perf ? 3 : 4, 0, 0, perf ? -1 : flags), CALL(perf ? BPF_FUNC_perf_event_output : BPF_FUNC_ringbuf_output),
      MOV(0, 0), INSN(0x95, 0, 0, 0, 0)};
  static char log[65536];
  memset(&attr, 0, sizeof(attr));
  attr.prog_type = kprobe ? BPF_PROG_TYPE_KPROBE : raw ? BPF_PROG_TYPE_RAW_TRACEPOINT : BPF_PROG_TYPE_TRACEPOINT;
  attr.insns = (uintptr_t)insns;
  attr.insn_cnt = sizeof(insns) / sizeof(insns[0]);
  attr.license = (uintptr_t) "GPL";
  attr.log_buf = (uintptr_t)log;
  attr.log_size = sizeof(log);
  attr.log_level = 1;
  int prog = bpf(BPF_PROG_LOAD, &attr);
  if (map < 0 || prog < 0) {
    printf("map %d prog %d\n%s", map, prog, log);
    return 1;
  }
  if (perf) {
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(event), .config = PERF_COUNT_SW_BPF_OUTPUT,
                                    .sample_type = PERF_SAMPLE_RAW | (flags & ~PERF_SAMPLE_RAW), .sample_period = 1,
                                    .wakeup_events = atoi(argv[6])};
    fd = syscall(__NR_perf_event_open, &event, -1, 0, -1, 0);
    base = mmap(0, (PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int zero = 0;
    memset(&attr, 0, sizeof(attr));
    attr.map_fd = map;
    attr.key = (uintptr_t)&zero;
    attr.value = (uintptr_t)&fd;
    if (fd < 0 || base == MAP_FAILED || bpf(BPF_MAP_UPDATE_ELEM, &attr))
      return 3;
  } else {
    fd = map;
    base = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    base = mmap(0, 4 * 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mmap(base, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, map, 0);
    mmap(base + 4096, 3 * 4096, PROT_READ, MAP_SHARED | MAP_FIXED, map, 4096);
  }
  setvbuf(stdout, 0, _IOFBF, 1 << 16);
  int pid = late ? 0 : fork();
  if (!late && pid) { /* a child has no mapping of a perf buffer */
    int seen = 0, turns = 0, epoll = !strcmp(argv[2], "epoll") ? epoll_create1(0) : -1;
    struct epoll_event one = {.events = EPOLLIN};
    if (epoll >= 0)
      epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &one);
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    while (seen < count) {
      int ready = epoll >= 0 ? epoll_wait(epoll, &one, 1, 20) : poll(&wanted, 1, 20);
      int now = consume();
      printf("turn %d: %d, %d\n", turns, ready, now);
      seen += now;
      if (++turns > 3 * count || (!ready && !now && turns > 3))
        break;
    }
    waitpid(pid, 0, 0);
    return 0;
  }
  usleep(1000);
  memset(&attr, 0, sizeof(attr));
  attr.raw_tracepoint.name = (uintptr_t) "sys_enter";
  attr.raw_tracepoint.prog_fd = prog;
  int link = raw ? bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) : -1;
  if (!raw) {
    struct perf_event_attr event = {.size = sizeof(event), .type = PERF_TYPE_TRACEPOINT};
    if (kprobe) {
      event.type = number_in("/sys/bus/event_source/devices/kprobe/type");
      event.config1 = (uintptr_t) "__x64_sys_getppid";
    } else {
      event.config = number_in("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id");
    }
    link = syscall(__NR_perf_event_open, &event, -1, 0, -1, 0);
    if (ioctl(link, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(link, PERF_EVENT_IOC_ENABLE, 0))
      printf("not attached\n");
  }
  for (int i = 0; i < count; i++) {
    getppid();
    if (wait_every && i % wait_every == wait_every - 1)
      usleep(100);
  }
  close(link);
  if (!late)
    _exit(0);
  {
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    int ready = poll(&wanted, 1, 0);
    printf("read %d %d\n", ready, consume());
  }
  return 0;
}
