// SPDX-License-Identifier: Apache-2.0
/*
 * The pass `gptq`, and GPTQ: round the weights of a sum together. To round each weight to the
 * nearest integer is not the best for the sum: neighbouring pixels are alike, so errors of their
 * weights add up, or cancel. A weight error e adds e'Me to the channel's squared output error, with
 * the Hessian M = mean(x x') of the values x that the weights are multiplied by. To make that
 * small, weights are rounded one after the other, and later ones compensate the errors of earlier
 * ones. With M = LL', from the last weight to the first:
 *	q[k] = round(w[k] + sum over j > k of (w[j] - q[j]) * L[j][k] / L[k][k])
 * This is Babai's nearest plane, and what GPTQ does (Frantar et al., 2022).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant_impl.h"

/* Fewer values for each tap do not estimate a Hessian. */
#define ROWS_PER_TAP	2
/* Of all layers, and no more than a fourth of the memory that is left */
#define BYTES_MAX	(512u << 20)
/* Rows that are added to a Hessian at a time */
#define ROWS		32
/* Weights that are rounded before their errors go to all others */
#define BLOCK		32
/* Part of its mean diagonal that M gets: the Hessian of a sample is not that of all images. */
#define DAMPING		0.01

/*
 * L of a group, for the divisors that it was made with last: candidates of one structure often have
 * the same. Rows left of the diagonal are in the part of the Hessian that it does not use.
 */
struct factor {
	bool known;
	double *by;			/* [taps]: what values were multiplied by */
	float *diagonal;		/* [taps] */
	int32_t *order;			/* [taps]: the tap of row i */
};

struct vtac_hessian {
	int64_t taps, groups;		/* taps of one group */
	int64_t seen, each;		/* rows, and how many of each image */
	/* [groups][taps][taps]: left of the diagonal and there; right of it L, see row_of() */
	float *sum;
	float *rows;			/* [ROWS][taps] */
	const double *by;		/* [groups][taps]: what values are multiplied by; or NULL */
	struct factor *factors;		/* [groups]: as @sum, of all that have it */
};

static bool is_candidate(const struct vtac_node *node)
{
	const struct vtac_tensor *w = node->n_in > 1 ? node->in[1] : NULL;

	return node->op == VTAC_CONV && node->device == VTAC_CARD && w && w->data &&
	       w->dtype == VTAC_F32 && !w->quant.given &&
	       vtac_elements(w) <= VTAC_GPTQ_TAPS_MAX * w->dims[0];
}

static int open_factor(struct vtac_graph *g, struct factor *f, int64_t taps)
{
	f->by = vtac_alloc(g, (uint64_t)taps, sizeof(f->by[0]));
	f->diagonal = vtac_alloc(g, (uint64_t)taps, sizeof(f->diagonal[0]));
	f->order = vtac_alloc(g, (uint64_t)taps, sizeof(f->order[0]));
	return f->by && f->diagonal && f->order ? 0 : -1;
}

/* Of @all images, @now have their share of the rows; later ones get as many each. */
static struct vtac_hessian *hessian_new(struct vtac_graph *g, const struct vtac_node *node,
					int64_t now, int64_t all, uint64_t *left)
{
	const struct vtac_tensor *w = node->in[1], *y = node->out[0];
	int64_t taps = vtac_elements(w) / w->dims[0], groups = node->attr.conv.groups;
	int64_t rows = y->dims[0] * y->dims[2] * y->dims[3];
	uint64_t bytes = (uint64_t)(groups * taps * taps) * sizeof(float);
	struct vtac_hessian *m;

	if (all * rows < ROWS_PER_TAP * taps || bytes > *left)
		return NULL;
	*left -= bytes;
	m = vtac_alloc(g, 1, sizeof(*m));
	if (!m)
		return NULL;
	m->taps = taps;
	m->groups = groups;
	m->each = (ROWS_PER_TAP * taps + now - 1) / now;
	m->each = m->each > rows ? rows : m->each;
	m->sum = vtac_alloc(g, (uint64_t)(groups * taps * taps), sizeof(m->sum[0]));
	m->rows = vtac_alloc(g, (uint64_t)(ROWS * taps), sizeof(m->rows[0]));
	m->factors = vtac_alloc(g, (uint64_t)groups, sizeof(m->factors[0]));
	for (int64_t i = 0; m->factors && i < groups; i++)
		if (open_factor(g, &m->factors[i], taps))
			return NULL;
	return m->sum && m->rows && m->factors ? m : NULL;
}

