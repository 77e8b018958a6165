/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaimage.h - program images: .vtap files (docs/program-image.md)
 *
 * An image is a network lowered for one configuration of the core: streams,
 * weights, and a table of tensors. It is made where the network is compiled and
 * placed where it runs, which may be another machine. Like vtaops.h this needs no
 * operating system and allocates nothing.
 *
 * Making one: lay out two segments. The model (instructions, micro-ops, weights
 * and all else that does not change) stands in memory of the compiler; the
 * arena (inputs, outputs and what is between them) in none. Lower with the
 * device addresses VTAIMAGE_MODEL + offset and VTAIMAGE_ARENA + offset; then
 * vtaimage_write().
 *
 * Running one: vtaimage_open(), vtaimage_fits(), memory for both segments at
 * addresses that are multiples of align, vtaimage_place() into what is copied to
 * the model's, and a RUN of insn_count instructions at its insn_at.
 * libvtaprog (vtaprog.h) does this with libvtadev.
 */
#ifndef VTAIMAGE_H
#define VTAIMAGE_H

#include "vtaops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the segments are while lowering; each is below 1 GiB. */
#define VTAIMAGE_MODEL		0x40000000u
#define VTAIMAGE_ARENA		0x80000000u
#define VTAIMAGE_SEGMENT_MAX	0x40000000u

#define VTAIMAGE_NAME_MAX	32	/* with the zero at its end */
#define VTAIMAGE_TENSORS_MAX	1024

enum vtaimage_role {
	VTAIMAGE_INPUT = 1,	/* written before a run */
	VTAIMAGE_OUTPUT = 2,	/* read after it */
	VTAIMAGE_INTERNAL = 3,	/* for who looks inside */
};

/* Packed activations ([N/BATCH][C/BLOCK][H][W], vtaops.h) in the arena. */
struct vtaimage_tensor {
	char name[VTAIMAGE_NAME_MAX];	/* letters, digits, "._-/"; unique, not empty */
	enum vtaimage_role role;
	uint32_t n, c, h, w;
	uint32_t offset;		/* in the arena, a multiple of inp_bytes */
	uint32_t bytes;			/* vtaops_act_bytes() */
};

/* What vtaimage_write() is told. */
struct vtaimage_source {
	const struct vtaops_core *core;
	const char *name;		/* of the program: as a tensor's */
	const uint8_t *model;
	uint32_t model_bytes, arena_bytes;
	uint32_t insn_at, insn_count;	/* offset in the model, a multiple of 16 */
	uint64_t cycles;		/* vtaops_builder.cycles */
	const struct vtaimage_tensor *tensors;
	uint32_t tensor_count;
};

/* An image that has been checked; it points into the file's bytes. */
struct vtaimage {
	struct vtaops_core core;	/* that it needs */
	char name[VTAIMAGE_NAME_MAX];
	uint32_t model_bytes, arena_bytes;
	uint32_t insn_at, insn_count;
	uint32_t align;			/* of both segments' addresses */
	uint32_t tensor_count, reloc_count;
	uint64_t cycles;		/* a run takes, by the card's model */
	char why[120];			/* what is wrong, after an error */
	/* Private: */
	const uint8_t *model, *relocs, *tensors;
};

/*
 * Bytes that vtaimage_write() needs; 0 for a source that is no good.
 */
size_t vtaimage_size(const struct vtaimage_source *source);

/*
 * Write the image to @dst of @size bytes. What was written has been opened and
 * found good; else an error as from vtaimage_open(), with the reason in @check.
 */
int vtaimage_write(const struct vtaimage_source *source, void *dst, size_t size,
		   struct vtaimage *check);

/*
 * Check every byte of @data that means something; @data stays as long as @image is
 * used. Returns 0, or -VTAOPS_EINVAL and the reason in @image->why.
 */
int vtaimage_open(struct vtaimage *image, const void *data, size_t size);

/* Tensor @i < tensor_count. */
void vtaimage_tensor(const struct vtaimage *image, uint32_t i, struct vtaimage_tensor *tensor);

/* Its number, or -1. */
int vtaimage_find(const struct vtaimage *image, const char *name);

/* 0 if a card with @core can run it, else -VTAOPS_ECORE and the reason in why. */
int vtaimage_fits(struct vtaimage *image, const struct vtaops_core *core);

/*
 * Copy the model to @dst (model_bytes), with the addresses that the card will
 * have it and the arena at. -VTAOPS_EALIGN if they are not multiples of align,
 * -VTAOPS_EINVAL if a segment would end behind 2^32.
 */
int vtaimage_place(const struct vtaimage *image, uint32_t model_addr, uint32_t arena_addr,
		   void *dst);

#ifdef __cplusplus
}
#endif

#endif /* VTAIMAGE_H */
