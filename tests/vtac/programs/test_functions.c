// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test of compiler/quant/function.c: each function that the card computes, of all integers of its
 * input, at pairs of scales and zero points of input and output. The results are at most a step
 * from the rounded exact ones, and the core computes what the interpreter does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../frame.h"
#include "programs.h"
#include "api/vtac.h"

#define PAIRS	20

static const struct core_config byte_core = { 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 };
static const struct core_config batch_core = { 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 };
static const struct core_config int4_core = { 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 };

static const struct function {
	const char *name;
	enum vtac_op op;
	enum vtacpu_act_kind kind;
	float alpha, beta;
} functions[] = {
	{ "Sigmoid", VTAC_UNARY, VTACPU_ACT_SIGMOID, 0, 0 },
	{ "Tanh", VTAC_UNARY, VTACPU_ACT_TANH, 0, 0 },
	{ "SiLU", VTAC_UNARY, VTACPU_ACT_SWISH, 1, 0 },
	{ "x * Sigmoid(1.702 x)", VTAC_UNARY, VTACPU_ACT_SWISH, 1.702f, 0 },
	{ "GELU", VTAC_UNARY, VTACPU_ACT_GELU, 0, 0 },
	{ "GELU by Tanh", VTAC_UNARY, VTACPU_ACT_GELU_TANH, 0, 0 },
	{ "Mish", VTAC_UNARY, VTACPU_ACT_MISH, 0, 0 },
	{ "HardSwish", VTAC_HARD_SWISH, VTACPU_ACT_NONE, 0, 0 },
	{ "HardSigmoid", VTAC_HARD_SIGMOID, VTACPU_ACT_NONE, 0.2f, 0.5f },
	{ "LeakyRelu", VTAC_LEAKY_RELU, VTACPU_ACT_NONE, 0.1f, 0 },
	{ "LeakyRelu of -2", VTAC_LEAKY_RELU, VTACPU_ACT_NONE, -2, 0 },
	{ "Elu", VTAC_UNARY, VTACPU_ACT_ELU, 1, 0 },
	{ "Selu", VTAC_UNARY, VTACPU_ACT_SELU, 1.67326f, 1.0507f },
	{ "Celu", VTAC_UNARY, VTACPU_ACT_CELU, 2, 0 },
	{ "Softplus", VTAC_UNARY, VTACPU_ACT_SOFTPLUS, 0, 0 },
	{ "Softsign", VTAC_UNARY, VTACPU_ACT_SOFTSIGN, 0, 0 },
	{ "Exp", VTAC_UNARY, VTACPU_ACT_EXP, 0, 0 },
	{ "Sqrt", VTAC_UNARY, VTACPU_ACT_SQRT, 0, 0 },
	{ "Pow of 2", VTAC_UNARY, VTACPU_ACT_POWER, 2, 0 },
	{ "Pow of 3", VTAC_UNARY, VTACPU_ACT_POWER, 3, 0 },
	{ "Pow of 0.3", VTAC_UNARY, VTACPU_ACT_POWER, 0.3f, 0 },
	{ "Erf", VTAC_UNARY, VTACPU_ACT_ERF, 0, 0 },
	{ "Abs", VTAC_UNARY, VTACPU_ACT_ABS, 0, 0 },
	{ "Neg", VTAC_UNARY, VTACPU_ACT_NEG, 0, 0 },
	{ "Atan", VTAC_UNARY, VTACPU_ACT_ATAN, 0, 0 },
	{ "Sinh", VTAC_UNARY, VTACPU_ACT_SINH, 0, 0 },
	{ "Shrink", VTAC_UNARY, VTACPU_ACT_SHRINK, 0.5f, 0.2f },
	{ "ThresholdedRelu", VTAC_UNARY, VTACPU_ACT_THRESHOLD, 1, 0 },
	{ "Round", VTAC_UNARY, VTACPU_ACT_ROUND, 0, 0 },
	{ "Sign", VTAC_UNARY, VTACPU_ACT_SIGN, 0, 0 },
	{ "Sin", VTAC_UNARY, VTACPU_ACT_SIN, 0, 0 },	/* as many ramps as there can be */
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

struct trial {
	const struct function *function;
	struct vtac_graph *g;
	struct vtac_tensor *x, *y;	/* of the function, on the card */
	float scale[2];
	int32_t zero[2];
	int least, most;		/* integers of the core */
	int8_t *want;			/* the interpreter's results */
};

static uint64_t state;

static double uniform(double lo, double hi)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return lo + (hi - lo) * (double)(state >> 40) / (double)(1 << 24);
}

