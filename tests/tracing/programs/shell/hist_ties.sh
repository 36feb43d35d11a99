cd /sys/kernel/tracing
L=events/syscalls/sys_enter_lseek
hist() { grep '^{' $1 | tr -s ' ' | cut -d' ' -f3-6 | tr '\n' ' '; echo; }
run() { echo "hist:keys=offset$1 if offset > 0" > $L/trigger; for n in $2; do dd if=/w of=/dev/null bs=1 count=1 skip=$n 2>/dev/null; done; echo "$1"; hist $L/hist;  echo '!hist:keys=offset'$1 > $L/trigger; }
run '' '7 3 9 1 5 100 7 3 9'
run '' '7 3 9 1 5 100 1 5 100'
run '' '7 3 9 1 5 100 3 1'
run :sort=hitcount.descending '7 3 9 1 5 100 3 1'
run :sort=hitcount.descending '7 3 9 1 5 100'
run .hex:sort=hitcount '7 3 9 1 5 100'
run :sort=offset.descending '7 3 9 1 5 100'
run :size=128 '7 3 9 1 5 100'
run ,fd '7 3 9 1 5 100'
run ,common_pid '7 3 9 1 5 100'
run :vals=fd:sort=fd '7 3 9 1 5 100'
run :sort=hitcount '1000000007 70000 4294967296 5 8589934592'
