# what is said to: kprobe args
T=/sys/kernel/tracing; [ -d $T ] || T=/sys/kernel/debug/tracing
cd $T
say() { echo "== $*"; }
try() { "$@" 2>/tmp/err; echo "rc $?"; sed 's/^[^:]*: *//' /tmp/err; }
put() { echo "$1" >> "$2" 2>/tmp/err && echo "ok $1" || { echo "refused $1: $(sed 's/.*: //' /tmp/err)"; tail -4 error_log | sed 's/^\[[^]]*\] //'; } }
norm() { sed -e 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] \(.....\) *[0-9.]*:/TASK \1/' -e 's/0x[0-9a-f]\{6,\}/ADDR/g'; }
say kprobe args
put 'p:a do_sys_openat2 dfd=%di:s32 name=+0(%si):ustring how=+0(%dx):x64 c=$comm' kprobe_events
put 'p:b do_sys_openat2 $stack0 $stack2:u8 \1:u16 \"lit":string' kprobe_events
put 'r:c do_sys_openat2 $retval:s16 $retval:b4@2/32 $retval:x8[2]' kprobe_events
put 'p:d vfs_read +u0(%si):x8[4] -8(%sp):x64 $comm' kprobe_events
put 'p:e vfs_read $arg9' kprobe_events
put 'p:f vfs_read %zz' kprobe_events
put 'p:g vfs_read @jiffies:u64 @0:u8' kprobe_events
put 'p:h vfs_read $retval' kprobe_events
put 'p:i vfs_read a=%di a=%si' kprobe_events
put 'p:1j vfs_read' kprobe_events
put 'p:gg/k-k vfs_read' kprobe_events
put 'p:l vfs_read x=+0(+0(+0(%di))):string[3]' kprobe_events
put 'r999999:m vfs_read' kprobe_events
put 'r5:m vfs_read' kprobe_events
put 'p5:n vfs_read' kprobe_events
put 'x:n vfs_read' kprobe_events
put 'p:o vfs_read a=$stack a:u8=%di' kprobe_events
put 'p:q vfs_read %di:foo' kprobe_events
put 'p:r vfs_read %di:b65@0/64' kprobe_events
put 'p:s vfs_read %di:x8[65]' kprobe_events
put 'p:u no_such_function' kprobe_events
put 'p:v vfs_read abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl=%di' kprobe_events
cat kprobe_events
for f in events/kprobes/*/format; do echo "$f"; grep -v '^ID' $f; done
put '-:a' kprobe_events; put '-:zz' kprobe_events; put '-:kprobes/b extra' kprobe_events
cat kprobe_events; put '' kprobe_events
echo > kprobe_events; cat kprobe_events; ls events/kprobes 2>&1 | sed 's/.*: //'
