// SPDX-License-Identifier: Apache-2.0
/* Matrix products, of floats and of bytes; operands have strides. */
#include "cpu_impl.h"

#define STRIP	32u		/* rows of bytes at a time */
/*
 * Rows of b that are brought into order at a time, with as many columns as ROOM holds: a small
 * cache. They are in panels of so many columns that a line of the cache has.
 */
#define DEPTH	128u
#define LONG	512u		/* rows, of columns whose values are one behind the other */
#define ROOM	(32u << 10)	/* floats */
#define PANEL	16u		/* floats */
#define COLS	2048u

/* Values up to the last that an operand with these strides has. */
static uint64_t reach(const uint32_t *batch, const uint32_t *stride, uint32_t rows, uint32_t row,
		      uint32_t cols, uint32_t col)
{
	uint64_t last = (rows - 1ull) * row + (cols - 1ull) * col;

	for (unsigned int i = 0; i < 3; i++)
		last += (batch[i] - 1ull) * stride[i];
	return last + 1;
}

struct counts {
	uint64_t a, b, c, y;
};

static int matrices_need(const struct vtacpu_matrices *m, struct vtacpu_need *need,
			 struct counts *n)
{
	const uint32_t dims[] = { m->batch[0], m->batch[1], m->batch[2], m->m, m->n };

	n->y = cpu_count(dims, 5);
	if (!n->y || !m->k || m->k > COUNT_MAX)
		return cpu_bad(need, "a size is 0, or too large");
	for (unsigned int i = 0; i < 3; i++)
		if (m->a_batch[i] > COUNT_MAX || m->b_batch[i] > COUNT_MAX ||
		    m->c_batch[i] > COUNT_MAX)
			return cpu_bad(need, "a stride is too large");
	if (m->a_row > COUNT_MAX || m->a_col > COUNT_MAX || m->b_row > COUNT_MAX ||
	    m->b_col > COUNT_MAX || m->c_row > COUNT_MAX || m->c_col > COUNT_MAX)
		return cpu_bad(need, "a stride is too large");
	/* Five products of 62 bits: no more than 64. */
	n->a = reach(m->batch, m->a_batch, m->m, m->a_row, m->k, m->a_col);
	n->b = reach(m->batch, m->b_batch, m->k, m->b_row, m->n, m->b_col);
	n->c = reach(m->batch, m->c_batch, m->m, m->c_row, m->n, m->c_col);
	need->work = cpu_mul(n->y, m->k);
	return 0;
}

/* The places of rows and columns in panels. */
struct places {
	uint32_t at[LONG];
	struct cpu_spot spots[COLS / CPU_LANES];
};

/* Scratch memory of a product of floats. A panel begins at another place of a cache each. */
struct room {
	float b[ROOM + COLS];
	struct places places;
};

int cpu_gemm_f32_need(const struct vtacpu_gemm_f32 *p, struct vtacpu_need *need)
{
	struct counts n;

	if (matrices_need(&p->mat, need, &n) || cpu_flag_ok(need, p->has_c) ||
	    cpu_operand(need, n.a, 4) || cpu_operand(need, n.b, 4) ||
	    cpu_operand_if(need, p->has_c, n.c, 4) || cpu_operand(need, n.y, 4) ||
	    cpu_act_ok(need, &p->act))
		return -1;
	return cpu_scratch(need, sizeof(struct room));
}

/* Values of the panels of b. */
static uint64_t packed_values(const struct vtacpu_matrices *m)
{
	return cpu_mul(((uint64_t)m->n + PANEL - 1) / PANEL * PANEL, m->k);
}

int cpu_gemm_packed_f32_need(const struct vtacpu_gemm_f32 *p, struct vtacpu_need *need)
{
	const struct vtacpu_matrices *m = &p->mat;
	struct counts n;

	if (matrices_need(m, need, &n) || cpu_flag_ok(need, p->has_c) ||
	    cpu_operand(need, n.a, 4) || cpu_operand(need, packed_values(m), 4) ||
	    cpu_operand_if(need, p->has_c, n.c, 4) || cpu_operand(need, n.y, 4) ||
	    cpu_act_ok(need, &p->act))
		return -1;
	for (unsigned int i = 0; i < 3; i++)
		if (m->b_batch[i])
			return cpu_bad(need, "a packed matrix has strides");
	if (m->b_row || m->b_col)
		return cpu_bad(need, "a packed matrix has strides");
	return cpu_scratch(need, sizeof(struct places));
}

static uint64_t padded(uint64_t k)
{
	return (k + 7) & ~7ull;
}

