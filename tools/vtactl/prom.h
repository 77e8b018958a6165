/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * prom.h - metrics in Prometheus' text format
 */
#ifndef VTACTL_PROM_H
#define VTACTL_PROM_H

#include <stdint.h>
#include <stdio.h>

/*
 * The lines that come before all samples of a metric. @type is "counter" or "gauge"; @help
 * has neither backslashes nor newlines.
 */
void prom_metric(FILE *file, const char *name, const char *type, const char *help);

/* A NULL value is an empty one; a NULL name ends a list. */
struct prom_label {
	const char *name, *value;
};

/* One sample, with @value as it is to be printed. Values of labels are escaped. */
void prom_sample(FILE *file, const char *name, const char *value,
		 const struct prom_label labels[]);

/* As the text of seconds, exact. */
const char *prom_seconds(uint64_t ns, char text[32]);

#endif /* VTACTL_PROM_H */
