/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * vta_isa.h - the core's configuration, instructions and micro-ops, and their cycles
 *
 * Follows docs/isa.md, which is normative. These numbers are defined only here: the module, the
 * emulated card, the library, the operators, the tools and the kernels in OpenCL C include this
 * file. All functions are inline, call no others and may be used by any thread.
 *
 * Lists are macros of the form LIST(X), which expand to X(...) for each entry.
 */
#ifndef VTA_ISA_H
#define VTA_ISA_H

#if defined(__KERNEL__)
#include <linux/types.h>
#elif defined(__OPENCL_C_VERSION__)
typedef int int32_t;
typedef short int16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

/* ---- Configuration (section 1) ---- */

/* X(name, field, least, most): values, as base-2 logarithms, with the names of vta_config.json */
#define VTA_ISA_CONFIG(X)				\
	X(LOG_INP_WIDTH, log_inp_width, 1, 3)		\
	X(LOG_WGT_WIDTH, log_wgt_width, 1, 3)		\
	X(LOG_ACC_WIDTH, log_acc_width, 5, 5)		\
	X(LOG_BATCH, log_batch, 0, 8)			\
	X(LOG_BLOCK, log_block, 1, 8)			\
	X(LOG_UOP_BUFF_SIZE, log_uop_buff_size, 0, 24)	\
	X(LOG_INP_BUFF_SIZE, log_inp_buff_size, 0, 24)	\
	X(LOG_WGT_BUFF_SIZE, log_wgt_buff_size, 0, 24)	\
	X(LOG_ACC_BUFF_SIZE, log_acc_buff_size, 0, 24)

#define VTA_ISA_LOG_DEPTH_MAX	16	/* sram_base has 16 bits */
#define VTA_ISA_WORD_BITS	64
#define VTA_ISA_UOP_BITS	32

struct vta_isa_config {
#define VTA_ISA_FIELD(name, field, least, most) int field;
	VTA_ISA_CONFIG(VTA_ISA_FIELD)
#undef VTA_ISA_FIELD
};

/* Copies the configuration from any structure with fields of these names; @from: its address */
#define VTA_ISA_CONFIG_OF(from)	{ VTA_ISA_CONFIG_FIELDS(from) }
#define VTA_ISA_CONFIG_FIELDS(from)				\
	.log_inp_width = (int)(from)->log_inp_width,		\
	.log_wgt_width = (int)(from)->log_wgt_width,		\
	.log_acc_width = (int)(from)->log_acc_width,		\
	.log_batch = (int)(from)->log_batch,			\
	.log_block = (int)(from)->log_block,			\
	.log_uop_buff_size = (int)(from)->log_uop_buff_size,	\
	.log_inp_buff_size = (int)(from)->log_inp_buff_size,	\
	.log_wgt_buff_size = (int)(from)->log_wgt_buff_size,	\
	.log_acc_buff_size = (int)(from)->log_acc_buff_size

/**
 * struct vta_isa_shape - sizes that follow from a configuration, as base-2 logarithms
 * @inp_bytes: bytes of an element of INP and OUT
 * @wgt_bytes: bytes of an element of WGT
 * @acc_bytes: bytes of an element of ACC
 * @uop: depth of the micro-op scratchpad in elements, and the width of its indices
 * @inp: depth of the input scratchpad
 * @wgt: depth of the weight scratchpad
 * @acc: depth of the accumulator scratchpad
 *
 * Values may be negative if the configuration is not valid.
 */
struct vta_isa_shape {
	int inp_bytes, wgt_bytes, acc_bytes;
	int uop, inp, wgt, acc;
};

#define VTA_ISA_LOG_UOP_BYTES	2

static inline struct vta_isa_shape vta_isa_shape(const struct vta_isa_config *c)
{
	struct vta_isa_shape s = {
		.inp_bytes = c->log_batch + c->log_block + c->log_inp_width - 3,
		.wgt_bytes = 2 * c->log_block + c->log_wgt_width - 3,
		.acc_bytes = c->log_batch + c->log_block + c->log_acc_width - 3,
	};

	s.uop = c->log_uop_buff_size - VTA_ISA_LOG_UOP_BYTES;
	s.inp = c->log_inp_buff_size - s.inp_bytes;
	s.wgt = c->log_wgt_buff_size - s.wgt_bytes;
	s.acc = c->log_acc_buff_size - s.acc_bytes;
	return s;
}