int cpu_gemm_i8_need(const struct vtacpu_gemm_i8 *p, struct vtacpu_need *need)
{
	struct counts n;

	if (matrices_need(&p->mat, need, &n) || cpu_flag_ok(need, p->has_c) ||
	    cpu_flag_ok(need, p->a_unsigned) || cpu_flag_ok(need, p->b_unsigned) ||
	    cpu_flag_ok(need, p->y_unsigned) || cpu_operand(need, n.a, 1) ||
	    cpu_operand(need, n.b, 1) || cpu_operand_if(need, p->has_c, n.c, 1) ||
	    cpu_post_need(need, &p->post, p->y_unsigned, p->mat.n) || cpu_operand(need, n.y, 1))
		return -1;
	if (p->a_zero < -128 || p->a_zero > 255 || p->b_zero < -128 || p->b_zero > 255 ||
	    p->res_shift > 31)
		return cpu_bad(need, "a zero point has more than 8 bits, or a shift is above 31");
	return cpu_scratch(need, cpu_mul(2 * padded(p->mat.k), padded(p->mat.n) + STRIP));
}

/* Offset of matrix number @i of the batch. */
static size_t batch_at(const uint32_t *batch, const uint32_t *stride, size_t i)
{
	size_t inner = i % batch[2], middle = i / batch[2] % batch[1];

	return inner * stride[2] + middle * stride[1] + i / batch[2] / batch[1] * stride[0];
}

static size_t batches(const struct vtacpu_matrices *m)
{
	return (size_t)m->batch[0] * m->batch[1] * m->batch[2];
}

/* Columns of row @i: scale, add c, activate. */
static void finish_row(const struct vtacpu_gemm_f32 *p, const float *c, float *y, uint32_t n)
{
	for (uint32_t j = 0; p->alpha != 1 && j < n; j++)
		y[j] *= p->alpha;
	if (c && p->mat.c_col == 1)
		for (uint32_t j = 0; j < n; j++)
			y[j] += p->beta * c[j];
	else if (c)
		for (uint32_t j = 0; j < n; j++)
			y[j] += p->beta * c[(size_t)j * p->mat.c_col];
	cpu_act(&p->act, y, n);
}

/* The part of b that is in order at a time: @rows by @cols, in panels of @pitch floats. */
struct part {
	uint32_t rows, cols;
	size_t pitch;
};

/* Columns that are one behind the other are read best in long rows, rows in long columns. */
static struct part size_part(const struct vtacpu_matrices *m)
{
	struct part part;

	part.rows = min_u32(m->k, m->b_col == 1 ? DEPTH : LONG);
	part.cols = min_u32(ROOM / part.rows / PANEL * PANEL, COLS);
	part.cols = min_u32(part.cols, m->n);
	part.pitch = (size_t)part.rows * PANEL + PANEL;
	return part;
}

/* @n columns, a panel at most, of @k rows of b, with zeros behind them. */
CPU_INLINE void fill_panel(const struct vtacpu_matrices *m, float *to, const float *b, uint32_t k,
			   uint32_t n)
{
	for (uint32_t l = 0; l < k; l++, b += m->b_row, to += PANEL) {
		for (uint32_t c = 0; c < n; c++)
			to[c] = b[(size_t)c * m->b_col];
		for (uint32_t c = n; c < PANEL; c++)
			to[c] = 0;
	}
}

CPU_BODY fill_panels_body(bool wide, const struct vtacpu_matrices *m, const struct part *part,
			  float *to, const float *b, uint32_t k, uint32_t n)
{
	uint32_t whole = n / PANEL * PANEL;

	(void)wide;
	if (m->b_col == 1) {
		for (uint32_t l = 0; l < k; l++) {
			const float *from = b + (size_t)l * m->b_row;
			float *line = to + (size_t)l * PANEL;

			for (uint32_t c = 0; c < whole; c += PANEL, line += part->pitch) {
				__builtin_prefetch(from + 4 * (size_t)m->b_row + c);
				*(cpu_v8 *)line = *(const cpu_v8 *)(from + c);
				*(cpu_v8 *)(line + 8) = *(const cpu_v8 *)(from + c + 8);
			}
		}
		to += whole / PANEL * part->pitch;
		b += whole;
	} else {
		for (uint32_t c = 0; c < whole; c += PANEL, to += part->pitch) {
			uint32_t l = 0;
			const float *from = b + (size_t)c * m->b_col;

			if (m->b_row == 1)
				for (; l + CPU_LANES <= k; l += CPU_LANES) {
					const float *next = from + l +
						(PANEL + l % PANEL) * (size_t)m->b_col;

					for (uint32_t i = 0; i < CPU_LANES; i++)
						__builtin_prefetch(next + i * (size_t)m->b_col);
					cpu_transpose(to + l * PANEL, PANEL, from + l, m->b_col);
					cpu_transpose(to + l * PANEL + 8, PANEL,
						      from + l + 8 * (size_t)m->b_col, m->b_col);
				}
			fill_panel(m, to + l * PANEL, from + (size_t)l * m->b_row, k - l, PANEL);
		}
		b += (size_t)whole * m->b_col;
	}
	if (whole < n)
		fill_panel(m, to, b, k, n - whole);
}

