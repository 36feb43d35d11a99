/* Security hooks that BPF programs can attach to, and the functions that ask them.  include/linux/{lsm_hook_defs,security}.h, kernel/bpf/bpf_lsm.c. */

typedef struct __key_reference_with_attributes *key_ref_t;
enum kernel_read_file_id {
	READING_UNKNOWN,
	READING_FIRMWARE,
	READING_MODULE,
	READING_KEXEC_IMAGE,
	READING_KEXEC_INITRAMFS,
	READING_POLICY,
	READING_X509_CERTIFICATE,
	READING_MAX_ID,
};
enum kernel_load_data_id {
	LOADING_UNKNOWN,
	LOADING_FIRMWARE,
	LOADING_MODULE,
	LOADING_KEXEC_IMAGE,
	LOADING_KEXEC_INITRAMFS,
	LOADING_POLICY,
	LOADING_X509_CERTIFICATE,
	LOADING_MAX_ID,
};
enum lockdown_reason {
	LOCKDOWN_NONE,
	LOCKDOWN_MODULE_SIGNATURE,
	LOCKDOWN_DEV_MEM,
	LOCKDOWN_EFI_TEST,
	LOCKDOWN_KEXEC,
	LOCKDOWN_HIBERNATION,
	LOCKDOWN_PCI_ACCESS,
	LOCKDOWN_IOPORT,
	LOCKDOWN_MSR,
	LOCKDOWN_ACPI_TABLES,
	LOCKDOWN_DEVICE_TREE,
	LOCKDOWN_PCMCIA_CIS,
	LOCKDOWN_TIOCSSERIAL,
	LOCKDOWN_MODULE_PARAMETERS,
	LOCKDOWN_MMIOTRACE,
	LOCKDOWN_DEBUGFS,
	LOCKDOWN_XMON_WR,
	LOCKDOWN_BPF_WRITE_USER,
	LOCKDOWN_DBG_WRITE_KERNEL,
	LOCKDOWN_RTAS_ERROR_INJECTION,
	LOCKDOWN_XEN_USER_ACTIONS,
	LOCKDOWN_INTEGRITY_MAX,
	LOCKDOWN_KCORE,
	LOCKDOWN_KPROBES,
	LOCKDOWN_BPF_READ_KERNEL,
	LOCKDOWN_DBG_READ_KERNEL,
	LOCKDOWN_PERF,
	LOCKDOWN_TRACEFS,
	LOCKDOWN_XMON_RW,
	LOCKDOWN_XFRM_SECRET,
	LOCKDOWN_CONFIDENTIALITY_MAX,
};
enum key_need_perm {
	KEY_NEED_UNSPECIFIED,
	KEY_NEED_VIEW,
	KEY_NEED_READ,
	KEY_NEED_WRITE,
	KEY_NEED_SEARCH,
	KEY_NEED_LINK,
	KEY_NEED_SETATTR,
	KEY_NEED_UNLINK,
	KEY_SYSADMIN_OVERRIDE,
	KEY_AUTHTOKEN_OVERRIDE,
	KEY_DEFER_PERM_CHECK,
};

