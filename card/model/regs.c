// SPDX-License-Identifier: GPL-2.0-only
/*
 * The register map (docs/hardware.md, sections 2 to 6 and 12).
 */
#include <assert.h>
#include <stddef.h>
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

/* ---- Registers, as tables of where their values are ---- */

/* Values are fields of the structure that a block of registers shows, or are computed. */
struct reg {
	uint32_t off;			/* within the block */
	enum {
		REG_IS_WORD,		/* the field */
		REG_IS_LOW,		/* the low half of it */
		REG_IS_HIGH,		/* the high half */
		REG_IS_COMPUTED,
	} kind;
	bool setting;			/* of a queue: can be written while it is at rest */
	size_t field;			/* bytes from the structure's start */
	size_t size;			/* bytes: 4 of a word, else 8 */
	uint32_t (*compute)(void *block);
};

#define FIELD(OFF, KIND, SETTING, BLOCK, NAME) \
	{ .off = (OFF), .kind = (KIND), .setting = (SETTING), \
	  .field = offsetof(BLOCK, NAME), .size = sizeof(((BLOCK *)0)->NAME) }
#define WORD(OFF, BLOCK, NAME)	FIELD(OFF, REG_IS_WORD, false, BLOCK, NAME)
#define LOW(OFF, BLOCK, NAME)	FIELD(OFF, REG_IS_LOW, false, BLOCK, NAME)
#define HIGH(OFF, BLOCK, NAME)	FIELD(OFF, REG_IS_HIGH, false, BLOCK, NAME)
#define COMPUTED(OFF, FUNCTION) \
	{ .off = (OFF), .kind = REG_IS_COMPUTED, .compute = (FUNCTION) }

static uint32_t card_zero(void *block)
{
	(void)block;
	return 0;
}

static uint32_t card_magic(void *block)
{
	(void)block;
	return REG_MAGIC_VALUE;
}

static uint32_t card_contract(void *block)
{
	(void)block;
	return field_put(REG_CONTRACT_MAJOR, VTA_CONTRACT) |
	       field_put(REG_CONTRACT_MINOR, VTA_CONTRACT_NEWEST_MINOR);
}

static uint32_t card_features(void *block)
{
	const struct card *card = block;

	return REG_FEATURES_COUNTERS | (card->config.temperature ? REG_FEATURES_SENSORS : 0);
}

static uint32_t card_doorbell_shift(void *block)
{
	(void)block;
	return CARD_DOORBELL_SHIFT;
}

static uint32_t card_ring_order_max(void *block)
{
	(void)block;
	return CARD_RING_ORDER_MAX;
}

static uint32_t card_config0(void *block)
{
	const struct core_config *core = &((const struct card *)block)->config.core;

	return field_put(REG_CONFIG0_LOG_INP_WIDTH, core->log_inp_width) |
	       field_put(REG_CONFIG0_LOG_WGT_WIDTH, core->log_wgt_width) |
	       field_put(REG_CONFIG0_LOG_ACC_WIDTH, core->log_acc_width) |
	       field_put(REG_CONFIG0_LOG_BATCH, core->log_batch) |
	       field_put(REG_CONFIG0_LOG_BLOCK, core->log_block);
}

static uint32_t card_config1(void *block)
{
	const struct core_config *core = &((const struct card *)block)->config.core;

	return field_put(REG_CONFIG1_LOG_UOP_BUFF_SIZE, core->log_uop_buff_size) |
	       field_put(REG_CONFIG1_LOG_INP_BUFF_SIZE, core->log_inp_buff_size) |
	       field_put(REG_CONFIG1_LOG_WGT_BUFF_SIZE, core->log_wgt_buff_size) |
	       field_put(REG_CONFIG1_LOG_ACC_BUFF_SIZE, core->log_acc_buff_size);
}

static uint32_t card_config2(void *block)
{
	const struct core_config *core = &((const struct card *)block)->config.core;

	return field_put(REG_CONFIG2_LOG_TOKENS, core->log_tokens) |
	       field_put(REG_CONFIG2_LOG_WAITING, core->log_waiting);
}

static uint32_t card_save_size(void *block)
{
	const struct card *card = block;

	return card->config.no_kept_state ? 0 : core_state_size(&card->config.core);
}

static uint32_t card_control(void *block)
{
	return ((const struct card *)block)->enable ? REG_CONTROL_ENABLE : 0;
}

static uint32_t card_status_now(void *block)
{
	return card_status(block);
}

/* Counts milliseconds, also while card time is stopped. */
static uint32_t card_heartbeat(void *block)
{
	const struct card *card = block;

	if (inject_on(&card->inject, INJECT_HEARTBEAT) ||
	    inject_on(&card->inject, INJECT_HANG_ALL) || card->stuck)
		return 1;
	return (uint32_t)((host_now() - card->power_on) / 1000000);
}

static uint32_t card_time_low(void *block)
{
	struct card *card = block;

	return latch_low(&card->time_latch, card_time(card));
}

