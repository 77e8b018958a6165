// SPDX-License-Identifier: Apache-2.0
/*
 * Weights as integers, and the output stage of a sum:
 *	out = (sum * mul + bias) >> shift, of scale y
 * A sum has the scale x * w, so w = y * mul / 2^shift / x makes the multiplier exact: it
 * is chosen first, as the least that lets no weight be cut off, and weights are rounded
 * to the w that it implies. The shift is the largest with which no sum can leave 32
 * bits, whatever the inputs are. Integers of the file's stay what they are, if a multiplier
 * comes near enough to their scale.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "ir/kernel.h"
#include "lower/program.h"
#include "quant_impl.h"

/* One layer. Weights [channels][taps], [in / groups][kh][kw] of a convolution. */
struct sums {
	struct quantiser *q;
	struct vtac_node *node;
	int64_t channels, taps, per_in, groups;
	int64_t spare;			/* taps, the last, of channels that are always 0 */
	const float *w, *bias;		/* float; bias may be NULL */
	int8_t *wq;
	int32_t *mul, *shift, *offset;
	int32_t *res_mul;		/* of each channel, or NULL: all have res_shift */
	float *step;			/* of each channel's weights */
	float sx, sy, sr;		/* scales of input, output and residual */
	int32_t zx, zy, zr;		/* and their zero points */
	int32_t x_lo, x_hi, r_lo, r_hi;
	bool low, fine;			/* the residual, the output has 16 bits (skip.c) */
};

static int open_layer(struct sums *s)
{
	const struct vtac_node *node = s->node;
	const struct vtac_tensor *w = node->in[1], *x = node->in[0], *y = node->out[0];
	const struct vtac_tensor *b = node->n_in > 2 ? node->in[2] : NULL;
	const struct vtac_tensor *r = node->n_in > 3 ? node->in[3] : NULL;
	struct quantiser *q = s->q;

	s->groups = node->op == VTAC_GEMM ? 1 : node->attr.conv.groups;
	if (!w->data || w->dtype != VTAC_F32 || (b && (!b->data || b->dtype != VTAC_F32)))
		return vtac_fail(q->g, node, "Its weights and bias have to be float constants.");
	s->w = w->data;
	s->bias = b ? b->data : NULL;
	s->channels = w->dims[0];
	if (node->op == VTAC_CONV_TRANSPOSE) {
		s->channels = w->dims[1] * s->groups;
		s->w = vtac_swap_weights(q->g, w, s->groups);
	}
	s->taps = vtac_elements(w) / s->channels;
	s->per_in = node->op == VTAC_GEMM ? 1 : w->dims[2] * w->dims[3];
	s->sx = q->scale[x->id];
	s->sy = q->scale[y->id];
	s->sr = r ? q->scale[r->id] : 0;
	s->zx = q->zero[x->id];
	s->zy = q->zero[y->id];
	s->zr = r ? q->zero[r->id] : 0;
	s->x_lo = q->lo[x->id];
	s->x_hi = q->hi[x->id];
	s->r_lo = r ? q->lo[r->id] : 0;
	s->r_hi = r ? q->hi[r->id] : 0;
	s->low = node->n_in > 4 && node->in[4];
	s->fine = vtac_low_of(node);
	if (node->op == VTAC_CONV && s->zx && vtac_has_padding(&node->attr.conv.window)) {
		s->spare = node->attr.conv.spare * s->per_in;
		s->node->post.around = s->spare ? 0 : s->zx;
	}
	/* Inputs may leave out the zero point, the border does not. */
	if (s->node->post.around) {
		s->x_lo = s->x_lo < s->zx ? s->x_lo : s->zx;
		s->x_hi = s->x_hi > s->zx ? s->x_hi : s->zx;
	}
	s->wq = vtac_alloc(q->g, (uint64_t)(s->channels * s->taps), 1);
	s->mul = filled(q->g, s->channels, 1);
	s->shift = filled(q->g, s->channels, 0);
	s->offset = filled(q->g, s->channels, 0);
	s->step = vtac_alloc(q->g, (uint64_t)s->channels, sizeof(s->step[0]));
	return s->w && s->wq && s->mul && s->shift && s->offset && s->step ? 0 : -1;
}

/*
 * Move one weight of channel @c at tap @k by a step, so that their sum comes down to the range of
 * the spare channels: the weight whose error is the least then.
 */
