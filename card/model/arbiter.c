// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deficit round robin over groups, and then over the queues of a group.
 */
#include "arbiter.h"

void arbiter_reset(struct arbiter *arbiter, unsigned int groups)
{
	*arbiter = (struct arbiter) { .count = groups };
	for (unsigned int i = 0; i < groups; i++) {
		arbiter->groups[i].weight = 1;
		arbiter->groups[i].turn = VTA_QUEUES_MAX - 1;
	}
}

void arbiter_set_weight(struct arbiter *arbiter, unsigned int group, unsigned int weight)
{
	arbiter->groups[group].weight = weight;
	arbiter->groups[group].credit = 0;
}

void arbiter_add(struct arbiter *arbiter, unsigned int group, unsigned int queue)
{
	queue_set_add(&arbiter->groups[group].ready, queue);
	queue_set_add(&arbiter->ready, group);
}

void arbiter_del(struct arbiter *arbiter, unsigned int group, unsigned int queue)
{
	queue_set_del(&arbiter->groups[group].ready, queue);
	if (queue_set_empty(&arbiter->groups[group].ready))
		queue_set_del(&arbiter->ready, group);
}

static int64_t quantum_of(const struct arbiter_group *group)
{
	return (int64_t)group->weight * VTA_GROUP_QUANTUM_NS;
}

static void drop_rest(struct arbiter_group *group)
{
	if (group->credit > 0)
		group->credit = 0;
}

/* The round comes to a group so often. */
static void visit_group(struct arbiter *arbiter, unsigned int n, int64_t times)
{
	struct arbiter_group *group = &arbiter->groups[n];

	group->credit += times * quantum_of(group);
	if (!queue_set_has(&arbiter->ready, n))
		drop_rest(group);
}

static void visit_all(struct arbiter *arbiter, int64_t times)
{
	for (unsigned int i = 0; times && i < arbiter->count; i++)
		visit_group(arbiter, i, times);
}

/* In so many rounds from now on, none would be chosen. */
static int64_t vain_rounds(const struct arbiter *arbiter)
{
	int64_t least = INT64_MAX;

	for (unsigned int i = 0; i < arbiter->count; i++) {
		const struct arbiter_group *group = &arbiter->groups[i];
		int64_t rounds = group->credit > 0 ? 0 : -group->credit / quantum_of(group);

		if (queue_set_has(&arbiter->ready, i) && rounds < least)
			least = rounds;
	}
	return least;
}

static bool served(const struct arbiter *arbiter)
{
	return queue_set_has(&arbiter->ready, arbiter->turn) &&
	       arbiter->groups[arbiter->turn].credit > 0;
}

int arbiter_choose(struct arbiter *arbiter)
{
	if (queue_set_empty(&arbiter->ready))
		return -1;
	if (served(arbiter))
		return (int)arbiter->turn;
	if (!queue_set_has(&arbiter->ready, arbiter->turn))
		drop_rest(&arbiter->groups[arbiter->turn]);
	visit_all(arbiter, vain_rounds(arbiter));
	do {
		arbiter->turn = (arbiter->turn + 1) % arbiter->count;
		visit_group(arbiter, arbiter->turn, 1);
	} while (!served(arbiter));
	return (int)arbiter->turn;
}

unsigned int arbiter_take(struct arbiter *arbiter, unsigned int n,
			  unsigned int (*priority)(const void *priv, unsigned int queue),
			  const void *priv)
{
	struct arbiter_group *group = &arbiter->groups[n];

	if (!group->left || !queue_set_has(&group->ready, group->turn)) {
		group->turn = (unsigned int)queue_set_next(&group->ready, group->turn);
		group->left = 1u << priority(priv, group->turn);
	}
	group->left--;
	arbiter_del(arbiter, n, group->turn);
	return group->turn;
}

void arbiter_charge(struct arbiter *arbiter, unsigned int n, uint64_t ns)
{
	struct arbiter_group *group = &arbiter->groups[n];
	const uint64_t most = (uint64_t)(group->credit - ARBITER_CREDIT_MIN);

	group->credit -= (int64_t)(ns < most ? ns : most);
}

uint64_t arbiter_idle(struct arbiter *arbiter, uint64_t ns)
{
	/* After so many, none owes anything. */
	const uint64_t enough = -ARBITER_CREDIT_MIN / VTA_GROUP_QUANTUM_NS;
	uint64_t rounds = ns / VTA_GROUP_QUANTUM_NS;

	for (unsigned int i = 0; rounds && i < arbiter->count; i++) {
		/* A queue that has become ready meanwhile was not ready all the time. */
		visit_group(arbiter, i, (int64_t)(rounds < enough ? rounds : enough));
		drop_rest(&arbiter->groups[i]);
	}
	return ns % VTA_GROUP_QUANTUM_NS;
}
