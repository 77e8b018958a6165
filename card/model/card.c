// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power, reset, time and events.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "model.h"

/* ---- Time ---- */

uint64_t card_time(const struct card *card)
{
	uint64_t ns = clock_now(&card->clock);

	/* TIME of a live card does not read as all ones. */
	return (uint32_t)ns == UINT32_MAX ? ns + 1 : ns;
}

void card_release_clock(struct card *card)
{
	clock_release(&card->clock);
	/* Threads that wait for a card time can compute the host's time now. */
	if (clock_modelled(&card->clock) && !clock_held(&card->clock))
		pthread_cond_broadcast(&card->bus.changed);
}

/* ---- Control ---- */

bool card_serving(const struct card *card)
{
	return card->enable && !card->fatal && !atomic_load(&card->resetting) &&
	       !inject_on(&card->inject, INJECT_HANG_ALL);
}

void card_wake(struct card *card)
{
	for (unsigned int i = 0; i < card->config.queues; i++)
		queue_set_add(&card->kicked, i);
	front_wake(card);
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		engine_wake(&card->engines[i]);
	pthread_cond_broadcast(&card->bus.changed);
}

void card_set_enable(struct card *card, bool enable)
{
	if (card->enable == enable)
		return;
	card->enable = enable;
	if (enable)
		card_wake(card);
}

uint32_t card_status(const struct card *card)
{
	bool busy = card->front_queue;

	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		busy |= !!card->engines[i].queue;
	for (unsigned int i = 0; i < card->config.queues; i++)
		busy |= card->queues[i].phase == CARD_PHASE_WAITING;
	return (atomic_load(&card->resetting) ? 0 : REG_STATUS_READY) |
	       (card->fatal ? REG_STATUS_FATAL : 0) | (busy ? REG_STATUS_BUSY : 0);
}

void card_set_event(struct card *card, uint32_t event)
{
	uint32_t gained = event & ~card->event & card->event_enable;

	card->event = event;
	if (gained)
		bus_irq(&card->bus, card->event_vector);
}

void card_enable_events(struct card *card, uint32_t enable)
{
	card->event_enable = enable;
	if (card->event & enable)
		bus_irq(&card->bus, card->event_vector);
}

void card_set_fatal(struct card *card, uint32_t event)
{
	if (!card->fatal)
		log_error("the host refused a status page: the card gives up until it is reset");
	card->fatal = true;
	card_set_event(card, card->event | event | REG_EVENT_FATAL);
}

void card_set_bus(struct card *card, bool on)
{
	pthread_mutex_lock(&card->lock);
	bus_set(&card->bus, on);
	pthread_mutex_unlock(&card->lock);
}

void card_set_weight(struct card *card, unsigned int group, unsigned int weight)
{
	card->weights[group] = weight ? (uint8_t)weight : 1;
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		arbiter_set_weight(&card->engines[i].arbiter, group, card->weights[group]);
}

/* ---- Reset ---- */

void card_begin_reset(struct card *card, bool flr)
{
	atomic_store(&card->resetting, true);
	card->stuck = inject_take(&card->inject, flr ? INJECT_FLR_STUCK : INJECT_RESET_STUCK);
	card->flr |= flr;
	for (unsigned int i = 0; i < card->config.queues; i++) {
		card->queues[i].armed = false;
		atomic_store(&card->queues[i].give_up, true);
	}
	bus_drop_irqs(&card->bus);
	card_wake(card);
}

static void reset_engines(struct card *card)
{
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		engine_reset(&card->engines[i]);
	for (unsigned int i = 0; i < card->config.contexts; i++)
		card->weights[i] = 1;
	card->kicked = (struct queue_set) { 0 };
	card->front_last = VTA_QUEUES_MAX - 1;
	card->owner = (struct owner) { 0 };
}

static void reset_registers(struct card *card)
{
	card->enable = false;
	card->fatal = false;
	card->event = 0;
	card->event_enable = 0;
	card->event_vector = 0;
	card->tlb_invalidate = 0;
	card->time_latch = (struct latch) { 0 };
	for (unsigned int i = 0; i < card->config.contexts; i++) {
		card->contexts[i] = (struct context) { 0 };
		mmu_clear_root(&card->mmu, i);
	}
	for (unsigned int i = 0; i < card->config.queues; i++)
		queue_reset(&card->queues[i]);
}

static bool engines_idle(const struct card *card)
{
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		if (card->engines[i].queue)
			return false;
	return true;
}