static int move_weight(struct sums *s, int64_t c, int64_t k, int by)
{
	int64_t best = -1;
	float least = INFINITY;

	for (int64_t i = k; i < s->taps - s->spare; i += s->per_in) {
		int64_t at = c * s->taps + i;
		float off = (float)(s->wq[at] + by) - s->w[at] / s->step[c];

		if (abs(s->wq[at] + by) <= s->q->wgt_top && fabsf(off) < least) {
			least = fabsf(off);
			best = at;
		}
	}
	if (best >= 0)
		s->wq[best] = (int8_t)(s->wq[best] + by);
	return best >= 0 ? by : 0;
}

/* The spare channels take -sum of the other weights, tap by tap (pad_channels.c). */
static void fill_spare(struct sums *s, int64_t c)
{
	int64_t first = c * s->taps, room = s->spare / s->per_in * s->q->wgt_top;

	for (int64_t k = 0; k < s->per_in && s->spare; k++) {
		int64_t sum = 0;

		for (int64_t i = k; i < s->taps - s->spare; i += s->per_in)
			sum += s->wq[first + i];
		while (sum > room || sum < -room)
			sum += move_weight(s, c, k, sum > 0 ? -1 : 1);
		for (int64_t i = s->taps - s->spare + k; i < s->taps; i += s->per_in) {
			int64_t part = -sum;

			part = part > s->q->wgt_top ? s->q->wgt_top : part;
			part = part < -s->q->wgt_top ? -s->q->wgt_top : part;
			s->wq[first + i] = (int8_t)part;
			sum += part;
		}
	}
}

static VTAC_CLONES
void round_row(int8_t *to, const float *from, int64_t n, float inverse, float top)
{
	for (int64_t i = 0; i < n; i++) {
		float v = rintf(from[i] * inverse);

		to[i] = (int8_t)(!(v < top) ? top : v < -top ? -top : v);
	}
}

static void round_weights(struct sums *s, int64_t c)
{
	round_row(s->wq + c * s->taps, s->w + c * s->taps, s->taps, 1 / s->step[c],
		  (float)s->q->wgt_top);
	fill_spare(s, c);
}

/* Returns the mean of input channel @i, of @in. Of a pair, both parts take their share. */
static double input_mean(const struct sums *s, int64_t i, int64_t in)
{
	const struct vtac_tensor *x = s->node->in[0], *rest = vtac_rest_of(x);
	const double *mean = x->stats->mean;

	if (!rest)
		return mean[i];
	return i < in / 2 ? mean[i] + mean[in / 2 + i] * s->sx / rest->steps : mean[i] * s->sx;
}

/* Sums that are added up side by side */
#define PARTS	4

/* Of inputs that have one weight each: the sum of the weights' errors, times the inputs' means. */
static double weigh_errors(const int8_t *q, const float *w, double step, const double *mean,
			   int64_t n)
{
	double part[PARTS] = { 0 };
	int64_t i = 0;

	for (; i + PARTS <= n; i += PARTS)
		for (int k = 0; k < PARTS; k++)
			part[k] += (q[i + k] * step - (double)w[i + k]) * mean[i + k];
	for (; i < n; i++)
		part[0] += (q[i] * step - (double)w[i]) * mean[i];
	return part[0] + part[1] + part[2] + part[3];
}

/* Returns the mean error of channel @c's output by rounded weights, in real units. */
static double rounding_drift(const struct sums *s, int64_t c)
{
	const struct vtac_stats *stats = s->node->in[0]->stats;
	int64_t in = s->taps / s->per_in, first;
	double sum = 0;

	first = c / (s->channels / s->groups) * in;
	if (!stats || s->q->how.no_bias_correction || stats->channels != in * s->groups)
		return 0;
	if (s->per_in == 1 && !vtac_rest_of(s->node->in[0]))
		return weigh_errors(s->wq + c * in, s->w + c * in, (double)s->step[c],
				    stats->mean + first, in);
	for (int64_t i = 0; i < in; i++) {
		double off = 0;

		for (int64_t k = 0; k < s->per_in; k++) {
			int64_t at = c * s->taps + i * s->per_in + k;

			off += (double)s->wq[at] * s->step[c] - s->w[at];
		}
		sum += off * input_mean(s, first + i, in);
	}
	return sum;
}

/* Returns the multiplier of the residual in channel @c. */
static int64_t res_factor(const struct sums *s, int64_t c)
{
	return s->res_mul ? s->res_mul[c] : INT64_C(1) << s->node->post.res_shift;
}

