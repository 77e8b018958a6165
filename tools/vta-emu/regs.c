// SPDX-License-Identifier: GPL-2.0-only
/*
 * The register map (docs/hardware.md, sections 2 to 6 and 12).
 */
#include <string.h>

#include "model.h"

#define BITS_LOW(v)	((uint32_t)(v))
#define BITS_HIGH(v)	((uint32_t)((uint64_t)(v) >> 32))

#define ROOT_IGNORED	((uint32_t)(VTA_L1_ENTRIES * sizeof(uint64_t) - 1))

/* Debug counters do not count accesses to themselves. */
#define COUNTERS_BASE	REG_COUNTER_CTRL
#define COUNTERS_END	(REG_COUNTER_CTRL + 0x1000)

static void set_low(uint64_t *reg, uint32_t val)
{
	*reg = (*reg & 0xffffffff00000000) | val;
}

static void set_high(uint64_t *reg, uint32_t val)
{
	*reg = (uint64_t)val << 32 | (uint32_t)*reg;
}

/* ---- Reading: false when there is no such register ---- */

static uint32_t config0(const struct core_config *core)
{
	return field_put(REG_CONFIG0_LOG_INP_WIDTH, core->log_inp_width) |
	       field_put(REG_CONFIG0_LOG_WGT_WIDTH, core->log_wgt_width) |
	       field_put(REG_CONFIG0_LOG_ACC_WIDTH, core->log_acc_width) |
	       field_put(REG_CONFIG0_LOG_BATCH, core->log_batch) |
	       field_put(REG_CONFIG0_LOG_BLOCK, core->log_block);
}

static uint32_t config1(const struct core_config *core)
{
	return field_put(REG_CONFIG1_LOG_UOP_BUFF_SIZE, core->log_uop_buff_size) |
	       field_put(REG_CONFIG1_LOG_INP_BUFF_SIZE, core->log_inp_buff_size) |
	       field_put(REG_CONFIG1_LOG_WGT_BUFF_SIZE, core->log_wgt_buff_size) |
	       field_put(REG_CONFIG1_LOG_ACC_BUFF_SIZE, core->log_acc_buff_size);
}

/* Moves each millisecond, also while card time stands still; never all ones. */
static uint32_t heartbeat(const struct card *card)
{
	if (inject_on(&card->inject, INJECT_HEARTBEAT) ||
	    inject_on(&card->inject, INJECT_HANG_ALL) || card->stuck)
		return 1;
	return (uint32_t)((host_now() - card->power_on) / 1000000 % UINT32_MAX);
}

