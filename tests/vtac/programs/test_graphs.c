// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random networks through quantisation and lowering, with devices by chance, and random
 * models through all passes: on the core, in all orders of its modules, every tensor is
 * what the interpreter computes, bit for bit. Up to quantisation the passes keep what a
 * model computes.
 *
 *	test_graphs [COUNT]
 *
 * COUNT is the number of each. With VTA_SEED=n only that one is tested; VTAC_DUMP=1 prints it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_NO_MAIN
#include "../../frame.h"
#include "programs.h"
#include "api/vtac.h"

static uint64_t graphs = 500;
#define CALIBRATE	4
#define SHARES_FROM	200		/* so many have all that is drawn in its usual shares */

/* Widths, batch, block, then buffers: uop, inp, wgt, acc. */
static const struct core_config cores[] = {
	{ 3, 3, 5, 0, 4, 15, 15, 18, 17, 2, 0, 0 },	/* TVM's default */
	{ 3, 3, 5, 0, 4, 13, 12, 15, 14, 2, 0, 0 },
	{ 3, 3, 5, 0, 5, 15, 16, 19, 18, 2, 0, 0 },
	{ 3, 3, 5, 0, 6, 15, 15, 18, 17, 2, 0, 0 },
	{ 3, 3, 5, 1, 4, 14, 14, 17, 16, 2, 0, 0 },
	{ 3, 3, 5, 2, 3, 13, 13, 14, 15, 2, 0, 0 },
	{ 3, 2, 5, 0, 4, 15, 15, 17, 17, 2, 0, 0 },	/* int4 weights */
	{ 2, 2, 5, 0, 4, 14, 13, 16, 16, 2, 0, 0 },	/* int4 */
	{ 3, 1, 5, 0, 4, 14, 14, 15, 16, 2, 0, 0 },	/* int2 weights */
	{ 2, 3, 5, 0, 5, 13, 14, 17, 16, 2, 0, 0 },
};

enum { CORES = sizeof(cores) / sizeof(cores[0]) };

struct trial {
	uint64_t seed;
	unsigned int core, image;
	struct vtac_graph *g;
	int8_t **want;		/* by tensor id: of the interpreter */
	float **floats;
};

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct trial *trial = priv;

	random_image(trial->seed, i, t, values);
	return 0;
}

static int input(void *priv, const struct vtac_tensor *t, void *data)
{
	struct trial *trial = priv;

	return read_image(trial, trial->image, t, data);
}

static void keep(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct trial *trial = priv;

	trial->want[t->id] = malloc((size_t)vtac_bytes(t) + 1);
	memcpy(trial->want[t->id], data, (size_t)vtac_bytes(t));
}

/* [N][H][W][C] as [N][C][H][W] */
static void from_pixels(int8_t *to, const int8_t *from, const struct vtac_packed *s)
{
	size_t plane = (size_t)s->h * s->w;

	for (size_t n = 0; n < s->n; n++)
		for (size_t c = 0; c < s->c; c++)
			for (size_t i = 0; i < plane; i++)
				*to++ = from[(n * plane + i) * s->c + c];
}

static void compare(struct trial *trial, const struct native *n, const struct vtac_tensor *t)
{
	struct vtac_packed s = vtac_packed_shape(t);
	size_t bytes = (size_t)vtac_bytes(t);
	int8_t *got = malloc(bytes + 1);

	if (t->layout == VTAC_PIXELS)
		from_pixels(got, native_at(n, t), &s);
	else if (t->layout == VTAC_PACKED)
		vtaops_unpack_act(&n->p->core, got, native_at(n, t), s.n, s.c, s.h, s.w);
	else
		memcpy(got, native_at(n, t), bytes);
	for (size_t i = 0; i < bytes; i++)
		if (got[i] != trial->want[t->id][i])
			fail_msg("VTA_SEED=%llu core %u: %s (%s): "
				 "byte %zu of %zu is %d instead of %d",
				 (unsigned long long)trial->seed, trial->core, t->name,
				 t->producer ? vtac_op_name(t->producer->op) : "input", i, bytes,
				 got[i], trial->want[t->id][i]);
	free(got);
}