static int limit(double v, int lo, int hi)
{
	return v < lo ? lo : v > hi ? hi : (int)v;
}

/* The results of all integers of the input, as floats. */
static void compute(const struct trial *t, float *values)
{
	const struct vtac_node node = {
		.op = t->function->op, .attr.unary = {
			.alpha = t->function->alpha, .beta = t->function->beta,
			.kind = t->function->kind } };

	for (int i = t->least; i <= t->most; i++)
		values[i - t->least] = t->scale[0] * (float)(i - t->zero[0]);
	vtac_compute_function(&node, values, (uint32_t)(t->most - t->least + 1));
}

/* Scales of inputs from small to large; outputs of which some are clipped, or use few integers. */
static void choose_scales(struct trial *t, unsigned int pair)
{
	float values[256], lo = 0, hi = 0;
	int n = t->most - t->least + 1;

	t->scale[0] = (float)(exp(uniform(log(0.5), log(24))) / n);
	t->zero[0] = pair % 4 == 0 ? 0 : pair % 4 == 1 ? t->least :
		     limit(uniform(t->least, t->most), t->least, t->most);
	compute(t, values);
	for (int i = 0; i < n; i++)
		if (isfinite(values[i])) {
			lo = fminf(lo, values[i]);
			hi = fmaxf(hi, values[i]);
		}
	t->scale[1] = (hi - lo) / (float)n * (float)exp(uniform(pair % 5 ? -0.2 : -1.5, 0.7));
	if (!(t->scale[1] > 0))
		t->scale[1] = 1;
	t->zero[1] = pair % 3 == 0 ? 0 :
		     limit(rint(t->least - lo / t->scale[1]), t->least, t->most);
}

/* A file's scale is of bytes: one of 4 bits is made of it for the same range. */
static void give_scale(struct trial *t, struct vtac_tensor *x, int i)
{
	t->scale[i] *= (float)t->most / 127;
	x->quant = (struct vtac_quant) {
		.scale = &t->scale[i], .zero = &t->zero[i], .n = 1, .type = VTAC_I8,
		.given = true };
}

/* The scales that the passes made of those. */
static void take_scales(struct trial *t)
{
	const struct vtac_quant *quant[2] = { &t->y->producer->in[0]->quant, &t->y->quant };

	for (int i = 0; i < 2; i++) {
		t->scale[i] = quant[i]->scale[0];
		t->zero[i] = quant[i]->zero ? quant[i]->zero[0] : 0;
	}
}

/* The function alone, of a tensor with each integer once, through the passes behind partition. */
static void build(struct trial *t, const struct vtac_options *opt)
{
	const struct vtac_pass *p = vtac_passes;
	int side = t->most - t->least == 255 ? 16 : 4;
	struct vtac_node *node;

	t->g = vtac_graph_new(0);
	node = vtac_node_new(t->g, t->function->op, "function", 1, 1);
	t->x = vtac_tensor_shaped(t->g, "x", VTAC_F32, 4, (int64_t[]) { 1, 1, side, side });
	t->y = vtac_tensor_shaped(t->g, "y", VTAC_F32, 4, (int64_t[]) { 1, 1, side, side });
	give_scale(t, t->x, 0);
	give_scale(t, t->y, 1);
	node->attr.unary.kind = t->function->kind;
	node->attr.unary.alpha = t->function->alpha;
	node->attr.unary.beta = t->function->beta;
	node->device = VTAC_CARD;
	vtac_node_set_out(node, 0, t->y);
	if (vtac_graph_input(t->g, t->x) || vtac_node_set_in(t->g, node, 0, t->x) ||
	    vtac_graph_output(t->g, t->y) || vtac_graph_dce(t->g))
		fail_msg("%s", t->g->error.text);
	while (strcmp(p->name, "legalize"))
		p++;
	for (; p->name; p++)
		if (p->run(t->g, opt) || vtac_graph_verify(t->g, p->after, opt->core.block))
			fail_msg("%s: %s: %s", t->function->name, p->name, t->g->error.text);
	take_scales(t);
}

static int input(void *priv, const struct vtac_tensor *x, void *data)
{
	const struct trial *t = priv;
	float *values = data;

	for (int i = 0; i < vtac_elements(x); i++)
		values[i] = t->scale[0] * (float)(t->least + i - t->zero[0]);
	return 0;
}

