// SPDX-License-Identifier: Apache-2.0
/*
 * Convolutions of floats. For a strip of outputs, the inputs that it needs are brought into
 * scratch memory, with zeros where they are outside of the picture; the sums are then those of a
 * matrix product (cpu_mac_f32()), whose rows are output channels. There are three orders:
 *
 * direct	as in the picture, in rows, whose columns are sorted by their remainder modulo the
 *		stride: each tap of eight neighbouring outputs is eight neighbouring values.
 * dense	a row of all outputs' inputs for each tap, if the outputs are few and in so short
 *		rows that most of the vectors of the direct order would be empty.
 * by taps	a row of all outputs' inputs for each tap, if the taps are far apart.
 */
#include "window.h"

#define STRIP		32u		/* outputs at a time, by taps */
/*
 * Direct: a strip is as many outputs, but not fewer than the least, as the inputs of all channels,
 * or of so many that a sum is of SUMS_LEAST products, are in a small cache. The sums of other
 * channels are added to it afterwards.
 */
#define OUTPUTS_MAX	2048u
#define OUTPUTS_LEAST	48u
#define SUMS_LEAST	256u
#define FLOATS		(8u << 10)
#define FLOATS_MAX	(1u << 18)

/* A strip of the direct order. */
struct plan {
	struct vtacpu_window win;	/* a 1x1 convolution of one row, if it is of all pixels */
	bool direct;
	uint32_t rows, cols;		/* of a strip's outputs: several rows are whole ones */
	/* Rows of input: @row_step further for the next row of output, @row_span for its taps. */
	uint32_t row_step, row_span;
	uint32_t phases, phase;		/* remainders of columns, and floats for each */
	uint64_t pitch;			/* floats for each channel */
	uint32_t channels;		/* at a time */
	size_t spots;
	size_t taps;			/* of these channels; by taps, of all of a group */
	uint32_t dense;			/* channels at a time of the dense order, or 0 */
};

static uint32_t spots_of(uint32_t n)
{
	return (n + CPU_LANES - 1) / CPU_LANES;
}

/* Sizes for strips of @rows by @cols. Their lines begin at many places of a cache. */
static void size_strip(struct plan *p, uint32_t rows, uint32_t cols)
{
	const struct vtacpu_window *w = &p->win;
	uint64_t width = (uint64_t)spots_of(cols) * CPU_LANES +
			 (w->kw - 1ull) * w->dil_w / w->stride_w;
	uint64_t lines = (rows - 1ull) * p->row_step + p->row_span;
	uint64_t all = cpu_mul(cpu_mul(lines, p->phases), width);

	all = all > COUNT_MAX ? COUNT_MAX : all;
	p->rows = rows;
	p->cols = cols;
	p->phase = (uint32_t)width;
	p->pitch = ((all + 15) / 16 | 1) * 16;
	p->spots = (size_t)rows * spots_of(cols);
}

/* Is a strip small enough? */
static bool is_small(const struct plan *p)
{
	uint64_t least = (SUMS_LEAST - 1) / window_taps(&p->win) + 1;
	uint32_t all = p->win.ic / p->win.groups;

	return cpu_mul(p->pitch, least < all ? least : all) <= FLOATS;
}

/* Fewer output channels are not worth the copies. */
#define DENSE_LEAST	64u

/* Channels at a time of the dense order, in the memory of the direct one; 0: it is no better. */
static uint32_t count_dense(const struct plan *p)
{
	const struct vtacpu_window *w = &p->win;
	uint32_t plane = p->rows * p->cols, spots = spots_of(plane);
	uint64_t each = (uint64_t)window_taps(w) * spots * CPU_LANES;

	if (p->rows != w->oh || p->cols != w->ow || w->oc / w->groups < DENSE_LEAST ||
	    (uint64_t)spots * 4 > p->spots * 3)
		return 0;
	return min_u32(p->channels, (uint32_t)(p->channels * p->pitch / each));
}