#define BOUNDS_PART	(1 << 20)

/* The least and greatest sum of channel @c before its multiplier. */
static void sum_bounds(const struct sums *s, int64_t c, int64_t *least, int64_t *most)
{
	int64_t up = 0, down = 0, by = res_factor(s, c), n = s->taps - s->spare;

	/* Parts whose sums fit 32 bits */
	for (int64_t at = 0; at < n; at += BOUNDS_PART) {
		const int8_t *v = s->wq + c * s->taps + at;
		int32_t sum = 0, sizes = 0, count = (int32_t)(n - at < BOUNDS_PART ? n - at :
							      BOUNDS_PART);

		for (int32_t i = 0; i < count; i++) {
			sum += v[i];
			sizes += abs(v[i]);
		}
		up += (sizes + sum) / 2;
		down += (sizes - sum) / 2;
	}
	*most = up * s->x_hi - down * s->x_lo + s->r_hi * by;
	*least = up * s->x_lo - down * s->x_hi + s->r_lo * by;
	/* The low half adds up to half of a step. */
	*most += s->low ? by / 2 + 1 : 0;
	*least -= s->low ? by / 2 + 1 : 0;
	/* Spare channels have the zero point, or 0 where the card pads. */
	for (int64_t i = s->taps - s->spare; i < s->taps; i++) {
		int64_t v = (int64_t)s->wq[c * s->taps + i] * s->zx;

		*most += v > 0 ? v : 0;
		*least += v < 0 ? v : 0;
	}
}

/* Returns the sum of channel @c for inputs of real value 0. */
static int64_t sum_of_zeros(const struct sums *s, int64_t c)
{
	int64_t sum = 0;

	for (int64_t i = 0; s->zx && i < s->taps; i++)
		sum += s->wq[c * s->taps + i];
	return sum * s->zx + s->zr * res_factor(s, c);
}

/* Compute offset[c] for shift[c]; false if an accumulator could overflow 32 bits. */
static bool set_bias(struct sums *s, int64_t c)
{
	int shift = s->shift[c];
	double real, half, offset;
	int64_t least, most, at;

	sum_bounds(s, c, &least, &most);
	/* No offset brings these into 32 bits. */
	if ((most - least) * s->mul[c] > UINT32_MAX)
		return false;
	real = (s->bias ? s->bias[c] : 0) - rounding_drift(s, c);
	half = shift && !s->node->post.down ? exp2(shift - 1) : 0;
	offset = floor(real / s->sy * exp2(shift) + 0.5) + half;
	offset += exp2(shift) * s->zy - (double)s->mul[c] * (double)sum_of_zeros(s, c);
	/* A residual of 16 bits is rounded down. */
	offset += s->low ? s->mul[c] / 2 : 0;
	if (fabs(offset) > INT32_MAX)
		return false;
	at = (int64_t)offset;
	s->offset[c] = (int32_t)at;
	least = least * s->mul[c] + at;
	most = most * s->mul[c] + at;
	/* Both halves of 16 bits begin without the half of a step. */
	least -= s->fine ? (int64_t)half : 0;
	return least >= INT32_MIN && most <= INT32_MAX;
}

/* ---- channels, which threads try side by side ---- */

/* Weights that are worth another thread */
#define TRIED_APART	32768

/**
 * struct trial - a shift that is tried
 * @s: the layer
 * @channel: tries it for channel @c: false if that has none, then the others do not matter
 * @shift: the shift
 * @most: the greatest weight of each channel, if @channel uses it
 * @mul: the multiplier of all channels, if @channel uses it
 * @each: channels of a thread's part
 * @failed: a channel has none
 */
struct trial {
	struct sums *s;
	bool (*channel)(const struct trial *trial, int64_t c);
	int shift;
	const float *most;
	int32_t mul;
	int64_t each;
	atomic_bool failed;
};

static void try_part(void *arg, unsigned int i)
{
	struct trial *trial = arg;
	int64_t c = i * trial->each + 1, end = c + trial->each;

	end = end < trial->s->channels ? end : trial->s->channels;
	for (; c < end && !atomic_load_explicit(&trial->failed, memory_order_relaxed); c++)
		if (!trial->channel(trial, c))
			atomic_store(&trial->failed, true);
}

