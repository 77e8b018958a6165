// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected faults: their names, how often each is to happen, and which are spent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "card.h"
#include "inject.h"
#include "log.h"
#include "vta_regs.h"
#include "vta_faults.h"

/* Between the interrupts of a storm. */
#define STORM_US	20
/* The longest time that a kind takes as its value, in ms. */
#define SLEEP_MAX	60000
/* Times of what happens at once: everything else waits meanwhile. */
#define AT_ONCE_MAX	1000

enum value_type { NO_VALUE, A_NUMBER, A_TIME, A_REASON, A_VECTOR };

struct kind {
	const char *name;
	const char *help;
	enum value_type type;
	uint64_t value;		/* if none is given */
	bool cured;		/* by a reset of the card */
	bool once;		/* by default */
	uint32_t reg;		/* for INJECT_REG_ kinds */
};

static const struct kind kinds[INJECT_KINDS] = {
	[INJECT_FAULT] = { "fault", "=REASON: the next descriptor faults so",
		A_REASON, VTA_FAULT_PAGE, .once = true },
	[INJECT_HANG_COMPUTE] = { "hang-compute",
		"the compute engine does not finish; aborts and resets end it",
		.cured = true },
	[INJECT_HANG_COPY] = { "hang-copy",
		"the copy engine does not finish; aborts and resets end it",
		.cured = true },
	[INJECT_HANG_FRONT] = { "hang-front",
		"descriptors are not fetched, and those that need no engine not executed",
		.cured = true },
	[INJECT_IDLE_ENGINES] = { "idle-engines", "engines begin no descriptor",
		.cured = true },
	[INJECT_HANG_ALL] = { "hang-all",
		"all work stops, and writes have no effect, except a reset, which ends this",
		.cured = true },
	[INJECT_SLOW_ENGINE] = { "slow-engine", "=MS (10): a descriptor takes so much longer",
		A_TIME, 10 },
	[INJECT_START_NEVER] = { "start-never", "queues do not start" },
	[INJECT_STOP_NEVER] = { "stop-never",
		"queues do not stop; a reset ends it", .cured = true },
	[INJECT_LIMIT_NEVER] = { "limit-never", "time limits do not end a descriptor" },
	[INJECT_DOORBELL_LOST] = { "doorbell-lost", "doorbells are not heard" },
	[INJECT_ARM_LOST] = { "arm-lost", "queues are not armed" },

	[INJECT_STATUS_LATE] = { "status-late",
		"=MS (50): the status record comes so long after the interrupt",
		A_TIME, 50 },
	[INJECT_STATUS_LOST] = { "status-lost",
		"a completion is not written to the status record" },
	[INJECT_STATUS_TORN] = { "status-torn", "=MS (50): HALTED precedes its reason by MS",
		A_TIME, 50 },
	[INJECT_SEQ_BACK] = { "seq-back", "=N (1): the sequence number goes back by that",
		A_NUMBER, 1 },
	[INJECT_SEQ_JUMP] = { "seq-jump", "=N (2^40): the sequence number advances by so much more",
		A_NUMBER, 1ull << 40 },
	[INJECT_STATE_WILD] = { "state-wild",
		"=N: completions write this state, which there is none of",
		A_NUMBER, 0xdeadbeef },
	[INJECT_RECORD_WILD] = { "record-wild",
		"=WORDS: fault records hold ones, in all words or in those of this mask",
		A_NUMBER, UINT32_MAX },
	[INJECT_HALT_LOST] = { "halt-lost", "a halt is not written to the status page" },

	[INJECT_IRQ_LOST] = { "irq-lost", "interrupts do not arrive" },
	[INJECT_IRQ_TWICE] = { "irq-twice", "each interrupt comes twice" },
	[INJECT_IRQ_SPURIOUS] = { "irq-spurious", "=VECTOR (0): interrupts at once, for nothing",
		A_VECTOR, .once = true },
	[INJECT_IRQ_STORM] = { "irq-storm", "=VECTOR (0): interrupts without end",
		A_VECTOR },
	[INJECT_EVENT_STUCK] = { "event-stuck",
		"EVENT cannot be cleared, and interrupts again instead" },

	[INJECT_DMA_ABORT] = { "dma-abort", "the host refuses the card's accesses to memory" },
	[INJECT_TLB_BUSY] = { "tlb-busy",
		"invalidations do not end; a reset ends it", .cured = true },
	[INJECT_TLB_STALE] = { "tlb-stale", "invalidations drop nothing" },
	[INJECT_ONES] = { "ones", "registers read as ones" },
	[INJECT_ZEROS] = { "zeros", "registers read as 0" },
	[INJECT_GARBAGE] = { "garbage",
		"=SEED (1): registers read as anything, which follows from the seed",
		A_NUMBER, 1 },
	[INJECT_SLOW] = { "slow", "=US (1000): a register access takes so much longer",
		A_TIME, 1000 },
	[INJECT_GONE] = { "gone", "the card has been pulled out; clearing puts a fresh one in" },
	[INJECT_CONFIG_GONE] = { "config-gone",
		"config space reads as ones, and cannot be written" },

	[INJECT_HEARTBEAT] = { "heartbeat", "HEARTBEAT stops" },
	[INJECT_FATAL] = { "fatal", "the card gives up, at once", .once = true },
	[INJECT_RESET_IGNORED] = { "reset-ignored", "CONTROL.RESET has no effect" },
	[INJECT_RESET_STUCK] = { "reset-stuck",
		"CONTROL.RESET begins a reset that only an FLR ends" },
	[INJECT_RESET_SLOW] = { "reset-slow", "=MS (500): a reset takes so much longer",
		A_TIME, 500 },
	[INJECT_FLR_STUCK] = { "flr-stuck", "an FLR begins a reset that does not end" },
	[INJECT_GENERATION_SAME] = { "generation-same", "GENERATION does not count a reset" },

	[INJECT_REG_MAGIC] = { "reg-magic", "=VALUE: as which MAGIC reads; so for the others",
		A_NUMBER, .reg = REG_MAGIC },
	[INJECT_REG_CONTRACT] = { "reg-contract", "", A_NUMBER, .reg = REG_CONTRACT },
	[INJECT_REG_FEATURES] = { "reg-features", "", A_NUMBER, .reg = REG_FEATURES_LO },
	[INJECT_REG_QUEUES] = { "reg-queues", "", A_NUMBER, .reg = REG_QUEUES },
	[INJECT_REG_CONTEXTS] = { "reg-contexts", "", A_NUMBER, .reg = REG_CONTEXTS },
	[INJECT_REG_MEM_SIZE] = { "reg-mem-size", "", A_NUMBER, .reg = REG_MEM_SIZE_LO },
	[INJECT_REG_DOORBELL_SHIFT] = { "reg-doorbell-shift", "", A_NUMBER,
		.reg = REG_DOORBELL_SHIFT },
	[INJECT_REG_RING_ORDER_MAX] = { "reg-ring-order-max", "", A_NUMBER,
		.reg = REG_RING_ORDER_MAX },
	[INJECT_REG_CLOCK_KHZ] = { "reg-clock-khz", "", A_NUMBER, .reg = REG_CLOCK_KHZ },
	[INJECT_REG_SAVE_SIZE] = { "reg-save-size", "", A_NUMBER, .reg = REG_SAVE_SIZE },
	[INJECT_REG_CONFIG0] = { "reg-config0", "", A_NUMBER, .reg = REG_CONFIG0 },
	[INJECT_REG_CONFIG1] = { "reg-config1", "", A_NUMBER, .reg = REG_CONFIG1 },
	[INJECT_REG_CONFIG2] = { "reg-config2", "", A_NUMBER, .reg = REG_CONFIG2 },
	[INJECT_REG_STATUS] = { "reg-status", "", A_NUMBER, .reg = REG_STATUS },
	[INJECT_REG_EVENT] = { "reg-event", "", A_NUMBER, .reg = REG_EVENT },
	[INJECT_REG_GENERATION] = { "reg-generation", "", A_NUMBER, .reg = REG_GENERATION },
	[INJECT_REG_SERIAL] = { "reg-serial", "", A_NUMBER, .reg = REG_SERIAL_LO },
	[INJECT_REG_TIME_HI] = { "reg-time-hi", "", A_NUMBER, .reg = REG_TIME_HI },
	[INJECT_REG_TLB_INVALIDATE] = { "reg-tlb-invalidate", "", A_NUMBER,
		.reg = REG_TLB_INVALIDATE },
};

