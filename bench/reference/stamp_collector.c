// A collector of STAMP's answers in user space, as fast as sockets let it be: 64 answers a system call,
// with the kernel's receive timestamps; the session is found by SSID and address, and the record written into
// its ring, in a file that is mapped: a counter of 64 bits, then 1,024 records. By hand, for bench/stamp.py.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define BASE 44 // bytes of a test packet, RFC 8762 section 4.3.1
#define RECORDS 1024
#define NTP_EPOCH 2208988800ULL

struct record {
	uint32_t sequence, reflected;
	uint16_t estimate;
	uint8_t ttl;
	uint64_t t1, t2, t3, t4;
};
struct session {
	volatile uint64_t written;
	struct record record[RECORDS];
};
static struct {
	struct in6_addr peer;
	struct session *ring;
} sessions[1 << 16]; // by SSID

static uint8_t data[BATCH][2048], control[BATCH][256];
static struct sockaddr_in6 from[BATCH];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];

static uint64_t word(const uint8_t *p)
{
	uint64_t found;

	memcpy(&found, p, 8);
	return be64toh(found);
}

static uint32_t half(const uint8_t *p)
{
	return word(p) >> 32;
}

static uint64_t ntp(struct msghdr *m)
{
	struct timespec t = { 0 };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS)
			memcpy(&t, CMSG_DATA(c), sizeof(t));
	return (t.tv_sec + NTP_EPOCH) << 32 | ((uint64_t)t.tv_nsec << 32) / 1000000000;
}

static void collect(int i)
{
	uint8_t *p = data[i];
	struct session *s = sessions[p[14] << 8 | p[15]].ring;
	struct record *r;

	if (messages[i].msg_len < BASE || !word(p + 16) || !s ||
	    memcmp(&sessions[p[14] << 8 | p[15]].peer, &from[i].sin6_addr, 16))
		return;
	r = &s->record[s->written % RECORDS];
	*r = (struct record){ half(p + 24), half(p), half(p + 12) >> 16, p[40],
			      word(p + 28), word(p + 16), word(p + 4), ntp(&messages[i].msg_hdr) };
	s->written++;
}

static void prepare(void)
{
	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ data[i], sizeof(data[i]) };
		messages[i].msg_hdr = (struct msghdr){ &from[i], sizeof(from[i]), &parts[i], 1,
						       control[i], sizeof(control[i]), 0 };
	}
}

static void *mapped(const char *path)
{
	int file = open(path, O_RDWR | O_CREAT, 0600);

	if (file < 0 || ftruncate(file, sizeof(struct session)))
		return MAP_FAILED;
	return mmap(NULL, sizeof(struct session), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

int main(int count, char **words)
{
	struct sockaddr_in6 here = { .sin6_family = AF_INET6 };
	int s = socket(AF_INET6, SOCK_DGRAM, 0), one = 1, room = 4 << 20, ssid;

	if (count != 6 || inet_pton(AF_INET6, words[1], &here.sin6_addr) != 1)
		return fprintf(stderr, "%s ADDRESS PORT SSID PEER FILE\n", words[0]), 2;
	here.sin6_port = htons(atoi(words[2]));
	ssid = atoi(words[3]) & 0xffff;
	sessions[ssid].ring = mapped(words[5]);
	if (sessions[ssid].ring == MAP_FAILED || inet_pton(AF_INET6, words[4], &sessions[ssid].peer) != 1)
		return perror(words[5]), 1;
	setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
	setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(s, (void *)&here, sizeof(here)))
		return perror("bind"), 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		prepare();
		int received = recvmmsg(s, messages, BATCH, MSG_WAITFORONE, NULL);
		if (received < 0 && errno != EINTR)
			return perror("recvmmsg"), 1;
		for (int i = 0; i < received; i++)
			collect(i);
	}
}
