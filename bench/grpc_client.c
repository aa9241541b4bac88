/*
 * A gRPC client that costs next to nothing, to measure the agent and not the client: HTTP/2 frames
 * (RFC 9113) by hand over a Unix socket, TCP, or TLS.
 *
 *   grpc_client ADDRESS IDENTITY METHOD stream|unary PACE DEPTH REQUESTS ANSWERS
 *
 * ADDRESS   unix:PATH or HOST:PORT. IDENTITY: PATH of PATH.pem, PATH.key and ca.pem, or - for none.
 * PACE      microseconds from one request to the next; 0: each as soon as DEPTH lets it.
 * DEPTH     how many requests of a stream may wait for their answers; 1 for unary calls.
 * REQUESTS  file: for each a u32 (little-endian), its length, and the message.
 * ANSWERS   file to write, for each request two u64: nanoseconds from before it was written until its
 *           answer was read, and CLOCK_MONOTONIC at the latter.
 *
 * Exit status 0: every request was answered by a message; in a stream none by a failure (field 3).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

static int fd;
static SSL *tls;
static uint8_t in[1 << 16];
static size_t have, used;
static int64_t window = 65535, stream_window = 65535, initial_window = 65535;

static void die(const char *what)
{
	fprintf(stderr, "grpc_client: %s: %s\n", what, errno ? strerror(errno) : "refused");
	ERR_print_errors_fp(stderr);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t n = tls ? SSL_write(tls, data, (int)size) : send(fd, data, size, MSG_NOSIGNAL);
		if (n <= 0)
			die("send");
		data += n;
		size -= (size_t)n;
	}
}

static void get(uint8_t *into, size_t size)
{
	while (size) {
		if (used == have) {
			ssize_t n = tls ? SSL_read(tls, in, sizeof in) : recv(fd, in, sizeof in, 0);
			if (n <= 0)
				die("receive");
			used = 0;
			have = (size_t)n;
		}
		size_t some = have - used < size ? have - used : size;
		if (into) {
			memcpy(into, in + used, some);
			into += some;
		}
		used += some;
		size -= some;
	}
}

static size_t frame(uint8_t *at, uint32_t size, uint8_t type, uint8_t flags, uint32_t stream)
{
	uint8_t head[9] = { size >> 16, size >> 8, size, type, flags,
			    stream >> 24, stream >> 16, stream >> 8, stream };
	memcpy(at, head, 9);
	return 9;
}

static uint32_t be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* ---- connect ---------------------------------------------------------------------------------- */

static void connect_to(const char *address)
{
	if (!strncmp(address, "unix:", 5)) {
		struct sockaddr_un to = { .sun_family = AF_UNIX };
		strncpy(to.sun_path, address + 5, sizeof to.sun_path - 1);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&to, sizeof to))
			die(address);
		return;
	}
	char host[256];
	const char *colon = strrchr(address, ':');
	if (!colon || (size_t)(colon - address) >= sizeof host)
		die("address");
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = 0;
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *found;
	if (getaddrinfo(host, colon + 1, &want, &found))
		die(address);
	fd = socket(found->ai_family, SOCK_STREAM, 0);
	if (connect(fd, found->ai_addr, found->ai_addrlen))
		die(address);
	freeaddrinfo(found);
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void start_tls(const char *identity)
{
	char path[4096], *slash;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	snprintf(path, sizeof path, "%s.pem", identity);
	if (SSL_CTX_use_certificate_chain_file(context, path) != 1)
		die(path);
	snprintf(path, sizeof path, "%s.key", identity);
	if (SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) != 1)
		die(path);
	snprintf(path, sizeof path, "%s", identity);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "ca.pem");
	if (SSL_CTX_load_verify_locations(context, path, NULL) != 1)
		die(path);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_alpn_protos(context, (const uint8_t *)"\2h2", 3);
	tls = SSL_new(context);
	SSL_set_fd(tls, fd);
	if (SSL_connect(tls) != 1)
		die("TLS");
}

/* ---- requests --------------------------------------------------------------------------------- */

static size_t word(uint8_t *at, const char *text)
{
	size_t size = strlen(text);
	at[0] = (uint8_t)size; /* below 127, without Huffman coding (RFC 7541 section 5.2) */
	memcpy(at + 1, text, size);
	return size + 1;
}

static size_t headers(uint8_t *at, uint32_t stream, const char *method)
{
	uint8_t *field = at + 9;
	*field++ = 0x83; /* :method POST */
	*field++ = tls ? 0x87 : 0x86; /* :scheme */
	*field++ = 0x04;
	field += word(field, method); /* :path */
	*field++ = 0x01;
	field += word(field, "agent"); /* :authority */
	*field++ = 0x00;
	field += word(field, "content-type");
	field += word(field, "application/grpc");
	*field++ = 0x00;
	field += word(field, "te");
	field += word(field, "trailers");
	frame(at, (uint32_t)(field - at - 9), HEADERS, END_HEADERS, stream);
	return (size_t)(field - at);
}

static size_t message(uint8_t *at, const uint8_t *data, uint32_t size, uint8_t flags, uint32_t stream)
{
	frame(at, size + 5, DATA, flags, stream);
	uint8_t head[5] = { 0, size >> 24, size >> 16, size >> 8, size };
	memcpy(at + 9, head, 5);
	memcpy(at + 14, data, size);
	return size + 14;
}

