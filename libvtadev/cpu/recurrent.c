// SPDX-License-Identifier: Apache-2.0
/*
 * Recurrent layers: RNN, GRU and LSTM, as ONNX defines them. The gates' sums by the inputs are one
 * matrix product for many steps; those by the states are made step by step.
 */
#include "cpu_impl.h"

/* Rows of inputs that are multiplied at a time. */
#define ROWS		64u
/* A state is multiplied by vectors, which are read one behind the other, where r is in panels. */
#define PANEL		VTACPU_PANEL

static uint32_t gates_of(uint32_t kind)
{
	return kind == VTACPU_LSTM ? 4 : kind == VTACPU_GRU ? 3 : 1;
}

static uint32_t images_at_once(const struct vtacpu_recurrent *p)
{
	return min_u32(p->batch, ROWS);
}

static uint32_t steps_at_once(const struct vtacpu_recurrent *p)
{
	return min_u32(p->steps, ROWS / images_at_once(p));
}

/* The sums of all gates by @rows rows of inputs. */
static struct vtacpu_gemm_f32 sums_by_x(const struct vtacpu_recurrent *p, uint32_t rows)
{
	return (struct vtacpu_gemm_f32) {
		.mat = {
			.batch = { 1, 1, 1 }, .m = rows, .n = gates_of(p->kind) * p->hidden,
			.k = p->inputs, .a_row = p->inputs, .a_col = 1, .b_row = 1,
			.b_col = p->inputs, .c_col = 1,
		},
		.has_c = p->has_bias, .alpha = 1, .beta = 1,
	};
}

/* Scratch memory, in floats from its begin. */
struct rooms {
	uint64_t h, c;		/* [images_at_once()][hidden] */
	uint64_t by_h;		/* [gates][hidden] */
	uint64_t by_x;		/* [steps_at_once()][images_at_once()][gates][hidden] */
	uint64_t r;		/* [panels of gates][hidden][PANEL] */
	uint64_t rest;		/* of vtacpu_gemm_f32() */
};

/* Is r transposed at each call? */
static bool is_transposed(const struct vtacpu_recurrent *p)
{
	return !p->panels && (uint64_t)p->steps * p->batch >= VTACPU_STATES_LEAST;
}

/* The values of a direction's panels; below 2^62 for sizes that are checked */
static uint64_t panels_size(const struct vtacpu_recurrent *p)
{
	uint64_t gates = (uint64_t)gates_of(p->kind) * p->hidden;

	return (gates + PANEL - 1) / PANEL * PANEL * p->hidden;
}

/* Sizes are such that each of the rooms has below 2^39 floats, and r below 2^62. */
static struct rooms place_rooms(const struct vtacpu_recurrent *p)
{
	uint64_t images = images_at_once(p), n = p->hidden, gates = gates_of(p->kind) * n;
	struct rooms room = { .h = 0 };

	room.c = room.h + images * n;
	room.by_h = room.c + images * n;
	room.by_x = room.by_h + gates;
	room.r = room.by_x + steps_at_once(p) * images * gates;
	room.rest = room.r + (is_transposed(p) ? panels_size(p) : 0);
	return room;
}

