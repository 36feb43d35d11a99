# 5.10 6.1 6.12 7.2
# Events of system calls: since 6.19 with names and data of the program's memory.
cd /sys/kernel/tracing
echo 0 > tracing_on
for event in openat write unlink mkdir rename chdir sethostname; do echo 1 > events/syscalls/sys_enter_$event/enable; done
echo 1 > events/syscalls/sys_exit_unlink/enable
echo $$ > set_event_pid
echo 1 > options/event-fork
show() { grep -v '^#\|/dev/null\|tracing_on' trace | sed 's/^.*: sys_/sys_/; s/\(buf\|filename\|pathname\|name\|oldname\|newname\): [0-9a-fx][0-9a-fx]*/\1: P/g'; }
echo > trace; echo 1 > tracing_on
cat /etc/none 2> /dev/null
mkdir /tmp/a; rmdir /tmp/a; mv /tmp/none /tmp/b 2> /dev/null
echo hello
printf 'bin\001\002ary and some longer text which is more than sixty-three bytes long, certainly\n' > /tmp/f
rm /tmp/f
cd /tmp/nonexistent_directory_with_a_very_long_name_that_does_not_fit_into_the_buffer_of_63_bytes 2> /dev/null
rm -f "$(printf '/tmp/x\303\274\001y')"
hostname abc
echo 0 > tracing_on
show
echo 1 > options/verbose; show | grep 'write\|openat' | head -n 3; echo 0 > options/verbose
if [ -e syscall_user_buf_size ]; then
	for size in 8 166; do echo $size > syscall_user_buf_size; cat syscall_user_buf_size; done
	echo 8 > syscall_user_buf_size
	echo > trace; echo 1 > tracing_on; echo a longer line of text; cat /etc/none 2> /dev/null; echo 0 > tracing_on; show
	echo 63 > syscall_user_buf_size
fi
echo 0 > events/syscalls/enable; echo > set_event_pid; echo 0 > options/event-fork; echo > trace; echo 1 > tracing_on