static struct plan make_plan(const struct vtacpu_window *win)
{
	struct plan p = { .win = *win };
	struct vtacpu_window *w = &p.win;
	uint64_t down = (w->kh - 1ull) * w->dil_h + 1, across = (w->kw - 1ull) * w->dil_w + 1;
	uint32_t cols, all = w->ic / w->groups;

	p.taps = all * window_taps(w);
	if (!all || down > COUNT_MAX / 2 || across > COUNT_MAX / 2)
		return p;
	if (window_taps(w) == 1 && w->stride_h == 1 && w->stride_w == 1 && !w->pad_top &&
	    !w->pad_left && w->ih == w->oh && w->iw == w->ow) {
		w->iw *= w->ih;
		w->ow = w->iw;
		w->ih = 1;
		w->oh = 1;
	}
	p.row_span = (uint32_t)down;
	p.row_step = min_u32(w->stride_h, p.row_span);
	p.phases = min_u32(w->stride_w, (uint32_t)across);
	cols = min_u32(w->ow, OUTPUTS_MAX);
	size_strip(&p, 1, cols);
	while (!is_small(&p) && cols > OUTPUTS_LEAST) {
		cols = (cols / 2 + 15) & ~15u;
		size_strip(&p, 1, cols);
	}
	while (cols == w->ow && p.rows < w->oh) {
		struct plan more = p;

		size_strip(&more, p.rows + 1, cols);
		if (p.rows * cols >= (is_small(&more) ? OUTPUTS_MAX : OUTPUTS_LEAST))
			break;
		p = more;
	}
	p.channels = min_u32(all, p.pitch < FLOATS ? FLOATS / (uint32_t)p.pitch : 1);
	/* Equally many each time. */
	p.channels = (all - 1) / ((all - 1) / p.channels + 1) + 1;
	p.direct = p.pitch <= FLOATS_MAX && p.channels * window_taps(w) <= FLOATS_MAX;
	if (p.direct) {
		p.taps = p.channels * window_taps(w);
		p.dense = count_dense(&p);
	}
	return p;
}

/* Scratch memory: inputs, then spots, then the place of each tap. */
static uint64_t input_floats(const struct plan *p)
{
	return p->direct ? p->channels * p->pitch : cpu_mul(p->taps, STRIP);
}

static uint64_t spot_count(const struct plan *p)
{
	return p->direct ? p->spots : STRIP / CPU_LANES;
}

/* Is there one output, of all inputs? */
static bool is_row(const struct vtacpu_window *w)
{
	return w->oh == 1 && w->ow == 1 && w->kh == w->ih && w->kw == w->iw &&
	       !w->pad_top && !w->pad_left && w->dil_h == 1 && w->dil_w == 1;
}

/* Fewer images are not worth bringing the weights into another order. */
#define IMAGES_LEAST	4u

/* Are outputs of images the product of two matrices, so that each weight is read once? */
static bool is_matrix(const struct vtacpu_window *w)
{
	return is_row(w) && w->groups == 1 && w->n >= IMAGES_LEAST;
}

static uint64_t scratch_bytes(const struct plan *p)
{
	uint64_t floats = input_floats(p);

	if (is_matrix(&p->win))
		return cpu_matrix_scratch();
	return floats > VTACPU_BYTES_MAX ? floats :
	       floats * sizeof(float) + spot_count(p) * sizeof(struct cpu_spot) +
	       p->taps * sizeof(uint32_t);
}