int cpu_recurrent_need(const struct vtacpu_recurrent *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->steps, p->batch, p->inputs };
	const uint32_t y[] = { p->steps, p->directions, p->batch, p->hidden };
	uint64_t rows, states = cpu_mul(cpu_mul(p->directions, p->batch), p->hidden);
	bool lstm = p->kind == VTACPU_LSTM;
	struct vtacpu_need product = { .why = NULL };
	struct vtacpu_gemm_f32 by_x;

	if (p->kind > VTACPU_LSTM || (p->directions != 1 && p->directions != 2) || p->reverse > 1 ||
	    p->linear > 1 || p->cell > lstm || p->has_c > lstm || p->has_p > lstm ||
	    p->has_bias > 1 || p->has_h > 1 || p->summed > 1 || p->panels > 1)
		return cpu_bad(need, "no such recurrent layer");
	rows = cpu_mul(cpu_mul(p->directions, gates_of(p->kind)), p->hidden);
	if (!cpu_count(x, 3) || !cpu_count(y, 4) || rows > COUNT_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	if (p->summed && p->inputs != rows)
		return cpu_bad(need, "the inputs are not the sums of all gates");
	need->work = cpu_mul(rows, (p->summed ? 0 : p->inputs) + (uint64_t)p->hidden);
	need->work = cpu_mul(cpu_mul(need->work, p->steps), p->batch);
	if (cpu_operand(need, cpu_count(x, 3), 4) ||
	    cpu_operand_if(need, !p->summed, cpu_mul(rows, p->inputs), 4) ||
	    cpu_operand(need, p->panels ? cpu_mul(p->directions, panels_size(p)) :
			cpu_mul(rows, p->hidden), 4) ||
	    cpu_operand_if(need, p->has_bias, cpu_mul(rows, 2), 4) ||
	    cpu_operand_if(need, p->has_h, states, 4) ||
	    cpu_operand_if(need, p->has_c, states, 4) ||
	    cpu_operand_if(need, p->has_p, 3ull * p->directions * p->hidden, 4) ||
	    cpu_operand(need, cpu_count(y, 4), 4))
		return -1;
	by_x = sums_by_x(p, images_at_once(p) * steps_at_once(p));
	if (!p->summed && cpu_gemm_f32_need(&by_x, &product))
		return cpu_bad(need, product.why);
	return cpu_scratch(need, cpu_mul(place_rooms(p).rest, 4) + product.scratch);
}

static const struct vtacpu_act sigmoid = { .kind = VTACPU_ACT_SIGMOID };
static const struct vtacpu_act tangent = { .kind = VTACPU_ACT_TANH };

/* One direction: its part of the operands, NULL if left out. */
struct layer {
	const struct vtacpu_recurrent *p;
	const float *w, *r, *bias, *peep;	/* bias: of w, then of r */
	const float *panels;			/* of r, or NULL */
	uint32_t d;
};

/* One image: the sums of its gates by input and by state, with their bias, and its state. */
struct cell {
	const struct layer *of;
	float *by_x, *by_h, *h, *c;
};

/* by_h of @count gates from @first on: r times x, and the bias. */
static void add_states(const struct cell *s, const float *x, size_t first, size_t count)
{
	const struct layer *l = s->of;
	size_t n = l->p->hidden, end = first + count;
	const float *bias = l->bias ? l->bias + gates_of(l->p->kind) * n : NULL;
	struct cpu_row row = { .x = x, .step = 1, .row = n, .col = 1, .k = n };

	for (size_t at = first; at < end; at += row.n) {
		size_t in = at % PANEL;

		row.w = l->r + at * n;
		row.n = end - at;
		if (l->panels) {
			row.w = l->panels + (at - in) * n + in;
			row.row = 1;
			row.col = PANEL;
			row.n = row.n < PANEL - in ? row.n : PANEL - in;
		}
		row.start = bias ? bias + at : NULL;
		row.y = s->by_h + at;
		cpu_row_f32(&row);
	}
}

/* gate[i] += by_h[i], and what the cell @c gives if there is a peephole */
CPU_INLINE void add_gate(float *gate, const float *by_h, const float *peep, const float *c,
			 size_t n)
{
	for (size_t i = 0; i < n; i++)
		gate[i] += by_h[i];
	for (size_t i = 0; peep && i < n; i++)
		gate[i] += peep[i] * c[i];
}

CPU_INLINE void step_rnn(struct cell *s, size_t n)
{
	add_states(s, s->h, 0, n);
	for (size_t i = 0; i < n; i++)
		s->h[i] = s->by_x[i] + s->by_h[i];
	cpu_act(&tangent, s->h, n);
}

