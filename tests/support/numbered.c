/* numbered DEVICE MAP WINDOW MOST [RATE]: sends the frames that come on standard input again and again, each
 * with the next number (u32, network order) behind its 42 octets of headers, until standard input ends
 * or MOST are sent, RATE a second or as many as go. No more than WINDOW are on their way, or the devices' queues would drop some: MAP is
 * where the receiver counts (its first u64). Says how many it sent, and how often it waited in vain for
 * 0.2 s. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 64, BATCH = 32, NUMBER_AT = 42 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Wait until the next is due; what was missed is not made up for. */
static void wait_for(double *due, double every)
{
	double left = *due - now();
	struct timespec t = { .tv_nsec = left * 1e9 };

	if (every && left > 0)
		nanosleep(&t, NULL);
	*due = (left > -every ? *due : now()) + every;
}

static volatile unsigned long *arrived_at(const char *path)
{
	union bpf_attr attr = { .pathname = (unsigned long)path };
	int fd = syscall(__NR_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (fd < 0 || memory == MAP_FAILED)
		die(path);
	return memory;
}

static int open_device(const char *name)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(name) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes)) ||
	    bind(fd, (struct sockaddr *)&to, sizeof(to)))
		die(name);
	return fd;
}

int main(int argc, char **argv)
{
	static unsigned char frames[BATCH][FRAME], given[BATCH][FRAME];
	struct mmsghdr messages[BATCH] = {};
	struct iovec parts[BATCH];
	struct pollfd input = { .fd = 0, .events = POLLIN };
	unsigned long window = strtoul(argv[3], NULL, 10), most = strtoul(argv[4], NULL, 10);
	unsigned long sent = 0, lost = 0, stalls = 0;
	volatile unsigned long *arrived = arrived_at(argv[2]);
	int device = open_device(argv[1]), batch;
	long octets = read(0, given, sizeof(given)), kinds = octets / FRAME;
	double since = now(), due = since, every = argc > 5 ? BATCH / strtod(argv[5], NULL) : 0;

	if (kinds < 1 || octets % FRAME)
		die("the frames");
	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ frames[i], FRAME };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	while (!poll(&input, 1, 0)) {
		unsigned long room = window - (sent - lost - *arrived);

		if (room > window || room < BATCH || sent + BATCH > most) {
			if (now() - since > 0.2 && sent != lost + *arrived) {
				lost = sent - *arrived;
				stalls++;
			}
			sched_yield();
			continue;
		}
		wait_for(&due, every);
		for (int i = 0; i < BATCH; i++) {
			unsigned int number = htonl((unsigned int)(sent + i));

			memcpy(frames[i], given[(sent + i) % kinds], FRAME);
			memcpy(frames[i] + NUMBER_AT, &number, 4);
		}
		batch = sendmmsg(device, messages, BATCH, 0);
		if (batch > 0)
			sent += batch;
		since = now();
	}
	usleep(200000);
	printf("%lu %lu\n", sent, stalls);
	return argc < 5;
}
