// SPDX-License-Identifier: GPL-2.0-only
/*
 * lower.c - operators of any core, with any parameters
 *
 * A layer that is lowered runs on the core without a fault, reads its inputs and writes its
 * output alone, whose memory is as large as the size functions return. The rest is
 * refused, with a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "image.h"
#include "machine.h"

#define MEM_SIZE	(4u << 20)
#define TENSOR_MAX	(1u << 15)
#define WORK_MAX	(1u << 13)	/* micro-ops that a layer may take here */
#define GUARD		4096u
#define SEEDS		16u
#define SEED_BYTES	64u

struct input {
	const uint8_t *data;
	size_t size;
};

static uint32_t take_bytes(struct input *in, unsigned int bytes)
{
	uint32_t value = 0;

	for (; bytes && in->size; bytes--, in->size--)
		value = value << 8 | *in->data++;
	return value;
}

/* Mostly something small; anything at times. */
static uint32_t number(struct input *in, uint32_t least, uint32_t below)
{
	uint32_t value = take_bytes(in, 1);

	return value == 0xff ? take_bytes(in, 4) : least + value % (below - least);
}

static void must_hold(bool good, const char *what)
{
	if (!good)
		machine_die("%s", what);
}

enum { CONV, DENSE, ELTWISE, WINDOW, FUNCTION, CHANNELS, MATMUL, NORM, KINDS };
#define SOURCES	4u
#define PICKS	80u

#define RAMPS	20u

struct layer {
	unsigned int kind, which;
	struct vtaops_conv2d conv;
	struct vtaops_dense dense;
	uint32_t start;			/* of the sums of these two, or 0 */
	uint32_t around;		/* the input of the first, or 0 */
	struct vtaops_fine fine;	/* likewise its low halves */
	struct vtaops_eltwise eltwise;
	struct vtaops_window window;
	struct vtaops_function function;
	struct vtaops_ramp ramps[RAMPS];
	struct vtaops_channels channels;
	struct vtaops_matmul matmul;
	struct vtaops_norm norm;
	struct vtaops_source sources[SOURCES];
	struct vtaops_pick picks[PICKS];
};

static int lower_layer(struct vtaops_builder *b, const void *arg)
{
	static int (*const eltwise[])(struct vtaops_builder *b, const struct vtaops_eltwise *op) = {
		vtaops_add, vtaops_mul, vtaops_max, vtaops_min, vtaops_shift, vtaops_requantise,
	};
	static int (*const window[])(struct vtaops_builder *b, const struct vtaops_window *op) = {
		vtaops_max_pool, vtaops_sum_pool, vtaops_avg_pool, vtaops_depthwise,
	};
	const struct layer *l = arg;

	switch (l->kind) {
	case CONV:
		if (l->fine.res || l->fine.out)
			return vtaops_conv2d_fine(b, &l->conv, &l->fine, l->around);
		if (l->around)
			return vtaops_conv2d_around(b, &l->conv, l->start, l->around);
		return l->start ? vtaops_conv2d_start(b, &l->conv, l->start) :
				  vtaops_conv2d(b, &l->conv);
	case DENSE:
		return l->start ? vtaops_dense_start(b, &l->dense, l->start) :
				  vtaops_dense(b, &l->dense);
	case ELTWISE:
		return eltwise[l->which % 6](b, &l->eltwise);
	case FUNCTION:
		return vtaops_function(b, &l->function);
	case CHANNELS:
		return vtaops_channels(b, &l->channels);
	case MATMUL:
		return vtaops_matmul(b, &l->matmul);
	case NORM:
		return vtaops_norm(b, &l->norm);
	default:
		return window[l->which % 4](b, &l->window);
	}
}

enum fate {
	RUN,
	LARGE,		/* maybe good, but too much work */
	REFUSE,		/* a tensor that cannot be */
};

