// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "layer.h"

#define SHIFT	7

const struct layer_kind layer_kinds[] = {
	{ "dense", "256 to 256: much more to compute than to copy", true, 32, 256, 256 },
	{ "head", "dense, 1024 to 16: about as much to copy as to compute", true, 64, 1024, 16 },
	{ "add", "the sum of two, value by value", false, 64, 64, 64 },
	{ 0 },
};

/* Advance a generator. Each batch has a seed of its own, the same in each run. */
static uint32_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static void fill(int8_t *values, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		values[i] = (int8_t)next(&seed);
}

static struct vtaops_post post_of(const struct layer *l, const struct layer_addrs *at)
{
	return (struct vtaops_post) {
		.bias = l->bias_bytes ? at->bias : 0,
		.shift = l->kind->dense ? SHIFT : 1,
		.lo = l->kind->dense ? 0 : -128,
		.hi = 127,
	};
}

static int lower(const struct layer *l, const struct layer_addrs *at, struct vtaops_builder *b)
{
	const struct layer_kind *k = l->kind;

	if (k->dense)
		vtaops_dense(b, &(struct vtaops_dense) {
			.inp = at->in, .wgt = at->wgt, .out = at->out,
			.n = k->rows, .in = k->in, .units = k->units,
			.post = post_of(l, at),
		});
	else
		vtaops_add(b, &(struct vtaops_eltwise) {
			.a = at->in, .b = at->in + (uint32_t)l->out_bytes, .out = at->out,
			.elements = (uint32_t)(l->out_bytes / l->core.inp_bytes),
			.post = post_of(l, at),
		});
	return vtaops_finish(b);
}

int layer_lower(const struct layer *l, const struct layer_addrs *at, struct vtaops_insn *insn,
		uint32_t *uop, const char **why)
{
	struct vtaops_builder b;

	vtaops_begin(&b, &l->core, insn, l->insns, uop, l->uops, at->uop);
	if (!lower(l, at, &b))
		return 0;
	*why = b.why;
	return -1;
}

/* Measure the stream: its length is the same for all addresses that do not overlap. */
static int count(struct layer *l, const char **why)
{
	const struct layer_addrs apart = {
		.in = 1u << 28, .out = 2u << 28, .wgt = 3u << 28, .bias = 4u << 28,
	};
	struct vtaops_builder b;

	vtaops_begin(&b, &l->core, NULL, 0, NULL, 0, 0);
	if (lower(l, &apart, &b)) {
		*why = b.why;
		return -1;
	}
	l->insns = b.insns;
	l->uops = b.uops;
	return 0;
}

static int make_weights(struct layer *l, const char **why)
{
	const struct layer_kind *k = l->kind;
	uint64_t seed = 2;

	l->wgt = malloc((size_t)k->units * k->in);
	l->bias = malloc(k->units * sizeof(*l->bias));
	if (!l->wgt || !l->bias) {
		layer_free(l);
		*why = "not enough memory";
		return -1;
	}
	fill(l->wgt, (size_t)k->units * k->in, 1);
	for (uint32_t i = 0; i < k->units; i++)
		l->bias[i] = (int32_t)(next(&seed) % 20000) - 10000;
	return 0;
}

int layer_init(struct layer *l, const struct layer_kind *k, const struct vtaops_core *core,
	       const char **why)
{
	*l = (struct layer) { .kind = k, .core = *core };
	l->out_bytes = vtaops_act_bytes(core, k->rows, k->units, 1, 1);
	if (k->dense) {
		l->in_bytes = vtaops_act_bytes(core, k->rows, k->in, 1, 1);
		l->wgt_bytes = vtaops_wgt_bytes(core, k->units, k->in, 1, 1);
		l->bias_bytes = vtaops_bias_bytes(core, k->units);
	} else {
		l->in_bytes = 2 * l->out_bytes;
	}
	if (count(l, why))
		return -1;
	return k->dense ? make_weights(l, why) : 0;
}

void layer_free(struct layer *l)
{
	free(l->wgt);
	free(l->bias);
	*l = (struct layer) { 0 };
}

void layer_pack(const struct layer *l, void *wgt, void *bias)
{
	if (!l->kind->dense)
		return;
	vtaops_pack_wgt(&l->core, wgt, l->wgt, l->kind->units, l->kind->in, 1, 1);
	vtaops_pack_bias(&l->core, bias, l->bias, l->kind->units);
}

/* ---- The same on the CPU ---- */

static int8_t clamp(int32_t v, int32_t lo)
{
	return (int8_t)(v < lo ? lo : v > 127 ? 127 : v);
}

static void dense(const struct layer *l, const int8_t *in, int8_t *out)
{
	const struct layer_kind *k = l->kind;

	for (uint32_t n = 0; n < k->rows; n++) {
		for (uint32_t o = 0; o < k->units; o++) {
			int32_t acc = l->bias[o];

			for (uint32_t i = 0; i < k->in; i++)
				acc += in[n * k->in + i] * l->wgt[o * k->in + i];
			out[n * k->units + o] = clamp(acc >> SHIFT, 0);
		}
	}
}

static int dense_batch(const struct layer *l, uint64_t number, void *in, void *want)
{
	const struct layer_kind *k = l->kind;
	size_t values = (size_t)k->rows * k->in;
	int8_t *x = calloc(values, 1);
	int8_t *y = calloc(k->rows, k->units);

	if (x && y) {
		fill(x, values, number);
		dense(l, x, y);
		vtaops_pack_act(&l->core, in, x, k->rows, k->in, 1, 1);
		vtaops_pack_act(&l->core, want, y, k->rows, k->units, 1, 1);
	}
	free(x);
	free(y);
	return x && y ? 0 : -1;
}

int layer_batch(const struct layer *l, uint64_t number, void *in, void *want)
{
	const int8_t *a = in, *b = a + l->out_bytes;
	int8_t *sum = want;

	if (l->kind->dense)
		return dense_batch(l, number, in, want);
	fill(in, l->in_bytes, number);
	for (size_t i = 0; i < l->out_bytes; i++)
		sum[i] = clamp((a[i] + b[i]) >> 1, -128);
	return 0;
}
