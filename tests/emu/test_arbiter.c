// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice between groups and queues (docs/hardware.md, section 6, "Scheduling"),
 * by its numbers: against the steps as they are written there, and the bounds that
 * the document promises.
 */
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "model/arbiter.h"

#define Q	((int64_t)VTA_GROUP_QUANTUM_NS)
#define MS	INT64_C(1000000)

static unsigned int none(const void *priv, unsigned int queue)
{
	(void)priv;
	(void)queue;
	return 0;
}

static unsigned int from_array(const void *priv, unsigned int queue)
{
	return ((const unsigned int *)priv)[queue];
}

/* ---- The document's steps, one by one ---- */

struct model {
	unsigned int count, turn;
	int64_t credit[VTA_CONTEXTS_MAX];
	unsigned int weight[VTA_CONTEXTS_MAX];
	bool ready[VTA_CONTEXTS_MAX];
};

static int64_t capped(const struct model *m, unsigned int g, int64_t credit)
{
	return !m->ready[g] && credit > 0 ? 0 : credit;
}

static int model_choose(struct model *m)
{
	bool any = false;

	for (unsigned int i = 0; i < m->count; i++)
		any |= m->ready[i];
	if (!any)
		return -1;
	if (m->ready[m->turn] && m->credit[m->turn] > 0)
		return (int)m->turn;
	m->credit[m->turn] = capped(m, m->turn, m->credit[m->turn]);
	for (;;) {
		m->turn = (m->turn + 1) % m->count;
		m->credit[m->turn] = capped(m, m->turn,
					    m->credit[m->turn] + Q * m->weight[m->turn]);
		if (m->ready[m->turn] && m->credit[m->turn] > 0)
			return (int)m->turn;
	}
}

static void model_idle(struct model *m, uint64_t ns)
{
	for (uint64_t round = 0; round < ns / (uint64_t)Q; round++)
		for (unsigned int i = 0; i < m->count; i++)
			m->credit[i] = capped(m, i, m->credit[i] + Q * m->weight[i]);
}

static void assert_same(const struct model *m, const struct arbiter *a)
{
	for (unsigned int i = 0; i < m->count; i++)
		assert_true(m->credit[i] == a->groups[i].credit);
}

/* Group i has queue i. */
static void set_ready(struct model *m, struct arbiter *a, unsigned int i, bool ready)
{
	m->ready[i] = ready;
	if (ready)
		arbiter_add(a, i, i);
	else
		arbiter_del(a, i, i);
}

TEST(as_the_steps_say)
{
	static struct arbiter a;
	static struct model m;

	srand(1);
	for (unsigned int run = 0; run < 200; run++) {
		m = (struct model) { .count = 1 + (unsigned int)rand() % 9 };
		arbiter_reset(&a, m.count);
		for (unsigned int i = 0; i < m.count; i++) {
			m.weight[i] = 1 + (unsigned int)rand() % (run % 2 ? 1 : 255);
			arbiter_set_weight(&a, i, m.weight[i]);
		}
		for (unsigned int step = 0; step < 300; step++) {
			int want, got;
			uint64_t ns = (uint64_t)rand() % (1u << rand() % 29);

			for (unsigned int i = 0; i < m.count; i++)
				if (rand() % 3)
					set_ready(&m, &a, i, rand() % 2);
			want = model_choose(&m);
			got = arbiter_choose(&a);
			assert_int_equal(got, want);
			if (want < 0) {
				model_idle(&m, ns);
				assert_int_equal(arbiter_idle(&a, ns), ns % (uint64_t)Q);
			} else {
				assert_int_equal(arbiter_take(&a, (unsigned int)want, none, NULL),
						 want);
				m.ready[want] = false;
				m.credit[want] -= (int64_t)ns;
				arbiter_charge(&a, (unsigned int)got, ns);
			}
			assert_same(&m, &a);
		}
	}
}

/* ---- What follows ---- */

/* Serves n descriptors, of ns[g] each; counts them, and what each group got. */
static void serve(struct arbiter *a, unsigned int n, const int64_t *ns, int64_t *got)
{
	while (n--) {
		int g = arbiter_choose(a);

		assert_in_range(g, 0, a->count - 1);
		arbiter_take(a, (unsigned int)g, none, NULL);
		arbiter_charge(a, (unsigned int)g, (uint64_t)ns[g]);
		arbiter_add(a, (unsigned int)g, (unsigned int)g);
		got[g] += ns[g];
	}
}

TEST(time_is_shared_and_not_descriptors)
{
	const int64_t ns[2] = { MS / 50, 20 * MS };
	int64_t got[2] = { 0 };
	struct arbiter a;

	arbiter_reset(&a, 2);
	arbiter_add(&a, 0, 0);
	arbiter_add(&a, 1, 1);
	for (unsigned int i = 0; i < 20000; i++) {
		serve(&a, 1, ns, got);
		assert_in_range(llabs(got[0] - got[1]), 0, Q + 20 * MS);
	}
	assert_true(got[0] > 100 * MS && got[1] > 100 * MS);
}

TEST(weights_are_shares)
{
	const int64_t ns[3] = { MS, MS, MS };
	int64_t got[3] = { 0 };
	struct arbiter a;

	arbiter_reset(&a, 3);
	arbiter_set_weight(&a, 1, 3);
	arbiter_set_weight(&a, 2, 255);
	for (unsigned int i = 0; i < 3; i++)
		arbiter_add(&a, i, i);
	serve(&a, 259 * 100, ns, got);
	assert_in_range(llabs(got[1] - 3 * got[0]), 0, 3 * 3 * (Q + MS));
	assert_in_range(llabs(got[2] - 255 * got[0]), 0, 2 * 255 * (Q + MS));
}

