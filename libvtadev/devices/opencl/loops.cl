// SPDX-License-Identifier: Apache-2.0
/*
 * loops.cl - GEMM and ALU
 *
 * Order. Within a GEMM sums may be taken in any order, since they wrap. Within an ALU each
 * value of an element is computed from the same value of others, so values are executed
 * side by side, and micro-ops too where they do not depend on each other.
 */

/* ---- Micro-ops ---- */

static struct vta_isa_uop decode_uop(uint word)
{
	const struct vta_isa_shape shape = SHAPE;
	struct vta_isa_uop uop;

	vta_isa_unpack_uop(&shape, word, &uop);
	return uop;
}

/* Position of the loops: micro-op @u of iteration @j of iteration @i. */
struct at {
	uint i, j, u;
};

static struct at at_count(const struct vta_loop *l, ulong n)
{
	uint uops = l->insn.uop_end - l->insn.uop_bgn;
	ulong ij = n / uops;

	return (struct at){ (uint)(ij / l->insn.iter_in), (uint)(ij % l->insn.iter_in),
			    (uint)(n % uops) };
}

static void advance(const struct vta_loop *l, struct at *at)
{
	if (++at->u < l->insn.uop_end - l->insn.uop_bgn)
		return;
	at->u = 0;
	if (++at->j < l->insn.iter_in)
		return;
	at->j = 0;
	at->i++;
}

/* ---- Ranges of micro-ops ---- */

