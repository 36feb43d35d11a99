# Every setting of /proc/sys outside net that can be asked without harm: its mode, its value, and what it makes of each of these texts:
# "-" refused, "=" taken, <what it says then>.
cd /proc/sys
while read -r f; do
	[ -f "$f" ] || { echo "no $f"; continue; }
	old=$(cat "$f" 2>/dev/null)
	case $f in vm/user_reserve_kbytes | kernel/arch) shown=X ;; *) shown=$old ;; esac
	line="$f $(stat -c %a "$f") [$shown]"
	for v in -1 0 1 2 3 20 101 9000 100001 2147483648 4294967296 x '' '5 6' ' 7'; do
		if printf '%s' "$v" 2>/dev/null >"$f"; then
			now=$(cat "$f" 2>/dev/null)
			[ "$now" = "$v" ] && line="$line =" || line="$line <$now>"
		else
			line="$line -"
		fi
	done
	printf '%s' "$old" 2>/dev/null >"$f"
	echo "$line"
done
