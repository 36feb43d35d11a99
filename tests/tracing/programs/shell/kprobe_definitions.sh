cd /sys/kernel/tracing
try() { echo > error_log; if echo "$1" >> kprobe_events 2>/tmp/e; then echo "ok   $1"; cat kprobe_events; echo > kprobe_events 2>/dev/null; else echo "FAIL $1: $(sed 's/.*: //' /tmp/e)"; sed 's/^\[[ 0-9.]*\]//' error_log;  fi; }
try 'p'
try 'p:'
try 'p:x'
try 'p: vfs_read'
try 'p:a/b/c vfs_read'
try 'p:/b vfs_read'
try 'p:a/ vfs_read'
try 'p:a/b vfs_read'
try 'p:a.b vfs_read'
try 'p:a.b/c vfs_read'
try 'p:1a vfs_read'
try 'p:a1 vfs_read'
try 'p:a-b vfs_read'
try 'p:a_b vfs_read'
try 'p:_ vfs_read'
try 'p:a/1b vfs_read'
try 'p:1a/b vfs_read'
try "p:$(printf '%063d' 1 | tr 01 ab) vfs_read"
try "p:$(printf '%064d' 1 | tr 01 ab) vfs_read"
try "p:$(printf '%063d' 1 | tr 01 ab)/x vfs_read"
try "p:$(printf '%064d' 1 | tr 01 ab)/x vfs_read"
try "p:$(printf '%065d' 1 | tr 01 ab)/x vfs_read"
try 'p:sched/x vfs_read'
try 'p:syscalls/x vfs_read'
try 'p:kprobes/vfs vfs_read'
try 'p vfs_read'
try 'p vfs_read+0'
try 'p vfs_read+4'
try 'p vfs_read+1'
try 'p vfs_read+0x4'
try 'p vfs_read-4'
try 'p vfs_read+x'
try 'p vfs_read+'
try 'p vfs_read+99999'
try 'p vfs_nothing'
try 'p 0'
try 'p 0x0'
try 'p foo:vfs_read'
try 'p:x foo:vfs_read'
try 'p vmlinux:vfs_read'
try 'r vfs_read'
try 'r vfs_read+4'
try 'r vfs_read+0'
try 'r:x vfs_read $retval'
try 'r:x vfs_read r=$retval:s32'
try 'r:x vfs_read $arg1'
try 'r5:x vfs_read'
try 'r0:x vfs_read'
try 'r4096:x vfs_read'
try 'r4097:x vfs_read'
try 'r-1:x vfs_read'
try 'rx:x vfs_read'
try 'r10 vfs_read'
try 'r10 vfs_read+0'
try 'p5:x vfs_read'
try 'p0:x vfs_read'
try 'p:x vfs_read%return'
try 'p:x vfs_read+0%return'
try 'p:x vfs_read%return $retval'
try 'p:x vfs_read+4%return $retval'
try 'p:x vfs_read%foo'
try 'p:x vfs_read%'
try 'p5:x vfs_read%return'
try 'r:x vfs_read%return'
try 'q:x vfs_read'
try 'P:x vfs_read'
try ' p:x vfs_read'
try '   '
try '#p:x vfs_read'
try 'p:x vfs_read # comment'
try 'p:x vfs_read a=%di b=%di'
try 'p:x vfs_read a=%di a=%si'
try 'p:x vfs_read %di %si'
try 'p:x vfs_read common_pid=%di'
try 'p:x vfs_read common_flags=%di'
try 'p:x vfs_read __probe_ip=%di'
try 'p:x vfs_read __probe_func=%di'
try 'r:x vfs_read __probe_ret_ip=%di'
try 'p:x vfs_read 1a=%di'
try 'p:x vfs_read a-b=%di'
try 'p:x vfs_read a.b=%di'
try 'p:x vfs_read =%di'
try 'p:x vfs_read a='
try 'p:x vfs_read a=%di:'
try 'p:x vfs_read a:u8=%di'
try "p:x vfs_read $(printf '%031d' 1 | tr 01 ab)=%di"
try "p:x vfs_read $(printf '%032d' 1 | tr 01 ab)=%di"
try "p:x vfs_read $(printf '%033d' 1 | tr 01 ab)=%di"
try "p:x vfs_read a=+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(%di)))))))))))))"
try "p:x vfs_read a=+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(%di))))))))))))))))"
l=; for i in $(seq 128); do l="$l a$i=%di"; done; try "p:x vfs_read$l"
try "p:x vfs_read$l z=%di"
try "p:x vfs_read a=\\\"$(printf '%063d' 1)\":string"
try "p:x vfs_read a=\\\"$(printf '%0100d' 1)\":string"
try 'p:x do_int3'
try 'p:x memcpy'
try 'p:x kprobe_ftrace_handler'
try 'p:x trace_kprobe_create'
try 'p:x schedule'
try 'p:x native_load_gs_index'
try 'p:x asm_exc_page_fault'
try 'p:x notifier_call_chain'
try '-:x'
try '-:kprobes/x'
try '-'
try '-x'
try '-:nothing/x'
try 'p:x vfs_read
p:y vfs_write'
try 'p:x vfs_read
bad
p:y vfs_write'
echo 'p:x vfs_read' > kprobe_events; echo 'p:x vfs_read' >> kprobe_events; echo $?; cat kprobe_events
echo 'p:x vfs_write' >> kprobe_events; echo $?; cat kprobe_events; sed 's/^\[[ 0-9.]*\]//' error_log
echo 'p:x vfs_read a=%di' >> kprobe_events; echo $?; echo 'p:x vfs_read a=%di:u8' >> kprobe_events; echo $?; sed 's/^\[[ 0-9.]*\]//' error_log
echo 'p:x vfs_write a=%di' >> kprobe_events; echo $?; cat kprobe_events
echo 'r:x vfs_write a=%di' >> kprobe_events; echo $?; cat kprobe_events
sed 's/^\[[ 0-9.]*\]//' error_log
echo '-:x vfs_write' >> kprobe_events; echo $?; cat kprobe_events
echo '-:x vfs_nothing' >> kprobe_events; echo $?
echo '-:kprobes/x' >> kprobe_events; echo $?; cat kprobe_events
echo 1 > events/kprobes/enable; echo $?
echo 'p:x vfs_read' > kprobe_events; echo 1 > events/kprobes/x/enable; echo > kprobe_events; echo $?; echo '-:x' >> kprobe_events; echo $?; echo 'p:y vfs_write' >> kprobe_events; echo $?
echo 0 > events/kprobes/x/enable; cat kprobe_profile; echo > kprobe_events; echo $?; cat kprobe_events