/* The first channel alone tells most shifts that are too large. */
static bool try_channels(struct trial *trial)
{
	const struct sums *s = trial->s;

	if (s->channels && !trial->channel(trial, 0))
		return false;
	atomic_init(&trial->failed, false);
	trial->each = TRIED_APART / (s->taps + 1) + 1;
	crew_run(s->q->g->crew, try_part, trial,
		 (unsigned int)((s->channels - 1 + trial->each - 1) / trial->each));
	return !atomic_load(&trial->failed);
}

/* ---- without residual: a multiplier for each channel, or one ---- */

static bool try_channel(struct sums *s, int64_t c, int shift, float most)
{
	float unit = s->sy / s->sx * exp2f((float)-shift);
	float mul = ceilf(most / (float)s->q->wgt_top / unit * 0.999999f);

	if (mul > 32767)
		return false;
	if (s->q->how.power_of_two && mul > 1)
		return false;
	s->mul[c] = mul < 1 ? 1 : (int32_t)mul;
	s->shift[c] = shift;
	s->step[c] = unit * (float)s->mul[c];
	round_weights(s, c);
	return set_bias(s, c);
}

static bool try_scaled(const struct trial *trial, int64_t c)
{
	return try_channel(trial->s, c, trial->shift, trial->most[c]);
}

static bool try_shift(struct sums *s, int shift, const float *most)
{
	return try_channels(&(struct trial) {
		.s = s, .channel = try_scaled, .shift = shift, .most = most });
}

/* No multipliers: each channel has a shift of its own. */
static bool shifts_alone(struct sums *s, const float *most)
{
	for (int64_t c = 0; c < s->channels; c++) {
		int shift = 30;

		while (shift >= 0 && !try_channel(s, c, shift, most[c]))
			shift--;
		if (shift < 0)
			return false;
	}
	return true;
}

/* One shift for all channels; the multipliers differ. */
static int free_scales(struct sums *s)
{
	float *most = vtac_alloc(s->q->g, (uint64_t)s->channels, sizeof(*most)), all;
	int shift = 30;

	if (!most)
		return -1;
	for (int64_t c = 0; c < s->channels; c++)
		most[c] = greatest_size(s->w + c * s->taps, s->taps);
	all = greatest_size(most, s->channels);
	for (int64_t c = 0; c < s->channels && s->q->how.per_tensor; c++)
		most[c] = all;
	if (s->q->how.power_of_two && !s->q->how.per_tensor && shifts_alone(s, most))
		return 0;
	while (shift >= 0 && !try_shift(s, shift, most))
		shift--;
	if (shift < 0 && s->q->how.power_of_two) {
		/* An output far smaller than the inputs needs a multiplier. */
		s->q->how.power_of_two = false;
		shift = free_scales(s);
		s->q->how.power_of_two = true;
		return shift;
	}
	if (shift < 0)
		return unfit(s->q, s->node,
			     "Its sums do not fit 32 bits: weights or bias are too large for its output's range.");
	return 0;
}

/* ---- integers that the file has ---- */

/* Greatest relative error of a multiplier for the file's scales */
#define GIVEN_OFF	(1 / 512.0)

/* The file's integers, and their scales: false if there are none that the card takes. */
static bool given_weights(struct sums *s)
{
	const struct vtac_quant *w = &s->node->in[1]->quant;

	if (!w->given || w->type != VTAC_I8 || s->q->wgt_top != 127 || s->spare ||
	    s->q->how.power_of_two || s->node->op == VTAC_CONV_TRANSPOSE ||
	    (w->n != 1 && (w->n != s->channels || w->axis != 0)))
		return false;
	for (int64_t i = 0; i < s->channels * s->taps; i++) {
		int64_t c = i / s->taps;
		float v = s->w[i] / w->scale[w->n > 1 ? c : 0];

		if (fabsf(v - rintf(v)) > 0.01f || v < -128.5f || v > 127.5f)
			return false;
		s->wq[i] = (int8_t)rintf(v);
		s->step[c] = w->scale[w->n > 1 ? c : 0];
	}
	return true;
}

static bool try_given(struct sums *s, int shift)
{
	for (int64_t c = 0; c < s->channels; c++) {
		double exact = (double)s->sx * s->step[c] / s->sy * exp2(shift);
		double mul = rint(exact);

		if (mul < 1 || mul > 32767 || fabs(mul / exact - 1) > GIVEN_OFF)
			return false;
		s->mul[c] = (int32_t)mul;
		s->shift[c] = shift;
		if (!set_bias(s, c))
			return false;
	}
	return true;
}

