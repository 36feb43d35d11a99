# Every setting of /sys/kernel and of processors: its mode, what it says, and what it makes of each of these texts:
# "-" and why: refused, "=" taken and said, <what it says then>.
for f in $(cat); do
	[ -f "$f" ] || { echo "no $f"; continue; }
	line="$f $(stat -c '%a %s' "$f") [$(cat "$f" 2>/dev/null)]"
	if [ -n "$(stat -c %a "$f" | grep ^6)" ]; then
		old=$(cat "$f")
		for v in -1 0 1 2 3 20 512 65536 2147483648 4294967296 99999999999999999999 0x10 ' 7' x true false yes No on of enabled Disabled \
			always never neverx madvise defer defer+madvise inherit within_size advise deny force cold warm soft gpiox reboot shutdown; do
			said=$( (echo -n "$v" >"$f") 2>&1) && now=$(cat "$f") || now="-${said##*: }"
			[ "$now" = "$v" ] && line="$line =" || line="$line <$now>"
		done
		old=${old#*\[} old=${old%\]*}
		printf '%s' "$old" >"$f" 2>/dev/null
	fi
	echo "$line"
done | sed -e 's/Invalid argument/EINVAL/g' -e 's/Numerical result out of range/ERANGE/g' -e 's/Result not representable/ERANGE/g' -e 's/File exists/EEXIST/g' -e 's/Device or resource busy/EBUSY/g' -e 's/Resource busy/EBUSY/g'
