// SPDX-License-Identifier: Apache-2.0
/*
 * pool_card.c - a card of a pool: the thread that loads the program and runs requests on it
 *
 * Each slot has a queue and a place for tensors; the first has the weights, the others are its
 * twins. The thread sleeps in poll() on one eventfd, which queues signal on progress and loss, and
 * others of new requests and of closing. If the CPU's steps of the program take long, it lends a
 * slot that has some to the pool's crew, so that they are executed beside those of other slots.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "pool.h"
#include "prog.h"

#define NS_PER_MS	1000000
/* Between attempts to open a card that is away, unless an event reports its return. */
#define DELAY_LEAST_MS	100
#define DELAY_MOST_MS	2000
/* A doorbell may be lost: see vtadev_arm(). */
#define ARM_AGAIN_MS	1000

static bool is_closing(struct pool_card *card)
{
	bool closing;

	pthread_mutex_lock(&card->pool->lock);
	closing = card->pool->closing;
	pthread_mutex_unlock(&card->pool->lock);
	return closing;
}

/* Returns what serving a slot came to that was lent; waits for it. */
static int take_back(struct pool_card *card, struct pool_slot *slot)
{
	if (!slot->lent)
		return 0;
	crew_finish(card->pool->crew, &slot->job);
	slot->lent = false;
	return slot->result;
}

static void take_all_back(struct pool_card *card)
{
	for (unsigned int i = 0; i < card->pool->depth; i++)
		take_back(card, &card->slots[i]);
}

/* ---- The program on the card ---- */

static void unload(struct pool_card *card)
{
	take_all_back(card);
	for (unsigned int i = 0; i < card->pool->depth; i++)
		vtadev_queue_destroy(card->slots[i].queue);
	/* The first has the others' weights. */
	for (unsigned int i = card->pool->depth; i > 0; i--)
		vtaprog_free(card->slots[i - 1].prog);
	for (unsigned int i = 0; i < card->pool->depth; i++) {
		card->slots[i].queue = NULL;
		card->slots[i].prog = NULL;
		card->slots[i].running = false;
	}
	vtadev_close(card->dev);
	card->dev = NULL;
	/* Of the signals of queues at their end. */
	pool_calm(card->wake);
}

static int load_slot(struct pool_card *card, unsigned int i, char why[VTAPROG_WHY_MAX])
{
	struct vtadev_pool *pool = card->pool;
	struct pool_slot *slot = &card->slots[i];
	const struct vtadev_queue_opts opts = {
		.ring_entries = vtaprog_ring(card->dev, &pool->image), .spin_ns = -1,
	};
	int err;

	err = vtadev_queue_create(card->dev, &opts, &slot->queue);
	if (!err)
		err = vtadev_queue_eventfd(slot->queue, card->wake);
	if (err) {
		snprintf(why, VTAPROG_WHY_MAX, "making a queue: %s", vtadev_strerror(err));
		return err;
	}
	if (!i)
		return vtaprog_load(card->dev, slot->queue, &pool->image, &slot->prog, why);
	return vtaprog_twin(card->dev, slot->queue, card->slots[0].prog, &pool->image, &slot->prog,
			    why);
}

/* By its slot, once that is known: another card there may get another number. */
static const char *where(const struct pool_card *card)
{
	return *card->pci ? card->pci : card->name;
}

/*
 * The crew is all cards'; its threads are beside those of cards, which wait most of the time. To
 * create threads may take long, so it has a lock that only cards take which are being loaded.
 */
static bool has_crew(struct vtadev_pool *pool)
{
	unsigned int threads = crew_processors();
	bool has;

	pthread_mutex_lock(&pool->crew_lock);
	if (!pool->crew && threads > 1)
		(void)crew_new(threads + 1, &pool->crew);
	has = crew_threads(pool->crew) > 1;
	pthread_mutex_unlock(&pool->crew_lock);
	return has;
}