/* The program as an image: opened by its writer, and the same bytes each time. */
static void check_image(struct trial *trial, const struct vtac_program *p)
{
	const struct vtac_image_options how = { .name = "random" };
	uint8_t *image[2];
	size_t size[2];

	for (unsigned int i = 0; i < 2; i++)
		if (vtac_image(p, &how, &image[i], &size[i]))
			fail_msg("VTA_SEED=%llu core %u: %s", (unsigned long long)trial->seed,
				 trial->core, trial->g->error.text);
	assert_int_equal(size[0], size[1]);
	assert_memory_equal(image[0], image[1], size[0]);
	free(image[0]);
	free(image[1]);
}

static void run_in_order(struct trial *trial, const struct vtac_program *p, enum core_order order,
			 bool all)
{
	const struct vtac_interp io = { .input = input, .priv = trial };
	struct vtac_graph *g = trial->g;
	struct native n;

	assert_int_equal(native_init(&n, p, &cores[trial->core], order, trial->seed), 0);
	if (native_run(&n, &io))
		fail_msg("VTA_SEED=%llu core %u: %s", (unsigned long long)trial->seed, trial->core,
			 n.why);
	for (unsigned int i = 0; i < g->n_tensors; i++)
		if (!g->tensors[i]->data && (all || vtac_is_output(g, g->tensors[i])))
			compare(trial, &n, g->tensors[i]);
	native_fini(&n);
}

/* @all: compare all tensors, each with memory of its own; else the outputs alone. */
static void run(struct trial *trial, const struct vtac_options *opt, bool all)
{
	struct vtac_program p;

	if (vtac_pass_memory_plan(trial->g, opt) || vtac_lower(trial->g, opt, &p))
		fail_msg("VTA_SEED=%llu core %u: %s", (unsigned long long)trial->seed, trial->core,
			 trial->g->error.text);
	for (enum core_order order = CORE_ORDER_INORDER; order <= CORE_ORDER_RANDOM; order++)
		run_in_order(trial, &p, order, all);
	check_image(trial, &p);
	vtac_program_free(&p);
}

static void forget(struct trial *trial)
{
	for (unsigned int i = 0; i < trial->g->next_id; i++)
		free(trial->want[i]);
	free(trial->want);
	vtac_graph_free(trial->g);
}

/* Residuals of 16 bits in all networks so far */
static unsigned int lows;

static void quantise(struct trial *trial, struct vtac_options opt)
{
	const struct vtac_images images = {
		.count = CALIBRATE, .read = read_image, .priv = trial };
	struct vtac_quant_options how = *opt.quant;

	opt.images = &images;
	trial->g->how = &how;
	vtac_mark_precise(trial->g, &opt);
	if (vtac_split_residuals(trial->g) || vtac_pass_gptq(trial->g, &opt) ||
	    vtac_pass_stats(trial->g, &opt) || vtac_pass_residual(trial->g, &opt) ||
	    vtac_pass_precision(trial->g, &opt) || vtac_pass_zero_point(trial->g, &opt) ||
	    vtac_pass_requantize(trial->g, &opt) || vtac_pass_quantise(trial->g, &opt) ||
	    vtac_pass_schedule(trial->g, &opt) || vtac_graph_verify(trial->g, 0, 1))
		fail_msg("VTA_SEED=%llu core %u: %s", (unsigned long long)trial->seed, trial->core,
			 trial->g->error.text);
	trial->g->how = NULL;
	for (unsigned int i = 0; i < trial->g->n_nodes; i++)
		lows += trial->g->nodes[i]->post.low;
}

static bool only_dump(void)
{
	return getenv("VTA_SEED") && getenv("VTAC_DUMP");
}

