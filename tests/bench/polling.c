// SPDX-License-Identifier: GPL-2.0-only
/*
 * polling.c - networks of layers, by this library and the way that is usual
 *
 * The drivers that come with TVM for VTA on FPGA boards launch one layer and
 * return when it is done: they write the addresses to registers, start, sleep for
 * a microsecond, and then read a status register again and again, giving up the
 * processor in between. Here the same is done with the registers of this card:
 * one doorbell, and reading SEQ until it is there. (What those drivers write
 * besides, eight to eleven registers for a launch, is left out.)
 *
 * This library hands over all layers by one doorbell and waits once. Both run the
 * same streams on the same queue, in turns.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "job.h"
#include "vta_regs.h"
#include "vtaops.h"

#define ROUNDS		60u
#define COUNTED		10u
#define LAYERS		8u
#define WAIT_NS		4e8	/* of the long job, within what one may take (max_job_ms) */
#define WAIT_QUICK_NS	2e7

/* Rows, inputs and outputs of a dense layer. */
static const struct shape {
	uint32_t n, in, units;
	bool small;
} shapes[] = {
	{ 1, 64, 64, true }, { 16, 64, 64, true }, { 16, 256, 256, true }, { 64, 512, 512, false },
};

enum way { POLLING, ONE_BY_ONE, QUEUED, WAYS };

static const char *const names[WAYS] = { "polling", "one_by_one", "queued" };

struct setup {
	struct bench *bench;
	const volatile uint32_t *seq;		/* the queue's register */
	struct vtaops_core core;
	struct vtadev_buf *data;		/* of the card: tensors and streams */
	struct vta_desc layers[LAYERS];
};

/* ---- The queue's registers, from a program ---- */

static void map_registers(struct setup *s)
{
	const struct vtadev_info *info = vtadev_info(s->bench->dev);
	volatile uint32_t *regs = bench_registers(s->bench);
	unsigned int queue = info->queues;

	/* There is no other queue than ours. */
	for (unsigned int i = 0; i < info->queues; i++)
		if (regs[REG_QUEUE_STATE(i) / 4] & REG_QUEUE_STATE_STATE)
			queue = i;
	must(queue == info->queues ? -ENOENT : 0, "finding the queue");
	s->seq = regs + REG_QUEUE_SEQ_LO(queue) / 4;
}

static void poll_until(struct setup *s, uint64_t seq)
{
	const struct timespec moment = { .tv_nsec = 1000 };

	nanosleep(&moment, NULL);
	while (*s->seq != (uint32_t)seq) {
		int done = vtadev_done(s->bench->queue, seq);	/* in memory */

		must(done < 0 ? done : 0, "polling for a job");
		sched_yield();
	}
}

/* ---- Layers ---- */

static size_t take(struct setup *s, size_t *used, size_t bytes)
{
	size_t align = vtadev_info(s->bench->dev)->elem_bytes_max;
	size_t at = (*used + align - 1) & ~(align - 1);

	*used = at + bytes;
	return at;
}

/* The same layer in all places: what they multiply does not matter, nor with what. */
static void make_layers(struct setup *s, const struct shape *shape)
{
	struct vtaops_dense dense = {
		.n = shape->n, .in = shape->in, .units = shape->units,
		.post = { .shift = 4, .lo = 0, .hi = 127 },
	};
	size_t inp = vtaops_act_bytes(&s->core, shape->n, shape->in, 1, 1);
	size_t out = vtaops_act_bytes(&s->core, shape->n, shape->units, 1, 1);
	size_t wgt = vtaops_wgt_bytes(&s->core, shape->units, shape->in, 1, 1);
	size_t used = 0, at[5];
	struct vtaops_builder count, b;
	struct vtaops_insn *insns;
	uint32_t *uops, base;

	at[0] = take(s, &used, inp);
	at[1] = take(s, &used, wgt);
	at[2] = take(s, &used, out);
	/* Addresses do not change what is made, but must not overlap. */
	dense.inp = (uint32_t)at[0];
	dense.wgt = (uint32_t)at[1];
	dense.out = (uint32_t)at[2];
	vtaops_begin(&count, &s->core, NULL, 0, NULL, 0, 0);
	vtaops_dense(&count, &dense);
	must(vtaops_finish(&count) ? -EINVAL : 0, count.why);
	at[3] = take(s, &used, count.uops * sizeof(*uops));
	at[4] = take(s, &used, count.insns * sizeof(*insns));
	must(vtadev_buf_alloc(s->bench->dev, used, VTADEV_CARD, &s->data), "card memory");
	base = vtadev_buf_addr(s->data);
	dense.inp += base;
	dense.wgt += base;
	dense.out += base;

	insns = must_ptr(calloc(count.insns, sizeof(*insns)), "memory");
	uops = must_ptr(calloc(count.uops + 1, sizeof(*uops)), "memory");
	vtaops_begin(&b, &s->core, insns, count.insns, uops, count.uops, base + (uint32_t)at[3]);
	vtaops_dense(&b, &dense);
	must(vtaops_finish(&b) ? -EINVAL : 0, b.why);
	must(vtadev_buf_write(s->data, at[3], uops, b.uops * sizeof(*uops)), "writing");
	must(vtadev_buf_write(s->data, at[4], insns, b.insns * sizeof(*insns)), "writing");
	free(insns);
	free(uops);
	for (unsigned int i = 0; i < LAYERS; i++)
		s->layers[i] = vtadev_desc_run(base + (uint32_t)at[4], (uint32_t)b.insns, 0);
}

