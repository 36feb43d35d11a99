# Events at functions' entries and returns and at tracepoints, with arguments by their names: what they show when they fire.
cd /sys/kernel/tracing
echo hello > /tmp/greeting
cp /bin/busybox /dd 2> /dev/null || cp /busybox /dd
show() { grep -v '^#' trace | grep "$1" | sed 's/^ *//; s/-[0-9]* */-P /; s/\[[0-9]*\] //; s/ *[0-9]*\.[0-9]*: / T: /; s/0xffff[0-9a-f]*/PTR/g; s/+0x[0-9a-f]*\/0x[0-9a-f]*/+OFF/g; s/\.[Nl]\./.../; s/buf=0x[0-9a-f]*/buf=BUF/; s/ino=[0-9]*/ino=INO/' | head -n ${2:-6}; }
names() { sed 's/^[^:]*:\([^ ]*\) .*/\1/' dynamic_events; }
run() {
	echo > trace
	for d in "$@"; do echo "== $d"; printf '%s\n' "$d" 2> /dev/null >> dynamic_events || echo refused; done
	for e in $(names); do echo 1 > events/$e/enable; done
	/dd if=/tmp/greeting of=/dev/null bs=64 count=1 2> /dev/null
	for e in $(names); do echo 0 > events/$e/enable; done
	show 'dd-'
	echo > dynamic_events
}
run 'p vfs_read $arg*'
run 'p vfs_read file->f_flags:x32 count ino=file->f_inode->i_ino name=file->f_path.dentry->d_name.name:string fs=file->f_inode->i_sb->s_type->name:string'
run 'p vfs_read file:%pD' 'p vfs_open path->dentry:%pd'
run 'r vfs_read $retval count'
run 'r vfs_read ret=$retval:s32 $arg*'
run 'r vfs_read count+1'
run 'f vfs_read count name=file:%pD'
run 'f vfs_read%return ret=$retval count'
run 'f vfs_read%return $retval' 'f vfs_read' 'p vfs_read'
run 'f do_sys_openat2 dfd name=filename:ustring how->flags how->mode'
run 'f do_sys_openat2%return $retval dfd filename:ustring'
run 't sched_process_exit p->comm:string p->exit_code p->tgid:b1@31/32'
run 't:mine sched_process_exec p->comm:string bprm->filename:string bprm->argc'
run 'f vfs_read $comm $stack0:symbol'
run 'f vfs_read%return ret=$retval' 'f vfs_read%return ret=$retval count'
run 'f:x vfs_open file->f_flags' 'f:x vfs_read file->f_flags'
run 'f:w vfs_rea* $comm' 'f:w vfs_rea*%return'
echo '== files'
echo 'f vfs_read count' >> dynamic_events; echo 'f vfs_open%return $retval' >> dynamic_events; echo 't sched_switch prev->pid' >> dynamic_events
ls -1 events/fprobes events/tracepoints; ls -l events/fprobes/vfs_read__entry | awk '{print $1, $NF}'
cat kprobe_events
cut -d' ' -f3- /sys/kernel/debug/kprobes/list
echo 1 > events/fprobes/enable
cut -d' ' -f3- /sys/kernel/debug/kprobes/list
grep '^vfs_read ' enabled_functions | sed 's/tramp: 0x[0-9a-f]*/tramp/'
echo '-:vfs_read__entry' >> dynamic_events && echo removed || echo busy
echo 0 > events/fprobes/enable
for d in '-:fprobes/vfs_read__entry vfs_write' '-:fprobes/vfs_read__entry vfs_read count=buf' '-:fprobes/vfs_read__entry vfs_read count=count' 'f-:vfs_open__exit' '-:tracepoints/sched_switch sched_switch'; do
	echo "$d" >> dynamic_events && echo removed || echo not
done
cat dynamic_events
echo > dynamic_events
echo 'f vfs_read' >> kprobe_events && echo taken || echo 'not by kprobe_events'
echo 'f vfs_read count' >> dynamic_events
for d in 'f vfs_read count' 'f:fprobes/vfs_read__entry vfs_open path' 'f:fprobes/vfs_read__entry vfs_read%return count' 't:fprobes/vfs_read__entry sched_switch'; do
	echo "$d" >> dynamic_events && echo taken || echo not
done
sed 's/^\[[^]]*\]//' error_log; cat dynamic_events; echo > dynamic_events
echo '== stacks'
echo 1 > options/stacktrace
for d in 'f:s/a vfs_read' 'f:s/b vfs_read%return'; do
	echo "$d" >> dynamic_events
	echo > trace; echo 1 > events/s/enable; /dd if=/tmp/greeting of=/dev/null bs=64 count=1 2> /dev/null; echo 0 > events/s/enable
	grep -v '^#' trace | grep -A20 'dd-' | sed 's/^ *//; s/-[0-9]* */-P /; s/\[[0-9]*\] //; s/ *[0-9]*\.[0-9]*: / T: /; s/+0x[0-9a-f]*\/0x[0-9a-f]*//; s/\.[Nl]\./.../' | head -n 20
	echo > dynamic_events
done
echo 0 > options/stacktrace
echo '== filters and triggers'
echo 'f:flt vfs_read count name=file:%pD' >> dynamic_events
echo 'count > 5 && name == "greeting"' > events/fprobes/flt/filter; cat events/fprobes/flt/filter
echo 'hist:keys=name:vals=count if count == 64' > events/fprobes/flt/trigger
echo > trace; echo 1 > events/fprobes/flt/enable; /dd if=/tmp/greeting of=/dev/null bs=64 count=1 2> /dev/null; echo 0 > events/fprobes/flt/enable
show dd-; grep name: events/fprobes/flt/hist
echo '!hist:keys=name:vals=count if count == 64' > events/fprobes/flt/trigger
echo > dynamic_events
