cd /sys/kernel/tracing
t() { echo "# $2"; echo "$2" > events/$1/trigger; echo "rc $?"; cat error_log; echo > error_log; }
R=raw_syscalls/sys_enter
t $R 'hist:keys=id:a=id+1:b=$a*2,c=$a/0'
t $R 'hist:keys=id:a=id+1:c=$a/0'
t $R 'hist:keys=id:a=id/0'
t $R 'hist:keys=id:a=0:c=id/$a'
t $R 'hist:keys=id:a=3/0'
t $R 'hist:keys=id:a=id+1:b=$a*2'
t $R 'hist:keys=id:x=id+1:y=$x*$x:vals=$y'
t $R 'hist:keys=id:vals=id+1'
t $R 'hist:keys=id+1'
t $R 'hist:keys=id:q=-id:vals=$q'
t $R 'hist:keys=id:q1=-(id+1)'
t $R 'hist:keys=id:q2=id+1+2+3+4'
t $R 'hist:keys=id:q3=id*-1'
t $R 'hist:keys=id:q4=id-1-2,q5=id/3*2'
t $R 'hist:keys=id:q6=1.5'
t $R 'hist:keys=id:q7=common_timestamp-id'
t $R 'hist:keys=id:q8=common_timestamp.usecs-common_timestamp'
cat events/$R/trigger
