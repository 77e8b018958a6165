// SPDX-License-Identifier: Apache-2.0
/*
 * vta.cl - a VTA core in OpenCL C 1.2, by docs/isa.md
 *
 * Two kernels share the work, one after the other in a queue that keeps its order:
 *
 *   vta_stream  a work-group for each stream: fetches, decodes, takes tokens, moves rows, and
 *               executes GEMM and ALU. Work-item 0 decides, all work-items of the group do what
 *               it decided
 *   vta_wide    any number of work-groups: a part of a GEMM or ALU with many micro-ops, of a
 *               stream that is alone
 *
 * A core is a slot: its part of each buffer. @slots has those of the streams of a launch.
 *
 * Neither runs for long, so that the host can end a run. The host enqueues pairs of them
 * ahead: the one that has nothing to do ends at once. The host moves data of its own memory,
 * through @bounce and @code.
 *
 * Order. Modules take turns in the order of instructions in the stream, the oldest that can move
 * first. Within a GEMM sums may be taken in any order, since they wrap. Within an ALU each
 * value of an element is computed from the same value of others, so values are executed
 * side by side, and micro-ops too where they do not depend on each other.
 *
 * Build options: LOG_BATCH, LOG_BLOCK, LOG_INP_WIDTH and LOG_WGT_WIDTH of the configuration;
 * LOG_UOP, LOG_INP, LOG_WGT and LOG_ACC, the depths of the scratchpads (all base-2
 * logarithms); LOG_TOKENS and LOG_WAITING, those of its queues; BOUNCE, bytes of a slot's bounce;
 * FAULT_*, reasons of vta.h. VTA_GPU for a device with many small processors. Others have values
 * below. VTA_TASK makes vta_stream a kernel of a single work-item, which
 * is what FPGA tools ask for, and takes vta_wide away.
 */
#include "state.h"

/* Work-items of vta_stream, and multiplications of one launch of vta_wide. */
#ifdef VTA_TASK
#define VTA_ITEMS	1
#elif !defined(VTA_ITEMS)
#ifdef VTA_GPU
#define VTA_ITEMS	256
#else
#define VTA_ITEMS	1
#endif
#endif
#ifndef VTA_CHUNK
#ifdef VTA_GPU
#define VTA_CHUNK	(1ul << 28)
#else
#define VTA_CHUNK	(1ul << 21)
#endif
#endif
/* Multiplications from which on vta_wide has a loop. */
#ifndef VTA_WIDE_MIN
#ifdef VTA_GPU
#define VTA_WIDE_MIN	(1ul << 16)
#else
#define VTA_WIDE_MIN	(1ul << 22)
#endif
#endif

#define BATCH		(1u << LOG_BATCH)
#define BLOCK		(1u << LOG_BLOCK)
#define LANES		(BATCH * BLOCK)		/* values of an element of ACC */
#define SHAPE		{ .uop = LOG_UOP, .inp = LOG_INP, .wgt = LOG_WGT, .acc = LOG_ACC }

#if VTA_ITEMS == 1
#define ITEM		0u
#define JOIN
#else
#define ITEM		((uint)get_local_id(0))
#define JOIN		barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

/* Values of a slot in each buffer. */
#define SLOT_UOP	((size_t)1 << LOG_UOP)
#define SLOT_INP	((size_t)LANES << LOG_INP)
#define SLOT_WGT	((size_t)BLOCK * BLOCK << LOG_WGT)
#define SLOT_ACC	((size_t)LANES << LOG_ACC)
#define SLOT_WAITING	((size_t)VTA_MODULES * VTA_WAITING)
#define SLOT_TOKENS	((size_t)VTA_TOKEN_QUEUES * VTA_TOKENS)

#define PAGE_INSNS	(1u << (VTA_PAGE_LOG - 4))
/* Multiplications after which vta_stream lets the host check, and what an instruction counts. */
#define STREAM_WORK	(1u << 24)
#define INSN_WORK	(1u << 16)
#define NOWHERE		(~0ul)
#define NO_QUEUE	(~0u)