int cpu_conv_f32_need(const struct vtacpu_conv_f32 *p, struct vtacpu_need *need)
{
	struct window_counts c;
	struct plan plan;

	if (cpu_window_need(&p->win, need, &c) || cpu_operand(need, c.x, 4) ||
	    cpu_operand(need, c.w, 4) || cpu_flag_ok(need, p->has_bias) ||
	    cpu_flag_ok(need, p->has_res) ||
	    cpu_operand_if(need, p->has_bias, p->win.oc, 4) ||
	    cpu_operand_if(need, p->has_res, c.y, 4) || cpu_operand(need, c.y, 4) ||
	    cpu_act_ok(need, &p->act))
		return -1;
	need->work = c.work;
	if (p->win.transposed)
		return cpu_scratch(need, cpu_transposed_scratch(&p->win));
	if (cpu_is_depthwise(&p->win))
		return cpu_scratch(need, cpu_depthwise_scratch(&p->win));
	plan = make_plan(&p->win);
	return cpu_scratch(need, scratch_bytes(&plan));
}

/* ---- direct ---- */

/* The row of the input that is line @i of a strip from output row @oy on; it may be outside. */
static int64_t line_row(const struct plan *p, uint32_t oy, uint32_t i)
{
	const struct vtacpu_window *w = &p->win;

	if (p->row_step == w->stride_h)
		return (int64_t)oy * w->stride_h - w->pad_top + i;
	return (int64_t)(oy + i / p->row_step) * w->stride_h - w->pad_top + i % p->row_step;
}

/* The inputs of @channels channels of a strip that begins at output (@oy, @ox). */
CPU_BODY fill_inputs_body(bool wide, const struct plan *p, float *to, const float *x,
			  uint32_t channels, uint32_t rows, uint32_t oy, uint32_t ox)
{
	const struct vtacpu_window *w = &p->win;
	uint32_t lines = (rows - 1) * p->row_step + p->row_span;
	size_t plane = (size_t)w->ih * w->iw;

	(void)wide;
	for (uint32_t k = 0; k < p->phases; k++) {
		int64_t first = (int64_t)ox * w->stride_w - w->pad_left + k;
		struct window_line in = window_line(p->phase, first, w->stride_w, w->iw), out = in;

		out.first = 0;
		out.end = 0;
		for (uint32_t i = 0; i < lines; i++) {
			int64_t y = line_row(p, oy, i);
			bool there = y >= 0 && y < w->ih;
			const float *from = there ? x + y * w->iw : x;
			float *line = to + ((size_t)i * p->phases + k) * p->phase;

			for (uint32_t c = 0; c < channels; c++)
				window_fill_line(line + c * p->pitch, from + c * plane,
						 there ? in : out);
		}
	}
}

static void fill_inputs(const struct plan *p, float *to, const float *x, uint32_t channels,
			uint32_t rows, uint32_t oy, uint32_t ox);
CPU_WIDE(fill_inputs, (const struct plan *p, float *to, const float *x, uint32_t channels,
		       uint32_t rows, uint32_t oy, uint32_t ox), p, to, x, channels, rows, oy, ox)

static void place_taps(const struct plan *p, uint32_t *at)
{
	const struct vtacpu_window *w = &p->win;
	size_t line = (size_t)p->phases * p->phase;

	for (uint32_t c = 0; c < p->channels; c++)
		for (uint32_t ky = 0; ky < w->kh; ky++)
			for (uint32_t kx = 0; kx < w->kw; kx++) {
				size_t x = (size_t)kx * w->dil_w;

				*at++ = (uint32_t)(c * p->pitch + ky * w->dil_h * line +
						   x % w->stride_w * p->phase + x / w->stride_w);
			}
}

/* ---- by taps ---- */

/* Tap number @t of all channels, for 8 outputs whose inputs are at @off. */
static void fill_tap(float *to, const float *x, size_t channels, size_t plane, size_t taps,
		     const int32_t *off, uint32_t inside)
{
	for (size_t c = 0; c < channels; c++, x += plane, to += taps * STRIP) {
		if (!inside)
			memset(to, 0, CPU_LANES * sizeof(float));
		else
			for (unsigned int i = 0; i < CPU_LANES; i++)
				to[i] = off[i] < 0 ? 0 : x[off[i]];
	}
}

