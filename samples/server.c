/*
 * A server without a network: it answers made-up requests to three routes, one after the other, and marks the begin and
 * the end of each with a static probe.  `server [REQUESTS]`, 12 if not said.
 */
#include "sdt.h"
#include "tiny.h"

static const char *const routes[] = { "/", "/about", "/search" };

__attribute__((noinline)) ulong answer(ulong request, const char *route)
{
	ulong work = (length(route) * 40) + request % 4 * 100, sum = 0;

	for (volatile ulong i = 0; i < work; i++)
		sum += i * request;
	return sum % 7 ? 200 : 404;
}

int main(int argc, char **argv)
{
	ulong requests = argc > 1 ? number_of(argv[1]) : 12, missing = 0;
	char line[64];

	for (ulong request = 1; request <= requests; request++) {
		const char *route = routes[request % 3];
		ulong status;

		NOTE2(server, request, request, route);
		status = answer(request, route);
		NOTE3(server, answer, request, route, status);
		missing += status == 404;
	}
	NOTE1(server, finished, missing);
	add(add_number(add(line, "answered "), requests), " requests\n");
	put(line);
	return 0;
}