static void fill_panels(const struct vtacpu_matrices *m, const struct part *part, float *to,
			const float *b, uint32_t k, uint32_t n);
CPU_WIDE(fill_panels, (const struct vtacpu_matrices *m, const struct part *part, float *to,
		       const float *b, uint32_t k, uint32_t n), m, part, to, b, k, n)

/* The spots of @n columns, in panels that are @pitch floats apart. */
static uint32_t put_panels(size_t pitch, struct cpu_spot *spots, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t c = 0; c < n; c += PANEL)
		count += cpu_put_spots(spots + count, min_u32(PANEL, n - c),
				       (uint32_t)(c / PANEL * pitch), c);
	return count;
}

/* All but b, its rows, and the output. */
static struct cpu_product make_product(const struct vtacpu_matrices *m, struct places *places)
{
	for (uint32_t l = 0; l < LONG; l++)
		places->at[l] = l * PANEL;
	return (struct cpu_product) {
		.a_row = m->a_row, .a_col = m->a_col, .rows = m->m, .at = places->at,
		.spots = places->spots, .y_row = m->n,
	};
}

void cpu_matrix_f32(const struct vtacpu_matrices *m, const float *a, const float *b, float *y,
		    bool resume, void *scratch)
{
	const struct part part = size_part(m);
	struct room *room = scratch;
	struct cpu_product product = make_product(m, &room->places);

	product.b = room->b;
	for (uint32_t j = 0; j < m->n; j += part.cols) {
		uint32_t cols = min_u32(part.cols, m->n - j);

		product.spot_count = put_panels(part.pitch, room->places.spots, cols);
		product.y = y + j;
		for (uint32_t l = 0; l < m->k; l += part.rows) {
			product.a = a + (size_t)l * m->a_col;
			product.k = min_u32(part.rows, m->k - l);
			product.resume = resume || l > 0;
			fill_panels(m, &part, room->b,
				    b + (size_t)j * m->b_col + (size_t)l * m->b_row,
				    (uint32_t)product.k, cols);
			cpu_mac_f32(&product);
		}
	}
}

uint64_t cpu_matrix_scratch(void)
{
	return sizeof(struct room);
}

static void row_product(const struct vtacpu_matrices *m, const float *a, const float *b, float *y)
{
	const struct cpu_row row = {
		.x = a, .step = m->a_col, .w = b, .row = m->b_col, .col = m->b_row, .k = m->k,
		.n = m->n, .y = y,
	};

	cpu_row_f32(&row);
}

/* The rows of the product of matrix number @i of the batch. */
static void finish_rows(const struct vtacpu_gemm_f32 *p, const float *c, float *y, size_t i)
{
	const struct vtacpu_matrices *m = &p->mat;
	const float *add = c ? c + batch_at(m->batch, m->c_batch, i) : NULL;

	for (size_t r = 0; r < m->m; r++)
		finish_row(p, add ? add + r * m->c_row : NULL, y + r * m->n, m->n);
}

void vtacpu_gemm_f32(const struct vtacpu_gemm_f32 *p, void *const *io, void *scratch)
{
	const struct vtacpu_matrices *m = &p->mat;
	const float *a = io[0], *b = io[1];
	float *y = io[3];

	for (size_t i = 0; i < batches(m); i++, y += (size_t)m->m * m->n) {
		const float *x = a + batch_at(m->batch, m->a_batch, i);
		const float *w = b + batch_at(m->batch, m->b_batch, i);

		if (m->m == 1)
			row_product(m, x, w, y);
		else
			cpu_matrix_f32(m, x, w, y, false, scratch);
		finish_rows(p, io[2], y, i);
	}
}

/* ---- b in panels ---- */

void vtacpu_gemm_pack(const struct vtacpu_gemm_f32 *p, const float *b, float *packed)
{
	const struct vtacpu_matrices *m = &p->mat;
	const struct part all = { .rows = m->k, .cols = m->n, .pitch = (size_t)m->k * PANEL };

	fill_panels(m, &all, packed, b, m->k, m->n);
}