void card_finish_reset(struct card *card)
{
	while (!engines_idle(card))
		pthread_cond_wait(&card->engine_idle, &card->lock);
	inject_reset(&card->inject);
	if (inject_take(&card->inject, INJECT_RESET_SLOW)) {
		pthread_mutex_unlock(&card->lock);
		inject_sleep_ms(&card->inject, INJECT_RESET_SLOW);
		pthread_mutex_lock(&card->lock);
	}
	reset_registers(card);
	reset_engines(card);
	mmu_invalidate_all(&card->mmu);
	bus_drop_irqs(&card->bus);
	if (card->flr)
		counters_clear(&card->counters);
	else
		counter_add(&card->counters, VTA_COUNTER_RESETS, 1);
	card->flr = false;
	if (!inject_take(&card->inject, INJECT_GENERATION_SAME))
		card->generation++;
	atomic_store(&card->resetting, false);
	log_debug("reset done, generation %u", card->generation);
}

void card_reset(struct card *card)
{
	pthread_mutex_lock(&card->lock);
	card_begin_reset(card, true);
	pthread_mutex_unlock(&card->lock);
}

/* ---- Power ---- */

static bool config_ok(const struct card_config *config)
{
	return config->queues >= 1 && config->queues <= VTA_QUEUES_MAX &&
	       config->contexts >= 1 && config->contexts <= VTA_CONTEXTS_MAX &&
	       (!config->mem_size || config->mem_size >= CARD_MEM_MIN) &&
	       config->mem_size <= CARD_MEM_MAX &&
	       !(config->mem_size & (config->mem_size - 1)) && config->clock_khz >= 1;
}

