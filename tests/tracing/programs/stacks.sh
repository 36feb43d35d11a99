cd /sys/kernel/tracing
stacks() { # EVENT FILTER: the option, then the trigger, then a histogram's key
    echo "$2" > events/$1/filter; echo 1 > options/stacktrace; echo 1 > events/$1/enable
    echo hello > /dev/null
    echo 0 > events/$1/enable; echo 0 > options/stacktrace; echo 0 > events/$1/filter
    echo "== $1"; grep '^ =>' trace | sort | uniq -c; echo > trace
    echo "stacktrace:1 if $2" > events/$1/trigger; echo hello > /dev/null; echo '!stacktrace' > events/$1/trigger
    echo "== $1 trigger"; grep '^ =>' trace; echo > trace
    echo "hist:keys=stacktrace if $2" > events/$1/trigger; echo hello > /dev/null
    echo "== $1 hist"; grep -v '^#' events/$1/hist | sed 's/+0x.*//'; echo '!hist:keys=stacktrace' > events/$1/trigger
}
stacks syscalls/sys_enter_write 'count == 6'
stacks syscalls/sys_exit_write 'ret == 6'
echo 'p:entry vfs_write n=$arg3' > kprobe_events
echo 'r:leave vfs_write n=$retval' >> kprobe_events
stacks kprobes/entry 'n == 6'
stacks kprobes/leave 'n == 6'
echo > kprobe_events