static const char *const reasons[] = {
#define WORD(NAME, word, text) \
	[VTA_FAULT_##NAME] = (word),
	VTA_CARD_FAULTS(WORD)
#undef WORD
};

#define REASONS	(sizeof(reasons) / sizeof(reasons[0]))

const char *inject_name(enum inject_kind kind)
{
	return kinds[kind].name;
}

const char *inject_help(enum inject_kind kind)
{
	return kinds[kind].help;
}

/* ---- For the model ---- */

static void turn_off(struct inject *inject, enum inject_kind kind)
{
	atomic_fetch_and(&inject->on, ~(1ull << kind));
}

bool inject_happens(struct inject *inject, enum inject_kind kind, int queue)
{
	struct injection *injection = &inject->kinds[kind];
	int only = atomic_load(&injection->queue);
	int64_t left;

	if (only != INJECT_ANY && only != queue)
		return false;
	if (atomic_load(&injection->skip) > 0 && atomic_fetch_sub(&injection->skip, 1) > 0)
		return false;
	left = atomic_fetch_sub(&injection->left, 1);
	if (left <= 1)
		turn_off(inject, kind);
	if (left <= 0)
		return false;
	atomic_fetch_add(&injection->count, 1);
	return true;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void inject_sleep_ms(const struct inject *inject, enum inject_kind kind)
{
	sleep_ns(inject_value(inject, kind) * 1000000);
}

void inject_sleep_us(const struct inject *inject, enum inject_kind kind)
{
	sleep_ns(inject_value(inject, kind) * 1000);
}

/* splitmix64 */
static uint64_t mix_bits(uint64_t n)
{
	n += 0x9e3779b97f4a7c15ull;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
	n = (n ^ n >> 27) * 0x94d049bb133111ebull;
	return n ^ n >> 31;
}

/* Nearly valid values get further than random ones. */
void inject_garbage(struct inject *inject, uint32_t *val)
{
	static const uint32_t edges[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
	const struct injection *injection = &inject->kinds[INJECT_GARBAGE];
	uint64_t random = mix_bits(inject_value(inject, INJECT_GARBAGE) * 0x10001 +
				   atomic_load(&injection->count));
	uint32_t high = (uint32_t)(random >> 32);

	switch (random % 4) {
	case 0:
		*val ^= 1u << (high % 32);
		break;
	case 1:
		*val = edges[high % (sizeof(edges) / sizeof(edges[0]))];
		break;
	case 2:
		*val += high % 17 - 8;
		break;
	default:
		*val = high;
		break;
	}
}

bool inject_register(struct inject *inject, uint64_t off, uint32_t *val)
{
	if (!(atomic_load_explicit(&inject->on, memory_order_relaxed) & INJECT_REGS))
		return false;
	for (unsigned int i = INJECT_REG_MAGIC; i < INJECT_KINDS; i++) {
		if (kinds[i].reg == off && inject_take(inject, i)) {
			*val = (uint32_t)inject_value(inject, i);
			return true;
		}
	}
	return false;
}

void inject_reset(struct inject *inject)
{
	for (unsigned int i = 0; i < INJECT_KINDS; i++)
		if (kinds[i].cured)
			turn_off(inject, i);
}

/* ---- Orders ---- */

static bool number(const char *text, uint64_t *val)
{
	char *end;

	errno = 0;
	*val = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool parse_reason(const char *text, uint64_t *val)
{
	for (unsigned int i = 1; i < REASONS; i++) {
		if (!strcmp(text, reasons[i])) {
			*val = i;
			return true;
		}
	}
	return false;
}

static const char *parse_value(const struct kind *kind, const char *text, uint64_t *val)
{
	switch (kind->type) {
	case NO_VALUE:
		return "this kind of fault has no value";
	case A_REASON:
		return parse_reason(text, val) ? NULL : "no such reason of a fault";
	case A_TIME:
		return number(text, val) && *val <= SLEEP_MAX ? NULL : "the time is 0 to 60000";
	case A_VECTOR:
		return number(text, val) && *val < CARD_VECTORS_MAX ? NULL : "no such vector";
	case A_NUMBER:
		break;
	}
	return number(text, val) ? NULL : "the value is a number";
}

/* Cuts off what follows @mark, the last of the marks that is still there. */
static char *cut(char *spec, char mark)
{
	char *at = strrchr(spec, mark);

	if (at)
		*at++ = '\0';
	return at;
}

const char *inject_parse(struct inject_order *order, char *spec, const char *times)
{
	const char *skip = cut(spec, '+'), *queue = cut(spec, '@'), *value = cut(spec, '=');
	const struct kind *kind = NULL;
	uint64_t n;

	for (unsigned int i = 0; i < INJECT_KINDS && !kind; i++)
		if (!strcmp(kinds[i].name, spec))
			kind = &kinds[i];
	if (!kind)
		return "no such kind of fault, try kinds";
	if (!inject_can((enum inject_kind)(kind - kinds)))
		return "this card cannot do that, try kinds";
	*order = (struct inject_order) {
		.kind = (enum inject_kind)(kind - kinds),
		.value = kind->value,
		.queue = INJECT_ANY,
		.times = kind->once ? 1 : INT64_MAX,
	};
	if (value) {
		const char *error = parse_value(kind, value, &order->value);

		if (error)
			return error;
	}
	if (queue) {
		if (!number(queue, &n) || n >= VTA_QUEUES_MAX)
			return "no such queue";
		order->queue = (int)n;
	}
	if (skip) {
		if (!number(skip, &n) || n > INT32_MAX)
			return "what is skipped is a number";
		order->skip = (int64_t)n;
	}
	if (times) {
		if (!number(times, &n) || !n || n > INT32_MAX)
			return "how often is a number, at least 1";
		if (kind->once && n > AT_ONCE_MAX)
			return "this happens at once, 1000 times at most";
		order->times = (int64_t)n;
	}
	return NULL;
}

static void *storm_main(void *arg)
{
	struct card *card = arg;
	struct inject *inject = card_inject(card);

	while (inject_on(inject, INJECT_IRQ_STORM)) {
		inject_lock(card);
		if (inject_take(inject, INJECT_IRQ_STORM))
			inject_irq(card, (uint32_t)inject_value(inject, INJECT_IRQ_STORM));
		inject_unlock(card);
		sleep_ns(STORM_US * 1000);
	}
	return NULL;
}

static void end_storm(struct inject *inject)
{
	if (!inject->storming)
		return;
	turn_off(inject, INJECT_IRQ_STORM);
	pthread_join(inject->storm, NULL);
	inject->storming = false;
}

void inject_start(struct card *card, const struct inject_order *order)
{
	struct inject *inject = card_inject(card);
	struct injection *injection = &inject->kinds[order->kind];

	if (order->kind == INJECT_IRQ_STORM)
		end_storm(inject);
	inject_lock(card);
	turn_off(inject, order->kind);
	atomic_store(&injection->value, order->value);
	atomic_store(&injection->queue, order->queue);
	atomic_store(&injection->skip, order->skip);
	atomic_store(&injection->left, order->times);
	atomic_store(&injection->count, 0);
	atomic_fetch_or(&inject->on, 1ull << order->kind);
	/* These happen at once. */
	while (inject_take(inject, INJECT_IRQ_SPURIOUS))
		inject_irq(card, (uint32_t)inject_value(inject, INJECT_IRQ_SPURIOUS));
	if (inject_take(inject, INJECT_FATAL))
		inject_fatal(card);
	inject_unlock(card);
	if (order->kind == INJECT_IRQ_STORM)
		inject->storming = !pthread_create(&inject->storm, NULL, storm_main, card);
	log_debug("inject %s", kinds[order->kind].name);
}

void inject_clear(struct card *card)
{
	struct inject *inject = card_inject(card);

	end_storm(inject);
	inject_lock(card);
	atomic_store(&inject->on, 0);
	inject_cleared(card);
	inject_unlock(card);
}
