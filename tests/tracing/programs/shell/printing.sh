# how other events and options print: raw, hex, bin, verbose fields, stack traces by option, pipes.
cd /sys/kernel/tracing
echo 'filename != 0' > events/syscalls/sys_enter_unlink/filter; echo 1 > events/syscalls/sys_enter_unlink/enable; echo 1 > events/syscalls/sys_exit_unlink/enable
go() { echo > trace; echo "$1" > trace_options; touch /tmp/q; rm /tmp/q; grep -v '^#' trace | sed 's/.*\(sys_unlink\)/\1/; s/name: [0-9a-f]*/name: P/'; }
go fields; echo nofields > trace_options
go nosym-addr
echo verbose > trace_options; grep -v '^#' trace | sed 's/name: [0-9a-f]*/name: P/; s/ *[0-9.]\{6,\}/ T/g; s/ *[^ ]* *[0-9]* //' | head -2; echo noverbose > trace_options
echo raw > trace_options; grep -v '^#' trace | wc -l; grep -v '^#' trace | awk '{print NF}'; echo noraw > trace_options
echo hex > trace_options; grep -v '^#' trace | wc -l; grep -v '^#' trace | awk '{print NF}'; echo nohex > trace_options
echo bin > trace_options; wc -c < trace; echo nobin > trace_options
echo stacktrace > trace_options; go print-parent | grep -v '^$'; echo nostacktrace > trace_options
echo > trace; touch /tmp/q; rm /tmp/q; echo 0 > tracing_on; head -n 2 trace_pipe | sed 's/.*\(sys_unlink\)/\1/; s/name: [0-9a-f]*/name: P/'; grep -c unlink trace; echo 1 > tracing_on
echo 0 > events/syscalls/enable; echo 0 > events/syscalls/sys_enter_unlink/filter
cat events/syscalls/sys_enter_unlink/filter
echo 1 > events/sched/sched_process_exec/enable; /w > /dev/null 2>&1; grep -v '^#' trace | grep -v self/exe | sed 's/.*sched_process_exec/spe/; s/pid=[0-9]*/pid=P/g'; echo 0 > events/sched/enable
echo > trace
echo 1 > events/task/enable; (true); grep -v '^#' trace | sed 's/.*: task/task/; s/pid=[0-9]*/pid=P/g; s/clone_flags=[0-9a-f]*/clone_flags=F/' | head -3; echo 0 > events/task/enable; echo > trace
echo 1 > events/signal/enable; kill -WINCH $$; grep -v '^#' trace | sed 's/.*: signal/signal/; s/pid=[0-9]*/pid=P/g; s/sa_handler=[0-9a-f]*/sa_handler=H/' | head -3; echo 0 > events/signal/enable; echo > trace
echo 1 > events/exceptions/enable; /w > /dev/null 2>&1; grep -c page_fault_user trace | grep -vx 0 | wc -l; echo 0 > events/exceptions/enable; echo > trace
echo 1 > events/fib/enable 2>/dev/null; echo $?; echo 0 > events/fib/enable; for s in alarmtimer avc block bpf_trace cgroup clk compaction cpuhp devlink drm ext4 fib6 filelock filemap gpio hda huge_memory hwmon i2c initcall intel_iommu io_uring iomap iommu ipi irq irq_matrix irq_vectors jbd2 kmem libata mce mdio migrate mmap mmap_lock module mptcp msr napi neigh net netlink nmi notifier oom osnoise page_isolation page_pool pagemap percpu power printk pwm qdisc ras raw_syscalls rcu regmap regulator resctrl rpm rseq rtc scsi signal skb smbus sock spi swiotlb sync_trace syscalls task tcp thermal timer tlb udp vmscan vsyscall watchdog workqueue writeback x86_fpu xdp xen xhci-hcd; do [ -d events/$s ] && echo "$s $(ls events/$s | wc -l)" || echo "$s none"; done
