// SPDX-License-Identifier: Apache-2.0
/*
 * pool.c - one program on several cards: opening, closing, and which card has what
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fd.h"
#include "pool.h"

void pool_wake(int event)
{
	const uint64_t one = 1;

	/* It fails if 2^64 wake-ups have not been read: one more changes nothing. */
	(void)!write(event, &one, sizeof(one));
}

void pool_calm(int event)
{
	uint64_t count;

	(void)!read(event, &count, sizeof(count));
}

/* ---- Which card has what ---- */

void pool_pend(struct vtadev_pool *pool, struct pool_entry *entry)
{
	struct pool_entry *other;

	entry->state = ENTRY_PENDING;
	/* A new one is the last; those that come back are older than nearly all. */
	other = TAILQ_LAST(&pool->pending, pool_entries);
	if (!other || other->number < entry->number) {
		TAILQ_INSERT_TAIL(&pool->pending, entry, link);
		return;
	}
	TAILQ_FOREACH(other, &pool->pending, link)
		if (other->number > entry->number)
			break;
	TAILQ_INSERT_BEFORE(other, entry, link);
}

/* Returns true if @a would complete a request earlier: all take the same number of cycles. */
static bool earlier(const struct pool_card *a, const struct pool_card *b)
{
	uint64_t on_a = (a->stats.in_hand + 1ull) * b->stats.clock_khz;
	uint64_t on_b = (b->stats.in_hand + 1ull) * a->stats.clock_khz;

	return on_a != on_b ? on_a < on_b :
	       a->stats.answers + a->stats.in_hand < b->stats.answers + b->stats.in_hand;
}

/* The card that would complete a request first, if it has room; not the card that lost it. */
static struct pool_card *best_card(struct vtadev_pool *pool, const struct pool_entry *entry)
{
	const struct pool_card *avoid = pool->up > 1 ? entry->card : NULL;
	struct pool_card *best = NULL;

	for (unsigned int i = 0; i < pool->card_count; i++) {
		struct pool_card *card = &pool->cards[i];

		if (card->stats.up && card != avoid && (!best || earlier(card, best)))
			best = card;
	}
	return best && best->stats.in_hand < pool->depth ? best : NULL;
}

static void give_to_card(struct pool_card *card, struct pool_entry *entry)
{
	entry->state = ENTRY_GIVEN;
	entry->card = card;
	TAILQ_INSERT_TAIL(&card->given, entry, link);
	card->stats.in_hand++;
	pool_wake(card->wake);
}

int64_t pool_patience(const struct vtadev_pool *pool)
{
	int64_t left;

	if (pool->up || pool->away_ns < 0)
		return -1;
	left = pool->away_ns - (clock_ns() - pool->down_since);
	return left > 0 ? left : 0;
}

static void end_pending(struct vtadev_pool *pool)
{
	struct pool_entry *entry;

	while ((entry = TAILQ_FIRST(&pool->pending))) {
		TAILQ_REMOVE(&pool->pending, entry, link);
		caller_complete(entry, -ENODEV);
	}
}

void pool_dispatch(struct vtadev_pool *pool)
{
	struct pool_entry *entry, *next;

	if (!pool_patience(pool)) {
		end_pending(pool);
		return;
	}
	for (entry = TAILQ_FIRST(&pool->pending); entry; entry = next) {
		struct pool_card *card = best_card(pool, entry);

		next = TAILQ_NEXT(entry, link);
		if (card) {
			TAILQ_REMOVE(&pool->pending, entry, link);
			give_to_card(card, entry);
		} else if (!entry->card) {
			break;	/* There is no room for those behind it either. */
		}
	}
}

/* ---- Opening ---- */

static void tensor_at(struct vtadev_pool *pool, uint32_t number)
{
	vtaimage_tensor(&pool->image, number, &pool->tensors[pool->tensor_count]);
	pool->numbers[pool->tensor_count++] = number;
}

/* Inputs, then outputs. */
static int find_tensors(struct vtadev_pool *pool)
{
	static const enum vtaimage_role roles[] = { VTAIMAGE_INPUT, VTAIMAGE_OUTPUT };
	const struct vtaimage *image = &pool->image;
	struct vtaimage_tensor tensor;

	pool->tensors = calloc(image->tensor_count + 1, sizeof(*pool->tensors));
	pool->numbers = calloc(image->tensor_count + 1, sizeof(*pool->numbers));
	if (!pool->tensors || !pool->numbers)
		return -ENOMEM;
	for (unsigned int r = 0; r < 2; r++) {
		for (uint32_t i = 0; i < image->tensor_count; i++) {
			vtaimage_tensor(image, i, &tensor);
			/* A size stays behind its output. */
			if (tensor.role == roles[r] || (r && tensor.role == VTAIMAGE_SIZE))
				tensor_at(pool, i);
		}
		if (!r)
			pool->input_count = pool->tensor_count;
	}
	for (unsigned int i = pool->input_count; i < pool->tensor_count; i++)
		pool->output_bytes += vtaprog_bytes(&pool->tensors[i]);
	return 0;
}