static bool given_scales(struct sums *s)
{
	int shift = 30;

	if (!given_weights(s))
		return false;
	while (shift >= 0 && !try_given(s, shift))
		shift--;
	return shift >= 0;
}

/* ---- with residual: a multiplier of it for each channel ---- */

/* Relative errors of a residual's scale: taken at once, and at most */
#define RES_OFF		(1 / 8192.0)
#define RES_OFF_MAX	(1 / 256.0)

/*
 * The residual has the scale of the sum if it is multiplied by sr / (sx * step), an integer;
 * and the step is to be a multiple of the unit, as without residual. Of the pairs whose step
 * is hardly wider than it has to be, the one that comes nearest.
 */
static bool try_residual(struct sums *s, int64_t c, int shift, float most)
{
	double unit = (double)s->sy / s->sx * exp2(-shift), least = INFINITY;
	double by = floor((double)s->sr * s->q->wgt_top / ((double)s->sx * most) * 1.000001);

	by = by > 32767 ? 32767 : by;
	for (double d = by; d >= 1 && d >= by * 15 / 16 && least > RES_OFF; d--) {
		double exact = s->sr / (s->sx * d * unit), mul = rint(exact);
		double off = fabs(exact / mul - 1);

		if (mul < 1 || mul > 32767 || off >= least)
			continue;
		least = off;
		s->mul[c] = (int32_t)mul;
		s->res_mul[c] = (int32_t)d;
	}
	if (least > RES_OFF_MAX)
		return false;
	s->shift[c] = shift;
	s->step[c] = (float)(unit * s->mul[c]);
	round_weights(s, c);
	return set_bias(s, c);
}

/*
 * Least factor of the coarse tensor in its rest: with a lower one, weights have much coarser steps
 * than they could.
 */
#define REST_FACTOR	8

/* Let channel @c of a rest be what it is on average: the result has the coarse tensor's 8 bits. */
static void leave_rest(struct sums *s, int64_t c, int shift)
{
	const struct vtac_tensor *rest = s->node->out[0];
	int32_t mean = rest->coarse->producer->post.down ? -rest->steps / 2 : 0;

	memset(s->wq + c * s->taps, 0, (size_t)s->taps);
	s->mul[c] = 1;
	s->res_mul[c] = 0;
	s->shift[c] = shift;
	s->offset[c] = mean * (1 << shift);
	s->step[c] = s->sx;
}

/* Has the rest of channel @c weights that are fine enough? */
static bool has_fine_rest(const struct sums *s, float most)
{
	return s->sr * (float)s->q->wgt_top > s->sx * most * REST_FACTOR;
}

static bool try_channel_residual(struct sums *s, int64_t c, int shift)
{
	float most = greatest_size(s->w + c * s->taps, s->taps);

	if (!s->node->out[0]->coarse || has_fine_rest(s, most))
		return try_residual(s, c, shift, most);
	leave_rest(s, c, shift);
	return true;
}

static bool try_added(const struct trial *trial, int64_t c)
{
	return try_channel_residual(trial->s, c, trial->shift);
}

static bool residual_scales(struct sums *s)
{
	if (s->q->how.per_tensor || s->q->how.power_of_two || s->node->op != VTAC_CONV)
		return false;
	s->res_mul = filled(s->q->g, s->channels, 1);
	/* The offset of a channel without rest fits 32 bits. */
	for (int shift = s->node->out[0]->coarse ? 22 : 30; s->res_mul && shift >= 0; shift--) {
		struct trial trial = { .s = s, .channel = try_added, .shift = shift };

		if (try_channels(&trial))
			return true;
	}
	s->res_mul = NULL;
	return false;
}

/* ---- the same for all channels: the weights' scale is given ---- */

/* The shift that lets no weight be cut off by more than a little (see can_join()). */
static void choose_res_shift(struct sums *s)
{
	float most = greatest_size(s->w, s->channels * s->taps) / (float)s->q->wgt_top;
	float bits = log2f(s->sr / (s->sx * (most > 0 ? most : 0.000001f))) + 0.05f;

	s->node->post.res_shift = bits > 20 ? 20 : bits < 0 ? 0 : (unsigned int)bits;
	for (int64_t c = 0; c < s->channels; c++) {
		s->step[c] = s->sr * exp2f(-(float)s->node->post.res_shift) / s->sx;
		round_weights(s, c);
	}
}

