// SPDX-License-Identifier: Apache-2.0
/* A graph as text, and as a picture by graphviz. */
#include <inttypes.h>

#include "graph.h"

static void print_pairs(FILE *f, const char *name, const int64_t v[2])
{
	fprintf(f, " %s %" PRId64 "x%" PRId64, name, v[0], v[1]);
}

static void print_window(FILE *f, const struct vtac_window *w)
{
	print_pairs(f, "kernel", w->kernel);
	print_pairs(f, "stride", w->stride);
	print_pairs(f, "dilation", w->dilation);
	fprintf(f, " pad %" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, w->pad[0], w->pad[1],
		w->pad[2], w->pad[3]);
	if (w->ceil)
		fputs(" ceil", f);
	if (w->count_pad)
		fputs(" count_pad", f);
}

static void print_i64(FILE *f, const char *name, const int64_t *v, int n)
{
	fprintf(f, " %s", name);
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%" PRId64, i ? "," : " ", v[i]);
}

static void print_resize(FILE *f, const struct vtac_resize *r, int rank)
{
	static const char *const coords[] = {
		"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners",
		"half_pixel_symmetric", "half_pixel_for_nn", "crop",
	};
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	static const char *const rounds[] = {
		"prefer_floor", "prefer_ceil", "floor", "ceil",
	};

	fprintf(f, " %s %s %s%s%s scale", modes[r->mode], coords[r->coord], rounds[r->round],
		r->exclude ? " exclude_outside" : "", r->antialias ? " antialias" : "");
	for (int i = 0; i < rank; i++)
		fprintf(f, "%s%.9g", i ? "," : " ", (double)r->scale[i]);
}

static void print_pad(FILE *f, const struct vtac_pad *p, int rank)
{
	static const char *const modes[] = { "constant", "reflect", "edge", "wrap" };

	fprintf(f, " %s value %.9g", modes[p->mode], (double)p->value);
	print_i64(f, "before", p->before, rank);
	print_i64(f, "after", p->after, rank);
}

