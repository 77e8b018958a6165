// SPDX-License-Identifier: GPL-2.0-only
/* gen.c - seeded random VTA instruction streams (see gen.h) */

#include <stdlib.h>
#include <string.h>

#include "gen_impl.h"

/* The image's parts, in bytes; what is sized by the configuration follows. */
#define INSN_OFFSET	0u
#define INSN_BYTES	(GEN_INSNS_MAX * 16u)
#define UOP_OFFSET	(INSN_OFFSET + INSN_BYTES)
#define UOP_BYTES	(GEN_UOPS * 4u)
#define CONST_OFFSET	0x10000u

/* So that a part begins at a whole element of any kind. */
#define PART_ALIGN	0x10000u

/* More chunks than gen_dump() needs for any configuration tested. */
#define CHUNKS_MAX	64u

void *gen_must(void *p)
{
	if (!p)
		abort();
	return p;
}

static uint32_t round_up(uint32_t value, uint32_t align)
{
	return (value + align - 1) & ~(align - 1);
}

/* ---- Random numbers ------------------------------------------------------ */

/* splitmix64: any seed will do, 0 and neighbours included. */
uint64_t gen_bits(struct gen *gen)
{
	uint64_t z = gen->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint32_t gen_below(struct gen *gen, uint32_t n)
{
	return (uint32_t)((gen_bits(gen) >> 32) * n >> 32);
}

uint32_t gen_scaled(struct gen *gen, uint32_t max)
{
	unsigned int log = 0;
	uint32_t top;

	while (log < 31 && 2u << log <= max)
		log++;
	top = 2u << gen_below(gen, log + 1);
	return 1 + gen_below(gen, top - 1 < max ? top - 1 : max);
}

bool gen_chance(struct gen *gen, unsigned int percent)
{
	return gen_below(gen, 100) < percent;
}

struct insn gen_junk(struct gen *gen)
{
	return (struct insn){ { gen_bits(gen), gen_bits(gen) } };
}

/* ---- The memory image ---------------------------------------------------- */

static void put_word(uint8_t *at, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(word >> (8 * i));
}

static uint32_t get_word(const uint8_t *at)
{
	uint32_t word = 0;

	for (int i = 0; i < 4; i++)
		word |= (uint32_t)at[i] << (8 * i);
	return word;
}

void gen_load_uops(struct gen *gen, const struct insn_move *move)
{
	uint32_t columns = move->x_pad_0 + move->x_size + move->x_pad_1;
	uint32_t *row = gen->uop + move->sram_base;

	if (move->x_size == 0)
		return;
	for (uint32_t y = 0; y < move->y_pad_0 + move->y_size + move->y_pad_1; y++) {
		memset(row, 0, columns * sizeof(*row));
		if (y >= move->y_pad_0 && y < move->y_pad_0 + move->y_size) {
			uint32_t first = move->dram_base - gen->base / 4 +
					 (y - move->y_pad_0) * move->x_stride;

			for (uint32_t x = 0; x < move->x_size; x++)
				row[move->x_pad_0 + x] = get_word(gen->image + 4 * (first + x));
		}
		row += columns;
	}
}

/* Fills data by stretches: bytes are inputs, weights or parts of int32. */
static void fill_data(struct gen *gen)
{
	uint32_t stretch = 0, kind = 0;

	for (uint32_t i = 0; i < gen->data_size; i += 4) {
		uint32_t word = (uint32_t)gen_bits(gen);

		if (stretch == 0) {
			stretch = gen_scaled(gen, 1024);
			kind = gen_below(gen, 8);
		}
		stretch--;
		switch (kind) {
		case 0:			/* amounts to shift by */
			word = word % 81 - 40;
			break;
		case 1:			/* about the ends of int32 */
			word = 0x80000000u + word % 7 - 3;
			break;
		case 2:			/* the least input and weight of any width */
			word = 0x80808080u;
			break;
		case 3:
			word = 0;
			break;
		}
		put_word(gen->image + gen->data + i, word);
	}
}

/* A random micro-op with each index within @max. */
static uint32_t random_uop(struct gen *gen, struct gen_uop max)
{
	return insn_uop(&gen->cfg, gen_below(gen, max.dst), gen_below(gen, max.src),
			gen_below(gen, max.wgt), (uint32_t)gen_bits(gen));
}

/* Micro-ops that keep one virtual thread to its half of the scratchpads. */
static void fill_thread_uops(struct gen *gen, uint8_t *uops, uint32_t thread)
{
	uint32_t acc = gen->depth[INSN_ACC] / 2, inp = gen->depth[INSN_INP] / 2;
	uint32_t wgt = gen->depth[INSN_WGT] / 2;

	for (uint32_t i = 0; i < GEN_THREAD_UOPS; i++) {
		uint32_t dst = thread * acc + gen_below(gen, acc);

		put_word(uops + 4 * (GEN_UOP_GEMM(thread) + i),
			 insn_uop(&gen->cfg, dst, thread * inp + gen_below(gen, inp),
				  thread * wgt + gen_below(gen, wgt), (uint32_t)gen_bits(gen)));
		put_word(uops + 4 * (GEN_UOP_ALU(thread) + i),
			 insn_uop(&gen->cfg, dst, thread * acc + gen_below(gen, acc), 0,
				  (uint32_t)gen_bits(gen)));
	}
}

bool gen_has_threads(const struct gen *gen)
{
	return gen->depth[INSN_ACC] > 1 && gen->depth[INSN_INP] > 1 &&
	       gen->depth[INSN_WGT] > 1 && gen->depth[INSN_UOP] >= GEN_UOPS_RANDOM;
}

static void fill_uops(struct gen *gen)
{
	uint32_t acc = gen->depth[INSN_ACC], inp = gen->depth[INSN_INP];
	uint8_t *uops = gen->image + gen->uops;
	struct gen_uop max = { 0 };

	if (gen_has_threads(gen)) {
		fill_thread_uops(gen, uops, 0);
		fill_thread_uops(gen, uops, 1);
	}
	for (uint32_t i = GEN_UOPS_RANDOM; i < GEN_UOPS; i++) {
		/* In lots, of which many leave room for the loops' factors. */
		if (i % 32 == 0 || i == GEN_UOPS_RANDOM) {
			max.dst = gen_scaled(gen, acc);
			max.src = gen_scaled(gen, gen_chance(gen, 50) ? inp : acc);
			max.wgt = gen_scaled(gen, gen->depth[INSN_WGT]);
		}
		put_word(uops + 4 * i, random_uop(gen, max));
	}
}

uint32_t gen_rows_per_inp(const struct gen *gen)
{
	const struct core_config *cfg = &gen->cfg;

	return 1u << (cfg->log_batch < cfg->log_block ? cfg->log_batch : cfg->log_block);
}

/* Value @n of an array becomes 1, over zeros. */
static void put_one(uint8_t *at, uint32_t n, unsigned int log_width)
{
	uint32_t bit = n << log_width;

	at[bit / 8] |= (uint8_t)(1u << bit % 8);
}

/* Fills the constants that gen_dump() loads. */
static void fill_consts(struct gen *gen)
{
	uint32_t block = 1u << gen->cfg.log_block, per_inp = gen_rows_per_inp(gen);
	uint32_t acc = gen->depth[INSN_ACC];

	for (uint32_t k = 0; k < block; k++) {
		put_one(gen->image + gen->consts, k * block + k, gen->cfg.log_wgt_width);
		put_one(gen->image + gen->rows + k / per_inp * gen->bytes[INSN_INP],
			k % per_inp * block + k, gen->cfg.log_inp_width);
	}
	for (uint32_t c = 0; c < CHUNKS_MAX && c * acc < gen->depth[INSN_INP]; c++)
		put_word(gen->image + gen->inp_chunks + 4 * c,
			 insn_uop(&gen->cfg, 0, c * acc, 0, 0));
	for (uint32_t c = 0; c < CHUNKS_MAX && c * acc < gen->depth[INSN_WGT]; c++)
		put_word(gen->image + gen->wgt_chunks + 4 * c,
			 insn_uop(&gen->cfg, 0, 0, c * acc, 0));
}

static uint32_t dump_bytes(const struct gen *gen)
{
	uint32_t out = gen->bytes[INSN_OUT];

	/* ACC in OUT-wide parts, then INP or two columns of WGT. */
	return gen->depth[INSN_ACC] * gen->bytes[INSN_ACC] +
	       (gen->depth[INSN_INP] + 2 * gen->depth[INSN_WGT]) * out;
}

static void set_sizes(struct gen *gen)
{
	const struct core_config *cfg = &gen->cfg;

	gen->depth[INSN_UOP] = 1u << insn_log_uop_depth(cfg);
	gen->depth[INSN_WGT] = 1u << insn_log_wgt_depth(cfg);
	gen->depth[INSN_INP] = 1u << insn_log_inp_depth(cfg);
	gen->depth[INSN_ACC] = 1u << insn_log_acc_depth(cfg);
	gen->depth[INSN_OUT] = gen->depth[INSN_ACC];
	gen->depth[INSN_ACC_8BIT] = gen->depth[INSN_ACC];
	for (int i = 0; i < 6; i++) {
		gen->bytes[i] = insn_element_bytes(cfg, i);
		if (gen->bytes[i] > gen->largest)
			gen->largest = gen->bytes[i];
	}

	gen->uops = UOP_OFFSET;
	gen->consts = CONST_OFFSET;
	gen->rows = gen->consts + gen->largest;
	gen->inp_chunks = round_up(gen->rows + (gen->bytes[INSN_INP] << cfg->log_block), 4);
	gen->wgt_chunks = gen->inp_chunks + CHUNKS_MAX * 4;
	gen->dump = round_up(gen->wgt_chunks + CHUNKS_MAX * 4, PART_ALIGN);
	gen->data = round_up(gen->dump + dump_bytes(gen), PART_ALIGN);
	gen->data_size = round_up(32 * gen->largest, 2 * PART_ALIGN);
	/* Data comes last: its end is the end of memory. */
	gen->size = gen->data + gen->data_size;
}

struct gen *gen_new(const struct core_config *cfg, uint64_t seed, uint32_t base)
{
	struct gen *gen = gen_must(calloc(1, sizeof(*gen)));

	gen->cfg = *cfg;
	gen->rng = seed;
	gen->base = base;
	set_sizes(gen);
	gen->image = gen_must(calloc(1, gen->size));
	gen->uop = gen_must(calloc(gen->depth[INSN_UOP], sizeof(*gen->uop)));
	gen->order = gen_order_new(gen);
	fill_uops(gen);
	fill_consts(gen);
	fill_data(gen);
	return gen;
}

void gen_free(struct gen *gen)
{
	gen_order_free(gen->order);
	free(gen->uop);
	free(gen->image);
	free(gen);
}

const uint8_t *gen_image(const struct gen *gen)
{
	return gen->image;
}

uint32_t gen_image_size(const struct gen *gen)
{
	return gen->size;
}

uint32_t gen_base_for_top(const struct core_config *cfg)
{
	struct gen sizes = { .cfg = *cfg };

	set_sizes(&sizes);
	return 0u - sizes.size;
}

uint32_t gen_insn_addr(const struct gen *gen)
{
	return gen->base + INSN_OFFSET;
}

void gen_put_insns(const struct gen_stream *stream, uint8_t *memory)
{
	for (uint32_t i = 0; i < stream->count; i++)
		insn_to_bytes(stream->insns[i], memory + INSN_OFFSET + 16 * i);
}