/* However long nothing was asked for, the first turn is one quantum. */
TEST(an_idle_group_saves_nothing)
{
	const int64_t ns[2] = { MS, MS };
	int64_t got[2] = { 0 };
	struct arbiter a;

	arbiter_reset(&a, 2);
	arbiter_add(&a, 0, 0);
	serve(&a, 100000, ns, got);
	assert_int_equal(got[1], 0);
	arbiter_del(&a, 0, 0);
	/* Its time advances when there is something to choose from again. */
	arbiter_add(&a, 0, 0);
	arbiter_add(&a, 1, 1);
	arbiter_idle(&a, UINT64_MAX / 2);
	got[0] = 0;
	serve(&a, 10, ns, got);
	assert_true(got[1] <= 6 * MS && got[0] >= 4 * MS);
}

/* Debts are paid by rounds, of others or of time, and by nothing else. */
TEST(debts_are_paid)
{
	const int64_t ns[2] = { MS, MS };
	int64_t got[2] = { 0 };
	struct arbiter a;

	arbiter_reset(&a, 2);
	arbiter_add(&a, 1, 1);
	assert_int_equal(arbiter_choose(&a), 1);
	arbiter_take(&a, 1, none, NULL);
	arbiter_charge(&a, 1, 100 * MS);
	assert_true(a.groups[1].credit == Q - 100 * MS);
	/* Less than a round of idle time is none. */
	assert_int_equal(arbiter_idle(&a, (uint64_t)Q - 1), Q - 1);
	assert_true(a.groups[1].credit == Q - 100 * MS);
	arbiter_idle(&a, 50 * (uint64_t)Q);
	assert_true(a.groups[1].credit == 51 * Q - 100 * MS);
	/* The rest is the other's. */
	arbiter_add(&a, 0, 0);
	arbiter_add(&a, 1, 1);
	while (!got[1])
		serve(&a, 1, ns, got);
	assert_in_range(got[0], 100 * MS - 52 * Q, 100 * MS - 49 * Q);
}

/* A reset of the weight is one of the credit: the group is another user's. */
TEST(a_weight_begins_anew)
{
	struct arbiter a;

	arbiter_reset(&a, 2);
	arbiter_charge(&a, 1, UINT64_MAX);
	assert_true(a.groups[1].credit == ARBITER_CREDIT_MIN);
	arbiter_charge(&a, 1, 1);
	assert_true(a.groups[1].credit == ARBITER_CREDIT_MIN);
	arbiter_set_weight(&a, 1, 1);
	assert_true(a.groups[1].credit == 0);
}

/* One that comes back owing nothing waits for one turn of each other at most. */
TEST(waits_for_one_turn_of_each)
{
	enum { GROUPS = 20 };
	static struct arbiter a;
	const int64_t longest = 1000 * MS;

	srand(2);
	for (unsigned int run = 0; run < 300; run++) {
		int64_t waited = 0;

		arbiter_reset(&a, GROUPS + 1);
		for (unsigned int i = 0; i < GROUPS; i++)
			arbiter_add(&a, i, i);
		for (unsigned int n = (unsigned int)rand() % 200; ; n -= !!n) {
			int g = arbiter_choose(&a);
			int64_t ns = rand() % 2 ? longest : rand() % 1000000;

			/* In the midst of this one, it comes. */
			if (!n)
				arbiter_add(&a, GROUPS, GROUPS);
			if (g == GROUPS)
				break;
			arbiter_take(&a, (unsigned int)g, none, NULL);
			arbiter_charge(&a, (unsigned int)g, (uint64_t)ns);
			arbiter_add(&a, (unsigned int)g, (unsigned int)g);
			waited += n ? 0 : ns;
		}
		assert_in_range(waited, 0, GROUPS * (longest + Q));
	}
}

/* ---- Within a group ---- */

TEST(rounds_of_priorities)
{
	const unsigned int priorities[8] = { [2] = 1, [5] = 3 };
	const char *want = "02255555555702255555555702255555555";
	char order[64] = "";
	struct arbiter a;

	arbiter_reset(&a, 4);
	for (unsigned int i = 0; i < strlen(want); i++) {
		static const unsigned int queues[] = { 0, 2, 5, 7 };

		for (unsigned int k = 0; k < 4; k++)
			arbiter_add(&a, 3, queues[k]);
		assert_int_equal(arbiter_choose(&a), 3);
		order[i] = (char)('0' + arbiter_take(&a, 3, from_array, priorities));
	}
	assert_string_equal(order, want);
}

/* Each group continues where it was. */
TEST(rounds_are_the_groups_own)
{
	char order[32] = "";
	struct arbiter a;

	arbiter_reset(&a, 2);
	for (unsigned int i = 0; i < 12; i++) {
		for (unsigned int q = 0; q < 6; q++)
			arbiter_add(&a, q / 3, q);
		arbiter_choose(&a);
		order[i] = (char)('0' + arbiter_take(&a, a.turn, none, NULL));
		/* A turn is one descriptor. */
		arbiter_charge(&a, a.turn, (uint64_t)Q);
	}
	assert_string_equal(order, "304152304152");
}
