// SPDX-License-Identifier: GPL-2.0-only
/*
 * layers.c - layers of ResNet-18 on "soft" and on TVM's functional simulator, in turns
 *
 *	layers [TURNS]
 *
 * Both execute the same streams, those of libvtadev/ops for TVM's default core, in one process.
 * Prints the processor's time of each layer, the least of all turns, and the ratio. The first
 * turn compares both outputs with the CPU's.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vta/driver.h>

#include "resnet.h"
#include "vtadev.h"

#define TURNS	5

/* The first word of an instruction (docs/isa.md) */
#define LOAD_INP	(2ull << 7)
#define FINISH		3ull
#define POP_PREV	(1ull << 3)
#define POP_NEXT	(1ull << 4)
#define PUSH_NEXT	(1ull << 6)

struct device {
	const char *name;
	struct machine machine;
	double ns[RESNET_LAYERS];	/* the least */
	double took;			/* by the last stream */
	/* soft */
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_buf *buf, *stamp;
	/* the simulator */
	VTADeviceHandle sim;
	const struct device *same;	/* which has just run the stream */
};

/* The process's threads together, so that other processes do not count. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int error, const char *what)
{
	if (error < 0)
		machine_die("%s: %s", what, strerror(-error));
}

static void run_soft(struct machine *m, uint32_t insn_addr, uint32_t insns)
{
	struct vta_desc desc = vtadev_desc_run(insn_addr, insns, 0);
	struct device *d = m->model;
	struct vta_stamp stamp;
	uint64_t seq;

	vtadev_desc_stamp(&desc, vtadev_buf_addr(d->stamp));
	must(vtadev_buf_write(d->buf, 0, m->mem, m->used), "writing");
	d->took = now();
	must(vtadev_submit(d->queue, &desc, 1, &seq), "submitting");
	must(vtadev_wait(d->queue, seq, -1), "waiting");
	d->took = now() - d->took;
	must(vtadev_buf_read(d->buf, 0, m->mem, m->used), "reading");
	must(vtadev_buf_read(d->stamp, 0, &stamp, sizeof(stamp)), "a stamp");
	m->stats.cycles = le64toh(stamp.cycles);
}

/*
 * Its memory is the machine's. It counts no cycles: soft's, of the same stream. It ends if FINISH
 * is the last to be executed, and never otherwise: so FINISH waits for the LOAD of no rows before
 * it, with which the operators' streams end.
 */
static void run_simulator(struct machine *m, uint32_t insn_addr, uint32_t insns)
{
	uint64_t (*insn)[2] = machine_at(m, insn_addr);
	uint64_t *load = insn[insns - 2], *finish = insn[insns - 1];
	struct device *d = m->model;

	if (load[0] != (LOAD_INP | POP_NEXT) || finish[0] != FINISH)
		machine_die("a stream that does not end as expected");
	load[0] |= PUSH_NEXT;
	finish[0] |= POP_PREV;
	d->took = now();
	must(-VTADeviceRun(d->sim, insn_addr, insns, UINT32_MAX), "the simulator");
	d->took = now() - d->took;
	load[0] &= ~PUSH_NEXT;
	finish[0] &= ~POP_PREV;
	m->stats.cycles = d->same->machine.stats.cycles;
}

static void open_soft(struct device *d)
{
	d->name = "soft";
	must(vtadev_open("soft", &d->dev), d->name);
	must(vtadev_queue_create(d->dev, NULL, &d->queue), "a queue");
	must(vtadev_buf_alloc(d->dev, RESNET_MEMORY, VTADEV_CARD, &d->buf), "card memory");
	must(vtadev_buf_alloc(d->dev, sizeof(struct vta_stamp), VTADEV_HOST, &d->stamp), "a stamp");
	d->machine.run = run_soft;
	d->machine.base = vtadev_buf_addr(d->buf);
	d->machine.mem = calloc(1, RESNET_MEMORY);
}

static void open_simulator(struct device *d)
{
	d->name = "simulator";
	d->sim = VTADeviceAlloc();
	d->machine.run = run_simulator;
	d->machine.mem = VTAMemAlloc(RESNET_MEMORY, VTA_CACHED);
	d->machine.base = VTAMemGetPhyAddr(d->machine.mem);
}

static void open_device(struct device *d, void (*open)(struct device *d))
{
	open(d);
	if (!d->machine.mem)
		machine_die("%s: no memory", d->name);
	d->machine.core = emulated_core(&core_config_default);
	d->machine.size = RESNET_MEMORY;
	d->machine.model = d;
	must(vtaops_core_init(&d->machine.core), "the core");
}

static void run_layer(struct device *d, unsigned int layer, unsigned int turn)
{
	struct resnet_result result;

	d->machine.used = 0;
	resnet_run_on(&d->machine, &resnet_layers[layer], !turn, &result);
	if (!result.exact)
		machine_die("%s: %s is not the CPU's", d->name, resnet_layers[layer].name);
	if (!turn || d->took < d->ns[layer])
		d->ns[layer] = d->took;
}

static void show(const char *what, double soft, double simulator)
{
	printf("%-6s %9.3f %9.3f %7.3f\n", what, soft / 1e6, simulator / 1e6, soft / simulator);
}

int main(int argc, char **argv)
{
	unsigned int turns = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : TURNS;
	static struct device soft, simulator;
	double sums[2] = { 0, 0 };

	open_device(&soft, open_soft);
	open_device(&simulator, open_simulator);
	simulator.same = &soft;
	for (unsigned int turn = 0; turn < turns; turn++) {
		for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
			run_layer(&soft, i, turn);
			run_layer(&simulator, i, turn);
		}
	}
	printf("%-6s %9s %9s %7s\n", "layer", "soft ms", "simulator", "ratio");
	for (unsigned int i = 0; i < RESNET_LAYERS; i++) {
		show(resnet_layers[i].name, soft.ns[i], simulator.ns[i]);
		sums[0] += soft.ns[i];
		sums[1] += simulator.ns[i];
	}
	show("all", sums[0], sums[1]);
	VTAMemFree(simulator.machine.mem);
	VTADeviceFree(simulator.sim);
	free(soft.machine.mem);
	vtadev_queue_destroy(soft.queue);
	vtadev_buf_free(soft.stamp);
	vtadev_buf_free(soft.buf);
	vtadev_close(soft.dev);
	return 0;
}
