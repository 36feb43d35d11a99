# What the probes and events of a CPU show of known system calls: registers, arguments, results, stacks, refused places.
cd /sys/kernel/tracing
case $(uname -m) in
x86_64) W=__x64_sys_ P='+112(%di) +104(%di) +96(%di) +56(%di) +72(%di) +64(%di) +80(%di):s64 +120(%di):s64' ;;
aarch64) W=__arm64_sys_ P='+0(%x0) +8(%x0) +16(%x0) +24(%x0) +32(%x0) +40(%x0) +64(%x0) +272(%x0) +280(%x0):s32' ;;
s390x) W=__s390x_sys_ P='+0(%r2) +8(%r2) +32(%r2) +40(%r2):s64 +48(%r2) +56(%r2) +64(%r2) +72(%r2) +80(%r2) +152(%r2) +160(%r2):x32 +160(%r2)' ;;
esac
show() { grep -v '^#' trace; echo > trace; }
event() { # definition
    echo "== $1"
    echo "$1" > kprobe_events || return
    echo 1 > events/kprobes/enable; /calls; echo 0 > events/kprobes/enable; cut -d ' ' -f 2- kprobe_events
    show; echo > kprobe_events
}
event 'p:six __sys_sendto $arg1 $arg2 $arg3 $arg4 $arg5 $arg6'
event 'r:sixr __sys_sendto $retval ret=$retval:s32 long=$retval:s64'
event "p:wrap ${W}copy_file_range $P"
event "p:wraps ${W}sendto $P"
event "r:wrapr ${W}copy_file_range ret=\$retval:s64"
event "p:close ${W}close $P"
event "r:closer close_fd \$retval"
echo "== system calls"
echo 'comm == "calls"' > events/syscalls/filter
echo 1 > events/syscalls/enable; /calls; echo 0 > events/syscalls/enable; echo 0 > events/syscalls/filter; show | grep calls-
echo 'comm == "calls"' > events/raw_syscalls/filter
echo 1 > events/raw_syscalls/enable; /calls; echo 0 > events/raw_syscalls/enable; echo 0 > events/raw_syscalls/filter; show | grep calls-
echo "== offsets"
for o in 1 2 3 4 6 8; do echo "p:o$o vfs_write+$o" > kprobe_events && { echo "+$o defined"; echo 1 > events/kprobes/o$o/enable && echo "+$o enabled"; echo 0 > events/kprobes/enable; }; done
for o in 1 2 3 4; do echo "r:o$o vfs_write+$o" > kprobe_events && echo "r +$o defined"; done
grep -v '^ *^$' error_log | sed 's/^\[.*\]//'
echo > kprobe_events
echo "== kprobes"
echo 'p:a vfs_write' > kprobe_events; echo 'r:d vfs_read' >> kprobe_events; echo 1 > events/kprobes/enable
cut -d ' ' -f 2- /sys/kernel/debug/kprobes/list | sort; echo 0 > events/kprobes/enable; echo > kprobe_events
echo "== symbols"
for name in read write sendto copy_file_range getppid getpid sync close; do
    grep -E " (__[a-z0-9]*_sys_|__do_sys_|__se_sys_|sys_)$name\$" /proc/kallsyms | cut -d ' ' -f 2- | sort
    grep -xE "(__[a-z0-9]*_sys_|__do_sys_|__se_sys_|sys_)$name" available_filter_functions | sort
done
