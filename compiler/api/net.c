// SPDX-License-Identifier: Apache-2.0
/*
 * libvtac.h: each call makes a node, whose output has its shape after the pass `shape`.
 * vtac_net_compile() runs all passes on a copy of the graph.
 */
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "emit/emit.h"
#include "ir/kernel.h"
#include "inputs.h"
#include "libvtac.h"
#include "vtac.h"

struct vtac_net *vtac_net_new(void)
{
	struct vtac_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->g = vtac_graph_new(0);
	if (net->g)
		return net;
	free(net);
	return NULL;
}

void vtac_net_free(struct vtac_net *net)
{
	if (!net)
		return;
	vtac_graph_free(net->g);
	free(net);
}

const char *vtac_net_error(const struct vtac_net *net)
{
	return net->g->error.text;
}

int vtac_net_read_onnx(struct vtac_net *net, const void *data, size_t size, const char *dir)
{
	return vtac_read_onnx_memory(net->g, data, size, dir);
}

/* ---- values ---- */

static bool find_type(struct vtac_net *net, uint32_t type, enum vtac_dtype *dtype)
{
	switch (type) {
	case VTACPU_F32:
		*dtype = VTAC_F32;
		return true;
	case VTACPU_I8:
		*dtype = VTAC_I8;
		return true;
	case VTACPU_U8:
		*dtype = VTAC_U8;
		return true;
	case VTACPU_I32:
		*dtype = VTAC_I32;
		return true;
	default:
		vtac_fail(net->g, NULL, "There is no type %u of values.", type);
		return false;
	}
}

static bool is_name(struct vtac_net *net, const char *name)
{
	if (!name || vtac_is_name(name))
		return true;
	vtac_fail(net->g, NULL, "A name is not UTF-8, or has control characters.");
	return false;
}

/* A shape that the passes take. */
static bool is_shape(struct vtac_net *net, int rank, const int64_t *dims)
{
	int64_t n = 1;

	if (rank < 0 || rank > VTAC_RANK_MAX) {
		vtac_fail(net->g, NULL, "%d dimensions are too many.", rank);
		return false;
	}
	for (int i = 0; i < rank; i++) {
		if (dims[i] < 1 || dims[i] > INT32_MAX / n) {
			vtac_fail(net->g, NULL, "A size is less than 1, or too large.");
			return false;
		}
		n *= dims[i];
	}
	return true;
}

int vtac_net_input_at(const struct vtac_net *net, unsigned int i, struct vtac_net_value *value)
{
	const struct vtac_tensor *t;

	if (i >= net->g->n_inputs)
		return -1;
	t = net->g->inputs[i];
	*value = (struct vtac_net_value) {
		.name = t->name, .type = vtac_cpu_type(t->dtype), .rank = t->rank };
	for (int k = 0; k < t->rank; k++)
		value->dims[k] = t->dims[k];
	return 0;
}

struct vtac_tensor *vtac_net_input(struct vtac_net *net, const char *name, uint32_t type, int rank,
				   const int64_t *dims)
{
	enum vtac_dtype dtype;
	struct vtac_tensor *t;

	if (!is_name(net, name) || !find_type(net, type, &dtype) || !is_shape(net, rank, dims))
		return NULL;
	t = vtac_tensor_shaped(net->g, name, dtype, rank, dims);
	return t && !vtac_graph_input(net->g, t) ? t : NULL;
}

struct vtac_tensor *vtac_net_const(struct vtac_net *net, uint32_t type, int rank,
				   const int64_t *dims, const void *data)
{
	enum vtac_dtype dtype;

	if (!find_type(net, type, &dtype) || !is_shape(net, rank, dims))
		return NULL;
	return vtac_tensor_const(net->g, NULL, dtype, rank, dims, data, true);
}

int vtac_net_output(struct vtac_net *net, struct vtac_tensor *y, const char *name)
{
	const char *kept = y && is_name(net, name) ? vtac_text(net->g, "%s", name) : NULL;

	if (!kept || vtac_graph_output(net->g, y))
		return -1;
	net->g->output_names[net->g->n_outputs - 1] = kept;
	return 0;
}

/* ---- nodes ---- */

/* One of @in may be NULL: left out. */
static struct vtac_node *add_node(struct vtac_net *net, enum vtac_op op, const char *name,
				  unsigned int n, struct vtac_tensor *const *in)
{
	struct vtac_node *node = is_name(net, name) ?
		vtac_node_new(net->g, op, name, n, 1) : NULL;

	for (unsigned int i = 0; node && i < n; i++)
		if (vtac_node_set_in(net->g, node, i, in[i]))
			return NULL;
	if (node)
		node->file_op = vtac_op_name(op);
	return node;
}