static bool read_card(struct card *card, uint64_t off, uint32_t *val)
{
	const struct card_config *config = &card->config;

	switch (off) {
	case REG_MAGIC:
		*val = REG_MAGIC_VALUE;
		return true;
	case REG_CONTRACT:
		*val = field_put(REG_CONTRACT_MAJOR, VTA_CONTRACT);
		return true;
	case REG_FEATURES_LO:
		*val = REG_FEATURES_COUNTERS |
		       (config->temperature ? REG_FEATURES_SENSORS : 0);
		return true;
	case REG_FEATURES_HI:
		*val = 0;
		return true;
	case REG_QUEUES:
		*val = config->queues;
		return true;
	case REG_CONTEXTS:
		*val = config->contexts;
		return true;
	case REG_MEM_SIZE_LO:
		*val = BITS_LOW(config->mem_size);
		return true;
	case REG_MEM_SIZE_HI:
		*val = BITS_HIGH(config->mem_size);
		return true;
	case REG_DOORBELL_SHIFT:
		*val = CARD_DOORBELL_SHIFT;
		return true;
	case REG_RING_ORDER_MAX:
		*val = CARD_RING_ORDER_MAX;
		return true;
	case REG_CLOCK_KHZ:
		*val = config->clock_khz;
		return true;
	case REG_HW_VER:
		*val = config->core.hw_ver;
		return true;
	case REG_CONFIG0:
		*val = config0(&config->core);
		return true;
	case REG_CONFIG1:
		*val = config1(&config->core);
		return true;
	case REG_SAVE_SIZE:
		*val = core_state_size(&config->core);
		return true;
	case REG_SERIAL_LO:
		*val = BITS_LOW(config->serial);
		return true;
	case REG_SERIAL_HI:
		*val = BITS_HIGH(config->serial);
		return true;
	case REG_CONTROL:
		*val = card->enable ? REG_CONTROL_ENABLE : 0;
		return true;
	case REG_STATUS:
		*val = card_status(card);
		return true;
	case REG_HEARTBEAT:
		*val = heartbeat(card);
		return true;
	case REG_GENERATION:
		*val = card->generation;
		return true;
	case REG_EVENT:
		*val = card->event;
		return true;
	case REG_EVENT_ENABLE:
		*val = card->event_enable;
		return true;
	case REG_EVENT_VECTOR:
		*val = card->event_vector;
		return true;
	case REG_TIME_LO:
		*val = latch_low(&card->time_latch, card_time(card));
		return true;
	case REG_TIME_HI:
		*val = latch_high(&card->time_latch, card_time(card));
		return true;
	case REG_TEMPERATURE:
		*val = config->temperature;
		return config->temperature;
	case REG_POWER:
		*val = config->power;
		return config->temperature;
	case REG_TLB_INVALIDATE:
		/* Done by the time the write returns, so never BUSY. */
		*val = card->tlb_invalidate |
		       (inject_on(&card->inject, INJECT_TLB_BUSY) ||
			inject_on(&card->inject, INJECT_HANG_ALL) ?
			REG_TLB_INVALIDATE_BUSY : 0);
		return true;
	default:
		return false;
	}
}

static bool read_context(const struct context *context, uint64_t off, uint32_t *val)
{
	switch (off) {
	case REG_CONTEXT_ROOT_LO(0) - REG_CONTEXT(0):
		*val = BITS_LOW(context->root);
		return true;
	case REG_CONTEXT_ROOT_HI(0) - REG_CONTEXT(0):
		*val = BITS_HIGH(context->root);
		return true;
	case REG_CONTEXT_CTRL(0) - REG_CONTEXT(0):
		*val = context->enable ? REG_CONTEXT_CTRL_ENABLE : 0;
		return true;
	default:
		return false;
	}
}