static struct vtac_quant_options quantisation(uint64_t seed)
{
	return (struct vtac_quant_options) {
		.range = (enum vtac_range)(VTAC_RANGE_MSE + seed / 7 % 3),
		.equalise = (enum vtac_equalise)(VTAC_EQUALISE_NONE + seed / 19 % 3),
		.residual = seed / 3 % 2 ? VTAC_RESIDUAL_FUSED : VTAC_RESIDUAL_ADD,
		.nearest = seed / 11 % 4 == 0,
		.split = (enum vtac_split)(VTAC_SPLIT_NONE + seed / 5 % 3),
		.functions = (enum vtac_functions)(seed / 7 % 3),
		.per_tensor = seed / 11 % 4 == 0, .power_of_two = seed / 13 % 4 == 0,
		.no_zero_points = seed / 17 % 3 == 0,
		.padding = seed / 23 % 4 ? VTAC_PADDING_POINT : VTAC_PADDING_ZERO,
		.precision = seed / 2 % 2 ? VTAC_PRECISION_16 : VTAC_PRECISION_8,
	};
}

/* Runs the integers on the interpreter, and then on the core. */
static void check_bits(struct trial *trial, struct vtac_options *opt)
{
	const struct vtac_interp io = { .input = input, .tensor = keep, .priv = trial };

	trial->want = calloc(trial->g->next_id, sizeof(*trial->want));
	trial->image = CALIBRATE;
	if (vtac_interp_float(trial->g, &io))
		fail_msg("VTA_SEED=%llu: %s", (unsigned long long)trial->seed,
			 trial->g->error.text);
	opt->keep_all = true;
	run(trial, opt, true);
	opt->keep_all = false;
	run(trial, opt, false);
}

/* The core of a graph: with native_model, one of which there is a model. */
static unsigned int core_of(uint64_t seed)
{
	for (unsigned int i = 0; native_model && i < CORES; i++) {
		unsigned int core = (unsigned int)((seed + i) % CORES);
		struct core_config shallow = native_shallow(&cores[core]);

		if (native_model(&shallow))
			return core;
	}
	assert_null(native_model);
	return (unsigned int)(seed % CORES);
}

static void one_graph(uint64_t seed)
{
	struct trial trial = { .seed = seed, .core = core_of(seed) };
	struct vtac_quant_options how = quantisation(seed);
	struct vtac_options opt = { .core = native_core(&cores[trial.core]), .quant = &how };

	trial.g = random_graph(&opt.core, seed);
	assert_non_null(trial.g);
	if (only_dump())
		vtac_dump_text(trial.g, stdout);
	quantise(&trial, opt);
	check_bits(&trial, &opt);
	forget(&trial);
}

/* ---- all passes ---- */

/* The outputs of a float graph, one behind the other. */
struct values {
	float *v;
	size_t n;
};

static void keep_output(void *priv, const struct vtac_tensor *t, const void *data)
{
	struct trial *trial = priv;

	if (vtac_is_output(trial->g, t))
		keep(priv, t, data);
}

static struct values outputs(struct trial *trial, unsigned int image)
{
	const struct vtac_interp io = { .input = input, .tensor = keep_output, .priv = trial };
	struct vtac_graph *g = trial->g;
	struct values all = { NULL, 0 };

	trial->want = calloc(g->next_id, sizeof(*trial->want));
	trial->image = image;
	if (vtac_interp_float(g, &io))
		fail_msg("VTA_SEED=%llu: %s", (unsigned long long)trial->seed, g->error.text);
	for (unsigned int i = 0; i < g->n_outputs; i++) {
		size_t n = (size_t)vtac_elements(g->outputs[i]);

		all.v = realloc(all.v, (all.n + n) * sizeof(float));
		memcpy(all.v + all.n, trial->want[g->outputs[i]->id], n * sizeof(float));
		all.n += n;
	}
	for (unsigned int i = 0; i < g->next_id; i++)
		free(trial->want[i]);
	free(trial->want);
	return all;
}

/* Sums in another order, and factors that are folded, differ by rounding alone. */
static void check_floats(const struct trial *trial, const char *pass, const struct values *want,
			 const struct values *got)
{
	float most = 1;

	assert_int_equal(want->n, got->n);
	for (size_t i = 0; i < want->n; i++)
		most = fmaxf(most, fabsf(want->v[i]));
	for (size_t i = 0; i < want->n; i++)
		if (!(fabsf(want->v[i] - got->v[i]) <= most / 1000))
			fail_msg("VTA_SEED=%llu core %u: after %s output %zu is %g instead of %g",
				 (unsigned long long)trial->seed, trial->core, pass, i,
				 (double)got->v[i], (double)want->v[i]);
}