/* The inputs of @n outputs from number @first on. */
static void fill_taps(const struct vtacpu_window *w, float *to, const float *x, size_t first,
		      uint32_t n)
{
	size_t channels = w->ic / w->groups, plane = (size_t)w->ih * w->iw, taps = window_taps(w);

	for (uint32_t at = 0; at < n; at += CPU_LANES) {
		uint32_t count = min_u32(CPU_LANES, n - at);

		for (uint32_t ky = 0; ky < w->kh; ky++) {
			for (uint32_t kx = 0; kx < w->kw; kx++) {
				int32_t off[CPU_LANES];
				uint32_t inside = cpu_window_offsets(w, first + at, count, ky, kx,
								     off);

				for (uint32_t i = count; i < CPU_LANES; i++)
					off[i] = -1;
				fill_tap(to + ((size_t)ky * w->kw + kx) * STRIP + at, x, channels,
					 plane, taps, off, inside);
			}
		}
	}
}

/* ---- both ---- */

/* A group's operands, and what a strip needs. */
struct group {
	const struct vtacpu_conv_f32 *p;
	const float *x, *weights, *res;
	float *y, *inputs;
	struct cpu_spot *spots;
	uint32_t rows, cols;		/* of the outputs that have their spots */
	size_t plane;			/* of the output */
	struct cpu_product product;
};

static void finish_values(const struct group *g, size_t at, size_t n)
{
	for (size_t i = 0; g->res && i < n; i++)
		g->y[at + i] += g->res[at + i];
	cpu_act(&g->p->act, g->y + at, n);
}

/* A strip's outputs, which are @n from number @at on in each channel, have their sums. */
static void finish_strip(const struct group *g, size_t at, uint32_t n)
{
	if (n == g->plane) {
		finish_values(g, at, (size_t)n * g->product.rows);
		return;
	}
	for (uint32_t o = 0; o < g->product.rows; o++, at += g->plane)
		finish_values(g, at, n);
}

/* A strip that begins at output (@oy, @ox). */
static void run_strip(struct group *g, const struct plan *plan, uint32_t oy, uint32_t ox)
{
	const struct vtacpu_window *w = &plan->win;
	uint32_t rows = min_u32(plan->rows, w->oh - oy), cols = min_u32(plan->cols, w->ow - ox);
	uint32_t all = w->ic / w->groups, each = spots_of(cols);
	size_t at = (size_t)oy * w->ow + ox, plane = (size_t)w->ih * w->iw;

	for (uint32_t r = 0; r < rows && (g->rows != rows || g->cols != cols); r++)
		cpu_put_spots(g->spots + (size_t)r * each, cols,
			      r * plan->row_step * plan->phases * plan->phase, r * cols);
	g->rows = rows;
	g->cols = cols;
	g->product.spot_count = rows * each;
	g->product.y = g->y + at;
	for (uint32_t c = 0; c < all; c += plan->channels) {
		uint32_t channels = min_u32(plan->channels, all - c);

		fill_inputs(plan, g->inputs, g->x + c * plane, channels, rows, oy, ox);
		g->product.a = g->weights + c * window_taps(w);
		g->product.k = channels * window_taps(w);
		g->product.resume = c > 0;
		cpu_mac_f32(&g->product);
	}
	finish_strip(g, at, rows * cols);
}

static void run_direct(struct group *g, const struct plan *plan)
{
	for (uint32_t oy = 0; oy < plan->win.oh; oy += plan->rows)
		for (uint32_t ox = 0; ox < plan->win.ow; ox += plan->cols)
			run_strip(g, plan, oy, ox);
}