static bool read_queue(struct queue *q, uint64_t off, uint32_t *val)
{
	switch (off) {
	case REG_QUEUE_CTRL(0) - REG_QUEUE(0):
		*val = (q->enable ? REG_QUEUE_CTRL_ENABLE : 0) |
		       field_put(REG_QUEUE_CTRL_PRIORITY, q->priority);
		return true;
	case REG_QUEUE_STATE(0) - REG_QUEUE(0):
		*val = field_put(REG_QUEUE_STATE_STATE, queue_state(q)) |
		       (queue_busy(q) ? REG_QUEUE_STATE_BUSY : 0) |
		       (q->kept != QUEUE_KEPT_NONE ? REG_QUEUE_STATE_KEPT : 0) |
		       field_put(REG_QUEUE_STATE_HAND, queue_hand(q));
		return true;
	case REG_QUEUE_CONTEXT(0) - REG_QUEUE(0):
		*val = q->context;
		return true;
	case REG_QUEUE_RING_ORDER(0) - REG_QUEUE(0):
		*val = q->ring_order;
		return true;
	case REG_QUEUE_RING_ADDR(0) - REG_QUEUE(0):
		*val = q->ring_addr;
		return true;
	case REG_QUEUE_VECTOR(0) - REG_QUEUE(0):
		*val = q->vector;
		return true;
	case REG_QUEUE_STATUS_LO(0) - REG_QUEUE(0):
		*val = BITS_LOW(q->status);
		return true;
	case REG_QUEUE_STATUS_HI(0) - REG_QUEUE(0):
		*val = BITS_HIGH(q->status);
		return true;
	case REG_QUEUE_CYCLES_LO(0) - REG_QUEUE(0):
		*val = BITS_LOW(q->cycles);
		return true;
	case REG_QUEUE_CYCLES_HI(0) - REG_QUEUE(0):
		*val = BITS_HIGH(q->cycles);
		return true;
	case REG_QUEUE_START_LO(0) - REG_QUEUE(0):
		*val = BITS_LOW(q->start);
		return true;
	case REG_QUEUE_START_HI(0) - REG_QUEUE(0):
		*val = BITS_HIGH(q->start);
		return true;
	case REG_QUEUE_SAVE(0) - REG_QUEUE(0):
		*val = q->save;
		return true;
	case REG_QUEUE_ARM(0) - REG_QUEUE(0):
		*val = 0;
		return true;
	case REG_QUEUE_SEQ_LO(0) - REG_QUEUE(0):
		*val = latch_low(&q->seq_latch, q->seq);
		return true;
	case REG_QUEUE_SEQ_HI(0) - REG_QUEUE(0):
		*val = latch_high(&q->seq_latch, q->seq);
		return true;
	case REG_QUEUE_SUBMITTED(0) - REG_QUEUE(0):
		*val = BITS_LOW(q->submitted);
		return true;
	case REG_QUEUE_TIME_LIMIT_LO(0) - REG_QUEUE(0):
		*val = BITS_LOW(q->time_limit);
		return true;
	case REG_QUEUE_TIME_LIMIT_HI(0) - REG_QUEUE(0):
		*val = BITS_HIGH(q->time_limit);
		return true;
	case REG_QUEUE_GROUP(0) - REG_QUEUE(0):
		*val = q->group;
		return true;
	default:
		return false;
	}
}

static bool read_engine(const struct engine *engine, uint64_t off, uint32_t *val)
{
	switch (off) {
	case REG_ENGINE_MOVES(0) - REG_ENGINE(0):
		*val = engine->moves;
		return true;
	case REG_ENGINE_QUEUE(0) - REG_ENGINE(0):
		*val = engine->last;
		return true;
	case REG_ENGINE_SEQ_LO(0) - REG_ENGINE(0):
		*val = BITS_LOW(engine->seq);
		return true;
	case REG_ENGINE_SEQ_HI(0) - REG_ENGINE(0):
		*val = BITS_HIGH(engine->seq);
		return true;
	case REG_ENGINE_SINCE_LO(0) - REG_ENGINE(0):
		*val = BITS_LOW(engine->since);
		return true;
	case REG_ENGINE_SINCE_HI(0) - REG_ENGINE(0):
		*val = BITS_HIGH(engine->since);
		return true;
	default:
		return false;
	}
}

static bool read_counter(struct card *card, uint64_t off, uint32_t *val)
{
	unsigned int i;

	if (off == REG_COUNTER_CTRL) {
		*val = 0;
		return true;
	}
	if (off < REG_COUNTER(0) || off >= REG_COUNTER(VTA_COUNTERS))
		return false;
	i = (off - REG_COUNTER(0)) / sizeof(uint64_t);
	*val = off == REG_COUNTER(i) ?
	       latch_low(&card->counter_latch[i], counter_get(&card->counters, i)) :
	       latch_high(&card->counter_latch[i], counter_get(&card->counters, i));
	return true;
}

/* ---- Writing: false when it is to be counted as a bad access ---- */