static void all_passes(struct trial *trial, const struct vtac_options *opt)
{
	struct values want = { NULL, 0 };
	bool calibrated = false;

	/* Calibration keeps what its images give; limits that others exceed may be lower. */
	for (const struct vtac_pass *p = vtac_passes; p->name; p++) {
		if (!strcmp(p->name, "calibrate")) {
			free(want.v);
			want = outputs(trial, 0);
			calibrated = true;
		}
		if (p->run(trial->g, opt) ||
		    vtac_graph_verify(trial->g, p->after, opt->core.block))
			fail_msg("VTA_SEED=%llu core %u: %s: %s", (unsigned long long)trial->seed,
				 trial->core, p->name, trial->g->error.text);
		if (!strcmp(p->name, "shape")) {
			want = outputs(trial, CALIBRATE);
		} else if (!strcmp(p->name, "fuse") || !strcmp(p->name, "pad_channels") ||
			   (calibrated && !(p->after & VTAC_SCALED))) {
			struct values got = outputs(trial, calibrated ? 0 : CALIBRATE);

			check_floats(trial, p->name, &want, &got);
			free(got.v);
		}
	}
	free(want.v);
}

/* Nodes, products of two computed tensors, results of 16 bits, convolutions of squares */
struct devices {
	unsigned int nodes, card, products, card_products, precise, squares, around;
};

static void count_devices(const struct vtac_graph *g, struct devices *count)
{
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		const struct vtac_node *node = g->nodes[i];
		bool card = node->device == VTAC_CARD;

		count->nodes++;
		count->card += card;
		count->precise += node->precise;
		count->squares += node->op == VTAC_CONV && node->attr.conv.file.channels;
		count->around += node->post.around != 0;
		count->products += node->op == VTAC_BATCH_GEMM;
		count->card_products += node->op == VTAC_BATCH_GEMM && card;
	}
}

/* Many nodes are borders: quantised, packed, and back. Some cores have no products. */
static void check_devices(const struct devices *count, uint64_t models)
{
	print_message("# %u of %u nodes on the card, and %u of %u products of computed tensors\n",
		      count->card, count->nodes, count->card_products, count->products);
	if (models < SHARES_FROM)
		return;
	assert_true(5 * count->card > count->nodes);
	assert_true(!count->products || 5 * count->card_products > 2 * count->products);
}

/* A model as a user's, of which the passes choose what is on the card. */
static void one_model(uint64_t seed, struct devices *count)
{
	struct trial trial = { .seed = seed, .core = core_of(seed) };
	const struct vtac_images images = {
		.count = CALIBRATE, .read = read_image, .priv = &trial };
	struct vtac_quant_options how = quantisation(seed);
	struct vtac_options opt = {
		.core = native_core(&cores[trial.core]), .quant = &how, .images = &images,
		.no_prune = seed % 4 != 0, .cpu_rate = 1 };

	trial.g = random_model(&opt.core, seed);
	assert_non_null(trial.g);
	if (only_dump())
		vtac_dump_text(trial.g, stdout);
	all_passes(&trial, &opt);
	count_devices(trial.g, count);
	check_bits(&trial, &opt);
	forget(&trial);
}

/* ---- models that are quantised already ---- */

static struct vtac_tensor *constant(struct vtac_graph *g, enum vtac_dtype type, const void *value)
{
	return vtac_tensor_const(g, "quant", type, 0, NULL, value, true);
}

/* A node on @x, with the scale and the zero point. */
static struct vtac_node *quant_node(struct vtac_graph *g, enum vtac_op op, struct vtac_tensor *x,
				    struct vtac_tensor *scale, struct vtac_tensor *zero)
{
	struct vtac_tensor *y = vtac_tensor_shaped(g, x->name, VTAC_F32, x->rank, x->dims);
	struct vtac_node *node = vtac_node_new(g, op, NULL, 3, 1);