static uint32_t card_time_high(void *block)
{
	struct card *card = block;

	return latch_high(&card->time_latch, card_time(card));
}

/* An invalidation is done by the time that its write returns, so never BUSY. */
static uint32_t card_tlb_invalidate(void *block)
{
	const struct card *card = block;

	return card->tlb_invalidate |
	       (inject_on(&card->inject, INJECT_TLB_BUSY) ||
		inject_on(&card->inject, INJECT_HANG_ALL) ? REG_TLB_INVALIDATE_BUSY : 0);
}

static const struct reg card_regs[] = {
	COMPUTED(REG_MAGIC, card_magic),
	COMPUTED(REG_CONTRACT, card_contract),
	COMPUTED(REG_FEATURES_LO, card_features),
	COMPUTED(REG_FEATURES_HI, card_zero),
	WORD(REG_QUEUES, struct card, config.queues),
	WORD(REG_CONTEXTS, struct card, config.contexts),
	LOW(REG_MEM_SIZE_LO, struct card, config.mem_size),
	HIGH(REG_MEM_SIZE_HI, struct card, config.mem_size),
	COMPUTED(REG_DOORBELL_SHIFT, card_doorbell_shift),
	COMPUTED(REG_RING_ORDER_MAX, card_ring_order_max),
	WORD(REG_CLOCK_KHZ, struct card, config.clock_khz),
	WORD(REG_HW_VER, struct card, config.core.hw_ver),
	COMPUTED(REG_CONFIG0, card_config0),
	COMPUTED(REG_CONFIG1, card_config1),
	COMPUTED(REG_SAVE_SIZE, card_save_size),
	COMPUTED(REG_CONFIG2, card_config2),
	LOW(REG_SERIAL_LO, struct card, config.serial),
	HIGH(REG_SERIAL_HI, struct card, config.serial),
	COMPUTED(REG_CONTROL, card_control),
	COMPUTED(REG_STATUS, card_status_now),
	COMPUTED(REG_HEARTBEAT, card_heartbeat),
	WORD(REG_GENERATION, struct card, generation),
	WORD(REG_EVENT, struct card, event),
	WORD(REG_EVENT_ENABLE, struct card, event_enable),
	WORD(REG_EVENT_VECTOR, struct card, event_vector),
	COMPUTED(REG_TIME_LO, card_time_low),
	COMPUTED(REG_TIME_HI, card_time_high),
	COMPUTED(REG_TLB_INVALIDATE, card_tlb_invalidate),
};

/* Of a card that has sensors. */
static const struct reg sensor_regs[] = {
	WORD(REG_TEMPERATURE, struct card, config.temperature),
	WORD(REG_POWER, struct card, config.power),
};

static uint32_t context_ctrl(void *block)
{
	return ((const struct context *)block)->enable ? REG_CONTEXT_CTRL_ENABLE : 0;
}

#define CONTEXT(REG)	(REG_CONTEXT_##REG(0) - REG_CONTEXT(0))

static const struct reg context_regs[] = {
	LOW(CONTEXT(ROOT_LO), struct context, root),
	HIGH(CONTEXT(ROOT_HI), struct context, root),
	COMPUTED(CONTEXT(CTRL), context_ctrl),
};

static uint32_t queue_ctrl_now(void *block)
{
	const struct queue *q = block;

	return (q->enable ? REG_QUEUE_CTRL_ENABLE : 0) |
	       field_put(REG_QUEUE_CTRL_PRIORITY, q->priority);
}

static uint32_t queue_state_now(void *block)
{
	const struct queue *q = block;

	return field_put(REG_QUEUE_STATE_STATE, queue_state(q)) |
	       (queue_busy(q) ? REG_QUEUE_STATE_BUSY : 0) |
	       (q->kept != QUEUE_KEPT_NONE ? REG_QUEUE_STATE_KEPT : 0) |
	       field_put(REG_QUEUE_STATE_HAND, queue_hand(q));
}

static uint32_t queue_seq_low(void *block)
{
	struct queue *q = block;

	return latch_low(&q->seq_latch, q->seq);
}

static uint32_t queue_seq_high(void *block)
{
	struct queue *q = block;

	return latch_high(&q->seq_latch, q->seq);
}

static uint32_t queue_submitted(void *block)
{
	return BITS_LOW(((const struct queue *)block)->submitted);
}

#define QUEUE(REG)	(REG_QUEUE_##REG(0) - REG_QUEUE(0))
/* Those that describe the queue. */
#define SETTING(REG, KIND, NAME)	FIELD(QUEUE(REG), KIND, true, struct queue, NAME)

