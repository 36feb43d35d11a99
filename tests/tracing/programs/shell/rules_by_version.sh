# what is refused, and where the caret is, in definitions and sets: each kernel has its own answers
cd /sys/kernel/tracing
put() { echo "$1" >> $2 2>/dev/null; echo "[$1] $2 $?"; }
log() { tail -n 3 error_log | sed 's/^\[ *[0-9.]*\]/[T]/'; : > error_log; }
for a in '$comm:symstr' '$comm:symbol' '$common_pid:symstr' '@linux_banner:symstr' '\7:symstr' '\"x":symstr' '+0($offset):symstr' '+u0($offset):symstr' '$offset:symstr' '$COMM:symstr' '$common_cpu:symstr' '$comm:u8' '$comm:string[2]' '$nosuch:symstr' '\"x":u8'; do
put "e:x syscalls.sys_enter_lseek a=$a" dynamic_events; log; done
tail -n +1 dynamic_events; : > dynamic_events
for a in '$comm:symstr' '%di:symstr' '$stack0:symstr' '$stack:symstr' '@linux_banner:symstr' '\7:symstr' '\"x":symstr' '+0(%di):symstr' '+u0(%di):symstr' '+u0(%di):ustring' '%di:ustring' '%di:string' '$stack:string' '@linux_banner:ustring' '%di:symstr[2]'; do
put "p:x vfs_read a=$a" kprobe_events; log; : > kprobe_events; done
for a in 'b4@6/8' b0@0/8 b4 b4@0/7 'u8[0]' 'u8[65]' 'u8[64]' 'u8[1' 'nosuch' 'u64x' 'string[9' 'string[65]' 'ustring[2]' 'x8[2]' 'b3@1/32[2]' 'b3@30/32' 'b9@0/8'; do
for e in '+u0(%si)' '+0(%si)' '-8(%si)' '+0(+8(%si))' '+u16(-0x10(+3(%si)))' '%si' '$stack0' '@linux_banner'; do put "p:x vfs_read one=$e:$a" kprobe_events; log; : > kprobe_events; done; done
for w in 1x 1,2 5-6 0x1 010 ' 1' '1 ' 0 99999999 -1 +1 18446744073709551616; do for f in set_ftrace_filter set_ftrace_notrace stack_trace_filter set_graph_function; do echo "$w" > $f 2>/dev/null; r=$?; echo "{$w} $f $r $(grep -c -v '^#' $f)"; : > $f; done; done
for w in ':mod:x' 'sched:*:mod:x' '*:mod:x' ':mod:' ':mod:x:y' '!:mod:x' 'sched:mod:x' 'sched:sched_switch:mod:x' ':mod:ext4' '!sched:*:mod:x'; do echo "$w" > set_event 2>/dev/null; echo "{$w} $? $(tr '\n' ' ' < set_event)"; done; : > set_event; cat set_event
show() { echo "$1 -> $2: $(tr '\n' ' ' < set_event)"; }
for w in sched:sched_switch ':mod:a' 'sched:*:mod:a' 'foo:mod:a' 'sched:sched_switch:mod:a' 'sched:*:mod:b' 'foo:mod:a' '*:sched_switch:mod:b' 'sched::mod:c' '::mod:d' '*:mod:d' ':x:mod:d' '!foo:mod:a' '!sched:*:mod:a' '!sched:x:mod:a' '!:sched_switch:mod:b' '!:mod:a' '!*:*:mod:b' '!sched:mod:c' '!*:mod:d' '!:x:mod:d' '!:mod:d' '!sched:*'; do echo "$w" >> set_event 2>/dev/null; show "$w" $?; done
for w in 'a:mod:b:mod:c' 'a:b:c:mod:d' 'mod:x' ':mod' ' sched:*:mod:x' 'sched:*:mod:x kmem:*:mod:y'; do echo "$w" > set_event 2>/dev/null; show "$w" $?; done; : > set_event
mkdir instances/i
for d in instances/i .; do for w in 1 0 2 x '' 1; do echo $w > $d/options/trace_printk_dest 2>/dev/null; echo "$d {$w} $? $(cat options/trace_printk_dest) $(cat instances/i/options/trace_printk_dest)"; done; done
echo notrace_printk_dest > trace_options; echo $?; grep printk_dest trace_options; echo trace_printk_dest > instances/i/trace_options; echo $?; grep printk_dest trace_options instances/i/trace_options
rmdir instances/i; echo $?; cat options/trace_printk_dest
mkdir instances/i instances/j; for d in i j i; do echo 1 > instances/$d/options/trace_printk_dest 2>/dev/null; echo "$? $(cat options/trace_printk_dest instances/?/options/trace_printk_dest | tr '\n' ' ')"; done; rmdir instances/i; cat options/trace_printk_dest instances/j/options/trace_printk_dest; rmdir instances/j