static int make_slots(struct vtadev_pool *pool, struct pool_card *card)
{
	card->slots = calloc(pool->depth, sizeof(*card->slots));
	card->outputs = calloc(pool->depth, pool->output_bytes + 1);
	if (!card->slots || !card->outputs)
		return -ENOMEM;
	for (unsigned int i = 0; i < pool->depth; i++) {
		card->slots[i].card = card;
		card->slots[i].outputs = card->outputs + i * pool->output_bytes;
	}
	return 0;
}

static int take_image(struct vtadev_pool *pool, const struct vtaimage *image)
{
	pool->image = *image;
	pool->cycles = image->cycles ? image->cycles : 1;
	return find_tensors(pool);
}

static int take_opts(struct vtadev_pool *pool, const struct vtadev_pool_opts *opts)
{
	pool->depth = opts->depth ? opts->depth : VTADEV_POOL_DEPTH_DEFAULT;
	pool->tries = opts->tries ? opts->tries : VTADEV_POOL_TRIES_DEFAULT;
	pool->away_ns = opts->away_ns ? opts->away_ns : VTADEV_POOL_AWAY_NS_DEFAULT;
	if (pool->depth > VTADEV_POOL_DEPTH_MAX || opts->count > VTADEV_POOL_CARDS_MAX ||
	    !opts->cards != !opts->count)
		return -EINVAL;
	return 0;
}

static int make_card(struct vtadev_pool *pool, const char *name)
{
	struct pool_card *card = &pool->cards[pool->card_count];

	if (!name)
		return -EINVAL;
	card->pool = pool;
	card->index = pool->card_count;
	card->node = UINT_MAX;
	card->stats.error = -ENODEV;
	TAILQ_INIT(&card->given);
	snprintf(card->stats.name, sizeof(card->stats.name), "%s", name);
	/* From here on vtadev_pool_close() frees all of it. */
	pool->card_count++;
	card->wake = fd_above_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (card->wake < 0)
		return -errno;
	card->name = strdup(name);
	return card->name ? make_slots(pool, card) : -ENOMEM;
}

/* The device of VTADEV_DEVICE stands for all cards where there are none. */
static int make_device(struct vtadev_pool *pool, char *why)
{
	struct vtadev_card card;

	if (!vtadev_find(NULL, &card) && card.index == UINT_MAX)
		return make_card(pool, card.node);
	vtadev_open_text(NULL, why, VTADEV_POOL_WHY_MAX);
	return -ENOENT;
}

/* All that have a node: in a container sysfs has those of the whole machine. */
static int make_all(struct vtadev_pool *pool, char *why)
{
	struct vtadev_card *cards = NULL;
	int count = vtadev_list(&cards), err = 0;

	if (count < 0 && count != -ENOENT)
		return count;
	pool->cards = calloc(count < 0 ? 1 : (size_t)count + 1, sizeof(*pool->cards));
	if (!pool->cards)
		err = -ENOMEM;
	for (int i = 0; i < count && i < VTADEV_POOL_CARDS_MAX && !err; i++) {
		char name[16];

		snprintf(name, sizeof(name), "vta%u", cards[i].index);
		if (!access(cards[i].node, F_OK))
			err = make_card(pool, name);
	}
	vtadev_list_free(cards);
	return err || pool->card_count ? err : make_device(pool, why);
}

static int make_cards(struct vtadev_pool *pool, const struct vtadev_pool_opts *opts, char *why)
{
	int err = 0;

	if (!opts->cards)
		return make_all(pool, why);
	pool->cards = calloc(opts->count, sizeof(*pool->cards));
	if (!pool->cards)
		return -ENOMEM;
	for (unsigned int i = 0; i < opts->count && !err; i++)
		err = make_card(pool, opts->cards[i]);
	return err;
}

static int start_threads(struct vtadev_pool *pool)
{
	int err = 0;

	for (unsigned int i = 0; i < pool->card_count && !err; i++) {
		err = thread_create(&pool->cards[i].thread, pool_card_main, &pool->cards[i]);
		pool->threads += !err;
	}
	return -err;
}

