/* fallocate(2), whose arguments of 64 bits take two registers on machines of 32 */
static long reserve(long fd, long at, long size)
{
#if defined(__i386__)
	return sys(__NR_fallocate, fd, 0, at, 0, size, 0);
#else
	return sys(__NR_fallocate, fd, 0, at, size);
#endif
}
