// SPDX-License-Identifier: Apache-2.0
/* The names of a network's classes, and numbers of these, against its first output. */
#include "vtac.h"

static int64_t count_lines(const char *text)
{
	int64_t n = 0;

	for (; *text; text++)
		n += *text == '\n' || !text[1];
	return n;
}

/*
 * The values of a vector, if the first output is a batch of them, as large as that of the first
 * input; 0: it is none.
 */
static int64_t count_classes(const struct vtac_graph *g)
{
	const struct vtac_tensor *t = g->n_outputs ? g->outputs[0] : NULL;
	const struct vtac_tensor *input = g->n_inputs ? g->inputs[0] : NULL;
	int64_t classes = 1;

	if (!t || !input || input->rank < 1 || t->rank < 2 || t->size ||
	    t->dims[0] != input->dims[0])
		return 0;
	for (int i = 1; i < t->rank; i++) {
		if (classes > 1 && t->dims[i] > 1)
			return 0;
		classes *= t->dims[i];
	}
	return classes > 1 ? classes : 0;
}

int vtac_check_labels(struct vtac_graph *g, const char *labels)
{
	int64_t lines = count_lines(labels);
	int64_t classes = count_classes(g);

	if (!classes || lines == classes)
		return 0;
	return vtac_fail(g, NULL, "The labels have %lld lines, but output %.120s has %lld classes.",
			 (long long)lines, g->outputs[0]->name, (long long)classes);
}

int vtac_check_classes(struct vtac_graph *g, const unsigned int *right, unsigned int n)
{
	int64_t classes = count_classes(g);

	for (unsigned int i = 0; i < n && classes; i++)
		if (right[i] >= classes)
			return vtac_fail(g, NULL, "Image %u is of class %u, but output %.120s has "
					 "the classes 0 to %lld.", i, right[i],
					 g->outputs[0]->name, (long long)classes - 1);
	return 0;
}
