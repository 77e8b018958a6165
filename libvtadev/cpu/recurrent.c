// SPDX-License-Identifier: Apache-2.0
/* Recurrent layers: RNN, GRU and LSTM, as ONNX defines them. */
#include "cpu_impl.h"

static uint32_t gates_of(uint32_t kind)
{
	return kind == VTACPU_LSTM ? 4 : kind == VTACPU_GRU ? 3 : 1;
}

int cpu_recurrent_need(const struct vtacpu_recurrent *p, struct vtacpu_need *need)
{
	const uint32_t x[] = { p->steps, p->batch, p->inputs };
	const uint32_t y[] = { p->steps, p->directions, p->batch, p->hidden };
	uint64_t rows, states = cpu_mul(cpu_mul(p->directions, p->batch), p->hidden);
	bool lstm = p->kind == VTACPU_LSTM;

	if (p->kind > VTACPU_LSTM || (p->directions != 1 && p->directions != 2) || p->reverse > 1 ||
	    p->linear > 1 || p->cell > lstm || p->has_c > lstm || p->has_p > lstm ||
	    p->has_bias > 1 || p->has_h > 1)
		return cpu_bad(need, "no such recurrent layer");
	rows = cpu_mul(cpu_mul(p->directions, gates_of(p->kind)), p->hidden);
	if (!cpu_count(x, 3) || !cpu_count(y, 4) || rows > COUNT_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	need->work = cpu_mul(cpu_mul(cpu_mul(rows, p->inputs + (uint64_t)p->hidden), p->steps),
			     p->batch);
	if (cpu_operand(need, cpu_count(x, 3), 4) ||
	    cpu_operand(need, cpu_mul(rows, p->inputs), 4) ||
	    cpu_operand(need, cpu_mul(rows, p->hidden), 4) ||
	    cpu_operand_if(need, p->has_bias, cpu_mul(rows, 2), 4) ||
	    cpu_operand_if(need, p->has_h, states, 4) ||
	    cpu_operand_if(need, p->has_c, states, 4) ||
	    cpu_operand_if(need, p->has_p, 3ull * p->directions * p->hidden, 4) ||
	    cpu_operand(need, cpu_count(y, 4), 4))
		return -1;
	/* Sums of the gates by input and by state, the state and the cell of one image. */
	return cpu_scratch(need, cpu_mul(10ull * p->hidden, 4));
}

#define PARTS	8u

/* The sum of eight parts, after the products from @l on have been added to them. */
static float sum_up(float *part, const float *a, const float *b, size_t l, size_t n)
{
	float sum = 0;

	for (; l < n; l++)
		part[l % PARTS] += a[l] * b[l];
	for (size_t j = 0; j < PARTS; j++)
		sum += part[j];
	return sum;
}

static const struct vtacpu_act sigmoid = { .kind = VTACPU_ACT_SIGMOID };
static const struct vtacpu_act tangent = { .kind = VTACPU_ACT_TANH };

/* One direction of one image: its part of the operands, NULL if left out, and of the scratch. */
struct cell {
	const struct vtacpu_recurrent *p;
	const float *w, *r, *bias, *peep;	/* bias: of w, then of r */
	float *by_x, *by_h;			/* [gates][hidden]: the sums, with their bias */
	float *h, *c;
};

#define ROWS	4u

/* sums[i] = row i of @w times x, with its bias, for rows from @first on. */
CPU_BODY add_up_body(bool wide, float *sums, const float *w, const float *bias, const float *x,
		     size_t n, size_t first, size_t rows)
{
	size_t i = first, end = first + rows;

	(void)wide;
	for (; i + ROWS <= end; i += ROWS) {
		cpu_v8 parts[ROWS] = { 0 };
		size_t l = 0;

		for (; l + PARTS <= n; l += PARTS) {
			cpu_v8 v = *(const cpu_v8 *)(x + l);

#pragma GCC unroll 4
			for (size_t r = 0; r < ROWS; r++)
				parts[r] += *(const cpu_v8 *)(w + (i + r) * n + l) * v;
		}
		for (size_t r = 0; r < ROWS; r++)
			sums[i + r] = sum_up((float *)&parts[r], w + (i + r) * n, x, l, n) +
				      (bias ? bias[i + r] : 0);
	}
	for (; i < end; i++) {
		float part[PARTS] = { 0 };

		sums[i] = sum_up(part, w + i * n, x, 0, n) + (bias ? bias[i] : 0);
	}
}

static void add_up(float *sums, const float *w, const float *bias, const float *x, size_t n,
		   size_t first, size_t rows);
CPU_WIDE(add_up, (float *sums, const float *w, const float *bias, const float *x, size_t n,
		  size_t first, size_t rows), sums, w, bias, x, n, first, rows)

/* gate[i] += by_h[i], and what the cell @c gives if there is a peephole */
static void add_gate(float *gate, const float *by_h, const float *peep, const float *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gate[i] += by_h[i];
	for (size_t i = 0; peep && i < n; i++)
		gate[i] += peep[i] * c[i];
}

static void step_rnn(struct cell *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->h[i] = s->by_x[i] + s->by_h[i];
	cpu_act(&tangent, s->h, n);
}

/* Gates are z, r, h. */
static void step_gru(struct cell *s, size_t n)
{
	const float *bias = s->bias ? s->bias + 3 * n : NULL;
	float *z = s->by_x, *r = s->by_x + n, *new = s->by_x + 2 * n, *by_h = s->by_h + 2 * n;

	add_gate(z, s->by_h, NULL, NULL, 2 * n);
	cpu_act(&sigmoid, z, 2 * n);
	if (!s->p->linear) {
		for (size_t i = 0; i < n; i++)
			s->by_h[i] = r[i] * s->h[i];
		add_up(s->by_h, s->r, bias, s->by_h, n, 2 * n, n);
	}
	for (size_t i = 0; i < n; i++)
		new[i] += s->p->linear ? r[i] * by_h[i] : by_h[i];
	cpu_act(&tangent, new, n);
	for (size_t i = 0; i < n; i++)
		s->h[i] = (1 - z[i]) * new[i] + z[i] * s->h[i];
}

/* Gates are i, o, f, c; those of peepholes i, o, f. */
static void step_lstm(struct cell *s, size_t n)
{
	float *in = s->by_x, *out = in + n, *forget = in + 2 * n, *new = in + 3 * n;
	const float *by_h = s->by_h, *peep = s->peep;

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

static void start(float *state, const float *from, size_t n)
{
	if (from)
		memcpy(state, from, n * sizeof(*from));
	else
		memset(state, 0, n * sizeof(*state));
}

static void run_cell(struct cell *s, void *const *io, uint32_t d, uint32_t image)
{
	const struct vtacpu_recurrent *p = s->p;
	size_t n = p->hidden, rows = gates_of(p->kind) * n;
	bool reverse = d ? true : p->reverse;

	for (size_t k = 0; k < p->steps; k++) {
		size_t t = reverse ? p->steps - 1 - k : k;
		const float *x = (const float *)io[0] + (t * p->batch + image) * p->inputs;
		float *y = (float *)io[7] + ((t * p->directions + d) * p->batch + image) * n;

		add_up(s->by_x, s->w, s->bias, x, p->inputs, 0, rows);
		add_up(s->by_h, s->r, s->bias ? s->bias + rows : NULL, s->h, n, 0, rows);
		if (p->kind == VTACPU_LSTM)
			step_lstm(s, n);
		else if (p->kind == VTACPU_GRU)
			step_gru(s, n);
		else
			step_rnn(s, n);
		memcpy(y, p->cell ? s->c : s->h, n * sizeof(*y));
	}
}

void vtacpu_recurrent(const struct vtacpu_recurrent *p, void *const *io, void *scratch)
{
	size_t n = p->hidden, rows = gates_of(p->kind) * n;

	for (uint32_t d = 0; d < p->directions; d++)
		for (uint32_t image = 0; image < p->batch; image++) {
			size_t at = ((size_t)d * p->batch + image) * n;
			struct cell s = {
				.p = p,
				.w = (const float *)io[1] + d * rows * p->inputs,
				.r = (const float *)io[2] + d * rows * n,
				.bias = io[3] ? (const float *)io[3] + d * 2 * rows : NULL,
				.peep = io[6] ? (const float *)io[6] + d * 3 * n : NULL,
				.by_x = scratch, .by_h = (float *)scratch + 4 * n,
				.h = (float *)scratch + 8 * n, .c = (float *)scratch + 9 * n,
			};

			start(s.h, io[4] ? (const float *)io[4] + at : NULL, n);
			start(s.c, io[5] ? (const float *)io[5] + at : NULL, n);
			run_cell(&s, io, d, image);
		}
}
