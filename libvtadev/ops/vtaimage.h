/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaimage.h - program images: .vtap files (docs/program-image.md)
 *
 * An image is a network lowered for one configuration of the core: streams, weights,
 * what the CPU does between them, and a table of tensors. It is made where the network is
 * compiled and placed where it runs, which may be another machine. Like vtaops.h this
 * needs no operating system and allocates nothing.
 *
 * Making one: lay out four segments. The model (instructions, micro-ops, weights and all
 * else that the card reads and does not change) and the constants (what CPU steps read
 * and do not change) stand in memory of the compiler; the arena (the card's activations)
 * and the host's memory (inputs, outputs, CPU steps' tensors and scratch) in none. Lower
 * with the device addresses VTAIMAGE_MODEL + offset and VTAIMAGE_ARENA + offset; list
 * the streams and the steps of a run; then vtaimage_write(). An image of one stream whose
 * inputs and outputs are packed and in the arena can be version 1: vtaimage_write_v1().
 *
 * Running one: vtaimage_open(), vtaimage_fits(), memory for the segments, the model's
 * and the arena's at addresses that are multiples of align, vtaimage_place() into what
 * is copied to the model's; then the steps, in their order, for each run. libvtaprog
 * (vtaprog.h) does this with libvtadev. Version 1 reads as version 2: its copies and its
 * RUN are steps.
 */
#ifndef VTAIMAGE_H
#define VTAIMAGE_H

#include "cpu/vtacpu.h"
#include "vtaops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the card's segments are while lowering; each segment is at most 1 GiB. */
#define VTAIMAGE_MODEL		0x40000000u
#define VTAIMAGE_ARENA		0x80000000u
#define VTAIMAGE_SEGMENT_MAX	0x40000000u

#define VTAIMAGE_NAME_MAX	64	/* with the zero at its end */
#define VTAIMAGE_TENSORS_MAX	1024
#define VTAIMAGE_STREAMS_MAX	4096
#define VTAIMAGE_STEPS_MAX	65536
#define VTAIMAGE_TEXT_MAX	(16u << 20)	/* bytes of each text */

/* What the offsets of the host's memory and the constants are multiples of. */
#define VTAIMAGE_HOST_ALIGN	64

enum vtaimage_role {
	VTAIMAGE_INPUT = 1,	/* written before a run */
	VTAIMAGE_OUTPUT = 2,	/* read after it */
	VTAIMAGE_INTERNAL = 3,	/* for inspection only */
};

enum vtaimage_segment {
	VTAIMAGE_NOWHERE = 0,
	VTAIMAGE_IN_ARENA = 1,	/* card memory */
	VTAIMAGE_IN_HOST = 2,	/* host memory that the card reaches too */
	VTAIMAGE_IN_CONSTS = 3,	/* host memory that only CPU steps read */
};

enum vtaimage_layout {
	VTAIMAGE_PACKED = 0,	/* activations for the card (vtaops.h), of int8 */
	VTAIMAGE_PLAIN = 1,	/* row-major */
};

/*
 * Names are of printable ASCII without the blank and '=', not empty and unique. In
 * version 1, inputs and outputs are VTAIMAGE_PACKED and in the arena; in version 2, in
 * the host's memory; vtaimage_host() says for both where they are with the host. n, c, h
 * and w are the shape of a packed tensor, or of a plain one with 1 for the dimensions in
 * front that it does not have; 0 if it has more than four.
 */
struct vtaimage_tensor {
	char name[VTAIMAGE_NAME_MAX];
	enum vtaimage_role role;
	uint32_t n, c, h, w;
	uint32_t offset;		/* in its segment; packed: a multiple of inp_bytes */
	uint32_t bytes;			/* packed: vtaops_act_bytes() */
	enum vtaimage_segment segment;
	enum vtaimage_layout layout;
	uint32_t type;			/* enum vtacpu_type; packed: VTACPU_I8 */
	uint32_t rank;			/* 1 to 8; packed: 4 */
	uint32_t dims[VTACPU_RANK_MAX];	/* 1 to 2^20 each */
	/* What integers stand for: scale * (value - zero); scale 0: nothing said. */
	float scale;
	int32_t zero;
};

/* A part of the model that the card runs at once. */
struct vtaimage_stream {
	uint32_t insn_at;	/* offset in the model, a multiple of 16 */
	uint32_t insn_count;	/* at least 1 */
	uint64_t cycles;	/* vtaops_builder.cycles; 0: not known */
};

struct vtaimage_place {
	enum vtaimage_segment segment;
	uint32_t offset;
};

enum vtaimage_step_kind {
	VTAIMAGE_COPY = 1,	/* the card copies */
	VTAIMAGE_RUN = 2,	/* the card runs a stream */
	VTAIMAGE_CPU = 3,	/* the host runs a kernel of vtacpu.h */
	VTAIMAGE_FILL = 4,	/* the card fills */
};

struct vtaimage_step {
	enum vtaimage_step_kind kind;
	/*
	 * COPY: between the arena and the host's memory, or within the arena; no overlap.
	 * With rows, that many of bytes: one behind the other in the host's memory, pitch
	 * apart in the arena, and not within it.
	 */
	struct vtaimage_place dst, src;
	uint32_t bytes, rows, pitch;
	/* FILL: bytes from dst on, in the arena, become bytes 0, 1, 2, 3, 0, ... of pattern */
	uint32_t pattern;
	/* RUN: number of the stream */
	uint32_t stream;
	/*
	 * CPU: a kernel, its operands in their order (VTAIMAGE_NOWHERE for one that is
	 * left out), and where its scratch memory is in the host's memory, a multiple of
	 * VTAIMAGE_HOST_ALIGN. The output is in the host's memory, the others there or
	 * among the constants. Output and scratch memory overlap nothing else but an
	 * operand that the kernel may work in place of.
	 */
	uint32_t kernel;
	union vtacpu_params params;
	struct vtaimage_place io[VTACPU_OPERANDS_MAX];
	uint32_t scratch;
};