static struct vtac_tensor *add_output(struct vtac_net *net, struct vtac_node *node,
				      enum vtac_dtype dtype)
{
	struct vtac_tensor *t = node ? vtac_tensor_new(net->g, node->name, dtype) : NULL;

	if (t)
		vtac_node_set_out(node, 0, t);
	return t;
}

/* A number, or one for each of @n. */
static struct vtac_tensor *add_numbers(struct vtac_net *net, enum vtac_dtype dtype, int64_t n,
				       const void *data)
{
	return vtac_tensor_const(net->g, NULL, dtype, n == 1 ? 0 : 1, &n, data, true);
}

/* The zero point has the type of the integers. */
static struct vtac_tensor *zero_point(struct vtac_net *net, enum vtac_dtype dtype, int32_t zero)
{
	int8_t byte = (int8_t)zero;

	return add_numbers(net, dtype, 1, dtype == VTAC_I32 ? (const void *)&zero : &byte);
}

static bool is_zero_point(struct vtac_net *net, enum vtac_dtype dtype, int32_t zero)
{
	int32_t least = dtype == VTAC_I8 ? INT8_MIN : 0;
	int32_t most = dtype == VTAC_I8 ? INT8_MAX : dtype == VTAC_U8 ? UINT8_MAX : 0;

	if (dtype != VTAC_F32 && zero >= least && zero <= most)
		return true;
	vtac_fail(net->g, NULL, "Zero point %d does not fit %s.", zero, vtac_dtype_name(dtype));
	return false;
}

struct vtac_tensor *vtac_net_dequantize(struct vtac_net *net, struct vtac_tensor *x,
					const float *scales, int64_t n, int32_t zero)
{
	struct vtac_tensor *in[3] = { x };

	if (!x || !is_zero_point(net, x->dtype, zero))
		return NULL;
	if (n != 1 && (x->rank < 1 || n != x->dims[0])) {
		vtac_fail(net->g, NULL, "The scales are neither one nor as many as dimension 0.");
		return NULL;
	}
	in[1] = add_numbers(net, VTAC_F32, n, scales);
	in[2] = zero ? zero_point(net, x->dtype, zero) : NULL;
	if (!in[1] || (zero && !in[2]))
		return NULL;
	return add_output(net, add_node(net, VTAC_DEQUANTIZE, NULL, 3, in), VTAC_F32);
}

struct vtac_tensor *vtac_net_quantize(struct vtac_net *net, struct vtac_tensor *x, float scale,
				      int32_t zero, uint32_t type)
{
	struct vtac_tensor *in[3] = { x };
	enum vtac_dtype dtype;
	struct vtac_node *node;

	if (!x || !find_type(net, type, &dtype) || !is_zero_point(net, dtype, zero))
		return NULL;
	in[1] = add_numbers(net, VTAC_F32, 1, &scale);
	in[2] = zero_point(net, dtype, zero);
	node = in[1] && in[2] ? add_node(net, VTAC_QUANTIZE, NULL, 3, in) : NULL;
	return add_output(net, node, dtype);
}

static struct vtac_window window_of(const struct vtac_net_window *from)
{
	struct vtac_window w = { .kernel = { from->kernel[0], from->kernel[1] } };

	for (int i = 0; i < 2; i++) {
		w.stride[i] = from->stride[i];
		w.dilation[i] = from->dilation[i] ? from->dilation[i] : 1;
		w.pad[i] = from->pad[i];
		w.pad[i + 2] = from->pad[i + 2];
	}
	return w;
}

struct vtac_tensor *vtac_net_conv2d(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				    struct vtac_tensor *w, struct vtac_tensor *bias,
				    const struct vtac_net_window *window)
{
	struct vtac_tensor *const in[] = { x, w, bias };
	struct vtac_node *node = x && w ? add_node(net, VTAC_CONV, name, 3, in) : NULL;

	if (node) {
		node->attr.conv.window = window_of(window);
		node->attr.conv.groups = window->groups ? window->groups : 1;
	}
	return add_output(net, node, VTAC_F32);
}

struct vtac_tensor *vtac_net_dense(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				   struct vtac_tensor *w, struct vtac_tensor *bias)
{
	struct vtac_tensor *const in[] = { x, w, bias };
	struct vtac_node *node = x && w ? add_node(net, VTAC_GEMM, name, 3, in) : NULL;

