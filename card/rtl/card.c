// SPDX-License-Identifier: GPL-2.0-only
/*
 * card.c - the card in RTL behind card.h
 *
 * The simulation (sim.h) of the card's shape is found beside the program, or in $VTA_RTL_CARDS. A
 * thread gives it clocks while it has something to do, and none while it waits for the host; an
 * access takes the clocks that it needs by itself. The core is always the RTL's, and the card does
 * not learn of refused writes and keeps no state. Faults are injected in the bus alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "model/card.h"
#include "model/log.h"
#include "rtl/sim.h"
#include "vta_isa.h"
#include "vta_regs.h"

#define PATH_LEN	4096

struct card {
	struct card_config config;
	const struct card_ops *ops;
	void *priv;
	uint64_t power_on;	/* by the host's clock */
	void *mem;
	int mem_fd;
	struct inject inject;	/* of the kinds that inject_can() */

	const struct card_sim *sim;
	atomic_uint visitors;	/* threads that want the lock, but for the card's */
	pthread_mutex_t lock;	/* Protects: all below, and the simulation */
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread;
	bool exiting;
	bool bus;
	void *self;		/* of the simulation */
};

/* ---- Time, and the way to the host ---- */

static uint64_t read_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* TIME is never 0, and its low half never all ones. */
static uint64_t card_now(void *priv)
{
	const struct card *card = priv;
	uint64_t slowness = card->config.slowness ? card->config.slowness : 1;
	uint64_t now = (read_clock() - card->power_on) / slowness + 1;

	return (uint32_t)now == UINT32_MAX ? now + 1 : now;
}

/* Counts ms of the host, however slow card time is. */
static uint32_t card_beat(void *priv)
{
	const struct card *card = priv;

	return (uint32_t)((read_clock() - card->power_on) / 1000000);
}

static int host_read(void *priv, uint64_t addr, void *buf, size_t len)
{
	struct card *card = priv;

	if (inject_take(&card->inject, INJECT_DMA_ABORT))
		return -EIO;
	return card->ops->read(card->priv, addr, buf, len);
}

static int host_write(void *priv, uint64_t addr, const void *buf, size_t len)
{
	struct card *card = priv;

	if (inject_take(&card->inject, INJECT_DMA_ABORT))
		return -EIO;
	return card->ops->write(card->priv, addr, buf, len);
}

static int host_read64(void *priv, uint64_t addr, uint64_t *val)
{
	struct card *card = priv;

	if (inject_take(&card->inject, INJECT_DMA_ABORT))
		return -EIO;
	return card->ops->read64(card->priv, addr, val);
}

static int host_write64(void *priv, uint64_t addr, uint64_t val)
{
	struct card *card = priv;

	if (inject_take(&card->inject, INJECT_DMA_ABORT))
		return -EIO;
	return card->ops->write64(card->priv, addr, val);
}

static int host_irq(void *priv, unsigned int vector)
{
	struct card *card = priv;

	if (inject_take(&card->inject, INJECT_IRQ_LOST))
		return 0;
	if (inject_take(&card->inject, INJECT_IRQ_TWICE))
		card->ops->irq(card->priv, vector);
	return card->ops->irq(card->priv, vector);
}

/* ---- The card's thread ---- */

/* Take the lock before the card's thread takes it again. */
static void enter(struct card *card)
{
	atomic_fetch_add(&card->visitors, 1);
	pthread_mutex_lock(&card->lock);
	atomic_fetch_sub(&card->visitors, 1);
}

static void leave(struct card *card)
{
	pthread_cond_signal(&card->wake);
	pthread_mutex_unlock(&card->lock);
}

static void *give_clocks(void *arg)
{
	struct card *card = arg;

	pthread_mutex_lock(&card->lock);
	while (!card->exiting) {
		if (card->sim->quiet(card->self)) {
			pthread_cond_wait(&card->wake, &card->lock);
			continue;
		}
		card->sim->tick(card->self);
		if (!atomic_load_explicit(&card->visitors, memory_order_relaxed))
			continue;
		pthread_mutex_unlock(&card->lock);
		while (atomic_load(&card->visitors))
			sched_yield();
		pthread_mutex_lock(&card->lock);
	}
	pthread_mutex_unlock(&card->lock);
	return NULL;
}

/* ---- Making a card ---- */

