# The states of two connections, as sock:inet_sock_set_state tells them.
ifconfig lo 127.0.0.1 up; cd /sys/kernel/tracing
echo 1 > events/sock/inet_sock_set_state/enable
busybox nc -l -p 9 > /dev/null & sleep 0.3; echo hello | busybox nc 127.0.0.1 9; sleep 0.5; wait
busybox nc -w 1 127.0.0.1 10; echo rc $?
echo 0 > events/sock/inet_sock_set_state/enable
grep -v '^#' trace | sed 's/.*inet_sock_set_state: //; s/port=[3-6][0-9]\{4\}/port=PORT/g' | grep -v 'TCP_\(CLOSE_WAIT\|CLOSING\|FIN_WAIT.\|LAST_ACK\|ESTABLISHED\) '
