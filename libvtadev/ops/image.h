/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a program image: docs/program-image.md. All little-endian. */
#ifndef OPS_IMAGE_H
#define OPS_IMAGE_H

#include "ops_impl.h"
#include "vtaimage.h"

#define IMAGE_MAGIC	0x474f525041545600ull	/* "\0VTAPROG" */
#define IMAGE_VERSION	1u
#define INSN_BYTES	16u

/* Offsets in the header. */
enum {
	AT_MAGIC = 0x00, AT_VERSION = 0x08, AT_CRC = 0x0c, AT_SIZE = 0x10, AT_CONFIG = 0x18,
	AT_ALIGN = 0x24, AT_MODEL = 0x28, AT_MODEL_BYTES = 0x2c, AT_ARENA_BYTES = 0x30,
	AT_INSN = 0x34, AT_INSN_COUNT = 0x38, AT_RELOC = 0x3c, AT_RELOC_COUNT = 0x40,
	AT_TENSOR = 0x44, AT_TENSOR_COUNT = 0x48, AT_ZERO = 0x4c, AT_CYCLES = 0x50,
	AT_NAME = 0x58, HEADER_BYTES = 0x78,
};

/* Offsets in a tensor. */
enum {
	TENSOR_NAME = 0x00, TENSOR_ROLE = 0x20, TENSOR_N = 0x24, TENSOR_C = 0x28,
	TENSOR_H = 0x2c, TENSOR_W = 0x30, TENSOR_OFFSET = 0x34, TENSOR_BYTES = 0x38,
	TENSOR_ZERO = 0x3c, TENSOR_SIZE = 0x40,
};

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

/* What segments' addresses are a multiple of. */
uint32_t image_align(const struct vtaops_core *core);

#endif /* OPS_IMAGE_H */