static void print_attr(FILE *f, const struct vtac_node *node)
{
	const union vtac_attr *a = &node->attr;
	int rank = node->n_out && node->out[0] && node->out[0]->rank > 0 ? node->out[0]->rank : 0;

	switch (node->op) {
	case VTAC_CONV:
	case VTAC_CONV_TRANSPOSE:
		print_pairs(f, "out_pad", a->conv.out_pad);
		print_window(f, &a->conv.window);
		fprintf(f, " groups %" PRId64, a->conv.groups);
		if (a->conv.spare)
			fprintf(f, " spare %" PRId64, a->conv.spare);
		if (a->conv.file.channels)
			fprintf(f, " of %" PRId64 "x%" PRId64 "x%" PRId64, a->conv.file.channels,
				a->conv.file.kernel[0], a->conv.file.kernel[1]);
		break;
	case VTAC_MAX_POOL:
	case VTAC_AVG_POOL:
		print_window(f, &a->pool);
		break;
	case VTAC_GEMM:
		fprintf(f, " trans_x %d trans_w %d alpha %.9g beta %.9g", a->gemm.trans_x,
			a->gemm.trans_w, (double)a->gemm.alpha, (double)a->gemm.beta);
		break;
	case VTAC_BATCH_GEMM:
		fprintf(f, " images %" PRId64 " heads %" PRId64, a->batch_gemm.images,
			a->batch_gemm.heads);
		fprintf(f, " columns %d %d %d turned %d alpha %.9g", a->batch_gemm.a_columns,
			a->batch_gemm.b_columns, a->batch_gemm.out_columns, a->batch_gemm.b_turned,
			(double)a->batch_gemm.alpha);
		break;
	case VTAC_CLIP:
		fprintf(f, " lo %.9g hi %.9g", (double)a->clip.lo, (double)a->clip.hi);
		break;
	case VTAC_LEAKY_RELU:
	case VTAC_HARD_SIGMOID:
		fprintf(f, " alpha %.9g beta %.9g", (double)a->unary.alpha, (double)a->unary.beta);
		break;
	case VTAC_BATCH_NORM:
		fprintf(f, " epsilon %.9g", (double)a->batch_norm.epsilon);
		break;
	case VTAC_SOFTMAX:
		fprintf(f, " axis %d%s%s", a->softmax.axis, a->softmax.flat ? " flat" : "",
			a->softmax.log ? " log" : a->softmax.hard ? " hard" : "");
		break;
	case VTAC_CHANNELS:
		for (int64_t c = 0; node->out[0] && c < node->out[0]->dims[1]; c++)
			fprintf(f, " %u:%u", a->channels.picks[c].source,
				a->channels.picks[c].channel);
		break;
	case VTAC_CONCAT:
	case VTAC_SPLIT:
	case VTAC_GATHER:
	case VTAC_GATHER_ELEMENTS:
	case VTAC_QUANTIZE:
	case VTAC_DEQUANTIZE:
		fprintf(f, " axis %d", a->axis.axis);
		break;
	case VTAC_REDUCE:
		fprintf(f, " op %d axes 0x%x keep %d", (int)a->reduce.op, a->reduce.axes,
			a->reduce.keep);
		break;
	case VTAC_UNARY:
		fprintf(f, " kind %d alpha %.9g beta %.9g", (int)a->unary.kind,
			(double)a->unary.alpha, (double)a->unary.beta);
		break;
	case VTAC_BINARY:
		fprintf(f, " op %d", (int)a->binary.op);
		break;
	case VTAC_NORM:
		fprintf(f, " axis %d groups %" PRId64 " epsilon %.9g rms %d by_channel %d",
			a->norm.axis, a->norm.groups, (double)a->norm.epsilon, a->norm.rms,
			a->norm.by_channel);
		if (a->norm.across)
			fputs(" across", f);
		break;
	case VTAC_ARG:
		fprintf(f, " axis %d keep %d least %d last %d", a->arg.axis, a->arg.keep,
			a->arg.least, a->arg.last);
		break;
	case VTAC_TOP:
		fprintf(f, " axis %d least %d", a->top.axis, a->top.least);
		break;
	case VTAC_CUM_SUM:
		fprintf(f, " axis %d exclusive %d reverse %d", a->cum_sum.axis,
			a->cum_sum.exclusive, a->cum_sum.reverse);
		break;
	case VTAC_RECURRENT:
		fprintf(f, " kind %d reverse %d linear %d cell %d summed %d",
			(int)a->recurrent.kind, a->recurrent.reverse, a->recurrent.linear,
			a->recurrent.cell, a->recurrent.summed);
		break;
	case VTAC_SCATTER_ELEMENTS:
	case VTAC_SCATTER_ND:
		fprintf(f, " axis %d op %d", a->scatter.axis, (int)a->scatter.op);
		break;
	case VTAC_GATHER_ND:
		fprintf(f, " batch %d", a->gather_nd.batch);
		break;
	case VTAC_TRANSPOSE:
		fputs(" perm", f);
		for (int i = 0; i < rank; i++)
			fprintf(f, "%s%d", i ? "," : " ", a->transpose.perm[i]);
		break;
	case VTAC_DEPTH_TO_SPACE:
		fprintf(f, " block %" PRId64 "%s%s", a->depth_to_space.block,
			a->depth_to_space.crd ? " crd" : " dcr",
			a->depth_to_space.inverse ? " inverse" : "");
		break;
	case VTAC_LRN:
		fprintf(f, " size %" PRId64 " alpha %.9g beta %.9g bias %.9g", a->lrn.size,
			(double)a->lrn.alpha, (double)a->lrn.beta, (double)a->lrn.bias);
		break;
	case VTAC_ONE_HOT:
		fprintf(f, " axis %d depth %" PRId64, a->one_hot.axis, a->one_hot.depth);
		break;
	case VTAC_REVERSE_SEQUENCE:
		fprintf(f, " time %d", a->reverse.time);
		break;
	case VTAC_UNIQUE:
	case VTAC_UNIQUE_INVERSE:
		fprintf(f, " axis %d flat %d sorted %d", a->unique.axis, a->unique.flat,
			a->unique.sorted);
		break;
	case VTAC_NMS:
		fprintf(f, " most %" PRId64 " centre %d overlap %.9g", a->nms.most, a->nms.centre,
			(double)a->nms.overlap);
		if (a->nms.has_score)
			fprintf(f, " score %.9g", (double)a->nms.score);
		break;
	case VTAC_CONV_3D:
	case VTAC_POOL_3D:
		print_i64(f, "kernel", a->window_3d.kernel, 3);
		print_i64(f, "stride", a->window_3d.stride, 3);
		print_i64(f, "dilation", a->window_3d.dilation, 3);
		print_i64(f, "pad", a->window_3d.pad, 6);
		fprintf(f, " groups %" PRId64 " kind %d transposed %d", a->window_3d.groups,
			(int)a->window_3d.kind, a->window_3d.transposed);
		break;
	case VTAC_DFT:
		fprintf(f, " axis %d step %" PRId64 " count %" PRId64 " inverse %d", a->dft.axis,
			a->dft.step, a->dft.count, a->dft.inverse);
		break;
	case VTAC_GRID_SAMPLE:
		fprintf(f, " mode %d pad %d align %d", (int)a->grid.mode, (int)a->grid.pad,
			a->grid.align);
		break;
	case VTAC_ROI_ALIGN:
		fprintf(f, " h %" PRId64 " w %" PRId64 " samples %" PRId64 " scale %.9g max %d "
			"half %d", a->roi.h, a->roi.w, a->roi.samples, (double)a->roi.scale,
			a->roi.max, a->roi.half);
		break;
	case VTAC_EINSUM:
		fprintf(f, " %s,%s->%s", a->einsum.a, a->einsum.b, a->einsum.y);
		break;
	case VTAC_CAST:
		fprintf(f, " to %s", vtac_dtype_name(a->cast.to));
		break;
	case VTAC_RESIZE:
		print_resize(f, &a->resize, rank);
		break;
	case VTAC_COPY:
		if (a->pad.after[1])
			print_pad(f, &a->pad, rank);
		break;
	case VTAC_PAD:
		print_pad(f, &a->pad, rank);
		break;
	case VTAC_SLICE:
		print_i64(f, "start", a->slice.start, rank);
		print_i64(f, "step", a->slice.step, rank);
		break;
	default:
		break;
	}
	if (node->act.kind == VTAC_ACT_CLIP)
		fprintf(f, " act clip %.9g,%.9g", (double)node->act.lo, (double)node->act.hi);
	if (node->act.kind == VTAC_ACT_LEAKY)
		fprintf(f, " act leaky %.9g", (double)node->act.alpha);
}

