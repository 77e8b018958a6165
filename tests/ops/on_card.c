// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sample of the generated operators on a card, through the driver.
 *
 *	on_card CARD EACH
 *
 * EACH cases of every kind; prints TAP. Streams and tensors are in host memory;
 * cycles are the card's own count, which must be the builder's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "vtadev.h"
#include "vtaprog.h"

#define RUN_NS	(60 * 1000000000ll)

struct card {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	struct vtadev_buf *memory;
};

static void must(int err, const char *what)
{
	if (err)
		machine_die("Bail out! %s: %s", what, vtadev_strerror(err));
}

static void run(struct machine *m, uint32_t insn_addr, uint32_t insns)
{
	struct card *card = m->model;
	struct vta_desc desc = vtadev_desc_run(insn_addr, insns, 0);
	struct vtadev_counters before, after;
	struct vtadev_fault fault;
	char text[VTADEV_FAULT_TEXT_MAX];
	uint64_t seq;
	int err;

	must(vtadev_counters(card->dev, &before), "reading the counters");
	must(vtadev_submit(card->queue, &desc, 1, &seq), "submitting");
	err = vtadev_wait(card->queue, seq, RUN_NS);
	if (err == -EIO && !vtadev_fault(card->queue, &fault)) {
		vtadev_fault_text(&fault, text, sizeof(text));
		machine_die("Bail out! %s", text);
	}
	must(err, "waiting");
	must(vtadev_counters(card->dev, &after), "reading the counters");
	m->stats = (struct machine_stats) {
		.cycles = after.compute_cycles - before.compute_cycles,
		.gemm_uops = after.gemm_uops - before.gemm_uops,
		.alu_uops = after.alu_uops - before.alu_uops,
	};
}

/* Normalisations take int8, and a row's element of inputs as one of weights. */
static bool core_has(const struct vtaops_core *core, unsigned int kind)
{
	return kind != CASE_NORM || (core->log_inp_width == 3 &&
				     core->log_wgt_width == 3 && core->batch <= core->block);
}

int main(int argc, char **argv)
{
	unsigned int each = argc == 3 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	struct machine m = { .size = CASE_MEMORY, .run = run };
	struct card card;
	int failed = 0;
	void *map;

	if (!each) {
		fprintf(stderr, "usage: on_card CARD EACH\n");
		return 2;
	}
	must(vtadev_open(argv[1], &card.dev), argv[1]);
	must(vtadev_queue_create(card.dev, NULL, &card.queue), "making a queue");
	must(vtadev_buf_alloc(card.dev, CASE_MEMORY, VTADEV_HOST, &card.memory), "memory");
	must(vtadev_buf_map(card.memory, &map), "mapping memory");
	must(vtaprog_core(card.dev, &m.core), "the card's core");
	m.mem = map;
	m.base = vtadev_buf_addr(card.memory);
	m.model = &card;

	printf("TAP version 13\n1..%d\n", CASE_KINDS);
	for (unsigned int kind = 0; kind < CASE_KINDS; kind++) {
		unsigned int exact = 0, wrong = 0;
		char text[512];

		for (unsigned int seed = 0; seed < each; seed++) {
			enum case_result result = case_run(&m, (enum case_kind)kind, 7000 + seed,
							   text, sizeof(text));

			exact += result == CASE_EXACT;
			wrong += result == CASE_WRONG;
			if (result != CASE_EXACT)
				printf("# %s\n", text);
		}
		if (!exact && !wrong && !core_has(&m.core, kind)) {
			printf("ok %u %s # SKIP its core has none\n", kind + 1,
			       case_name((enum case_kind)kind));
			continue;
		}
		printf("%sok %u %s on %s: %u of %u bit-exact\n", exact && !wrong ? "" : "not ",
		       kind + 1, case_name((enum case_kind)kind),
		       vtadev_info(card.dev)->card.node, exact, each);
		failed |= wrong || !exact;
	}
	vtadev_queue_destroy(card.queue);
	vtadev_buf_free(card.memory);
	vtadev_close(card.dev);
	return failed;
}