/* Returns the node of the same name; nodes are looked for in the order that @g has, too. */
static const struct vtac_node *same_node(const struct vtac_graph *g, const struct vtac_node *node,
					 unsigned int *from)
{
	for (unsigned int k = 0; k < g->n_nodes; k++) {
		unsigned int at = (*from + k) % g->n_nodes;

		if (strcmp(g->nodes[at]->name, node->name))
			continue;
		*from = at;
		return g->nodes[at];
	}
	return NULL;
}

int vtac_gptq_select(struct vtac_graph *g, const struct vtac_graph *base, unsigned int now,
		     unsigned int all)
{
	uint64_t left = (g->arena.limit - g->arena.used) / 4;
	unsigned int from = 0;

	left = left < BYTES_MAX ? left : BYTES_MAX;
	for (unsigned int i = 0; i < g->n_nodes; i++) {
		struct vtac_node *node = g->nodes[i];
		const struct vtac_node *same = NULL;

		node->hessian = NULL;
		if (!is_candidate(node))
			continue;
		if (base && is_counted(base, node->in[0]))
			same = same_node(base, node, &from);
		node->hessian = same ? same->hessian : hessian_new(g, node, now, all, &left);
	}
	return g->error.text[0] ? -1 : 0;
}

int vtac_pass_gptq(struct vtac_graph *g, const struct vtac_options *opt)
{
	return g->how && !g->how->nearest && !g->counted ?
		vtac_gptq_select(g, NULL, opt->images->count, opt->images->count) : 0;
}

int vtac_gptq_divide(struct vtac_graph *g, struct vtac_node *node, const float *by)
{
	struct vtac_hessian *m = vtac_alloc(g, 1, sizeof(*m));
	int64_t per_in = node->in[1]->dims[2] * node->in[1]->dims[3];
	double *mul;

	if (!m)
		return -1;
	*m = *node->hessian;
	mul = vtac_alloc(g, (uint64_t)(m->groups * m->taps), sizeof(*mul));
	for (int64_t i = 0; mul && i < m->groups * m->taps; i++)
		mul[i] = 1 / (double)by[i / per_in];
	m->by = mul;
	node->hessian = m;
	return mul ? 0 : -1;
}

/* Gather the values that the weights of @group are multiplied by for the output at @y, @x. */
static void gather_taps(const struct vtac_node *node, const float *data, int64_t group, int64_t n,
			int64_t y, int64_t x, float *row)
{
	const struct vtac_window *win = &node->attr.conv.window;
	const struct vtac_tensor *in = node->in[0];
	int64_t each = in->dims[1] / node->attr.conv.groups, h = in->dims[2], w = in->dims[3];
	int64_t top = y * win->stride[0] - win->pad[0], left = x * win->stride[1] - win->pad[1];

	data += (n * in->dims[1] + group * each) * h * w;
	for (int64_t c = 0; c < each; c++, data += h * w)
		for (int64_t i = 0; i < win->kernel[0]; i++)
			for (int64_t k = 0; k < win->kernel[1]; k++) {
				int64_t at_y = top + i * win->dilation[0];
				int64_t at_x = left + k * win->dilation[1];
				bool within = at_y >= 0 && at_y < h && at_x >= 0 && at_x < w;

				*row++ = within ? data[at_y * w + at_x] : 0;
			}
}

/* Vectors at any address. GCC makes two instructions of each where registers are shorter. */
typedef float floats_t __attribute__((vector_size(32), aligned(4)));
typedef double doubles_t __attribute__((vector_size(32), aligned(8)));

#define FLOATS	8
#define DOUBLES	4
/* Sums that stay in registers while rows go by: of four taps with two vectors of others */
#define TILE_TAPS	4
#define TILE_OTHERS	(2 * FLOATS)

