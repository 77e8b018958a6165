// SPDX-License-Identifier: GPL-2.0-only
/*
 * Actions on the card: resets, and, if the card is to fail, all faults of the
 * emulator, with any values.
 */
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "card.h"
#include "state.h"
#include "vta_emu.h"
#include "vta_selftest.h"

/* All lose the card, so that little happens if it comes too often. */
#define RESET_MS	1000
#define RESET_FAILING_MS 100

static bool may_reset(void)
{
	int64_t after = atomic_load(&pool->reset_after), now = now_ns();
	int64_t gap = pool->breaks ? RESET_FAILING_MS : RESET_MS;

	return now > after &&
	       atomic_compare_exchange_strong(&pool->reset_after, &after, now + gap * 1000000);
}

void op_reset(struct state *s, const struct op *op)
{
	(void)s;
	if (!(op->c % 4) && may_reset())
		card_pci_reset();
}

void op_rebind(struct state *s, const struct op *op)
{
	(void)s;
	if (op->c % 2 || !may_reset())
		return;
	card_unbind();
	card_bind();
}

/* The control socket takes one at a time. */
static void inject_fault(const char *text)
{
	if (!flock(pool->control, LOCK_EX | LOCK_NB)) {
		emu_inject(text);
		flock(pool->control, LOCK_UN);
	}
}

void card_revive(void)
{
	if (!may_reset())
		return;
	inject_fault("clear");
	card_unbind();
	card_bind();
}

static uint32_t a_value(const struct op *op)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 255, 256, 257, 4096, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
	};

	return op->d & 1 ? (uint32_t)op->e : values[(op->d >> 1) % ARRAY_LEN(values)];
}

void op_break(struct state *s, const struct op *op)
{
	static const char *const with_value[] = {
		"garbage", "garbage", "garbage", "garbage",
		"reg-magic", "reg-contract", "reg-queues", "reg-contexts", "reg-mem-size",
		"reg-doorbell-shift", "reg-ring-order-max", "reg-clock-khz", "reg-config0",
		"reg-config1", "reg-status", "reg-event", "reg-generation", "reg-tlb-invalidate",
		"seq-back", "seq-jump", "state-wild",
	};
	static const char *const without[] = {
		"ones", "zeros", "record-wild", "heartbeat", "irq-lost", "irq-twice",
		"irq-spurious", "event-stuck", "status-lost", "dma-abort", "tlb-busy",
		"start-never", "stop-never", "limit-never", "hang-all", "hang-compute", "hang-copy",
		"fatal", "reset-ignored", "reset-stuck", "generation-same", "doorbell-lost",
		"arm-lost", "fault=page", "fault=desc", "fault=doorbell", "fault=time",
		"status-torn=2", "status-late=2",
	};
	unsigned int skip = op->d >> 8 & 0x3f, times = 1 + (op->d >> 16 & 0x3f);
	char text[96];

	(void)s;
	if (op->b & 1)
		snprintf(text, sizeof(text), "%s=%u+%u %u",
			 with_value[op->b / 2 % ARRAY_LEN(with_value)], a_value(op), skip, times);
	else
		snprintf(text, sizeof(text), "%s+%u %u", without[op->b / 2 % ARRAY_LEN(without)],
			 skip, times);
	inject_fault(text);
}

void op_mend(struct state *s, const struct op *op)
{
	(void)s;
	(void)op;
	inject_fault("clear");
}