static bool try_multiplied(const struct trial *trial, int64_t c)
{
	trial->s->mul[c] = trial->mul;
	trial->s->shift[c] = trial->shift;
	return set_bias(trial->s, c);
}

static bool try_joint(struct sums *s, int shift, float factor)
{
	struct quantiser *q = s->q;
	const struct vtac_tensor *y = s->node->out[0];
	float exact = factor / s->sy * exp2f((float)shift);
	int32_t mul = (int32_t)fminf(rintf(exact), 32768);
	float sy = s->sy;

	if (mul < 1 || mul > 32767)
		return false;
	/* An output that nothing else depends on takes the scale that is exact. */
	if (!q->fixed[y->id] && mul >= 16)
		sy = factor / (float)mul * exp2f((float)shift);
	s->sy = sy;
	return try_channels(&(struct trial) {
		.s = s, .channel = try_multiplied, .shift = shift, .mul = mul });
}

static int joint_scales(struct sums *s)
{
	float factor, sy = s->sy;

	choose_res_shift(s);
	factor = s->sr * exp2f(-(float)s->node->post.res_shift);
	for (int shift = 30; shift >= 0; shift--) {
		s->sy = sy;
		if (try_joint(s, shift, factor)) {
			s->q->scale[s->node->out[0]->id] = s->sy;
			return 0;
		}
	}
	return 1;
}

/* ---- weights rounded together (gptq.c) ---- */

/* The channels of a group, which threads round together */
struct rounding {
	struct sums *s;
	int64_t group, first, end;
};

/*
 * Round the @i-th few channels of a group, with the scales as they are. A channel whose sums then
 * leave 32 bits keeps what it has.
 */
static void round_channels(void *arg, unsigned int i)
{
	const struct rounding *r = arg;
	struct sums *s = r->s;
	struct vtac_rounding channels[VTAC_GPTQ_CHANNELS] = { { .w = NULL } };
	int8_t kept[VTAC_GPTQ_CHANNELS * VTAC_GPTQ_TAPS_MAX];
	int64_t first = r->first + (int64_t)i * VTAC_GPTQ_CHANNELS;
	int n = r->end - first < VTAC_GPTQ_CHANNELS ? (int)(r->end - first) : VTAC_GPTQ_CHANNELS;
	int8_t *wq = s->wq + first * s->taps;
	/* Of a pair (precision.c), the taps of the rest are behind those that change. */
	int64_t taps = s->taps < VTAC_GPTQ_TAPS_MAX ? s->taps : VTAC_GPTQ_TAPS_MAX;

	for (int c = 0; c < n; c++) {
		memcpy(kept + c * taps, wq + c * s->taps, (size_t)taps);
		channels[c] = (struct vtac_rounding) {
			s->w + (first + c) * s->taps, s->step[first + c], wq + c * s->taps };
	}
	vtac_gptq_round(s->node->hessian, r->group, channels, n, s->q->wgt_top);
	for (int c = 0; c < n; c++) {
		bool has_rest = !s->res_mul || s->res_mul[first + c];

		fill_spare(s, first + c);
		if (has_rest && set_bias(s, first + c))
			continue;
		memcpy(wq + c * s->taps, kept + c * taps, (size_t)taps);
		if (has_rest)
			set_bias(s, first + c);
	}
}

static int round_together(struct sums *s)
{
	int64_t each = s->channels / s->groups;

	for (int64_t group = 0; group < s->groups; group++) {
		struct rounding rounding = { s, group, group * each, (group + 1) * each };

		if (vtac_gptq_factorise(s->node->hessian, group))
			return vtac_fail(s->q->g, s->node, "Out of memory.");
		crew_run(s->q->g->crew, round_channels, &rounding,
			 (unsigned int)((each + VTAC_GPTQ_CHANNELS - 1) / VTAC_GPTQ_CHANNELS));
	}
	return 0;
}

/* ---- biases that sums can begin with ---- */

/* A bias may move by so many parts of an output's step. */
#define BIAS_PARTS	128
/*
 * Every second bias has a start, of those that the multiplier's power of two divides, but not every
 * second of each few.
 */
#define BIAS_TRIES	4096