/*
 * The core's queues (section 3): X(name, field) for the depth of a token queue, and the number of
 * fetched instructions that wait in all modules, as base-2 logarithms. 0 means the largest.
 */
#define VTA_ISA_QUEUES(X)	\
	X(LOG_TOKENS, log_tokens)	\
	X(LOG_WAITING, log_waiting)

#define VTA_ISA_LOG_QUEUE_MIN	3
#define VTA_ISA_LOG_QUEUE_MAX	16

/* Returns the depth that @log means, as a logarithm: @log, or the largest for 0. */
static inline unsigned int vta_isa_log_queue(unsigned int log)
{
	return log ? log : VTA_ISA_LOG_QUEUE_MAX;
}

/* Returns the width of a micro-op's field src, which indexes INP or ACC. */
static inline int vta_isa_src_bits(const struct vta_isa_shape *s)
{
	return s->acc > s->inp ? s->acc : s->inp;
}

#ifndef __OPENCL_C_VERSION__	/* OpenCL C has no strings */
/**
 * struct vta_isa_limit - a rule that a configuration breaks
 * @name: the subject of the rule: a name of vta_config.json, or words with such names
 * @value: its value
 * @least: the smallest valid value
 * @most: the largest valid value
 */
struct vta_isa_limit {
	const char *name;
	int value, least, most;
};

static inline bool vta_isa_within(struct vta_isa_limit *limit, const char *name, int value,
				  int least, int most)
{
	*limit = (struct vta_isa_limit) { name, value, least, most };
	return value >= least && value <= most;
}

/* Checks that a scratchpad has at least one element, and no more than can be indexed. */
static inline bool vta_isa_depth_valid(struct vta_isa_limit *limit, const char *name, int size,
				       int bytes)
{
	int most = bytes + VTA_ISA_LOG_DEPTH_MAX;

	return vta_isa_within(limit, name, size, bytes, most < 24 ? most : 24);
}

/* Checks LOG_TOKENS or LOG_WAITING. */
static inline bool vta_isa_queue_valid(struct vta_isa_limit *limit, const char *name, int log)
{
	return !log || vta_isa_within(limit, name, log, VTA_ISA_LOG_QUEUE_MIN,
				      VTA_ISA_LOG_QUEUE_MAX);
}

/* Checks that fields as wide as depths fit into instructions and micro-ops (sections 5 to 7). */
static inline bool vta_isa_fields_fit(const struct vta_isa_shape *s, struct vta_isa_limit *limit)
{
	return vta_isa_within(limit, "the width of word 0 of GEMM and ALU (LOG_UOP_BUFF_SIZE)",
			      7 + 1 + s->uop + s->uop + 1 + 14 + 14, 0, VTA_ISA_WORD_BITS) &&
	       vta_isa_within(limit, "the width of word 1 of ALU (LOG_ACC_BUFF_SIZE)",
			      4 * s->acc + 3 + 1 + 16, 0, VTA_ISA_WORD_BITS) &&
	       vta_isa_within(limit,
			      "the width of word 1 of GEMM (LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE)",
			      2 * (s->acc + s->inp + s->wgt), 0, VTA_ISA_WORD_BITS) &&
	       vta_isa_within(limit,
			      "the width of a micro-op (LOG_ACC_BUFF_SIZE, LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE)",
			      s->acc + vta_isa_src_bits(s) + s->wgt, 0, VTA_ISA_UOP_BITS);
}