static int load_card(struct pool_card *card, char why[VTADEV_OPEN_TEXT_MAX])
{
	int err = vtadev_open(where(card), &card->dev);

	if (err) {
		card->dev = NULL;
		vtadev_open_text(where(card), why, VTADEV_OPEN_TEXT_MAX);
		return err;
	}
	for (unsigned int i = 0; i < card->pool->depth && !err; i++)
		err = load_slot(card, i, why);
	if (err)
		unload(card);
	else
		card->lends = card->pool->depth > 1 && threads_pay(card->slots[0].prog) &&
			      has_crew(card->pool);
	return err;
}

static void set_reason(struct pool_card *card, const char *why)
{
	snprintf(card->stats.why, sizeof(card->stats.why), "%s: %s", card->stats.name, why);
}

/* Take the card in, or note why not. */
static int join_pool(struct pool_card *card)
{
	char why[VTADEV_OPEN_TEXT_MAX] = "";
	struct vtadev_pool *pool = card->pool;
	const struct vtadev_info *info = NULL;
	int err = load_card(card, why);

	if (!err) {
		info = vtadev_info(card->dev);
		snprintf(card->pci, sizeof(card->pci), "%s", info->card.pci);
	}
	pthread_mutex_lock(&pool->lock);
	card->tried = true;
	card->stats.error = err;
	card->stats.up = !err;
	if (err) {
		set_reason(card, why);
	} else {
		card->stats.why[0] = '\0';
		card->answered = false;
		card->stats.joins++;
		card->stats.clock_khz = info->clock_khz;
		card->node = info->card.index;
		pool->up++;
	}
	pool_dispatch(pool);
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return err;
}

/* ---- Losing it ---- */

/* A run was lost: its request runs again elsewhere, unless it has lost too many. */
static void give_back(struct pool_card *card, struct pool_entry *entry)
{
	card->stats.given_back++;
	entry->slot = NULL;
	if (++entry->completion.lost >= card->pool->tries)
		caller_complete(entry, -ENODEV);
	else
		pool_pend(card->pool, entry);
}

/* With the lock held: the slot has no request any more. */
static struct pool_entry *leave_slot(struct pool_card *card, struct pool_slot *slot)
{
	struct pool_entry *entry = slot->entry;

	slot->entry = NULL;
	card->stats.in_hand--;
	return entry;
}

/* With the lock held. */
static void give_all_back(struct pool_card *card)
{
	struct pool_entry *entry;

	for (unsigned int i = 0; i < card->pool->depth; i++) {
		entry = card->slots[i].entry;
		card->slots[i].entry = NULL;
		if (entry)
			give_back(card, entry);
	}
	while ((entry = TAILQ_FIRST(&card->given))) {
		TAILQ_REMOVE(&card->given, entry, link);
		entry->card = NULL;	/* It did not run here. */
		pool_pend(card->pool, entry);
	}
	card->stats.in_hand = 0;
}

static void grow_delay(struct pool_card *card)
{
	card->delay_ms = card->delay_ms ? 2 * card->delay_ms : DELAY_LEAST_MS;
	if (card->delay_ms > DELAY_MOST_MS)
		card->delay_ms = DELAY_MOST_MS;
}

/* The requests first: finding out why may take seconds. */
static void lose_card(struct pool_card *card, int err)
{
	struct vtadev_pool *pool = card->pool;
	char why[VTADEV_LOST_TEXT_MAX];
	struct vtadev_lost lost;
	bool answered;

	take_all_back(card);
	pthread_mutex_lock(&pool->lock);
	card->stats.up = false;
	card->stats.error = err;
	card->stats.losses++;
	set_reason(card, vtadev_strerror(err));
	if (!--pool->up)
		pool->down_since = clock_ns();
	give_all_back(card);
	answered = card->answered;
	pool_dispatch(pool);
	pthread_mutex_unlock(&pool->lock);

	if (err == -ENODEV && !vtadev_lost(card->dev, &lost)) {
		vtadev_lost_text(&lost, why, sizeof(why));
		pthread_mutex_lock(&pool->lock);
		set_reason(card, why);
		pthread_mutex_unlock(&pool->lock);
	}
	unload(card);
	if (answered)
		card->delay_ms = 0;
	else
		grow_delay(card);
}