static void write_tlb_invalidate(struct card *card, uint32_t val)
{
	unsigned int context = field_get(REG_TLB_INVALIDATE_CONTEXT, val);

	card->tlb_invalidate = val & (REG_TLB_INVALIDATE_CONTEXT | REG_TLB_INVALIDATE_ALL);
	counter_add(&card->counters, VTA_COUNTER_TLB_INVALIDATIONS, 1);
	if (inject_take(&card->inject, INJECT_TLB_STALE))
		return;
	if (val & REG_TLB_INVALIDATE_ALL)
		mmu_invalidate_all(&card->mmu);
	else if (context < card->config.contexts)
		mmu_invalidate(&card->mmu, context);
}

static bool write_card(struct card *card, uint64_t off, uint32_t val)
{
	uint32_t ignored;

	switch (off) {
	case REG_CONTROL:
		if (val & REG_CONTROL_RESET) {
			if (!inject_take(&card->inject, INJECT_RESET_IGNORED))
				card_begin_reset(card, false);
		} else {
			card_set_enable(card, val & REG_CONTROL_ENABLE);
		}
		return true;
	case REG_EVENT:
		if (inject_take(&card->inject, INJECT_EVENT_STUCK))
			bus_irq(&card->bus, card->event_vector);
		else
			card_set_event(card, card->event & ~val);
		return true;
	case REG_EVENT_ENABLE:
		card_enable_events(card, val & REG_EVENT_ALL);
		return true;
	case REG_EVENT_VECTOR:
		card->event_vector = val;
		return true;
	case REG_TLB_INVALIDATE:
		write_tlb_invalidate(card, val);
		return true;
	case REG_TIME_LO:
	case REG_TIME_HI:
		return true;
	default:
		/* A register that can only be read. */
		return read_card(card, off, &ignored);
	}
}

static bool write_context(struct card *card, unsigned int n, uint64_t off, uint32_t val)
{
	struct context *context = &card->contexts[n];

	switch (off) {
	case REG_CONTEXT_ROOT_LO(0) - REG_CONTEXT(0):
		if (!context->enable)
			set_low(&context->root, val & ~ROOT_IGNORED);
		return true;
	case REG_CONTEXT_ROOT_HI(0) - REG_CONTEXT(0):
		if (!context->enable)
			set_high(&context->root, val);
		return true;
	case REG_CONTEXT_CTRL(0) - REG_CONTEXT(0):
		if (!context->enable && (val & REG_CONTEXT_CTRL_ENABLE))
			atomic_fetch_add(&context->lives, 1);
		context->enable = val & REG_CONTEXT_CTRL_ENABLE;
		if (context->enable)
			mmu_set_root(&card->mmu, n, context->root);
		else
			mmu_clear_root(&card->mmu, n);
		return true;
	default:
		return false;
	}
}

/* Those that describe the queue, and can be written while it is at rest. */
static void write_queue_setting(struct queue *q, uint64_t off, uint32_t val)
{
	switch (off) {
	case REG_QUEUE_CONTEXT(0) - REG_QUEUE(0):
		q->context = val;
		break;
	case REG_QUEUE_RING_ORDER(0) - REG_QUEUE(0):
		q->ring_order = val;
		break;
	case REG_QUEUE_RING_ADDR(0) - REG_QUEUE(0):
		q->ring_addr = val;
		break;
	case REG_QUEUE_VECTOR(0) - REG_QUEUE(0):
		q->vector = val;
		break;
	case REG_QUEUE_STATUS_LO(0) - REG_QUEUE(0):
		set_low(&q->status, val);
		break;
	case REG_QUEUE_STATUS_HI(0) - REG_QUEUE(0):
		set_high(&q->status, val);
		break;
	case REG_QUEUE_CYCLES_LO(0) - REG_QUEUE(0):
		set_low(&q->cycles, val);
		break;
	case REG_QUEUE_CYCLES_HI(0) - REG_QUEUE(0):
		set_high(&q->cycles, val);
		break;
	case REG_QUEUE_START_LO(0) - REG_QUEUE(0):
		set_low(&q->start, val);
		break;
	case REG_QUEUE_START_HI(0) - REG_QUEUE(0):
		set_high(&q->start, val);
		break;
	case REG_QUEUE_TIME_LIMIT_LO(0) - REG_QUEUE(0):
		set_low(&q->time_limit, val);
		break;
	case REG_QUEUE_TIME_LIMIT_HI(0) - REG_QUEUE(0):
		set_high(&q->time_limit, val);
		break;
	case REG_QUEUE_GROUP(0) - REG_QUEUE(0):
		q->group = val;
		break;
	case REG_QUEUE_SAVE(0) - REG_QUEUE(0):
		q->save = val;
		break;
	}
}