/* Add ROWS rows to the products of TILE_TAPS taps with TILE_OTHERS taps. */
static inline __attribute__((always_inline))
void add_tile(float *sum, const float *taps_at, const float *others, int64_t taps)
{
	floats_t part[TILE_TAPS][2];

	for (int i = 0; i < TILE_TAPS; i++)
		for (int k = 0; k < 2; k++)
			part[i][k] = *(const floats_t *)(sum + i * taps + k * FLOATS);
	for (int64_t r = 0; r < ROWS * taps; r += 4 * taps)
		for (int i = 0; i < TILE_TAPS; i++) {
			const float *f = taps_at + r + i;

			for (int k = 0; k < 2; k++) {
				const float *o = others + r + k * FLOATS;

				part[i][k] += f[0] * *(const floats_t *)o +
					f[taps] * *(const floats_t *)(o + taps) +
					f[2 * taps] * *(const floats_t *)(o + 2 * taps) +
					f[3 * taps] * *(const floats_t *)(o + 3 * taps);
			}
		}
	for (int i = 0; i < TILE_TAPS; i++)
		for (int k = 0; k < 2; k++)
			*(floats_t *)(sum + i * taps + k * FLOATS) = part[i][k];
}

/* Likewise of tap @i with taps from @first on, up to itself. */
static inline __attribute__((always_inline))
void add_tap(float *sum, const float *rows, int64_t taps, int64_t i, int64_t first)
{
	for (int64_t r = 0; r < ROWS * taps; r += 4 * taps) {
		const float *a = rows + r, *b = a + taps, *c = b + taps, *d = c + taps;

		for (int64_t k = first; k <= i; k++)
			sum[i * taps + k] += a[i] * a[k] + b[i] * b[k] + c[i] * c[k] + d[i] * d[k];
	}
}

/* Add ROWS rows: a sum of products for each pair of taps. Tiles reach beyond the diagonal. */
VTAC_CLONES
static void add_rows(float *sum, const float *rows, int64_t taps)
{
	int64_t i = 0;

	for (; i + TILE_TAPS <= taps; i += TILE_TAPS) {
		int64_t k = 0;

		for (; k < i + TILE_TAPS && k + TILE_OTHERS <= taps; k += TILE_OTHERS)
			add_tile(sum + i * taps + k, rows + i, rows + k, taps);
		for (int n = 0; n < TILE_TAPS; n++)
			add_tap(sum, rows, taps, i + n, k);
	}
	for (; i < taps; i++)
		add_tap(sum, rows, taps, i, 0);
}

void vtac_gptq_observe(struct vtac_node *node, const float *data)
{
	struct vtac_hessian *m = node->hessian;
	const struct vtac_tensor *y = node->out[0];
	int64_t plane = y->dims[2] * y->dims[3], all = y->dims[0] * plane, count = 0;

	for (int64_t group = 0; group < m->groups; group++) {
		m->factors[group].known = false;
		for (int64_t i = 0; i < m->each; i++) {
			/* Spread over the image, at other places in each. */
			int64_t at = (i * all / m->each + m->seen * 7) % all;

			gather_taps(node, data, group, at / plane, at % plane / y->dims[3],
				    at % y->dims[3], m->rows + count++ * m->taps);
			if (count < ROWS && i + 1 < m->each)
				continue;
			memset(m->rows + count * m->taps, 0,
			       (size_t)((ROWS - count) * m->taps) * sizeof(m->rows[0]));
			add_rows(m->sum + group * m->taps * m->taps, m->rows, m->taps);
			count = 0;
		}
	}
	m->seen += m->each;
}

/* ---- rounding ---- */

/* Sort taps with the greatest values last: they are rounded first, and others compensate them. */
static void sort_taps(int32_t *order, const double *diagonal, int64_t taps)
{
	for (int64_t i = 0; i < taps; i++) {
		int64_t k = i;

		for (; k > 0 && diagonal[order[k - 1]] > diagonal[i]; k--)
			order[k] = order[k - 1];
		order[k] = (int32_t)i;
	}
}

/* Rows of a factor that are computed at once, and share what they read of the rows before */
#define TOGETHER	8