static void print_formula(FILE *f, const struct vtaops_formula *y)
{
	fprintf(f, "  formula offset %d times %d zero %d bias %d shifts %u %u lo %d hi %d ramps",
		y->offset, y->times, y->zero, y->bias, y->first, y->shift, y->lo, y->hi);
	for (uint32_t i = 0; i < y->count; i++)
		fprintf(f, "%s%d,%d,%d", i ? ";" : " ", y->ramps[i].lo, y->ramps[i].hi,
			y->ramps[i].mul);
	fputc('\n', f);
}

static void print_post(FILE *f, const struct vtac_node *node)
{
	const struct vtac_post *p = &node->post;
	int64_t n = p->per_channel && node->out[0]->rank > 1 ? node->out[0]->dims[1] : 1;

	if (p->function)
		print_formula(f, &p->function->formula);
	if (!p->mul && !p->shift && !p->bias)
		return;
	fprintf(f, "  post lo %d hi %d res_shift %u a_shift %u b_shift %u", p->lo, p->hi,
		p->res_shift, p->a_shift, p->b_shift);
	if (p->around)
		fprintf(f, " around %d", p->around);
	for (int64_t i = 0; p->res_mul && i < node->out[0]->dims[1]; i++)
		fprintf(f, "%s%d", i ? "," : " res_mul ", p->res_mul[i]);
	for (int64_t i = 0; p->mul && i < n; i++)
		fprintf(f, "%s%d", i ? "," : " mul ", p->mul[i]);
	for (int64_t i = 0; p->shift && i < n; i++)
		fprintf(f, "%s%d", i ? "," : " shift ", p->shift[i]);
	fputc('\n', f);
}

