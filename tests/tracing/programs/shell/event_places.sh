# where events fire: the stack of each, by trigger
cd /sys/kernel/tracing
mkfifo /tmp/ff; mkdir /tmp/d
go() { e=$1; shift; echo > trace; echo 'stacktrace' > events/$e/trigger 2>/dev/null; "$@" > /dev/null 2>&1; echo '!stacktrace' > events/$e/trigger; echo "== $e: $*"; sed -n '/<stack trace>/,$p' trace | grep -E '^ =>|stack trace' | awk '/stack trace/{n++} n<2' | grep '^ =>' | sed 's/^ => //' | tr '\n' ' '; echo; }
touch1() { echo 1 > /tmp/d/f; }
go sched/sched_wakeup_new /w 0
go sched/sched_process_fork /w 0
go sched/sched_process_exec /w 0
go sched/sched_process_exit /w 0
go sched/sched_process_wait /w 0
go sched/sched_prepare_exec /w 0
go task/task_newtask /w 0
go task/task_rename /w 0
go signal/signal_generate /w 0
go timer/hrtimer_init usleep 1000
go timer/hrtimer_cancel usleep 1000
go timer/itimer_state sh -c 'timeout 1 true'
go kmem/mm_page_free /w 1
go exceptions/page_fault_user /w 1
go exceptions/page_fault_kernel /w 1
go filemap/mm_filemap_add_to_page_cache touch1
go filemap/mm_filemap_delete_from_page_cache rm /tmp/d/f
go raw_syscalls/sys_enter /w 1
go raw_syscalls/sys_exit /w 1
go mmap/exit_mmap /w 0
go cgroup/cgroup_mkdir mkdir /sys/fs/cgroup/y
go cgroup/cgroup_rmdir rmdir /sys/fs/cgroup/y
go rcu/rcu_utilization usleep 1000
go irq_vectors/local_timer_entry usleep 5000
go workqueue/workqueue_queue_work sync
go percpu/percpu_alloc_percpu /w 1
go power/cpu_idle usleep 5000
go oom/oom_score_adj_update sh -c 'echo 5 > /proc/self/oom_score_adj'
go initcall/initcall_start true
go sched/sched_move_numa true
go syscalls/sys_enter_getppid /w 1
go syscalls/sys_exit_getppid /w 1
