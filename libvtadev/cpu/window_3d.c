// SPDX-License-Identifier: Apache-2.0
/* Convolutions and pools in three dimensions, by the plain loops. */
#include "cpu_impl.h"

static uint64_t volume(const uint32_t size[3])
{
	return cpu_count(size, 3);
}

static int window_need(const struct vtacpu_window_3d *w, struct vtacpu_need *need)
{
	if (!volume(w->in) || !volume(w->out) || !volume(w->kernel))
		return cpu_bad(need, "a size is 0, or too large");
	for (uint32_t i = 0; i < 3; i++)
		if (!w->stride[i] || w->stride[i] > STEP_MAX || !w->dilation[i] ||
		    w->dilation[i] > STEP_MAX || w->before[i] > STEP_MAX)
			return cpu_bad(need, "a stride, dilation or pad is out of range");
	return 0;
}

/* The place of tap @k of output @o in dimension @d; false: outside. */
static bool find_place(const struct vtacpu_window_3d *w, uint32_t d, uint32_t o, uint32_t k,
		       uint32_t size, uint32_t *at)
{
	int64_t place = (int64_t)o * w->stride[d] - w->before[d] + (int64_t)k * w->dilation[d];

	*at = (uint32_t)place;
	return place >= 0 && place < size;
}

/* ---- convolutions ---- */

int cpu_conv_3d_f32_need(const struct vtacpu_conv_3d_f32 *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->n, p->ic }, y[] = { p->n, p->oc };
	uint64_t weights;

	if (window_need(&p->win, need) || cpu_flag_ok(need, p->transposed) ||
	    cpu_flag_ok(need, p->has_bias))
		return need->why ? -1 : cpu_bad(need, "a flag is neither 0 nor 1");
	if (!cpu_count(x, 2) || !cpu_count(y, 2) || !p->groups || p->ic % p->groups ||
	    p->oc % p->groups)
		return cpu_bad(need, "a size is 0, or too large");
	weights = cpu_mul(cpu_mul(p->oc, p->ic / p->groups), volume(p->win.kernel));
	need->work = cpu_mul(cpu_mul(weights, p->n),
			     volume(p->transposed ? p->win.in : p->win.out));
	return cpu_operand(need, cpu_mul(cpu_count(x, 2), volume(p->win.in)), 4) ||
	       cpu_operand(need, weights, 4) || cpu_operand_if(need, p->has_bias, p->oc, 4) ||
	       cpu_operand(need, cpu_mul(cpu_count(y, 2), volume(p->win.out)), 4) ? -1 : 0;
}

/* Add one tap of a row: y[o] += w * x[o * stride + ...], or the reverse. */
static void add_row(const struct vtacpu_conv_3d_f32 *p, uint32_t k, float w, const float *x,
		    float *y)
{
	const struct vtacpu_window_3d *win = &p->win;
	uint32_t n = p->transposed ? win->in[2] : win->out[2];
	uint32_t size = p->transposed ? win->out[2] : win->in[2], at;

	for (uint32_t o = 0; o < n; o++) {
		if (!find_place(win, 2, o, k, size, &at))
			continue;
		if (p->transposed)
			y[at] += w * x[o];
		else
			y[o] += w * x[at];
	}
}

/* Add an input channel, by its weights, to an output channel. */
static void add_channel(const struct vtacpu_conv_3d_f32 *p, const float *x, const float *w,
			float *y)
{
	const struct vtacpu_window_3d *win = &p->win;
	const uint32_t *outer = p->transposed ? win->in : win->out;
	const uint32_t *inner = p->transposed ? win->out : win->in;
	uint32_t a, b;

	for (uint32_t i = 0; i < win->kernel[0]; i++)
		for (uint32_t j = 0; j < win->kernel[1]; j++, w += win->kernel[2])
			for (uint32_t o = 0; o < outer[0]; o++) {
				if (!find_place(win, 0, o, i, inner[0], &a))
					continue;
				for (uint32_t q = 0; q < outer[1]; q++) {
					size_t to = ((size_t)o * outer[1] + q) * outer[2], from;

					if (!find_place(win, 1, q, j, inner[1], &b))
						continue;
					from = ((size_t)a * inner[1] + b) * inner[2];
					for (uint32_t k = 0; k < win->kernel[2]; k++)
						add_row(p, k, w[k],
							x + (p->transposed ? to : from),
							y + (p->transposed ? from : to));
				}
			}
}

void vtacpu_conv_3d_f32(const struct vtacpu_conv_3d_f32 *p, void *const *io, void *scratch)
{
	size_t in = (size_t)volume(p->win.in), out = (size_t)volume(p->win.out);
	size_t taps = (size_t)volume(p->win.kernel);
	uint32_t ic = p->ic / p->groups, oc = p->oc / p->groups;
	const float *bias = io[2];

	(void)scratch;
	for (size_t n = 0; n < p->n; n++)
		for (size_t o = 0; o < p->oc; o++) {
			size_t group = o / oc;
			float *y = (float *)io[3] + (n * p->oc + o) * out;

			for (size_t i = 0; i < out; i++)
				y[i] = bias ? bias[o] : 0;
			for (size_t i = 0; i < ic; i++) {
				size_t w = p->transposed ? (group * ic + i) * oc + o % oc :
					   o * ic + i;

				add_channel(p, (const float *)io[0] +
					    (n * p->ic + group * ic + i) * in,
					    (const float *)io[1] + w * taps, y);
			}
		}
}