/* Rows of all outputs' inputs, for each tap of @channels channels. */
static void fill_dense(const struct plan *p, float *to, const float *x, uint32_t channels)
{
	const struct vtacpu_window *w = &p->win;
	size_t pitch = (size_t)spots_of(w->oh * w->ow) * CPU_LANES;

	for (uint32_t c = 0; c < channels; c++, x += (size_t)w->ih * w->iw)
		for (uint32_t ky = 0; ky < w->kh; ky++)
			for (uint32_t kx = 0; kx < w->kw; kx++, to += pitch) {
				int64_t at = (int64_t)kx * w->dil_w - w->pad_left;
				struct window_line in = window_line(w->ow, at, w->stride_w, w->iw);
				int64_t y = (int64_t)ky * w->dil_h - w->pad_top;

				memset(to, 0, pitch * sizeof(*to));
				for (uint32_t oy = 0; oy < w->oh; oy++, y += w->stride_h)
					for (size_t i = in.first;
					     y >= 0 && y < w->ih && i < in.end; i++)
						to[oy * w->ow + i] = x[y * w->iw + at +
								       (int64_t)i * w->stride_w];
			}
}

static void run_dense(struct group *g, const struct plan *plan)
{
	const struct vtacpu_window *w = &plan->win;
	uint32_t all = w->ic / w->groups, n = w->oh * w->ow;

	g->product.spot_count = cpu_put_spots(g->spots, n, 0, 0);
	g->product.y = g->y;
	for (uint32_t c = 0; c < all; c += plan->dense) {
		uint32_t channels = min_u32(plan->dense, all - c);

		fill_dense(plan, g->inputs, g->x + (size_t)c * w->ih * w->iw, channels);
		g->product.a = g->weights + c * window_taps(w);
		g->product.k = channels * window_taps(w);
		g->product.resume = c > 0;
		cpu_mac_f32(&g->product);
	}
	finish_strip(g, 0, n);
}

/*
 * Is the picture used where it is? Then each output has one tap, of the input at its place; places
 * of all channels are in the scratch memory of inputs.
 */
static bool is_in_place(const struct plan *p)
{
	const struct vtacpu_window *w = &p->win;

	return p->direct && window_taps(w) == 1 && w->stride_h == 1 && w->stride_w == 1 &&
	       !w->pad_top && !w->pad_left && w->ih == 1 && w->oh == 1 && w->iw == w->ow &&
	       w->iw >= CPU_LANES && w->ic / w->groups <= p->channels * p->pitch;
}

/* A last spot of fewer than eight columns begins earlier: those before it have the same sums. */
static void run_in_place(struct group *g, const struct plan *plan)
{
	uint32_t cols = plan->cols < g->plane ? plan->cols / CPU_LANES * CPU_LANES - CPU_LANES :
						plan->cols;
	struct cpu_product *p = &g->product;
	uint32_t n;

	p->a = g->weights;
	p->b = g->x;
	p->k = p->a_row;
	p->y = g->y;
	for (uint32_t at = 0; at < g->plane; at += n) {
		n = (uint32_t)g->plane - at;
		if (n >= cols + CPU_LANES)
			n = cols;
		p->spot_count = cpu_put_spots(g->spots, n, at, at);
		g->spots[p->spot_count - 1] = (struct cpu_spot) {
			at + n - CPU_LANES, at + n - CPU_LANES, CPU_LANES };
		cpu_mac_f32(p);
		finish_strip(g, at, n);
	}
}

static void run_by_taps(struct group *g, const struct vtacpu_window *w)
{
	g->product.a = g->weights;
	g->product.k = g->product.a_row;
	for (size_t first = 0; first < g->plane; first += STRIP) {
		uint32_t n = g->plane - first < STRIP ? (uint32_t)(g->plane - first) : STRIP;

		fill_taps(w, g->inputs, g->x, first, n);
		g->product.spot_count = cpu_put_spots(g->spots, n, 0, 0);
		g->product.y = g->y + first;
		cpu_mac_f32(&g->product);
		finish_strip(g, first, n);
	}
}