static uint common_divisor(uint a, uint b)
{
	while (b) {
		uint rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static struct vta_span merge_spans(struct vta_span a, struct vta_span b)
{
	a.dst_min = min(a.dst_min, b.dst_min);
	a.dst_max = max(a.dst_max, b.dst_max);
	a.src_min = min(a.src_min, b.src_min);
	a.src_max = max(a.src_max, b.src_max);
	a.wgt_max = max(a.wgt_max, b.wgt_max);
	a.gap = min(a.gap, b.gap);
	a.step = common_divisor(a.step, b.step);
	a.own &= b.own;
	return a;
}

/* The part of a range of one of @lookers work-items. */
static struct vta_span look_at_uops(const struct core *c, uint bgn, uint end, uint looker,
				    uint lookers)
{
	struct vta_span all = { bgn, end, ~0u, 0, ~0u, 0, 0, INT_MAX, 0, 1 };
	uint first = decode_uop(c->uop[bgn]).dst;

	for (uint u = bgn + looker; u < end; u += lookers) {
		struct vta_isa_uop uop = decode_uop(c->uop[u]);
		int next = u + 1 < end ? (int)decode_uop(c->uop[u + 1]).dst : INT_MAX;

		all = merge_spans(all, (struct vta_span){
			bgn, end, uop.dst, uop.dst, uop.src, uop.src, uop.wgt,
			next == INT_MAX ? next : next - (int)uop.dst,
			uop.dst > first ? uop.dst - first : first - uop.dst, uop.src == uop.dst
		});
	}
	return all;
}

/* Returns the span of a loop's micro-ops. It is remembered until micro-ops are loaded. */
static struct vta_span span_of(const struct core *c, __local struct vta_group *g,
			       const struct vta_isa_loop *l)
{
	uint slot = (l->uop_bgn ^ l->uop_end << 1) % VTA_SPANS;
	struct vta_span span = g->spans[slot];

	if (span.bgn == l->uop_bgn && span.end == l->uop_end)
		return span;
	if (ITEM < LOOKERS)
		g->looks[ITEM] = look_at_uops(c, l->uop_bgn, l->uop_end, ITEM, LOOKERS);
	JOIN;
	for (uint n = LOOKERS / 2; n; n /= 2) {
		if (ITEM < n)
			g->looks[ITEM] = merge_spans(g->looks[ITEM], g->looks[ITEM + n]);
		JOIN;
	}
	span = g->looks[0];
	if (ITEM == 0)
		g->spans[slot] = span;
	JOIN;
	return span;
}

static void forget_spans(__local struct vta_group *g)
{
	for (uint i = ITEM; i < VTA_SPANS; i += VTA_ITEMS) {
		g->spans[i].bgn = 0;
		g->spans[i].end = 0;
	}
}

/* All parts of an index grow with their loop's counter: its last sum is the largest. */
static bool loop_fits(const struct vta_isa_loop *l, const struct vta_span *s)
{
	uint i = l->iter_out - 1, j = l->iter_in - 1;
	uint dst = s->dst_max + i * l->dst_factor_out + j * l->dst_factor_in;
	uint src = s->src_max + i * l->src_factor_out + j * l->src_factor_in;
	uint wgt = s->wgt_max + i * l->wgt_factor_out + j * l->wgt_factor_in;

	if (dst >= 1u << LOG_ACC)
		return false;
	if (l->alu)
		return l->use_imm || src < 1u << LOG_ACC;
	return l->reset || (src < 1u << LOG_INP && wgt < 1u << LOG_WGT);
}

/* Returns true if i * a + j * b + (0 to span - 1), over both loops, is never the same twice. */
static bool nested(const struct vta_isa_loop *l, uint a, uint b, uint span)
{
	uint ni = l->iter_out, nj = l->iter_in;

	return ((nj == 1 || b >= span) && (ni == 1 || a >= b * (nj - 1) + span)) ||
	       ((ni == 1 || a >= span) && (nj == 1 || b >= a * (ni - 1) + span));
}

/* Returns true if no two iterations write the same element; false is always right. */
static bool disjoint(const struct vta_isa_loop *l, const struct vta_span *s)
{
	uint out = l->dst_factor_out, in = l->dst_factor_in;
	uint over = out * (l->iter_out - 1) + in * (l->iter_in - 1);

	return nested(l, out, in, s->dst_max - s->dst_min + 1) ||
	       ((!s->step || s->step > over || s->gap > (int)over) && nested(l, out, in, 1));
}

/* Returns true if micro-ops may be executed in any order; false is always right. */
static bool independent(const struct vta_isa_loop *l, const struct vta_span *s)
{
	uint dst_end = s->dst_max + l->dst_factor_out * (l->iter_out - 1) +
		       l->dst_factor_in * (l->iter_in - 1);
	uint src_end = s->src_max + l->src_factor_out * (l->iter_out - 1) +
		       l->src_factor_in * (l->iter_in - 1);
	bool own = s->own && l->src_factor_out == l->dst_factor_out &&
		   l->src_factor_in == l->dst_factor_in;

	if (!l->alu)
		return true;
	if (!l->use_imm && !own && s->src_min <= dst_end && s->dst_min <= src_end)
		return false;
	return s->gap > 0 && disjoint(l, s);
}

/*
 * Returns true if an ALU may be executed row by row: in an iteration of the outer loop all
 * micro-ops have one destination, which differs from those of the row's others, and no source is
 * a destination of the row. Each value then has its micro-ops in their order.
 */
static bool rowwise(const struct vta_isa_loop *l, const struct vta_span *s)
{
	int dst_over = (int)(l->dst_factor_in * (l->iter_in - 1));
	int src_over = (int)(l->src_factor_in * (l->iter_in - 1));
	int shift = (int)(l->iter_out - 1) * ((int)l->src_factor_out - (int)l->dst_factor_out);
	/* Of the first row, from the last destination to the first source, and the other way. */
	int above = (int)s->src_min - (int)s->dst_max - dst_over;
	int below = (int)s->dst_min - (int)s->src_max - src_over;

	return l->alu && s->dst_min == s->dst_max && (l->dst_factor_in || l->iter_in == 1) &&
	       l->uop_end - l->uop_bgn <= VTA_PASSES &&
	       (l->use_imm || (above > 0 && above + shift > 0) ||
		(below > 0 && below - shift > 0));
}

/* ---- GEMM ---- */

/* Products of bytes fit in 16 bits, which a processor multiplies faster than 32. */
#ifdef VTA_GPU
#define PRODUCT(a, b)	(convert_int16(a) * convert_int16(b))
#else
#define PRODUCT(a, b)	convert_int16(convert_short16(a) * convert_short16(b))
#endif

/* The sum of @sum and four products of bytes. */
#if defined(VTA_GPU) && defined(__NV_CL_C_VERSION)
#define DOT4
static int dot4(int a, int b, int sum)
{
	int d;

	asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(sum));
	return d;
}
#endif

#if LOG_BLOCK >= 4
#define BYTES		16u
/* 16 bytes of an operand's row: rows begin at a multiple of 16. */
#ifdef DOT4
typedef int4 bytes;

static int add_products(bytes a, bytes b, int sum)
{
	return dot4(a.w, b.w, dot4(a.z, b.z, dot4(a.y, b.y, dot4(a.x, b.x, sum))));
}
#else
typedef char16 bytes;

static int add_products(bytes a, bytes b, int sum)
{
	int16 sums = PRODUCT(a, b);
	int8 s8 = sums.lo + sums.hi;
	int4 s4 = s8.lo + s8.hi;

	return (int)((uint)sum + (uint)(s4.x + s4.y + s4.z + s4.w));
}
#endif
#else
#define BYTES		1u
typedef char bytes;

static int add_products(bytes a, bytes b, int sum)
{
	return (int)((uint)sum + (uint)(a * b));
}
#endif

static bytes bytes_at(__global const char *row)
{
	return *(__global const bytes *)row;
}

static int multiply_row(__global const char *a, __global const char *b)
{
	int sum = 0;

	for (uint i = 0; i < BLOCK; i += BYTES)
		sum = add_products(bytes_at(a + i), bytes_at(b + i), sum);
	return sum;
}

/* Some lanes: a lane is row b of the batch, output channel o. @shared: with other work-items. */
struct lanes {
	uint first, end;
	bool shared;
};

static void add_sum(__global int *to, int sum, bool shared)
{
	if (shared)
		atomic_add((volatile __global int *)to, sum);
	else
		*to = (int)((uint)*to + (uint)sum);
}

static void gemm_lane(__global int *to, __global const char *src,
		      __global const char *wgt, uint lane, bool shared)
{
	add_sum(to + lane, multiply_row(src + lane / BLOCK * BLOCK, wgt + lane % BLOCK * BLOCK),
		shared);
}

/* One lane of micro-ops @n to @end - 1: sums stay in a register as long as their element does. */
static void gemm_sums(const struct core *c, const struct vta_loop *l, ulong n, ulong end,
		      struct lanes lanes)
{
	__global const char *inp = c->inp + lanes.first / BLOCK * BLOCK;
	__global const char *wgt = c->wgt + lanes.first % BLOCK * BLOCK;
	__global int *acc = c->acc + lanes.first;
	uint uops = l->insn.uop_end - l->insn.uop_bgn, last = 0;
	struct at at = at_count(l, n);
	int sum = 0;

	for (; n < end; at.u = 0) {
		uint dst = at.i * l->insn.dst_factor_out + at.j * l->insn.dst_factor_in;
		uint src = at.i * l->insn.src_factor_out + at.j * l->insn.src_factor_in;
		uint w = at.i * l->insn.wgt_factor_out + at.j * l->insn.wgt_factor_in;
		uint u_end = (uint)min((ulong)uops, at.u + (end - n));

		n += u_end - at.u;
		for (uint u = at.u; u < u_end; u++) {
			struct vta_isa_uop uop = decode_uop(c->uop[l->insn.uop_bgn + u]);

			if (dst + uop.dst != last) {
				if (sum)
					add_sum(acc + (size_t)last * LANES, sum, lanes.shared);
				last = dst + uop.dst;
				sum = 0;
			}
			sum += multiply_row(inp + (size_t)(src + uop.src) * LANES,
					    wgt + (size_t)(w + uop.wgt) * BLOCK * BLOCK);
		}
		if (++at.j == l->insn.iter_in) {
			at.j = 0;
			at.i++;
		}
	}
	if (sum)
		add_sum(acc + (size_t)last * LANES, sum, lanes.shared);
}

/* Micro-ops @n to @end - 1. */
static void gemm(const struct core *c, const struct vta_loop *l, ulong n, ulong end,
		 struct lanes lanes)
{
	struct at at = at_count(l, n);

	for (; n < end; n++, advance(l, &at)) {
		struct vta_isa_uop uop = decode_uop(c->uop[l->insn.uop_bgn + at.u]);
		uint dst = uop.dst + at.i * l->insn.dst_factor_out + at.j * l->insn.dst_factor_in;
		uint src = uop.src + at.i * l->insn.src_factor_out + at.j * l->insn.src_factor_in;
		uint wgt = uop.wgt + at.i * l->insn.wgt_factor_out + at.j * l->insn.wgt_factor_in;
		__global int *to = c->acc + (size_t)dst * LANES;

		for (uint lane = lanes.first; lane < lanes.end; lane++)
			gemm_lane(to, c->inp + (size_t)src * LANES,
				  c->wgt + (size_t)wgt * BLOCK * BLOCK, lane, lanes.shared);
	}
}

/* A group has work-items for several micro-ops at a time. */
#define SORTS		(VTA_ITEMS >= 2 * LANES)
#define PARTS		(VTA_ITEMS / LANES)

#if SORTS
/* Iterations of the loops that have their sums in registers together, and lanes, at most. */
#define TOGETHER	4u
#define LANES_EACH	(BLOCK < 4 ? BLOCK : 4u)

/* Sorts @count micro-ops from @bgn on by their destinations, by all work-items. */
static void sort_uops(const struct core *c, __local struct vta_group *g, uint bgn, uint count)
{
	for (uint u = ITEM; u < count; u += VTA_ITEMS)
		g->sorted.dst[u] = decode_uop(c->uop[bgn + u]).dst;
	if (ITEM == 0)
		g->sorted.count = 0;
	JOIN;
	for (uint u = ITEM; u < count; u += VTA_ITEMS) {
		uint dst = g->sorted.dst[u], less = 0, before = 0, same = 0;

		for (uint v = 0; v < count; v++) {
			less += g->sorted.dst[v] < dst;
			same += g->sorted.dst[v] == dst;
			before += g->sorted.dst[v] == dst && v < u;
		}
		g->sorted.uops[less + before] = c->uop[bgn + u];
		if (!before)
			g->sorted.targets[atomic_inc((volatile __local uint *)&g->sorted.count)] =
				less | same << 16;
	}
	JOIN;
}

/*
 * Adds all products of some lanes of a target, from @lane on, of @count iterations from @n on.
 * @lanes is a constant where it is called: an operand that is read is used for all sums.
 * @shared: other work-items may add to the same sums.
 */
static void gemm_target(const struct core *c, __local const struct vta_group *g,
			const struct vta_isa_loop *l, uint lane, uint lanes, uint target, uint n,
			uint count, bool shared)
{
	__global const char *inp = c->inp + lane / BLOCK * BLOCK;
	__global const char *wgt = c->wgt + lane % BLOCK * BLOCK;
	__global int *acc = c->acc + lane;
	uint first = target & 0xffff, end = first + (target >> 16);
	uint to = decode_uop(g->sorted.uops[first]).dst, i = n / l->iter_in, j = n % l->iter_in;
	bool one = !(l->wgt_factor_out | l->wgt_factor_in);
	uint dst[TOGETHER], src[TOGETHER], w[TOGETHER];
	int sum[TOGETHER][LANES_EACH];

#pragma unroll
	for (uint t = 0; t < TOGETHER; t++) {
		dst[t] = (to + i * l->dst_factor_out + j * l->dst_factor_in) * LANES;
		src[t] = (i * l->src_factor_out + j * l->src_factor_in) * LANES;
		w[t] = (i * l->wgt_factor_out + j * l->wgt_factor_in) * BLOCK * BLOCK;
		/* Read before the operands: all are on their way together. */
#pragma unroll
		for (uint k = 0; k < lanes; k++)
			sum[t][k] = shared ? 0 : acc[dst[t] + k];
		/* Those beyond the last are as the last, and not written. */
		if (t + 1 < count && ++j == l->iter_in) {
			j = 0;
			i++;
		}
	}
	for (uint x = first * (BLOCK / BYTES); x < end * (BLOCK / BYTES); x++) {
		const struct vta_isa_uop uop = decode_uop(g->sorted.uops[x / (BLOCK / BYTES)]);
		__global const char *from = inp + uop.src * LANES + x % (BLOCK / BYTES) * BYTES;
		__global const char *by = wgt + uop.wgt * BLOCK * BLOCK +
					  x % (BLOCK / BYTES) * BYTES;
		bytes a[TOGETHER], b[LANES_EACH];

#pragma unroll
		for (uint t = 0; t < TOGETHER; t++)
			a[t] = bytes_at(from + src[t]);
#pragma unroll
		for (uint t = 0; t < TOGETHER; t++) {
			if (!t || !one) {
#pragma unroll
				for (uint k = 0; k < lanes; k++)
					b[k] = bytes_at(by + w[t] + k * BLOCK);
			}
#pragma unroll
			for (uint k = 0; k < lanes; k++)
				sum[t][k] = add_products(a[t], b[k], sum[t][k]);
		}
	}
#pragma unroll
	for (uint t = 0; t < TOGETHER; t++) {
#pragma unroll
		for (uint k = 0; k < lanes; k++)
			if (t < count && shared)
				add_sum(acc + dst[t] + k, sum[t][k], true);
			else if (t < count)
				acc[dst[t] + k] = sum[t][k];
	}
}

/* Iterations @n to @end - 1 of the sorted targets: a work-item has @lanes of some of them each. */
static void gemm_targets(const struct core *c, __local const struct vta_group *g,
			 const struct vta_isa_loop *l, uint lanes, uint n, uint end, bool shared)
{
	uint items = LANES / lanes, parts = VTA_ITEMS / items;
	uint part = ITEM / items, lane = ITEM % items * lanes;
	uint each = (end - n + TOGETHER - 1) / TOGETHER;

	for (uint x = part; part < parts && x < g->sorted.count * each; x += parts) {
		uint at = n + x % each * TOGETHER;

		gemm_target(c, g, l, lane, lanes, g->sorted.targets[x / each], at,
			    min(end - at, TOGETHER), shared);
	}
}

/* Iterations @n to @end - 1, which are disjoint unless @shared, by the group. */
static void gemm_sorted(const struct core *c, __local struct vta_group *g,
			const struct vta_isa_loop *l, uint n, uint end, bool shared)
{
	uint each = (end - n + TOGETHER - 1) / TOGETHER;

	for (uint u = l->uop_bgn; u < l->uop_end; u += VTA_SORTED) {
		sort_uops(c, g, u, min(l->uop_end - u, VTA_SORTED));
		/* More lanes in a work-item are fewer reads, if there is enough for all of them. */
		if (g->sorted.count * each > PARTS)
			gemm_targets(c, g, l, LANES_EACH, n, end, shared);
		else
			gemm_targets(c, g, l, 1, n, end, shared);
		JOIN;
	}
}
#endif

/* ---- ALU, and GEMM that resets ---- */

/* Values that a work-item has at once. */
#if LANES_LOG == 1
#define VALUES		2
#elif LANES_LOG == 2 || defined(VTA_GPU)
#define VALUES		4
#elif LANES_LOG == 3
#define VALUES		8
#else
#define VALUES		16
#endif
#define GLUE(a, b)	a##b
#define OF(type, n)	GLUE(type, n)
#define GROUPS		(LANES / VALUES)	/* of an element */

typedef OF(int, VALUES) values;
typedef OF(uint, VALUES) bits;
#define AS_VALUES	OF(as_int, VALUES)
#define AS_BITS		OF(as_uint, VALUES)

static values shift(values a, values b)
{
	values right = a >> clamp(b, 0, 31);
	values left = AS_VALUES(AS_BITS(a) << (AS_BITS(-max(b, -31)) & 31u));

	left = select(left, (values)0, b < -31);
	return select(right, left, b < 0);
}

static values operate(uint op, values a, values b)
{
	switch (op) {
	case MIN:
		return min(a, b);
	case MAX:
		return max(a, b);
	case ADD:
		return AS_VALUES(AS_BITS(a) + AS_BITS(b));
	case SHR:
		return shift(a, b);
	case MUL:
		return AS_VALUES(AS_BITS(a) * AS_BITS(b));
	default:
		return (values)0;	/* GEMM that resets */
	}
}

/* Values @first to @end - 1 of elements, VALUES at a time. */
static void alu(const struct core *c, const struct vta_loop *l, ulong n, ulong end, uint first,
		uint last)
{
	uint op = l->insn.alu ? l->insn.alu_opcode : RESET;
	struct at at = at_count(l, n);

	for (; n < end; n++, advance(l, &at)) {
		struct vta_isa_uop uop = decode_uop(c->uop[l->insn.uop_bgn + at.u]);
		uint dst = uop.dst + at.i * l->insn.dst_factor_out + at.j * l->insn.dst_factor_in;
		uint src = uop.src + at.i * l->insn.src_factor_out + at.j * l->insn.src_factor_in;
		__global values *to = (__global values *)(c->acc + (size_t)dst * LANES);
		__global const values *from =
			(__global const values *)(c->acc + (size_t)(l->insn.alu ? src : dst) *
						  LANES);

		for (uint v = first; v < last; v++)
			to[v] = operate(op, to[v], l->insn.use_imm ? (values)l->insn.imm : from[v]);
	}
}

/* Some values of an element, of micro-op @u of iteration @j of iteration @i. */
struct some {
	__global values *to;
	uint v, u, i, j;
};

static struct some some_of(const struct core *c, const struct vta_isa_loop *l, uint uops, uint x)
{
	uint e = x / GROUPS, u = uops == 1 ? 0 : e % uops, ij = uops == 1 ? e : e / uops;
	struct some s = { 0, x % GROUPS, u, ij / l->iter_in, ij % l->iter_in };
	uint dst = decode_uop(c->uop[l->uop_bgn + u]).dst + s.i * l->dst_factor_out +
		   s.j * l->dst_factor_in;

	s.to = (__global values *)(c->acc + (size_t)dst * LANES) + s.v;
	return s;
}

static values second_operand(const struct core *c, const struct vta_pass *pass,
			     const struct some *s, values first)
{
	uint src;

	if (pass->use_imm)
		return (values)pass->imm;
	if (pass->own)
		return first;
	src = decode_uop(c->uop[pass->uop_bgn + s->u]).src + s->i * pass->src_factor_out +
	      s->j * pass->src_factor_in;
	return ((__global const values *)(c->acc + (size_t)src * LANES))[s->v];
}

/*
 * Micro-ops @bgn to @last - 1, which are independent, by the group: all passes over an element, which
 * have the destinations of @l. A work-item has AT_ONCE elements at a time.
 */
static void alu_passes(const struct core *c, __local const struct vta_group *g,
		       const struct vta_isa_loop *l, uint bgn, uint last, uint passes)
{
	uint uops = l->uop_end - l->uop_bgn, end = last * GROUPS;

	for (uint x = bgn * GROUPS + ITEM; x < end; x += AT_ONCE * VTA_ITEMS) {
		struct some some[AT_ONCE];
		values a[AT_ONCE];

#pragma unroll
		for (uint n = 0; n < AT_ONCE; n++) {
			/* Those beyond the last are as the first, and not written. */
			uint at = x + n * VTA_ITEMS;

			some[n] = some_of(c, l, uops, at < end ? at : x);
			a[n] = *some[n].to;
		}
		for (uint p = 0; p < passes; p++) {
			const struct vta_pass pass = g->passes[p];
			values b[AT_ONCE];

#pragma unroll
			for (uint n = 0; n < AT_ONCE; n++)
				b[n] = second_operand(c, &pass, &some[n], a[n]);
#pragma unroll
			for (uint n = 0; n < AT_ONCE; n++)
				a[n] = operate(pass.opcode, a[n], b[n]);
		}
#pragma unroll
		for (uint n = 0; n < AT_ONCE; n++)
			if (x + n * VTA_ITEMS < end)
				*some[n].to = a[n];
	}
}

/* An ALU by rowwise(), a pass for each of its micro-ops. */
static void alu_rows(const struct core *c, __local const struct vta_group *g,
		     const struct vta_isa_loop *l, uint passes)
{
	struct vta_isa_loop row = *l;

	row.uop_end = row.uop_bgn + 1;
	for (uint i = 0; i < l->iter_out; i++) {
		alu_passes(c, g, &row, i * l->iter_in, (i + 1) * l->iter_in, passes);
		JOIN;
	}
}

/* ---- Parts of a loop ---- */

/*
 * Micro-ops @n to @end - 1 by @ids work-items, of which this is @id: lanes are shared out
 * first, then micro-ops.
 */
static void execute(const struct core *c, const struct vta_loop *l, ulong n, ulong end, uint id,
		    uint ids)
{
	bool values_of = l->insn.alu || l->insn.reset;
	uint width = values_of ? GROUPS : LANES;
	uint parts = l->apart && ids > width ? ids / width : 1, part = 0;
	struct lanes lanes = { id, id + 1, parts > 1 };
	ulong each = (end - n + parts - 1) / parts;

	if (parts > 1) {
		part = id / width;
		lanes.first = id % width;
		lanes.end = lanes.first + 1;
	} else if (ids <= width) {
		lanes.first = id * (width / ids);
		lanes.end = id + 1 == ids ? width : lanes.first + width / ids;
	}
	n += part * each;
	end = min(end, n + each);
	if (part >= parts || lanes.first >= width)
		return;
	if (values_of)
		alu(c, l, n, end, lanes.first, lanes.end);
	else if (lanes.end - lanes.first == 1)
		gemm_sums(c, l, n, end, lanes);
	else
		gemm(c, l, n, end, lanes);
}