static int make_mem(struct card *card)
{
	const size_t size = card->config.mem_size;

	card->mem_fd = -1;
	if (!size)
		return 0;
	card->mem_fd = memfd_create("vta-card-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (card->mem_fd < 0 || ftruncate(card->mem_fd, (off_t)size) ||
	    fcntl(card->mem_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	card->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, card->mem_fd, 0);
	if (card->mem != MAP_FAILED)
		return 0;
	card->mem = NULL;
	return -errno;
}

/* Directory of simulations: the program's, unless the environment names another. */
static int find_dir(char *dir, size_t len)
{
	const char *named = getenv("VTA_RTL_CARDS");
	ssize_t end;

	if (named && *named)
		return snprintf(dir, len, "%s", named) < (int)len ? 0 : -ENAMETOOLONG;
	end = readlink("/proc/self/exe", dir, len - 1);
	if (end < 0)
		return -errno;
	dir[end] = '\0';
	*strrchr(dir, '/') = '\0';
	return 0;
}

static unsigned int log2_of(uint64_t power)
{
	return power ? (unsigned int)__builtin_ctzll(power) : 0;
}

/* The simulation that has the shape of @config. */
static int load_sim(struct card *card)
{
	const struct card_config *config = &card->config;
	char dir[PATH_LEN], path[PATH_LEN + 64];
	void *object;
	int ret;

	if (config->temperature) {
		log_error("the card in RTL has no sensors");
		return -EINVAL;
	}
	ret = find_dir(dir, sizeof(dir));
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "%s/card-%u-%u-%u.so", dir, config->queues, config->contexts,
		 log2_of(config->mem_size));
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		log_error("no card in RTL of %u queues, %u contexts and %llu bytes of memory: %s",
			  config->queues, config->contexts,
			  (unsigned long long)config->mem_size, dlerror());
		return -ENOENT;
	}
	card->sim = dlsym(object, CARD_SIM_SYMBOL);
	if (!card->sim || card->sim->version != CARD_SIM_VERSION) {
		log_error("%s is not a simulation of version %d", path, CARD_SIM_VERSION);
		return -EINVAL;
	}
	return 0;
}

