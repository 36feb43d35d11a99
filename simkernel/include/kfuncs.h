/*
 * Functions that BPF programs attach to or call: test functions, kfuncs, iterator targets.
 * net/bpf/test_run.c, kernel/trace/bpf_trace.c, kernel/bpf/*_iter.c, net/ipv4/bpf_tcp_ca.c.
 */

int bpf_fentry_test1(int a); /* since 5.5 */
int bpf_fentry_test2(int a, u64 b); /* since 5.5 */
int bpf_fentry_test3(char a, int b, u64 c); /* since 5.5 */
int bpf_fentry_test4(void *a, char b, int c, u64 d); /* since 5.5 */
int bpf_fentry_test5(u64 a, void *b, short int c, int d, u64 e); /* since 5.5 */
int bpf_fentry_test6(u64 a, void *b, short int c, int d, void *e, u64 f); /* since 5.5 */
int bpf_fentry_test7(struct bpf_fentry_test_t *arg); /* since 5.6 */
int bpf_fentry_test8(struct bpf_fentry_test_t *arg); /* since 5.6 */
int bpf_modify_return_test(int a, int *b); /* since 5.7 */
void bpf_kfunc_call_int_mem_release(int *p); /* since 5.18 */
void bpf_kfunc_call_memb1_release(struct prog_test_member1 *p); /* since 5.18 */
struct prog_test_member *bpf_kfunc_call_memb_acquire(void); /* since 5.18 */
void bpf_kfunc_call_memb_release(struct prog_test_member *p); /* since 5.18 */
u64 bpf_kfunc_call_test1(struct sock *sk, u32 a, u64 b, u32 c, u64 d); /* since 5.13 */
int bpf_kfunc_call_test2(struct sock *sk, u32 a, u32 b); /* since 5.13 */
struct sock *bpf_kfunc_call_test3(struct sock *sk); /* since 5.18 */
int *bpf_kfunc_call_test_acq_rdonly_mem(struct prog_test_ref_kfunc *p, const int rdonly_buf_size); /* since 5.18 */
struct prog_test_ref_kfunc *bpf_kfunc_call_test_acquire(unsigned long *scalar_ptr); /* since 5.18 */
void bpf_kfunc_call_test_destructive(void); /* since 5.18 */
void bpf_kfunc_call_test_fail1(struct prog_test_fail1 *p); /* since 5.18 */
void bpf_kfunc_call_test_fail2(struct prog_test_fail2 *p); /* since 5.18 */
void bpf_kfunc_call_test_fail3(struct prog_test_fail3 *p); /* since 5.18 */
int *bpf_kfunc_call_test_get_rdonly_mem(struct prog_test_ref_kfunc *p, const int rdonly_buf_size); /* since 5.18 */
int *bpf_kfunc_call_test_get_rdwr_mem(struct prog_test_ref_kfunc *p, const int rdwr_buf_size); /* since 5.18 */
struct prog_test_ref_kfunc *bpf_kfunc_call_test_kptr_get(struct prog_test_ref_kfunc **pp, int a, int b); /* since 5.18 */
void bpf_kfunc_call_test_mem_len_fail1(void *mem, int len); /* since 5.18 */
void bpf_kfunc_call_test_mem_len_fail2(u64 *mem, int len); /* since 5.18 */
void bpf_kfunc_call_test_mem_len_pass1(void *mem, int mem__sz); /* since 5.18 */
void bpf_kfunc_call_test_pass1(struct prog_test_pass1 *p); /* since 5.18 */
void bpf_kfunc_call_test_pass2(struct prog_test_pass2 *p); /* since 5.18 */
void bpf_kfunc_call_test_pass_ctx(struct __sk_buff *skb); /* since 5.18 */
void bpf_kfunc_call_test_ref(struct prog_test_ref_kfunc *p); /* since 5.18 */
void bpf_kfunc_call_test_release(struct prog_test_ref_kfunc *p); /* since 5.18 */
struct bpf_key *bpf_lookup_system_key(u64 id); /* since 6.1 */
struct bpf_key *bpf_lookup_user_key(u32 serial, u64 flags); /* since 6.1 */
void bpf_key_put(struct bpf_key *bkey); /* since 6.1 */
int bpf_verify_pkcs7_signature(struct bpf_dynptr_kern *data_ptr, struct bpf_dynptr_kern *sig_ptr, struct bpf_key *trusted_keyring); /* since 6.1 */
int bpf_iter_bpf_link(struct bpf_iter_meta *meta, struct bpf_link *link); /* since 5.19 */
int bpf_iter_bpf_map(struct bpf_iter_meta *meta, struct bpf_map *map); /* since 5.8 */
int bpf_iter_bpf_prog(struct bpf_iter_meta *meta, struct bpf_prog *prog); /* since 5.9 */
int bpf_iter_bpf_map_elem(struct bpf_iter_meta *meta, struct bpf_map *map, void *key, void *value); /* since 5.8 */
int bpf_iter_bpf_sk_storage_map(struct bpf_iter_meta *meta, struct bpf_map *map, struct sock *sk, void *value); /* since 5.8 */
int bpf_iter_cgroup(struct bpf_iter_meta *meta, struct cgroup *cgroup); /* since 6.1 */
int bpf_iter_ipv6_route(struct bpf_iter_meta *meta, struct fib6_info *rt); /* since 5.8 */
int bpf_iter_ksym(struct bpf_iter_meta *meta, struct kallsym_iter *ksym); /* since 6.0 */
int bpf_iter_netlink(struct bpf_iter_meta *meta, struct netlink_sock *sk); /* since 5.8 */
int bpf_iter_sockmap(struct bpf_iter_meta *meta, struct bpf_map *map, void *key, struct sock *sk); /* since 5.8 */
int bpf_iter_task(struct bpf_iter_meta *meta, struct task_struct *task); /* since 5.8 */
int bpf_iter_task_file(struct bpf_iter_meta *meta, struct task_struct *task, u32 fd, struct file *file); /* since 5.8 */
int bpf_iter_task_vma(struct bpf_iter_meta *meta, struct task_struct *task, struct vm_area_struct *vma); /* since 5.12 */
int bpf_iter_tcp(struct bpf_iter_meta *meta, struct sock_common *sk_common, uid_t uid); /* since 5.8 */
int bpf_iter_udp(struct bpf_iter_meta *meta, struct udp_sock *udp_sk, uid_t uid, int bucket); /* since 5.8 */
int bpf_iter_unix(struct bpf_iter_meta *meta, struct unix_sock *unix_sk, uid_t uid); /* since 5.15 */
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked); /* since 5.13 */
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked); /* since 5.13 */
u32 tcp_reno_ssthresh(struct sock *sk); /* since 5.13 */
u32 tcp_reno_undo_cwnd(struct sock *sk); /* since 5.13 */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked); /* since 5.13 */
void cubictcp_acked(struct sock *sk, const struct ack_sample *sample); /* since 5.13 */
void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked); /* since 5.13 */
void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event); /* since 5.13 */
u32 cubictcp_recalc_ssthresh(struct sock *sk); /* since 5.13 */
void cubictcp_state(struct sock *sk, u8 new_state); /* since 5.13 */
void crash_kexec(struct pt_regs *regs); /* since 5.13 */
