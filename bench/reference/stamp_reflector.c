// A Session-Reflector of STAMP in user space, as fast as sockets let it be: 64 test packets a system
// call, received and sent; stateless, over IPv6, timestamps of NTP. By hand, for bench/stamp.py.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 64
#define BASE 44 // bytes of a test packet, RFC 8762 section 4.2.1
#define NTP_EPOCH 2208988800ULL

static uint8_t data[BATCH][2048], control[BATCH][256];
static struct sockaddr_in6 from[BATCH];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];

static uint64_t ntp(const struct timespec *t)
{
	uint64_t fraction = ((uint64_t)t->tv_nsec << 32) / 1000000000;
	return htobe64((t->tv_sec + NTP_EPOCH) << 32 | fraction);
}

// When the kernel received it, and with how many hops left.
static void meta(struct msghdr *m, struct timespec *when, uint8_t *hops)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS)
			memcpy(when, CMSG_DATA(c), sizeof(*when));
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)
			*hops = *(int *)CMSG_DATA(c);
	}
}

static int reflect(int i, const struct timespec *now)
{
	struct timespec received = *now;
	uint8_t *p = data[i], hops = 0;
	uint64_t t2, t3;

	if (messages[i].msg_len < BASE)
		return 0;
	meta(&messages[i].msg_hdr, &received, &hops);
	memcpy(p + 24, p, 14);                          // sequence number, timestamp, error estimate
	memcpy(p + 12, "\0\1", 2);
	p[40] = hops;
	t2 = ntp(&received), t3 = ntp(now);
	memcpy(p + 16, &t2, 8);
	memcpy(p + 4, &t3, 8);
	parts[i].iov_len = messages[i].msg_len;
	messages[i].msg_hdr.msg_controllen = 0;
	return 1;
}

static void prepare(void)
{
	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ data[i], sizeof(data[i]) };
		messages[i].msg_hdr = (struct msghdr){ &from[i], sizeof(from[i]), &parts[i], 1,
						       control[i], sizeof(control[i]), 0 };
	}
}

int main(int count, char **words)
{
	struct sockaddr_in6 here = { .sin6_family = AF_INET6 };
	int s = socket(AF_INET6, SOCK_DGRAM, 0), one = 1, room = 4 << 20;

	if (count != 3 || inet_pton(AF_INET6, words[1], &here.sin6_addr) != 1)
		return fprintf(stderr, "%s ADDRESS PORT\n", words[0]), 2;
	here.sin6_port = htons(atoi(words[2]));
	setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	setsockopt(s, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(s, (void *)&here, sizeof(here)))
		return perror("bind"), 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct timespec now;
		int received, fine = 1;

		prepare();
		received = recvmmsg(s, messages, BATCH, MSG_WAITFORONE, NULL);
		if (received < 0 && errno != EINTR)
			return perror("recvmmsg"), 1;
		clock_gettime(CLOCK_REALTIME, &now);
		for (int i = 0; i < received; i++)
			fine &= reflect(i, &now);
		for (int sent = 0; fine && sent < received;) {
			int done = sendmmsg(s, messages + sent, received - sent, 0);
			if (done <= 0)
				break;
			sent += done;
		}
	}
}
