# Who calls whom, as compilers left it: the function tracer's callers and its stacks, and functions nobody arrives at.
ip link set lo up; mkdir -p /tmp/w; cd /sys/kernel/tracing
echo vfs_fstatat vfs_getattr security_inode_getattr vfs_ioctl vfs_link vfs_symlink vfs_rename vfs_mkdir vfs_mknod chmod_common chown_common kernel_wait4 kernel_clone release_task do_group_exit iterate_dir security_file_permission hrtimer_nanosleep kill_pid_info __set_task_comm path_mount inet_bind inet_listen security_socket_bind security_socket_listen security_socket_setsockopt __sock_release security_task_alloc > set_ftrace_filter
echo 1 > options/function-fork; echo 0 > options/irq-info
echo 'cd /tmp/w; echo a > f; ls -l . > /dev/null; ln f g; ln -s f h; mv g i; mkdir d; mknod p p; chmod 600 f; chown 1 f; sleep 0.01; kill -0 1; (exit 3); rm f h i p; rmdir d; mkdir m; mount -t tmpfs none m; umount m; busybox timeout -s KILL 1 nc -l -p 9' > /tmp/w.sh
sh -c 'echo $$ > set_ftrace_pid; echo function > current_tracer; sh /tmp/w.sh > /dev/null 2>&1'
echo 0 > tracing_on; grep -v '^#' trace | sed 's/.*: //' | sort | uniq
echo nop > current_tracer; echo vfs_link chmod_common security_file_permission iterate_dir __sock_release > set_ftrace_filter; echo 1 > options/func_stack_trace; echo 1 > tracing_on
sh -c 'echo $$ > set_ftrace_pid; echo function > current_tracer; cd /tmp/w; echo a > f; ln f g; chmod 600 f; ls . > /dev/null; nc 127.0.0.1 9' 2> /dev/null
echo 0 > tracing_on; grep -v '^#' trace | awk '/<-/ {if (s) print s; s = $(NF-1) " " $NF; next} /^ =>/ {if ($2 !~ /^0x/) s = s " " $2} END {print s}' | grep -v load_elf_phdrs | sort | uniq