static int named_twice(const struct vtadev_pool *pool, char *why)
{
	for (unsigned int i = 0; i < pool->card_count; i++)
		for (unsigned int j = 0; j < i; j++)
			if (pool->cards[i].node != UINT_MAX &&
			    pool->cards[i].node == pool->cards[j].node) {
				snprintf(why, VTADEV_POOL_WHY_MAX, "%s and %s are the same card",
					 pool->cards[j].stats.name, pool->cards[i].stats.name);
				return -EEXIST;
			}
	return 0;
}

/* Until each card has been tried, and one at least is up. */
static int await_cards(struct vtadev_pool *pool, char *why)
{
	const struct vtadev_pool_stats *first = &pool->cards[0].stats;
	int err;

	pthread_mutex_lock(&pool->lock);
	for (unsigned int i = 0; i < pool->card_count; i++)
		while (!pool->cards[i].tried)
			pthread_cond_wait(&pool->changed, &pool->lock);
	err = named_twice(pool, why);
	if (!err && !pool->up) {
		err = first->error;
		snprintf(why, VTADEV_POOL_WHY_MAX, "%s", first->why);
	}
	pthread_mutex_unlock(&pool->lock);
	return err;
}

static struct vtadev_pool *pool_alloc(void)
{
	struct vtadev_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->owner = getpid();
	pool->down_since = clock_ns();
	pthread_mutex_init(&pool->crew_lock, NULL);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	TAILQ_INIT(&pool->pending);
	TAILQ_INIT(&pool->callers);
	return pool;
}

int vtadev_pool_open(const struct vtaimage *image, const struct vtadev_pool_opts *opts,
		     struct vtadev_pool **out, char why[VTADEV_POOL_WHY_MAX])
{
	static const struct vtadev_pool_opts defaults;
	struct vtadev_pool *pool = pool_alloc();
	int err;

	*why = '\0';
	if (!pool) {
		snprintf(why, VTADEV_POOL_WHY_MAX, "%s", vtadev_strerror(-ENOMEM));
		return -ENOMEM;
	}
	if (!opts)
		opts = &defaults;
	err = take_opts(pool, opts);
	if (!err)
		err = take_image(pool, image);
	if (!err)
		err = make_cards(pool, opts, why);
	if (!err)
		err = start_threads(pool);
	if (!err)
		err = await_cards(pool, why);
	if (err) {
		if (!*why)
			snprintf(why, VTADEV_POOL_WHY_MAX, "%s", vtadev_strerror(err));
		vtadev_pool_close(pool);
		return err;
	}
	*out = pool;
	return 0;
}

/* ---- Closing ---- */

static void stop_threads(struct vtadev_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	for (unsigned int i = 0; i < pool->threads; i++)
		pool_wake(pool->cards[i].wake);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned int i = 0; i < pool->threads; i++)
		pthread_join(pool->cards[i].thread, NULL);
}

void vtadev_pool_close(struct vtadev_pool *pool)
{
	struct vtadev_caller *caller;

	if (!pool || pool->owner != getpid())
		return;
	while ((caller = TAILQ_FIRST(&pool->callers)))
		vtadev_caller_close(caller);
	stop_threads(pool);
	for (unsigned int i = 0; i < pool->card_count; i++) {
		if (pool->cards[i].wake >= 0)
			close(pool->cards[i].wake);
		free(pool->cards[i].slots);
		free(pool->cards[i].outputs);
		free(pool->cards[i].name);
	}
	crew_free(pool->crew);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->crew_lock);
	free(pool->cards);
	free(pool->tensors);
	free(pool->numbers);
	free(pool);
}

/* ---- Telling ---- */

int vtadev_pool_tensor(const struct vtadev_pool *pool, unsigned int i,
		       struct vtadev_pool_tensor *tensor)
{
	const struct vtaimage_tensor *t;

	if (i >= pool->tensor_count)
		return -ENOENT;
	t = &pool->tensors[i];
	*tensor = (struct vtadev_pool_tensor){
		.name = t->name, .output = t->role != VTAIMAGE_INPUT, .type = t->type,
		.rank = t->rank, .bytes = vtaprog_bytes(t), .scale = t->scale, .zero = t->zero,
	};
	memcpy(tensor->dims, t->dims, sizeof(tensor->dims));
	return 0;
}

unsigned int vtadev_pool_cards(const struct vtadev_pool *pool)
{
	return pool->card_count;
}

int vtadev_pool_stats(struct vtadev_pool *pool, unsigned int card,
		      struct vtadev_pool_stats *stats)
{
	if (pool->owner != getpid())
		return -ECHILD;
	if (card >= pool->card_count)
		return -ENOENT;
	pthread_mutex_lock(&pool->lock);
	*stats = pool->cards[card].stats;
	pthread_mutex_unlock(&pool->lock);
	stats->cycles = stats->answers * pool->cycles;
	stats->cycles_in_hand = stats->in_hand * pool->cycles;
	return 0;
}
