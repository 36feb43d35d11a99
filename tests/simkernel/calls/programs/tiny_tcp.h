/* A connection over lo: fd[0] connected, fd[1] accepted. */
static void connection(int fd[2])
{
	struct { unsigned short family, port; unsigned address, pad[2]; } to = { 2, 0, 0x0100007f };
	int size = sizeof(to), one = 1;
	long listener = sys(__NR_socket, 2, 1, 0);
	sys(__NR_bind, listener, &to, sizeof(to));
	sys(__NR_listen, listener, 4);
	sys(__NR_getsockname, listener, &to, &size);
	fd[0] = sys(__NR_socket, 2, 1, 0);
	sys(__NR_connect, fd[0], &to, sizeof(to));
	fd[1] = sys(__NR_accept, listener, 0, 0);
	sys(__NR_setsockopt, fd[0], 6, 1, &one, sizeof(one));
	sys(__NR_close, listener);
}
