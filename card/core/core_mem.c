// SPDX-License-Identifier: Apache-2.0
/*
 * core_mem.c - LOAD and STORE: between memory and the scratchpads
 */
#include <endian.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "core_impl.h"

#define BLOCK_MAX	256u
#define ADDRESS_END	(UINT64_C(1) << 32)

size_t core_mem_elem_size(const struct core *core, enum vta_isa_memory type)
{
	size_t batch = core->batch;
	size_t block = core->block;

	switch (type) {
	case VTA_ISA_UOP:
		return sizeof(uint32_t);
	case VTA_ISA_WGT:
		return (block * block << core->cfg.log_wgt_width) / 8;
	case VTA_ISA_INP:
	case VTA_ISA_OUT:
		return (batch * block << core->cfg.log_inp_width) / 8;
	case VTA_ISA_ACC:
		return batch * block * sizeof(int32_t);
	case VTA_ISA_ACC_8BIT:
		return batch * block;
	}
	return 0;
}

/* OUT is ACC seen by STORE. */
static struct core_pad *pad_of(struct core *core, enum vta_isa_memory type)
{
	switch (type) {
	case VTA_ISA_UOP:
		return &core->uop;
	case VTA_ISA_WGT:
		return &core->wgt;
	case VTA_ISA_INP:
		return &core->inp;
	default:
		return &core->acc;
	}
}

static enum vta_access access_of(enum vta_isa_memory type)
{
	return type == VTA_ISA_UOP ? VTA_ACCESS_UOP : VTA_ACCESS_LOAD;
}

bool core_mem_fits(struct core *core, const struct vta_isa_move *mem)
{
	uint64_t width = mem->x_pad_0 + mem->x_size + mem->x_pad_1;
	uint64_t height = mem->y_pad_0 + mem->y_size + mem->y_pad_1;
	uint64_t count = mem->x_size ? width * height : 0;

	return !count || mem->sram_base + count <= pad_of(core, mem->memory_type)->depth;
}

/* ---- Elements between their forms in memory and in the scratchpads ---- */

/* Value @n of packed signed values of 2^@log_width bits, low bits first. */
static inline int16_t packed(const uint8_t *from, size_t n, unsigned int log_width)
{
	unsigned int width = 1u << log_width;
	unsigned int bit = (unsigned int)(n << log_width) % 8;

	return (int16_t)((int8_t)(from[(n << log_width) / 8] << (8 - width - bit)) >> (8 - width));
}

/*
 * Eight such values as bytes, of a width below 8 bits. Each step moves the upper half of the bits
 * that are side by side up to a place of their own; then the sign is spread.
 */
static uint64_t spread_eight(const uint8_t *from, unsigned int log_width)
{
	uint32_t four;
	uint16_t two;
	uint64_t x;

	if (log_width == 2) {
		memcpy(&four, from, sizeof(four));
		x = le32toh(four);
		x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
		x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
		x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
		return x | (x & UINT64_C(0x0808080808080808)) * 0x1e;
	}
	memcpy(&two, from, sizeof(two));
	x = le16toh(two);
	x = (x | x << 24) & UINT64_C(0x000000ff000000ff);
	x = (x | x << 12) & UINT64_C(0x000f000f000f000f);
	x = (x | x << 6) & UINT64_C(0x0303030303030303);
	return x | (x & UINT64_C(0x0202020202020202)) * 0x7e;
}

/* The reverse: the low bits of eight bytes, in the low bytes of the result. */
static uint32_t gather_eight(uint64_t x, unsigned int log_width)
{
	if (log_width == 2) {
		x &= UINT64_C(0x0f0f0f0f0f0f0f0f);
		x = (x | x >> 4) & UINT64_C(0x00ff00ff00ff00ff);
		x = (x | x >> 8) & UINT64_C(0x0000ffff0000ffff);
		return (uint32_t)(x | x >> 16);
	}
	x &= UINT64_C(0x0303030303030303);
	x = (x | x >> 6) & UINT64_C(0x000f000f000f000f);
	x = (x | x >> 12) & UINT64_C(0x000000ff000000ff);
	return (uint32_t)(x | x >> 24);
}