static void run_row(const struct group *g)
{
	const struct cpu_product *p = &g->product;
	const struct cpu_row row = {
		.x = g->x, .step = 1, .w = g->weights, .row = p->a_row, .col = 1, .k = p->a_row,
		.start = p->start, .n = p->rows, .y = g->y,
	};

	cpu_row_f32(&row);
	finish_values(g, 0, p->rows);
}

/* The rows of all images, @depth values each, times the weights. */
static void run_matrix(const struct vtacpu_conv_f32 *p, void *const *io, size_t depth,
		       void *scratch)
{
	const struct vtacpu_matrices m = {
		.m = p->win.n, .n = p->win.oc, .k = (uint32_t)depth, .a_row = (uint32_t)depth,
		.a_col = 1, .b_row = 1, .b_col = (uint32_t)depth,
	};
	const float *bias = io[2], *res = io[3];
	float *y = io[4];

	for (size_t i = 0; bias && i < m.m; i++)
		memcpy(y + i * m.n, bias, m.n * sizeof(*y));
	cpu_matrix_f32(&m, io[0], io[1], y, bias, scratch);
	for (size_t i = 0; res && i < (size_t)m.m * m.n; i++)
		y[i] += res[i];
	cpu_act(&p->act, y, (size_t)m.m * m.n);
}

static void run_convolution(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch)
{
	const struct vtacpu_window *w = &p->win;
	struct plan plan = make_plan(w);
	const float *bias = io[2], *res = io[3];
	size_t in = (size_t)w->ih * w->iw, out = (size_t)w->oh * w->ow;
	size_t ic = w->ic / w->groups, oc = w->oc / w->groups, depth = ic * window_taps(w);
	float *inputs = scratch;
	struct cpu_spot *spots = (struct cpu_spot *)(inputs + input_floats(&plan));
	uint32_t *at = is_in_place(&plan) ? scratch : (uint32_t *)(spots + spot_count(&plan));
	struct group g = {
		.p = p, .inputs = inputs, .spots = spots, .plane = out,
		.product = {
			.a_row = depth, .a_col = 1, .b = inputs, .at = at, .spots = spots,
			.rows = (uint32_t)oc, .y_row = out,
		},
	};

	if (is_matrix(w)) {
		run_matrix(p, io, depth, scratch);
		return;
	}
	if (is_in_place(&plan))
		for (size_t l = 0; l < ic; l++)
			at[l] = (uint32_t)(l * in);
	else if (plan.dense)
		for (size_t l = 0; l < plan.dense * window_taps(w); l++)
			at[l] = (uint32_t)(l * spots_of(w->oh * w->ow) * CPU_LANES);
	else if (plan.direct)
		place_taps(&plan, at);
	else
		for (size_t l = 0; l < depth; l++)
			at[l] = (uint32_t)(l * STRIP);
	for (uint32_t i = 0; i < w->n * w->groups; i++) {
		uint32_t group = i % w->groups;

		g.x = (const float *)io[0] + i * ic * in;
		g.weights = (const float *)io[1] + group * oc * depth;
		g.res = res ? res + i * oc * out : NULL;
		g.y = (float *)io[4] + i * oc * out;
		g.product.start = bias ? bias + group * oc : NULL;
		if (is_row(w))
			run_row(&g);
		else if (is_in_place(&plan))
			run_in_place(&g, &plan);
		else if (plan.dense)
			run_dense(&g, &plan);
		else if (plan.direct)
			run_direct(&g, &plan);
		else
			run_by_taps(&g, w);
	}
}

void vtacpu_conv_f32(const struct vtacpu_conv_f32 *p, void *const *io, void *scratch)
{
	if (p->win.transposed)
		cpu_transposed_f32(p, io, scratch);
	else if (cpu_is_depthwise(&p->win))
		cpu_depthwise_f32(p, io, scratch);
	else
		run_convolution(p, io, scratch);
}