	if (node)
		node->attr.gemm = (struct vtac_gemm) { .trans_w = true, .alpha = 1, .beta = 1 };
	return add_output(net, node, VTAC_F32);
}

struct vtac_tensor *vtac_net_binary(struct vtac_net *net, const char *name,
				    enum vtac_net_binary what, struct vtac_tensor *a,
				    struct vtac_tensor *b)
{
	static const enum vtac_op ops[] = { VTAC_ADD, VTAC_MUL, VTAC_MAX, VTAC_MIN };
	struct vtac_tensor *const in[] = { a, b };

	return add_output(net, a && b ? add_node(net, ops[what], name, 2, in) : NULL, VTAC_F32);
}

struct vtac_tensor *vtac_net_clip(struct vtac_net *net, const char *name, struct vtac_tensor *x,
				  float lo, float hi)
{
	struct vtac_node *node = x ? add_node(net, VTAC_CLIP, name, 1, &x) : NULL;

	if (node) {
		node->attr.clip.lo = lo;
		node->attr.clip.hi = hi;
	}
	return add_output(net, node, VTAC_F32);
}

struct vtac_tensor *vtac_net_pool(struct vtac_net *net, const char *name, enum vtac_net_pool what,
				  struct vtac_tensor *x, const struct vtac_net_window *window)
{
	enum vtac_op op = what == VTAC_NET_MAX_POOL ? VTAC_MAX_POOL : VTAC_AVG_POOL;
	struct vtac_node *node = x ? add_node(net, op, name, 1, &x) : NULL;

	if (node)
		node->attr.pool = window_of(window);
	return add_output(net, node, VTAC_F32);
}

struct vtac_tensor *vtac_net_global_mean(struct vtac_net *net, const char *name,
					 struct vtac_tensor *x)
{
	struct vtac_node *node = x ? add_node(net, VTAC_REDUCE, name, 1, &x) : NULL;

	if (node) {
		node->attr.reduce.axes = 1u << 2 | 1u << 3;
		node->attr.reduce.keep = true;
	}
	return add_output(net, node, VTAC_F32);
}

struct vtac_tensor *vtac_net_concat(struct vtac_net *net, const char *name, unsigned int n,
				    struct vtac_tensor *const *parts, int axis)
{
	struct vtac_node *node;

	for (unsigned int i = 0; i < n; i++)
		if (!parts[i])
			return NULL;
	node = add_node(net, VTAC_CONCAT, name, n, parts);
	if (node)
		node->attr.axis.axis = axis;
	return add_output(net, node, VTAC_F32);
}

struct vtac_tensor *vtac_net_flatten(struct vtac_net *net, const char *name, struct vtac_tensor *x)
{
	struct vtac_tensor *const in[] = { x, NULL };	/* no other shape */
	struct vtac_node *node = x ? add_node(net, VTAC_RESHAPE, name, 2, in) : NULL;

	if (node)
		node->attr.reshape = (struct vtac_reshape) { .kind = VTAC_FLATTEN, .axis = 1 };
	return add_output(net, node, VTAC_F32);
}

/* ---- programs ---- */

static int read_image(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	const struct vtac_net_options *how = priv;

	return how->image(how->priv, i, t->name, values, (size_t)vtac_elements(t)) ? -1 : 0;
}

static bool is_number(struct vtac_net *net, unsigned int threads)
{
	return threads <= VTAC_NET_THREADS_MAX ||
	       vtac_fail(net->g, NULL, "%u threads are too many: %u are the most.", threads,
			 VTAC_NET_THREADS_MAX) == 0;
}

_Static_assert(VTAC_NET_THREADS_MAX == CREW_THREADS_MAX, "libvtac.h has the crew's limit");

/* Open files with images. */
struct files {
	const struct vtac_net_options *how;
	struct vtac_image_files **of;	/* of each of how->files */
	struct vtac_error error;
};

static int read_files(void *priv, unsigned int i, const struct vtac_tensor *t, float *values)
{
	struct files *f = priv;

	for (unsigned int k = 0; k < f->how->n_files; k++) {
		const struct vtac_images *images = vtac_images_of(f->of[k]);

		if (strcmp(f->how->files[k].input, t->name))
			continue;
		if (!images->read(images->priv, i, t, values))
			return 0;
		f->error = *images->error;
		return -1;
	}
	snprintf(f->error.text, sizeof(f->error.text), "Input %.200s has no images.", t->name);
	return -1;
}

