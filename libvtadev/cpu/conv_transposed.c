// SPDX-License-Identifier: Apache-2.0
/*
 * Transposed convolutions of floats. Outputs whose rows have the same remainder modulo the stride,
 * and whose columns do, are a phase: they have the same taps, each of which takes one input after
 * the other. So a phase is a product of matrices, of weights that are brought into the order of the
 * phases and of a row of inputs for each tap.
 */
#include "window.h"

#define TILE	64u		/* outputs of a phase at a time */
#define FLOATS	(16u << 10)	/* inputs at a time */

/* One direction of a window, and a remainder. */
struct axis {
	uint32_t stride, dil, taps, in, out, first;
	int32_t pad;
};

static struct axis rows_of(const struct vtacpu_window *w, uint32_t first)
{
	return (struct axis) { w->stride_h, w->dil_h, w->kh, w->ih, w->oh, first, w->pad_top };
}

static struct axis cols_of(const struct vtacpu_window *w, uint32_t first)
{
	return (struct axis) { w->stride_w, w->dil_w, w->kw, w->iw, w->ow, first, w->pad_left };
}

/* Has the phase tap @k? Its first output takes input @at then, which may be outside. */
static bool has_tap(const struct axis *a, uint32_t k, int64_t *at)
{
	int64_t place = (int64_t)a->first + a->pad - (int64_t)k * a->dil;

	*at = place / a->stride;
	return place % a->stride == 0;
}

static uint32_t count_outputs(const struct axis *a)
{
	return (a->out - a->first - 1) / a->stride + 1;
}

/* A tap of a phase: its number of the kernel's, and the input of the first output. */
struct tap {
	int64_t row, col;
	uint32_t number;
};

/* Scratch memory. */
struct memory {
	struct tap *taps;
	float *weights, *inputs, *sums;
	uint32_t *at;
	struct cpu_spot *spots;
};

static uint32_t input_floats(const struct vtacpu_window *w)
{
	size_t most = window_taps(w) * TILE;

	return most > FLOATS ? (uint32_t)most : FLOATS;
}

static uint64_t weight_floats(const struct vtacpu_window *w)
{
	return cpu_mul(w->oc / w->groups, cpu_mul(w->ic / w->groups, window_taps(w)));
}

uint64_t cpu_transposed_scratch(const struct vtacpu_window *w)
{
	uint64_t weights = weight_floats(w), most = VTACPU_BYTES_MAX;

	if (weights > most || window_taps(w) > most / TILE || w->oc > most / TILE)
		return UINT64_MAX;
	return window_taps(w) * sizeof(struct tap) +
	       (weights + input_floats(w) + (uint64_t)w->oc / w->groups * TILE) * sizeof(float) +
	       input_floats(w) / TILE * sizeof(uint32_t) +
	       TILE / CPU_LANES * sizeof(struct cpu_spot);
}

static struct memory place_memory(const struct vtacpu_window *w, void *scratch)
{
	struct memory m = { .taps = scratch };

	m.weights = (float *)(m.taps + window_taps(w));
	m.inputs = m.weights + weight_floats(w);
	m.sums = m.inputs + input_floats(w);
	m.at = (void *)(m.sums + (size_t)w->oc / w->groups * TILE);
	m.spots = (struct cpu_spot *)(m.at + input_floats(w) / TILE);
	return m;
}

/* The taps of a phase; returns how many they are. */
static uint32_t find_taps(const struct axis *y, const struct axis *x, struct tap *taps)
{
	uint32_t n = 0;
	int64_t row, col;

	for (uint32_t ky = 0; ky < y->taps; ky++)
		for (uint32_t kx = 0; kx < x->taps && has_tap(y, ky, &row); kx++)
			if (has_tap(x, kx, &col))
				taps[n++] = (struct tap) { row, col, ky * x->taps + kx };
	return n;
}

/* The @n taps of each channel: [oc][channels][n] of a group, or all as they are. */
static const float *order_weights(const struct vtacpu_window *w, const struct memory *m, uint32_t n,
				  const float *from)
{
	size_t planes = (size_t)w->oc / w->groups * (w->ic / w->groups), all = window_taps(w);
	float *to = m->weights;

	if (n == all)
		return from;
	if (n == 4) {
		uint32_t a = m->taps[0].number, b = m->taps[1].number;
		uint32_t c = m->taps[2].number, d = m->taps[3].number;

		for (size_t i = 0; i < planes; i++, from += all, to += 4) {
			to[0] = from[a];
			to[1] = from[b];
			to[2] = from[c];
			to[3] = from[d];
		}
		return m->weights;
	}
	for (size_t i = 0; i < planes; i++, from += all)
		for (uint32_t t = 0; t < n; t++)
			*to++ = from[m->taps[t].number];
	return m->weights;
}

/* A phase of one image and group. */
struct phase {
	const struct vtacpu_conv_f32 *p;
	struct axis y, x;
	uint32_t taps;			/* of a channel */
	const float *weights, *in, *bias, *res;
	float *out;
	struct memory m;
};

/* A tile of its outputs: rows [oy, oy + rows), and columns likewise, in steps of the stride. */
struct tile {
	uint32_t oy, ox, rows, cols;
};

