// pipes SEED COUNT: random reads and writes of pipes of all kinds, by two processes; prints what came out, and what the pipes look like.
// build.py builds it for each architecture.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIPES = 5, ROOM = 32 };

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

static unsigned char *room;  // pages: the last but one is never touched, the last one read-only
static int ends[PIPES][2];

static size_t size(void) {
  static const unsigned sizes[] = {0, 1, 4095, 4096, 4097, 8192, 12288, 20000, 65536, 65537, 70000};
  return rnd(2) ? sizes[rnd(sizeof sizes / sizeof *sizes)] : rnd(300);
}

static unsigned char *place(void) {
  switch (rnd(12)) {
    case 0: return room + (ROOM - 2) * 4096 - 2000;  // into the page that is not there yet
    case 1: return room + (ROOM - 1) * 4096 - 100;   // into the read-only one
    case 2: return (unsigned char *)0x10;
    default: return room + rnd(3 * 4096);
  }
}

static void look(int fd) {
  struct stat st;
  int held = -1;
  fstat(fd, &st);
  ioctl(fd, FIONREAD, &held);
  mix(&held, sizeof held);
  long long times[] = {st.st_atim.tv_nsec, st.st_mtim.tv_nsec, st.st_ctim.tv_nsec};
  mix(times, sizeof times);
}

static void work(int who, int count) {
  int set = epoll_create1(0);
  struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = 4}};
  epoll_ctl(set, EPOLL_CTL_ADD, ends[4][0], &event);
  for (int i = 0; i < count; i++) {
    int which = rnd(PIPES);
    unsigned char *at = place();
    size_t wanted = size();
    errno = 0;
    long ret = rnd(2) ? write(ends[which][1], at, wanted) : read(ends[which][0], at, wanted);
    long told[] = {ret, errno};
    mix(told, sizeof told);
    if (i % 8 == 0) mix(room, 5 * 4096);
    if (i % 5 == 0) look(ends[which][0]);
    if (rnd(20) == 0) {
      int got = epoll_wait(set, &event, 1, 0);
      mix(&got, sizeof got);
    }
    if (rnd(30) == 0) memset(room, rnd(256), 4096);
    if (rnd(60) == 0) fcntl(ends[which][1], F_SETPIPE_SZ, 4096 << rnd(6));
    if (i % 100 == 99) printf("%d %d %016llx\n", who, i, (unsigned long long)hash);
  }
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%d at %ld.%09ld\n", who, (long)now.tv_sec, (long)now.tv_nsec);
}

// One process fills a pipe that the other one empties: both sleep now and then.
static void stream(int count) {
  int fds[2];
  pipe(fds);
  int pid = fork();
  if (!pid) {
    close(fds[0]);
    while (count--)
      for (size_t left = rnd(9000) + 1; left;) left -= write(fds[1], room + rnd(4096), left);
    _exit(0);
  }
  close(fds[1]);
  long got, total = 0, reads = 0;
  while ((got = read(fds[0], room, rnd(6000) + 1)) > 0) mix(room, got), total += got, reads++;
  waitpid(pid, 0, 0);
  printf("stream %ld %ld %016llx\n", total, reads, (unsigned long long)hash);
}

int main(int argc, char **argv) {
  int count = atoi(argv[2]);
  state = 88172645463325252u + strtoul(argv[1], 0, 0);
  room = mmap(0, ROOM * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < (ROOM - 2) * 4096; i++) room[i] = i * 7 + i / 256;
  mprotect(room + (ROOM - 1) * 4096, 4096, PROT_READ);
  pipe2(ends[0], O_NONBLOCK);
  pipe2(ends[1], O_NONBLOCK | O_DIRECT);
  pipe2(ends[2], O_NONBLOCK);
  mkfifo("/tmp/pipes", 0600);
  ends[3][0] = open("/tmp/pipes", O_RDWR | O_NONBLOCK);
  ends[3][1] = open("/tmp/pipes", O_WRONLY | O_NONBLOCK);
  pipe2(ends[4], O_NONBLOCK);
  setvbuf(stdout, 0, _IOFBF, 65536);
  int pid = fork();
  if (!pid) {
    state += 77;
    work(1, count);
    fflush(stdout);
    _exit(0);
  }
  work(0, count);
  waitpid(pid, 0, 0);
  stream(count / 4);
  return 0;
}