#define ENUMERATOR(name, number) name = (number),
enum { VTA_ISA_OPCODES(ENUMERATOR) };
enum { VTA_ISA_MEMORIES(ENUMERATOR) };
enum { VTA_ISA_ALU_OPCODES(ENUMERATOR) };
enum { TO_LOAD_MODULE, TO_COMPUTE, TO_STORE };

struct core {
	__global uchar *memory;			/* NULL: the device has none yet */
	__global const uint *pages;
	__global uint *uop;
	__global char *inp;
	__global char *wgt;
	__global int *acc;
	__global struct vta_command *waiting;	/* VTA_WAITING of each module */
	__global ulong *tokens;			/* VTA_TOKENS of each queue: when pushed */
	__global const uint *code;
	__global uchar *bounce;
};

enum todo { NOTHING, REFILL, LOOK, EXECUTE, LEAVE };

/* ---- Memory ---- */

/* Offset of device address @addr in @memory, or NOWHERE. */
static ulong place(const struct core *c, ulong addr, uint allowed)
{
	uint entry;

	if (addr >> 32 || !c->memory)
		return NOWHERE;
	entry = c->pages[addr >> VTA_PAGE_LOG];
	if ((entry & allowed) != allowed)
		return NOWHERE;
	return ((ulong)(entry >> VTA_ENTRY_SHIFT) << VTA_PAGE_LOG) |
	       (addr & ((1u << VTA_PAGE_LOG) - 1));
}

static uint elem_bytes(uint type)
{
	switch (type) {
	case UOP:
		return 4;
	case WGT:
		return (BLOCK * BLOCK << LOG_WGT_WIDTH) / 8;
	case INP:
	case OUT:
		return (LANES << LOG_INP_WIDTH) / 8;
	case ACC:
		return LANES * 4;
	default:
		return LANES;
	}
}

/* Signed values of 2^@log bits each, low bits first, to bytes. */
static void unpack(__global char *to, __global const uchar *from, uint bytes, uint log)
{
	uint width = 1u << log, per_byte = 8u >> log;

	if (log == 3 && bytes == 16) {
		*(__global uint4 *)to = *(__global const uint4 *)from;
		return;
	}
	for (uint i = 0; i < bytes; i++)
		for (uint j = 0; j < per_byte; j++)
			*to++ = (char)(from[i] << (8 - width - j * width)) >> (8 - width);
}

/* @bytes of an element, from byte @at of it on, into element @e of the scratchpad. */
static void put(const struct core *c, uint type, uint e, uint at, __global const uchar *from,
		uint bytes)
{
	switch (type) {
	case UOP:
		c->uop[e] = *(__global const uint *)from;
		break;
	case WGT:
		unpack(c->wgt + (size_t)e * BLOCK * BLOCK + (at << (3 - LOG_WGT_WIDTH)), from, bytes,
		       LOG_WGT_WIDTH);
		break;
	case INP:
		unpack(c->inp + (size_t)e * LANES + (at << (3 - LOG_INP_WIDTH)), from, bytes,
		       LOG_INP_WIDTH);
		break;
	case ACC:
		for (uint i = 0; i < bytes; i += 4)
			c->acc[(size_t)e * LANES + (at + i) / 4] =
				*(__global const int *)(from + i);
		break;
	default:
		for (uint i = 0; i < bytes; i++)
			c->acc[(size_t)e * LANES + at + i] = (char)from[i];
		break;
	}
}

/* The low bits of ACC's values, packed. */
static void take(const struct core *c, uint e, uint at, __global uchar *to, uint bytes)
{
	__global const int *from = c->acc + (size_t)e * LANES + (at << (3 - LOG_INP_WIDTH));
	uint width = 1u << LOG_INP_WIDTH, per_byte = 8u >> LOG_INP_WIDTH;

	for (uint i = 0; i < bytes; i++) {
		uint byte = 0;

		for (uint j = 0; j < per_byte; j++)
			byte |= ((uint)*from++ & ((1u << width) - 1)) << (j * width);
		to[i] = (uchar)byte;
	}
}

