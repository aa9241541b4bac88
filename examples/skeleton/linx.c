/*
 * LINX from C, without helioctl: open, load and attach a compiled pipeline by its skeleton, and read
 * what it counts.
 *
 *   linx-skeleton lan|wan INTERFACE
 *
 * Attaches the programs of one port role to the interface and stays until Ctrl-C (or SIGTERM), then
 * prints the event counters. No rules are written: every packet misses and meets the default, pass.
 */
#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "linx.skel.h"

/* Written down in manifest.json beside the skeleton: "programs" has the slots, "counters" the rest. */
enum { FORWARDER = 1, BALANCER = 2 };
static const struct {
	__u32 index;
	const char *name;
} shown[] = {
	{ 0, "verdict: pass" },	   { 1, "verdict: drop" }, { 2, "verdict: redirect" },
	{ 3, "verdict: tx" },	   { 4, "hook: malformed" }, { 7, "hook: ttl_expired" },
	{ 17, "miss: OVERLAY" },   { 19, "miss: PDR" },
};

/* struct control of helio.bpf.h; the control plane keeps its notes in `writer`, and says in `not_local` what is no
 * address of the host, in `clock` how far the wall clock is ahead; zeros say nothing. */
struct control {
	__u64 epoch, default_verdict, writer[6], not_local[64], clock[6];
};

static int complain(const char *what, int error)
{
	fprintf(stderr, "linx-skeleton: %s: %s\n", what, strerror(error < 0 ? -error : error));
	return -1;
}

static void print_contents(struct linx *linx)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(program, linx->obj)
		printf("program %-22s %5zu instructions\n", bpf_program__name(program),
		       bpf_program__insn_cnt(program));
	bpf_object__for_each_map(map, linx->obj)
		printf("map     %-22s %5u bytes a key, %5u a value, %7u entries\n",
		       bpf_map__name(map), bpf_map__key_size(map), bpf_map__value_size(map),
		       bpf_map__max_entries(map));
}

/* The stages are joined by tail calls; each role has a table of its own. */
static int join_stages(struct linx *linx)
{
	const struct {
		struct bpf_map *table;
		__u32 slot;
		struct bpf_program *program;
	} joints[] = {
		{ linx->maps.lan_stages, FORWARDER, linx->progs.linx_lan_forwarder },
		{ linx->maps.lan_stages, BALANCER, linx->progs.linx_lan_balancer },
		{ linx->maps.wan_stages, FORWARDER, linx->progs.linx_wan_forwarder },
		{ linx->maps.wan_stages, BALANCER, linx->progs.linx_wan_balancer },
	};

	for (size_t i = 0; i < sizeof(joints) / sizeof(*joints); i++) {
		int fd = bpf_program__fd(joints[i].program);
		int error = bpf_map__update_elem(joints[i].table, &joints[i].slot,
						 sizeof(joints[i].slot), &fd, sizeof(fd), BPF_ANY);

		if (error)
			return complain("cannot join the stages", error);
	}
	return 0;
}

static int set_default(struct linx *linx)
{
	struct control control = { .epoch = 1, .default_verdict = XDP_PASS };
	__u32 zero = 0;
	int error = bpf_map__update_elem(linx->maps.control, &zero, sizeof(zero), &control,
					 sizeof(control), BPF_ANY);

	return error ? complain("cannot set the default", error) : 0;
}

/* A counter is one u64 a CPU. */
static int print_counters(struct linx *linx)
{
	int cpus = libbpf_num_possible_cpus();
	__u64 *values = cpus > 0 ? calloc(cpus, sizeof(*values)) : NULL;
	int error = values ? 0 : ENOMEM;

	for (size_t i = 0; !error && i < sizeof(shown) / sizeof(*shown); i++) {
		__u64 sum = 0;

		error = bpf_map__lookup_elem(linx->maps.events, &shown[i].index,
					     sizeof(shown[i].index), values,
					     cpus * sizeof(*values), 0);
		for (int cpu = 0; !error && cpu < cpus; cpu++)
			sum += values[cpu];
		if (!error)
			printf("%-18s %llu\n", shown[i].name, (unsigned long long)sum);
	}
	free(values);
	return error ? complain("cannot read the counters", error) : 0;
}

static int run(struct linx *linx, const char *role, int ifindex, const sigset_t *end)
{
	struct bpf_program *entry = strcmp(role, "wan") ? linx->progs.linx_lan_classifier :
							  linx->progs.linx_wan_classifier;
	struct bpf_link *link;
	int signal;

	if (join_stages(linx) || set_default(linx))
		return -1;
	link = bpf_program__attach_xdp(entry, ifindex);
	if (!link)
		return complain("cannot attach", errno);
	printf("attached %s\n", bpf_program__name(entry));
	fflush(stdout);
	sigwait(end, &signal);
	bpf_link__destroy(link); /* detaches */
	return print_counters(linx);
}

int main(int count, char **words)
{
	struct linx *linx;
	sigset_t end;
	int ifindex, result;

	if (count != 3 || (strcmp(words[1], "lan") && strcmp(words[1], "wan"))) {
		fprintf(stderr, "usage: linx-skeleton lan|wan INTERFACE\n");
		return 2;
	}
	ifindex = if_nametoindex(words[2]);
	if (!ifindex) {
		complain(words[2], errno);
		return 1;
	}
	sigemptyset(&end);
	sigaddset(&end, SIGINT);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);

	linx = linx__open_and_load();
	if (!linx) {
		complain("cannot open and load", errno);
		return 1;
	}
	print_contents(linx);
	result = run(linx, words[1], ifindex, &end);
	linx__destroy(linx);
	return result ? 1 : 0;
}
