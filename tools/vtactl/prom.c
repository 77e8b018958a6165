// SPDX-License-Identifier: GPL-2.0-only
/*
 * prom.c - metrics in Prometheus' text format
 */
#include <inttypes.h>

#include "metrics.h"

void prom_metric(FILE *file, const char *name, const char *type, const char *help)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", file);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
}

void prom_sample(FILE *file, const char *name, const char *value,
		 const struct prom_label labels[])
{
	char before = '{';

	fputs(name, file);
	for (const struct prom_label *l = labels; l->name; l++) {
		fprintf(file, "%c%s=\"", before, l->name);
		put_escaped(file, l->value ? l->value : "");
		fputc('"', file);
		before = ',';
	}
	fprintf(file, "%s %s\n", before == ',' ? "}" : "", value);
}

const char *prom_seconds(uint64_t ns, char text[32])
{
	snprintf(text, 32, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
	return text;
}