/* @n values of bytes, packed; they fill whole bytes, and @from has room for a multiple of eight. */
static void gather_values(uint8_t *to, const uint8_t *from, size_t n, unsigned int log_width)
{
	uint64_t eight;
	uint32_t four;
	size_t i, some;

	for (i = 0; i < n; i += sizeof(eight)) {
		some = n - i < sizeof(eight) ? n - i : sizeof(eight);
		memcpy(&eight, from + i, sizeof(eight));
		four = htole32(gather_eight(le64toh(eight), log_width));
		memcpy(to + ((i << log_width) / 8), &four, (some << log_width) / 8);
	}
}

/* @n values as bytes, of a width below 8 bits. */
static void spread_values(uint8_t *to, const uint8_t *from, size_t n, unsigned int log_width)
{
	uint64_t eight;
	size_t i;

	for (i = 0; i + sizeof(eight) <= n; i += sizeof(eight)) {
		eight = htole64(spread_eight(from + ((i << log_width) / 8), log_width));
		memcpy(to + i, &eight, sizeof(eight));
	}
	for (; i < n; i++)
		to[i] = (uint8_t)packed(from, i, log_width);
}

static void offset_bytes(uint8_t *to, const uint8_t *from, size_t n)
{
	size_t i;
	uint64_t eight;

	for (i = 0; i + sizeof(eight) <= n; i += sizeof(eight)) {
		memcpy(&eight, from + i, sizeof(eight));
		eight ^= UINT64_C(0x8080808080808080);
		memcpy(to + i, &eight, sizeof(eight));
	}
	for (; i < n; i++)
		to[i] = from[i] ^ CORE_INP_ZERO;
}

static void unpack_uop(const struct core *core, uint32_t index, const uint8_t *from, uint32_t n)
{
	struct core_uop *to = (struct core_uop *)core->uop.mem + index;
	struct vta_isa_uop raw;
	uint32_t uop;

	for (; n; n--, to++, from += sizeof(uop)) {
		memcpy(&uop, from, sizeof(uop));
		vta_isa_unpack_uop(&core->log, le32toh(uop), &raw);
		*to = (struct core_uop){ (uint16_t)raw.dst, (uint16_t)raw.src, (uint16_t)raw.wgt };
	}
}

/* Only a block of 2 leaves values of its quad over. */
static void unpack_inp(const struct core *core, uint32_t index, const uint8_t *from, uint32_t n)
{
	uint8_t *to = (uint8_t *)core->inp.mem + (size_t)index * core->inp.elem_size;
	unsigned int log_width = core->cfg.log_inp_width;
	size_t values = (size_t)n * core->batch * core->block;
	size_t i;

	if (core->block < CORE_QUAD) {
		for (i = 0; i < values; i++)
			to[i / core->block * CORE_QUAD + i % core->block] =
				(uint8_t)(packed(from, i, log_width) + CORE_INP_ZERO);
	} else if (log_width < 3) {
		spread_values(to, from, values, log_width);
		offset_bytes(to, to, values);
	} else {
		offset_bytes(to, from, values);
	}
}

