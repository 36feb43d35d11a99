#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/wait.h>
struct node { int value; struct node *next; char name[8]; };
static volatile int watched;
static double ratio = 1.5;
static struct node *push(struct node *head, int value)
{
	struct node *n = malloc(sizeof *n);
	n->value = value; n->next = head;
	snprintf(n->name, sizeof n->name, "n%d", value);
	return n;
}
static int sum(struct node *n)
{
	int total = 0;
	for (; n; n = n->next) {
		total += n->value;
		watched = total;
	}
	return total;
}
static void handler(int sig) { watched = -sig; }
static void *worker(void *arg)
{
	ratio *= 2;
	watched = 77;
	return arg;
}
static int leaf(int x) { return x / watched; }
int main(int argc, char **argv)
{
	struct node *head = NULL;
	pthread_t t;
	void *got;
	for (int i = 1; i <= 3; i++)
		head = push(head, i * 10);
	printf("sum %d\n", sum(head));
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	pthread_create(&t, NULL, worker, &head);
	pthread_join(t, &got);
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		pid_t p = fork();
		if (!p) { watched = 5; execl("/bin/echo", "echo", "child", NULL); _exit(3); }
		int st; waitpid(p, &st, 0);
		printf("child %d\n", WEXITSTATUS(st));
	}
	if (argc > 1 && !strcmp(argv[1], "crash")) { watched = 0; return leaf(4); }
	if (argc > 1 && !strcmp(argv[1], "segv")) { *(volatile int *)16 = 1; }
	if (argc > 1 && !strcmp(argv[1], "sleep")) { puts("here"); fflush(stdout); for (;;) pause(); }
	puts("end");
	return 4;
}
