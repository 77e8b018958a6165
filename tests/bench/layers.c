// SPDX-License-Identifier: GPL-2.0-only
/*
 * layers.c - layers of ResNet-18 on a card or device
 */
#include <endian.h>
#include <stdlib.h>

#include "layers.h"

static void run_once(struct layers *on, uint32_t insn_addr, uint32_t insns,
		     struct vta_stamp *stamp, double *ns)
{
	struct vta_desc desc = vtadev_desc_run(insn_addr, insns, 0);
	double begin;
	uint64_t seq;

	vtadev_desc_stamp(&desc, vtadev_buf_addr(on->stamp));
	begin = now_ns();
	must(vtadev_submit(on->queue, &desc, 1, &seq), "submitting");
	must(vtadev_wait(on->queue, seq, -1), "waiting");
	*ns = now_ns() - begin;
	must(vtadev_buf_read(on->stamp, 0, stamp, sizeof(*stamp)), "a stamp");
}

static void run(struct machine *m, uint32_t insn_addr, uint32_t insns)
{
	struct layers *on = m->model;
	struct vta_stamp stamp;
	double ns, executed;

	must(vtadev_buf_write(on->buf, 0, m->mem, m->used), "writing");
	for (unsigned int i = 0; i < on->rounds; i++) {
		run_once(on, insn_addr, insns, &stamp, &ns);
		executed = (double)(le64toh(stamp.end) - le64toh(stamp.start));
		on->ns = !i || ns < on->ns ? ns : on->ns;
		on->executed_ns = !i || executed < on->executed_ns ? executed : on->executed_ns;
		m->stats.cycles = le64toh(stamp.cycles);
	}
	must(vtadev_buf_read(on->buf, 0, m->mem, m->used), "reading");
}

void layers_open(struct layers *on, const char *name, unsigned int rounds)
{
	*on = (struct layers) { .rounds = rounds };
	snprintf(on->name, sizeof(on->name), "%s", name);
	must(vtadev_open(name, &on->dev), name);
	must(vtadev_queue_create(on->dev, NULL, &on->queue), "a queue");
	must(vtadev_buf_alloc(on->dev, RESNET_MEMORY, VTADEV_CARD, &on->buf), "card memory");
	must(vtadev_buf_alloc(on->dev, sizeof(struct vta_stamp), VTADEV_HOST, &on->stamp),
	     "a stamp");
	on->machine = (struct machine) {
		.core = emulated_core(&core_config_default),
		.mem = must_ptr(calloc(1, RESNET_MEMORY), "memory"),
		.base = vtadev_buf_addr(on->buf), .size = RESNET_MEMORY,
		.run = run, .model = on,
	};
	must(vtaops_core_init(&on->machine.core), "the core");
}

void layers_close(struct layers *on)
{
	vtadev_queue_destroy(on->queue);
	vtadev_buf_free(on->stamp);
	vtadev_buf_free(on->buf);
	vtadev_close(on->dev);
	free(on->machine.mem);
}

double layers_run(struct layers *on, const struct resnet_layer *layer)
{
	struct resnet_result r;

	on->machine.used = 0;
	resnet_run_on(&on->machine, layer, 1, &r);
	must(r.exact ? 0 : -1, "a layer's output is not the CPU's");
	return (double)r.macs / MACS_PER_UOP;
}
