/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a program image: docs/program-image.md. All little-endian. */
#ifndef OPS_IMAGE_H
#define OPS_IMAGE_H

#include "ops_impl.h"
#include "vtaimage.h"

#define IMAGE_MAGIC	0x474f525041545600ull	/* "\0VTAPROG" */
#define IMAGE_VERSION	2u
#define INSN_BYTES	16u

/* Offsets in the header. AT_PARTS has an offset and a count for each part. */
enum {
	AT_MAGIC = 0x00, AT_VERSION = 0x08, AT_CRC = 0x0c, AT_SIZE = 0x10, AT_CONFIG = 0x18,
	AT_ALIGN = 0x24, AT_ARENA_BYTES = 0x28, AT_HOST_BYTES = 0x2c, AT_PARTS = 0x30,
	AT_NAME = 0x88, AT_VARIANTS = 0xc8, HEADER_BYTES = 0xd0,
};

enum image_part {
	PART_STREAMS, PART_RELOCS, PART_TENSORS, PART_STEPS, PART_WORDS, PART_PREPROCESS,
	PART_LABELS, PART_REPORT, PART_REPORT_JSON, PART_CONSTS, PART_MODEL, IMAGE_PARTS,
};

/* Offsets in a tensor, */
enum {
	TENSOR_NAME = 0x00, TENSOR_ROLE = 0x40, TENSOR_SEGMENT = 0x44, TENSOR_LAYOUT = 0x48,
	TENSOR_TYPE = 0x4c, TENSOR_RANK = 0x50, TENSOR_DIMS = 0x54, TENSOR_OFFSET = 0x74,
	TENSOR_BYTES = 0x78, TENSOR_SCALE = 0x7c, TENSOR_POINT = 0x80, TENSOR_ZERO = 0x84,
	TENSOR_SIZE = 0x90,
};

/* in a stream and a step; a preprocess record is words of 4 bytes. */
enum { STREAM_INSN = 0, STREAM_COUNT = 4, STREAM_CYCLES = 8, STREAM_SIZE = 16 };
enum {
	STEP_KIND = 0, STEP_DST = 4, STEP_SRC = 12, STEP_BYTES = 20, STEP_ROWS = 24,
	STEP_PITCH = 28, STEP_STREAM = 4,
	STEP_FILL_BYTES = 12, STEP_PATTERN = 16, STEP_FILL_END = 20,
	STEP_KERNEL = 4, STEP_WORD = 8, STEP_SCRATCH = 12, STEP_SIZE = 32,
};
enum { PREPROCESS_SIZE = 64, PREPROCESS_WORDS = 15, PREPROCESS_FLOATS = 6 };
/* A variant has a count of entries of each of these parts, in this order. */
enum { VARIANT_PARTS = 7 };
extern const enum image_part image_variant_part[VARIANT_PARTS];
enum {
	VARIANT_ARENA_BYTES = 4 * VARIANT_PARTS, VARIANT_HOST_BYTES = VARIANT_ARENA_BYTES + 4,
	VARIANT_ZERO = VARIANT_HOST_BYTES + 4, VARIANT_SIZE = 48,
};

/* Bytes of an entry of each part. */
extern const uint32_t image_part_size[IMAGE_PARTS];

/* The core's logarithms, in their order in the file. */
enum { CONFIG_FIELDS = 9 };
extern const char * const image_config_names[CONFIG_FIELDS];
unsigned int *image_config(struct vtaops_core *core, unsigned int i);

/* A relocation: the instruction, and the segment that it reaches. */
#define RELOC_ARENA	0x80000000u
#define RELOC_INSN	0x7fffffffu

/* The memory that an instruction reaches, if it does. */
struct image_access {
	bool any, store;
	uint32_t element_bytes;
	uint32_t dram;		/* element */
	uint64_t end;		/* the element behind the last */
};

/* Returns false if no core executes it. */
bool image_access(const struct vtaops_core *core, uint64_t word0, uint64_t word1,
		  struct image_access *access);

#define DRAM_SHIFT	26
#define DRAM_MASK	(0xffffffffull << DRAM_SHIFT)

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

/* CRC-32 (IEEE 802.3) of an image, its own field as 0. */
uint32_t image_crc(const uint8_t *data, size_t size);

/* Alignment of the segments' addresses. */
uint32_t image_align(const struct vtaops_core *core);

/* Parts of opening: they return 0, or an error with image->why. */
int image_bad(struct vtaimage *image, const char *why);
/* A text with two numbers put in for each '#', and @name for '@'. */
int image_say(struct vtaimage *image, const char *format, const char *name, uint32_t a,
	      uint32_t b);
int image_check_streams(struct vtaimage *image);
int image_check_steps(struct vtaimage *image);
int image_check_preprocess(struct vtaimage *image);
/* Checks the table of variants, which is behind the other parts. */
int image_check_variants(struct vtaimage *image);
/* Checks that the inputs of variant @number are those of the ones before it, in other shapes. */
int image_check_inputs(struct vtaimage *image, uint32_t number);
/* Makes @image show variant @i. */
void image_select(struct vtaimage *image, uint32_t i);

/* Is [at, at + bytes) within @size? */
static inline bool within(uint64_t at, uint64_t bytes, uint64_t size)
{
	return at <= size && bytes <= size - at;
}

/* Do two ranges of bytes have one in common? */
static inline bool image_overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

static inline float get_float(const uint8_t *p)
{
	uint32_t bits = get32(p);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif /* OPS_IMAGE_H */