/* Memory for a tensor; one that cannot be has an address, too. */
static uint32_t reserve(struct machine *m, size_t bytes, enum fate *fate)
{
	if (!bytes)
		*fate = REFUSE;
	else if (bytes > TENSOR_MAX && *fate == RUN)
		*fate = LARGE;
	return machine_alloc(m, bytes && bytes <= TENSOR_MAX ? bytes : 1);
}

static void limit_work(uint64_t work, enum fate *fate)
{
	if (work > WORK_MAX && *fate == RUN)
		*fate = LARGE;
}

static struct vtaops_post make_post(struct machine *m, struct input *in, uint32_t channels,
				    enum fate *fate)
{
	unsigned int has = take_bytes(in, 1);
	int top = 1 << ((1 << m->core.log_inp_width) - 1);
	struct vtaops_post p = {
		.mul = has & 8 ? (int)(int16_t)take_bytes(in, 2) : 0, .round = has >> 4 & 1,
		.shift = has & 32 ? number(in, 0, 32) : 0, .lo = has & 64 ? 0 : -top, .hi = top - 1,
	};
	size_t bytes = vtaops_bias_bytes(&m->core, channels);

	if (has & 1)
		p.bias = reserve(m, bytes, fate);
	if (has & 2 && !p.mul)
		p.muls = reserve(m, bytes, fate);
	if (has & 4 && !p.shift)
		p.shifts = reserve(m, bytes, fate);
	return p;
}

static void add_conv(struct machine *m, struct input *in, struct layer *l, enum fate *fate)
{
	struct vtaops_conv2d *op = &l->conv;
	const struct vtaops_core *c = &m->core;
	unsigned int has = take_bytes(in, 1);
	uint32_t oh, ow;

	*op = (struct vtaops_conv2d) {
		.n = number(in, 1, 4), .in = number(in, 1, 40), .h = number(in, 1, 12),
		.w = number(in, 1, 12), .units = number(in, 1, 40), .kh = number(in, 1, 5),
		.kw = number(in, 1, 5), .stride_h = number(in, 1, 4), .stride_w = number(in, 1, 4),
		.pad_h = number(in, 0, 4), .pad_w = number(in, 0, 4), .dil_h = number(in, 0, 3),
		.dil_w = number(in, 0, 3), .transposed = has & 1,
		.groups = has & 2 ? number(in, 1, 6) : 0,
		.res_shift = has & 4 ? number(in, 0, 32) : 0,
	};
	if (op->transposed) {
		op->out_pad_h = number(in, 0, 3);
		op->out_pad_w = number(in, 0, 3);
	}
	if (has & 16) {
		op->end_h = (int32_t)number(in, 0, 8) - 4;
		op->end_w = (int32_t)number(in, 0, 8) - 4;
	}
	oh = vtaops_conv2d_out_h(op);
	ow = vtaops_conv2d_out_w(op);
	op->inp = reserve(m, vtaops_act_bytes(c, op->n, op->in, op->h, op->w), fate);
	op->wgt = reserve(m, vtaops_wgt_groups_bytes(c, op->units, op->in, op->kh, op->kw,
						     op->groups), fate);
	if (has & 8)
		op->res = reserve(m, vtaops_act_bytes(c, op->n, op->units, oh, ow), fate);
	if (has & 32)
		op->res_muls = reserve(m, vtaops_bias_bytes(c, op->units), fate);
	if ((has & 72) == 64)
		l->start = reserve(m, vtaops_bias_bytes(c, op->units), fate);
	/* With a residual sums have no start: 16 bits instead */
	if ((has & 72) == 72 && number(in, 0, 4) < 3)
		l->fine.res = reserve(m, vtaops_act_bytes(c, op->n, op->units, oh, ow), fate);
	if ((has & 72) == 72 && number(in, 0, 4) < 3)
		l->fine.out = reserve(m, vtaops_act_bytes(c, op->n, op->units, oh, ow), fate);
	if (has & 128)
		l->around = reserve(m, vtaops_act_bytes(c, c->batch, op->in, 1, 1), fate);
	op->post = make_post(m, in, op->units, fate);
	op->out = reserve(m, vtaops_act_bytes(c, op->n, op->units, oh, ow), fate);
	limit_work(ops_count3((uint64_t)oh * ow * op->n, (uint64_t)op->kh * op->kw,
			      (uint64_t)div_up(op->in, c->block) * div_up(op->units, c->block)),
		   fate);
}