/* Rows of all outputs' inputs, for each tap of @channels channels. */
CPU_BODY fill_tile_body(bool wide, const struct phase *f, const struct tile *t, const float *x,
			uint32_t channels)
{
	size_t pitch = up8(t->rows * t->cols);
	float *to = f->m.inputs;

	(void)wide;
	for (uint32_t c = 0; c < channels; c++, x += (size_t)f->y.in * f->x.in)
		for (uint32_t k = 0; k < f->taps; k++, to += pitch) {
			const struct tap *tap = &f->m.taps[k];
			struct window_line in, none;

			in = window_line(t->cols, tap->col + t->ox, 1, f->x.in);
			none = in;
			none.first = 0;
			none.end = 0;
			for (uint32_t i = 0; i < t->rows; i++) {
				int64_t y = tap->row + t->oy + i;
				bool there = y >= 0 && y < f->y.in;

				window_fill_line(to + (size_t)i * t->cols,
						 there ? x + y * f->x.in : x, there ? in : none);
			}
		}
}

static void fill_tile(const struct phase *f, const struct tile *t, const float *x,
		      uint32_t channels);
CPU_WIDE(fill_tile, (const struct phase *f, const struct tile *t, const float *x,
		     uint32_t channels), f, t, x, channels)

/* The sums of a row of a tile, of output channel @o: to their places. */
static void finish_row(const struct phase *f, const struct tile *t, float *sums, uint32_t o,
		       uint32_t row)
{
	size_t at = ((size_t)o * f->y.out + f->y.first + (size_t)(t->oy + row) * f->y.stride) *
		    f->x.out + f->x.first + (size_t)t->ox * f->x.stride;

	for (uint32_t i = 0; f->res && i < t->cols; i++)
		sums[i] += f->res[at + (size_t)i * f->x.stride];
	cpu_act(&f->p->act, sums, t->cols);
	for (uint32_t i = 0; i < t->cols; i++)
		f->out[at + (size_t)i * f->x.stride] = sums[i];
}

static void run_tile(const struct phase *f, const struct tile *t)
{
	uint32_t all = f->p->win.ic / f->p->win.groups, n = t->rows * t->cols;
	uint32_t most = f->taps ? input_floats(&f->p->win) / TILE / f->taps : all, channels;
	struct cpu_product product = {
		.a = f->weights, .a_row = (size_t)all * f->taps, .a_col = 1, .b = f->m.inputs,
		.at = f->m.at, .spots = f->m.spots, .rows = f->p->win.oc / f->p->win.groups,
		.spot_count = cpu_put_spots(f->m.spots, n, 0, 0), .y_row = TILE,
		.y = f->m.sums, .start = f->bias,
	};

	for (uint32_t c = 0; c < all; c += channels) {
		channels = min_u32(most, all - c);
		product.k = (size_t)channels * f->taps;
		for (size_t l = 0; l < product.k; l++)
			f->m.at[l] = (uint32_t)(l * up8(n));
		fill_tile(f, t, f->in + (size_t)c * f->y.in * f->x.in, channels);
		cpu_mac_f32(&product);
		product.a += product.k;
		product.resume = true;
	}
	for (uint32_t o = 0; o < product.rows; o++)
		for (uint32_t i = 0; i < t->rows; i++)
			finish_row(f, t, f->m.sums + (size_t)o * TILE + (size_t)i * t->cols, o, i);
}

static void run_phase(const struct phase *f)
{
	uint32_t rows = count_outputs(&f->y), cols = count_outputs(&f->x);
	uint32_t high = cols < TILE ? TILE / cols : 1;
	struct tile t;

	for (t.oy = 0; t.oy < rows; t.oy += high)
		for (t.ox = 0; t.ox < cols; t.ox += TILE) {
			t.rows = min_u32(high, rows - t.oy);
			t.cols = min_u32(TILE, cols - t.ox);
			run_tile(f, &t);
		}
}

/* All phases of group @group of all images: they share its weights. */
static void run_group(const struct vtacpu_conv_f32 *p, void *const *io, const struct memory *m,
		      uint32_t group)
{
	const struct vtacpu_window *w = &p->win;
	size_t ic = w->ic / w->groups, oc = w->oc / w->groups, out = (size_t)w->oh * w->ow;
	const float *bias = io[2], *res = io[3];
	struct phase f = {
		.p = p, .m = *m, .bias = bias ? bias + group * oc : NULL,
	};

	for (uint32_t ry = 0; ry < w->stride_h && ry < w->oh; ry++)
		for (uint32_t rx = 0; rx < w->stride_w && rx < w->ow; rx++) {
			f.y = rows_of(w, ry);
			f.x = cols_of(w, rx);
			f.taps = find_taps(&f.y, &f.x, m->taps);
			f.weights = order_weights(w, m, f.taps, (const float *)io[1] +
						  group * oc * ic * window_taps(w));
			for (size_t n = 0; n < w->n; n++) {
				size_t plane = n * w->groups + group;

				f.in = (const float *)io[0] + plane * ic * w->ih * w->iw;
				f.res = res ? res + plane * oc * out : NULL;
				f.out = (float *)io[4] + plane * oc * out;
				run_phase(&f);
			}
		}
}

void cpu_transposed_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch)
{
	const struct memory m = place_memory(&p->win, scratch);

	for (uint32_t group = 0; group < p->win.groups; group++)
		run_group(p, io, &m, group);
}
