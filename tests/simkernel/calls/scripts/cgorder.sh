mkdir -p /c; grep -q cgroup2 /proc/mounts || mount -t cgroup2 c /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir g h
p() { echo "== $1"; for x in $(cat $1/cgroup.procs); do echo -n "$((x-a)) "; done; echo; for x in $(cat $1/cgroup.threads); do echo -n "$((x-a)) "; done; echo; }
sleep 300 & a=$!; for i in 1 2 3 4 5 6; do sleep 300 & done; sleep 1
for p in 5 0 3 1; do echo $((a+p)) > g/cgroup.procs; done; p g
echo $a > h/cgroup.procs; p g; p h; echo $((a+3)) > h/cgroup.procs; p h; echo $a > g/cgroup.procs; p g; p h
echo $((a+2)) > g/cgroup.procs; echo $((a+2)) > g/cgroup.procs; p g
for p in 0 1 2 3 4 5 6; do echo $((a+p)) > h/cgroup.procs; done; p h; p g
mkdir h/i; for p in 6 2 4; do echo $((a+p)) > h/i/cgroup.procs; done; p h; p h/i
sh -c 'echo $$ > g/cgroup.procs; sleep 300 & sleep 300 & sleep 300 & wait' & sleep 1; q=$a; n=0; for x in $(cat g/cgroup.procs); do [ $n = 0 ] && b=$x; n=$((n+1)); echo -n "$((x-b)) "; done; echo