/* Gates are z, r, h. */
CPU_INLINE void step_gru(struct cell *s, size_t n)
{
	float *z = s->by_x, *r = s->by_x + n, *new = s->by_x + 2 * n, *by_h = s->by_h + 2 * n;
	bool linear = s->of->p->linear;

	add_states(s, s->h, 0, linear ? 3 * n : 2 * n);
	add_gate(z, s->by_h, NULL, NULL, 2 * n);
	cpu_act(&sigmoid, z, 2 * n);
	if (!linear) {
		for (size_t i = 0; i < n; i++)
			s->by_h[i] = r[i] * s->h[i];
		add_states(s, s->by_h, 2 * n, n);
	}
	for (size_t i = 0; i < n; i++)
		new[i] += linear ? r[i] * by_h[i] : by_h[i];
	cpu_act(&tangent, new, n);
	for (size_t i = 0; i < n; i++)
		s->h[i] = (1 - z[i]) * new[i] + z[i] * s->h[i];
}

/* Gates are i, o, f, c; those of peepholes i, o, f. */
CPU_INLINE void step_lstm(struct cell *s, size_t n)
{
	float *in = s->by_x, *out = in + n, *forget = in + 2 * n, *new = in + 3 * n;
	const float *by_h = s->by_h, *peep = s->of->peep;

	add_states(s, s->h, 0, 4 * n);
	add_gate(in, by_h, peep, s->c, n);
	add_gate(forget, by_h + 2 * n, peep ? peep + 2 * n : NULL, s->c, n);
	add_gate(new, by_h + 3 * n, NULL, NULL, n);
	cpu_act(&sigmoid, in, n);
	cpu_act(&sigmoid, forget, n);
	cpu_act(&tangent, new, n);
	for (size_t i = 0; i < n; i++)
		s->c[i] = forget[i] * s->c[i] + in[i] * new[i];
	add_gate(out, by_h + n, peep ? peep + n : NULL, s->c, n);
	cpu_act(&sigmoid, out, n);
	memcpy(s->h, s->c, n * sizeof(float));
	cpu_act(&tangent, s->h, n);
	for (size_t i = 0; i < n; i++)
		s->h[i] = out[i] * s->h[i];
}

CPU_BODY run_step_body(bool wide, struct cell *s, float *y)
{
	const struct vtacpu_recurrent *p = s->of->p;
	size_t n = p->hidden;

	(void)wide;
	if (p->kind == VTACPU_LSTM)
		step_lstm(s, n);
	else if (p->kind == VTACPU_GRU)
		step_gru(s, n);
	else
		step_rnn(s, n);
	memcpy(y, p->cell ? s->c : s->h, n * sizeof(*y));
}

static void run_step(struct cell *s, float *y);
CPU_WIDE(run_step, (struct cell *s, float *y), s, y)

static void start(float *state, const float *from, size_t n)
{
	if (from)
		memcpy(state, from, n * sizeof(*from));
	else
		memset(state, 0, n * sizeof(*state));
}

/* y = x, and the bias */
static void add_bias(float *y, const float *x, const float *bias, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = bias ? x[i] + bias[i] : x[i];
}

/* Those at @x of @images, whose sums are given, through @steps steps */
static void take_sums(const struct layer *l, const float *x, float *by_x, uint32_t images,
		      uint32_t steps)
{
	const struct vtacpu_recurrent *p = l->p;
	size_t gates = gates_of(p->kind) * (size_t)p->hidden;

	for (uint32_t t = 0; t < steps; t++, x += (size_t)p->batch * p->inputs)
		for (uint32_t i = 0; i < images; i++, by_x += gates)
			add_bias(by_x, x + (size_t)i * p->inputs + l->d * gates, l->bias, gates);
}