/* Until it is worth trying to open the card: an event, a while, or requests to be ended. */
static void pause_before(struct pool_card *card, struct pool_watch *watch)
{
	struct pollfd fds[2] = {
		{ .fd = card->wake, .events = POLLIN }, { .fd = watch->fd, .events = POLLIN },
	};
	int ms = card->delay_ms;
	int64_t patience;

	pthread_mutex_lock(&card->pool->lock);
	patience = pool_patience(card->pool);
	pthread_mutex_unlock(&card->pool->lock);
	if (patience > 0 && patience / NS_PER_MS < ms)
		ms = (int)(patience / NS_PER_MS) + 1;
	poll(fds, 2, ms);
	pool_calm(card->wake);
	pool_watch_drain(watch);
}

static void come_back(struct pool_card *card)
{
	struct pool_watch watch;

	/* Before the first attempt: an event after it is not missed. */
	pool_watch_open(&watch);
	while (!is_closing(card)) {
		pause_before(card, &watch);
		if (is_closing(card) || !join_pool(card))
			break;
		grow_delay(card);
	}
	pool_watch_close(&watch);
}

/* ---- Running ---- */

static void put_inputs(struct vtadev_pool *pool, struct pool_slot *slot, const struct iovec *io)
{
	for (unsigned int i = 0; i < pool->input_count; i++)
		vtaprog_put(slot->prog, pool->numbers[i], io[i].iov_base);
}

/*
 * Outputs to the slot's own memory. Only then is it certain that the card was there to the
 * end: the program's memory shows zeros once a card is lost, and no answer may be made of these.
 */
static int fetch_outputs(struct vtadev_pool *pool, struct pool_slot *slot)
{
	uint8_t *to = slot->outputs;
	int err = vtaprog_check(slot->prog);

	for (unsigned int i = pool->input_count; i < pool->tensor_count && !err; i++) {
		err = vtaprog_get(slot->prog, pool->numbers[i], to);
		to += vtaprog_bytes(&pool->tensors[i]);
	}
	return err;
}

static void copy_outputs(struct vtadev_pool *pool, const uint8_t *from, const struct iovec *io)
{
	for (unsigned int i = pool->input_count; i < pool->tensor_count; i++) {
		memcpy(io[i].iov_base, from, io[i].iov_len);
		from += io[i].iov_len;
	}
}