static void close_files(struct files *f)
{
	for (unsigned int k = 0; f->of && k < f->how->n_files; k++)
		vtac_images_close(f->of[k]);
	free(f->of);
}

/* Open the files of the options: 0, or -1 with an error of @net. */
static int open_files(struct vtac_net *net, struct files *f, struct vtac_images *images)
{
	unsigned int n = f->how->n_files;

	f->of = calloc(n + 1u, sizeof(struct vtac_image_files *));
	if (!f->of)
		return vtac_fail(net->g, NULL, "Out of memory.");
	for (unsigned int k = 0; k < n; k++) {
		unsigned int count;

		f->of[k] = vtac_images_open(f->how->files[k].path, &f->error);
		if (!f->of[k])
			return vtac_fail(net->g, NULL, "%s", f->error.text);
		count = vtac_images_of(f->of[k])->count;
		if (k && count != images->count)
			return vtac_fail(net->g, NULL, "%s has %u images, %s %u.",
					 f->how->files[k].path, count, f->how->files[0].path,
					 images->count);
		images->count = count;
	}
	if (f->how->images && images->count > f->how->images)
		images->count = f->how->images;
	images->read = read_files;
	images->priv = f;
	images->error = &f->error;
	return 0;
}

/* The variants of a program while it is compiled. */
struct making {
	const struct vtac_net_options *how;
	struct crew *crew;
	unsigned int n;
	struct vtac_graph **g;
	struct vtac_program *p;
	struct vtac_image_options *image;
	struct vtac_random random;	/* inputs, if there are no images, and options with them */
	struct vtac_quant_options quant;
};

static struct making *making_new(const struct vtac_net_options *how, unsigned int n)
{
	struct making *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->how = how;
	m->n = n;
	m->g = calloc(n, sizeof(struct vtac_graph *));
	m->p = calloc(n, sizeof(*m->p));
	m->image = calloc(n, sizeof(*m->image));
	crew_new(how->threads ? how->threads : crew_processors(), &m->crew);
	return m;
}

static void making_free(struct making *m)
{
	for (unsigned int i = 0; m && m->g && m->p && m->image && i < m->n; i++) {
		free((char *)(uintptr_t)m->image[i].text[VTAIMAGE_REPORT]);
		free((char *)(uintptr_t)m->image[i].text[VTAIMAGE_REPORT_JSON]);
		vtac_program_free(&m->p[i]);
		vtac_graph_free(m->g[i]);
	}
	if (m) {
		free(m->g);
		free(m->p);
		free(m->image);
		crew_free(m->crew);
	}
	free(m);
}

/* Variant @i, of the graph that is there, and its reports. */
static int compile_variant(struct making *m, const struct vtac_options *opt, unsigned int i)
{
	struct vtac_report_options how = { .json = false };

	if (vtac_compile_variant(m->g[i], opt, i ? &m->p[i - 1] : NULL, &m->p[i]))
		return -1;
	m->image[i].text[VTAIMAGE_REPORT] = m->n > 1 ? vtac_variant_report(&m->p[i], &how, i) :
					    vtac_report_text(&m->p[i], &how);
	how.json = true;
	m->image[i].text[VTAIMAGE_REPORT_JSON] = vtac_report_text(&m->p[i], &how);
	return 0;
}

static int make_image(struct making *m, uint8_t **image, size_t *size)
{
	m->image->text[VTAIMAGE_LABELS] = m->how->labels;
	m->image->preprocess = m->how->preprocess;
	m->image->preprocess_count = m->how->preprocess ? 1 : 0;
	return vtac_image_variants(m->p, m->image, m->n, image, size);
}

/* Labels that do not fit are refused when the outputs' shapes are known. */
static int check_labels(void *priv, const struct vtac_pass *pass, struct vtac_graph *g)
{
	const struct vtac_net_options *how = priv;

	return how->labels && !strcmp(pass->name, "shape") ? vtac_check_labels(g, how->labels) : 0;
}

/* The bits of results, as the compiler takes them */
struct precisions {
	struct vtac_precision_option *nodes;
	struct vtac_quant_options quant;
};

/* Takes those of @how to @p, whose nodes are to be freed: 0, or -1 with an error of @net. */
static int take_precisions(struct vtac_net *net, const struct vtac_net_options *how,
			   struct vtac_options *opt, struct precisions *p)
{
	static const enum vtac_precision bits[] = {
		[VTAC_NET_8_BITS] = VTAC_PRECISION_8, [VTAC_NET_16_BITS] = VTAC_PRECISION_16,
		[VTAC_NET_AUTO_BITS] = VTAC_PRECISION_AUTO,
	};

