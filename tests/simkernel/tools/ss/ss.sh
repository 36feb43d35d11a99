run() {
	echo "--- $*"
	ss "$@"
}
run -a -t -n
run -a -u -n
run -a -x -n
run -a -w -n -p
run -0 -n
run -f netlink -n
run -a -t -u -x -n -p
run -l -n
run -s
run -t -a -n -e
run -t -n -i
run -t -n -o
run -t -a -n state listening
run -t -n sport = :7001
run -t -n state close-wait
run -t -a -n -6
run -d -a
run -M -a
run -S -a
run -t -a -n --tos
run -u -n -K dst = 127.0.0.1:7003
run -t -n -K dport = :7001
run -t -n
run -a -u -n
run -t -n -K -l sport = :7002
run -l -t -n
cat /proc/net/tcp /proc/net/raw | sed 's/ [0-9a-f]\{16\} .*//'