/* FNV-1a of a constant's bytes, so that dumps of large models stay small. */
static uint64_t digest(const struct vtac_tensor *t)
{
	const unsigned char *p = t->data;
	uint64_t h = 14695981039346656037u;

	for (int64_t i = 0; i < vtac_bytes(t); i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static void print_quant(FILE *f, const struct vtac_quant *q)
{
	if (!q->scale)
		return;
	fprintf(f, " quant %s%s", vtac_dtype_name(q->type), q->given ? " given" : "");
	if (q->n > 1)
		fprintf(f, " axis %d", q->axis);
	for (int64_t i = 0; i < q->n; i++)
		fprintf(f, "%s%.9g", i ? "," : " scale ", (double)q->scale[i]);
	for (int64_t i = 0; q->zero && i < q->n; i++)
		fprintf(f, "%s%d", i ? "," : " zero ", q->zero[i]);
}

static void print_tensor(FILE *f, const char *kind, const struct vtac_tensor *t)
{
	char buf[128];

	fprintf(f, "%s %s %s %s", kind, t->name, vtac_dtype_name(t->dtype),
		vtac_shape_text(t, buf));
	if (t->data)
		fprintf(f, " data %016" PRIx64, digest(t));
	if (t->size)
		fprintf(f, " size %s of %d", t->size->name, t->open);
	if (t->device == VTAC_CARD)
		fputs(" card", f);
	if (t->layout == VTAC_PACKED)
		fputs(" packed", f);
	if (t->layout == VTAC_PIXELS)
		fputs(" pixels", f);
	if (t->offset >= 0)
		fprintf(f, " at %" PRId64, t->offset);
	if (t->home)
		fprintf(f, " in %s+%" PRId64, t->home->name, t->home_offset);
	print_quant(f, &t->quant);
	fputc('\n', f);
}

static void print_node(FILE *f, const struct vtac_node *node)
{
	fprintf(f, "node %s %s %s", node->name, vtac_op_name(node->op),
		node->device == VTAC_CARD ? "card" : "cpu");
	if (node->region >= 0)
		fprintf(f, " region %d", node->region);
	print_attr(f, node);
	fputc('\n', f);
	print_post(f, node);
	for (unsigned int i = 0; i < node->n_in; i++)
		fprintf(f, "  in %s\n", node->in[i] ? node->in[i]->name : "-");
	for (unsigned int i = 0; i < node->n_out; i++)
		if (node->out[i])
			print_tensor(f, "  out", node->out[i]);
	if (node->why)
		fprintf(f, "  why %s\n", node->why);
}

void vtac_dump_text(const struct vtac_graph *g, FILE *f)
{
	fprintf(f, "graph %s\n", g->name[0] ? g->name : "-");
	for (unsigned int i = 0; i < g->n_inputs; i++)
		print_tensor(f, "input", g->inputs[i]);
	for (unsigned int i = 0; i < g->n_tensors; i++)
		if (g->tensors[i]->data)
			print_tensor(f, "const", g->tensors[i]);
	for (unsigned int i = 0; i < g->n_nodes; i++)
		if (!g->nodes[i]->dead)
			print_node(f, g->nodes[i]);
	for (unsigned int i = 0; i < g->n_outputs; i++)
		fprintf(f, "output %s\n", g->outputs[i]->name);
}

/* ---- graphviz ---- */

static void print_quoted(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		fputc((unsigned char)*s < 32 ? ' ' : *s, f);
	}
}

static void dot_node(FILE *f, const struct vtac_node *node)
{
	fprintf(f, "\tn%u [label=\"", node->id);
	print_quoted(f, node->name);
	fprintf(f, "\\n%s%s\"", vtac_op_name(node->op),
		node->act.kind != VTAC_ACT_NONE ? " + activation" : "");
	fprintf(f, ", fillcolor=\"%s\"", node->device == VTAC_CARD ? "#9ecae1" :
		node->op == VTAC_COPY ? "#fdd0a2" : "#d9d9d9");
	if (node->why) {
		fputs(", tooltip=\"", f);
		print_quoted(f, node->why);
		fputc('"', f);
	}
	fputs("];\n", f);
}

static void dot_edges(FILE *f, const struct vtac_node *node)
{
	char buf[128];

	for (unsigned int i = 0; i < node->n_in; i++) {
		const struct vtac_tensor *t = node->in[i];

		if (!t || t->data)
			continue;
		if (t->producer)
			fprintf(f, "\tn%u", t->producer->id);
		else
			fprintf(f, "\tt%u", t->id);
		fprintf(f, " -> n%u [label=\"%s\"];\n", node->id, vtac_shape_text(t, buf));
	}
}

void vtac_dump_dot(const struct vtac_graph *g, FILE *f)
{
	fputs("digraph vtac {\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n", f);
	for (unsigned int i = 0; i < g->n_inputs; i++) {
		fprintf(f, "\tt%u [shape=oval, fillcolor=white, label=\"", g->inputs[i]->id);
		print_quoted(f, g->inputs[i]->name);
		fputs("\"];\n", f);
	}
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		dot_node(f, g->nodes[i]);
		dot_edges(f, g->nodes[i]);
	}
	for (unsigned int i = 0; i < g->n_outputs; i++) {
		const struct vtac_tensor *t = g->outputs[i];

		fprintf(f, "\to%u [shape=oval, fillcolor=white, label=\"", i);
		print_quoted(f, t->name);
		fputs("\"];\n", f);
		if (t->producer)
			fprintf(f, "\tn%u -> o%u;\n", t->producer->id, i);
	}
	fputs("}\n", f);
}
