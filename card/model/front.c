// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end: goes round the queues that were kicked, one descriptor each.
 * It alone executes SIGNAL and WAIT, so that no SIGNAL can fall between a WAIT's
 * check and its being held.
 */
#include "model.h"

void front_wake(struct card *card)
{
	if (!card->front_awake) {
		card->front_awake = true;
		clock_hold(&card->clock);
	}
	pthread_cond_signal(&card->front_wake);
}

static void front_sleep(struct card *card)
{
	if (card->front_awake) {
		card->front_awake = false;
		card_release_clock(card);
	}
	pthread_cond_wait(&card->front_wake, &card->lock);
}

void front_kick(struct card *card, struct queue *q)
{
	queue_set_add(&card->kicked, q->index);
	front_wake(card);
}

static void wake_waiting(struct card *card)
{
	for (unsigned int i = 0; i < card->config.queues; i++) {
		struct queue *q = &card->queues[i];

		if (q->phase == CARD_PHASE_WAITING) {
			q->check = true;
			if (queue_wants_front(card, q))
				front_kick(card, q);
		}
	}
}

static struct outcome do_signal(struct card *card, struct queue *q)
{
	const struct mmu_port port = card_port(card, q);
	struct outcome outcome = OUTCOME_OK;

	pthread_mutex_unlock(&card->lock);
	outcome.ret = mmu_write64(&port, q->desc.sync.addr, q->desc.sync.value, &outcome.addr);
	outcome.access = VTA_ACCESS_SIGNAL;
	pthread_mutex_lock(&card->lock);
	if (!outcome.ret)
		wake_waiting(card);
	return outcome;
}

/* True when the WAIT is over. */
static bool do_wait(struct card *card, struct queue *q, struct outcome *outcome)
{
	const struct mmu_port port = card_port(card, q);
	uint64_t val;

	q->check = false;
	pthread_mutex_unlock(&card->lock);
	outcome->ret = mmu_read64(&port, q->desc.sync.addr, &val, &outcome->addr);
	outcome->access = VTA_ACCESS_WAIT;
	pthread_mutex_lock(&card->lock);
	return outcome->ret || val >= q->desc.sync.value;
}

static void execute_desc(struct card *card, struct queue *q)
{
	struct outcome outcome = OUTCOME_OK;

	if (q->phase == CARD_PHASE_READY)
		queue_begin(card, q);
	q->phase = CARD_PHASE_EXECUTING;
	card->front_queue = q;
	switch (vta_desc_op(&q->desc)) {
	case VTA_OP_SIGNAL:
		outcome = do_signal(card, q);
		break;
	case VTA_OP_WAIT:
		q->held = !do_wait(card, q, &outcome);
		if (q->held) {
			q->phase = CARD_PHASE_WAITING;
			card->front_queue = NULL;
			return;
		}
		break;
	default:
		break;
	}
	queue_finish(card, q, &outcome);
	card->front_queue = NULL;
}

/* The front end can execute the descriptor in hand. */
static bool executable(const struct card *card, const struct queue *q)
{
	if (!queue_live(q))
		return false;
	if (q->phase == CARD_PHASE_WAITING)
		return q->check && !card->fatal;
	return q->phase == CARD_PHASE_READY && q->unit == VTA_UNIT_FRONT && card_serving(card);
}

static void serve_queue(struct card *card, struct queue *q)
{
	queue_own(q);
	queue_settle(card, q);
	queue_fetch(card, q);
	if (executable(card, q))
		execute_desc(card, q);
	queue_release(card, q);
}

/* True if a fault is injected that stops the front end. */
static bool front_hangs(const struct card *card)
{
	return card->stuck || inject_on(&card->inject, INJECT_HANG_ALL) ||
	       inject_on(&card->inject, INJECT_HANG_FRONT);
}

void *front_main(void *arg)
{
	struct card *card = arg;

	pthread_mutex_lock(&card->lock);
	while (!card->exiting) {
		int n;

		if (atomic_load(&card->resetting) && !card->stuck) {
			card_finish_reset(card);
			continue;
		}
		n = front_hangs(card) ? -1 : queue_set_next(&card->kicked, card->front_last);
		if (n < 0) {
			front_sleep(card);
			continue;
		}
		queue_set_del(&card->kicked, n);
		card->front_last = n;
		if (queue_wants_front(card, &card->queues[n]))
			serve_queue(card, &card->queues[n]);
	}
	pthread_mutex_unlock(&card->lock);
	return NULL;
}