void bpf_lsm_audit_rule_free(void *lsmrule); /* since 5.7 */
int bpf_lsm_audit_rule_init(u32 field, u32 op, char *rulestr, void **lsmrule); /* since 5.7 */
int bpf_lsm_audit_rule_known(struct audit_krule *krule); /* since 5.7 */
int bpf_lsm_audit_rule_match(u32 secid, u32 field, u32 op, void *lsmrule); /* since 5.7 */
int bpf_lsm_binder_set_context_mgr(const struct cred *mgr); /* since 5.7 */
int bpf_lsm_binder_transaction(const struct cred *from, const struct cred *to); /* since 5.7 */
int bpf_lsm_binder_transfer_binder(const struct cred *from, const struct cred *to); /* since 5.7 */
int bpf_lsm_binder_transfer_file(const struct cred *from, const struct cred *to, struct file *file); /* since 5.7 */
int bpf_lsm_bpf(int cmd, union bpf_attr *attr, unsigned int size); /* since 5.7 */
int bpf_lsm_bpf_map(struct bpf_map *map, fmode_t fmode); /* since 5.7 */
int bpf_lsm_bpf_map_alloc_security(struct bpf_map *map); /* since 5.7 */
void bpf_lsm_bpf_map_free_security(struct bpf_map *map); /* since 5.7 */
int bpf_lsm_bpf_prog(struct bpf_prog *prog); /* since 5.7 */
int bpf_lsm_bpf_prog_alloc_security(struct bpf_prog_aux *aux); /* since 5.7 */
void bpf_lsm_bpf_prog_free_security(struct bpf_prog_aux *aux); /* since 5.7 */
int bpf_lsm_bprm_check_security(struct linux_binprm *bprm); /* since 5.7 */
void bpf_lsm_bprm_committed_creds(struct linux_binprm *bprm); /* since 5.7 */
void bpf_lsm_bprm_committing_creds(struct linux_binprm *bprm); /* since 5.7 */
int bpf_lsm_bprm_creds_for_exec(struct linux_binprm *bprm); /* since 5.7 */
int bpf_lsm_bprm_creds_from_file(struct linux_binprm *bprm, struct file *file); /* since 5.7 */
int bpf_lsm_capable(const struct cred *cred, struct user_namespace *ns, int cap, unsigned int opts); /* since 5.7 */
int bpf_lsm_capget(struct task_struct *target, kernel_cap_t *effective, kernel_cap_t *inheritable, kernel_cap_t *permitted); /* since 5.7 */
int bpf_lsm_capset(struct cred *new, const struct cred *old, const kernel_cap_t *effective, const kernel_cap_t *inheritable, const kernel_cap_t *permitted); /* since 5.7 */
int bpf_lsm_cred_alloc_blank(struct cred *cred, gfp_t gfp); /* since 5.7 */
void bpf_lsm_cred_free(struct cred *cred); /* since 5.7 */
void bpf_lsm_cred_getsecid(const struct cred *c, u32 *secid); /* since 5.7 */
int bpf_lsm_cred_prepare(struct cred *new, const struct cred *old, gfp_t gfp); /* since 5.7 */
void bpf_lsm_cred_transfer(struct cred *new, const struct cred *old); /* since 5.7 */
void bpf_lsm_current_getsecid_subj(u32 *secid); /* since 5.7 */
void bpf_lsm_d_instantiate(struct dentry *dentry, struct inode *inode); /* since 5.7 */
int bpf_lsm_dentry_create_files_as(struct dentry *dentry, int mode, struct qstr *name, const struct cred *old, struct cred *new); /* since 5.7 */
int bpf_lsm_dentry_init_security(struct dentry *dentry, int mode, const struct qstr *name, const char **xattr_name, void **ctx, u32 *ctxlen); /* since 5.7 */
int bpf_lsm_file_alloc_security(struct file *file); /* since 5.7 */
int bpf_lsm_file_fcntl(struct file *file, unsigned int cmd, unsigned long arg); /* since 5.7 */
void bpf_lsm_file_free_security(struct file *file); /* since 5.7 */
int bpf_lsm_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg); /* since 5.7 */
int bpf_lsm_file_ioctl_compat(struct file *file, unsigned int cmd, unsigned long arg); /* since 5.7 */
int bpf_lsm_file_lock(struct file *file, unsigned int cmd); /* since 5.7 */
int bpf_lsm_file_mprotect(struct vm_area_struct *vma, unsigned long reqprot, unsigned long prot); /* since 5.7 */
int bpf_lsm_file_open(struct file *file); /* since 5.7 */
int bpf_lsm_file_permission(struct file *file, int mask); /* since 5.7 */
int bpf_lsm_file_receive(struct file *file); /* since 5.7 */
int bpf_lsm_file_send_sigiotask(struct task_struct *tsk, struct fown_struct *fown, int sig); /* since 5.7 */
void bpf_lsm_file_set_fowner(struct file *file); /* since 5.7 */
int bpf_lsm_fs_context_dup(struct fs_context *fc, struct fs_context *src_sc); /* since 5.7 */
int bpf_lsm_fs_context_parse_param(struct fs_context *fc, struct fs_parameter *param); /* since 5.7 */
int bpf_lsm_fs_context_submount(struct fs_context *fc, struct super_block *reference); /* since 5.7 */
int bpf_lsm_getprocattr(struct task_struct *p, const char *name, char **value); /* since 5.7 */
void bpf_lsm_inet_conn_established(struct sock *sk, struct sk_buff *skb); /* since 5.7 */
int bpf_lsm_inet_conn_request(const struct sock *sk, struct sk_buff *skb, struct request_sock *req); /* since 5.7 */
void bpf_lsm_inet_csk_clone(struct sock *newsk, const struct request_sock *req); /* since 5.7 */
int bpf_lsm_inode_alloc_security(struct inode *inode); /* since 5.7 */
int bpf_lsm_inode_copy_up(struct dentry *src, struct cred **new); /* since 5.7 */
int bpf_lsm_inode_copy_up_xattr(const char *name); /* since 5.7 */
int bpf_lsm_inode_create(struct inode *dir, struct dentry *dentry, umode_t mode); /* since 5.7 */
int bpf_lsm_inode_follow_link(struct dentry *dentry, struct inode *inode, bool rcu); /* since 5.7 */
void bpf_lsm_inode_free_security(struct inode *inode); /* since 5.7 */
int bpf_lsm_inode_getattr(const struct path *path); /* since 5.7 */
int bpf_lsm_inode_getsecctx(struct inode *inode, void **ctx, u32 *ctxlen); /* since 5.7 */
void bpf_lsm_inode_getsecid(struct inode *inode, u32 *secid); /* since 5.7 */
int bpf_lsm_inode_getsecurity(struct user_namespace *mnt_userns, struct inode *inode, const char *name, void **buffer, bool alloc); /* since 5.7 */
int bpf_lsm_inode_getxattr(struct dentry *dentry, const char *name); /* since 5.7 */
int bpf_lsm_inode_init_security(struct inode *inode, struct inode *dir, const struct qstr *qstr, const char **name, void **value, size_t *len); /* since 5.7 */
int bpf_lsm_inode_init_security_anon(struct inode *inode, const struct qstr *name, const struct inode *context_inode); /* since 5.7 */
void bpf_lsm_inode_invalidate_secctx(struct inode *inode); /* since 5.7 */
int bpf_lsm_inode_killpriv(struct user_namespace *mnt_userns, struct dentry *dentry); /* since 5.7 */
int bpf_lsm_inode_link(struct dentry *old_dentry, struct inode *dir, struct dentry *new_dentry); /* since 5.7 */
int bpf_lsm_inode_listsecurity(struct inode *inode, char *buffer, size_t buffer_size); /* since 5.7 */
int bpf_lsm_inode_listxattr(struct dentry *dentry); /* since 5.7 */
int bpf_lsm_inode_mkdir(struct inode *dir, struct dentry *dentry, umode_t mode); /* since 5.7 */
int bpf_lsm_inode_mknod(struct inode *dir, struct dentry *dentry, umode_t mode, dev_t dev); /* since 5.7 */
int bpf_lsm_inode_need_killpriv(struct dentry *dentry); /* since 5.7 */
int bpf_lsm_inode_notifysecctx(struct inode *inode, void *ctx, u32 ctxlen); /* since 5.7 */
int bpf_lsm_inode_permission(struct inode *inode, int mask); /* since 5.7 */
void bpf_lsm_inode_post_setxattr(struct dentry *dentry, const char *name, const void *value, size_t size, int flags); /* since 5.7 */
int bpf_lsm_inode_readlink(struct dentry *dentry); /* since 5.7 */
int bpf_lsm_inode_removexattr(struct user_namespace *mnt_userns, struct dentry *dentry, const char *name); /* since 5.7 */
int bpf_lsm_inode_rename(struct inode *old_dir, struct dentry *old_dentry, struct inode *new_dir, struct dentry *new_dentry); /* since 5.7 */
int bpf_lsm_inode_rmdir(struct inode *dir, struct dentry *dentry); /* since 5.7 */
int bpf_lsm_inode_setattr(struct dentry *dentry, struct iattr *attr); /* since 5.7 */
int bpf_lsm_inode_setsecctx(struct dentry *dentry, void *ctx, u32 ctxlen); /* since 5.7 */
int bpf_lsm_inode_setsecurity(struct inode *inode, const char *name, const void *value, size_t size, int flags); /* since 5.7 */
int bpf_lsm_inode_setxattr(struct user_namespace *mnt_userns, struct dentry *dentry, const char *name, const void *value, size_t size, int flags); /* since 5.7 */
int bpf_lsm_inode_symlink(struct inode *dir, struct dentry *dentry, const char *old_name); /* since 5.7 */
int bpf_lsm_inode_unlink(struct inode *dir, struct dentry *dentry); /* since 5.7 */
void bpf_lsm_ipc_getsecid(struct kern_ipc_perm *ipcp, u32 *secid); /* since 5.7 */
int bpf_lsm_ipc_permission(struct kern_ipc_perm *ipcp, short int flag); /* since 5.7 */
int bpf_lsm_ismaclabel(const char *name); /* since 5.7 */
int bpf_lsm_kernel_act_as(struct cred *new, u32 secid); /* since 5.7 */
int bpf_lsm_kernel_create_files_as(struct cred *new, struct inode *inode); /* since 5.7 */
int bpf_lsm_kernel_load_data(enum kernel_load_data_id id, bool contents); /* since 5.7 */
int bpf_lsm_kernel_module_request(char *kmod_name); /* since 5.7 */
int bpf_lsm_kernel_post_load_data(char *buf, loff_t size, enum kernel_load_data_id id, char *description); /* since 5.7 */
int bpf_lsm_kernel_post_read_file(struct file *file, char *buf, loff_t size, enum kernel_read_file_id id); /* since 5.7 */
int bpf_lsm_kernel_read_file(struct file *file, enum kernel_read_file_id id, bool contents); /* since 5.7 */
int bpf_lsm_kernfs_init_security(struct kernfs_node *kn_dir, struct kernfs_node *kn); /* since 5.7 */
int bpf_lsm_key_alloc(struct key *key, const struct cred *cred, unsigned long flags); /* since 5.7 */
void bpf_lsm_key_free(struct key *key); /* since 5.7 */
int bpf_lsm_key_getsecurity(struct key *key, char **_buffer); /* since 5.7 */
int bpf_lsm_key_permission(key_ref_t key_ref, const struct cred *cred, enum key_need_perm need_perm); /* since 5.7 */
int bpf_lsm_locked_down(enum lockdown_reason what); /* since 5.7 */
int bpf_lsm_mmap_addr(unsigned long addr); /* since 5.7 */
int bpf_lsm_mmap_file(struct file *file, unsigned long reqprot, unsigned long prot, unsigned long flags); /* since 5.7 */
int bpf_lsm_move_mount(const struct path *from_path, const struct path *to_path); /* since 5.7 */
int bpf_lsm_msg_msg_alloc_security(struct msg_msg *msg); /* since 5.7 */
void bpf_lsm_msg_msg_free_security(struct msg_msg *msg); /* since 5.7 */
int bpf_lsm_msg_queue_alloc_security(struct kern_ipc_perm *perm); /* since 5.7 */
int bpf_lsm_msg_queue_associate(struct kern_ipc_perm *perm, int msqflg); /* since 5.7 */
void bpf_lsm_msg_queue_free_security(struct kern_ipc_perm *perm); /* since 5.7 */
int bpf_lsm_msg_queue_msgctl(struct kern_ipc_perm *perm, int cmd); /* since 5.7 */
int bpf_lsm_msg_queue_msgrcv(struct kern_ipc_perm *perm, struct msg_msg *msg, struct task_struct *target, long type, int mode); /* since 5.7 */
int bpf_lsm_msg_queue_msgsnd(struct kern_ipc_perm *perm, struct msg_msg *msg, int msqflg); /* since 5.7 */
int bpf_lsm_netlink_send(struct sock *sk, struct sk_buff *skb); /* since 5.7 */
int bpf_lsm_path_chmod(const struct path *path, umode_t mode); /* since 5.7 */
int bpf_lsm_path_chown(const struct path *path, kuid_t uid, kgid_t gid); /* since 5.7 */
int bpf_lsm_path_chroot(const struct path *path); /* since 5.7 */
int bpf_lsm_path_link(struct dentry *old_dentry, const struct path *new_dir, struct dentry *new_dentry); /* since 5.7 */
int bpf_lsm_path_mkdir(const struct path *dir, struct dentry *dentry, umode_t mode); /* since 5.7 */
int bpf_lsm_path_mknod(const struct path *dir, struct dentry *dentry, umode_t mode, unsigned int dev); /* since 5.7 */
int bpf_lsm_path_notify(const struct path *path, u64 mask, unsigned int obj_type); /* since 5.7 */
int bpf_lsm_path_rename(const struct path *old_dir, struct dentry *old_dentry, const struct path *new_dir, struct dentry *new_dentry, unsigned int flags); /* since 5.7 */
int bpf_lsm_path_rmdir(const struct path *dir, struct dentry *dentry); /* since 5.7 */
int bpf_lsm_path_symlink(const struct path *dir, struct dentry *dentry, const char *old_name); /* since 5.7 */
int bpf_lsm_path_truncate(const struct path *path); /* since 5.7 */
int bpf_lsm_path_unlink(const struct path *dir, struct dentry *dentry); /* since 5.7 */
int bpf_lsm_perf_event_alloc(struct perf_event *event); /* since 5.7 */
void bpf_lsm_perf_event_free(struct perf_event *event); /* since 5.7 */
int bpf_lsm_perf_event_open(struct perf_event_attr *attr, int type); /* since 5.7 */
int bpf_lsm_perf_event_read(struct perf_event *event); /* since 5.7 */
int bpf_lsm_perf_event_write(struct perf_event *event); /* since 5.7 */
int bpf_lsm_ptrace_access_check(struct task_struct *child, unsigned int mode); /* since 5.7 */
int bpf_lsm_ptrace_traceme(struct task_struct *parent); /* since 5.7 */
int bpf_lsm_quota_on(struct dentry *dentry); /* since 5.7 */
int bpf_lsm_quotactl(int cmds, int type, int id, struct super_block *sb); /* since 5.7 */
void bpf_lsm_release_secctx(char *secdata, u32 seclen); /* since 5.7 */
void bpf_lsm_req_classify_flow(const struct request_sock *req, struct flowi_common *flic); /* since 5.7 */
int bpf_lsm_sb_alloc_security(struct super_block *sb); /* since 5.7 */
int bpf_lsm_sb_clone_mnt_opts(const struct super_block *oldsb, struct super_block *newsb, unsigned long kern_flags, unsigned long *set_kern_flags); /* since 5.7 */
void bpf_lsm_sb_delete(struct super_block *sb); /* since 5.7 */
int bpf_lsm_sb_eat_lsm_opts(char *orig, void **mnt_opts); /* since 5.7 */
void bpf_lsm_sb_free_mnt_opts(void *mnt_opts); /* since 5.7 */
void bpf_lsm_sb_free_security(struct super_block *sb); /* since 5.7 */
int bpf_lsm_sb_kern_mount(struct super_block *sb); /* since 5.7 */
int bpf_lsm_sb_mnt_opts_compat(struct super_block *sb, void *mnt_opts); /* since 5.7 */
int bpf_lsm_sb_mount(const char *dev_name, const struct path *path, const char *type, unsigned long flags, void *data); /* since 5.7 */
int bpf_lsm_sb_pivotroot(const struct path *old_path, const struct path *new_path); /* since 5.7 */
int bpf_lsm_sb_remount(struct super_block *sb, void *mnt_opts); /* since 5.7 */
int bpf_lsm_sb_set_mnt_opts(struct super_block *sb, void *mnt_opts, unsigned long kern_flags, unsigned long *set_kern_flags); /* since 5.7 */
int bpf_lsm_sb_show_options(struct seq_file *m, struct super_block *sb); /* since 5.7 */
int bpf_lsm_sb_statfs(struct dentry *dentry); /* since 5.7 */
int bpf_lsm_sb_umount(struct vfsmount *mnt, int flags); /* since 5.7 */
int bpf_lsm_sctp_assoc_established(struct sctp_association *asoc, struct sk_buff *skb); /* since 5.7 */
int bpf_lsm_sctp_assoc_request(struct sctp_association *asoc, struct sk_buff *skb); /* since 5.7 */
int bpf_lsm_sctp_bind_connect(struct sock *sk, int optname, struct sockaddr *address, int addrlen); /* since 5.7 */
void bpf_lsm_sctp_sk_clone(struct sctp_association *asoc, struct sock *sk, struct sock *newsk); /* since 5.7 */
int bpf_lsm_secctx_to_secid(const char *secdata, u32 seclen, u32 *secid); /* since 5.7 */
int bpf_lsm_secid_to_secctx(u32 secid, char **secdata, u32 *seclen); /* since 5.7 */
void bpf_lsm_secmark_refcount_dec(void); /* since 5.7 */
void bpf_lsm_secmark_refcount_inc(void); /* since 5.7 */
int bpf_lsm_secmark_relabel_packet(u32 secid); /* since 5.7 */
int bpf_lsm_sem_alloc_security(struct kern_ipc_perm *perm); /* since 5.7 */
int bpf_lsm_sem_associate(struct kern_ipc_perm *perm, int semflg); /* since 5.7 */
void bpf_lsm_sem_free_security(struct kern_ipc_perm *perm); /* since 5.7 */
int bpf_lsm_sem_semctl(struct kern_ipc_perm *perm, int cmd); /* since 5.7 */
int bpf_lsm_sem_semop(struct kern_ipc_perm *perm, struct sembuf *sops, unsigned int nsops, int alter); /* since 5.7 */
int bpf_lsm_setprocattr(const char *name, void *value, size_t size); /* since 5.7 */
int bpf_lsm_settime(const struct timespec64 *ts, const struct timezone *tz); /* since 5.7 */
int bpf_lsm_shm_alloc_security(struct kern_ipc_perm *perm); /* since 5.7 */
int bpf_lsm_shm_associate(struct kern_ipc_perm *perm, int shmflg); /* since 5.7 */
void bpf_lsm_shm_free_security(struct kern_ipc_perm *perm); /* since 5.7 */
int bpf_lsm_shm_shmat(struct kern_ipc_perm *perm, char *shmaddr, int shmflg); /* since 5.7 */
int bpf_lsm_shm_shmctl(struct kern_ipc_perm *perm, int cmd); /* since 5.7 */
int bpf_lsm_sk_alloc_security(struct sock *sk, int family, gfp_t priority); /* since 5.7 */
void bpf_lsm_sk_clone_security(const struct sock *sk, struct sock *newsk); /* since 5.7 */
void bpf_lsm_sk_free_security(struct sock *sk); /* since 5.7 */
void bpf_lsm_sk_getsecid(struct sock *sk, u32 *secid); /* since 5.7 */
void bpf_lsm_sock_graft(struct sock *sk, struct socket *parent); /* since 5.7 */
int bpf_lsm_socket_accept(struct socket *sock, struct socket *newsock); /* since 5.7 */
int bpf_lsm_socket_bind(struct socket *sock, struct sockaddr *address, int addrlen); /* since 5.7 */
int bpf_lsm_socket_connect(struct socket *sock, struct sockaddr *address, int addrlen); /* since 5.7 */
int bpf_lsm_socket_create(int family, int type, int protocol, int kern); /* since 5.7 */
int bpf_lsm_socket_getpeername(struct socket *sock); /* since 5.7 */
int bpf_lsm_socket_getpeersec_dgram(struct socket *sock, struct sk_buff *skb, u32 *secid); /* since 5.7 */
int bpf_lsm_socket_getpeersec_stream(struct socket *sock, char *optval, int *optlen, unsigned int len); /* since 5.7 */
int bpf_lsm_socket_getsockname(struct socket *sock); /* since 5.7 */
int bpf_lsm_socket_getsockopt(struct socket *sock, int level, int optname); /* since 5.7 */
int bpf_lsm_socket_listen(struct socket *sock, int backlog); /* since 5.7 */
int bpf_lsm_socket_post_create(struct socket *sock, int family, int type, int protocol, int kern); /* since 5.7 */
int bpf_lsm_socket_recvmsg(struct socket *sock, struct msghdr *msg, int size, int flags); /* since 5.7 */
int bpf_lsm_socket_sendmsg(struct socket *sock, struct msghdr *msg, int size); /* since 5.7 */
int bpf_lsm_socket_setsockopt(struct socket *sock, int level, int optname); /* since 5.7 */
int bpf_lsm_socket_shutdown(struct socket *sock, int how); /* since 5.7 */
int bpf_lsm_socket_sock_rcv_skb(struct sock *sk, struct sk_buff *skb); /* since 5.7 */
int bpf_lsm_socket_socketpair(struct socket *socka, struct socket *sockb); /* since 5.7 */
int bpf_lsm_syslog(int type); /* since 5.7 */
int bpf_lsm_task_alloc(struct task_struct *task, unsigned long clone_flags); /* since 5.7 */
int bpf_lsm_task_fix_setgid(struct cred *new, const struct cred *old, int flags); /* since 5.7 */
int bpf_lsm_task_fix_setgroups(struct cred *new, const struct cred *old); /* since 5.7 */
int bpf_lsm_task_fix_setuid(struct cred *new, const struct cred *old, int flags); /* since 5.7 */
void bpf_lsm_task_free(struct task_struct *task); /* since 5.7 */
int bpf_lsm_task_getioprio(struct task_struct *p); /* since 5.7 */
int bpf_lsm_task_getpgid(struct task_struct *p); /* since 5.7 */
int bpf_lsm_task_getscheduler(struct task_struct *p); /* since 5.7 */
void bpf_lsm_task_getsecid_obj(struct task_struct *p, u32 *secid); /* since 5.7 */
int bpf_lsm_task_getsid(struct task_struct *p); /* since 5.7 */
int bpf_lsm_task_kill(struct task_struct *p, struct kernel_siginfo *info, int sig, const struct cred *cred); /* since 5.7 */
int bpf_lsm_task_movememory(struct task_struct *p); /* since 5.7 */
int bpf_lsm_task_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5); /* since 5.7 */
int bpf_lsm_task_prlimit(const struct cred *cred, const struct cred *tcred, unsigned int flags); /* since 5.7 */
int bpf_lsm_task_setioprio(struct task_struct *p, int ioprio); /* since 5.7 */
int bpf_lsm_task_setnice(struct task_struct *p, int nice); /* since 5.7 */
int bpf_lsm_task_setpgid(struct task_struct *p, pid_t pgid); /* since 5.7 */
int bpf_lsm_task_setrlimit(struct task_struct *p, unsigned int resource, struct rlimit *new_rlim); /* since 5.7 */
int bpf_lsm_task_setscheduler(struct task_struct *p); /* since 5.7 */
void bpf_lsm_task_to_inode(struct task_struct *p, struct inode *inode); /* since 5.7 */
int bpf_lsm_tun_dev_alloc_security(void **security); /* since 5.7 */
int bpf_lsm_tun_dev_attach(struct sock *sk, void *security); /* since 5.7 */
int bpf_lsm_tun_dev_attach_queue(void *security); /* since 5.7 */
int bpf_lsm_tun_dev_create(void); /* since 5.7 */
void bpf_lsm_tun_dev_free_security(void *security); /* since 5.7 */
int bpf_lsm_tun_dev_open(void *security); /* since 5.7 */
int bpf_lsm_unix_may_send(struct socket *sock, struct socket *other); /* since 5.7 */
int bpf_lsm_unix_stream_connect(struct sock *sock, struct sock *other, struct sock *newsk); /* since 5.7 */
int bpf_lsm_uring_cmd(struct io_uring_cmd *ioucmd); /* since 5.7 */
int bpf_lsm_uring_override_creds(const struct cred *new); /* since 5.7 */
int bpf_lsm_uring_sqpoll(void); /* since 5.7 */
int bpf_lsm_userns_create(const struct cred *cred); /* since 5.7 */
int bpf_lsm_vm_enough_memory(struct mm_struct *mm, long pages); /* since 5.7 */
int bpf_lsm_xfrm_decode_session(struct sk_buff *skb, u32 *secid, int ckall); /* since 5.7 */
int bpf_lsm_xfrm_policy_alloc_security(struct xfrm_sec_ctx **ctxp, struct xfrm_user_sec_ctx *sec_ctx, gfp_t gfp); /* since 5.7 */
int bpf_lsm_xfrm_policy_clone_security(struct xfrm_sec_ctx *old_ctx, struct xfrm_sec_ctx **new_ctx); /* since 5.7 */
int bpf_lsm_xfrm_policy_delete_security(struct xfrm_sec_ctx *ctx); /* since 5.7 */
void bpf_lsm_xfrm_policy_free_security(struct xfrm_sec_ctx *ctx); /* since 5.7 */
int bpf_lsm_xfrm_policy_lookup(struct xfrm_sec_ctx *ctx, u32 fl_secid); /* since 5.7 */
int bpf_lsm_xfrm_state_alloc(struct xfrm_state *x, struct xfrm_user_sec_ctx *sec_ctx); /* since 5.7 */
int bpf_lsm_xfrm_state_alloc_acquire(struct xfrm_state *x, struct xfrm_sec_ctx *polsec, u32 secid); /* since 5.7 */
int bpf_lsm_xfrm_state_delete_security(struct xfrm_state *x); /* since 5.7 */
void bpf_lsm_xfrm_state_free_security(struct xfrm_state *x); /* since 5.7 */
int bpf_lsm_xfrm_state_pol_flow_match(struct xfrm_state *x, struct xfrm_policy *xp, const struct flowi_common *flic); /* since 5.7 */

