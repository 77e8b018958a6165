// SPDX-License-Identifier: Apache-2.0
/* Values from one place to another: transpose, concat, slice, pad. */
#include "cpu_impl.h"

static bool value_ok(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Does position @at with these strides stay within @count values? */
static bool stays(const struct vtacpu_move *p, uint32_t at, const int32_t *stride, uint32_t count)
{
	int64_t low = at, high = at;

	for (uint32_t i = 0; i < p->rank; i++) {
		int64_t most = (int64_t)(p->dims[i] - 1ull) * stride[i];

		/* Below 2^62 each; what is beyond 2^32 will not come back. */
		low += most < 0 ? most : 0;
		high += most > 0 ? most : 0;
		if (low < 0 || high >= count)
			return false;
	}
	return true;
}

int cpu_move_need(const struct vtacpu_move *p, struct vtacpu_need *need)
{
	uint64_t count = p->rank <= VTACPU_RANK_MAX ? cpu_count(p->dims, p->rank) : 0;

	if (!value_ok(p->bytes))
		return cpu_bad(need, "values have 1, 2, 4 or 8 bytes");
	if (!count || !p->x_count || !p->y_count)
		return cpu_bad(need, "a size is 0, or too large");
	if (p->x_at >= p->x_count || p->y_at >= p->y_count ||
	    !stays(p, p->x_at, p->x_stride, p->x_count) ||
	    !stays(p, p->y_at, p->y_stride, p->y_count))
		return cpu_bad(need, "a stride leads out of the operand");
	need->work = count;
	need->partial = count < p->y_count;
	return cpu_operand(need, p->x_count, p->bytes) || cpu_operand(need, p->y_count, p->bytes) ?
	       -1 : 0;
}

/* Dimensions that are one in memory, put together; those of 1 left out. */
static struct vtacpu_move collapse(const struct vtacpu_move *p)
{
	struct vtacpu_move m = *p;
	uint32_t r = 0;

	for (uint32_t i = 0; i < p->rank; i++) {
		if (p->dims[i] == 1)
			continue;
		if (r && (int64_t)m.x_stride[r - 1] == (int64_t)p->x_stride[i] * p->dims[i] &&
		    (int64_t)m.y_stride[r - 1] == (int64_t)p->y_stride[i] * p->dims[i]) {
			m.dims[r - 1] *= p->dims[i];
			m.x_stride[r - 1] = p->x_stride[i];
			m.y_stride[r - 1] = p->y_stride[i];
			continue;
		}
		m.dims[r] = p->dims[i];
		m.x_stride[r] = p->x_stride[i];
		m.y_stride[r++] = p->y_stride[i];
	}
	if (!r) {
		m.dims[0] = 1;
		m.x_stride[0] = 1;
		m.y_stride[0] = 1;
		r = 1;
	}
	m.rank = r;
	return m;
}

/* Of values of one size, so that the compiler knows it. */
CPU_INLINE
void copy_values(size_t bytes, uint32_t n, const uint8_t *x, ptrdiff_t xs, uint8_t *y,
		 ptrdiff_t ys)
{
	for (uint32_t i = 0; i < n; i++, x += xs * (ptrdiff_t)bytes, y += ys * (ptrdiff_t)bytes)
		memcpy(y, x, bytes);
}

static void move_row(uint32_t bytes, uint32_t n, const uint8_t *x, int32_t xs, uint8_t *y,
		     int32_t ys)
{
	if (xs == 1 && ys == 1)
		memcpy(y, x, (size_t)n * bytes);
	else if (bytes == 1)
		copy_values(1, n, x, xs, y, ys);
	else if (bytes == 2)
		copy_values(2, n, x, xs, y, ys);
	else if (bytes == 4)
		copy_values(4, n, x, xs, y, ys);
	else
		copy_values(8, n, x, xs, y, ys);
}

/* A plane of 4-byte values: the columns of x are rows of y. */
struct plane {
	uint32_t rows, cols;		/* of y */
	size_t x_row, y_row;		/* from one row of x, or of y, to the next */
};

CPU_BODY turn_plane_body(bool wide, const struct plane *p, float *y, const float *x)
{
	uint32_t r, c = 0;

	(void)wide;
	for (; c + CPU_LANES <= p->cols; c += CPU_LANES) {
		const float *from = x + c * p->x_row;

		for (r = 0; r + CPU_LANES <= p->rows; r += CPU_LANES) {
			for (uint32_t i = 0; i < CPU_LANES; i++)
				__builtin_prefetch(from + (CPU_LANES + i) * p->x_row + r);
			cpu_transpose(y + r * p->y_row + c, p->y_row, from + r, p->x_row);
		}
		for (; r < p->rows; r++)
			for (uint32_t i = 0; i < CPU_LANES; i++)
				memcpy(y + r * p->y_row + c + i, from + i * p->x_row + r, 4);
	}
	for (r = 0; r < p->rows; r++)
		for (uint32_t i = c; i < p->cols; i++)
			memcpy(y + r * p->y_row + i, x + i * p->x_row + r, 4);
}

static void turn_plane(const struct plane *p, float *y, const float *x);
CPU_WIDE(turn_plane, (const struct plane *p, float *y, const float *x), p, y, x)

/*
 * Rows of y are columns of x, in dimension @last: the dimension that has their neighbours in x
 * comes before it, if there is one and both are long enough.
 */
static bool find_plane(struct vtacpu_move *m, struct plane *plane)
{
	uint32_t last = m->rank - 1, i = last;

	if (m->bytes != 4 || m->y_stride[last] != 1 || m->x_stride[last] <= 0 ||
	    m->dims[last] < CPU_LANES)
		return false;
	while (i-- && (m->x_stride[i] != 1 || m->y_stride[i] <= 0 || m->dims[i] < CPU_LANES))
		;
	if (i > last)
		return false;
	*plane = (struct plane) { m->dims[i], m->dims[last], (size_t)m->x_stride[last],
				  (size_t)m->y_stride[i] };
	for (; i + 1 < last; i++) {
		m->dims[i] = m->dims[i + 1];
		m->x_stride[i] = m->x_stride[i + 1];
		m->y_stride[i] = m->y_stride[i + 1];
	}
	return true;
}

void vtacpu_move(const struct vtacpu_move *p, void *const *io, void *scratch)
{
	struct vtacpu_move m = collapse(p);
	uint32_t last = m.rank - 1, at[VTACPU_RANK_MAX] = { 0 };
	int64_t x = m.x_at, y = m.y_at;
	struct plane plane = { 0 };
	bool turns = find_plane(&m, &plane);
	size_t rows = 1;

	(void)scratch;
	last -= turns;
	for (uint32_t i = 0; i < last; i++)
		rows *= m.dims[i];
	while (rows--) {
		if (turns)
			turn_plane(&plane, (float *)io[1] + y, (const float *)io[0] + x);
		else
			move_row(m.bytes, m.dims[last], (const uint8_t *)io[0] + x * m.bytes,
				 m.x_stride[last], (uint8_t *)io[1] + y * m.bytes,
				 m.y_stride[last]);
		for (uint32_t i = last; i--;) {
			x += m.x_stride[i];
			y += m.y_stride[i];
			if (++at[i] < m.dims[i])
				break;
			x -= (int64_t)m.dims[i] * m.x_stride[i];
			y -= (int64_t)m.dims[i] * m.y_stride[i];
			at[i] = 0;
		}
	}
}

/* Row-major strides; returns how many values there are. */
static uint32_t plain(uint32_t rank, const uint32_t *dims, int32_t *stride)
{
	uint32_t step = 1;

	for (uint32_t i = rank; i--;) {
		stride[i] = (int32_t)step;
		step *= dims[i];
	}
	return step;
}

struct vtacpu_move vtacpu_transpose(uint32_t bytes, uint32_t rank, const uint32_t *dims,
				    const uint32_t *perm)
{
	struct vtacpu_move m = { .bytes = bytes, .rank = rank };
	int32_t stride[VTACPU_RANK_MAX];

	m.x_count = plain(rank, dims, stride);
	for (uint32_t i = 0; i < rank; i++) {
		m.dims[i] = dims[perm[i]];
		m.x_stride[i] = stride[perm[i]];
	}
	m.y_count = plain(rank, m.dims, m.y_stride);
	return m;
}

struct vtacpu_move vtacpu_concat_part(uint32_t bytes, uint32_t rank, const uint32_t *dims,
				      uint32_t axis, uint32_t at, uint32_t size)
{
	struct vtacpu_move m = { .bytes = bytes, .rank = rank };
	uint32_t all[VTACPU_RANK_MAX];

	memcpy(m.dims, dims, rank * sizeof(*dims));
	memcpy(all, dims, rank * sizeof(*dims));
	all[axis] = size;
	m.x_count = plain(rank, dims, m.x_stride);
	m.y_count = plain(rank, all, m.y_stride);
	m.y_at = at * (uint32_t)m.y_stride[axis];
	return m;
}

struct vtacpu_move vtacpu_slice(uint32_t bytes, uint32_t rank, const uint32_t *dims,
				const uint32_t *out, const int32_t *start, const int32_t *step)
{
	struct vtacpu_move m = { .bytes = bytes, .rank = rank };

	memcpy(m.dims, out, rank * sizeof(*out));
	m.x_count = plain(rank, dims, m.x_stride);
	m.y_count = plain(rank, out, m.y_stride);
	for (uint32_t i = 0; i < rank; i++) {
		m.x_at += (uint32_t)start[i] * (uint32_t)m.x_stride[i];
		m.x_stride[i] = (int32_t)((uint32_t)m.x_stride[i] * (uint32_t)step[i]);
	}
	return m;
}

struct vtacpu_move vtacpu_depth_to_space(uint32_t bytes, uint32_t n, uint32_t c, uint32_t h,
					 uint32_t w, uint32_t block, int crd)
{
	uint32_t left = c / block / block;
	/* x's channels are [block][block][left], or [left][block][block]. */
	const uint32_t dcr[] = { n, block, block, left, h, w };
	const uint32_t crd_dims[] = { n, left, block, block, h, w };
	const uint32_t dcr_perm[] = { 0, 3, 4, 1, 5, 2 }, crd_perm[] = { 0, 1, 4, 2, 5, 3 };

	return vtacpu_transpose(bytes, 6, crd ? crd_dims : dcr, crd ? crd_perm : dcr_perm);
}

int cpu_pad_need(const struct vtacpu_pad *p, struct vtacpu_need *need)
{
	if (!value_ok(p->bytes))
		return cpu_bad(need, "values have 1, 2, 4 or 8 bytes");
	if (p->rank > VTACPU_RANK_MAX || !cpu_count(p->dims, p->rank) ||
	    !cpu_count(p->out, p->rank))
		return cpu_bad(need, "a size is 0, or too large");
	if (p->mode > VTACPU_PAD_WRAP)
		return cpu_bad(need, "no such way to pad");
	need->work = cpu_count(p->out, p->rank);
	return cpu_operand(need, cpu_count(p->dims, p->rank), p->bytes) ||
	       cpu_operand(need, need->work, p->bytes) ? -1 : 0;
}

/* The input that is at output @at, or -1. */
static int64_t padded(const struct vtacpu_pad *p, uint32_t i, uint32_t at)
{
	int64_t x = (int64_t)at - p->before[i], size = p->dims[i], turn = 2 * (size - 1);

	if (x >= 0 && x < size)
		return x;
	if (p->mode == VTACPU_PAD_CONSTANT)
		return -1;
	if (p->mode == VTACPU_PAD_EDGE || size == 1)
		return x < 0 ? 0 : size - 1;
	if (p->mode == VTACPU_PAD_WRAP)
		return (x % size + size) % size;
	x = (x % turn + turn) % turn;
	return x < size ? x : turn - x;
}

/* Pad a row of the last dimension. Its inputs are at @x; NULL: it has none. */
static void pad_row(const struct vtacpu_pad *p, uint32_t last, const uint8_t *x,
		    const uint8_t *constant, uint8_t *y)
{
	int64_t size = p->out[last], before = p->before[last], end = before + p->dims[last];
	uint32_t bytes = p->bytes;

	/* The outputs from @before to @end are inputs as they are. */
	before = !x || before > size ? size : before < 0 ? 0 : before;
	end = end > size ? size : end;
	for (int64_t i = 0; i < size; i++, y += bytes) {
		int64_t at = x ? padded(p, last, (uint32_t)i) : -1;

		if (i == before && before < end) {
			memcpy(y, x + at * bytes, (size_t)(end - before) * bytes);
			y += (end - before - 1) * bytes;
			i = end - 1;
			continue;
		}
		memcpy(y, at < 0 ? constant : x + at * bytes, bytes);
	}
}

void vtacpu_pad(const struct vtacpu_pad *p, void *const *io, void *scratch)
{
	const uint8_t *x = io[0], constant[8] = {
		(uint8_t)p->value[0], (uint8_t)(p->value[0] >> 8), (uint8_t)(p->value[0] >> 16),
		(uint8_t)(p->value[0] >> 24), (uint8_t)p->value[1], (uint8_t)(p->value[1] >> 8),
		(uint8_t)(p->value[1] >> 16), (uint8_t)(p->value[1] >> 24),
	};
	uint32_t last = p->rank ? p->rank - 1 : 0;
	size_t rows = (size_t)cpu_count(p->out, last);
	int32_t stride[VTACPU_RANK_MAX];
	uint8_t *y = io[1];

	(void)scratch;
	if (!p->rank) {
		memcpy(y, x, p->bytes);
		return;
	}
	plain(p->rank, p->dims, stride);
	for (size_t row = 0; row < rows; row++, y += (size_t)p->out[last] * p->bytes) {
		size_t rest = row, from = 0;
		bool inside = true;

		for (uint32_t d = last; d--; rest /= p->out[d]) {
			int64_t at = padded(p, d, (uint32_t)(rest % p->out[d]));

			inside = inside && at >= 0;
			from += at < 0 ? 0 : (size_t)at * (uint32_t)stride[d];
		}
		pad_row(p, last, inside ? x + from * p->bytes : NULL, constant, y);
	}
}
