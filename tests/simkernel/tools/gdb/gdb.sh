cd /w
export HOME=/root TERM=dumb
echo core > /proc/sys/kernel/core_pattern
ulimit -c unlimited
run() { gdb -nx -q -batch -ex 'set pagination off' "$@" 2>&1 < /dev/null; }
echo "--- breakpoints"
run -ex 'break sum' -ex run -ex bt -ex 'info args' -ex 'info locals' -ex 'p *n' -ex 'p *n->next' -ex step -ex step -ex next \
	-ex 'watch watched' -ex c -ex c -ex 'delete 2' -ex finish -ex 'info registers rip eflags cs ss ds es fs gs' -ex stepi \
	-ex 'info breakpoints' -ex 'catch syscall write' -ex c -ex c -ex delete -ex 'handle SIGUSR1 stop print' -ex c -ex bt \
	-ex 'break worker' -ex c -ex 'info threads' -ex 'thread apply all bt' -ex finish -ex 'p ratio' -ex 'p $_siginfo.si_signo' \
	-ex 'call (int)getpid() > 0' -ex 'info sharedlibrary' -ex 'info signals SIGUSR1' -ex c -ex 'p $_exitcode' ./target
echo "--- core"
./target crash
run -ex bt -ex 'info threads' -ex 'frame 1' -ex 'p *head' -ex 'p $_siginfo.si_code' ./target core
rm -f core
./target segv
run -ex bt -ex 'p $_siginfo._sifields._sigfault.si_addr' ./target core
rm -f core
echo "--- gcore, mappings"
run -ex 'handle SIGUSR1 nostop noprint' -ex 'break leaf' -ex 'run crash' -ex 'gcore /tmp/g' -ex 'info proc mappings' -ex c -ex 'p $_siginfo.si_signo' ./target
run -ex bt ./target /tmp/g
echo "--- fork, exec"
run -ex 'handle SIGUSR1 nostop noprint' -ex 'set follow-fork-mode child' -ex 'catch exec' -ex 'run fork' -ex c ./target
run -ex 'handle SIGUSR1 nostop noprint' -ex 'catch fork' -ex 'catch vfork' -ex 'run fork' -ex 'info inferiors' -ex c ./target
echo "--- attach"
./target sleep & p=$!
sleep 0.3
run -ex bt -ex 'p watched' -ex 'set var watched = 6' -ex detach -p $p
kill -USR1 $p
sleep 0.2
run -ex 'p watched' -p $p
kill $p
wait $p
echo "status $?"
echo "--- hardware, calls, return"
run -ex 'hbreak push' -ex 'tbreak main' -ex run -ex c -ex 'p value' -ex up -ex down -ex 'return' -ex until -ex 'catch signal SIGUSR1' -ex c -ex delete \
	-ex 'set var watched=9' -ex 'p watched++' -ex 'print sum(head)' -ex 'rwatch watched' -ex 'signal 0' -ex kill ./target