void security_audit_rule_free(void *lsmrule); /* since 5.7 */
int security_audit_rule_init(u32 field, u32 op, char *rulestr, void **lsmrule); /* since 5.7 */
int security_audit_rule_known(struct audit_krule *krule); /* since 5.7 */
int security_audit_rule_match(u32 secid, u32 field, u32 op, void *lsmrule); /* since 5.7 */
int security_binder_set_context_mgr(const struct cred *mgr); /* since 5.7 */
int security_binder_transaction(const struct cred *from, const struct cred *to); /* since 5.7 */
int security_binder_transfer_binder(const struct cred *from, const struct cred *to); /* since 5.7 */
int security_binder_transfer_file(const struct cred *from, const struct cred *to, struct file *file); /* since 5.7 */
int security_bpf(int cmd, union bpf_attr *attr, unsigned int size); /* since 5.7 */
int security_bpf_map(struct bpf_map *map, fmode_t fmode); /* since 5.7 */
int security_bpf_map_alloc(struct bpf_map *map); /* since 5.7 */
void security_bpf_map_free(struct bpf_map *map); /* since 5.7 */
int security_bpf_prog(struct bpf_prog *prog); /* since 5.7 */
int security_bpf_prog_alloc(struct bpf_prog_aux *aux); /* since 5.7 */
void security_bpf_prog_free(struct bpf_prog_aux *aux); /* since 5.7 */
int security_bprm_check(struct linux_binprm *bprm); /* since 5.7 */
void security_bprm_committed_creds(struct linux_binprm *bprm); /* since 5.7 */
void security_bprm_committing_creds(struct linux_binprm *bprm); /* since 5.7 */
int security_bprm_creds_for_exec(struct linux_binprm *bprm); /* since 5.7 */
int security_bprm_creds_from_file(struct linux_binprm *bprm, struct file *file); /* since 5.7 */
int security_capable(const struct cred *cred, struct user_namespace *ns, int cap, unsigned int opts); /* since 5.7 */
int security_capget(struct task_struct *target, kernel_cap_t *effective, kernel_cap_t *inheritable, kernel_cap_t *permitted); /* since 5.7 */
int security_capset(struct cred *new, const struct cred *old, const kernel_cap_t *effective, const kernel_cap_t *inheritable, const kernel_cap_t *permitted); /* since 5.7 */
int security_create_user_ns(const struct cred *cred); /* since 5.7 */
int security_cred_alloc_blank(struct cred *cred, gfp_t gfp); /* since 5.7 */
void security_cred_free(struct cred *cred); /* since 5.7 */
void security_cred_getsecid(const struct cred *c, u32 *secid); /* since 5.7 */
void security_current_getsecid_subj(u32 *secid); /* since 5.7 */
void security_d_instantiate(struct dentry *dentry, struct inode *inode); /* since 5.7 */
int security_dentry_create_files_as(struct dentry *dentry, int mode, struct qstr *name, const struct cred *old, struct cred *new); /* since 5.7 */
int security_dentry_init_security(struct dentry *dentry, int mode, const struct qstr *name, const char **xattr_name, void **ctx, u32 *ctxlen); /* since 5.7 */
int security_file_alloc(struct file *file); /* since 5.7 */
int security_file_fcntl(struct file *file, unsigned int cmd, unsigned long arg); /* since 5.7 */
void security_file_free(struct file *file); /* since 5.7 */
int security_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg); /* since 5.7 */
int security_file_ioctl_compat(struct file *file, unsigned int cmd, unsigned long arg); /* since 5.7 */
int security_file_lock(struct file *file, unsigned int cmd); /* since 5.7 */
int security_file_mprotect(struct vm_area_struct *vma, unsigned long reqprot, unsigned long prot); /* since 5.7 */
int security_file_open(struct file *file); /* since 5.7 */
int security_file_permission(struct file *file, int mask); /* since 5.7 */
int security_file_receive(struct file *file); /* since 5.7 */
int security_file_send_sigiotask(struct task_struct *tsk, struct fown_struct *fown, int sig); /* since 5.7 */
void security_file_set_fowner(struct file *file); /* since 5.7 */
int security_fs_context_dup(struct fs_context *fc, struct fs_context *src_fc); /* since 5.7 */
int security_fs_context_parse_param(struct fs_context *fc, struct fs_parameter *param); /* since 5.7 */
int security_fs_context_submount(struct fs_context *fc, struct super_block *reference); /* since 5.7 */
int security_getprocattr(struct task_struct *p, const char *lsm, const char *name, char **value); /* since 5.7 */
void security_inet_conn_established(struct sock *sk, struct sk_buff *skb); /* since 5.7 */
int security_inet_conn_request(const struct sock *sk, struct sk_buff *skb, struct request_sock *req); /* since 5.7 */
void security_inet_csk_clone(struct sock *newsk, const struct request_sock *req); /* since 5.7 */
int security_inode_alloc(struct inode *inode); /* since 5.7 */
int security_inode_copy_up(struct dentry *src, struct cred **new); /* since 5.7 */
int security_inode_copy_up_xattr(const char *name); /* since 5.7 */
int security_inode_create(struct inode *dir, struct dentry *dentry, umode_t mode); /* since 5.7 */
int security_inode_follow_link(struct dentry *dentry, struct inode *inode, bool rcu); /* since 5.7 */
void security_inode_free(struct inode *inode); /* since 5.7 */
int security_inode_getattr(const struct path *path); /* since 5.7 */
int security_inode_getsecctx(struct inode *inode, void **ctx, u32 *ctxlen); /* since 5.7 */
void security_inode_getsecid(struct inode *inode, u32 *secid); /* since 5.7 */
int security_inode_getsecurity(struct user_namespace *mnt_userns, struct inode *inode, const char *name, void **buffer, bool alloc); /* since 5.7 */
int security_inode_getxattr(struct dentry *dentry, const char *name); /* since 5.7 */
int security_inode_init_security(struct inode *inode, struct inode *dir, const struct qstr *qstr, void *initxattrs, void *fs_data); /* since 5.7 */
int security_inode_init_security_anon(struct inode *inode, const struct qstr *name, const struct inode *context_inode); /* since 5.7 */
void security_inode_invalidate_secctx(struct inode *inode); /* since 5.7 */
int security_inode_killpriv(struct user_namespace *mnt_userns, struct dentry *dentry); /* since 5.7 */
int security_inode_link(struct dentry *old_dentry, struct inode *dir, struct dentry *new_dentry); /* since 5.7 */
int security_inode_listsecurity(struct inode *inode, char *buffer, size_t buffer_size); /* since 5.7 */
int security_inode_listxattr(struct dentry *dentry); /* since 5.7 */
int security_inode_mkdir(struct inode *dir, struct dentry *dentry, umode_t mode); /* since 5.7 */
int security_inode_mknod(struct inode *dir, struct dentry *dentry, umode_t mode, dev_t dev); /* since 5.7 */
int security_inode_need_killpriv(struct dentry *dentry); /* since 5.7 */
int security_inode_notifysecctx(struct inode *inode, void *ctx, u32 ctxlen); /* since 5.7 */
int security_inode_permission(struct inode *inode, int mask); /* since 5.7 */
void security_inode_post_setxattr(struct dentry *dentry, const char *name, const void *value, size_t size, int flags); /* since 5.7 */
int security_inode_readlink(struct dentry *dentry); /* since 5.7 */
int security_inode_removexattr(struct user_namespace *mnt_userns, struct dentry *dentry, const char *name); /* since 5.7 */
int security_inode_rename(struct inode *old_dir, struct dentry *old_dentry, struct inode *new_dir, struct dentry *new_dentry, unsigned int flags); /* since 5.7 */
int security_inode_rmdir(struct inode *dir, struct dentry *dentry); /* since 5.7 */
int security_inode_setattr(struct user_namespace *mnt_userns, struct dentry *dentry, struct iattr *attr); /* since 5.7 */
int security_inode_setsecctx(struct dentry *dentry, void *ctx, u32 ctxlen); /* since 5.7 */
int security_inode_setsecurity(struct inode *inode, const char *name, const void *value, size_t size, int flags); /* since 5.7 */
int security_inode_setxattr(struct user_namespace *mnt_userns, struct dentry *dentry, const char *name, const void *value, size_t size, int flags); /* since 5.7 */
int security_inode_symlink(struct inode *dir, struct dentry *dentry, const char *old_name); /* since 5.7 */
int security_inode_unlink(struct inode *dir, struct dentry *dentry); /* since 5.7 */
void security_ipc_getsecid(struct kern_ipc_perm *ipcp, u32 *secid); /* since 5.7 */
int security_ipc_permission(struct kern_ipc_perm *ipcp, short int flag); /* since 5.7 */
int security_ismaclabel(const char *name); /* since 5.7 */
int security_kernel_act_as(struct cred *new, u32 secid); /* since 5.7 */
int security_kernel_create_files_as(struct cred *new, struct inode *inode); /* since 5.7 */
int security_kernel_load_data(enum kernel_load_data_id id, bool contents); /* since 5.7 */
int security_kernel_module_request(char *kmod_name); /* since 5.7 */
int security_kernel_post_load_data(char *buf, loff_t size, enum kernel_load_data_id id, char *description); /* since 5.7 */
int security_kernel_post_read_file(struct file *file, char *buf, loff_t size, enum kernel_read_file_id id); /* since 5.7 */
int security_kernel_read_file(struct file *file, enum kernel_read_file_id id, bool contents); /* since 5.7 */
int security_kernfs_init_security(struct kernfs_node *kn_dir, struct kernfs_node *kn); /* since 5.7 */
int security_key_alloc(struct key *key, const struct cred *cred, unsigned long flags); /* since 5.7 */
void security_key_free(struct key *key); /* since 5.7 */
int security_key_getsecurity(struct key *key, char **_buffer); /* since 5.7 */
int security_key_permission(key_ref_t key_ref, const struct cred *cred, enum key_need_perm need_perm); /* since 5.7 */
int security_locked_down(enum lockdown_reason what); /* since 5.7 */
int security_mmap_addr(unsigned long addr); /* since 5.7 */
int security_mmap_file(struct file *file, unsigned long prot, unsigned long flags); /* since 5.7 */
int security_move_mount(const struct path *from_path, const struct path *to_path); /* since 5.7 */
int security_msg_msg_alloc(struct msg_msg *msg); /* since 5.7 */
void security_msg_msg_free(struct msg_msg *msg); /* since 5.7 */
int security_msg_queue_alloc(struct kern_ipc_perm *msq); /* since 5.7 */
int security_msg_queue_associate(struct kern_ipc_perm *msq, int msqflg); /* since 5.7 */
void security_msg_queue_free(struct kern_ipc_perm *msq); /* since 5.7 */
int security_msg_queue_msgctl(struct kern_ipc_perm *msq, int cmd); /* since 5.7 */
int security_msg_queue_msgrcv(struct kern_ipc_perm *msq, struct msg_msg *msg, struct task_struct *target, long type, int mode); /* since 5.7 */
int security_msg_queue_msgsnd(struct kern_ipc_perm *msq, struct msg_msg *msg, int msqflg); /* since 5.7 */
int security_netlink_send(struct sock *sk, struct sk_buff *skb); /* since 5.7 */
int security_path_chmod(const struct path *path, umode_t mode); /* since 5.7 */
int security_path_chown(const struct path *path, kuid_t uid, kgid_t gid); /* since 5.7 */
int security_path_chroot(const struct path *path); /* since 5.7 */
int security_path_link(struct dentry *old_dentry, const struct path *new_dir, struct dentry *new_dentry); /* since 5.7 */
int security_path_mkdir(const struct path *dir, struct dentry *dentry, umode_t mode); /* since 5.7 */
int security_path_mknod(const struct path *dir, struct dentry *dentry, umode_t mode, unsigned int dev); /* since 5.7 */
int security_path_notify(const struct path *path, u64 mask, unsigned int obj_type); /* since 5.7 */
int security_path_rename(const struct path *old_dir, struct dentry *old_dentry, const struct path *new_dir, struct dentry *new_dentry, unsigned int flags); /* since 5.7 */
int security_path_rmdir(const struct path *dir, struct dentry *dentry); /* since 5.7 */
int security_path_symlink(const struct path *dir, struct dentry *dentry, const char *old_name); /* since 5.7 */
int security_path_truncate(const struct path *path); /* since 5.7 */
int security_path_unlink(const struct path *dir, struct dentry *dentry); /* since 5.7 */
int security_perf_event_alloc(struct perf_event *event); /* since 5.7 */
void security_perf_event_free(struct perf_event *event); /* since 5.7 */
int security_perf_event_open(struct perf_event_attr *attr, int type); /* since 5.7 */
int security_perf_event_read(struct perf_event *event); /* since 5.7 */
int security_perf_event_write(struct perf_event *event); /* since 5.7 */
int security_prepare_creds(struct cred *new, const struct cred *old, gfp_t gfp); /* since 5.7 */
int security_ptrace_access_check(struct task_struct *child, unsigned int mode); /* since 5.7 */
int security_ptrace_traceme(struct task_struct *parent); /* since 5.7 */
int security_quota_on(struct dentry *dentry); /* since 5.7 */
int security_quotactl(int cmds, int type, int id, struct super_block *sb); /* since 5.7 */
void security_release_secctx(char *secdata, u32 seclen); /* since 5.7 */
void security_req_classify_flow(const struct request_sock *req, struct flowi_common *flic); /* since 5.7 */
int security_sb_alloc(struct super_block *sb); /* since 5.7 */
int security_sb_clone_mnt_opts(const struct super_block *oldsb, struct super_block *newsb, unsigned long kern_flags, unsigned long *set_kern_flags); /* since 5.7 */
void security_sb_delete(struct super_block *sb); /* since 5.7 */
int security_sb_eat_lsm_opts(char *options, void **mnt_opts); /* since 5.7 */
void security_sb_free(struct super_block *sb); /* since 5.7 */
int security_sb_kern_mount(struct super_block *sb); /* since 5.7 */
int security_sb_mnt_opts_compat(struct super_block *sb, void *mnt_opts); /* since 5.7 */
int security_sb_mount(const char *dev_name, const struct path *path, const char *type, unsigned long flags, void *data); /* since 5.7 */
int security_sb_pivotroot(const struct path *old_path, const struct path *new_path); /* since 5.7 */
int security_sb_remount(struct super_block *sb, void *mnt_opts); /* since 5.7 */
int security_sb_set_mnt_opts(struct super_block *sb, void *mnt_opts, unsigned long kern_flags, unsigned long *set_kern_flags); /* since 5.7 */
int security_sb_show_options(struct seq_file *m, struct super_block *sb); /* since 5.7 */
int security_sb_statfs(struct dentry *dentry); /* since 5.7 */
int security_sb_umount(struct vfsmount *mnt, int flags); /* since 5.7 */
int security_sctp_assoc_established(struct sctp_association *asoc, struct sk_buff *skb); /* since 5.7 */
int security_sctp_assoc_request(struct sctp_association *asoc, struct sk_buff *skb); /* since 5.7 */
int security_sctp_bind_connect(struct sock *sk, int optname, struct sockaddr *address, int addrlen); /* since 5.7 */
void security_sctp_sk_clone(struct sctp_association *asoc, struct sock *sk, struct sock *newsk); /* since 5.7 */
int security_secctx_to_secid(const char *secdata, u32 seclen, u32 *secid); /* since 5.7 */
int security_secid_to_secctx(u32 secid, char **secdata, u32 *seclen); /* since 5.7 */
void security_secmark_refcount_dec(void); /* since 5.7 */
void security_secmark_refcount_inc(void); /* since 5.7 */
int security_secmark_relabel_packet(u32 secid); /* since 5.7 */
int security_sem_alloc(struct kern_ipc_perm *sma); /* since 5.7 */
int security_sem_associate(struct kern_ipc_perm *sma, int semflg); /* since 5.7 */
void security_sem_free(struct kern_ipc_perm *sma); /* since 5.7 */
int security_sem_semctl(struct kern_ipc_perm *sma, int cmd); /* since 5.7 */
int security_sem_semop(struct kern_ipc_perm *sma, struct sembuf *sops, unsigned int nsops, int alter); /* since 5.7 */
int security_setprocattr(const char *lsm, const char *name, void *value, size_t size); /* since 5.7 */
int security_settime64(const struct timespec64 *ts, const struct timezone *tz); /* since 5.7 */
int security_shm_alloc(struct kern_ipc_perm *shp); /* since 5.7 */
int security_shm_associate(struct kern_ipc_perm *shp, int shmflg); /* since 5.7 */
void security_shm_free(struct kern_ipc_perm *shp); /* since 5.7 */
int security_shm_shmat(struct kern_ipc_perm *shp, char *shmaddr, int shmflg); /* since 5.7 */
int security_shm_shmctl(struct kern_ipc_perm *shp, int cmd); /* since 5.7 */
int security_sk_alloc(struct sock *sk, int family, gfp_t priority); /* since 5.7 */
void security_sk_classify_flow(struct sock *sk, struct flowi_common *flic); /* since 5.7 */
void security_sk_clone(const struct sock *sk, struct sock *newsk); /* since 5.7 */
void security_sk_free(struct sock *sk); /* since 5.7 */
void security_sock_graft(struct sock *sk, struct socket *parent); /* since 5.7 */
int security_sock_rcv_skb(struct sock *sk, struct sk_buff *skb); /* since 5.7 */
int security_socket_accept(struct socket *sock, struct socket *newsock); /* since 5.7 */
int security_socket_bind(struct socket *sock, struct sockaddr *address, int addrlen); /* since 5.7 */
int security_socket_connect(struct socket *sock, struct sockaddr *address, int addrlen); /* since 5.7 */
int security_socket_create(int family, int type, int protocol, int kern); /* since 5.7 */
int security_socket_getpeername(struct socket *sock); /* since 5.7 */
int security_socket_getpeersec_dgram(struct socket *sock, struct sk_buff *skb, u32 *secid); /* since 5.7 */
int security_socket_getpeersec_stream(struct socket *sock, char *optval, int *optlen, unsigned int len); /* since 5.7 */
int security_socket_getsockname(struct socket *sock); /* since 5.7 */
int security_socket_getsockopt(struct socket *sock, int level, int optname); /* since 5.7 */
int security_socket_listen(struct socket *sock, int backlog); /* since 5.7 */
int security_socket_post_create(struct socket *sock, int family, int type, int protocol, int kern); /* since 5.7 */
int security_socket_recvmsg(struct socket *sock, struct msghdr *msg, int size, int flags); /* since 5.7 */
int security_socket_sendmsg(struct socket *sock, struct msghdr *msg, int size); /* since 5.7 */
int security_socket_setsockopt(struct socket *sock, int level, int optname); /* since 5.7 */
int security_socket_shutdown(struct socket *sock, int how); /* since 5.7 */
int security_socket_socketpair(struct socket *socka, struct socket *sockb); /* since 5.7 */
int security_syslog(int type); /* since 5.7 */
int security_task_alloc(struct task_struct *task, unsigned long clone_flags); /* since 5.7 */
int security_task_fix_setgid(struct cred *new, const struct cred *old, int flags); /* since 5.7 */
int security_task_fix_setgroups(struct cred *new, const struct cred *old); /* since 5.7 */
int security_task_fix_setuid(struct cred *new, const struct cred *old, int flags); /* since 5.7 */
void security_task_free(struct task_struct *task); /* since 5.7 */
int security_task_getioprio(struct task_struct *p); /* since 5.7 */
int security_task_getpgid(struct task_struct *p); /* since 5.7 */
int security_task_getscheduler(struct task_struct *p); /* since 5.7 */
void security_task_getsecid_obj(struct task_struct *p, u32 *secid); /* since 5.7 */
int security_task_getsid(struct task_struct *p); /* since 5.7 */
int security_task_kill(struct task_struct *p, struct kernel_siginfo *info, int sig, const struct cred *cred); /* since 5.7 */
int security_task_movememory(struct task_struct *p); /* since 5.7 */
int security_task_prctl(int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5); /* since 5.7 */
int security_task_prlimit(const struct cred *cred, const struct cred *tcred, unsigned int flags); /* since 5.7 */
int security_task_setioprio(struct task_struct *p, int ioprio); /* since 5.7 */
int security_task_setnice(struct task_struct *p, int nice); /* since 5.7 */
int security_task_setpgid(struct task_struct *p, pid_t pgid); /* since 5.7 */
int security_task_setrlimit(struct task_struct *p, unsigned int resource, struct rlimit *new_rlim); /* since 5.7 */
int security_task_setscheduler(struct task_struct *p); /* since 5.7 */
void security_task_to_inode(struct task_struct *p, struct inode *inode); /* since 5.7 */
void security_transfer_creds(struct cred *new, const struct cred *old); /* since 5.7 */
int security_tun_dev_alloc_security(void **security); /* since 5.7 */
int security_tun_dev_attach(struct sock *sk, void *security); /* since 5.7 */
int security_tun_dev_attach_queue(void *security); /* since 5.7 */
int security_tun_dev_create(void); /* since 5.7 */
void security_tun_dev_free_security(void *security); /* since 5.7 */
int security_tun_dev_open(void *security); /* since 5.7 */
int security_unix_may_send(struct socket *sock, struct socket *other); /* since 5.7 */
int security_unix_stream_connect(struct sock *sock, struct sock *other, struct sock *newsk); /* since 5.7 */
int security_uring_cmd(struct io_uring_cmd *ioucmd); /* since 5.7 */
int security_uring_override_creds(const struct cred *new); /* since 5.7 */
int security_uring_sqpoll(void); /* since 5.7 */
int security_vm_enough_memory_mm(struct mm_struct *mm, long pages); /* since 5.7 */
int security_xfrm_decode_session(struct sk_buff *skb, u32 *secid); /* since 5.7 */
int security_xfrm_policy_alloc(struct xfrm_sec_ctx **ctxp, struct xfrm_user_sec_ctx *sec_ctx, gfp_t gfp); /* since 5.7 */
int security_xfrm_policy_clone(struct xfrm_sec_ctx *old_ctx, struct xfrm_sec_ctx **new_ctxp); /* since 5.7 */
int security_xfrm_policy_delete(struct xfrm_sec_ctx *ctx); /* since 5.7 */
void security_xfrm_policy_free(struct xfrm_sec_ctx *ctx); /* since 5.7 */
int security_xfrm_policy_lookup(struct xfrm_sec_ctx *ctx, u32 fl_secid); /* since 5.7 */
int security_xfrm_state_alloc(struct xfrm_state *x, struct xfrm_user_sec_ctx *sec_ctx); /* since 5.7 */
int security_xfrm_state_alloc_acquire(struct xfrm_state *x, struct xfrm_sec_ctx *polsec, u32 secid); /* since 5.7 */
int security_xfrm_state_delete(struct xfrm_state *x); /* since 5.7 */
void security_xfrm_state_free(struct xfrm_state *x); /* since 5.7 */
int security_xfrm_state_pol_flow_match(struct xfrm_state *x, struct xfrm_policy *xp, const struct flowi_common *flic); /* since 5.7 */