static void add_dense(struct machine *m, struct input *in, struct layer *l, enum fate *fate)
{
	struct vtaops_dense *op = &l->dense;
	const struct vtaops_core *c = &m->core;
	unsigned int has = take_bytes(in, 1);

	*op = (struct vtaops_dense) {
		.n = number(in, 1, 40), .in = number(in, 1, 200), .units = number(in, 1, 200),
	};
	op->inp = reserve(m, vtaops_act_bytes(c, op->n, op->in, 1, 1), fate);
	op->wgt = reserve(m, vtaops_wgt_bytes(c, op->units, op->in, 1, 1), fate);
	if (has & 1)
		op->res = reserve(m, vtaops_act_bytes(c, op->n, op->units, 1, 1), fate);
	if (has & 2)
		l->start = reserve(m, vtaops_bias_bytes(c, op->units), fate);
	op->post = make_post(m, in, op->units, fate);
	op->out = reserve(m, vtaops_act_bytes(c, op->n, op->units, 1, 1), fate);
	limit_work(ops_count3(op->n, div_up(op->in, c->block), div_up(op->units, c->block)), fate);
}

static void add_eltwise(struct machine *m, struct input *in, struct vtaops_eltwise *op,
			enum fate *fate)
{
	uint64_t bytes;

	*op = (struct vtaops_eltwise) {
		.elements = number(in, 1, 255), .a_shift = number(in, 0, 8),
		.b_shift = number(in, 0, 8), .identity = reserve(m, m->core.wgt_bytes, fate),
		.offset = 70000 * (int)(take_bytes(in, 1) % 9) - 280000,
	};
	bytes = (uint64_t)op->elements * m->core.inp_bytes;
	/* More than device addresses reach. */
	if (bytes > UINT32_MAX)
		bytes = 0;
	op->repeat = take_bytes(in, 1) & 1 ? number(in, 0, 16) : 0;
	op->post = make_post(m, in, 0, fate);
	op->a = reserve(m, (size_t)bytes, fate);
	op->b = reserve(m, (size_t)bytes, fate);
	op->out = reserve(m, (size_t)bytes, fate);
}

static int signed_number(struct input *in, int most)
{
	return (int)number(in, 0, 2 * (uint32_t)most) - most;
}

static void add_function(struct machine *m, struct input *in, struct layer *l, enum fate *fate)
{
	struct vtaops_function *op = &l->function;
	struct vtaops_formula *f = &op->formula;
	uint64_t bytes;

	*op = (struct vtaops_function) {
		.elements = number(in, 1, 255), .identity = reserve(m, m->core.wgt_bytes, fate) };
	*f = (struct vtaops_formula) {
		.ramps = l->ramps, .count = number(in, 0, RAMPS), .times = take_bytes(in, 1) & 1,
		.zero = signed_number(in, 129), .offset = signed_number(in, 280000),
		.bias = signed_number(in, 280000), .first = number(in, 0, 33),
		.shift = number(in, 0, 33), .lo = signed_number(in, 129),
		.hi = signed_number(in, 129) };
	f->count = f->count > RAMPS ? RAMPS : f->count;
	for (uint32_t i = 0; i < f->count; i++)
		l->ramps[i] = (struct vtaops_ramp) {
			signed_number(in, 129), signed_number(in, 129), signed_number(in, 40000) };
	bytes = (uint64_t)op->elements * m->core.inp_bytes;
	if (bytes > UINT32_MAX)
		bytes = 0;
	op->a = reserve(m, (size_t)bytes, fate);
	op->out = reserve(m, (size_t)bytes, fate);
}