/* Read a frame. Returns how many bytes of an answer's message it brought, -1 for a stream's end. */
static int64_t step(uint8_t *answer, size_t room, size_t filled)
{
	uint8_t head[9], body[64], out[64];
	get(head, 9);
	uint32_t size = be32(head) >> 8, stream = be32(head + 5) & 0x7fffffff;
	uint8_t type = head[3], flags = head[4];
	if (type == DATA) {
		if (filled + size > room)
			die("an answer is too long");
		get(answer + filled, size);
		return size ? (int64_t)size : (flags & END_STREAM ? -1 : 0);
	}
	if (type == HEADERS || type > WINDOW_UPDATE || size > sizeof body) {
		get(NULL, size);
		return type == HEADERS && flags & END_STREAM ? -1 : 0;
	}
	get(body, size);
	if (type == SETTINGS && !(flags & ACK)) {
		for (uint32_t at = 0; at + 6 <= size; at += 6)
			if ((body[at] << 8 | body[at + 1]) == 4) {
				int64_t is = be32(body + at + 2);
				stream_window += is - initial_window;
				initial_window = is;
			}
		put(out, frame(out, 0, SETTINGS, ACK, 0));
	} else if (type == PING && !(flags & ACK)) {
		frame(out, 8, PING, ACK, 0);
		memcpy(out + 9, body, 8);
		put(out, 17);
	} else if (type == WINDOW_UPDATE) {
		*(stream ? &stream_window : &window) += be32(body) & 0x7fffffff;
	} else if (type == RST_STREAM) {
		return -1;
	} else if (type == GOAWAY) {
		die("the agent says goodbye");
	}
	return 0;
}

/* Read until a message is there, and a unary call's trailers. Returns its first field's number. */
static int answer(int unary)
{
	static uint8_t got[1 << 20];
	static size_t filled;
	size_t wanted;
	int ended = 0, field = -1;
	for (;;) {
		wanted = filled >= 5 ? 5 + be32(got + 1) : 5;
		if (filled >= 5 && filled >= wanted && (ended || !unary))
			break;
		if (ended)
			return -1;
		int64_t more = step(got, sizeof got, filled);
		if (more < 0)
			ended = 1;
		else
			filled += (size_t)more;
	}
	if (unary) {
		filled = 0;
		return 1;
	}
	/* StreamReply: number (1, a varint), then done (2) or failed (3). */
	size_t at = 5 + 1;
	while (at < wanted && got[at] & 0x80)
		at++;
	if (at + 1 < wanted)
		field = got[at + 1] >> 3;
	filled -= wanted; /* a frame may bring several */
	memmove(got, got + wanted, filled);
	return field;
}

static uint64_t begun[1 << 12];
static uint64_t sent, answered;
static int unary, wrong;

static void take_answer(FILE *out)
{
	int field = answer(unary);
	uint64_t at[2] = { 0, now() };
	at[0] = at[1] - begun[answered++ % (1 << 12)];
	wrong += unary ? field < 0 : field != 2;
	fwrite(at, sizeof at, 1, out);
}

int main(int count, char **words)
{
	if (count != 9) {
		fprintf(stderr, "usage: see grpc_client.c\n");
		return 2;
	}
	unary = !strcmp(words[4], "unary");
	uint64_t pace = strtoull(words[5], NULL, 10) * 1000;
	uint64_t depth = strtoull(words[6], NULL, 10);
	FILE *file = fopen(words[7], "rb"), *out = fopen(words[8], "wb");
	struct stat about;
	if (!depth || depth > 1 << 12 || (unary && depth > 1))
		die("depth");
	if (!file || !out || fstat(fileno(file), &about))
		die("files");
	uint8_t *all = malloc((size_t)about.st_size), *end = all + about.st_size;
	if (fread(all, 1, (size_t)about.st_size, file) != (size_t)about.st_size)
		die("read");

	connect_to(words[1]);
	if (strcmp(words[2], "-"))
		start_tls(words[2]);
	static uint8_t buffer[1 << 20];
	size_t size = 24;
	memcpy(buffer, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
	size += frame(buffer + size, 6, SETTINGS, 0, 0); /* a window that is never used up */
	memcpy(buffer + size, "\0\4\x7f\xff\xff\xff", 6);
	size += 6;
	size += frame(buffer + size, 4, WINDOW_UPDATE, 0, 0);
	memcpy(buffer + size, "\x7f\0\0\0", 4);
	put(buffer, size + 4);

	uint32_t stream = 1;
	if (!unary)
		put(buffer, headers(buffer, stream, words[3]));
	uint64_t due = now();
	for (uint8_t *at = all; at + 4 <= end;) {
		uint32_t length = (uint32_t)at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
		size = unary ? headers(buffer, stream, words[3]) : 0;
		if (length > sizeof buffer / 2)
			die("a request is too long");
		size += message(buffer + size, at + 4, length, unary ? END_STREAM : 0, stream);
		at += 4 + length;
		while (window < length + 5 || stream_window < length + 5)
			step(buffer + sizeof buffer / 2, 0, 0);
		window -= length + 5;
		stream_window = unary ? initial_window : stream_window - (int64_t)length - 5;
		if (pace) {
			struct timespec until = { (time_t)(due / 1000000000u), (long)(due % 1000000000u) };
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			due += pace;
		}
		begun[sent++ % (1 << 12)] = now();
		put(buffer, size);
		while (sent - answered >= depth)
			take_answer(out);
		stream += unary ? 2 : 0;
	}
	while (answered < sent)
		take_answer(out);
	fclose(out);
	if (wrong)
		fprintf(stderr, "grpc_client: %d requests were refused\n", wrong);
	return !!wrong;
}
