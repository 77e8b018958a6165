// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "matrix.h"

#define FAULT(reason)								\
	{ "fault-" reason, { "fault=" reason "@%q" }, REACH_QUEUE, -EIO, 0 }

const struct kind kinds[] = {
	FAULT("page"),
	FAULT("perm"),
	FAULT("entry"),
	FAULT("dma"),
	FAULT("desc"),
	FAULT("align"),
	FAULT("insn"),
	FAULT("bounds"),
	FAULT("cycles"),
	FAULT("deadlock"),
	FAULT("doorbell"),
	FAULT("time"),

	{ "hang-compute", { "hang-compute" }, REACH_QUEUE, WORK_ANY, KIND_STALLS },
	{ "hang-copy", { "hang-copy" }, REACH_QUEUE, WORK_ANY, KIND_STALLS },
	{ "hang-all", { "hang-all" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "hang-reset-ignored", { "hang-all", "reset-ignored" },
	  REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "slow-engine", { "slow-engine=100@%q" }, REACH_NOBODY, 0, KIND_STALLS },
	{ "start-never", { "start-never" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "stop-never", { "stop-never" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "limit-never", { "limit-never" }, REACH_NOBODY, 0, 0 },
	{ "doorbell-lost", { "doorbell-lost@%q 1" }, REACH_QUEUE, WORK_ANY, 0 },
	{ "arm-lost", { "arm-lost@%q" }, REACH_QUEUE, WORK_ANY, 0 },

	{ "status-late", { "status-late=200@%q 1" }, REACH_QUEUE, WORK_ANY, KIND_STALLS },
	{ "status-lost", { "status-lost@%q 1" }, REACH_QUEUE, WORK_ANY, 0 },
	{ "status-torn", { "status-torn=100@%q", "fault=page@%q" },
	  REACH_QUEUE, -EIO, KIND_STALLS },
	{ "seq-back", { "seq-back=5@%q 1" }, REACH_QUEUE, WORK_ANY, 0 },
	{ "seq-jump", { "seq-jump@%q 1" }, REACH_QUEUE, WORK_ANY, KIND_EARLY },
	{ "state-wild", { "state-wild@%q 1" }, REACH_QUEUE, -EIO, 0 },
	{ "record-wild", { "record-wild@%q", "fault=page@%q" }, REACH_QUEUE, -EIO, 0 },

	{ "irq-lost", { "irq-lost" }, REACH_QUEUE, WORK_ANY, KIND_STALLS },
	{ "irq-twice", { "irq-twice" }, REACH_NOBODY, 0, 0 },
	{ "irq-spurious", { "irq-spurious=1 100", "irq-spurious=0 100" }, REACH_NOBODY, 0, 0 },
	/* Fewer than the driver takes for a storm, which it ends by a reset. */
	{ "irq-burst", { "irq-storm=1 900" }, REACH_NOBODY, 0, 0 },
	{ "irq-burst-events", { "irq-storm=0 900" }, REACH_NOBODY, 0, 0 },
	{ "irq-storm", { "irq-storm=1" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "irq-storm-events", { "irq-storm=0" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "event-stuck", { "event-stuck 50", "fault=page@%q" }, REACH_QUEUE, -EIO, 0 },
	{ "event-wild", { "reg-event=0x5a5a5a5a 1", "irq-spurious=0 1" },
	  REACH_CARD, WORK_ANY, KIND_STALLS },

	{ "dma-abort", { "dma-abort 1" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "dma-abort-all", { "dma-abort" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "tlb-busy", { "tlb-busy" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "tlb-stale", { "tlb-stale" }, REACH_NOBODY, 0, 0 },
	{ "ones", { "ones" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "ones-later", { "ones+3" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "ones-once", { "ones+1 1" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "zeros", { "zeros" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "slow", { "slow=3000" }, REACH_NOBODY, 0, KIND_STALLS },
	{ "gone", { "gone" }, REACH_CARD, WORK_ANY, KIND_STALLS | KIND_UNPLUGS },
	{ "config-gone", { "config-gone" }, REACH_CARD, WORK_ANY, KIND_STALLS | KIND_UNPLUGS },

	{ "heartbeat", { "heartbeat" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "fatal", { "fatal" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "fatal-reset-ignored", { "reset-ignored 1", "fatal" },
	  REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "fatal-reset-stuck", { "reset-stuck 1", "fatal" }, REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "fatal-no-reset", { "reset-stuck", "flr-stuck", "fatal" },
	  REACH_CARD, WORK_ANY, KIND_STALLS },
	{ "reset-slow", { "reset-slow=300" }, REACH_NOBODY, 0, KIND_STALLS },
	{ "generation-same", { "generation-same 1", "fatal" }, REACH_CARD, WORK_ANY, KIND_STALLS },

	{ "reg-magic", { "reg-magic=0x12345678" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-contract", { "reg-contract=0x10000" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-queues", { "reg-queues=257" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-contexts", { "reg-contexts=0" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-mem-size", { "reg-mem-size=0x12345000" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-doorbell-shift", { "reg-doorbell-shift=63" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-ring-order", { "reg-ring-order-max=200" }, REACH_CARD, WORK_ANY, 0 },
	{ "reg-config", { "reg-config0=0xffffff" }, REACH_CARD, WORK_ANY, 0 },
};

const unsigned int nr_kinds = sizeof(kinds) / sizeof(kinds[0]);
