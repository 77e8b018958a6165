/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * metrics.h - metrics of cards and their users (docs/operating.md), in Prometheus' text format
 */
#ifndef VTACTL_METRICS_H
#define VTACTL_METRICS_H

#include <stdint.h>
#include <stdio.h>

struct json_object;

/* Prints metrics of @cards, an array of what gather() returns. */
void metrics_cards(FILE *file, struct json_object *cards);
/* Prints metrics of users; returns an exit status. */
int metrics_users(FILE *file);

/*
 * Prints the lines before all samples of a metric. @type is "counter" or "gauge"; @help
 * has neither backslashes nor newlines.
 */
void prom_metric(FILE *file, const char *name, const char *type, const char *help);

/* A NULL value is an empty one; a NULL name ends a list. */
struct prom_label {
	const char *name, *value;
};

/* Prints a sample. Values of labels are escaped. */
void prom_sample(FILE *file, const char *name, const char *value,
		 const struct prom_label labels[]);

/* The time as text of seconds, exact. */
const char *prom_seconds(uint64_t ns, char text[32]);

#endif /* VTACTL_METRICS_H */