/* Images [@image, @image + @images) through @steps steps: all of one, if there are more images. */
static void run_steps(const struct layer *l, void *const *io, float *scratch, uint32_t image,
		      uint32_t images, uint32_t first, uint32_t steps)
{
	const struct vtacpu_recurrent *p = l->p;
	size_t n = p->hidden, gates = gates_of(p->kind) * n;
	struct vtacpu_gemm_f32 by_x = sums_by_x(p, steps * images);
	bool reverse = l->d ? true : p->reverse;
	uint32_t begin = reverse ? p->steps - first - steps : first;
	const struct rooms room = place_rooms(p);
	void *const of_x[] = {
		(float *)io[0] + ((size_t)begin * p->batch + image) * p->inputs,
		(float *)l->w, (float *)l->bias, scratch + room.by_x,
	};

	if (p->summed)
		take_sums(l, of_x[0], of_x[3], images, steps);
	else
		vtacpu_gemm_f32(&by_x, of_x, scratch + room.rest);
	for (uint32_t k = 0; k < steps; k++) {
		size_t t = reverse ? steps - 1 - k : k;
		float *y = (float *)io[7] +
			   (((begin + t) * p->directions + l->d) * p->batch + image) * n;

		for (uint32_t i = 0; i < images; i++) {
			struct cell s = {
				.of = l, .by_x = scratch + room.by_x + (t * images + i) * gates,
				.by_h = scratch + room.by_h, .h = scratch + room.h + i * n,
				.c = scratch + room.c + i * n,
			};

			run_step(&s, y + i * n);
		}
	}
}

static void run_layer(const struct layer *l, void *const *io, float *scratch)
{
	const struct vtacpu_recurrent *p = l->p;
	const struct rooms room = place_rooms(p);
	uint32_t images, steps;

	for (uint32_t image = 0; image < p->batch; image += images) {
		size_t at = ((size_t)l->d * p->batch + image) * p->hidden;

		images = min_u32(images_at_once(p), p->batch - image);
		start(scratch + room.h, io[4] ? (const float *)io[4] + at : NULL,
		      (size_t)images * p->hidden);
		start(scratch + room.c, io[5] ? (const float *)io[5] + at : NULL,
		      (size_t)images * p->hidden);
		for (uint32_t first = 0; first < p->steps; first += steps) {
			steps = min_u32(steps_at_once(p), p->steps - first);
			run_steps(l, io, scratch, image, images, first, steps);
		}
	}
}

/* Rows of each panel are columns of r. */
static void fill_panels(struct layer *l, float *to)
{
	uint32_t n = l->p->hidden, gates = gates_of(l->p->kind) * n;

	l->panels = to;
	for (uint32_t at = 0; at < gates; at += PANEL) {
		uint32_t count = min_u32(PANEL, gates - at);
		struct vtacpu_move move = vtacpu_transpose(4, 2, (uint32_t[]) { count, n },
							   (uint32_t[]) { 1, 0 });
		void *const io[] = { (float *)l->r + (size_t)at * n, to + (size_t)at * n };

		move.y_stride[0] = PANEL;
		vtacpu_move(&move, io, NULL);
	}
}

void vtacpu_recurrent(const struct vtacpu_recurrent *p, void *const *io, void *scratch)
{
	size_t n = p->hidden, gates = gates_of(p->kind) * n;

	for (uint32_t d = 0; d < p->directions; d++) {
		struct layer l = {
			.p = p, .d = d,
			.w = p->summed ? NULL : (const float *)io[1] + d * gates * p->inputs,
			.r = (const float *)io[2] + d * gates * n,
			.bias = io[3] ? (const float *)io[3] + d * 2 * gates : NULL,
			.peep = io[6] ? (const float *)io[6] + d * 3 * n : NULL,
		};

		if (p->panels)
			l.panels = (const float *)io[2] + d * panels_size(p);
		else if (is_transposed(p))
			fill_panels(&l, (float *)scratch + place_rooms(p).r);
		run_layer(&l, io, scratch);
	}
}