static double run_layers(struct setup *s, enum way way)
{
	struct vtadev_queue *queue = s->bench->queue;
	double start = now_ns();
	uint64_t seq;

	if (way == QUEUED) {
		must(vtadev_submit(queue, s->layers, LAYERS, &seq), "submitting");
		must(vtadev_wait(queue, seq, -1), "waiting");
		return now_ns() - start;
	}
	for (unsigned int i = 0; i < LAYERS; i++) {
		must(vtadev_submit(queue, &s->layers[i], 1, &seq), "submitting");
		if (way == POLLING)
			poll_until(s, seq);
		else
			must(vtadev_wait(queue, seq, -1), "waiting");
	}
	return now_ns() - start;
}

static void one_shape(struct setup *s, const struct shape *shape, struct json_object *list)
{
	struct json_object *entry = json_object_new_object();
	static struct samples took[WAYS];
	struct counts before, after, counts;
	struct times times[WAYS];
	char name[64], what[128];

	make_layers(s, shape);
	for (unsigned int way = 0; way < WAYS; way++)
		took[way].count = 0;
	for (unsigned int r = 0; r < bench_times(s->bench, ROUNDS); r++)
		for (unsigned int way = 0; way < WAYS; way++)
			sample(&took[way], run_layers(s, way));

	snprintf(name, sizeof(name), "%ux%ux%u", shape->n, shape->in, shape->units);
	json_text(entry, "layer", name);
	printf("%-12s", name);
	fprintf(s->bench->dat, "%s", name);
	for (unsigned int way = 0; way < WAYS; way++) {
		struct json_object *to = json_sub(entry, names[way]);

		times[way] = times_in(&took[way]);
		before = counts_now(BENCH_CARD);
		for (unsigned int i = 0; i < COUNTED; i++)
			run_layers(s, way);
		after = counts_now(BENCH_CARD);
		counts = counts_each(&before, &after, COUNTED * LAYERS);
		json_object_object_add(to, "time", json_times(times[way]));
		json_object_object_add(to, "each_layer", json_counts(&counts));
		printf(" %9.1f %6.2f %6.2f %5.2f", times[way].median / LAYERS / 1e3,
		       counts.mmio_reads, counts.mmio_writes, counts.interrupts);
		fprintf(s->bench->dat, " %g", times[way].median / LAYERS / 1e3);
	}
	printf("\n");
	fprintf(s->bench->dat, "\n");
	json_num(entry, "ratio", times[POLLING].median / times[QUEUED].median);
	json_object_array_add(list, entry);
	vtadev_buf_free(s->data);
	if (!shape->small)
		return;
	snprintf(what, sizeof(what), "time by polling / by this library, dense %s", name);
	bench_target(s->bench, what, times[POLLING].median / times[QUEUED].median, AT_LEAST, 2);
}

/* ---- What waiting costs ---- */

static double cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

static double waiting_share(struct setup *s, const struct job *job, enum way way,
			    double *wall_ns)
{
	double start = now_ns(), cpu = cpu_ns();
	uint64_t seq;

	must(vtadev_submit(s->bench->queue, &job->desc, 1, &seq), "submitting");
	if (way == POLLING)
		poll_until(s, seq);
	else
		must(vtadev_wait(s->bench->queue, seq, -1), "waiting");
	*wall_ns = now_ns() - start;
	return (cpu_ns() - cpu) / *wall_ns;
}

static void long_wait(struct setup *s)
{
	double ns = s->bench->quick ? WAIT_QUICK_NS : WAIT_NS, wall, share;
	struct json_object *to = json_sub(s->bench->results, "waiting");
	struct json_object *sub;
	struct job job;

	job_make(s->bench->dev, (uint64_t)(ns * job_uops_per_ns(s->bench->dev, s->bench->queue)),
		 &job);
	printf("\nShare of a processor that the program takes while it waits for one job\n");
	for (int i = 0; i < 2; i++) {
		enum way way = i ? QUEUED : POLLING;

		share = waiting_share(s, &job, way, &wall);
		printf("%-12s %8.4f of %.2f s\n", names[way], share, wall / 1e9);
		sub = json_sub(to, names[way]);
		json_num(sub, "share", share);
		json_num(sub, "wall_ns", wall);
	}
	bench_target(s->bench, "share of a processor while waiting", share, AT_MOST, 0.02);
	job_free(&job);
}

int main(int argc, char **argv)
{
	struct json_object *list = json_object_new_array();
	const struct vtadev_info *info;
	struct setup s = { 0 };
	struct bench bench;

	bench_begin(&bench, "polling", argc, argv);
	bench_open(&bench);
	s.bench = &bench;
	map_registers(&s);
	info = vtadev_info(bench.dev);
	s.core = (struct vtaops_core) {
		.log_inp_width = info->log_inp_width, .log_wgt_width = info->log_wgt_width,
		.log_acc_width = info->log_acc_width, .log_batch = info->log_batch,
		.log_block = info->log_block, .log_uop_buff_size = info->log_uop_buff_size,
		.log_inp_buff_size = info->log_inp_buff_size,
		.log_wgt_buff_size = info->log_wgt_buff_size,
		.log_acc_buff_size = info->log_acc_buff_size,
	};
	must(vtaops_core_init(&s.core) ? -EINVAL : 0, "the core's configuration");

	printf("\nA dense layer of a network of %u (us, median), and for each layer: reads and\n"
	       "writes of registers, interrupts\n", LAYERS);
	printf("%-12s %30s %30s %30s\n", "", "---- launch, poll, next ----",
	       "---- launch, wait, next ----", "-- all by one doorbell --");
	for (size_t i = 0; i < (bench.quick ? 1 : sizeof(shapes) / sizeof(*shapes)); i++)
		one_shape(&s, &shapes[i], list);
	json_object_object_add(bench.results, "layers", list);
	long_wait(&s);
	bench_end(&bench);
	return 0;
}
