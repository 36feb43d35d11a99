# 5.10 6.1 6.12 7.2
# the numbers of namespaces that boot made; those that are made later are hidden
hide() { sed 's/\[40265320[0-9]*\]/[new]/; s/\[402653[2-9][0-9]*\]/[new]/'; }
links() { for n in /proc/$1/ns/*; do echo "${n##*/} $(readlink $n)"; done | hide; }
echo own; links self
echo init; links 1
echo kthreadd; links 2
for flag in -m -n -u -i -p -U; do echo "unshare $flag"; unshare $flag sh -c 'for n in /proc/self/ns/*; do readlink $n; done' | hide; done
for n in /proc/self/ns/*; do stat -L -c '%i %a %h %s' $n | sed 's/^40265320[0-9]*/new/'; done
echo back; unshare -n nsenter --net=/proc/1/ns/net sh -c 'readlink /proc/self/ns/net'
echo back; unshare -m nsenter --mount=/proc/1/ns/mnt sh -c 'readlink /proc/self/ns/mnt'
