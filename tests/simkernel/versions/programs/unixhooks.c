/* Programs of control groups for Unix sockets (6.7): what the verifier lets them do, where they are asked, what they make of addresses;
 * with an argument, what they may set as the result of calls (a number from -4095 to 0 since 7.2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <sys/syscall.h>
typedef uint32_t u32; typedef uint64_t u64;
struct insn { uint8_t code; uint8_t regs; int16_t off; int32_t imm; };
static char log_[65536];
static long bpf(int cmd, void *a, int n) { long r = syscall(__NR_bpf, cmd, a, n); return r < 0 ? -errno : r; }
static unsigned char btf[12*1024*1024];
struct hdr { uint16_t magic; uint8_t version, flags; u32 hdr_len, type_off, type_len, str_off, str_len; };
static int kfunc(const char *name) {
    int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY), n = 0, r; while ((r = read(fd, btf + n, sizeof btf - n)) > 0) n += r; close(fd);
    struct hdr *h = (void *)btf; unsigned char *t = btf + h->hdr_len + h->type_off, *e = t + h->type_len; char *s = (char *)btf + h->hdr_len + h->str_off;
    for (int id = 1; t < e; id++) {
        u32 *w = (u32 *)t, kind = w[1] >> 24 & 31, v = w[1] & 0xffff, size = 12;
        static const int extra[20] = {0, 4, 0, 12, -12, -12, -8, 0, 0, 0, 0, 0, 0, -8, 4, -12, 0, 4, 0, -12};
        int x = extra[kind]; size += x < 0 ? -x * v : x;
        if (kind == 12 && !strcmp(s + w[0], name)) return id;
        t += size;
    }
    return 0;
}
#define I(c, d, s, o, i) {c, (d) | (s) << 4, o, i}
static long load(struct insn *p, int cnt, int exp, int show) {
    struct { u32 type, cnt; u64 insns, license; u32 log_level, log_size; u64 log_buf; u32 kv, flags; char name[16]; u32 ifindex, expected; } a;
    memset(&a, 0, sizeof a); memset(log_, 0, sizeof log_);
    a.type = 18; a.cnt = cnt; a.insns = (u64)(long)p; a.license = (u64)(long)"GPL"; a.expected = exp; a.log_level = 1; a.log_size = sizeof log_; a.log_buf = (u64)(long)log_;
    long r = bpf(5, &a, sizeof a);
    if (show) { printf("load %d: %s%ld\n%s", exp, r < 0 ? "" : "ok ", r < 0 ? r : 0, log_); }
    return r;
}
static int cg, kf, kcast;
static long attach(int prog, int type) { u32 a[4] = {cg, prog, type, 2}; return bpf(8, a, sizeof a); }
static long detach(int prog, int type) { u32 a[4] = {cg, prog, type, 0}; return bpf(9, a, sizeof a); }
static void name(const char *what, long r, struct sockaddr_un *u, socklen_t len) {
    printf("%s: %ld len %d", what, r < 0 ? (long)-errno : 0, len);
    if (len >= 2) printf(" family %d '", u->sun_family);
    for (int i = 2; i < (int)len && i < 112; i++) { unsigned char c = ((char *)u)[i]; if (c >= 32 && c < 127) putchar(c); else printf("\\%d", c); }
    printf("'\n");
}
static int mk(struct sockaddr_un *u, const char *path, int abstract) { memset(u, 0, sizeof *u); u->sun_family = 1; strcpy(u->sun_path + abstract, path); return 2 + strlen(path) + 1; }
static long sets(int exp, const char *path, int size, int ret) {
    /* path on the stack at -120.. */
    struct insn p[80]; int n = 0; char buf[120]; memset(buf, 0, sizeof buf); memcpy(buf, path, size > 110 ? 110 : size);
    for (int i = 0; i < 15; i++) { int64_t v; memcpy(&v, buf + 8 * i, 8); 
        struct insn a = I(0x18, 2, 0, 0, (int32_t)v), b = I(0, 0, 0, 0, (int32_t)(v >> 32)), c = I(0x7b, 10, 2, -120 + 8 * i, 0); p[n++] = a; p[n++] = b; p[n++] = c; }
    struct insn t[] = {I(0x85, 0, 2, 0, kcast), I(0xbf, 1, 0, 0, 0), I(0xbf, 2, 10, 0, 0), I(7, 2, 0, 0, -120), I(0xb7, 3, 0, 0, size), I(0x85, 0, 2, 0, kf), I(0xb7, 0, 0, 0, ret), I(0x95, 0, 0, 0, 0)};
    memcpy(p + n, t, sizeof t); n += 8;
    long r = load(p, n, exp, 0); if (r < 0) printf("%s kf\n", strlen(log_) > 300 ? log_ + strlen(log_) - 300 : log_, kf); return r;
}
static const char *const names[] = {"connect", "sendmsg", "recvmsg", "getpeername", "getsockname"};
static void l(int type, struct insn *p, int cnt, int exp, int level) {
    struct { u32 type, cnt; u64 insns, license; u32 log_level, log_size; u64 log_buf; u32 kv, flags; char name[16]; u32 ifindex, expected; u32 x[3]; u32 y[6]; u32 attach_btf; u32 z[8]; } a;
    memset(&a, 0, sizeof a); memset(log_, 0, sizeof log_);
    a.type = type; a.cnt = cnt; a.insns = (u64)(long)p; a.license = (u64)(long)"GPL"; a.expected = exp; a.log_level = level; a.log_size = sizeof log_; a.log_buf = (u64)(long)log_;
    long r = bpf(5, &a, 116); printf("%d/%d: %s%ld\n%s", type, exp, r < 0 ? "" : "ok ", r < 0 ? r : 0, log_); if (r >= 0) close(r);
}
static long load2(int type, struct insn *p, int cnt, int exp, int btf_id) {
    struct { u32 type, cnt; u64 insns, license; u32 log_level, log_size; u64 log_buf; u32 kv, flags; char name[16]; u32 ifindex, expected; u32 x[3]; u32 y[6]; u32 attach_btf; u32 z[8]; } a;
    memset(&a, 0, sizeof a); memset(log_, 0, sizeof log_);
    a.type = type; a.cnt = cnt; a.insns = (u64)(long)p; a.license = (u64)(long)"GPL"; a.expected = exp; a.log_level = 1; a.log_size = sizeof log_; a.log_buf = (u64)(long)log_;
    *(u32 *)((char *)&a + 108) = btf_id;
    long r = bpf(5, &a, 116);
    char *q = strstr(log_, "At "); if (!q) q = strstr(log_, "R1 "); if (!q) q = strstr(log_, "not "); if (!q) q = strstr(log_, "invalid"); if (q) { char *e = strchr(q, '\n'); if (e) *e = 0; }
    printf("%d/%d: %ld %s\n", type, exp, r < 0 ? r : 0, r < 0 && q ? q : ""); if (r >= 0) close(r);
    return r;
}
static int results(void) {
    {int ts[][3] = {{18, 10}, {25, 21}, {25, 22}, {9, 2}};
    for (int t = 0; t < 4; t++) {
        { struct insn a[] = {I(0x85, 0, 0, 0, 186), I(0xb7, 0, 0, 0, 7), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 3, ts[t][1], 2); }
        { struct insn a[] = {I(0x85, 0, 0, 0, 186), I(0xbf, 1, 0, 0, 0), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 7), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 5, ts[t][1], 2); }
        { struct insn a[] = {I(0x85, 0, 0, 0, 186), I(0xc6, 0, 0, 1, -5), I(0x95, 0, 0, 0, 0), I(0xb7, 0, 0, 0, 7), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 5, ts[t][1], 2); }
        { struct insn a[] = {I(0xb7, 1, 0, 0, -2), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 7), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 4, ts[t][1], 2); }
        { struct insn a[] = {I(0x85, 0, 0, 0, 7), I(0xbf, 1, 0, 0, 0), I(0xc6, 1, 0, 2, -4095), I(0x66, 1, 0, 1, 0), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 7, ts[t][1], 2); }
        { struct insn a[] = {I(0x85, 0, 0, 0, 7), I(0xbf, 1, 0, 0, 0), I(0x66, 1, 0, 1, 0), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 6, ts[t][1], 2); }
        { struct insn a[] = {I(0xbf, 1, 10, 0, 0), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 7), I(0x95, 0, 0, 0, 0)}; l(ts[t][0], a, 4, ts[t][1], 2); }
    }
    }
    {int bind = kfunc("bpf_lsm_socket_bind"), voidf = kfunc("bpf_lsm_sk_free_security"), boolf = kfunc("bpf_lsm_inet_conn_established"), cr = kfunc("bpf_lsm_socket_create"), na = kfunc("bpf_lsm_sk_alloc_security");
    int ts[][3] = {{9, 2}, {9, 12}, {9, 34}, {15, 6}, {23, 18}, {25, 21}, {25, 22}, {8, 0}, {8, 1}, {13, 3}, {18, 8}, {18, 19}, {18, 29}, {29, 43, bind}, {29, 43, cr}, {29, 43, na}, {29, 43, voidf}};
    static const int vals[] = {0, -1, -4095, -4096, 1, 5};
    for (int t = 0; t < 17; t++) {
        { struct insn a[] = {I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; load2(ts[t][0], a, 3, ts[t][1], ts[t][2]); }
        for (int i = 0; i < 6; i++) { struct insn a[] = {I(0xb7, 1, 0, 0, vals[i]), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; load2(ts[t][0], a, 4, ts[t][1], ts[t][2]);}
        for (int i = 0; i < 6; i++) { struct insn a[] = {I(0xb4, 1, 0, 0, vals[i]), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; load2(ts[t][0], a, 4, ts[t][1], ts[t][2]);}
        { struct insn a[] = {I(0x85, 0, 0, 0, 186), I(0xbf, 1, 0, 0, 0), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; load2(ts[t][0], a, 5, ts[t][1], ts[t][2]); }
        { struct insn a[] = {I(0x85, 0, 0, 0, 7), I(0xbf, 1, 0, 0, 0), I(0xc6, 1, 0, 2, -4095), I(0x66, 1, 0, 1, 0), I(0x85, 0, 0, 0, 187), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; load2(ts[t][0], a, 7, ts[t][1], ts[t][2]); }
    }
    }
    return 0;
}
int main(int argc, char **argv) {
    if (argc > 1) return results(); setvbuf(stdout, 0, _IOLBF, 0); alarm(60);
    struct sockaddr_un u, v; socklen_t len; char buf[100]; long r, p;
    kcast = kfunc("bpf_cast_to_kern_ctx"); kf = kfunc("bpf_sock_addr_set_sun_path");
    mkdir("/sys/fs/cgroup/u", 0755); cg = open("/sys/fs/cgroup/u", O_RDONLY);
    int f = open("/sys/fs/cgroup/u/cgroup.procs", O_WRONLY); write(f, "0", 1); close(f);
    mkdir("/tmp", 0755); chdir("/tmp");
    for (int t = 49; t <= 53; t++) {
        for (int ret = 0; ret <= 2; ret++) { struct insn a[] = {I(0xb7, 0, 0, 0, ret), I(0x95, 0, 0, 0, 0)}; load(a, 2, t, 1); }
        static const int offs[] = {0, 4, 8, 20, 24, 28, 32, 36, 40, 44, 56, 60, 64};
        for (int i = 0; i < 13; i++) for (int w = 0; w < 2; w++) {
            struct insn a[] = {I(0xb7, 2, 0, 0, 1), I(w ? (offs[i] >= 60 ? 0x7b : 0x63) : (offs[i] >= 60 ? 0x79 : 0x61), 1, w ? 2 : 1, offs[i], 0), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)};
            load(a, 4, t, 1); }
        static const int helpers[] = {46, 2, 27, 64, 49, 57, 80, 5, 6, 14, 122, 123, 79, 186, 187, 84, 85, 99, 102};
        for (int i = 0; i < 19; i++) { struct insn a[] = {I(0x85, 0, 0, 0, helpers[i]), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; r = load(a, 3, t, 0); printf("helper %d: %ld %s", helpers[i], r < 0 ? r : 0, strstr(log_, "unknown") ? "unknown\n" : strstr(log_, "program of this type") ? "not of this type\n" : "there\n"); if (r >= 0) close(r); }
        { struct insn a[] = {I(0x85, 0, 2, 0, kcast), I(0xbf, 1, 0, 0, 0), I(0xb7, 2, 0, 0, 0), I(0xb7, 3, 0, 0, 4), I(0x85, 0, 2, 0, kf), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; r = load(a, 7, t, 0); char *q = strstr(log_, "R2"); printf("null path %ld %s", r, q ? q : "?\n"); }
        struct insn q[] = {I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)};
        p = load(q, 2, t, 0); printf("attach %ld", attach(p, t)); printf(" other %ld", attach(p, t == 49 ? 50 : 49)); u32 lk[4] = {p, cg, t, 0}; r = bpf(28, lk, 16); printf(" link %d other %ld", r < 0 ? (int)r : 0, (lk[2] = t == 49 ? 50 : 49, bpf(28, lk, 16))); close(r); printf(" detach %ld\n", detach(p, t)); close(p);
    }
    { struct insn a[] = {I(0x85, 0, 2, 0, kcast), I(0xbf, 1, 0, 0, 0), I(0xbf, 2, 10, 0, 0), I(7, 2, 0, 0, -8), I(0x7a, 10, 0, -8, 5), I(0xb7, 3, 0, 0, 4), I(0x85, 0, 2, 0, kf), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; r = load(a, 9, 10, 0); printf("of inet connect: %s\n", r < 0 ? "no" : "yes"); }
    /* running */
    for (int type = 1; type <= 2; type++) for (int abstract = 0; abstract < 2; abstract++) {
        char path[112]; printf("== type %d abstract %d\n", type, abstract);
        unlink("real"); unlink("other");
        int l = socket(1, type | SOCK_NONBLOCK, 0); len = mk(&u, "real", abstract); printf("bind %d\n", bind(l, (void *)&u, len)); listen(l, 5);
        int pre = abstract;
        char target[16] = ""; strcpy(target + pre, "real"); int tlen = pre + 4 + !abstract;
        long prog = sets(49, target, tlen, 1); printf("prog %d attach %ld\n", prog < 0 ? (int)prog : 0, attach(prog, 49));
        int c = socket(1, type | SOCK_NONBLOCK, 0); len = mk(&v, "nowhere", abstract); r = connect(c, (void *)&v, len); printf("connect elsewhere %ld\n", r < 0 ? (long)-errno : 0);
        memset(&v, 0, sizeof v); len = sizeof v; r = getpeername(c, (void *)&v, &len); name("peer", r, &v, len);
        detach(prog, 49);
        long deny = ({ struct insn a[] = {I(0xb7, 0, 0, 0, 0), I(0x95, 0, 0, 0, 0)}; load(a, 2, 49, 0); }); attach(deny, 49);
        int c2 = socket(1, type | SOCK_NONBLOCK, 0); len = mk(&v, "real", abstract); len = 2 + pre + 4; r = connect(c2, (void *)&v, len); printf("denied %ld\n", r < 0 ? (long)-errno : 0); 
        v.sun_family = 0; r = connect(c2, (void *)&v, len); printf("unspec %ld\n", r < 0 ? (long)-errno : 0); v.sun_family = 3; r = connect(c2, (void *)&v, len); printf("bad family %ld\n", r < 0 ? (long)-errno : 0); v.sun_family = 1; r = connect(c2, (void *)&v, 2); printf("short %ld\n", r < 0 ? (long)-errno : 0);
        detach(deny, 49); r = connect(c2, (void *)&v, len); printf("free %ld\n", r < 0 ? (long)-errno : 0);
        long gp = sets(52, "\0peer of all", 12, 1), gs = sets(53, "/a/name", 8, 1); attach(gp, 52); attach(gs, 53);
        memset(&v, 'x', sizeof v); len = sizeof v; r = getpeername(c2, (void *)&v, &len); name("peer", r, &v, len);
        len = 6; r = getpeername(c2, (void *)&v, &len); name("peer in 6", r, &v, len);
        memset(&v, 'x', sizeof v); len = sizeof v; r = getsockname(c2, (void *)&v, &len); name("self unnamed", r, &v, len);
        memset(&v, 'x', sizeof v); len = sizeof v; r = getsockname(l, (void *)&v, &len); name("self", r, &v, len);
        int pair[2]; socketpair(1, type, 0, pair); len = sizeof v; r = getpeername(pair[0], (void *)&v, &len); name("pair", r, &v, len);
        if (type == 1) {
            memset(&v, 'x', sizeof v); len = sizeof v; int s = accept(l, (void *)&v, &len); name("accept unnamed", s, &v, len);
            int c3 = socket(1, 1 | SOCK_NONBLOCK, 0); len = mk(&v, "mine", 1); bind(c3, (void *)&v, len); len = mk(&v, "real", abstract) - 1; printf("c3 %d\n", connect(c3, (void *)&v, 2 + pre + 4));
            memset(&v, 'x', sizeof v); len = sizeof v; int s2 = accept(l, (void *)&v, &len); name("accept next", s2, &v, len);
            memset(&v, 'x', sizeof v); len = sizeof v; int s3 = accept(l, (void *)&v, &len); name("accept named", s3, &v, len);
            detach(gp, 52); memset(&v, 'x', sizeof v); len = sizeof v; r = getpeername(s3, (void *)&v, &len); name("peer of accepted", r, &v, len);
            send(c3, "hello", 5, 0); memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(s3, buf, 2, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("stream", 0, &v, len);
            long rp = sets(51, "\0from me", 8, 1); printf("attach %ld\n", attach(rp, 51));
            memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(s3, buf, 1, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("stream", 0, &v, len);
            r = recvfrom(s3, buf, 1, MSG_PEEK, 0, 0); printf("got %ld\n", r);
            send(c2, "hello", 5, 0); send(c, "hi", 2, 0); memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(s, buf, 100, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("stream of unnamed", 0, &v, len);
            send(s3, "back", 4, 0); memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(c3, buf, 100, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("stream back", 0, &v, len);
            close(c3); memset(&v, 'x', sizeof v); len = sizeof v; recv(s3, buf, 100, MSG_DONTWAIT); r = recvfrom(s3, buf, 100, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("end", 0, &v, len);
            detach(rp, 51); close(s); close(s2); close(s3);
        } else {
            detach(gp, 52); detach(gs, 53);
            long sp = sets(50, target, tlen, 1); attach(sp, 50);
            int d = socket(1, 2 | SOCK_NONBLOCK, 0); len = mk(&v, "nowhere", abstract); r = sendto(d, "data", 4, MSG_DONTWAIT, (void *)&v, len); printf("send %ld\n", r < 0 ? (long)-errno : r);
            r = sendto(c, "pred", 4, 0, 0, 0); printf("send connected %ld\n", r < 0 ? (long)-errno : r);
            memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(l, buf, 100, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("unnamed", 0, &v, len);
            len = mk(&v, "dee", 1); bind(d, (void *)&v, len); v.sun_family = 7; r = sendto(d, "data", 4, MSG_DONTWAIT, (void *)&v, len); printf("bad family %ld\n", r < 0 ? (long)-errno : r); v.sun_family = 1; r = sendto(d, "data", 4, MSG_DONTWAIT, (void *)&v, len); printf("send %ld\n", r < 0 ? (long)-errno : r);
            long rp = sets(51, "\0from me", 8, 1); attach(rp, 51);
            memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(l, buf, 100, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("unnamed", 0, &v, len);
            memset(&v, 'x', sizeof v); len = sizeof v; r = recvfrom(l, buf, 100, MSG_DONTWAIT, (void *)&v, &len); printf("got %ld ", r); name("named", 0, &v, len);
            sendto(d, "data", 4, MSG_DONTWAIT, (void *)&v, 8); detach(sp, 50);
            long dn = ({ struct insn a[] = {I(0xb7, 0, 0, 0, 0), I(0x95, 0, 0, 0, 0)}; load(a, 2, 50, 0); }); attach(dn, 50);
            len = mk(&v, "real", abstract); r = sendto(d, "data", 4, MSG_DONTWAIT, (void *)&v, 2 + pre + 4); printf("denied %ld\n", r < 0 ? (long)-errno : r); r = sendto(c, "pred", 4, 0, 0, 0); printf("connected %ld\n", r < 0 ? (long)-errno : r);
            detach(dn, 50); detach(rp, 51); close(d);
        }
        detach(gp, 52); detach(gs, 53);
        /* sizes */
        static const int sizes[] = {1, 2, 107, 108};
        for (int i = 0; i < 4; i++) { char big[120]; memset(big, 'b', 120); big[0] = 0; long g = sets(52, big, sizes[i], 1); attach(g, 52); len = sizeof v; memset(&v, 'x', sizeof v); r = getpeername(c2, (void *)&v, &len); name("size", r, &v, len); detach(g, 52); close(g); }
        close(c); close(c2); close(l); close(pair[0]); close(pair[1]);
    }
    /* accept of inet */
    { struct insn a[] = {I(0xb4, 2, 0, 0, 0x04030201), I(0x63, 1, 2, 4, 0), I(0xb7, 0, 0, 0, 1), I(0x95, 0, 0, 0, 0)}; p = load(a, 4, 29, 0); printf("inet peer %ld", attach(p, 29));
      int l = socket(2, 1, 0); struct sockaddr_in s = {2, htons(700), {htonl(0x7f000001)}}; bind(l, (void *)&s, sizeof s); listen(l, 1); int c = socket(2, 1, 0); r = connect(c, (void *)&s, sizeof s); printf(" connect %ld", r);
      len = sizeof s; int n = accept(l, (void *)&s, &len); printf(" accept %x", ntohl(s.sin_addr.s_addr)); len = sizeof s; getpeername(n, (void *)&s, &len); printf(" peer %x\n", ntohl(s.sin_addr.s_addr)); }
    return 0;
}