/* The core's configuration, as the registers say it. */
static bool same_core(struct card *card)
{
	const struct core_config *core = &card->config.core;
	const uint32_t config0 = card->sim->peek(card->self, REG_CONFIG0);
	const uint32_t config1 = card->sim->peek(card->self, REG_CONFIG1);
	const uint32_t config2 = card->sim->peek(card->self, REG_CONFIG2);
	const struct {
		uint32_t reg, mask;
		unsigned int value;
	} fields[] = {
		{ config0, REG_CONFIG0_LOG_INP_WIDTH, core->log_inp_width },
		{ config0, REG_CONFIG0_LOG_WGT_WIDTH, core->log_wgt_width },
		{ config0, REG_CONFIG0_LOG_ACC_WIDTH, core->log_acc_width },
		{ config0, REG_CONFIG0_LOG_BATCH, core->log_batch },
		{ config0, REG_CONFIG0_LOG_BLOCK, core->log_block },
		{ config1, REG_CONFIG1_LOG_UOP_BUFF_SIZE, core->log_uop_buff_size },
		{ config1, REG_CONFIG1_LOG_INP_BUFF_SIZE, core->log_inp_buff_size },
		{ config1, REG_CONFIG1_LOG_WGT_BUFF_SIZE, core->log_wgt_buff_size },
		{ config1, REG_CONFIG1_LOG_ACC_BUFF_SIZE, core->log_acc_buff_size },
		/* The card says 0 for 16, as a configuration may. */
		{ config2, REG_CONFIG2_LOG_TOKENS, core->log_tokens % VTA_ISA_LOG_QUEUE_MAX },
		{ config2, REG_CONFIG2_LOG_WAITING, core->log_waiting % VTA_ISA_LOG_QUEUE_MAX },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if ((fields[i].reg & fields[i].mask) >> __builtin_ctz(fields[i].mask) !=
		    fields[i].value)
			return false;
	return true;
}

static int make_sim(struct card *card)
{
	const char *seed = getenv("VTA_RTL_STALLS");
	const struct card_sim_host host = {
		.priv = card,
		.now = card_now,
		.beat = card_beat,
		.read = host_read,
		.write = host_write,
		.read64 = host_read64,
		.write64 = host_write64,
		.irq = host_irq,
		.mem = card->mem,
		.clock_khz = card->config.clock_khz,
		.hw_ver = card->config.core.hw_ver,
		.serial = card->config.serial,
		.stalls = seed ? (uint32_t)strtoul(seed, NULL, 0) : 0,
	};

	card->self = card->sim->make(&host);
	if (!card->self)
		return -ENOMEM;
	if (same_core(card))
		return 0;
	log_error("the core of the card in RTL has another configuration");
	return -EINVAL;
}

int card_new(struct card **out, const struct card_config *config, const struct card_ops *ops,
	     void *priv)
{
	struct card *card = calloc(1, sizeof(*card));
	int ret;

	if (!card)
		return -ENOMEM;
	card->config = *config;
	card->ops = ops;
	card->priv = priv;
	card->power_on = read_clock();
	pthread_mutex_init(&card->lock, NULL);
	pthread_cond_init(&card->wake, NULL);
	ret = make_mem(card);
	if (!ret)
		ret = load_sim(card);
	if (!ret)
		ret = make_sim(card);
	if (!ret)
		ret = -pthread_create(&card->thread, NULL, give_clocks, card);
	if (ret) {
		card_free(card);
		return ret;
	}
	card->has_thread = true;
	*out = card;
	return 0;
}

void card_free(struct card *card)
{
	if (!card)
		return;
	inject_clear(card);
	if (card->has_thread) {
		enter(card);
		card->exiting = true;
		leave(card);
		pthread_join(card->thread, NULL);
	}
	if (card->self)
		card->sim->end(card->self);
	if (card->mem)
		munmap(card->mem, card->config.mem_size);
	if (card->mem_fd >= 0)
		close(card->mem_fd);
	pthread_cond_destroy(&card->wake);
	pthread_mutex_destroy(&card->lock);
	free(card);
}

void *card_mem(struct card *card)
{
	return card->mem;
}

int card_mem_fd(struct card *card)
{
	return card->mem_fd;
}

/* ---- The host's way to the card ---- */

/* A read that the bus answers instead of the card. */
static bool answer_read(struct card *card, void *buf, size_t len)
{
	bool ones = inject_take(&card->inject, INJECT_ONES);

	if (!ones && !inject_take(&card->inject, INJECT_ZEROS))
		return false;
	memset(buf, ones ? 0xff : 0, len);
	return true;
}

/* Changes the registers that a read has found. */
static void change_read(struct card *card, uint64_t off, uint8_t *buf, size_t len)
{
	uint32_t val;

	if ((len != sizeof(val) && len != 2 * sizeof(val)) || off % len)
		return;
	for (size_t at = 0; at < len; at += sizeof(val)) {
		memcpy(&val, buf + at, sizeof(val));
		inject_register(&card->inject, off + at, &val);
		if (inject_take(&card->inject, INJECT_GARBAGE))
			inject_garbage(&card->inject, &val);
		memcpy(buf + at, &val, sizeof(val));
	}
}

void card_access(struct card *card, unsigned int bar, uint64_t off, void *buf, size_t len,
		 bool write)
{
	const bool reads = bar == VTA_BAR_REGS && !write;

	if (inject_take(&card->inject, INJECT_SLOW))
		inject_sleep_us(&card->inject, INJECT_SLOW);
	enter(card);
	if (!reads || !answer_read(card, buf, len))
		card->sim->access(card->self, bar, off, buf, len, write);
	if (reads)
		change_read(card, off, buf, len);
	leave(card);
}

void card_set_bus(struct card *card, bool on)
{
	enter(card);
	card->bus = on;
	card->sim->set_bus(card->self, on);
	leave(card);
}

void card_reset(struct card *card)
{
	enter(card);
	card->sim->reset(card->self);
	leave(card);
}

/* ---- For people ---- */

static uint32_t peek(struct card *card, uint32_t off)
{
	return card->sim->peek(card->self, off);
}

static uint64_t peek64(struct card *card, uint32_t off)
{
	uint64_t low = peek(card, off);

	return low | (uint64_t)peek(card, off + 4) << 32;
}

uint64_t card_counter(struct card *card, enum vta_counter i)
{
	uint64_t value;

	enter(card);
	value = peek64(card, REG_COUNTER(i));
	leave(card);
	return value;
}

void card_counters_clear(struct card *card)
{
	uint32_t clear = REG_COUNTER_CTRL_CLEAR;

	card_access(card, VTA_BAR_REGS, REG_COUNTER_CTRL, &clear, sizeof(clear), true);
}

/* The queue of the descriptor that an engine executes, or -1. */
static int find_executed(struct card *card, unsigned int engine)
{
	return peek(card, REG_ENGINE_MOVES(engine)) & 1 ?
		       (int)peek(card, REG_ENGINE_QUEUE(engine)) : -1;
}

void card_info(struct card *card, struct card_info *info)
{
	uint32_t status;

	enter(card);
	status = peek(card, REG_STATUS);
	*info = (struct card_info) {
		.config = card->config,
		.ready = status & REG_STATUS_READY,
		.fatal = status & REG_STATUS_FATAL,
		.enabled = peek(card, REG_CONTROL) & REG_CONTROL_ENABLE,
		.bus = card->bus,
		.generation = peek(card, REG_GENERATION),
		.event = peek(card, REG_EVENT),
		.time = card_now(card),
		.compute_queue = find_executed(card, 0),
		.copy_queue = find_executed(card, 1),
	};
	leave(card);
}

/* The phase of a queue by its STATE.HAND. */
static enum card_phase phase_of(uint32_t hand)
{
	switch (hand) {
	case VTA_HAND_FOR_COMPUTE:
	case VTA_HAND_FOR_COPY:
		return CARD_PHASE_READY;
	case VTA_HAND_IN_COMPUTE:
	case VTA_HAND_IN_COPY:
	case VTA_HAND_SHORT:
		return CARD_PHASE_EXECUTING;
	case VTA_HAND_HELD:
		return CARD_PHASE_WAITING;
	default:
		return CARD_PHASE_IDLE;
	}
}

/* The registers show neither that a queue is armed nor its fault, so both are missing here. */
void card_queue_info(struct card *card, unsigned int n, struct card_queue_info *info)
{
	uint32_t state;

	enter(card);
	state = peek(card, REG_QUEUE_STATE(n));
	*info = (struct card_queue_info) {
		.state = state & REG_QUEUE_STATE_STATE,
		.busy = state & REG_QUEUE_STATE_BUSY,
		.phase = phase_of((state & REG_QUEUE_STATE_HAND) >>
				  __builtin_ctz(REG_QUEUE_STATE_HAND)),
		.priority = (peek(card, REG_QUEUE_CTRL(n)) & REG_QUEUE_CTRL_PRIORITY) >>
			    __builtin_ctz(REG_QUEUE_CTRL_PRIORITY),
		.context = peek(card, REG_QUEUE_CONTEXT(n)),
		.group = peek(card, REG_QUEUE_GROUP(n)),
		.vector = peek(card, REG_QUEUE_VECTOR(n)),
		.seq = peek64(card, REG_QUEUE_SEQ_LO(n)),
		.submitted = peek(card, REG_QUEUE_SUBMITTED(n)),
	};
	leave(card);
}

bool card_context_info(struct card *card, unsigned int n, uint64_t *root)
{
	bool enabled;

	enter(card);
	*root = peek64(card, REG_CONTEXT_ROOT_LO(n));
	enabled = peek(card, REG_CONTEXT_CTRL(n)) & REG_CONTEXT_CTRL_ENABLE;
	leave(card);
	return enabled;
}

/* The RTL translates, so nothing here knows where a copy's bytes are. */
size_t card_copy_pieces(struct card *card, const struct card_copy *copy,
			struct mmu_piece *pieces, size_t max)
{
	(void)card;
	(void)copy;
	(void)pieces;
	(void)max;
	return 0;
}

/* ---- Faults are injected in the bus ---- */

struct inject *card_inject(struct card *card)
{
	return &card->inject;
}

/* The bus does it, or a register reads so by its way. */
bool inject_can(enum inject_kind kind)
{
	const uint64_t bus = INJECT_REGS | 1ull << INJECT_IRQ_LOST | 1ull << INJECT_IRQ_TWICE |
			     1ull << INJECT_IRQ_SPURIOUS | 1ull << INJECT_IRQ_STORM |
			     1ull << INJECT_DMA_ABORT | 1ull << INJECT_ONES |
			     1ull << INJECT_ZEROS | 1ull << INJECT_GARBAGE | 1ull << INJECT_SLOW |
			     1ull << INJECT_GONE | 1ull << INJECT_CONFIG_GONE;

	return bus >> kind & 1;
}

void inject_lock(struct card *card)
{
	enter(card);
}

void inject_unlock(struct card *card)
{
	leave(card);
}

/* An interrupt while the bus is off is lost. */
void inject_irq(struct card *card, uint32_t vector)
{
	host_irq(card, vector);
}

void inject_fatal(struct card *card)
{
	(void)card;
}

void inject_cleared(struct card *card)
{
	(void)card;
}