/* Four rows of four quads become columns. */
static inline void transpose_quads(int8_t *to, size_t to_pitch, const uint8_t *from,
				   size_t from_pitch)
{
	typedef int32_t quads __attribute__((vector_size(16)));
	quads r[4], lo[2], hi[2];
	int i;

	for (i = 0; i < 4; i++)
		memcpy(&r[i], from + (size_t)i * from_pitch, sizeof(r[i]));
	for (i = 0; i < 2; i++) {
		lo[i] = __builtin_shufflevector(r[i * 2], r[i * 2 + 1], 0, 4, 1, 5);
		hi[i] = __builtin_shufflevector(r[i * 2], r[i * 2 + 1], 2, 6, 3, 7);
	}
	r[0] = __builtin_shufflevector(lo[0], lo[1], 0, 1, 4, 5);
	r[1] = __builtin_shufflevector(lo[0], lo[1], 2, 3, 6, 7);
	r[2] = __builtin_shufflevector(hi[0], hi[1], 0, 1, 4, 5);
	r[3] = __builtin_shufflevector(hi[0], hi[1], 2, 3, 6, 7);
	for (i = 0; i < 4; i++)
		memcpy(to + (size_t)i * to_pitch, &r[i], sizeof(r[i]));
}

#ifdef __x86_64__
/* Blocks of 16 by 16 bytes: a vector has four rows, and becomes a part of each of four columns. */
__attribute__((target("avx512f")))
static void interleave_16(int8_t *to, const uint8_t *from, uint32_t n)
{
	const __m512i first = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28,
						1, 5, 9, 13, 17, 21, 25, 29);
	const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(2));
	__m512i rows[4], a, b;
	int i;

	for (; n; n--, from += sizeof(rows), to += sizeof(rows)) {
		for (i = 0; i < 4; i++)
			rows[i] = _mm512_loadu_si512(from + i * 64);
		a = _mm512_permutex2var_epi32(rows[0], first, rows[1]);
		b = _mm512_permutex2var_epi32(rows[2], first, rows[3]);
		_mm512_storeu_si512(to, _mm512_shuffle_i64x2(a, b, 0x44));
		_mm512_storeu_si512(to + 64, _mm512_shuffle_i64x2(a, b, 0xee));
		a = _mm512_permutex2var_epi32(rows[0], last, rows[1]);
		b = _mm512_permutex2var_epi32(rows[2], last, rows[3]);
		_mm512_storeu_si512(to + 128, _mm512_shuffle_i64x2(a, b, 0x44));
		_mm512_storeu_si512(to + 192, _mm512_shuffle_i64x2(a, b, 0xee));
	}
}

static bool has_interleave_16(const struct core *core)
{
	return core->block == 16 && core->cfg.log_wgt_width == 3 &&
	       __builtin_cpu_supports("avx512f");
}
#else
static void interleave_16(int8_t *to, const uint8_t *from, uint32_t n)
{
	(void)to;
	(void)from;
	(void)n;
}

static bool has_interleave_16(const struct core *core)
{
	(void)core;
	return false;
}
#endif

/* [out][in] to [in / 4][out][4]; a block has at least 16 rows. */
static void interleave(int8_t *to, const uint8_t *from, size_t block, unsigned int log_width)
{
	size_t bytes = (block << log_width) / 8, out, in;
	uint8_t rows[4 * BLOCK_MAX];

	for (out = 0; out < block; out += 4, from += 4 * bytes) {
		const uint8_t *four = from;

		if (log_width < 3) {
			spread_values(rows, from, 4 * block, log_width);
			four = rows;
		}
		for (in = 0; in < block; in += 16)
			transpose_quads(to + in * block + out * CORE_QUAD, block * CORE_QUAD,
					four + in, block);
	}
}

/* The same of small blocks. */
static void interleave_small(int8_t *to, const uint8_t *from, size_t block, unsigned int log_width)
{
	size_t out, in, i = 0;

	for (out = 0; out < block; out++)
		for (in = 0; in < block; in++, i++)
			to[core_wgt_offset(block, out, in)] = (int8_t)packed(from, i, log_width);
}

static void unpack_wgt(const struct core *core, uint32_t index, const uint8_t *from, uint32_t n)
{
	int8_t *to = (int8_t *)core->wgt.mem + index * core->wgt.elem_size;
	unsigned int log_width = core->cfg.log_wgt_width;
	size_t size = core_mem_elem_size(core, VTA_ISA_WGT);

	if (has_interleave_16(core)) {
		interleave_16(to, from, n);
		return;
	}
	for (; n; n--, to += core->wgt.elem_size, from += size) {
		if (core->block >= 16)
			interleave(to, from, core->block, log_width);
		else
			interleave_small(to, from, core->block, log_width);
	}
}