/* Returns the bias next to that of channel @c that a start stands for (sum_start.c), or its own. */
static int32_t bias_with_start(const struct sums *s, int64_t c)
{
	int64_t far = (INT64_C(1) << s->shift[c]) / BIAS_PARTS, least, most;
	int64_t tries = BIAS_TRIES * (int64_t)(s->mul[c] & -s->mul[c]);
	int32_t start;

	sum_bounds(s, c, &least, &most);
	for (int64_t i = 0; i <= 2 * far && i < tries; i++) {
		int64_t at = s->offset[c] + (i % 2 ? -(i + 1) / 2 : i / 2);

		if (least * s->mul[c] + at < INT32_MIN || most * s->mul[c] + at > INT32_MAX)
			continue;
		if (vtac_sum_start(s->mul[c], (int32_t)at, -(s->q->in_top + 1), &start))
			return (int32_t)at;
	}
	return s->offset[c];
}

static bool has_bias(const struct sums *s)
{
	for (int64_t c = 0; c < s->channels; c++)
		if (s->offset[c])
			return true;
	return false;
}

/* A layer without bias needs no start, and sums of 16 bits or with a residual begin with none. */
static void move_biases(struct sums *s)
{
	if (s->sr > 0 || s->fine || !has_bias(s))
		return;
	for (int64_t c = 0; c < s->channels; c++)
		s->offset[c] = bias_with_start(s, c);
}

/* ---- what the graph gets ---- */

static int keep_weights(struct sums *s)
{
	struct vtac_graph *g = s->q->g;
	struct vtac_node *node = s->node;
	const struct vtac_tensor *old = node->in[1];
	struct vtac_tensor *w;
	int64_t dims[VTAC_RANK_MAX];

	memcpy(dims, old->dims, sizeof(dims));
	dims[0] = s->channels;
	if (node->op == VTAC_CONV_TRANSPOSE)
		dims[1] = old->dims[0] / s->groups;
	w = vtac_tensor_const(g, vtac_text(g, "%s/int", old->name), VTAC_I8, old->rank, dims,
			      s->wq, false);
	if (!w || vtac_node_set_in(g, node, 1, w))
		return -1;
	w->quant = (struct vtac_quant) { .scale = s->step, .n = s->channels, .type = VTAC_I8 };
	return node->n_in > 2 ? vtac_node_set_in(g, node, 2, NULL) : 0;
}

/* A residual of 16 bits is multiplied by 15. */
static int multiply_low(struct sums *s)
{
	unsigned int shift = s->node->post.res_shift;

	if (shift > 14)
		return 1;
	s->node->post.res_shift = 0;
	s->res_mul = filled(s->q->g, s->channels, 1 << shift);
	return s->res_mul ? 0 : -1;
}

/* Returns 0, 1 as unfit(), or -1. */
static int choose_stage(struct sums *s)
{
	int err;

	if (open_layer(s))
		return -1;
	if (s->sr > 0)
		err = residual_scales(s) ? 0 : joint_scales(s);
	else
		err = given_scales(s) ? 0 : free_scales(s);
	if (!err && s->low && !s->res_mul)
		err = multiply_low(s);
	return err > 0 && s->sr > 0 ?
		unfit(s->q, s->node, "Its residual cannot be aligned with its sums.") : err;
}

/* Give the result and the residual 8 bits if scales leave no room for 16. */
static int choose_with_halves(struct sums *s)
{
	const struct vtac_post before = s->node->post;
	int err = choose_stage(s);
	bool coarse = !err && s->fine && !has_low_steps(s->shift, s->channels);

	if (err < 0 || (!err && !coarse) || !(s->low || s->fine))
		return err;
	if (drop_halves(s->q->g, s->node, err, err ? "its sums leave no room for it" :
						     "its sums are too coarse for it"))
		return -1;
	*s = (struct sums) { .q = s->q, .node = s->node };
	s->node->post = before;
	s->node->why = NULL;
	return choose_stage(s);
}

int quantise_sums(struct quantiser *q, struct vtac_node *node)
{
	struct sums s = { .q = q, .node = node };
	int err;

	if (node->n_in > 5 && node->in[5])
		return quantise_low(q, node);
	err = choose_with_halves(&s);
	if (err)
		return err;
	if ((node->hessian && round_together(&s)) || keep_weights(&s))
		return -1;
	move_biases(&s);
	node->post.bias = s.offset;
	node->post.res_mul = s.res_mul;
	node->post.mul = s.mul;
	node->post.shift = s.shift;
	node->post.per_channel = !vtac_all_same(s.mul, s.channels) ||
		!vtac_all_same(s.shift, s.channels);
	return set_limits(q, node, node->out[0]);
}