/* The sums of products of @count rows, @n apart, with @row. */
static inline __attribute__((always_inline))
void dots(const double *rows, int64_t n, const double *row, int64_t count, int together,
	  double *out)
{
	doubles_t part[TOGETHER] = { { 0 } };
	int64_t i = 0;

	for (; i + DOUBLES <= count; i += DOUBLES)
		for (int k = 0; k < together; k++)
			part[k] += *(const doubles_t *)(rows + k * n + i) *
				   *(const doubles_t *)(row + i);
	for (; i < count; i++)
		for (int k = 0; k < together; k++)
			part[k][0] += rows[k * n + i] * row[i];
	for (int k = 0; k < together; k++)
		out[k] = part[k][0] + part[k][1] + part[k][2] + part[k][3];
}

/* Complete row @i from column @first on. */
static inline __attribute__((always_inline))
void factorise_row(double *l, int64_t n, int64_t i, int64_t first)
{
	double *row = l + i * n, sum;

	for (int64_t k = first; k < i; k++) {
		dots(row, n, l + k * n, k, 1, &sum);
		row[k] = (row[k] - sum) / l[k * n + k];
	}
	dots(row, n, row, i, 1, &sum);
	row[i] = sqrt(row[i] - sum);
}

/* LL' = M, in place. */
VTAC_CLONES
static void factorise(double *l, int64_t n)
{
	int64_t i = 0;

	for (; i + TOGETHER <= n; i += TOGETHER) {
		double sum[TOGETHER];

		for (int64_t k = 0; k < i; k++) {
			dots(l + i * n, n, l + k * n, k, TOGETHER, sum);
			for (int64_t r = 0; r < TOGETHER; r++)
				l[(i + r) * n + k] = (l[(i + r) * n + k] - sum[r]) / l[k * n + k];
		}
		for (int64_t r = i; r < i + TOGETHER; r++)
			factorise_row(l, n, r, i);
	}
	for (; i < n; i++)
		factorise_row(l, n, i, 0);
}

/* M with the diagonal damped, its taps in order, and each multiplied by its number in @f->by. */
static void fill_matrix(double *l, const struct factor *f, const float *sum, int64_t n)
{
	double mean = 0;

	/* Before the matrix its memory is that of the diagonal. */
	for (int64_t i = 0; i < n; i++)
		l[i] = sum[i * (n + 1)] * f->by[i] * f->by[i];
	sort_taps(f->order, l, n);
	for (int64_t i = 0; i < n; i++)
		mean += l[i] / (double)n;
	for (int64_t i = 0; i < n; i++) {
		int64_t a = f->order[i];

		for (int64_t k = 0; k <= i; k++) {
			int64_t b = f->order[k];

			l[i * n + k] = sum[(a > b ? a : b) * n + (a > b ? b : a)] * f->by[a] *
				f->by[b];
		}
		l[i * (n + 1)] += mean > 0 ? mean * DAMPING : 1;
	}
}

/*
 * The values of row @k of L left of the diagonal, of which there are k, in an n x n matrix: they
 * are the last of the k-th row from the end.
 */
static float *row_of(float *sum, int64_t n, int64_t k)
{
	return sum + (n - 1 - k) * n + n - k;
}

/* Keeps L. Without a finite one, as sums of great values are infinite, no weight has others. */
static void keep_factor(struct factor *f, float *sum, const double *l, int64_t n)
{
	bool usable = true;

	for (int64_t i = 0; i < n; i++) {
		f->diagonal[i] = (float)l[i * (n + 1)];
		usable = usable && f->diagonal[i] > 0 && isfinite(f->diagonal[i]);
	}
	for (int64_t i = 0; i < n; i++) {
		float *row = row_of(sum, n, i);

		if (!usable)
			f->diagonal[i] = 1;
		for (int64_t k = 0; k < i; k++)
			row[k] = usable ? (float)l[i * n + k] : 0;
	}
}

/* Returns true if the factor of @group is that of @m's numbers; else these become the factor's. */
static bool has_factor(const struct vtac_hessian *m, int64_t group)
{
	struct factor *f = &m->factors[group];
	bool known = f->known;

	for (int64_t i = 0; i < m->taps; i++) {
		double by = m->by ? m->by[group * m->taps + i] : 1;

		known = known && f->by[i] == by;
		f->by[i] = by;
	}
	return known;
}

