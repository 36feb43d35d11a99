/* Arguments of global functions and their tags: each program calls one function. tests/bpf/verifier/test_function_arguments.py */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define TAG(name) __attribute__((btf_decl_tag("arg:" name)))
#define GLOBAL __attribute__((noinline))

struct pair {
	int a, b;
};
struct no_such_struct_anywhere {
	int a;
};

#define TASK_PROGRAM(name, declaration, body, ...) \
	GLOBAL int f_##name(declaration) { body; } \
	SEC("?tp_btf/task_newtask") int name(void *ctx) \
	{ \
		struct task_struct *task = bpf_get_current_task_btf(); \
		struct pair pair = {}; \
		return f_##name(__VA_ARGS__); \
	}

TASK_PROGRAM(trusted, struct task_struct *t TAG("trusted"), return t->pid, task)
TASK_PROGRAM(trusted_null, struct task_struct *t TAG("trusted"), return t->pid, 0)
TASK_PROGRAM(nullable, struct task_struct *t TAG("trusted") TAG("nullable"), return t ? t->pid : 0, task)
TASK_PROGRAM(nullable_null, struct task_struct *t TAG("trusted") TAG("nullable"), return t ? t->pid : 0, 0)
TASK_PROGRAM(nullable_unchecked, struct task_struct *t TAG("trusted") TAG("nullable"), return t->pid, task)
TASK_PROGRAM(trusted_walk, struct task_struct *t TAG("trusted"), return t->real_parent->pid, task->group_leader)
TASK_PROGRAM(trusted_wrong, struct file *t TAG("trusted"), return t->f_flags, (struct file *)task)
TASK_PROGRAM(trusted_nonnull, struct task_struct *t TAG("trusted") TAG("nonnull"), return t->pid, task)
TASK_PROGRAM(trusted_nowhere, struct no_such_struct_anywhere *t TAG("trusted"), return t->a, (void *)task)
TASK_PROGRAM(trusted_scalar, int *t TAG("trusted"), return *t, (int *)task)
TASK_PROGRAM(trusted_not_pointer, int t TAG("trusted"), return t, 1)
TASK_PROGRAM(untagged, struct task_struct *t, return t ? t->pid : 0, task)
TASK_PROGRAM(nonnull, struct pair *p TAG("nonnull"), return p->a + p->b, &pair)
TASK_PROGRAM(nonnull_null, struct pair *p TAG("nonnull"), return p->a, 0)
TASK_PROGRAM(nonnull_unchecked, struct pair *p, return p->a, &pair)
TASK_PROGRAM(nullable_alone, struct pair *p TAG("nullable"), return p ? p->a : 0, &pair)
TASK_PROGRAM(nonnull_number, int p TAG("nonnull"), return p, 1)
TASK_PROGRAM(unknown_tag, struct pair *p TAG("whatever"), return p ? p->a : 0, &pair)
TASK_PROGRAM(untrusted, struct task_struct *t TAG("untrusted"), return t->pid, task)
TASK_PROGRAM(untrusted_number, struct task_struct *t TAG("untrusted"), return t->pid, (void *)5)
TASK_PROGRAM(untrusted_memory, int *t TAG("untrusted"), return *t, (void *)&pair)
TASK_PROGRAM(untrusted_written, int *t TAG("untrusted"), *t = 1; return 0, (void *)&pair)
TASK_PROGRAM(untrusted_trusted, struct task_struct *t TAG("untrusted") TAG("trusted"), return t->pid, task)
TASK_PROGRAM(untrusted_nowhere, struct no_such_struct_anywhere *t TAG("untrusted"), return t->a, (void *)task)
TASK_PROGRAM(ctx_void, void *c TAG("ctx"), return *(long *)c != 0, ctx)
TASK_PROGRAM(ctx_words, u64 *c TAG("ctx"), return c[0] != 0, ctx)
TASK_PROGRAM(ctx_other, struct pair *c TAG("ctx"), return c->a, (void *)ctx)
TASK_PROGRAM(ctx_not_passed, void *c TAG("ctx"), return *(long *)c != 0, &pair)
TASK_PROGRAM(ctx_nonnull, void *c TAG("ctx") TAG("nonnull"), return *(long *)c != 0, ctx)
TASK_PROGRAM(void_pointer, void *p, return p != 0, &pair)
TASK_PROGRAM(number_wanted, int n, return n, (int)(long)&pair)
TASK_PROGRAM(many, struct pair *p, return p ? p->b : 0, (void *)ctx)