/* A run has ended well. Returns an error if the card was lost before its outputs were read. */
static int answer(struct pool_card *card, struct pool_slot *slot)
{
	struct vtadev_pool *pool = card->pool;
	struct pool_entry *entry;
	int err = fetch_outputs(pool, slot);

	if (err)
		return err;
	pthread_mutex_lock(&pool->lock);
	card->answered = true;
	entry = slot->entry;
	if (entry)
		entry->state = ENTRY_COPYING;
	pthread_mutex_unlock(&pool->lock);
	if (entry)
		copy_outputs(pool, slot->outputs, entry->io);
	pthread_mutex_lock(&pool->lock);
	leave_slot(card, slot);
	if (entry) {
		card->stats.answers++;
		caller_complete(entry, 0);
	}
	pool_dispatch(pool);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

/* Faults that another card may not have. */
static bool card_failed(enum vta_fault_reason reason)
{
	return reason == VTA_FAULT_DMA || reason == VTA_FAULT_CARD || reason == VTA_FAULT_HANG ||
	       reason == VTA_FAULT_SLEEP;
}

/* The queue has halted. Returns an error if the card is lost. */
static int halted(struct pool_card *card, struct pool_slot *slot)
{
	struct vtadev_pool *pool = card->pool;
	struct vtadev_fault fault;
	struct pool_entry *entry;
	int err = vtadev_fault(slot->queue, &fault);

	if (!err)
		err = vtadev_recover(slot->queue);
	if (err)
		return err;
	pthread_mutex_lock(&pool->lock);
	entry = leave_slot(card, slot);
	if (entry && card_failed(fault.reason)) {
		give_back(card, entry);
	} else if (entry) {
		card->stats.faults++;
		entry->completion.fault = fault;
		caller_complete(entry, -EIO);
	}
	pool_dispatch(pool);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

/* Continue a slot's run as far as possible. Returns an error if the card is lost. */
static int advance(struct pool_card *card, struct pool_slot *slot)
{
	uint64_t completed;
	int err;

	if (!slot->running)
		return vtadev_completed(slot->queue, &completed);
	err = vtaprog_poll(slot->prog);
	if (err == -ETIMEDOUT)
		return 0;
	slot->running = false;
	if (err == -EIO)
		return halted(card, slot);
	return err ? err : answer(card, slot);
}

/* A request that was given to the card, with its inputs copied; false: there is none. */
static bool take_request(struct pool_card *card, struct pool_slot *slot)
{
	struct vtadev_pool *pool = card->pool;
	struct pool_entry *entry;

	pthread_mutex_lock(&pool->lock);
	entry = TAILQ_FIRST(&card->given);
	if (entry) {
		TAILQ_REMOVE(&card->given, entry, link);
		entry->state = ENTRY_COPYING;
		entry->slot = slot;
		slot->entry = entry;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!entry)
		return false;
	put_inputs(pool, slot, entry->io);
	pthread_mutex_lock(&pool->lock);
	entry->state = ENTRY_RUNNING;
	if (entry->caller->closing)
		pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return true;
}

/*
 * End the slot's run if it is done, and begin the next. Returns 1 if that is done already, so
 * that no event will report it, or an error if the card is lost.
 */
static int serve_slot(struct pool_card *card, struct pool_slot *slot)
{
	int err = advance(card, slot);

	if (err || slot->running || !take_request(card, slot))
		return err;
	err = vtaprog_begin(slot->prog);
	slot->running = !err;
	if (err == -EIO)
		err = halted(card, slot);
	else if (!err)
		err = advance(card, slot);
	return err ? err : !slot->running;
}

/* ---- Lending slots ---- */

static void run_lent(void *arg, unsigned int i)
{
	struct pool_slot *slot = arg;

	(void)i;
	slot->result = serve_slot(slot->card, slot);
	atomic_store(&slot->served, true);
	pool_wake(slot->card->wake);
}

static void lend_slot(struct pool_card *card, struct pool_slot *slot)
{
	slot->job = (struct crew_job){ .run = run_lent, .arg = slot, .n = 1 };
	atomic_store(&slot->served, false);
	slot->lent = true;
	crew_append(card->pool->crew, &slot->job);
}

static bool has_request(struct pool_card *card)
{
	bool has;

	pthread_mutex_lock(&card->pool->lock);
	has = !TAILQ_EMPTY(&card->given);
	pthread_mutex_unlock(&card->pool->lock);
	return has;
}

/* As serve_slot(), but what takes long is left to the crew, which wakes this thread at its end. */
static int serve_lending(struct pool_card *card, struct pool_slot *slot)
{
	int err;

	if (slot->lent) {
		if (!atomic_load(&slot->served))
			return 0;
		err = take_back(card, slot);
		if (err)
			return err;
	}
	if (slot->running ? prog_ready(slot->prog) : has_request(card)) {
		lend_slot(card, slot);
		return 0;
	}
	return slot->running ? 0 : advance(card, slot);
}

/* Milliseconds until runs must be checked without an event, or -1. */
static int check_after(const struct pool_card *card)
{
	for (unsigned int i = 0; i < card->pool->depth; i++)
		if (card->slots[i].lent || card->slots[i].running)
			return ARM_AGAIN_MS;
	return -1;
}

/* All slots in turn, for as long as runs of any of them end at once. */
static void serve(struct pool_card *card)
{
	struct pollfd fd = { .fd = card->wake, .events = POLLIN };
	int ret;

	poll(&fd, 1, check_after(card));
	pool_calm(card->wake);
	do {
		bool again = false;

		ret = 0;
		for (unsigned int i = 0; i < card->pool->depth && ret >= 0; i++) {
			struct pool_slot *slot = &card->slots[i];

			ret = card->lends ? serve_lending(card, slot) : serve_slot(card, slot);
			again |= ret > 0;
		}
		ret = ret < 0 ? ret : again;
	} while (ret > 0);
	if (ret)
		lose_card(card, ret);
}

void *pool_card_main(void *arg)
{
	struct pool_card *card = arg;

	while (!is_closing(card)) {
		if (card->dev)
			serve(card);
		else
			come_back(card);
	}
	if (card->dev)
		unload(card);
	return NULL;
}
