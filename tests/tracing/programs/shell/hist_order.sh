cd /sys/kernel/tracing
L=events/syscalls/sys_enter_lseek
for n in 1 2 3 4 5 8 16; do echo 'hist:keys=offset' > $L/trigger; /w $n; grep '^{' $L/hist | tr -s ' ' | cut -d' ' -f3 | tr '\n' ' '; echo; echo '!hist:keys=offset' > $L/trigger; done
for n in 2 3 4 5 8 16; do echo 'hist:keys=fd,offset' > $L/trigger; /w $n; grep '^{' $L/hist | tr -s ' ' | cut -d' ' -f5 | tr '\n' ' '; echo; echo '!hist:keys=fd,offset' > $L/trigger; done
for n in 2 3 4 5 8 16; do echo 'hist:keys=whence,offset' > $L/trigger; /w $n; grep '^{' $L/hist | tr -s ' ' | cut -d' ' -f5 | tr '\n' ' '; echo; echo '!hist:keys=whence,offset' > $L/trigger; done