	assert_true(y && node && !vtac_node_set_in(g, node, 0, x) &&
		    !vtac_node_set_in(g, node, 1, scale) && !vtac_node_set_in(g, node, 2, zero));
	if (op == VTAC_QUANTIZE)
		y->dtype = zero->dtype;
	vtac_node_set_out(node, 0, y);
	return node;
}

/* All users of @t get what is left of its values in 8 bits. */
static void round_tensor(struct vtac_graph *g, struct vtac_tensor *t, bool is_signed)
{
	float lo = fminf(t->stats->lo, 0), hi = fmaxf(t->stats->hi, 0.01f);
	float scale = is_signed ? fmaxf(-lo, hi) / 127 : (hi - lo) / 255;
	uint8_t zero = is_signed ? 0 : (uint8_t)rintf(-lo / scale);
	struct vtac_tensor *s = constant(g, VTAC_F32, &scale);
	struct vtac_tensor *z = constant(g, is_signed ? VTAC_I8 : VTAC_U8, &zero);
	struct vtac_node *first = quant_node(g, VTAC_QUANTIZE, t, s, z), *last;

	last = quant_node(g, VTAC_DEQUANTIZE, first->out[0], s, z);
	assert_int_equal(vtac_tensor_replace(g, t, last->out[0]), 0);
	assert_int_equal(vtac_node_set_in(g, last, 0, first->out[0]), 0);
	assert_int_equal(vtac_node_set_in(g, first, 0, t), 0);
}

/* Are the limits that @user, a Clip, sets to @t's values a few steps of their range apart? */
static bool limits_steps(const struct vtac_node *user, const struct vtac_tensor *t)
{
	return user->attr.clip.hi - user->attr.clip.lo < (t->stats->hi - t->stats->lo) / 8;
}

/*
 * Quantisers round what is computed, before or behind its activation, and leave what moves values
 * as it is. Some leave out layers.
 */
static bool is_rounded(const struct vtac_graph *g, const struct vtac_tensor *t, uint32_t dice)
{
	const struct vtac_node *node = t->producer, *user = vtac_only_user(g, t);

	if (!t->stats || t->data || dice % 12 == 0)
		return false;
	if (node && node->op == VTAC_CLIP)
		return dice / 12 % 2;
	return !node || (!vtac_moves_values(node->op) &&
			 (!user || user->op != VTAC_CLIP ||
			  (dice / 12 % 2 && !limits_steps(user, t))));
}

/* Is @t what a file must round so that it is quantised? */
static bool is_computed(const struct vtac_tensor *t)
{
	return t->stats && !t->data && t->producer && t->producer->op != VTAC_CLIP &&
	       !vtac_moves_values(t->producer->op);
}

/* Rounds tensors of @trial's model by their ranges: one that is computed, at least. */
/* Stats are those of the card's tensors. */
static void place_all(const struct vtac_graph *g, enum vtac_device device)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		g->nodes[i]->device = device;
}

static void round_model(struct trial *trial, const struct vtac_options *opt)
{
	const struct vtac_images images = { .count = CALIBRATE, .read = read_image, .priv = trial };
	struct vtac_options with = *opt;
	struct vtac_graph *g = trial->g;
	uint64_t dice = trial->seed + 1;
	bool computed = false;
	unsigned int n;

	with.images = &images;
	if (vtac_pass_shape(g, opt))
		fail_msg("VTA_SEED=%llu: %s", (unsigned long long)trial->seed, g->error.text);
	place_all(g, VTAC_CARD);
	if (vtac_collect_stats(g, &with, CALIBRATE, 0, false))
		fail_msg("VTA_SEED=%llu: %s", (unsigned long long)trial->seed, g->error.text);
	place_all(g, VTAC_CPU);
	n = g->n_tensors;
	for (unsigned int i = 0; i < n; i++) {
		dice = dice * 6364136223846793005ull + 1442695040888963407ull;
		if (!is_rounded(g, g->tensors[i], (uint32_t)(dice >> 33)))
			continue;
		computed = computed || is_computed(g->tensors[i]);
		round_tensor(g, g->tensors[i], dice >> 63);
	}
	for (unsigned int i = 0; i < n && !computed; i++) {
		computed = is_computed(g->tensors[i]);
		if (computed)
			round_tensor(g, g->tensors[i], true);
	}
	assert_int_equal(vtac_graph_dce(g), 0);
	for (unsigned int i = 0; i < g->n_tensors; i++)
		g->tensors[i]->stats = NULL;
}