static void zero(const struct core *c, uint type, uint e)
{
	switch (type) {
	case UOP:
		c->uop[e] = 0;
		break;
	case WGT:
		for (uint i = 0; i < BLOCK * BLOCK; i++)
			c->wgt[(size_t)e * BLOCK * BLOCK + i] = 0;
		break;
	case INP:
		for (uint i = 0; i < LANES; i++)
			c->inp[(size_t)e * LANES + i] = 0;
		break;
	default:
		for (uint i = 0; i < LANES; i++)
			c->acc[(size_t)e * LANES + i] = 0;
		break;
	}
}

/* ---- LOAD and STORE: each work-item has every n-th piece ---- */

static void load_pads(const struct core *c, __local const struct vta_isa_move *m)
{
	uint width = m->x_pad_0 + m->x_size + m->x_pad_1;
	uint height = m->y_pad_0 + m->y_size + m->y_pad_1;

	for (uint n = ITEM; n < width * height; n += VTA_ITEMS) {
		uint y = n / width, x = n % width;

		if (y < m->y_pad_0 || y >= m->y_pad_0 + m->y_size || x < m->x_pad_0 ||
		    x >= m->x_pad_0 + m->x_size)
			zero(c, m->memory_type, m->sram_base + n);
	}
}

/* A piece is 16 bytes of an element, or all of a smaller one: in one page always. */
static void move_rows(const struct core *c, __local const struct vta_move *m, bool load, uint first,
		      uint step)
{
	const struct vta_isa_move insn = m->insn;
	uint piece = m->elem < 16 ? m->elem : 16, per_elem = m->elem / piece;
	uint per_row = insn.x_size * per_elem, pitch = insn.x_pad_0 + insn.x_size + insn.x_pad_1;
	uint left = insn.x_pad_0 + insn.y_pad_0 * pitch;

	for (uint n = first; n < insn.y_size * per_row; n += step) {
		uint y = n / per_row, x = n % per_row;
		uint e = insn.sram_base + left + y * pitch + x / per_elem;
		uint at = x % per_elem * piece;
		__global uchar *there = c->bounce + (size_t)n * piece;

		if (!m->bounce)
			there = c->memory +
				place(c, (insn.dram_base + (ulong)y * insn.x_stride) * m->elem +
				      (ulong)x * piece, VTA_ENTRY_READ);
		if (load)
			put(c, insn.memory_type, e, at, there, piece);
		else
			take(c, e, at, there, piece);
	}
}

/* Rows of a STORE that overlap are written in their order, by one work-item. */
static void move(const struct core *c, __local const struct vta_group *g)
{
	__local const struct vta_move *m = &g->s.move;
	bool load = (g->s.command.words[0] & 7) == LOAD;

	if (load && (m->insn.y_pad_0 | m->insn.y_pad_1 | m->insn.x_pad_0 | m->insn.x_pad_1))
		load_pads(c, &m->insn);
	if (load || m->bounce || m->insn.x_stride >= m->insn.x_size)
		move_rows(c, m, load, ITEM, VTA_ITEMS);
	else if (ITEM == 0)
		move_rows(c, m, load, 0, 1);
}

/* Check that all pages of the rows are the device's. */
static void look_at_rows(const struct core *c, __local struct vta_group *g)
{
	const struct vta_isa_move m = g->s.move.insn;
	uint elem = g->s.move.elem, bytes = m.x_size * elem;
	uint pages = ((bytes - 1) >> VTA_PAGE_LOG) + 2;
	uint allowed = (g->s.command.words[0] & 7) == LOAD ? VTA_ENTRY_READ :
							     VTA_ENTRY_READ | VTA_ENTRY_WRITE;

	for (uint n = ITEM; n < m.y_size * pages; n += VTA_ITEMS) {
		uint y = n / pages, at = n % pages << VTA_PAGE_LOG;

		at = at < bytes ? at : bytes - 1;
		if (place(c, (m.dram_base + (ulong)y * m.x_stride) * elem + at, allowed) == NOWHERE)
			atomic_or(&g->missing, 1u);
	}
}

