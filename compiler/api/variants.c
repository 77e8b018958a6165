// SPDX-License-Identifier: Apache-2.0
/* Variants of a program: an input whose shape is given several times has one in each variant. */
#include <string.h>

#include "vtac.h"

static bool is_same_input(const struct vtac_shape_option *a, const struct vtac_shape_option *b)
{
	return a->input && b->input ? !strcmp(a->input, b->input) : a->input == b->input;
}

/* Counts shape @i among those of its input: @before it, or all. */
static unsigned int count_shapes(const struct vtac_options *opt, unsigned int i, bool before)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < (before ? i : opt->n_shapes); k++)
		n += is_same_input(&opt->shapes[k], &opt->shapes[i]);
	return n;
}

/* The shape of @s's input in a variant, if there are several. */
static const struct vtac_shape_option *shape_in(const struct vtac_options *opt,
						const struct vtac_shape_option *s,
						unsigned int variant)
{
	for (unsigned int i = 0; i < opt->n_shapes; i++)
		if (is_same_input(&opt->shapes[i], s) && count_shapes(opt, i, true) == variant)
			return &opt->shapes[i];
	return s;
}

/* Do two variants have an input of different shapes? */
static bool differ(const struct vtac_options *opt, unsigned int a, unsigned int b)
{
	for (unsigned int i = 0; i < opt->n_shapes; i++) {
		const struct vtac_shape_option *s = shape_in(opt, &opt->shapes[i], a);
		const struct vtac_shape_option *t = shape_in(opt, &opt->shapes[i], b);

		if (s->rank != t->rank ||
		    memcmp(s->dims, t->dims, (size_t)s->rank * sizeof(s->dims[0])))
			return true;
	}
	return false;
}

unsigned int vtac_variants(const struct vtac_options *opt, struct vtac_error *error)
{
	unsigned int most = 1;

	for (unsigned int i = 0; i < opt->n_shapes; i++) {
		unsigned int n = count_shapes(opt, i, false);

		most = n > most ? n : most;
	}
	for (unsigned int i = 0; i < opt->n_shapes; i++) {
		unsigned int n = count_shapes(opt, i, false);

		if (n == 1 || n == most)
			continue;
		snprintf(error->text, sizeof(error->text),
			 "Input %.120s has %u shapes, another has %u: give each one, or as many.",
			 opt->shapes[i].input ? opt->shapes[i].input : "", n, most);
		return 0;
	}
	if (most > VTAIMAGE_VARIANTS_MAX) {
		snprintf(error->text, sizeof(error->text), "A program is for at most %d shapes.",
			 VTAIMAGE_VARIANTS_MAX);
		return 0;
	}
	for (unsigned int i = 1; i < most; i++)
		for (unsigned int k = 0; k < i; k++)
			if (!differ(opt, i, k)) {
				snprintf(error->text, sizeof(error->text),
					 "Two variants have the same shapes.");
				return 0;
			}
	return most;
}

unsigned int vtac_variant_shapes(const struct vtac_options *opt, unsigned int variant,
				 struct vtac_shape_option *shapes)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < opt->n_shapes; i++)
		if (count_shapes(opt, i, false) == 1 || count_shapes(opt, i, true) == variant)
			shapes[n++] = opt->shapes[i];
	return n;
}

char *vtac_variant_report(const struct vtac_program *p, const struct vtac_report_options *how,
			  unsigned int variant)
{
	char *text = NULL, shape[128];
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (!how->json) {
		fprintf(f, "%svariant %u:", variant ? "\n" : "", variant);
		for (unsigned int i = 0; i < p->graph->n_inputs; i++)
			fprintf(f, " %s %s", p->graph->inputs[i]->name,
				vtac_shape_text(p->graph->inputs[i], shape));
		fputs("\n\n", f);
	}
	vtac_report(p, how, f);
	return fclose(f) ? NULL : text;
}
