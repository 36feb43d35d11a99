# Definitions of probe events that take what BTF says: the line, how dynamic_events shows it, its fields; or why it is refused.
cd /sys/kernel/tracing
try() {
	echo > error_log
	echo "== $1"
	if printf '%s\n' "$1" 2> /dev/null >> dynamic_events; then
		cat dynamic_events
		for e in $(sed 's/^[^:]*:\([^ ]*\) .*/\1/' dynamic_events); do sed -n '/__probe/,$p' events/$e/format; done
	else
		echo refused
		sed 's/^\[[^]]*\]//' error_log
	fi
	echo > dynamic_events
}
while read -r line; do try "$line"; done << 'END'
p vfs_read file count
p vfs_read count=count buf pos
p vfs_read $arg*
p vfs_read a=$arg*
p vfs_read $arg* $arg1
p vfs_read $arg1 $arg2 $arg3 $arg4 $arg5
p vfs_read x=$arg1 y=count:u32
p vfs_read file->f_flags
p vfs_read file->f_inode->i_ino
p vfs_read ino=file->f_inode->i_ino:x32
p vfs_read file->f_path.dentry->d_name.name:string
p vfs_read file->f_path.dentry->d_name.name
p vfs_read file->nothing
p vfs_read file.f_flags
p vfs_read nobody
p vfs_read file->
p vfs_read file->f_path
p vfs_read file->f_inode->
p vfs_read count->x
p vfs_read buf:string
p vfs_read buf:ustring
p vfs_read pos:x64
p vfs_read *pos
p vfs_read +0(pos)
p vfs_read +0(file->f_inode)
p vfs_read file->f_mode:b4@0/32
p vfs_read $retval
r vfs_read count
r vfs_read $arg1
r vfs_read $arg*
r vfs_read $retval
r vfs_read ret=$retval
r vfs_read $retval:u32
r vfs_read $retval $arg*
r vfs_open $retval
r filp_close ret=$retval:x8
f vfs_read
f vfs_read $arg*
f vfs_read%return
f vfs_read%return $retval
f vfs_read%return ret=$retval count
f vfs_read%return $arg*
f:mine vfs_read count
f:grp/mine vfs_read count
f:grp/ vfs_read count
f10 vfs_read
f10:a vfs_read%return
f vfs_read+0
f nosuchfunction
f vfs_read%foo
f vfs_read %di
f vfs_read $stack
f vfs_read $stack0
f vfs_read $comm
f vfs_read $arg1 $arg7
f do_sys_openat2 filename:ustring dfd how->flags how->mode
f vfs_open $arg*
f vfs_fsync datasync
f
t
t sched_switch
t sched_switch prev next
t sched_switch $arg*
t sched_switch preempt prev->pid next->comm next->comm:string next->prio
t:mine sched_switch prev->pid
t:g/mine sched_switch prev->comm
t sched_wakeup p->pid p->comm
t nosuchtp
t sched_switch%return
t sched_switch $retval
t sched_switch %di
t sched_switch $arg1 $arg2 $arg3
t sched_switch $stack0
t sched_switch $stack
t sched_switch+4
t sys_enter regs id
t sys_enter regs->di id
t sys_exit ret
t kmalloc
t sched_process_exec p->pid bprm->filename:string
t sched_process_fork parent->pid child->pid
e sched.sched_switch prev_pid
p vfs_read file->f_path.dentry:%pd file:%pD
p vfs_read file:%pD
p vfs_read d=file->f_path.dentry:%pd
p vfs_read d=$arg1:%pd
p vfs_read d=$arg1:%pX
p vfs_read count:symbol
p vfs_read pos:char
p vfs_read count[2]
p vfs_read file->f_path.dentry->d_name.len
p vfs_read file->f_path.dentry->d_name.hash_len
p vfs_read file->f_path.dentry->d_inode->i_rdev
p vfs_read file->f_path.dentry->d_inode->i_uid
p vfs_read file->f_path.dentry->d_inode->i_uid.val
p vfs_read file->f_op->read
p vfs_read file->f_op->read:symbol
p vfs_read file->f_inode->i_sb->s_type->name:string
p vfs_read file->f_inode->i_sb->s_id:string
p vfs_read a=file->f_inode->i_sb->s_id
p wake_up_new_task p->comm p->pid p->flags p->tgid p->in_execve p->no_cgroup_migration
p wake_up_new_task p->sched_class p->prio:s8 p->se.vruntime p->se.exec_start
p wake_up_new_task p->parent->parent->comm:string p->real_parent->pid
p:kprobes/e1 vfs_read nowhere->x count
p vfs_read count count
p vfs_read count:u8 count:u16
p vfs_read 1count
p vfs_read x=$arg3
p vfs_read x=$arg1 y=$arg2
p vfs_read $arg3:u8
p vfs_read $arg3:u8 count
p vfs_read $arg0
p vfs_read $argx
p vfs_read x=$arg9
p vfs_read $arg9
p vfs_read x=$arg5000
p vfs_read pos->x
p vfs_read buf->x
p vfs_read file->f_flags->x
p vfs_read file->f_flags.x
p vfs_read file->f_path.dentry.d_name
p vfs_read file->f_path->dentry
p vfs_read file-f_flags
p vfs_read file-
p vfs_read file-foo
p vfs_read file..x
p vfs_read file->f_path..dentry
p vfs_read file->f_path.
p vfs_read count:string
p vfs_read file:string
p vfs_read file->f_path.dentry->d_name.name:ustring
p vfs_read file->f_path.dentry->d_name.name:symstr
p vfs_read file->f_path.dentry->d_name.name:u8
p vfs_read file->f_path.dentry->d_name.name:string[2]
p vfs_read count:u64[2]
p vfs_read pos:u64[2]
p vfs_read file->f_flags:u32[2]
p vfs_read +0(file->f_path.dentry->d_name.name):string
p vfs_read +0(+8(file)):x64
p vfs_read +u0(buf):string
p vfs_read +0(file->f_path.dentry->d_name.name)
p vfs_read $arg1->f_flags
p vfs_read x=$arg1->f_flags
p vfs_read $arg1.f_flags
r vfs_read $retval->x
r fget ret=$retval->f_flags
r fget $retval->f_inode->i_ino fd
r vfs_fsync $retval
r mntput $retval
f mntput%return $retval
f mntput%return
r d_path $retval:string
f d_path%return $retval:string buf:string
p no_such $arg*
p vfs_read+8 $arg*
p vfs_read+8 count
p vfs_read+8 x=$arg1
p vfs_read+8 $arg1
p vfs_read $arg*:u8
p vfs_read $arg* x=$arg*
p vfs_read $arg* $arg*
p vfs_read $arg* count2=count
p schedule $arg*
f schedule $arg*
f schedule x=$arg1
t sched_switch $arg9
t sched_switch nothing
t sched_switch prev.pid
t sched_switch $comm
t sched_switch comm=$comm $arg*
t sched_switch x=$arg1
t sched_switch prev:string
t sched_process_exec x=bprm->filename
t sys_enter $arg*
t sys_enter regs->nothing
t:fprobes/a sched_switch
f:tracepoints/a vfs_read
f:a
f: vfs_read
f:/x vfs_read
f:a/b/c vfs_read
f:1a vfs_read
f:a! vfs_read
f vfs_*
f 1vfs
fX vfs_read
f0 vfs_read%return
f5000 vfs_read%return
t5 sched_switch
tX sched_switch
e:x sched.sched_switch $arg1
e:x sched.sched_switch $arg*
e:x sched.sched_switch prev_pid->x
e:x sched.sched_switch a=$prev_pid:%pd
p vfs_read file:%pd x=count
p vfs_read a=file:%pD[2]
p vfs_read %pd
p vfs_read a=:%pd
p vfs_read :%pd
p vfs_read %di:%pD
p vfs_read a=%di:%pD b=%si
p vfs_read a=+8(%di):%pd
p vfs_read \1:%pd
p do_sys_openat2 $arg*
p do_sys_openat2 how->resolve how->flags filename:string
p kfree $arg*
p kmem_cache_free x->size s->object_size
p tcp_v4_connect sk->__sk_common.skc_dport sk->__sk_common.skc_daddr:x32
p tcp_v4_connect sk->sk_type sk->sk_protocol sk->sk_userlocks sk->__sk_common.skc_reuse
p begin_new_exec bprm->mm->total_vm bprm->file->f_flags bprm->have_execfd
p setup_new_exec bprm->rlim_stack.rlim_cur
p vfs_read file->f_pos file->f_lock file->f_wb_err:u32
p do_exit code
p do_exit code:x32 $arg*
p __x64_sys_read regs->di regs
p __x64_sys_read $arg*
p ksys_read fd count
p ksys_read $arg*
p do_send_sig_info $arg*
p do_send_sig_info type
p do_futex $arg*
r do_futex $retval op
t signal_generate sig info task group result
t sched_stat_runtime $arg*
t irq_handler_entry $arg*
t timer_start $arg*
t cgroup_mkdir $arg*
t block_rq_issue rq->cmd_flags
t kmalloc $arg*
t mm_page_alloc $arg*
t sched_wakeup $arg*
t net_dev_queue skb->len skb->dev->name:string
t netif_receive_skb skb->len skb->protocol skb->pkt_type
t inet_sock_set_state sk->__sk_common.skc_family oldstate newstate
p do_exit code:string
p vfs_read file->f_pos:string
p vfs_read file->f_inode->i_ino:string
p do_sys_openat2 how->flags:string
p do_futex uaddr:string
p do_futex op:string
p vfs_read file->f_op->read:symstr
p vfs_read file:symstr
p vfs_read count:symstr
p vfs_read file:ustring
p vfs_read count:ustring
p vfs_read pos:string
p vfs_read file->f_inode->i_sb->s_id:ustring
p vfs_read x=$arg1:string
p vfs_read x=$arg2:string
p vfs_read x=$arg3:string
r d_path ret=$retval:symstr
r fget ret=$retval:string
r do_futex ret=$retval:string
p vfs_read file->f_inode->i_sb->s_type->name:string[1]
p vfs_read count:b4@0/8
p vfs_read file->f_inode->i_mode
p wake_up_new_task p->in_execve:u64
p wake_up_new_task p->in_execve:b1@0/8
p wake_up_new_task p->sched_reset_on_fork p->sched_contributes_to_load p->sched_migrated p->in_iowait p->no_cgroup_migration p->frozen
p wake_up_new_task p->comm:string p->comm:u8[4] p->comm:x32
p wake_up_new_task p->thread_info.flags p->thread_info
f vfs_read $stack1:x64 $stack1000000
f vfs_read @jiffies @jiffies:u32
f vfs_read +8(count)
f vfs_read \7 x=\"str"
t sched_switch @jiffies:u32 \7
p vfs_open path->mnt path->dentry->d_parent->d_name.name:string file->f_mode:x8
END
