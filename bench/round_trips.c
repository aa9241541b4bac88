// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* round_trips serve ADDRESS PORT: each byte that comes is sent back.
 * round_trips keep|open ADDRESS PORT N: N bytes there and back, by one connection or by one each;
 * prints the microseconds of one. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void at_once(int made)
{
	int one = 1;

	if (setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		fail("TCP_NODELAY");
}

static void serve(struct sockaddr_in *at)
{
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	if (bind(listening, (void *)at, sizeof(*at)) || listen(listening, 1024))
		fail("listen");
	puts("listening");
	fflush(stdout);
	for (;;) {
		int made = accept(listening, NULL, NULL);

		at_once(made);
		while (read(made, &byte, 1) == 1 && write(made, &byte, 1) == 1)
			;
		close(made);
	}
}

static double ask(struct sockaddr_in *at, int times, int keep)
{
	struct timespec begun, ended;
	int made = -1;
	char byte;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (int i = 0; i < times; i++) {
		if (made < 0) {
			made = socket(AF_INET, SOCK_STREAM, 0);
			if (connect(made, (void *)at, sizeof(*at)))
				fail("connect");
			at_once(made);
		}
		if (write(made, "x", 1) != 1 || read(made, &byte, 1) != 1)
			fail("round trip");
		if (!keep) {
			close(made);
			made = -1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	return ((ended.tv_sec - begun.tv_sec) * 1e9 + ended.tv_nsec - begun.tv_nsec) / 1e3 / times;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	if (argc < 4 || inet_pton(AF_INET, argv[2], &at.sin_addr) != 1)
		return 2;
	at.sin_port = htons(atoi(argv[3]));
	if (!strcmp(argv[1], "serve"))
		serve(&at);
	if (argc < 5)
		return 2;
	printf("%.3f\n", ask(&at, atoi(argv[4]), !strcmp(argv[1], "keep")));
	return 0;
}