static int make_mem(struct card *card)
{
	if (!card->config.mem_size)
		return 0;
	card->mem_fd = memfd_create("vta-card-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (card->mem_fd < 0)
		return -errno;
	if (ftruncate(card->mem_fd, (off_t)card->config.mem_size))
		return -errno;
	/* A process that maps the file cannot shrink it under the engines. */
	if (fcntl(card->mem_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	card->mem = mmap(NULL, card->config.mem_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 card->mem_fd, 0);
	if (card->mem == MAP_FAILED) {
		card->mem = NULL;
		return -errno;
	}
	return 0;
}

static void free_mem(struct card *card)
{
	if (card->mem)
		munmap(card->mem, card->config.mem_size);
	if (card->mem_fd >= 0)
		close(card->mem_fd);
}

static int init_sync(struct card *card)
{
	int ret = pthread_mutex_init(&card->lock, NULL);

	if (!ret)
		ret = pthread_cond_init(&card->front_wake, NULL);
	if (!ret)
		ret = pthread_cond_init(&card->engine_idle, NULL);
	if (!ret)
		ret = pthread_cond_init(&card->limiter.wake, NULL);
	for (unsigned int i = 0; i < VTA_ENGINES && !ret; i++)
		ret = pthread_cond_init(&card->engines[i].wake, NULL);
	return -ret;
}

static void destroy_sync(struct card *card)
{
	for (unsigned int i = 0; i < VTA_ENGINES; i++)
		pthread_cond_destroy(&card->engines[i].wake);
	pthread_cond_destroy(&card->limiter.wake);
	pthread_cond_destroy(&card->engine_idle);
	pthread_cond_destroy(&card->front_wake);
	pthread_mutex_destroy(&card->lock);
}

/* The front end, the limiter, the engines. */
static const unsigned int threads = 2 + VTA_ENGINES;

static pthread_t *thread_at(struct card *card, unsigned int i)
{
	if (!i)
		return &card->front_thread;
	return i == 1 ? &card->limiter.thread : &card->engines[i - 2].thread;
}

/* Ends the first n threads. */
static void stop_threads(struct card *card, unsigned int n)
{
	pthread_mutex_lock(&card->lock);
	card->exiting = true;
	card_begin_reset(card, true);
	pthread_cond_signal(&card->limiter.wake);
	pthread_mutex_unlock(&card->lock);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(*thread_at(card, i), NULL);
}

static int start_thread(struct card *card, unsigned int i)
{
	if (!i)
		return pthread_create(thread_at(card, i), NULL, front_main, card);
	if (i == 1)
		return pthread_create(thread_at(card, i), NULL, limiter_main, card);
	return pthread_create(thread_at(card, i), NULL, engine_main, &card->engines[i - 2]);
}

static int start_threads(struct card *card)
{
	for (unsigned int i = 0; i < threads; i++) {
		int ret = start_thread(card, i);

		if (ret) {
			stop_threads(card, i);
			return -ret;
		}
	}
	return 0;
}

int card_new(struct card **out, const struct card_config *config,
	     const struct card_ops *ops, void *priv)
{
	static const enum vta_unit units[VTA_ENGINES] = { VTA_UNIT_COMPUTE, VTA_UNIT_COPY };
	struct card *card;
	int ret;

	if (!config_ok(config))
		return -EINVAL;
	card = calloc(1, sizeof(*card));
	if (!card)
		return -ENOMEM;
	card->config = *config;
	card->power_on = host_now();
	clock_init(&card->clock, config->slowness);
	card->mem_fd = -1;
	for (unsigned int i = 0; i < VTA_QUEUES_MAX; i++)
		card->queues[i].index = i;
	for (unsigned int i = 0; i < VTA_ENGINES; i++) {
		card->engines[i].card = card;
		card->engines[i].unit = units[i];
	}
	reset_engines(card);

	ret = init_sync(card);
	if (ret)
		goto out_free;
	ret = make_mem(card);
	if (ret)
		goto out_mem;
	ret = bus_init(&card->bus, config, ops, priv, &card->counters, &card->inject,
		       &card->lock);
	if (ret)
		goto out_mem;
	ret = mmu_init(&card->mmu, &card->bus, &card->counters, card->mem, config->mem_size);
	if (ret)
		goto out_bus;
	card->core = config->model ? core_new_model(&config->core, config->model) :
				     core_new(&config->core, config->order, config->seed);
	if (!card->core) {
		ret = -ENOMEM;
		goto out_mmu;
	}
	ret = start_threads(card);
	if (ret)
		goto out_core;
	*out = card;
	return 0;

out_core:
	core_free(card->core);
out_mmu:
	mmu_destroy(&card->mmu);
out_bus:
	bus_destroy(&card->bus);
out_mem:
	free_mem(card);
	destroy_sync(card);
out_free:
	free(card);
	return ret;
}

void card_free(struct card *card)
{
	if (!card)
		return;
	inject_clear(card);
	stop_threads(card, threads);
	core_free(card->core);
	mmu_destroy(&card->mmu);
	bus_destroy(&card->bus);
	free_mem(card);
	destroy_sync(card);
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

/* ---- Injected faults ---- */

struct inject *card_inject(struct card *card)
{
	return &card->inject;
}

bool inject_can(enum inject_kind kind)
{
	(void)kind;
	return true;
}

void inject_lock(struct card *card)
{
	pthread_mutex_lock(&card->lock);
}

void inject_unlock(struct card *card)
{
	card_wake(card);
	pthread_mutex_unlock(&card->lock);
}

void inject_irq(struct card *card, uint32_t vector)
{
	bus_irq(&card->bus, vector);
}

void inject_fatal(struct card *card)
{
	card_set_fatal(card, 0);
}

void inject_cleared(struct card *card)
{
	card->stuck = false;
}

/* ---- For people ---- */

uint64_t card_counter(struct card *card, enum vta_counter i)
{
	return counter_get(&card->counters, i);
}

void card_counters_clear(struct card *card)
{
	counters_clear(&card->counters);
}

static int queue_in(const struct engine *engine)
{
	return engine->queue ? (int)engine->queue->index : -1;
}

void card_info(struct card *card, struct card_info *info)
{
	pthread_mutex_lock(&card->lock);
	*info = (struct card_info) {
		.config = card->config,
		.ready = !atomic_load(&card->resetting),
		.fatal = card->fatal,
		.enabled = card->enable,
		.bus = bus_epoch_on(bus_epoch(&card->bus)),
		.generation = card->generation,
		.event = card->event,
		.time = card_time(card),
		.compute_queue = queue_in(&card->engines[0]),
		.copy_queue = queue_in(&card->engines[1]),
	};
	pthread_mutex_unlock(&card->lock);
}

void card_queue_info(struct card *card, unsigned int n, struct card_queue_info *info)
{
	const struct queue *q = &card->queues[n];

	pthread_mutex_lock(&card->lock);
	*info = (struct card_queue_info) {
		.state = queue_state(q),
		.busy = queue_busy(q),
		.armed = q->armed,
		.phase = q->phase,
		.priority = q->priority,
		.context = q->context,
		.group = q->group,
		.vector = q->vector,
		.seq = q->seq,
		.submitted = q->submitted,
		.fault = q->fault.reason,
	};
	pthread_mutex_unlock(&card->lock);
}

bool card_context_info(struct card *card, unsigned int n, uint64_t *root)
{
	bool enabled;

	pthread_mutex_lock(&card->lock);
	*root = card->contexts[n].root;
	enabled = card->contexts[n].enable;
	pthread_mutex_unlock(&card->lock);
	return enabled;
}
