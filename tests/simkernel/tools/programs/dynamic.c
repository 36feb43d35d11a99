/* A dynamic program with a thread, a child and its environment. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *thread(void *argument)
{
	*(int *)argument = 42;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;
	int answer = 0, status = 0;

	pthread_create(&id, NULL, thread, &answer);
	pthread_join(id, NULL);
	if (!fork())
		_exit(3);
	wait(&status);
	printf("%d %d %s %d\n", answer, argc, getenv("COLOUR"), WEXITSTATUS(status));
	return 0;
}