	if (how->extra_cycles > VTAC_NET_EXTRA_CYCLES_MAX)
		return vtac_fail(net->g, NULL, "%u %% are too many extra cycles: at most %u.",
				 how->extra_cycles, VTAC_NET_EXTRA_CYCLES_MAX);
	p->quant = (struct vtac_quant_options) { .extra_cycles = how->extra_cycles };
	p->nodes = calloc(how->n_precisions + 1u, sizeof(*p->nodes));
	if (!p->nodes)
		return vtac_fail(net->g, NULL, "Out of memory.");
	opt->precisions = p->nodes;
	opt->quant = &p->quant;
	for (unsigned int i = 0; i < how->n_precisions; i++) {
		const struct vtac_net_precision *one = &how->precisions[i];

		if ((unsigned int)one->bits > VTAC_NET_AUTO_BITS ||
		    (one->node && one->bits == VTAC_NET_AUTO_BITS))
			return vtac_fail(net->g, NULL,
					 "Results have 8 bits, 16 or, where no node is named, auto.");
		if (one->node)
			p->nodes[opt->n_precisions++] = (struct vtac_precision_option) {
				one->node, bits[one->bits] };
		else
			p->quant.precision = bits[one->bits];
	}
	return 0;
}

/* The options of the compiler; @shapes has room for those of @how. */
static struct vtac_options options_of(const struct vtac_net_options *how,
				      struct vtac_shape_option *shapes)
{
	for (unsigned int i = 0; i < how->n_shapes; i++) {
		shapes[i] = (struct vtac_shape_option) {
			.input = how->shapes[i].input, .rank = how->shapes[i].rank };
		memcpy(shapes[i].dims, how->shapes[i].dims, sizeof(shapes[i].dims));
	}
	return (struct vtac_options) {
		.core = *how->core, .no_card = how->no_card, .no_prune = how->no_prune,
		.cpu = how->cpu, .n_cpu = how->n_cpu, .shapes = shapes, .n_shapes = how->n_shapes,
		.progress = how->progress, .progress_priv = how->priv,
		.after = check_labels, .after_priv = (void *)(uintptr_t)how };
}

/* Memory for the shapes of @how. */
static struct vtac_shape_option *new_shapes(struct vtac_net *net,
					    const struct vtac_net_options *how)
{
	struct vtac_shape_option *shapes = calloc(how->n_shapes + 1u, sizeof(*shapes));

	if (!shapes)
		vtac_fail(net->g, NULL, "Out of memory.");
	return shapes;
}

/* A copy of the net's graph, which passes may change; NULL after an error. */
static struct vtac_graph *copy_graph(struct vtac_net *net)
{
	struct vtac_graph *g;

	if (net->g->error.text[0])
		return NULL;
	if (!net->g->n_outputs) {
		vtac_fail(net->g, NULL, "The network has no output.");
		return NULL;
	}
	g = vtac_graph_clone(net->g);
	if (!g)
		vtac_fail(net->g, NULL, "Out of memory.");
	return g;
}

/* Keep the error of @g, which is freed. */
static void take_error(struct vtac_net *net, struct vtac_graph *g)
{
	for (const struct vtac_refusal *r = g->refusals; r; r = r->next)
		vtac_refuse_as(net->g, r->node, r->op, r->why);
	net->g->error = g->error;
}

/* The number of variants; 0 after an error. */
static unsigned int count_variants(struct vtac_net *net, const struct vtac_options *opt)
{
	struct vtac_error error = { "", false };
	unsigned int n = vtac_variants(opt, &error);

	if (!n)
		vtac_fail(net->g, NULL, "%s", error.text);
	return n;
}

/* Calibrate with random inputs if there are no images, and say what that is worth. */
static void use_random(struct making *m, struct vtac_options *opt)
{
	const struct vtac_net_options *how = m->how;
	char text[VTAC_RANDOM_TEXT];

	if (!how->warn || !vtac_lacks_images(m->g[0], opt))
		return;
	vtac_random_init(&m->random, how->preprocess);
	m->quant = *opt->quant;
	m->quant.random_inputs = VTAC_RANDOM_INPUTS;
	opt->quant = &m->quant;
	opt->images = &m->random.images;
	how->warn(how->priv, vtac_random_text(text));
}