static void unpack_acc(const struct core *core, uint32_t index, const uint8_t *from, uint32_t n)
{
	size_t values = (size_t)n * core->batch * core->block;
	int32_t *to = (int32_t *)core->acc.mem + (size_t)index * core->batch * core->block;
	uint32_t raw;

	for (; values; values--, from += sizeof(raw)) {
		memcpy(&raw, from, sizeof(raw));
		*to++ = (int32_t)le32toh(raw);
	}
}

static CORE_FOR_ALL_PROCESSORS
void widen_bytes(int32_t *restrict to, const uint8_t *restrict from, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = (int8_t)from[i];
}

static void unpack_acc_8bit(const struct core *core, uint32_t index, const uint8_t *from,
			    uint32_t n)
{
	size_t values = (size_t)n * core->batch * core->block;
	int32_t *to = (int32_t *)core->acc.mem + (size_t)index * core->batch * core->block;

	widen_bytes(to, from, values);
}

void core_mem_unpack(const struct core *core, enum vta_isa_memory type, uint32_t index,
		     const uint8_t *from, uint32_t n)
{
	switch (type) {
	case VTA_ISA_UOP:
		return unpack_uop(core, index, from, n);
	case VTA_ISA_WGT:
		return unpack_wgt(core, index, from, n);
	case VTA_ISA_INP:
		return unpack_inp(core, index, from, n);
	case VTA_ISA_ACC:
		return unpack_acc(core, index, from, n);
	case VTA_ISA_ACC_8BIT:
		return unpack_acc_8bit(core, index, from, n);
	case VTA_ISA_OUT:
		break;		/* cannot be loaded */
	}
}

/* The low bytes of accumulators, 16 at a time: a number that the compiler makes vectors of. */
static CORE_FOR_ALL_PROCESSORS void pack_bytes(uint8_t *to, const int32_t *from, size_t n)
{
	size_t i, j;

	for (i = 0; i + 16 <= n; i += 16)
#pragma GCC ivdep
		for (j = 0; j < 16; j++)
			to[i + j] = (uint8_t)from[i + j];
	for (; i < n; i++)
		to[i] = (uint8_t)from[i];
}

/* The low bits of accumulators, packed as inputs are. */
static void pack_out(const struct core *core, uint8_t *to, uint32_t index, uint32_t n)
{
	const int32_t *from = (int32_t *)core->acc.mem + (size_t)index * core->batch * core->block;
	unsigned int log_width = core->cfg.log_inp_width;
	size_t left = (size_t)n * core->batch * core->block, some;
	uint8_t bytes[256] = { 0 };

	if (log_width == 3) {
		pack_bytes(to, from, left);
		return;
	}
	for (; left; left -= some, from += some, to += (some << log_width) / 8) {
		some = left < sizeof(bytes) ? left : sizeof(bytes);
		pack_bytes(bytes, from, some);
		gather_values(to, bytes, some, log_width);
	}
}

/* ---- Moving ---- */

/*
 * Moves staged bytes from or to memory. Beyond the 32-bit address space
 * nothing is mapped; a fault there reports the low 32 bits.
 */
static enum core_result move_staged(struct core_run *run, uint64_t addr, size_t len,
				    enum vta_access access)
{
	enum vta_fault_reason reason = VTA_FAULT_NONE;
	uint8_t *buf = run->core->staging;
	uint32_t fault_addr = 0;
	size_t inside = 0;

	if (core_run_stopped(run))
		return CORE_STOPPED;