/* ---- pools ---- */

int cpu_pool_3d_f32_need(const struct vtacpu_pool_3d_f32 *p, struct vtacpu_need *need)
{
	const uint32_t planes[] = { p->n, p->c };
	uint64_t count = cpu_count(planes, 2);

	if (window_need(&p->win, need))
		return -1;
	if (p->kind > VTACPU_POOL_3D_PLACE || cpu_flag_ok(need, p->by_column) ||
	    (p->kind == VTACPU_POOL_3D_LP && !p->power))
		return cpu_bad(need, "no such kind of pool");
	for (uint32_t i = 0; i < 3; i++)
		if (p->behind[i] > STEP_MAX)
			return cpu_bad(need, "a pad is too large");
	if (!count)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(cpu_mul(count, volume(p->win.out)), volume(p->win.kernel));
	return cpu_operand(need, cpu_mul(count, volume(p->win.in)), 4) ||
	       cpu_operand(need, cpu_mul(count, volume(p->win.out)),
			   p->kind == VTACPU_POOL_3D_PLACE ? 8 : 4) ? -1 : 0;
}

/* One output of a pool so far. */
struct pooled {
	float value;
	size_t place, inside, padded;
};

static void add_value(const struct vtacpu_pool_3d_f32 *p, struct pooled *y, float x, size_t at)
{
	float a = x < 0 ? -x : x;

	if (p->kind == VTACPU_POOL_3D_LP)
		y->value += p->power == 1 ? a : p->power == 2 ? x * x :
			    cpu_power(a, (float)p->power);
	else if (p->kind == VTACPU_POOL_3D_AVG || p->kind == VTACPU_POOL_3D_AVG_PAD)
		y->value += x;
	else if (!y->inside || x > y->value)
		*y = (struct pooled){ x, at, y->inside, y->padded };
	y->inside++;
}

/* Is tap @k of output @o within the input or its pads? */
static bool is_padded(const struct vtacpu_pool_3d_f32 *p, uint32_t d, uint32_t o, uint32_t k)
{
	uint64_t at = (uint64_t)o * p->win.stride[d] + (uint64_t)k * p->win.dilation[d];

	return at < (uint64_t)p->win.before[d] + p->win.in[d] + p->behind[d];
}

static struct pooled pool_one(const struct vtacpu_pool_3d_f32 *p, const float *x,
			      const uint32_t o[3])
{
	const struct vtacpu_window_3d *w = &p->win;
	struct pooled y = { .value = 0 };
	uint32_t at[3];

	for (uint32_t i = 0; i < w->kernel[0]; i++)
		for (uint32_t j = 0; j < w->kernel[1]; j++)
			for (uint32_t k = 0; k < w->kernel[2]; k++) {
				y.padded += is_padded(p, 0, o[0], i) && is_padded(p, 1, o[1], j) &&
					    is_padded(p, 2, o[2], k);
				if (find_place(w, 0, o[0], i, w->in[0], &at[0]) &&
				    find_place(w, 1, o[1], j, w->in[1], &at[1]) &&
				    find_place(w, 2, o[2], k, w->in[2], &at[2])) {
					size_t row = (size_t)at[0] * w->in[1] + at[1];
					size_t place = row * w->in[2] + at[2];

					add_value(p, &y, x[place], place);
				}
			}
	return y;
}

static float result(const struct vtacpu_pool_3d_f32 *p, const struct pooled *y)
{
	switch (p->kind) {
	case VTACPU_POOL_3D_AVG:
		return y->inside ? y->value / (float)y->inside : 0;
	case VTACPU_POOL_3D_AVG_PAD:
		return y->padded ? y->value / (float)y->padded : 0;
	case VTACPU_POOL_3D_LP:
		return p->power == 1 ? y->value : p->power == 2 ? cpu_sqrt(y->value) :
		       cpu_power(y->value, 1 / (float)p->power);
	default:
		return y->value;
	}
}

/* The place in the whole tensor, or with its pictures' rows and columns exchanged. */
static size_t place_in(const struct vtacpu_pool_3d_f32 *p, size_t plane, size_t place)
{
	uint32_t rows = p->win.in[1], cols = p->win.in[2];
	size_t picture = place / cols / rows, row = place / cols % rows, col = place % cols;

	plane = plane * p->win.in[0] + picture;
	return plane * rows * cols + (p->by_column ? col * rows + row : row * cols + col);
}

void vtacpu_pool_3d_f32(const struct vtacpu_pool_3d_f32 *p, void *const *io, void *scratch)
{
	size_t in = (size_t)volume(p->win.in), at = 0;
	const float *x = io[0];
	uint32_t o[3];

	(void)scratch;
	for (size_t plane = 0; plane < (size_t)p->n * p->c; plane++, x += in)
		for (o[0] = 0; o[0] < p->win.out[0]; o[0]++)
			for (o[1] = 0; o[1] < p->win.out[1]; o[1]++)
				for (o[2] = 0; o[2] < p->win.out[2]; o[2]++, at++) {
					struct pooled y = pool_one(p, x, o);

					if (p->kind == VTACPU_POOL_3D_PLACE)
						((int64_t *)io[1])[at] =
							(int64_t)place_in(p, plane, y.place);
					else
						((float *)io[1])[at] = result(p, &y);
				}
}
