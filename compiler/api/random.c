// SPDX-License-Identifier: Apache-2.0
/*
 * Random inputs to calibrate with, for a model of which no images are given. Values of pictures are
 * those of pixels, smooth with some noise, also where a picture is of bytes; others are normal, and
 * integers 0 or 1, which are valid indices. The same on every machine.
 */
#include <math.h>
#include <string.h>

#include "vtac.h"

#define PATCH	8	/* pixels of a side that have about one value */

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* From 0 to 1; @n is the number of a value of a stream. */
static float uniform(uint64_t stream, uint64_t n)
{
	return (float)(mix(stream + (n + 1) * 0x9e3779b97f4a7c15u) >> 40) / 16777216.0f;
}

static float normal(uint64_t stream, uint64_t n)
{
	float sum = -6;

	for (uint64_t i = 0; i < 12; i++)
		sum += uniform(stream, 12 * n + i);
	return sum;
}

/* The pixels of a picture, a number for each patch of its planes, and noise */
static float pixel(const struct vtac_tensor *t, uint64_t stream, int64_t i)
{
	int64_t w = t->dims[3], h = t->dims[2], x = i % w, y = i / w % h;
	uint64_t patch = (uint64_t)(((i / w / h) * (h / PATCH + 1) + y / PATCH) * (w / PATCH + 1) +
				    x / PATCH);

	return 0.8f * uniform(~stream, patch) + 0.2f * uniform(stream, (uint64_t)i);
}

static int read_random(void *priv, unsigned int image, const struct vtac_tensor *t, float *values)
{
	const struct vtac_random *r = priv;
	uint64_t stream = mix(image + 1);
	int64_t n = vtac_elements(t);

	for (const char *name = t->name; *name; name++)
		stream = mix(stream + (unsigned char)*name);
	for (int64_t i = 0; i < n; i++) {
		if (t->rank == 4 && (t->dtype == VTAC_U8 || t->dtype == VTAC_I8))
			values[i] = rintf(255 * pixel(t, stream, i)) -
				(t->dtype == VTAC_I8 ? 128 : 0);
		else if (t->dtype != VTAC_F32)
			values[i] = uniform(stream, (uint64_t)i) < 0.5f ? 0 : 1;
		else if (t->rank == 4 && r->most > r->least)
			values[i] = r->least + (r->most - r->least) * pixel(t, stream, i);
		else
			values[i] = normal(stream, (uint64_t)i);
	}
	return 0;
}

bool vtac_lacks_images(const struct vtac_graph *g, const struct vtac_options *opt)
{
	struct vtac_options own = *opt;
	struct vtac_graph *copy;
	bool lacks;

	if (opt->images || opt->no_card)
		return false;
	own.progress = NULL;
	own.after = NULL;
	copy = vtac_graph_clone(g);
	lacks = copy && !vtac_run_passes(copy, &own, "partition") && vtac_lacks_scale(copy);
	vtac_graph_free(copy);
	return lacks;
}

void vtac_random_init(struct vtac_random *r, const struct vtaimage_preprocess *pre)
{
	*r = (struct vtac_random) {
		.images = { .count = VTAC_RANDOM_INPUTS, .read = read_random, .priv = r } };
	for (int i = 0; pre && i < 3; i++) {
		float dark = -pre->mean[i] * pre->scale[i];
		float bright = (255 - pre->mean[i]) * pre->scale[i];

		r->least = i && dark > r->least ? r->least : dark;
		r->most = i && bright < r->most ? r->most : bright;
	}
}

const char *vtac_random_text(char *buf)
{
	snprintf(buf, VTAC_RANDOM_TEXT, "there are no images, so ranges of values are those of %u "
		 "random inputs. Cycles and memory are right, but not the results: real inputs are "
		 "clipped, or use few of the integers.", VTAC_RANDOM_INPUTS);
	return buf;
}