	if (addr < ADDRESS_END)
		inside = len < ADDRESS_END - addr ? len : (size_t)(ADDRESS_END - addr);
	if (inside && access == VTA_ACCESS_STORE)
		reason = run->ops->write(run->priv, (uint32_t)addr, buf, inside, access,
					 &fault_addr);
	else if (inside)
		reason = run->ops->read(run->priv, (uint32_t)addr, buf, inside, access,
					&fault_addr);
	if (reason != VTA_FAULT_NONE)
		return core_run_fault(run, reason, access, fault_addr);
	if (inside < len)
		return core_run_fault(run, VTA_FAULT_PAGE, access, (uint32_t)(addr + inside));
	return CORE_DONE;
}

/* @n elements in a row, in pieces that fit the staging buffer. */
static enum core_result move_row(struct core_run *run, enum vta_isa_memory type, uint32_t sram,
				 uint64_t dram, uint32_t n, bool store)
{
	struct core *core = run->core;
	size_t size = core_mem_elem_size(core, type);
	uint32_t most = (uint32_t)(core->staging_size / size);
	enum core_result result = CORE_DONE;
	uint32_t piece;

	for (; n && result == CORE_DONE; n -= piece, sram += piece, dram += piece) {
		piece = n < most ? n : most;
		if (store)
			pack_out(core, core->staging, sram, piece);
		result = move_staged(run, dram * size, piece * size,
				     store ? VTA_ACCESS_STORE : access_of(type));
		if (result == CORE_DONE && !store)
			core_mem_unpack(core, type, sram, core->staging, piece);
	}
	return result;
}

/* Zeroes @n elements from *@sram on, and steps over them. */
static void zero_elements(struct core_pad *pad, uint32_t *sram, uint32_t n)
{
	memset((char *)pad->mem + *sram * pad->elem_size, pad->zero, n * pad->elem_size);
	*sram += n;
}

enum core_result core_mem_load(struct core_run *run, const struct vta_isa_move *mem)
{
	struct core_pad *pad;
	uint32_t width = mem->x_pad_0 + mem->x_size + mem->x_pad_1;
	uint32_t height = mem->y_pad_0 + mem->y_size + mem->y_pad_1;
	uint32_t sram = mem->sram_base;
	enum core_result result = CORE_DONE;
	uint64_t row = mem->dram_base;
	uint32_t y;

	if (!mem->x_size || !height)
		return CORE_DONE;
	pad = pad_of(run->core, mem->memory_type);
	if (pad->used < sram + width * height)
		pad->used = sram + width * height;

	zero_elements(pad, &sram, mem->y_pad_0 * width);
	if (width == mem->x_size && mem->x_stride == mem->x_size) {
		result = move_row(run, mem->memory_type, sram, row, width * mem->y_size, false);
		sram += width * mem->y_size;
	} else {
		for (y = 0; y < mem->y_size && result == CORE_DONE; y++) {
			zero_elements(pad, &sram, mem->x_pad_0);
			result = move_row(run, mem->memory_type, sram, row, mem->x_size, false);
			sram += mem->x_size;
			zero_elements(pad, &sram, mem->x_pad_1);
			row += mem->x_stride;
		}
	}
	if (result == CORE_DONE)
		zero_elements(pad, &sram, mem->y_pad_1 * width);
	return result;
}

enum core_result core_mem_store(struct core_run *run, const struct vta_isa_move *mem)
{
	enum core_result result = CORE_DONE;
	uint32_t sram = mem->sram_base;
	uint64_t row = mem->dram_base;
	uint32_t y;

	if (!mem->x_size)
		return CORE_DONE;
	if (mem->x_stride == mem->x_size)
		return move_row(run, mem->memory_type, sram, row, mem->x_size * mem->y_size, true);
	for (y = 0; y < mem->y_size && result == CORE_DONE; y++) {
		result = move_row(run, mem->memory_type, sram, row, mem->x_size, true);
		sram += mem->x_size;
		row += mem->x_stride;
	}
	return result;
}