static bool write_queue(struct card *card, struct queue *q, uint64_t off, uint32_t val)
{
	switch (off) {
	case REG_QUEUE_CTRL(0) - REG_QUEUE(0):
		return queue_ctrl(card, q, val);
	case REG_QUEUE_ARM(0) - REG_QUEUE(0):
		queue_arm(card, q, val);
		return true;
	case REG_QUEUE_SUBMITTED(0) - REG_QUEUE(0):
		queue_submit(card, q, val);
		return true;
	default:
		if (queue_settable(q))
			write_queue_setting(q, off, val);
		return read_queue(q, off, &val);
	}
}

static bool write_counter(struct card *card, uint64_t off, uint32_t val)
{
	if (off == REG_COUNTER_CTRL && val & REG_COUNTER_CTRL_CLEAR)
		counters_clear(&card->counters);
	return true;
}

/* ---- One 32-bit access to BAR0 ---- */

static bool is_context(const struct card *card, uint64_t off)
{
	return off >= REG_CONTEXT(0) && off < REG_CONTEXT(card->config.contexts);
}

static bool is_queue(const struct card *card, uint64_t off)
{
	return off >= REG_QUEUE(0) && off < REG_QUEUE(card->config.queues);
}

static bool is_engine(uint64_t off)
{
	return off >= REG_ENGINE(0) && off < REG_ENGINE(VTA_NR_ENGINES);
}

static bool is_group(const struct card *card, uint64_t off)
{
	return off >= REG_GROUP_WEIGHT(0) && off < REG_GROUP_WEIGHT(card->config.contexts);
}

static bool is_counter(uint64_t off)
{
	return off >= COUNTERS_BASE && off < COUNTERS_END;
}

#define ENGINE_SIZE	(REG_ENGINE(1) - REG_ENGINE(0))
#define GROUP_SIZE	(REG_GROUP_WEIGHT(1) - REG_GROUP_WEIGHT(0))
#define CONTEXT_SIZE	(REG_CONTEXT(1) - REG_CONTEXT(0))
#define QUEUE_SIZE	(REG_QUEUE(1) - REG_QUEUE(0))

static bool read32(struct card *card, uint64_t off, uint32_t *val)
{
	*val = 0;
	if (is_context(card, off))
		return read_context(&card->contexts[(off - REG_CONTEXT(0)) / CONTEXT_SIZE],
				    (off - REG_CONTEXT(0)) % CONTEXT_SIZE, val);
	if (is_queue(card, off))
		return read_queue(&card->queues[(off - REG_QUEUE(0)) / QUEUE_SIZE],
				  (off - REG_QUEUE(0)) % QUEUE_SIZE, val);
	if (is_engine(off))
		return read_engine(&card->engines[(off - REG_ENGINE(0)) / ENGINE_SIZE],
				   (off - REG_ENGINE(0)) % ENGINE_SIZE, val);
	if (is_group(card, off)) {
		*val = card->weights[(off - REG_GROUP_WEIGHT(0)) / GROUP_SIZE];
		return true;
	}
	if (is_counter(off))
		return read_counter(card, off, val);
	return read_card(card, off, val);
}