/* ---- GEMM and ALU ---- */

static struct vta_isa_uop decode_uop(uint word)
{
	const struct vta_isa_shape shape = SHAPE;
	struct vta_isa_uop uop;

	vta_isa_unpack_uop(&shape, word, &uop);
	return uop;
}

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

/* Rows of 16 bytes and more begin at a multiple of 16. */
static int multiply_row(__global const char *a, __global const char *b)
{
	int sum = 0;

#if LOG_BLOCK >= 4 && defined(DOT4)
	for (uint i = 0; i < BLOCK; i += 16) {
		int4 x = *(__global const int4 *)(a + i), y = *(__global const int4 *)(b + i);

		sum = dot4(x.x, y.x, sum);
		sum = dot4(x.y, y.y, sum);
		sum = dot4(x.z, y.z, sum);
		sum = dot4(x.w, y.w, sum);
	}
#elif LOG_BLOCK >= 4
	int16 sums = 0;
	int8 s8;
	int4 s4;

	for (uint i = 0; i < BLOCK; i += 16)
		sums += PRODUCT(*(__global const char16 *)(a + i),
				*(__global const char16 *)(b + i));
	s8 = sums.lo + sums.hi;
	s4 = s8.lo + s8.hi;
	sum = s4.x + s4.y + s4.z + s4.w;
#else
	for (uint i = 0; i < BLOCK; i++)
		sum += a[i] * b[i];
#endif
	return sum;
}

static int operate(uint op, int a, int b)
{
	switch (op) {
	case MIN:
		return min(a, b);
	case MAX:
		return max(a, b);
	case ADD:
		return (int)((uint)a + (uint)b);
	case SHR:
		if (b < 0)
			return b > -32 ? (int)((uint)a << -b) : 0;
		return a >> min(b, 31);
	default:
		return (int)((uint)a * (uint)b);
	}
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

		for (uint lane = lanes.first; lane < lanes.end; lane++) {
			if (l->insn.reset)
				to[lane] = 0;
			else
				gemm_lane(to, c->inp + (size_t)src * LANES,
					  c->wgt + (size_t)wgt * BLOCK * BLOCK, lane,
					  lanes.shared);
		}
	}
}

static void alu(const struct core *c, const struct vta_loop *l, ulong n, ulong end,
		struct lanes lanes)
{
	struct at at = at_count(l, n);

	for (; n < end; n++, advance(l, &at)) {
		struct vta_isa_uop uop = decode_uop(c->uop[l->insn.uop_bgn + at.u]);
		uint dst = uop.dst + at.i * l->insn.dst_factor_out + at.j * l->insn.dst_factor_in;
		uint src = uop.src + at.i * l->insn.src_factor_out + at.j * l->insn.src_factor_in;
		__global int *to = c->acc + (size_t)dst * LANES;
		__global const int *from = c->acc + (size_t)src * LANES;

		for (uint lane = lanes.first; lane < lanes.end; lane++)
			to[lane] = operate(l->insn.alu_opcode, to[lane],
					   l->insn.use_imm ? l->insn.imm : from[lane]);
	}
}

/*
 * Micro-ops @n to @end - 1 by @ids work-items, of which this is @id: lanes are shared out
 * first, then micro-ops.
 */
