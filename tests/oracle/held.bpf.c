/* Global and static functions that are called with a lock held, without preemption, in read sections. tests/bpf/verifier/test_function_arguments.py */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#define GLOBAL __attribute__((noinline))
struct value { struct bpf_spin_lock lock; int n; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, int); __type(value, struct value); } map SEC(".maps");
void bpf_preempt_disable(void) __ksym; void bpf_preempt_enable(void) __ksym; void bpf_rcu_read_lock(void) __ksym; void bpf_rcu_read_unlock(void) __ksym;
char buf[8];
GLOBAL int quiet(int n) { return n + 1; }
GLOBAL int sleeps(int n) { return bpf_copy_from_user(buf, 8, (void *)8) + n; }
static GLOBAL int own(struct value *v) { return v->n += 2; }
static GLOBAL int takes(struct value *v) { bpf_spin_lock(&v->lock); return v->n; }
#define LOOK int key = 0; struct value *v = bpf_map_lookup_elem(&map, &key); if (!v) return 0;
SEC("?tc") int lock_global(void *ctx) { LOOK bpf_spin_lock(&v->lock); int r = quiet(1); bpf_spin_unlock(&v->lock); return r; }
SEC("?tc") int lock_static(void *ctx) { LOOK bpf_spin_lock(&v->lock); int r = own(v); bpf_spin_unlock(&v->lock); return r; }
SEC("?tc") int lock_taken(void *ctx) { LOOK int r = takes(v); bpf_spin_unlock(&v->lock); return r; }
SEC("?tc") int lock_left(void *ctx) { LOOK return takes(v); }
SEC("?tc") int preempt_global(void *ctx) { bpf_preempt_disable(); int r = quiet(1); bpf_preempt_enable(); return r; }
SEC("?syscall") int preempt_sleeps(void *ctx) { bpf_preempt_disable(); int r = sleeps(1); bpf_preempt_enable(); return r; }
SEC("?syscall") int rcu_sleeps(void *ctx) { bpf_rcu_read_lock(); int r = sleeps(1); bpf_rcu_read_unlock(); return r; }
SEC("?syscall") int just_sleeps(void *ctx) { return sleeps(1); }
SEC("?tc") int cannot_sleep(void *ctx) { return sleeps(1); }
char _license[] SEC("license") = "GPL";