/* Numbers of sources and channels may be too large; refusing them is the operator's. */
static void add_channels(struct machine *m, struct input *in, struct layer *l, enum fate *fate)
{
	struct vtaops_channels *op = &l->channels;
	bool known = true;
	size_t bytes;

	*op = (struct vtaops_channels) {
		.sources = l->sources, .count = number(in, 1, SOURCES + 1), .picks = l->picks,
		.c = number(in, 1, PICKS + 1), .n = number(in, 1, 4), .h = number(in, 1, 8),
		.w = number(in, 1, 40) };
	op->count = op->count > SOURCES ? SOURCES : op->count;
	op->c = op->c > PICKS ? PICKS : op->c;
	for (uint32_t i = 0; i < op->count; i++) {
		l->sources[i].c = number(in, 1, 70);
		l->sources[i].inp = reserve(m, vtaops_act_bytes(&m->core, op->n, l->sources[i].c,
								op->h, op->w), fate);
	}
	for (uint32_t i = 0; i < op->c; i++) {
		l->picks[i] = (struct vtaops_pick) { number(in, 0, SOURCES), number(in, 0, 70) };
		known = known && l->picks[i].source < op->count &&
			l->picks[i].channel < l->sources[l->picks[i].source].c;
	}
	bytes = vtaops_channels_bytes(&m->core, op->picks, op->c);
	op->wgt = reserve(m, bytes, fate);
	if (known && *fate == RUN)
		vtaops_pack_channels(&m->core, machine_at(m, op->wgt), op->picks, op->c);
	op->out = reserve(m, vtaops_act_bytes(&m->core, op->n, op->c, op->h, op->w), fate);
}

/* Packed bytes of a matrix of @rows and @cols for each of @heads; 0 if they are too many. */
static size_t matrix_bytes(const struct vtaops_core *c, uint32_t images, uint32_t heads,
			   bool columns, uint32_t rows, uint32_t cols)
{
	uint64_t all = ops_count3(images, columns ? 1 : heads, rows);
	uint64_t width = ops_count3(columns ? heads : 1, cols, 1);

	return all > UINT32_MAX || width > UINT32_MAX ? 0 :
	       vtaops_act_bytes(c, (uint32_t)all, (uint32_t)width, 1, 1);
}

/* post has no vectors, or it is refused. */
static void add_matmul(struct machine *m, struct input *in, struct vtaops_matmul *op,
		       enum fate *fate)
{
	const struct vtaops_core *c = &m->core;
	uint8_t flags = (uint8_t)take_bytes(in, 1);

	*op = (struct vtaops_matmul) {
		.images = number(in, 1, 3), .heads = number(in, 1, 4), .m = number(in, 1, 40),
		.n = number(in, 1, 40), .k = number(in, 1, 40), .a_columns = flags & 1,
		.b_columns = flags >> 1 & 1, .out_columns = flags >> 2 & 1,
		.b_turned = flags >> 3 & 1, .identity = reserve(m, c->wgt_bytes, fate) };
	op->ones = flags & 16 ? 0 : reserve(m, vtaops_bias_bytes(c, op->k), fate);
	op->a = reserve(m, matrix_bytes(c, op->images, op->heads, op->a_columns, op->m, op->k),
			fate);
	op->b = reserve(m, matrix_bytes(c, op->images, op->heads, op->b_columns,
					op->b_turned ? op->n : op->k, op->b_turned ? op->k : op->n),
			fate);
	op->post = make_post(m, in, op->n, fate);
	if (flags & 32)
		op->post = (struct vtaops_post) { .shift = op->post.shift, .lo = op->post.lo,
						  .hi = op->post.hi };
	op->scratch = reserve(m, vtaops_matmul_scratch(c, op), fate);
	op->out = reserve(m, matrix_bytes(c, op->images, op->heads, op->out_columns, op->m, op->n),
			  fate);
	limit_work(ops_count3((uint64_t)op->images * op->heads * op->m, op->n, op->k) / c->block,
		   fate);
}