int vtac_gptq_factorise(const struct vtac_hessian *m, int64_t group)
{
	struct factor *f = &m->factors[group];
	float *sum = m->sum + group * m->taps * m->taps;
	size_t n = (size_t)m->taps;
	double *l;

	if (has_factor(m, group))
		return 0;
	f->known = false;
	l = malloc(n * n * sizeof(*l));
	if (!l)
		return -1;
	fill_matrix(l, f, sum, m->taps);
	factorise(l, m->taps);
	keep_factor(f, sum, l, m->taps);
	free(l);
	f->known = true;
	return 0;
}

/* Channels that are rounded together, and the Hessian's group that they are of */
struct rounding_group {
	const struct factor *factor;
	float *sum;			/* with L */
	int64_t taps;
};

/* Round the taps from @first to before @end, and keep their errors. */
static inline __attribute__((always_inline))
void round_block(const struct rounding_group *g, const struct vtac_rounding *ch, float *more,
		 float *errors, int64_t first, int64_t end, int top)
{
	for (int64_t k = end - 1; k >= first; k--) {
		const float *row = row_of(g->sum, g->taps, k);
		int32_t tap = g->factor->order[k];
		float exact = ch->w[tap] / ch->step;
		float v = rintf(exact + more[k] / g->factor->diagonal[k]);

		v = !(v < (float)top) ? (float)top : v < (float)-top ? (float)-top : v;
		ch->q[tap] = (int8_t)v;
		errors[(k - first) * VTAC_GPTQ_CHANNELS] = exact - v;
		for (int64_t i = first; i < k; i++)
			more[i] += (exact - v) * row[i];
	}
}

/* Add the errors of a block's rows to the taps before it, which are in the same order as ever. */
static inline __attribute__((always_inline))
void add_errors(const struct rounding_group *g, const float *errors, float *more, int64_t first,
		int64_t end)
{
	int64_t i = 0;

	for (; i + 2 * FLOATS <= first; i += 2 * FLOATS) {
		floats_t part[VTAC_GPTQ_CHANNELS][2];

		for (int c = 0; c < VTAC_GPTQ_CHANNELS; c++)
			for (int h = 0; h < 2; h++)
				part[c][h] = *(const floats_t *)(more + c * g->taps + i +
								 h * FLOATS);
		for (int64_t k = end - 1; k >= first; k--) {
			const float *row = row_of(g->sum, g->taps, k) + i;

			for (int c = 0; c < VTAC_GPTQ_CHANNELS; c++)
				for (int h = 0; h < 2; h++)
					part[c][h] += errors[(k - first) * VTAC_GPTQ_CHANNELS + c] *
						*(const floats_t *)(row + h * FLOATS);
		}
		for (int c = 0; c < VTAC_GPTQ_CHANNELS; c++)
			for (int h = 0; h < 2; h++)
				*(floats_t *)(more + c * g->taps + i + h * FLOATS) = part[c][h];
	}
	for (; i < first; i++)
		for (int64_t k = end - 1; k >= first; k--)
			for (int c = 0; c < VTAC_GPTQ_CHANNELS; c++)
				more[c * g->taps + i] +=
					errors[(k - first) * VTAC_GPTQ_CHANNELS + c] *
					row_of(g->sum, g->taps, k)[i];
}

VTAC_CLONES
static void round_together(const struct rounding_group *g, const struct vtac_rounding *channels,
			   int n, int top)
{
	float errors[BLOCK * VTAC_GPTQ_CHANNELS] = { 0 };
	/* [channels][taps]: a weight's part of the errors so far */
	float more[VTAC_GPTQ_CHANNELS * VTAC_GPTQ_TAPS_MAX];

	memset(more, 0, (size_t)(VTAC_GPTQ_CHANNELS * g->taps) * sizeof(more[0]));
	for (int64_t end = g->taps; end > 0; end -= BLOCK) {
		int64_t first = end > BLOCK ? end - BLOCK : 0;

		for (int c = 0; c < n; c++)
			round_block(g, &channels[c], more + c * g->taps, errors + c, first, end,
				    top);
		add_errors(g, errors, more, first, end);
	}
}

void vtac_gptq_round(const struct vtac_hessian *m, int64_t group,
		     const struct vtac_rounding *channels, int n, int top)
{
	const struct rounding_group g = {
		&m->factors[group], m->sum + group * m->taps * m->taps, m->taps,
	};

	round_together(&g, channels, n, top);
}