GLOBAL static int static_tagged(struct pair *p TAG("nonnull"))
{
	return p->a + bpf_get_smp_processor_id();
}

SEC("?tp_btf/task_newtask") int tagged_static(void *ctx)
{
	struct pair pair = {};
	return static_tagged(&pair);
}

#define CTX_PROGRAM(name, section, type, passed) \
	GLOBAL int g_##name(type *c TAG("ctx")) { return c != 0; } \
	SEC(section) int name(passed *ctx) { return g_##name((void *)ctx); }

CTX_PROGRAM(kprobe_regs, "?kprobe/x", struct pt_regs, struct pt_regs)
CTX_PROGRAM(kprobe_typedef, "?kprobe/x", bpf_user_pt_regs_t, struct pt_regs)
CTX_PROGRAM(kprobe_words, "?kprobe/x", u64, struct pt_regs)
CTX_PROGRAM(perf_data, "?perf_event", struct bpf_perf_event_data, struct bpf_perf_event_data)
CTX_PROGRAM(perf_regs, "?perf_event", struct pt_regs, struct bpf_perf_event_data)
CTX_PROGRAM(raw_words, "?raw_tp/sys_enter", u64, struct bpf_raw_tracepoint_args)
CTX_PROGRAM(raw_args, "?raw_tp/sys_enter", struct bpf_raw_tracepoint_args, struct bpf_raw_tracepoint_args)
CTX_PROGRAM(raw_other, "?raw_tp/sys_enter", struct pair, struct bpf_raw_tracepoint_args)
CTX_PROGRAM(tracepoint_any, "?tp/syscalls/sys_enter_getpid", struct pair, void)
CTX_PROGRAM(classifier, "?tc", struct __sk_buff, struct __sk_buff)
CTX_PROGRAM(classifier_xdp, "?tc", struct xdp_md, struct __sk_buff)
CTX_PROGRAM(classifier_words, "?tc", u64, struct __sk_buff)
CTX_PROGRAM(xdp, "?xdp", struct xdp_md, struct xdp_md)
CTX_PROGRAM(fentry_words, "?fentry/bpf_fentry_test1", u64, void)
CTX_PROGRAM(fentry_regs, "?fentry/bpf_fentry_test1", struct pt_regs, void)
CTX_PROGRAM(tp_btf_args, "?tp_btf/task_newtask", struct bpf_raw_tracepoint_args, void)
CTX_PROGRAM(iter, "?iter/task", struct bpf_iter__task, struct bpf_iter__task)
CTX_PROGRAM(iter_other, "?iter/task", struct pair, struct bpf_iter__task)
CTX_PROGRAM(lsm_words, "?lsm/file_open", u64, void)
CTX_PROGRAM(syscall_any, "?syscall", struct pair, void)

GLOBAL int reads_dynptr(const struct bpf_dynptr *d)
{
	int n = 0;
	return bpf_dynptr_read(&n, sizeof(n), (void *)d, 0, 0) + n;
}

GLOBAL int tagged_dynptr(const struct bpf_dynptr *d TAG("nonnull"))
{
	return d != 0;
}

static char buffer[16];

SEC("?tc") int dynptr(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;

	bpf_dynptr_from_mem(buffer, sizeof(buffer), 0, &d);
	return reads_dynptr(&d);
}

SEC("?tc") int dynptr_not_made(struct __sk_buff *ctx)
{
	long d[2] = {};

	return reads_dynptr((void *)d);
}

SEC("?tc") int dynptr_tagged(struct __sk_buff *ctx)
{
	struct bpf_dynptr d;

	bpf_dynptr_from_mem(buffer, sizeof(buffer), 0, &d);
	return tagged_dynptr(&d);
}

char _license[] SEC("license") = "GPL";