/*
 * Softmax of values that are far apart chooses one of them: a step decides which. A row that
 * varies by a step has errors of its size when its deviation is the unit.
 */
static bool chooses(const struct vtac_graph *g)
{
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->op == VTAC_SOFTMAX || g->nodes[i]->op == VTAC_NORM)
			return true;
	return false;
}

/* A model without images: it compiles, and computes what the file means. */
static void one_rounded(uint64_t seed, struct devices *count)
{
	struct trial trial = { .seed = seed, .core = core_of(seed) };
	struct vtac_options opt = { .core = native_core(&cores[trial.core]), .no_prune = true };
	bool byte = cores[trial.core].log_inp_width == 3 && cores[trial.core].log_wgt_width == 3;
	double signal = 0, noise = 0;
	struct values want, got;

	trial.g = random_model(&opt.core, seed);
	assert_non_null(trial.g);
	round_model(&trial, &opt);
	if (only_dump())
		vtac_dump_text(trial.g, stdout);
	want = outputs(&trial, CALIBRATE);
	if (vtac_run_passes(trial.g, &opt, NULL))
		fail_msg("VTA_SEED=%llu core %u: %s", (unsigned long long)seed, trial.core,
			 trial.g->error.text);
	got = outputs(&trial, CALIBRATE);
	assert_int_equal(want.n, got.n);
	for (size_t i = 0; i < want.n; i++) {
		signal += (double)want.v[i] * want.v[i];
		noise += ((double)want.v[i] - got.v[i]) * ((double)want.v[i] - got.v[i]);
	}
	if (byte && !chooses(trial.g) && noise > signal / 10)
		fail_msg("VTA_SEED=%llu core %u: noise %g, signal %g", (unsigned long long)seed,
			 trial.core, noise, signal);
	free(want.v);
	free(got.v);
	count_devices(trial.g, count);
	check_bits(&trial, &opt);
	forget(&trial);
}

static void set_range(uint64_t *first, uint64_t *end)
{
	const char *only = getenv("VTA_SEED");

	*first = only ? strtoull(only, NULL, 0) : 0;
	*end = only ? *first + 1 : graphs;
}

TEST(card_is_the_interpreter)
{
	uint64_t first, end;

	set_range(&first, &end);
	for (uint64_t i = first; i < end; i++)
		one_graph(i);
	print_message("# %llu networks on %d cores in 3 orders, every tensor bit for bit\n",
		      (unsigned long long)(end - first), CORES);
	print_message("# %u residuals of 16 bits\n", lows);
	if (end - first >= SHARES_FROM)
		assert_true(20 * lows > end - first);
}

TEST(card_is_the_interpreter_after_all_passes)
{
	struct devices count = { 0 };
	uint64_t first, end;

	set_range(&first, &end);
	for (uint64_t i = first; i < end; i++)
		one_model(i, &count);
	print_message("# %llu models on %d cores in 3 orders, every tensor bit for bit\n",
		      (unsigned long long)(end - first), CORES);
	print_message("# %u results of 16 bits, %u convolutions of squares of positions\n",
		      count.precise, count.squares);
	print_message("# %u convolutions with zero points around their inputs\n", count.around);
	check_devices(&count, end - first);
	if (end - first >= SHARES_FROM) {
		assert_true(2 * count.precise > end - first);
		assert_true(10 * count.squares > end - first);
		assert_true(10 * count.around > end - first);
	}
}

TEST(files_with_scales_need_no_images)
{
	struct devices count = { 0 };
	uint64_t first, end;

	set_range(&first, &end);
	for (uint64_t i = first; i < end; i++)
		one_rounded(i, &count);
	print_message("# %llu quantised models on %d cores in 3 orders, every tensor bit for bit\n",
		      (unsigned long long)(end - first), CORES);
	check_devices(&count, end - first);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		graphs = strtoull(argv[1], NULL, 0);
	return frame_run(NULL);
}
