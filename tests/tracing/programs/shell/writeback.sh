# Inodes that become dirty: by the time of an access or of a write once the clock has ticked, and by attributes of generated files.
mkdir -p /t; mount -t tmpfs t /t
cd /sys/kernel/tracing
grep -v ^ID events/writeback/writeback_mark_inode_dirty/format
cmp events/writeback/writeback_dirty_inode/format events/writeback/writeback_dirty_inode_start/format | grep -c differ
echo x > /t/a; mkdir /t/d; mkfifo /t/p
sleep 0.02; cat /t/a > /dev/null
events="mark_inode_dirty dirty_inode_start dirty_inode"
for e in $events; do echo 'ino < 6' > events/writeback/writeback_$e/filter; done
for e in $events; do echo 1 > events/writeback/writeback_$e/enable; done
one() { for e in dirty_inode_start dirty_inode; do echo 0 > events/writeback/writeback_$e/enable; done; }
step() { sleep 0.02; echo "$1" > trace_marker; }
step 'written'; echo hello >> /t/a
one
step 'written again'; echo hello >> /t/a
step 'cut'; : > /t/a
step 'cut to a size'; truncate -s 100 /t/a
step 'read'; read x < /t/a
step 'a directory is listed'; ls /t/d > /dev/null
step 'names and attributes'; chmod 600 /t/a; chown 1 /t/a; ln /t/a /t/b; mv /t/b /t/c; rm /t/c; touch /t/a
step 'a pipe with a name'; cat /t/p > /dev/null & echo a > /t/p; wait
step 'end'
echo 'flags == 7 || state == 7' > events/writeback/writeback_mark_inode_dirty/filter
step 'generated files'
echo 1 > /proc/sys/vm/drop_caches
step 'once more'
echo 1 > /proc/sys/vm/drop_caches
step 'of a task'
echo 0 > /proc/self/oom_score_adj
step 'of sysfs'
echo madvise > /sys/kernel/mm/transparent_hugepage/enabled
mkdir /sys/fs/cgroup/x; echo 0 > /sys/fs/cgroup/x/cgroup.procs
step 'a pipe'
(sleep 0.02; echo 2) | cat > /dev/null
echo 0 > events/enable
grep -v "^#" trace | sed "s/ino=[0-9][0-9][0-9]*/ino=N/; s/ino=[0-9]* state=I_DIRTY_SYNC|/ino=N state=I_DIRTY_SYNC|/"