static bool write32(struct card *card, uint64_t off, uint32_t val)
{
	/* Ignored, but not bad: the register is there. */
	if (atomic_load(&card->resetting))
		return read32(card, off, &val);
	if (inject_on(&card->inject, INJECT_HANG_ALL) &&
	    !(off == REG_CONTROL && val & REG_CONTROL_RESET))
		return true;
	if (is_context(card, off))
		return write_context(card, (off - REG_CONTEXT(0)) / CONTEXT_SIZE,
				     (off - REG_CONTEXT(0)) % CONTEXT_SIZE, val);
	if (is_queue(card, off))
		return write_queue(card, &card->queues[(off - REG_QUEUE(0)) / QUEUE_SIZE],
				   (off - REG_QUEUE(0)) % QUEUE_SIZE, val);
	if (is_engine(off))
		return read32(card, off, &val);
	if (is_group(card, off)) {
		card_set_weight(card, (unsigned int)(off - REG_GROUP_WEIGHT(0)) / GROUP_SIZE,
				val & VTA_GROUP_WEIGHT_MAX);
		return true;
	}
	if (is_counter(off))
		return write_counter(card, off, val);
	return write_card(card, off, val);
}

/* ---- Accesses as they come from the bus: false when bad ---- */

static bool access32(struct card *card, uint64_t off, uint8_t *buf, bool write)
{
	uint32_t val;
	bool ok;

	if (write) {
		memcpy(&val, buf, sizeof(val));
		return write32(card, off, val);
	}
	ok = read32(card, off, &val);
	inject_register(&card->inject, off, &val);
	if (inject_take(&card->inject, INJECT_GARBAGE))
		inject_garbage(&card->inject, &val);
	memcpy(buf, &val, sizeof(val));
	return ok;
}

static bool access_regs(struct card *card, uint64_t off, uint8_t *buf, size_t len, bool write)
{
	bool low, high;

	if (!write && inject_take(&card->inject, INJECT_ONES)) {
		memset(buf, 0xff, len);
		return true;
	}
	if (!write && inject_take(&card->inject, INJECT_ZEROS)) {
		memset(buf, 0, len);
		return true;
	}
	if (len == sizeof(uint32_t) && !(off % sizeof(uint32_t)))
		return access32(card, off, buf, write);
	if (len != sizeof(uint64_t) || off % sizeof(uint64_t)) {
		if (!write)
			memset(buf, 0, len);
		return false;
	}
	low = access32(card, off, buf, write);
	high = access32(card, off + sizeof(uint32_t), buf + sizeof(uint32_t), write);
	return low && high;
}

static bool access_doorbells(struct card *card, uint64_t off, uint8_t *buf, size_t len,
			     bool write)
{
	uint64_t n = off >> CARD_DOORBELL_SHIFT;
	uint32_t val;

	if (!write) {
		memset(buf, 0, len);
		return false;
	}
	if (len != sizeof(val) || off & ((1u << CARD_DOORBELL_SHIFT) - 1) ||
	    n >= card->config.queues || atomic_load(&card->resetting))
		return false;
	if (inject_on(&card->inject, INJECT_HANG_ALL))
		return true;
	memcpy(&val, buf, sizeof(val));
	return queue_doorbell(card, &card->queues[n], val);
}

void card_access(struct card *card, unsigned int bar, uint64_t off, void *buf,
		 size_t len, bool write)
{
	bool regs = bar == VTA_BAR_REGS;
	bool ok;

	if (inject_take(&card->inject, INJECT_SLOW))
		inject_sleep_us(&card->inject, INJECT_SLOW);
	pthread_mutex_lock(&card->lock);
	ok = regs ? access_regs(card, off, buf, len, write) :
		    access_doorbells(card, off, buf, len, write);
	if (!regs || !is_counter(off)) {
		counter_add(&card->counters, write ? VTA_COUNTER_MMIO_WRITES :
						     VTA_COUNTER_MMIO_READS, 1);
		if (!ok)
			counter_add(&card->counters, VTA_COUNTER_BAD_ACCESSES, 1);
	}
	pthread_mutex_unlock(&card->lock);
}