static void keep(void *priv, const struct vtac_tensor *x, const void *data)
{
	struct trial *t = priv;

	if (x != t->y)
		return;
	t->want = malloc((size_t)vtac_bytes(x));
	memcpy(t->want, data, (size_t)vtac_bytes(x));
}

static void check_steps(const struct trial *t, int *worst)
{
	const struct vtac_post *post = &t->y->producer->post;
	int n = t->most - t->least + 1;
	float exact[256];

	compute(t, exact);
	for (int i = 0; i < n; i++) {
		double y = rint((double)exact[i] / (double)t->scale[1]) + t->zero[1];
		int steps;

		/* Any will do for what has no result. Around 0 the least of 4 bits is not used. */
		if (isnan(exact[i]) || (!i && !t->zero[0] && n < 256))
			continue;
		steps = abs(t->want[i] - limit(y, post->lo, post->hi));
		*worst = steps > *worst ? steps : *worst;
		if (steps > 1)
			fail_msg("%s, scales %g and %g, zeros %d and %d: %d gives %d, not %g",
				 t->function->name, (double)t->scale[0], (double)t->scale[1],
				 t->zero[0], t->zero[1], t->least + i, t->want[i], y);
	}
	assert_in_range(post->function->worst, 0, 1);
}

static void check_card(const struct trial *t, const struct vtac_options *opt,
		       const struct core_config *cfg)
{
	const struct vtac_interp io = { .input = input, .priv = (void *)(uintptr_t)t };
	int8_t got[256];
	struct native n;
	struct vtac_program p;
	struct vtac_packed s = vtac_packed_shape(t->y);

	if (vtac_lower(t->g, opt, &p))
		fail_msg("%s: %s", t->function->name, t->g->error.text);
	assert_int_equal(native_init(&n, &p, cfg, CORE_ORDER_RANDOM, state), 0);
	if (native_run(&n, &io))
		fail_msg("%s: %s", t->function->name, n.why);
	vtaops_unpack_act(&p.core, got, native_at(&n, t->y), s.n, s.c, s.h, s.w);
	assert_memory_equal(got, t->want, (size_t)vtac_bytes(t->y));
	native_fini(&n);
	vtac_program_free(&p);
}

/* All functions and pairs on a core. */
static void try_all(const struct core_config *cfg, enum vtac_functions how)
{
	const struct vtac_quant_options quant = { .functions = how };
	struct vtac_options opt = { .core = native_core(cfg), .keep_all = true, .quant = &quant };
	int most = (1 << ((1 << opt.core.log_inp_width) - 1)) - 1;

	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		uint64_t cycles = 0, ramps = 0;
		double rms = 0;
		int worst = 0;

		for (unsigned int pair = 0; pair < PAIRS; pair++) {
			const struct vtac_interp io = { .input = input, .tensor = keep };
			struct trial t = { .function = &functions[i], .least = -most - 1,
					   .most = most };
			struct vtac_interp with = io;

			with.priv = &t;
			choose_scales(&t, pair);
			build(&t, &opt);
			if (vtac_interp_float(t.g, &with))
				fail_msg("%s", t.g->error.text);
			assert_non_null(t.want);
			check_steps(&t, &worst);
			check_card(&t, &opt, cfg);
			cycles += t.y->producer->post.function->cycles;
			rms += (double)t.y->producer->post.function->rms;
			ramps += t.y->producer->post.function->formula.count;
			free(t.want);
			vtac_graph_free(t.g);
		}
		printf("# %-20s within %d of the exact step; on average %.2f, %5.1f ramps, "
		       "%6.1f cycles an element\n", functions[i].name, worst, rms / PAIRS,
		       (double)ramps / PAIRS, (double)cycles / PAIRS);
	}
}

TEST(functions_of_bytes)
{
	state = 1;
	try_all(&byte_core, VTAC_FUNCTIONS_FAST);
}

TEST(exact_functions_of_bytes)
{
	state = 1;
	try_all(&byte_core, VTAC_FUNCTIONS_EXACT);
}

TEST(functions_of_bytes_in_batches)
{
	state = 2;
	try_all(&batch_core, VTAC_FUNCTIONS_FAST);
}

TEST(functions_of_4_bits)
{
	state = 3;
	try_all(&int4_core, VTAC_FUNCTIONS_FAST);
}