static void add_norm(struct machine *m, struct input *in, struct vtaops_norm *op, enum fate *fate)
{
	const struct vtaops_core *c = &m->core;
	uint8_t flags = (uint8_t)take_bytes(in, 1);
	uint32_t tables = (uint32_t)vtaops_norm_bytes(c), scratch;

	*op = (struct vtaops_norm) {
		.n = number(in, 1, 40), .h = number(in, 1, flags & 1 ? 2 : 9),
		.w = number(in, 1, flags & 1 ? 2 : 9),
		.form = { .c = number(in, 1, 90), .rms = flags >> 1 & 1,
			  .zero = (int)number(in, 0, 256) - 128, .epsilon = take_bytes(in, 4),
			  .shift = number(in, 0, 18) } };
	op->ones = flags & 4 ? 0 : reserve(m, vtaops_bias_bytes(c, op->form.c), fate);
	op->inp = reserve(m, vtaops_act_bytes(c, op->n, op->form.c, op->h, op->w), fate);
	/* A core that cannot normalise has no tables. */
	op->tables = reserve(m, tables ? tables : 1, fate);
	op->post = make_post(m, in, op->form.c, fate);
	scratch = (uint32_t)vtaops_norm_scratch(c, op);
	op->scratch = reserve(m, scratch ? scratch : 1, fate);
	op->out = reserve(m, vtaops_act_bytes(c, op->n, op->form.c, op->h, op->w), fate);
	limit_work(ops_count3((uint64_t)op->n * op->h, op->w, div_up(op->form.c, c->block)), fate);
}

static void add_window(struct machine *m, struct input *in, struct vtaops_window *op,
		       bool depthwise, enum fate *fate)
{
	const struct vtaops_core *c = &m->core;
	uint32_t oh, ow;

	*op = (struct vtaops_window) {
		.n = number(in, 1, 4), .c = number(in, 1, 40), .h = number(in, 1, 16),
		.w = number(in, 1, 16), .kh = number(in, 1, 6), .kw = number(in, 1, 6),
		.stride_h = number(in, 1, 4), .stride_w = number(in, 1, 4),
		.pad_h = number(in, 0, 4), .pad_w = number(in, 0, 4), .dil_h = number(in, 0, 3),
		.dil_w = number(in, 0, 3), .identity = reserve(m, c->wgt_bytes, fate),
	};
	if (take_bytes(in, 1) & 1) {
		op->end_h = (int32_t)number(in, 0, 8) - 4;
		op->end_w = (int32_t)number(in, 0, 8) - 4;
	}
	oh = vtaops_window_out_h(op);
	ow = vtaops_window_out_w(op);
	op->inp = reserve(m, vtaops_act_bytes(c, op->n, op->c, op->h, op->w), fate);
	if (depthwise)
		op->wgt = reserve(m, vtaops_depthwise_bytes(c, op->c, op->kh, op->kw), fate);
	op->post = make_post(m, in, op->c, fate);
	op->out = reserve(m, vtaops_act_bytes(c, op->n, op->c, oh, ow), fate);
	limit_work(ops_count3((uint64_t)oh * ow * op->n * div_up(op->c, c->block), op->kh, op->kw),
		   fate);
}

/* Nothing but what follows @out up to here may be different. */
static void run_layer(struct machine *m, const struct layer *l, uint32_t out)
{
	uint32_t end = m->used, all;
	const char *why = NULL;
	uint8_t *before;
	int err;

	machine_alloc(m, GUARD);
	all = m->used;
	before = malloc(all);
	must_hold(before, "out of memory");
	memcpy(before, m->mem, all);
	err = machine_run(m, lower_layer, l, &why);
	must_hold(!err || (why && why[0]), "a refusal without a reason");
	must_hold(!memcmp(before, m->mem, out - m->base), "something before the output is written");
	must_hold(!memcmp(before + end, m->mem + end, all - end), "something behind it is written");
	free(before);
}

