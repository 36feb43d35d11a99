# What test_strace_as_on_linux.py runs below /r, and what made pipeline_6_1.txt on Debian's real 6.1: the programs and libraries of Debian 12.
mkdir -p /r/proc /r/dev /r/tmp
mount -t proc proc /r/proc
mount -t devtmpfs dev /r/dev
export PATH=/bin HOME=/ LC_ALL=C TERM=dumb
chroot /r /bin/sh -c 'cd /tmp; umask 022; exec </dev/null; strace -f -o /tmp/trace sh -c "cat /etc/passwd | sort > /tmp/o; wc /tmp/o; echo hello | cat | wc -c; ls /nothing" > /tmp/said 2>&1'
cat /r/tmp/trace