/* Checks that a card may have the configuration; else *limit is the first rule that it breaks. */
static inline bool vta_isa_config_valid(const struct vta_isa_config *c,
					struct vta_isa_limit *limit)
{
	struct vta_isa_shape s;

#define VTA_ISA_RANGE(name, field, least, most)			\
	if (!vta_isa_within(limit, #name, c->field, least, most))	\
		return false;
	VTA_ISA_CONFIG(VTA_ISA_RANGE)
#undef VTA_ISA_RANGE
	s = vta_isa_shape(c);
	/* An element of less than a byte has no address; weights and accumulators have more. */
	return vta_isa_within(limit, "LOG_INP_WIDTH + LOG_BATCH + LOG_BLOCK",
			      c->log_inp_width + c->log_batch + c->log_block, 3, 19) &&
	       vta_isa_depth_valid(limit, "LOG_UOP_BUFF_SIZE", c->log_uop_buff_size,
				   VTA_ISA_LOG_UOP_BYTES) &&
	       vta_isa_depth_valid(limit, "LOG_INP_BUFF_SIZE", c->log_inp_buff_size,
				   s.inp_bytes) &&
	       vta_isa_depth_valid(limit, "LOG_WGT_BUFF_SIZE", c->log_wgt_buff_size,
				   s.wgt_bytes) &&
	       vta_isa_depth_valid(limit, "LOG_ACC_BUFF_SIZE", c->log_acc_buff_size,
				   s.acc_bytes) &&
	       vta_isa_fields_fit(&s, limit);
}
#endif

/* ---- Instructions (sections 2 to 6) ---- */

#define VTA_ISA_ENUMERATOR(name, number) VTA_ISA_##name = (number),

/* Word 0, bits 2:0. X(name, number) */
#define VTA_ISA_OPCODES(X)	\
	X(LOAD, 0)		\
	X(STORE, 1)		\
	X(GEMM, 2)		\
	X(FINISH, 3)		\
	X(ALU, 4)

enum vta_isa_opcode {
	VTA_ISA_OPCODES(VTA_ISA_ENUMERATOR)
};

/* Word 0, bits 6:3. */
enum vta_isa_flag {
	VTA_ISA_POP_PREV	= 1 << 3,
	VTA_ISA_POP_NEXT	= 1 << 4,
	VTA_ISA_PUSH_PREV	= 1 << 5,
	VTA_ISA_PUSH_NEXT	= 1 << 6,
};

/* Number of bits that opcode and flags have in word 0 of each instruction. */
#define VTA_ISA_HEAD_BITS	7

/* The field memory_type. */
#define VTA_ISA_MEMORIES(X)	\
	X(UOP, 0)		\
	X(WGT, 1)		\
	X(INP, 2)		\
	X(ACC, 3)		\
	X(OUT, 4)		\
	X(ACC_8BIT, 5)

enum vta_isa_memory {
	VTA_ISA_MEMORIES(VTA_ISA_ENUMERATOR)
};

/* The field alu_opcode. */
#define VTA_ISA_ALU_OPCODES(X)	\
	X(MIN, 0)		\
	X(MAX, 1)		\
	X(ADD, 2)		\
	X(SHR, 3)		\
	X(MUL, 4)

enum vta_isa_alu {
	VTA_ISA_ALU_OPCODES(VTA_ISA_ENUMERATOR)
};

#undef VTA_ISA_ENUMERATOR

/* An instruction: 128 bits, word 0 first in memory; here in the CPU's byte order. */
struct vta_isa_insn {
	uint64_t word[2];
};

/* Bytes of an instruction in memory. */
#define VTA_ISA_INSN_BYTES	16

/*
 * Fields of an instruction, from bit 7 of word 0 and bit 0 of word 1 up. X(word, field,
 * bits); @s: the configuration's struct vta_isa_shape
 */
#define VTA_ISA_MOVE_FIELDS(X)		\
	X(0, memory_type, 3)		\
	X(0, sram_base, 16)		\
	X(0, dram_base, 32)		\
	X(1, y_size, 16)		\
	X(1, x_size, 16)		\
	X(1, x_stride, 16)		\
	X(1, y_pad_0, 4)		\
	X(1, y_pad_1, 4)		\
	X(1, x_pad_0, 4)		\
	X(1, x_pad_1, 4)

#define VTA_ISA_LOOP_FIELDS(X, s)	\
	X(0, reset, 1)			\
	X(0, uop_bgn, (s)->uop)		\
	X(0, uop_end, (s)->uop + 1)	\
	X(0, iter_out, 14)		\
	X(0, iter_in, 14)		\
	X(1, dst_factor_out, (s)->acc)	\
	X(1, dst_factor_in, (s)->acc)

#define VTA_ISA_GEMM_FIELDS(X, s)	\
	X(1, src_factor_out, (s)->inp)	\
	X(1, src_factor_in, (s)->inp)	\
	X(1, wgt_factor_out, (s)->wgt)	\
	X(1, wgt_factor_in, (s)->wgt)

#define VTA_ISA_ALU_FIELDS(X, s)	\
	X(1, src_factor_out, (s)->acc)	\
	X(1, src_factor_in, (s)->acc)	\
	X(1, alu_opcode, 3)		\
	X(1, use_imm, 1)		\
	X(1, imm, 16)

/* Fields of LOAD and STORE; sizes are in elements. */
struct vta_isa_move {
	uint32_t memory_type;	/* enum vta_isa_memory, or 6 or 7, which do not exist */
	uint32_t sram_base, dram_base;
	uint32_t y_size, x_size, x_stride;
	uint32_t y_pad_0, y_pad_1, x_pad_0, x_pad_1;
};

/* Fields of GEMM and ALU. */
struct vta_isa_loop {
	uint32_t alu;			/* 0: GEMM; alu_opcode, use_imm and imm are unused */
	uint32_t reset;			/* GEMM */
	uint32_t uop_bgn, uop_end;
	uint32_t iter_out, iter_in;
	uint32_t dst_factor_out, dst_factor_in;
	uint32_t src_factor_out, src_factor_in;
	uint32_t wgt_factor_out, wgt_factor_in;	/* GEMM */
	uint32_t alu_opcode;		/* enum vta_isa_alu, or 5 to 7, which do not exist */
	uint32_t use_imm;
	int32_t imm;			/* 16 bits, signed */
};

/* A word that is packed or unpacked, from bit @at up. */
struct vta_isa_bits {
	uint64_t word;
	int at;
};

/* Appends the low @bits of @value. */
static inline void vta_isa_put(struct vta_isa_bits *b, uint32_t value, int bits)
{
	if (bits > 0)
		b->word |= (value & (((uint64_t)1 << bits) - 1)) << b->at;
	b->at += bits;
}

static inline uint32_t vta_isa_get(struct vta_isa_bits *b, int bits)
{
	uint32_t value = 0;

	if (bits > 0)
		value = (uint32_t)(b->word >> b->at & (((uint64_t)1 << bits) - 1));
	b->at += bits;
	return value;
}

#define VTA_ISA_PUT(n, field, bits) vta_isa_put(&w[n], (uint32_t)from->field, bits);
#define VTA_ISA_GET(n, field, bits) to->field = (__typeof__(to->field))vta_isa_get(&w[n], bits);

/* Packs a LOAD or STORE. @head: opcode | flags. */
static inline struct vta_isa_insn vta_isa_pack_move(unsigned int head,
						    const struct vta_isa_move *from)
{
	struct vta_isa_bits w[2] = { { head, VTA_ISA_HEAD_BITS }, { 0, 0 } };

	VTA_ISA_MOVE_FIELDS(VTA_ISA_PUT)
	return (struct vta_isa_insn) { { w[0].word, w[1].word } };
}

/* Packs a GEMM or ALU. */
static inline struct vta_isa_insn vta_isa_pack_loop(const struct vta_isa_shape *s,
						    unsigned int flags,
						    const struct vta_isa_loop *from)
{
	unsigned int head = flags | (from->alu ? VTA_ISA_ALU : VTA_ISA_GEMM);
	struct vta_isa_bits w[2] = { { head, VTA_ISA_HEAD_BITS }, { 0, 0 } };

	VTA_ISA_LOOP_FIELDS(VTA_ISA_PUT, s)
	if (from->alu) {
		VTA_ISA_ALU_FIELDS(VTA_ISA_PUT, s)
	} else {
		VTA_ISA_GEMM_FIELDS(VTA_ISA_PUT, s)
	}
	return (struct vta_isa_insn) { { w[0].word, w[1].word } };
}

static inline struct vta_isa_insn vta_isa_pack_finish(unsigned int flags)
{
	return (struct vta_isa_insn) { { flags | VTA_ISA_FINISH, 0 } };
}

static inline unsigned int vta_isa_opcode(const struct vta_isa_insn *insn)
{
	return insn->word[0] & 7;
}

/* Unpacks a LOAD or STORE. */
static inline void vta_isa_unpack_move(const struct vta_isa_insn *insn, struct vta_isa_move *to)
{
	struct vta_isa_bits w[2] = { { insn->word[0], VTA_ISA_HEAD_BITS }, { insn->word[1], 0 } };

	VTA_ISA_MOVE_FIELDS(VTA_ISA_GET)
}

/* Unpacks a GEMM or ALU. */
static inline void vta_isa_unpack_loop(const struct vta_isa_shape *s,
				       const struct vta_isa_insn *insn, struct vta_isa_loop *to)
{
	struct vta_isa_bits w[2] = { { insn->word[0], VTA_ISA_HEAD_BITS }, { insn->word[1], 0 } };

	*to = (struct vta_isa_loop) { .alu = vta_isa_opcode(insn) == VTA_ISA_ALU };
	VTA_ISA_LOOP_FIELDS(VTA_ISA_GET, s)
	if (to->alu) {
		VTA_ISA_ALU_FIELDS(VTA_ISA_GET, s)
		to->imm = (int16_t)to->imm;
	} else {
		VTA_ISA_GEMM_FIELDS(VTA_ISA_GET, s)
	}
}

/* ---- Micro-ops (section 7) ---- */

/* X(word, field, bits), from bit 0 up */
#define VTA_ISA_UOP_FIELDS(X, s)		\
	X(0, dst, (s)->acc)			\
	X(0, src, vta_isa_src_bits(s))		\
	X(0, wgt, (s)->wgt)

struct vta_isa_uop {
	uint32_t dst, src, wgt;
};

static inline uint32_t vta_isa_pack_uop(const struct vta_isa_shape *s,
					const struct vta_isa_uop *from)
{
	struct vta_isa_bits w[1] = { { 0, 0 } };

	VTA_ISA_UOP_FIELDS(VTA_ISA_PUT, s)
	return (uint32_t)w[0].word;
}

static inline void vta_isa_unpack_uop(const struct vta_isa_shape *s, uint32_t uop,
				      struct vta_isa_uop *to)
{
	struct vta_isa_bits w[1] = { { uop, 0 } };

	VTA_ISA_UOP_FIELDS(VTA_ISA_GET, s)
}

#undef VTA_ISA_PUT
#undef VTA_ISA_GET

/* ---- Cycles (section 9) ---- */

#define VTA_ISA_MEM_LATENCY	32
#define VTA_ISA_MEM_ROW		2
#define VTA_ISA_MEM_PORT	16	/* bytes a cycle */
#define VTA_ISA_LOOP_LATENCY	8

/* Returns the cycles of a LOAD or STORE for its rows of @bytes in memory. */
static inline uint64_t vta_isa_rows_cycles(uint64_t rows, uint64_t bytes)
{
	return rows * (VTA_ISA_MEM_ROW + (bytes + VTA_ISA_MEM_PORT - 1) / VTA_ISA_MEM_PORT);
}

/* Returns the cycles of a LOAD or STORE; an element has @element_bytes in memory. */
static inline uint64_t vta_isa_move_cycles(const struct vta_isa_move *m, uint32_t element_bytes)
{
	uint64_t width = (uint64_t)m->x_pad_0 + m->x_size + m->x_pad_1;
	uint64_t height = (uint64_t)m->y_pad_0 + m->y_size + m->y_pad_1;

	if (!m->x_size)
		return 1;
	return VTA_ISA_MEM_LATENCY +
	       vta_isa_rows_cycles(m->y_size, (uint64_t)m->x_size * element_bytes) +
	       width * height - (uint64_t)m->x_size * m->y_size;
}

/* Returns the number of micro-ops that a GEMM or ALU executes. */
static inline uint64_t vta_isa_loop_count(const struct vta_isa_loop *l)
{
	if (l->uop_bgn >= l->uop_end)
		return 0;
	return (uint64_t)l->iter_out * l->iter_in * (l->uop_end - l->uop_bgn);
}

/* Returns the cycles of a GEMM or ALU; ACC has one read port. */
static inline uint64_t vta_isa_loop_cycles(const struct vta_isa_loop *l)
{
	return VTA_ISA_LOOP_LATENCY + vta_isa_loop_count(l) * (l->alu && !l->use_imm ? 2 : 1);
}

#endif /* VTA_ISA_H */