static const struct reg queue_regs[] = {
	COMPUTED(QUEUE(CTRL), queue_ctrl_now),
	COMPUTED(QUEUE(STATE), queue_state_now),
	SETTING(CONTEXT, REG_IS_WORD, context),
	SETTING(RING_ORDER, REG_IS_WORD, ring_order),
	SETTING(RING_ADDR, REG_IS_WORD, ring_addr),
	SETTING(VECTOR, REG_IS_WORD, vector),
	SETTING(STATUS_LO, REG_IS_LOW, status),
	SETTING(STATUS_HI, REG_IS_HIGH, status),
	SETTING(CYCLES_LO, REG_IS_LOW, cycles),
	SETTING(CYCLES_HI, REG_IS_HIGH, cycles),
	SETTING(START_LO, REG_IS_LOW, start),
	SETTING(START_HI, REG_IS_HIGH, start),
	SETTING(TIME_LIMIT_LO, REG_IS_LOW, time_limit),
	SETTING(TIME_LIMIT_HI, REG_IS_HIGH, time_limit),
	SETTING(SAVE, REG_IS_WORD, save),
	SETTING(GROUP, REG_IS_WORD, group),
	COMPUTED(QUEUE(ARM), card_zero),
	COMPUTED(QUEUE(SEQ_LO), queue_seq_low),
	COMPUTED(QUEUE(SEQ_HI), queue_seq_high),
	COMPUTED(QUEUE(SUBMITTED), queue_submitted),
};

#define ENGINE(REG)	(REG_ENGINE_##REG(0) - REG_ENGINE(0))

static const struct reg engine_regs[] = {
	WORD(ENGINE(MOVES), struct engine, moves),
	WORD(ENGINE(QUEUE), struct engine, last),
	LOW(ENGINE(SEQ_LO), struct engine, seq),
	HIGH(ENGINE(SEQ_HI), struct engine, seq),
	LOW(ENGINE(SINCE_LO), struct engine, since),
	HIGH(ENGINE(SINCE_HI), struct engine, since),
};

static const struct reg *find_reg(const struct reg *regs, size_t n, uint64_t off)
{
	for (size_t i = 0; i < n; i++)
		if (regs[i].off == off)
			return &regs[i];
	return NULL;
}

#define FIND(REGS, OFF)	find_reg(REGS, sizeof(REGS) / sizeof((REGS)[0]), OFF)

/* ---- Reading: false when there is no such register ---- */

static bool get_reg(const struct reg *reg, void *block, uint32_t *val)
{
	const void *field;

	if (!reg)
		return false;
	field = (const char *)block + reg->field;
	assert(reg->kind == REG_IS_COMPUTED ||
	       reg->size == (reg->kind == REG_IS_WORD ? sizeof(uint32_t) : sizeof(uint64_t)));
	switch (reg->kind) {
	case REG_IS_WORD:
		*val = *(const uint32_t *)field;
		break;
	case REG_IS_LOW:
		*val = BITS_LOW(*(const uint64_t *)field);
		break;
	case REG_IS_HIGH:
		*val = BITS_HIGH(*(const uint64_t *)field);
		break;
	case REG_IS_COMPUTED:
		*val = reg->compute(block);
		break;
	}
	return true;
}

static bool read_card(struct card *card, uint64_t off, uint32_t *val)
{
	return get_reg(FIND(card_regs, off), card, val) ||
	       (card->config.temperature && get_reg(FIND(sensor_regs, off), card, val));
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
	case CONTEXT(ROOT_LO):
		if (!context->enable)
			set_low(&context->root, val & ~ROOT_IGNORED);
		return true;
	case CONTEXT(ROOT_HI):
		if (!context->enable)
			set_high(&context->root, val);
		return true;
	case CONTEXT(CTRL):
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

static void set_reg(const struct reg *reg, struct queue *q, uint32_t val)
{
	void *field = (char *)q + reg->field;

	if (reg->kind == REG_IS_LOW)
		set_low(field, val);
	else if (reg->kind == REG_IS_HIGH)
		set_high(field, val);
	else
		*(uint32_t *)field = val;
}

static bool write_queue(struct card *card, struct queue *q, uint64_t off, uint32_t val)
{
	const struct reg *reg = FIND(queue_regs, off);

	switch (off) {
	case QUEUE(CTRL):
		return queue_ctrl(card, q, val);
	case QUEUE(ARM):
		queue_arm(card, q, val);
		return true;
	case QUEUE(SUBMITTED):
		queue_submit(card, q, val);
		return true;
	default:
		if (reg && reg->setting && queue_settable(q))
			set_reg(reg, q, val);
		return reg;
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
		return get_reg(FIND(context_regs, (off - REG_CONTEXT(0)) % CONTEXT_SIZE),
			       &card->contexts[(off - REG_CONTEXT(0)) / CONTEXT_SIZE], val);
	if (is_queue(card, off))
		return get_reg(FIND(queue_regs, (off - REG_QUEUE(0)) % QUEUE_SIZE),
			       &card->queues[(off - REG_QUEUE(0)) / QUEUE_SIZE], val);
	if (is_engine(off))
		return get_reg(FIND(engine_regs, (off - REG_ENGINE(0)) % ENGINE_SIZE),
			       &card->engines[(off - REG_ENGINE(0)) / ENGINE_SIZE], val);
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