/* y = a * b, in the order of k */
static void multiply_packed(const struct vtacpu_matrices *m, const float *a, const float *b,
			    float *y, struct places *places)
{
	struct cpu_product product = make_product(m, places);
	uint32_t rows = min_u32(m->k, LONG), all = ROOM / rows / PANEL * PANEL;
	size_t pitch = (size_t)m->k * PANEL;

	all = min_u32(all, COLS);
	for (uint32_t j = 0; j < m->n; j += all) {
		product.spot_count = put_panels(pitch, places->spots, min_u32(all, m->n - j));
		product.y = y + j;
		for (uint32_t l = 0; l < m->k; l += rows) {
			product.a = a + (size_t)l * m->a_col;
			product.b = b + j / PANEL * pitch + (size_t)l * PANEL;
			product.k = min_u32(rows, m->k - l);
			product.resume = l > 0;
			cpu_mac_f32(&product);
		}
	}
}

void vtacpu_gemm_packed_f32(const struct vtacpu_gemm_f32 *p, void *const *io, void *scratch)
{
	const struct vtacpu_matrices *m = &p->mat;
	float *y = io[3];

	for (size_t i = 0; i < batches(m); i++, y += (size_t)m->m * m->n) {
		multiply_packed(m, (const float *)io[0] + batch_at(m->batch, m->a_batch, i), io[1],
				y, scratch);
		finish_rows(p, io[2], y, i);
	}
}

/* @rows rows of @k values, with zeros behind them and rows of zeros up to @all. */
static void widen(int16_t *dst, size_t width, const uint8_t *src, uint32_t rows, uint32_t all,
		  size_t row, uint32_t k, size_t col, bool is_unsigned, int32_t zero)
{
	for (uint32_t i = 0; i < all; i++, dst += width) {
		size_t l = 0;

		for (; i < rows && l < k; l++)
			dst[l] = cpu_value(src, i * row + l * col, is_unsigned, zero);
		memset(dst + l, 0, (width - l) * sizeof(*dst));
	}
}

/* The sums of one row, of which the row's outputs are made. */
static void finish_bytes(const struct vtacpu_gemm_i8 *p, void *const *io, uint32_t j,
			 int32_t *acc, size_t c_at, size_t y_at, uint32_t n)
{
	struct cpu_post post = cpu_post(&p->post, io + 3, p->y_unsigned);
	const int8_t *c = io[2];

	for (uint32_t i = 0; c && i < n; i++)
		acc[i] = (int32_t)((uint32_t)acc[i] +
				   ((uint32_t)c[c_at + (size_t)i * p->mat.c_col] << p->res_shift));
	cpu_post_channels(&post, j, acc, (uint8_t *)io[6] + y_at, n);
}

/* Rows [@i, @i + @rows) of one product; a and b are 16 bits wide. */
static void run_strip(const struct vtacpu_gemm_i8 *p, void *const *io, const int16_t *a,
		      const int16_t *b, uint32_t i, uint32_t rows, size_t c_at, size_t y_at)
{
	const struct vtacpu_matrices *m = &p->mat;
	size_t k = up8(m->k);

	for (uint32_t r = 0; r < rows; r += DOT_ROWS) {
		for (uint32_t j = 0; j < m->n; j += DOT_COLS) {
			uint32_t n = min_u32(DOT_COLS, m->n - j);
			int32_t sums[DOT_ROWS * DOT_COLS];

			cpu_dot_i16(sums, a + r * k, b + j * k, k);
			for (size_t at = 0; at < DOT_ROWS && r + at < rows; at++)
				finish_bytes(p, io, j, sums + at * DOT_COLS,
					     c_at + (i + r + at) * m->c_row + (size_t)j * m->c_col,
					     y_at + (i + r + at) * m->n + j, n);
		}
	}
}

void vtacpu_gemm_i8(const struct vtacpu_gemm_i8 *p, void *const *io, void *scratch)
{
	const struct vtacpu_matrices *m = &p->mat;
	uint32_t all = (m->n + 7) & ~7u;
	size_t k = up8(m->k);
	int16_t *b = scratch, *a = b + all * k;

	for (size_t batch = 0; batch < batches(m); batch++) {
		size_t a_at = batch_at(m->batch, m->a_batch, batch);

		widen(b, k, (const uint8_t *)io[1] + batch_at(m->batch, m->b_batch, batch), m->n,
		      all, m->b_col, m->k, m->b_row, p->b_unsigned, p->b_zero);
		for (uint32_t i = 0; i < m->m; i += STRIP) {
			uint32_t rows = min_u32(STRIP, m->m - i);

			widen(a, k, (const uint8_t *)io[0] + a_at + (size_t)i * m->a_row, rows,
			      (rows + 1) & ~1u, m->a_row, m->k, m->a_col, p->a_unsigned,
			      p->a_zero);
			run_strip(p, io, a, b, i, rows, batch_at(m->batch, m->c_batch, batch),
				  batch * m->m * m->n);
		}
	}
}