/* Compile all variants of @all and write their image. */
static int compile(struct vtac_net *net, struct making *m, const struct vtac_options *all,
		   struct vtac_shape_option *shapes, uint8_t **image, size_t *size)
{
	struct vtac_options opt = *all;
	int err = 0;

	opt.shapes = shapes;
	for (unsigned int i = 0; !err && i < m->n; i++) {
		opt.n_shapes = vtac_variant_shapes(all, i, shapes);
		m->g[i] = copy_graph(net);
		if (!m->g[i])
			return -1;
		m->g[i]->crew = m->crew;
		if (m->how->name)
			m->g[i]->name = m->how->name;
		if (!i)
			use_random(m, &opt);
		err = compile_variant(m, &opt, i);
		if (!err && i + 1 == m->n)
			err = make_image(m, image, size);
		if (err)
			take_error(net, m->g[i]);
	}
	return err;
}

int vtac_net_compile(struct vtac_net *net, const struct vtac_net_options *how, uint8_t **image,
		     size_t *size)
{
	struct vtac_images images = {
		.count = how->images, .read = read_image, .priv = (void *)(uintptr_t)how };
	struct files files = { .how = how };
	struct vtac_shape_option *shapes = new_shapes(net, how), *own = new_shapes(net, how);
	struct precisions precisions = { .nodes = NULL };
	struct making *m = NULL;
	struct vtac_options opt;
	unsigned int n = 0;
	int err = -1;

	if (shapes && own && is_name(net, how->name) && is_number(net, how->threads) &&
	    (!how->n_files || !open_files(net, &files, &images))) {
		opt = options_of(how, shapes);
		opt.images = how->n_files || (how->image && how->images) ? &images : NULL;
		n = take_precisions(net, how, &opt, &precisions) ? 0 : count_variants(net, &opt);
		m = n ? making_new(how, n) : NULL;
	}
	if (m && m->g && m->p && m->image && m->crew)
		err = compile(net, m, &opt, own, image, size);
	else if (n)
		vtac_fail(net->g, NULL, "Out of memory.");
	making_free(m);
	close_files(&files);
	free(precisions.nodes);
	free(shapes);
	free(own);
	return err;
}

/* Refuse nodes of the CPU that no kernel computes, which lowering would find. */
static int check_kernels(struct vtac_graph *g)
{
	struct vtac_call *calls;
	unsigned int n;

	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (g->nodes[i]->device != VTAC_CARD && !vtac_is_shape_op(g->nodes[i]->op) &&
		    vtac_calls(g, g->nodes[i], &calls, &n) && vtac_refuse(g, g->nodes[i]))
			return -1;
	return vtac_refused(g);
}

int vtac_net_place(struct vtac_net *net, const struct vtac_net_options *how,
		   struct vtac_net_placement *placement)
{
	struct vtac_shape_option *shapes = new_shapes(net, how), *own = new_shapes(net, how);
	struct vtac_graph *g = shapes && own ? copy_graph(net) : NULL;
	struct vtac_options opt, all;
	int err;

	*placement = (struct vtac_net_placement) { 0 };
	if (!g) {
		free(shapes);
		free(own);
		return -1;
	}
	all = options_of(how, shapes);
	opt = all;
	opt.shapes = own;
	opt.n_shapes = vtac_variant_shapes(&all, 0, own);
	err = vtac_run_passes(g, &opt, "partition") || check_kernels(g) ? -1 : 0;
	for (unsigned int i = 0; !err && i < g->n_nodes; i++) {
		if (g->nodes[i]->device == VTAC_CARD)
			placement->card++;
		else
			placement->cpu++;
	}
	placement->unscaled = !err && vtac_lacks_scale(g);
	if (err)
		take_error(net, g);
	vtac_graph_free(g);
	free(shapes);
	free(own);
	return err;
}

const char *vtac_net_refused(const struct vtac_net *net, unsigned int i, const char **why)
{
	const struct vtac_refusal *r = net->g->refusals;

	while (r && i--)
		r = r->next;
	if (r && why)
		*why = r->why;
	return r ? r->node : NULL;
}

int vtac_net_emit_c(const void *image, size_t size, const char *name, const char *dir, char *why,
		    size_t why_size)
{
	struct vtac_error error = { "", false };
	struct vtaimage opened;

	if (vtaimage_open(&opened, image, size)) {
		snprintf(why, why_size, "%s", opened.why);
		return -1;
	}
	if (!vtac_emit_c(&opened, name, dir, &error))
		return 0;
	snprintf(why, why_size, "%s", error.text);
	return -1;
}
