# options by file and by word; what they change in lines of events and markers
cd /sys/kernel/tracing
o() { echo "$1" > trace_options; echo "[$1] $?"; }
for x in nosuch no nonosuch 'print-parent sym-offset' 'noprint-parent,sym-offset' PRINT-PARENT ' sym-addr ' 'nosym-addr' '' test_nop_accept notest_nop_accept test_nop_refuse blk_classic funcgraph-cpu func_stack_trace; do o "$x"; done
grep -c . trace_options; cat options/sym-addr options/sym-offset options/print-parent; o print-parent; o nosym-offset
for f in overwrite markers annotate event-fork; do for v in 1 0 2 -1 x '' 01 ' 1' '1 '; do echo "$v" > options/$f 2>/dev/null; echo "$f [$v] $? $(cat options/$f)"; done; done
echo 1 > options/overwrite; echo 1 > options/markers; echo 1 > options/annotate; echo 0 > options/event-fork
L=syscalls/sys_enter_lseek
echo 1 > events/$L/enable; /w 1
show() { grep -v '^#' trace | grep ' w-\|lseek\|fd' | sed "s/[0-9]\{2,\}\.[0-9]\{6\}/TIME/; s/-[0-9]\{2,\}/-PID/; s/pid=[0-9]*/pid=PID/; s/[0-9]\{2,\} us/N us/g" | head -3; }
show; for x in raw hex bin verbose sym-userobj sym-addr fields nofields hash-ptr nohash-ptr noirq-info record-tgid nocontext-info printk-msg-only; do o $x; show | od -c | head -8 | cut -c1-60; case $x in no*) o ${x#no};; *) o no$x;; esac; done 2>&1 | sed 's/[0-9]\{7\} //' | grep -v 'sh  *-' | grep '^\[' 
o context-info; o irq-info; o hash-ptr; show; o irq-info; sed -n 1,12p trace | grep -v entries; o noirq-info; sed -n 1,6p trace | grep -v entries; show; o irq-info; o record-tgid; sed -n 3,12p trace; show | sed 's/( *[0-9-]*)/(TGID)/'; o norecord-tgid
echo 0 > options/markers; echo a > trace_marker; echo $?; echo 1 > options/markers; echo b > trace_marker; grep -c ': [ab]$' trace
printf 'no newline' > trace_marker; printf 'two\nlines\n' > trace_marker; printf '' > trace_marker; echo $?; printf 'nul\0inside\n' > trace_marker; printf '\n' > trace_marker; printf '%%s %%n\n' > trace_marker; head -c 5000 /dev/zero | tr '\0' q > trace_marker; echo $?; grep -v '^#' trace | grep 'tracing_mark' | sed 's/.*tracing_mark_write: //' | cut -c1-50; grep -c qqq trace; grep qqq trace | wc -c
printf '\1\0\0\0abc' > trace_marker_raw; echo $?; printf '\1\0' > trace_marker_raw; echo $?; printf '\377\377\377\377' > trace_marker_raw; echo $?; printf '\2\0\0\0abcd' > trace_marker_raw; grep '# ' trace | grep buf | sed 's/.*# /# /'
echo 1 > options/stacktrace; echo c > trace_marker; grep -v '^#' trace | sed -n '/: c$/,$p' | sed 's/.*: //' | head -4; echo 0 > options/stacktrace; echo > trace
echo 0 > options/trace_printk; echo e > trace_marker; grep -c ': e$' trace; echo 1 > options/trace_printk
echo 0 > events/enable; cat trace_options | tr '\n' ' '; ls options | tr '\n' ' '
