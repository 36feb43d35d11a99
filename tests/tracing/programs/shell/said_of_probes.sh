cd /sys/kernel/tracing
d() { dmesg -c | sed 's/^\[[^]]*\] //'; }
d > /dev/null
for f in memcpy strlen do_int3 kprobe_ftrace_handler __schedule trace_event_buffer_commit schedule do_error_trap memset rcu_read_lock_held entry_SYSCALL_64 asm_exc_page_fault copy_user_generic_unrolled native_write_msr ktime_get perf_trace_sched_switch __fentry__ do_idle irq_enter_rcu ftrace_ops_list_func trace_hardirqs_on bpf_prog_run_xdp rb_commit preempt_count_add aarp_init; do echo "p $f" > kprobe_events; echo "$f $?"; d; done
for f in memcpy do_int3 schedule; do echo "r $f" > kprobe_events; echo "r $f $?"; d; done
echo 1 > options/test_nop_accept; d; echo 1 > options/test_nop_accept; d; echo 0 > options/test_nop_accept; d; echo notest_nop_refuse > trace_options; echo $?; d; echo test_nop_refuse > trace_options; echo $?; d; mkdir instances/a; echo 1 > instances/a/options/test_nop_accept; d; rmdir instances/a
K=/sys/kernel/debug/kprobes; for v in 0 0 1 1 x 0n; do echo $v > $K/enabled; echo $?; d; done; echo p:k vfs_read > kprobe_events; echo 1 > events/kprobes/k/enable; echo 0 > $K/enabled; d; cat $K/list | sed 's/^[0-9a-f]* //'; echo 1 > $K/enabled; d; echo 0 > events/kprobes/k/enable
