// SPDX-License-Identifier: GPL-2.0-only
/*
 * The float interpreter against onnxruntime: a model's first output, image by image.
 *
 *	floats MODEL.onnx IMAGES.npy WANT.npy COUNT
 *
 * WANT.npy is what tests/vtac/models/ort.js wrote. Twice: the graph as it is read, and
 * after fusion. Tolerance: 0.0001 of the greatest value, which the sums' other order and
 * another exp() take. Prints a line each with what was measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/vtac.h"
#include "api/inputs.h"

struct run {
	struct vtac_graph *g;
	struct vtac_npy images, want;
	unsigned int image;
	double worst, most;
	bool failed;
};

static int give(void *priv, const struct vtac_tensor *t, void *data)
{
	struct run *r = priv;
	struct vtac_error error;

	return vtac_npy_read(&r->images, r->image * vtac_elements(t), vtac_elements(t), data,
			     &error);
}

static void compare_output(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct run *r = priv;
	int64_t n = vtac_elements(t);
	struct vtac_error error;
	const float *got = data;
	float *want;

	if (t != r->g->outputs[0])
		return;
	want = malloc((size_t)n * sizeof(*want));
	if (!want || vtac_npy_read(&r->want, r->image * n, n, want, &error)) {
		r->failed = true;
	} else {
		for (int64_t i = 0; i < n; i++) {
			double off = fabs((double)got[i] - (double)want[i]);

			/* A difference that is no number is one, too. */
			r->worst = off > r->worst || isnan(off) ? off : r->worst;
			r->most = fmax(r->most, fabs((double)want[i]));
		}
	}
	free(want);
}

/* Sizes that the model leaves open are the images'. */
static int shape(struct run *r)
{
	struct vtac_shape_option s = { .rank = r->images.rank };
	struct vtac_options opt = { .shapes = &s, .n_shapes = 1 };

	memcpy(s.dims, r->images.dims, sizeof(s.dims));
	s.dims[0] = 1;
	return vtac_pass_shape(r->g, &opt);
}

static bool run(struct run *r, const char *model, bool fuse, unsigned int count)
{
	const struct vtac_interp io = { .input = give, .tensor = compare_output, .priv = r };
	const struct vtac_options opt = { 0 };
	bool good;

	r->g = vtac_graph_new(0);
	r->worst = 0;
	r->most = 0;
	r->failed = !r->g || vtac_read_onnx(r->g, model) || shape(r) ||
		(fuse && vtac_pass_fuse(r->g, &opt));
	for (r->image = 0; r->image < count && !r->failed; r->image++)
		r->failed = r->failed || vtac_interp_float(r->g, &io);
	good = !r->failed && r->most > 0 && r->worst <= 0.0001 * r->most;
	printf("%sok %d %s: %u images, differs by %g of %g at most%s%s\n", good ? "" : "not ",
	       fuse + 1, fuse ? "fused" : "as read", r->image, r->worst, r->most,
	       r->failed ? ": " : "", r->failed && r->g ? r->g->error.text : "");
	vtac_graph_free(r->g);
	return good;
}

int main(int argc, char **argv)
{
	struct vtac_error error;
	struct run r = { .g = NULL };
	unsigned int count;
	bool good;

	if (argc != 5)
		return 2;
	puts("TAP version 13\n1..2");
	count = (unsigned int)strtoul(argv[4], NULL, 10);
	if (vtac_npy_open(&r.images, argv[2], &error) || vtac_npy_open(&r.want, argv[3], &error)) {
		printf("Bail out! %s\n", error.text);
		return 1;
	}
	good = run(&r, argv[1], false, count);
	good = run(&r, argv[1], true, count) && good;
	vtac_npy_close(&r.images);
	vtac_npy_close(&r.want);
	return !good;
}
