// SPDX-License-Identifier: GPL-2.0-only
/*
 * metrics_users.c - metrics of users: their resources and work
 *
 * Engine time is a metric of each open file: a sum over a user's files would fall when
 * a file is closed, and Prometheus would read that as a counter that restarted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ctl.h"
#include "holders.h"
#include "metrics.h"

/* All open files of a user at one card. */
struct tally {
	const struct holder *first;	/* has the card and the user */
	uint64_t contexts, queues;
	uint64_t card, host, pinned, imported;
};

static int by_card_and_user(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->card != y->card)
		return x->card > y->card ? 1 : -1;
	if (x->uid != y->uid)
		return x->uid > y->uid ? 1 : -1;
	return (x->client > y->client) - (x->client < y->client);
}

static void add_holder(struct tally *t, const struct holder *h)
{
	t->contexts++;
	t->queues += h->nr_queues;
	t->card += h->card_bytes;
	t->host += h->host_bytes;
	t->pinned += h->pinned_bytes;
	t->imported += h->imported_bytes;
}

/* @holders are in the order of by_card_and_user(). Returns how many. */
static size_t tally(const struct holder *holders, size_t count, struct tally *tallies)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		const struct holder *h = &holders[i];

		if (!i || h->card != h[-1].card || h->uid != h[-1].uid)
			tallies[found++] = (struct tally) { .first = h };
		add_holder(&tallies[found - 1], h);
	}
	return found;
}

/* Numbers as labels have them. */
struct names {
	char card[16], uid[16], client[32];
};

static struct names names_of(const struct holder *h)
{
	struct names n;

	snprintf(n.card, sizeof(n.card), "vta%u", h->card);
	snprintf(n.uid, sizeof(n.uid), "%u", h->uid);
	snprintf(n.client, sizeof(n.client), "%" PRIu64, h->client);
	return n;
}

static void print_value(FILE *file, const char *name, const struct holder *h, uint64_t value,
			const char *kind)
{
	const struct names n = names_of(h);
	const struct prom_label labels[] = {
		{ "card", n.card }, { "uid", n.uid }, { "user", h->user },
		{ kind ? "kind" : NULL, kind }, { NULL, NULL },
	};
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	prom_sample(file, name, text, labels);
}

static void put_tallies(FILE *file, const struct tally *tallies, size_t count)
{
	prom_metric(file, "vta_user_contexts", "gauge", "Files of the card that a user has open.");
	for (size_t i = 0; i < count; i++)
		print_value(file, "vta_user_contexts", tallies[i].first, tallies[i].contexts, NULL);
	prom_metric(file, "vta_user_queues", "gauge", "Queues that a user has.");
	for (size_t i = 0; i < count; i++)
		print_value(file, "vta_user_queues", tallies[i].first, tallies[i].queues, NULL);
	prom_metric(file, "vta_user_memory_bytes", "gauge", "Memory that a user has for the card.");
	for (size_t i = 0; i < count; i++) {
		const struct tally *t = &tallies[i];

		print_value(file, "vta_user_memory_bytes", t->first, t->card, "card");
		print_value(file, "vta_user_memory_bytes", t->first, t->host, "host");
		print_value(file, "vta_user_memory_bytes", t->first, t->pinned, "pinned");
		print_value(file, "vta_user_memory_bytes", t->first, t->imported, "imported");
	}
}

static void put_busy(FILE *file, const struct holder *h, const char *engine, uint64_t ns)
{
	const struct names n = names_of(h);
	const struct prom_label labels[] = {
		{ "card", n.card }, { "client", n.client }, { "uid", n.uid }, { "user", h->user },
		{ "engine", engine }, { NULL, NULL },
	};
	char seconds[32];

	prom_sample(file, "vta_client_busy_seconds_total", prom_seconds(ns, seconds), labels);
}

static void put_clients(FILE *file, const struct holder *holders, size_t count)
{
	prom_metric(file, "vta_client_busy_seconds_total", "counter",
		    "Card time in which an engine has worked for an open file.");
	for (size_t i = 0; i < count; i++) {
		if (!holders[i].has_usage)
			continue;
		put_busy(file, &holders[i], "compute", holders[i].compute_ns);
		put_busy(file, &holders[i], "copy", holders[i].copy_ns);
	}
}

int metrics_users(FILE *file)
{
	struct holder *holders = NULL;
	struct tally *tallies;
	int count = holders_find(&holders);

	if (count < 0)
		return ctl_error("looking for users", count);
	tallies = calloc((size_t)count + 1, sizeof(*tallies));
	if (!tallies) {
		free(holders);
		return ctl_error("looking for users", -ENOMEM);
	}
	if (count)
		qsort(holders, (size_t)count, sizeof(*holders), by_card_and_user);
	put_tallies(file, tallies, tally(holders, (size_t)count, tallies));
	put_clients(file, holders, (size_t)count);
	free(tallies);
	free(holders);
	return CTL_OK;
}