static void execute(const struct core *c, const struct vta_loop *l, ulong n, ulong end, uint id,
		    uint ids)
{
	uint parts = l->apart && ids > LANES ? ids / LANES : 1, part = 0;
	struct lanes lanes = { id, id + 1, parts > 1 };
	ulong each = (end - n + parts - 1) / parts;

	if (parts > 1) {
		part = id / LANES;
		lanes.first = id % LANES;
		lanes.end = lanes.first + 1;
	} else if (ids <= LANES) {
		lanes.first = id * (LANES / ids);
		lanes.end = id + 1 == ids ? LANES : lanes.first + LANES / ids;
	}
	n += part * each;
	end = min(end, n + each);
	if (part >= parts || lanes.first >= LANES)
		return;
	if (l->insn.alu)
		alu(c, l, n, end, lanes);
	else if (lanes.end - lanes.first == 1 && !l->insn.reset)
		gemm_sums(c, l, n, end, lanes);
	else
		gemm(c, l, n, end, lanes);
}

/* The least and the largest indices of the micro-ops, and how far apart they are. */
static void look_at_uops(const struct core *c, __local struct vta_group *g)
{
	__local const struct vta_loop *l = &g->s.loop;

	for (uint u = l->insn.uop_bgn + ITEM; u < l->insn.uop_end; u += VTA_ITEMS) {
		struct vta_isa_uop uop = decode_uop(c->uop[u]);
		int dst = (int)uop.dst, src = (int)uop.src;

		atomic_min(&g->dst_min, dst);
		atomic_max(&g->dst_max, dst);
		atomic_min(&g->src_min, src);
		atomic_max(&g->src_max, src);
		atomic_max(&g->wgt_max, (int)uop.wgt);
		if (src != dst)
			atomic_and(&g->src_is_dst, 0);
		if (u + 1 < l->insn.uop_end)
			atomic_min(&g->gap, (int)decode_uop(c->uop[u + 1]).dst - dst);
	}
}

#include "decide.cl"

/* ---- The kernels ---- */

/* Instructions from @fetched on: the host's, or the device's own, up to a page's end. */
static void refill(const struct core *c, __local struct vta_group *g)
{
	__local const struct vta_state *s = &g->s;
	ulong addr = s->insn_addr + (ulong)s->fetched * 16;
	ulong there = place(c, addr, VTA_ENTRY_READ);
	__global const uint *from = (__global const uint *)(c->memory + there);
	uint count = PAGE_INSNS - (uint)(addr / 16 % PAGE_INSNS);

	count = min(min(count, VTA_BLOCK), s->insn_count - s->fetched);
	if (s->fetched - s->code_first < s->code_count) {
		from = c->code + (s->fetched - s->code_first) * 4;
		count = min(VTA_BLOCK, s->code_first + s->code_count - s->fetched);
	} else if (there == NOWHERE) {
		count = 0;
	}
	for (uint i = ITEM; i < count * 4; i += VTA_ITEMS)
		g->block[i] = from[i];
	if (ITEM == 0)
		g->block_count = count;
}

static void decide(const struct core *c, __local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;

	if (g->todo == LOOK)
		begin(c, g);
	if (g->todo != REFILL)
		return;
	g->block_first = s->fetched;
	g->todo = g->block_count ? NOTHING : LEAVE;
	if (!g->block_count)
		s->status = VTA_FETCH;
}

/* After a step: what is done is finished, and the next chosen. */
static void go_on(const struct core *c, __local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;

	if (g->todo == EXECUTE && s->status == VTA_WIDE) {
		s->loop.done = g->part_end;
		if (s->loop.done < s->loop.count) {
			g->todo = LEAVE;
			return;
		}
		s->status = VTA_RUN;
	}
	if (s->in_hand && (g->todo == EXECUTE || g->todo == NOTHING)) {
		if (g->todo == EXECUTE && (s->command.words[0] & 7) == STORE && s->move.bounce) {
			s->status = VTA_MOVE;
			g->todo = LEAVE;
			return;
		}
		finish(c, s);
	}
	if (g->budget < INSN_WORK) {
		g->todo = LEAVE;	/* the next launch continues */
		return;
	}
	g->budget -= INSN_WORK;
	choose(c, g);
}