static void check_refused(const struct machine *m, const struct layer *l)
{
	struct vtaops_builder b;

	vtaops_begin(&b, &m->core, NULL, 0, NULL, 0, 0);
	must_hold(lower_layer(&b, l) && b.why && b.why[0], "a tensor that cannot be is taken");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	unsigned int block = 1 + take_bytes(&in, 1) % 6, batch = take_bytes(&in, 1) % 6;
	struct core_config cfg = {
		.log_inp_width = 1 + take_bytes(&in, 1) % 3,
		.log_wgt_width = 1 + take_bytes(&in, 1) % 3,
		.log_acc_width = 5, .log_batch = batch, .log_block = block,
		.log_uop_buff_size = 2 + take_bytes(&in, 1) % 14,
	};
	struct layer l = { .kind = take_bytes(&in, 1) % KINDS, .which = take_bytes(&in, 1) };
	enum fate fate = RUN;
	struct machine m;
	uint32_t out;
	char err[256];

	cfg.log_inp_buff_size = batch + block + cfg.log_inp_width - 3 + take_bytes(&in, 1) % 17;
	cfg.log_wgt_buff_size = 2 * block + cfg.log_wgt_width - 3 + take_bytes(&in, 1) % 17;
	cfg.log_acc_buff_size = batch + block + 2 + take_bytes(&in, 1) % 12;
	if (core_config_check(&cfg, err, sizeof(err)))
		return 0;
	emulated_init(&m, &cfg, MEM_SIZE, CORE_ORDER_RANDOM, size);
	if (l.kind == CONV)
		add_conv(&m, &in, &l, &fate);
	else if (l.kind == DENSE)
		add_dense(&m, &in, &l, &fate);
	else if (l.kind == ELTWISE)
		add_eltwise(&m, &in, &l.eltwise, &fate);
	else if (l.kind == FUNCTION)
		add_function(&m, &in, &l, &fate);
	else if (l.kind == CHANNELS)
		add_channels(&m, &in, &l, &fate);
	else if (l.kind == MATMUL)
		add_matmul(&m, &in, &l.matmul, &fate);
	else if (l.kind == NORM)
		add_norm(&m, &in, &l.norm, &fate);
	else
		add_window(&m, &in, &l.window, l.which % 4 == 3, &fate);
	out = l.kind == CONV ? l.conv.out : l.kind == DENSE ? l.dense.out :
	      l.kind == ELTWISE ? l.eltwise.out : l.kind == FUNCTION ? l.function.out :
	      l.kind == CHANNELS ? l.channels.out :
	      l.kind == MATMUL ? l.matmul.scratch :
	      l.kind == NORM ? l.norm.scratch : l.window.out;
	if (fate == RUN)
		run_layer(&m, &l, out);
	else if (fate == REFUSE)
		check_refused(&m, &l);
	emulated_fini(&m);
	return 0;
}

uint8_t *fuzz_seed(unsigned int i, size_t *size)
{
	/* TVM's default core, and each kind of layer. */
	const uint8_t layer[] = { 3, 0, 2, 2, 13, i % KINDS, i & 0xff, 11, 10, 11 };
	uint64_t state = i;
	uint8_t *seed;

	if (i >= SEEDS)
		return NULL;
	seed = malloc(SEED_BYTES);
	must_hold(seed, "out of memory");
	for (unsigned int j = 0; j < SEED_BYTES; j++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		seed[j] = (uint8_t)(state >> 56);
	}
	if (i < 2 * KINDS)
		memcpy(seed, layer, sizeof(layer));
	*size = SEED_BYTES;
	return seed;
}
