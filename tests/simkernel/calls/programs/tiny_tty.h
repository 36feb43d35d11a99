/* What a line gives; what cannot be printed is told as numbers. */
static void bytes(const char *what, long n, const char *p)
{
	say("%s %r <", what, n);
	for (long i = 0; i < n; i++)
		if (p[i] < 32 || p[i] > 126)
			say("\\%x", (long)(unsigned char)p[i]);
		else
			put(p[i]);
	say(">\n");
}

static void take(const char *what, long fd)
{
	static char buf[8192];
	nap(20);
	bytes(what, sys(__NR_read, fd, buf, sizeof(buf)), buf);
}
