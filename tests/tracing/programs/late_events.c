/* Events that are another or new since 6.1, by the calls that fire them: `late_events STEP...` prints the lines of its own task.

   late_events.STEP.VERSION.out is what Debian's kernel says.  Every step enables its events, makes its calls and shows the trace. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define T "/sys/kernel/tracing/"

static void put(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, T "%s", name);
    int fd = open(path, O_WRONLY | (strcmp(name, "set_event") ? O_TRUNC : 0));
    if (fd < 0 || (text[0] && write(fd, text, strlen(text)) < 0)) printf("%s: %s: %s\n", name, text, strerror(errno));
    close(fd);
}

static void on(const char *events) {
    char copy[512], pid[16];
    put("trace", "");
    snprintf(pid, sizeof pid, "%d", getpid());
    put("set_event_pid", pid);
    strcpy(copy, events);
    for (char *word = strtok(copy, " "); word; word = strtok(0, " ")) put("set_event", word);
}

static void mark(const char *text) { put("trace_marker", text); }

static void show(const char *step) {
    static char line[4096];
    put("tracing_on", "0");
    put("events/enable", "0");
    printf("== %s\n", step);
    FILE *f = fopen(T "trace", "r");
    while (fgets(line, sizeof line, f))
        if (line[0] != '#') fputs(line, stdout);
    fclose(f);
    put("trace", "");
    put("tracing_on", "1");
    fflush(stdout);
}

static struct sockaddr_in at(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return a;
}
static int bound(int type, int port) {
    struct sockaddr_in a = at(port);
    int one = 1, fd = socket(AF_INET, type, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (void *)&a, sizeof a)) perror("bind");
    return fd;
}
static int joined(int port) {
    struct sockaddr_in a = at(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (void *)&a, sizeof a)) { close(fd); return -1; }
    return fd;
}

static void locks(void) {
    int fd = open("/t/lock", O_RDWR | O_CREAT, 0644), other = open("/t/lock", O_RDWR);
    struct flock one = {.l_type = F_WRLCK, .l_start = 3, .l_len = 4}, ofd = {.l_type = F_RDLCK, .l_start = 10, .l_len = 0};
    on("filelock:*");
    fcntl(fd, F_SETLK, &one);
    fcntl(fd, F_OFD_SETLK, &ofd);
    ofd.l_start = 0;
    mark("refused");
    fcntl(other, F_OFD_SETLK, &ofd);
    one.l_type = F_UNLCK;
    fcntl(fd, F_SETLKW, &one);
    mark("flock");
    flock(fd, LOCK_SH);
    flock(other, LOCK_EX | LOCK_NB);
    flock(fd, LOCK_UN);
    one.l_type = F_RDLCK;
    fcntl(fd, F_SETLK, &one);
    mark("get");
    fcntl(fd, F_GETLK, &one);
    mark("close");
    close(other);
    close(fd);
    show("locks");
}

static void leases(void) {
    int fd = open("/t/lease", O_RDWR | O_CREAT, 0644);
    close(fd);
    fd = open("/t/lease", O_RDONLY);
    signal(SIGIO, SIG_IGN);
    on("filelock:break_lease");
    fcntl(fd, F_SETLEASE, F_RDLCK);
    fcntl(fd, F_GETLEASE);
    mark("broken");
    int other = open("/t/lease", O_WRONLY | O_NONBLOCK);
    mark("given up");
    fcntl(fd, F_SETLEASE, F_UNLCK);
    mark("write");
    fcntl(fd, F_SETLEASE, F_WRLCK);
    close(other);
    fcntl(fd, F_SETLEASE, F_WRLCK);
    truncate("/t/lease", 3);
    mark("read");
    fcntl(fd, F_SETLEASE, F_WRLCK);
    close(open("/t/lease", O_RDONLY | O_NONBLOCK));
    mark("close");
    close(fd);
    show("leases");
}

static void resets(void) {
    int listener = bound(SOCK_STREAM, 7801);
    char byte;
    struct linger linger = {1, 0};
    listen(listener, 5);
    on("tcp:tcp_send_reset");
    mark("nobody");
    joined(7999);
    mark("unread");
    int client = joined(7801), server = accept(listener, 0, 0);
    send(client, "hello", 5, 0);
    poll(0, 0, 20);
    close(server);
    close(client);
    mark("linger");
    client = joined(7801), server = accept(listener, 0, 0);
    setsockopt(server, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(server);
    close(client);
    mark("disconnect");
    client = joined(7801), server = accept(listener, 0, 0);
    send(client, "hello", 5, 0);
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    connect(server, &none, sizeof none);
    close(server);
    close(client);
    mark("listener with a queue");
    client = joined(7801);
    close(listener);
    recv(client, &byte, 1, MSG_DONTWAIT);
    close(client);
    show("resets");
}

static void fullness(void) {
    int fd = bound(SOCK_DGRAM, 7802), from = bound(SOCK_DGRAM, 7803), size = 2304;
    struct sockaddr_in a = at(7802);
    static char data[1400];
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    on("udp:*");
    for (int i = 0; i < 6; i++) sendto(from, data, sizeof data, 0, (void *)&a, sizeof a);
    close(fd);
    close(from);
    show("fullness");
}

static void rseqs(void) {
    static struct { unsigned start, cpu; unsigned long cs; unsigned flags, node, mm_cid, end; } area __attribute__((aligned(32)));
    on("rseq:*");
    printf("%ld\n", syscall(SYS_rseq, &area, 32, 0, 0x53053053));
    for (int i = 0; i < 3; i++) { usleep(1000); }
    printf("%u %u %u %u\n", area.start, area.cpu, area.node, area.mm_cid);
    syscall(SYS_rseq, &area, 32, 1, 0x53053053);
    show("rseqs");
}

static void caps(void) {
    on("capability:*");
    mark("hostname"); sethostname("x", 1);
    mark("chroot"); chroot("/nowhere");
    mark("nice"); setpriority(PRIO_PROCESS, 0, -1);
    mark("setuid"); setuid(0);
    mark("mount"); mount("t", "/nowhere", "tmpfs", 0, 0);
    mark("priority"); setpriority(PRIO_PROCESS, 0, 0);
    mark("kill"); kill(1, 0);
    mark("raw socket"); close(socket(AF_INET, SOCK_RAW, 1));
    mark("low port"); { struct sockaddr_in a = at(80); int fd = socket(AF_INET, SOCK_STREAM, 0); bind(fd, (void *)&a, sizeof a); close(fd); }
    mark("chown"); chown("/t/lock", 1, 1);
    mark("mknod"); mknod("/t/null", S_IFCHR | 0666, 0x103);
    mark("rlimit"); { struct rlimit r = {1024, 1 << 20}; setrlimit(RLIMIT_NOFILE, &r); }
    mark("another's file"); close(open("/t/lock", O_RDWR));
    mark("another"); 
    int pid = fork();
    if (!pid) {
        char text[16];
        snprintf(text, sizeof text, "%d", getpid());
        put("set_event_pid", text);
        setuid(1000);
        sethostname("y", 1);
        setuid(0);
        kill(1, 0);
        close(open("/t/private", O_RDWR));
        _exit(0);
    }
    waitpid(pid, 0, 0);
    show("caps");
}

static void execs(char *self) {
    on("sched:sched_prepare_exec sched:sched_process_exec sched:sched_process_exit task:task_rename");
    put("options/event-fork", "1");
    for (int i = 0; i < 3; i++) {
        int pid = fork();
        if (!pid) {
            if (i == 0) execl(self, "late", "nothing", (char *)0);
            if (i == 1) execl("/nowhere", "x", (char *)0);
            if (i == 2) execl("/t/script", "x", "nothing", (char *)0);
            _exit(3);
        }
        waitpid(pid, 0, 0);
    }
    put("options/event-fork", "0");
    show("execs");
}

static void pages(void) {
    int fd = open("/t/pages", O_RDWR | O_CREAT, 0644);
    static char data[4096 * 6];
    write(fd, data, sizeof data);
    on("filemap:mm_filemap_map_pages filemap:mm_filemap_fault");
    mark("read"); pread(fd, data, 5000, 0);
    mark("read beyond"); pread(fd, data, 5000, sizeof data - 100);
    char *map = mmap(0, sizeof data, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    mark("touch"); (void)*(volatile char *)map;
    mark("touch 2"); (void)*(volatile char *)(map + 4096 * 3);
    mark("write"); map[4096 * 5] = 1;
    munmap(map, sizeof data);
    map = mmap(0, sizeof data, PROT_READ, MAP_PRIVATE, fd, 4096);
    mark("private"); (void)*(volatile char *)(map + 4096);
    munmap(map, sizeof data);
    close(fd);
    show("pages");
}

static void timers(void) {
    struct itimerspec spec = {.it_value.tv_nsec = 1000000};
    struct timespec ts = {0, 100000};
    struct sigevent ev = {.sigev_notify = SIGEV_NONE};
    timer_t id;
    on("timer:hrtimer_init timer:hrtimer_setup timer:hrtimer_start timer:hrtimer_cancel");
    mark("nanosleep"); nanosleep(&ts, 0);
    mark("poll"); poll(0, 0, 1);
    mark("timerfd"); int fd = timerfd_create(CLOCK_MONOTONIC, 0); timerfd_settime(fd, 0, &spec, 0); close(fd);
    mark("timer_create"); timer_create(CLOCK_REALTIME, &ev, &id); timer_delete(id);
    mark("fork"); int pid = fork(); if (!pid) _exit(0); waitpid(pid, 0, 0);
    show("timers");
}

static void sockets(void) {
    int listener = bound(SOCK_STREAM, 7804), pair[2];
    char data[64];
    listen(listener, 5);
    on("sock:sk_data_ready sock:sock_send_length sock:sock_recv_length");
    mark("connect");
    int client = joined(7804), server = accept(listener, 0, 0);
    mark("send"); send(client, "hello", 5, 0);
    poll(0, 0, 20);
    mark("recv"); recv(server, data, 64, 0);
    recv(server, data, 64, MSG_DONTWAIT);
    write(client, "again", 5);
    poll(0, 0, 20);
    mark("peek"); recv(server, data, 64, MSG_PEEK);
    read(server, data, 64);
    mark("close");
    close(client);
    close(server);
    close(listener);
    mark("udp");
    int a = bound(SOCK_DGRAM, 7805), b = bound(SOCK_DGRAM, 7806);
    struct sockaddr_in to = at(7806);
    sendto(a, "datagram", 8, 0, (void *)&to, sizeof to);
    recv(b, data, 64, 0);
    recv(b, data, 64, MSG_DONTWAIT);
    close(a); close(b);
    mark("unix");
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(pair[0], "abc", 3); read(pair[1], data, 2); recv(pair[1], data, 64, MSG_DONTWAIT);
    close(pair[0]); close(pair[1]);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    send(pair[0], "abc", 3, 0); recv(pair[1], data, 2, MSG_TRUNC);
    close(pair[0]); close(pair[1]);
    show("sockets");
}

static void dumps(void) {
    mkdir("/t/c", 0777);
    chdir("/t/c");
    on("coredump:* task:task_prctl_unknown");
    put("options/event-fork", "1");
    for (int i = 0; i < 3; i++) {
        int pid = fork();
        if (!pid) {
            struct rlimit r = {i ? RLIM_INFINITY : 0, RLIM_INFINITY};
            setrlimit(RLIMIT_CORE, &r);
            if (i == 2) prctl(PR_SET_DUMPABLE, 0);
            prctl(PR_SET_NAME, "a\"b\n");
            kill(getpid(), i == 1 ? SIGSEGV : SIGABRT);
        }
        waitpid(pid, 0, 0);
    }
    put("options/event-fork", "0");
    mark("prctl");
    prctl(12345, 1, 2, 3, 4);
    prctl(-1, 1, 2, 3, 4);
    prctl(PR_GET_DUMPABLE);
    chdir("/");
    show("dumps");
}

static void notices(void) {
    int fd, watch = inotify_init();
    on("fsnotify:*");
    mark("unwatched");
    fd = open("/t/notice", O_RDWR | O_CREAT, 0644);
    write(fd, "x", 1);
    close(fd);
    inotify_add_watch(watch, "/t", IN_ALL_EVENTS);
    mark("directory");
    fd = open("/t/notice", O_RDWR);
    write(fd, "x", 1);
    close(fd);
    mark("made"); mkdir("/t/made", 0755);
    mark("moved"); rename("/t/made", "/t/moved");
    mark("gone"); rmdir("/t/moved"); unlink("/t/notice");
    close(watch);
    show("notices");
}

static void merging(void) {
    char *map = mmap(0, 4096 * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(map, 1, 4096 * 4);
    on("ksm:*");
    madvise(map, 4096 * 4, MADV_MERGEABLE);
    mark("again"); madvise(map, 4096 * 4, MADV_MERGEABLE);
    mark("un"); madvise(map, 4096 * 4, MADV_UNMERGEABLE);
    mark("prctl"); prctl(67, 1, 0, 0, 0);
    prctl(67, 0, 0, 0, 0);
    int pid = fork();
    if (!pid) _exit(0);
    waitpid(pid, 0, 0);
    munmap(map, 4096 * 4);
    show("merging");
}

static void times(void) {
    int fd = open("/t/times", O_RDWR | O_CREAT, 0644);
    on("timestamp:*");
    mark("write"); write(fd, "x", 1); usleep(20000); write(fd, "x", 1);
    mark("chmod"); chmod("/t/times", 0600);
    mark("stat"); struct stat st; fstat(fd, &st); write(fd, "y", 1);
    mark("unlink"); unlink("/t/times");
    close(fd);
    show("times");
}

static void memory(void) {
    on("percpu:* vmalloc:* memcg:* notifier:* readahead:*");
    mark("mkdir"); mkdir("/sys/fs/cgroup/late", 0755); rmdir("/sys/fs/cgroup/late");
    mark("fork"); int pid = fork(); if (!pid) _exit(0); waitpid(pid, 0, 0);
    mark("mount"); mkdir("/t/m", 0755); mount("m", "/t/m", "tmpfs", 0, 0); umount("/t/m");
    show("memory");
}

int main(int argc, char **argv) {
    mkdir("/t", 0755);
    if (argc > 1 && !strcmp(argv[1], "nothing")) return 0;
    mount("t", "/t", "tmpfs", 0, 0);
    int time = open("/proc/sys/fs/lease-break-time", O_WRONLY);
    write(time, "1", 1);
    close(time);
    close(open("/t/private", O_RDWR | O_CREAT, 0600));
    int fd = open("/t/script", O_WRONLY | O_CREAT, 0755);
    dprintf(fd, "#!%s nothing\n", argv[0]);
    close(fd);
    for (int i = 1; i < argc; i++) {
        char *s = argv[i];
        if (!strcmp(s, "locks")) locks();
        if (!strcmp(s, "leases")) leases();
        if (!strcmp(s, "resets")) resets();
        if (!strcmp(s, "fullness")) fullness();
        if (!strcmp(s, "rseqs")) rseqs();
        if (!strcmp(s, "caps")) caps();
        if (!strcmp(s, "execs")) execs(argv[0]);
        if (!strcmp(s, "pages")) pages();
        if (!strcmp(s, "timers")) timers();
        if (!strcmp(s, "sockets")) sockets();
        if (!strcmp(s, "dumps")) dumps();
        if (!strcmp(s, "notices")) notices();
        if (!strcmp(s, "merging")) merging();
        if (!strcmp(s, "times")) times();
        if (!strcmp(s, "memory")) memory();
    }
    umount2("/t", MNT_DETACH);
    return 0;
}