/*
 * How a picture becomes an input of [1][C][H][W], or [1][H][W][C] with nhwc set:
 *	transparent pixels on background, resized to HxW as fit says, channels in order;
 *	value = (pixel - mean) * scale, pixels from 0 to 255; around the picture: pad
 * An integer input is round(value / its scale) + zero, if it has a scale, or the value.
 */
enum vtaimage_order { VTAIMAGE_RGB = 0, VTAIMAGE_BGR = 1, VTAIMAGE_GRAY = 2 };
enum vtaimage_fit {
	VTAIMAGE_STRETCH = 0,	/* to the whole of it */
	VTAIMAGE_TOP_LEFT = 1,	/* as large as it fits; padded to the right or below */
	VTAIMAGE_CENTRE = 2,	/* as large as it fits; padded around */
	VTAIMAGE_CROP = 3,	/* as small as it covers; cut off around */
};
enum vtaimage_filter {
	VTAIMAGE_FILTER_NEAREST = 0, VTAIMAGE_FILTER_LINEAR = 1, VTAIMAGE_FILTER_CUBIC = 2,
};
struct vtaimage_preprocess {
	uint32_t tensor;	/* number of the input */
	uint32_t nhwc;
	uint32_t order, fit, filter;
	uint32_t background;	/* 0xRRGGBB */
	float mean[3], scale[3], pad[3];	/* of the channels in their order */
};

/* UTF-8 without control characters but \t and \n. */
enum vtaimage_text {
	VTAIMAGE_LABELS = 0,	/* of the first output, a line for each class */
	VTAIMAGE_REPORT = 1,	/* of the compiler, for people */
	VTAIMAGE_REPORT_JSON = 2,
	VTAIMAGE_TEXTS,
};
struct vtaimage_chars {
	const char *text;	/* not ended by a zero; NULL: none */
	uint32_t bytes;
};

/* Arguments of vtaimage_write(). */
struct vtaimage_source {
	const struct vtaops_core *core;
	const char *name;		/* of the program: as a tensor's */
	const uint8_t *model;
	uint32_t model_bytes, arena_bytes;
	const uint8_t *consts;
	uint32_t consts_bytes, host_bytes;
	/* In their order in the model, none overlapping another. */
	const struct vtaimage_stream *streams;
	uint32_t stream_count;
	const struct vtaimage_step *steps;
	uint32_t step_count;
	const struct vtaimage_tensor *tensors;
	uint32_t tensor_count;
	const struct vtaimage_preprocess *preprocess;	/* at most one for each input */
	uint32_t preprocess_count;
	struct vtaimage_chars text[VTAIMAGE_TEXTS];
	/* Version 1 has these instead of streams, steps and what follows. */
	uint32_t insn_at, insn_count;
	uint64_t cycles;
};

/* An image that has been checked; it points into the file's bytes. */
struct vtaimage {
	struct vtaops_core core;	/* that it needs */
	char name[VTAIMAGE_NAME_MAX];
	uint32_t version;
	uint32_t model_bytes, arena_bytes, consts_bytes, host_bytes;
	uint32_t align;			/* of the model's and the arena's addresses */
	uint32_t tensor_count, stream_count, step_count, preprocess_count;
	uint32_t reloc_count;
	uint64_t cycles;		/* a run's streams take, by the card's model */
	const uint8_t *consts;		/* not aligned: CPU steps need a copy */
	struct vtaimage_chars text[VTAIMAGE_TEXTS];
	char why[160];			/* what is wrong, after an error */
	uint32_t insn_at, insn_count;	/* of the first stream */
	/* Private: */
	const uint8_t *model, *relocs, *tensors, *streams, *steps, *words, *preprocess;
	uint32_t word_count;
};

/*
 * Bytes that vtaimage_write() and vtaimage_write_v1() need; 0 for a source that is no
 * good.
 */
size_t vtaimage_size(const struct vtaimage_source *source);
size_t vtaimage_size_v1(const struct vtaimage_source *source);

/*
 * Write the image to @dst of @size bytes. What was written has been opened and
 * found good; else an error as from vtaimage_open(), with the reason in @check. The same
 * source gives the same bytes.
 */
int vtaimage_write(const struct vtaimage_source *source, void *dst, size_t size,
		   struct vtaimage *check);
int vtaimage_write_v1(const struct vtaimage_source *source, void *dst, size_t size,
		      struct vtaimage *check);

/*
 * Check every byte of @data that means something; @data stays as long as @image is
 * used. Returns 0, or -VTAOPS_EINVAL and the reason in @image->why.
 */
int vtaimage_open(struct vtaimage *image, const void *data, size_t size);

/* Each below its count. */
void vtaimage_tensor(const struct vtaimage *image, uint32_t i, struct vtaimage_tensor *tensor);
void vtaimage_stream(const struct vtaimage *image, uint32_t i, struct vtaimage_stream *stream);
void vtaimage_step(const struct vtaimage *image, uint32_t i, struct vtaimage_step *step);
void vtaimage_preprocess(const struct vtaimage *image, uint32_t i,
			 struct vtaimage_preprocess *preprocess);

/* Where input or output @i is in the host's memory. */
uint32_t vtaimage_host(const struct vtaimage *image, uint32_t i);

/* A tensor's number, or -1. */
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