static void start(const struct core *c, __local struct vta_group *g, uint shared)
{
	g->shared = shared;
	g->block_count = 0;
	g->block_first = 0;
	g->budget = STREAM_WORK;
	g->todo = LEAVE;
	if (g->s.status == VTA_WIDE && shared)
		begin_part(g);
	else if (g->s.status == VTA_WIDE)
		count_wide(g);
	if (g->s.status == VTA_RUN && g->s.in_hand)
		resume(c, g);
	else if (g->s.status == VTA_RUN)
		choose(c, g);
}

static void execute_in_hand(const struct core *c, __local struct vta_group *g)
{
	uint op = g->s.command.words[0] & 7;
	struct vta_loop loop;

	if (op == LOAD || op == STORE) {
		move(c, g);
	} else {
		loop = g->s.loop;
		execute(c, &loop, loop.done, g->part_end, ITEM, VTA_ITEMS);
	}
}

/* The state, between the buffer and the group. */
static void copy_state(__global struct vta_state *there, __local struct vta_state *here, bool out)
{
	__global uchar *far = (__global uchar *)there;
	__local uchar *near = (__local uchar *)here;

	for (uint i = ITEM; i < sizeof(*here); i += VTA_ITEMS) {
		if (out)
			far[i] = near[i];
		else
			near[i] = far[i];
	}
}

#define ARGUMENTS	__global struct vta_state *state, __global uchar *memory,		\
			__global const uint *pages, __global uint *uop, __global char *inp,	\
			__global char *wgt, __global int *acc,					\
			__global struct vta_command *waiting, __global ulong *tokens,		\
			__global const uint *code, __global uchar *bounce,			\
			__global const uint *slots
#define CORE(slot)	{ memory, pages, uop + (slot) * SLOT_UOP, inp + (slot) * SLOT_INP,	\
			  wgt + (slot) * SLOT_WGT, acc + (slot) * SLOT_ACC,			\
			  waiting + (slot) * SLOT_WAITING, tokens + (slot) * SLOT_TOKENS,	\
			  code + (slot) * (size_t)(VTA_CODE * 4),				\
			  bounce + (slot) * (size_t)BOUNCE }

__kernel __attribute__((reqd_work_group_size(VTA_ITEMS, 1, 1)))
void vta_stream(ARGUMENTS, __local struct vta_group *g, uint shared)
{
	const size_t slot = slots[get_group_id(0)];
	const struct core c = CORE(slot);

	state += slot;
	copy_state(state, &g->s, false);
	JOIN;
	if (ITEM == 0)
		start(&c, g, shared);
	JOIN;
	while (g->todo != LEAVE) {
		uint op = g->s.command.words[0] & 7;

		if (g->todo == REFILL)
			refill(&c, g);
		else if (g->todo == LOOK && (op == GEMM || op == ALU) && g->s.loop.count &&
			 g->s.loop.insn.uop_end <= 1u << LOG_UOP)
			look_at_uops(&c, g);
		else if (g->todo == LOOK && op <= STORE && g->s.move.insn.x_size &&
			 g->s.move.insn.y_size && move_fits(&g->s.move.insn))
			look_at_rows(&c, g);
		JOIN;
		if (ITEM == 0)
			decide(&c, g);
		JOIN;
		if (g->todo == EXECUTE)
			execute_in_hand(&c, g);
		JOIN;
		if (ITEM == 0 && g->todo != LEAVE)
			go_on(&c, g);
		JOIN;
	}
	copy_state(state, &g->s, true);
}

#ifndef VTA_TASK
/*
 * Some micro-ops of the loop in hand. The next launch of vta_stream counts them: here no
 * work-item changes what another one reads.
 */
__kernel void vta_wide(ARGUMENTS)
{
	const size_t slot = slots[0];
	const struct core c = CORE(slot);
	struct vta_loop l;

	state += slot;
	if (state->status != VTA_WIDE)
		return;
	l = state->loop;
	execute(&c, &l, l.done, wide_end(&l), (uint)get_global_id(0), (uint)get_global_size(0));
}
#endif
