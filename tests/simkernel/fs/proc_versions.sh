# What /proc shows by version: modes and names of /proc/sys outside net, and the names of lines that came and went.
echo "=== sys"
find /proc/sys -type f ! -path '/proc/sys/net/*' ! -path '*/binfmt_misc/*' -exec stat -c '%a %n' {} + | sort -k2
for f in self/status self/smaps_rollup self/ksm_stat vmstat meminfo; do
	echo "=== $f"
	[ -f /proc/$f ] && sed 's/[: 	].*//; s/^[0-9a-f]*-.*//' /proc/$f
done
echo "=== self/smaps"
sed -n '2,/VmFlags/s/[0-9].*//p' /proc/self/smaps
