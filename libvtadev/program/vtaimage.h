/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtaimage.h - program images: .vtap files (docs/program-image.md)
 *
 * An image is a network lowered for one configuration of the core: streams, weights,
 * the CPU's steps between the streams, and a table of tensors. A compiler writes it, and a loader
 * places it, possibly on another machine. Like vtaops.h this
 * needs no operating system and allocates nothing.
 *
 * To write an image, lay out four segments. The compiler has the bytes of the model (instructions,
 * micro-ops, weights and all else that the card only reads) and of the constants (operands that
 * CPU steps only read) in its memory; of the arena (the card's activations)
 * and the host's memory (inputs, outputs, CPU steps' tensors and scratch) it has only the sizes.
 * Lower with the device addresses VTAIMAGE_MODEL + offset and VTAIMAGE_ARENA + offset; list
 * the streams and the steps of a run; then call vtaimage_write().
 *
 * To run an image: vtaimage_open(), vtaimage_fits(), allocate memory for the segments, that of
 * model and arena at device addresses that are multiples of align, copy the bytes of
 * vtaimage_place() to the model; then execute the steps in order for each run. libvtaprog
 * (vtaprog.h) does this with libvtadev.
 *
 * THREADS. The functions keep no state. Several threads may read one struct vtaimage at once,
 * except during vtaimage_open() and vtaimage_fits(), which change it.
 */
#ifndef VTAIMAGE_H
#define VTAIMAGE_H

#include "vtacpu.h"
#include "vtaops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Contents ------------------------------------------------------------ */

/* Device addresses of the card's segments for lowering; each segment is at most 1 GiB. */
#define VTAIMAGE_MODEL		0x40000000u
#define VTAIMAGE_ARENA		0x80000000u
#define VTAIMAGE_SEGMENT_MAX	0x40000000u

#define VTAIMAGE_NAME_MAX	64	/* with the zero at its end */
#define VTAIMAGE_TENSORS_MAX	1024
#define VTAIMAGE_DIM_MAX	(1 << 20)
#define VTAIMAGE_STREAMS_MAX	4096
#define VTAIMAGE_STEPS_MAX	65536
#define VTAIMAGE_TEXT_MAX	(16u << 20)	/* bytes of each text */
#define VTAIMAGE_VARIANTS_MAX	64
/* Most of vtacpu_need.work of all steps of a run: an hour of a fast processor. */
#define VTAIMAGE_WORK_MAX	(1ull << 42)

/* Alignment of the host's memory, the constants and scratch memory, in bytes. */
#define VTAIMAGE_HOST_ALIGN	64

enum vtaimage_role {
	VTAIMAGE_INPUT = 1,	/* written before a run */
	VTAIMAGE_OUTPUT = 2,	/* read after it */
	VTAIMAGE_INTERNAL = 3,	/* for inspection only */
	/*
	 * An int64 that is read as an output: the values in use in dimension zero (the field) of
	 * the output before it in the table, whose shape has the most that there can be
	 */
	VTAIMAGE_SIZE = 4,
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
 * A name is unique, not empty, and of printable ASCII without the blank and '='. Inputs and
 * outputs are in the host's memory. vtaimage_write() reads the shape from rank and dims, and
 * vtaimage_tensor() sets n, c, h and w, too: the shape with 1 for missing leading dimensions, or
 * all 0 if the rank is above 4.
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
	uint32_t dims[VTACPU_RANK_MAX];	/* 1 to VTAIMAGE_DIM_MAX each */
	/* An integer represents scale * (value - zero); scale 0: not defined. */
	float scale;
	int32_t zero;
};

/* A stream in the model: the instructions of one RUN. */
struct vtaimage_stream {
	uint32_t insn_at;	/* offset in the model, a multiple of 16 */
	uint32_t insn_count;	/* at least 1 */
	uint64_t cycles;	/* vtaops_builder.cycles; 0: unknown */
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
	 * With rows not 0, that many rows of bytes, only between arena and host: contiguous in
	 * the host's memory, pitch bytes from row to row in the arena. Else pitch is 0.
	 */
	struct vtaimage_place dst, src;
	uint32_t bytes, rows, pitch;
	/* FILL: bytes at dst, in the arena, become bytes 0, 1, 2, 3, 0, ... of pattern */
	uint32_t pattern;
	/* RUN: number of the stream */
	uint32_t stream;
	/*
	 * CPU: a kernel, its operands in their order (VTAIMAGE_NOWHERE for an omitted one),
	 * and the offset of its scratch memory in the host's memory, a multiple of
	 * VTAIMAGE_HOST_ALIGN. The output is in the host's memory, the others there or
	 * in the constants. Output and scratch memory overlap no operand, except that the output
	 * may be an operand for which the kernel works in place (vtacpu_need.in_place).
	 */
	uint32_t kernel;
	union vtacpu_params params;
	struct vtaimage_place io[VTACPU_OPERANDS_MAX];
	uint32_t scratch;
};

/*
 * Conversion of a picture to an input of [1][C][H][W], or [1][H][W][C] with nhwc set (plain only):
 *	draw transparent pixels on background, resize to HxW by fit, arrange channels by order;
 *	value = (pixel - mean) * scale, pixels from 0 to 255; around the picture: pad
 * An integer input is round(value / scale) + zero, with scale and zero of its tensor, or the value
 * if that scale is 0.
 */
enum vtaimage_order { VTAIMAGE_RGB = 0, VTAIMAGE_BGR = 1, VTAIMAGE_GRAY = 2 };
enum vtaimage_fit {
	VTAIMAGE_STRETCH = 0,	/* scaled to HxW, with another aspect ratio */
	VTAIMAGE_TOP_LEFT = 1,	/* scaled to fit inside; padded at the right or below */
	VTAIMAGE_CENTRE = 2,	/* scaled to fit inside, centred; padded around */
	VTAIMAGE_CROP = 3,	/* scaled to cover, centred; cropped around */
};
enum vtaimage_filter {
	VTAIMAGE_FILTER_NEAREST = 0, VTAIMAGE_FILTER_LINEAR = 1, VTAIMAGE_FILTER_CUBIC = 2,
};
struct vtaimage_preprocess {
	uint32_t tensor;	/* number of the input */
	uint32_t nhwc;
	uint32_t order, fit, filter;
	uint32_t background;	/* 0xRRGGBB */
	float mean[3], scale[3], pad[3];	/* for each channel, in the order of order */
};

/* Texts are UTF-8 without control characters except \t and \n. */
enum vtaimage_text {
	VTAIMAGE_LABELS = 0,	/* classes of the first output, a line each */
	VTAIMAGE_REPORT = 1,	/* the compiler's report, for people */
	VTAIMAGE_REPORT_JSON = 2,	/* the same for programs */
	VTAIMAGE_TEXTS,
};
struct vtaimage_chars {
	const char *text;	/* not ended by a zero; NULL: none */
	uint32_t bytes;
};

/* Arguments of vtaimage_write(). */
struct vtaimage_source {
	const struct vtaops_core *core;
	const char *name;		/* of the program; rules as for a tensor's */
	const uint8_t *model;
	uint32_t model_bytes, arena_bytes;
	const uint8_t *consts;
	uint32_t consts_bytes, host_bytes;
	/* In the order of their offsets, without overlaps. */
	const struct vtaimage_stream *streams;
	uint32_t stream_count;
	const struct vtaimage_step *steps;
	uint32_t step_count;
	const struct vtaimage_tensor *tensors;
	uint32_t tensor_count;
	const struct vtaimage_preprocess *preprocess;	/* at most one for each input */
	uint32_t preprocess_count;
	struct vtaimage_chars text[VTAIMAGE_TEXTS];
};

/*
 * A variant: a source's tables for one shape of the inputs. It has the next so many tensors,
 * streams, steps, preprocess records and bytes of the reports. Its steps count streams, and its
 * records tensors, from its own first.
 */
struct vtaimage_variant {
	uint32_t tensor_count, stream_count, step_count, preprocess_count;
	uint32_t report_bytes, report_json_bytes;
	uint32_t arena_bytes, host_bytes;
};

/*
 * An opened image, or a variant of one: all but the model, the constants, the name and the labels
 * is the variant's own. It points into the file's bytes.
 */
struct vtaimage {
	struct vtaops_core core;	/* required configuration */
	char name[VTAIMAGE_NAME_MAX];
	uint32_t version;
	uint32_t model_bytes, arena_bytes, consts_bytes, host_bytes;
	uint32_t align;			/* of the model's and the arena's addresses */
	uint32_t tensor_count, stream_count, step_count, preprocess_count;
	uint32_t reloc_count;
	uint64_t cycles;		/* of a run's streams, by the card's model */
	const uint8_t *consts;		/* not aligned: CPU steps need a copy */
	struct vtaimage_chars text[VTAIMAGE_TEXTS];
	char why[160];			/* after an error: the reason, as a sentence */
	/* Private: */
	const uint8_t *model, *relocs, *tensors, *streams, *steps, *file, *preprocess;
	uint32_t word_count;
};

/* ---- Images -------------------------------------------------------------- */

/* vtaimage_size() - bytes of the image that vtaimage_write() writes; 0 for an invalid source */
size_t vtaimage_size(const struct vtaimage_source *source);

/**
 * vtaimage_write() - write an image, and open it
 * @source: the program
 * @dst: out: the file's bytes; undefined after an error. The same source gives the same bytes
 * @size: bytes of @dst, at least vtaimage_size()
 * @check: out: the opened image; after an error, @check->why is the reason
 *
 * Returns 0. Errors: -VTAOPS_ESPACE (@size is too small), -VTAOPS_EINVAL (an invalid source).
 */
int vtaimage_write(const struct vtaimage_source *source, void *dst, size_t size,
		   struct vtaimage *check);

/**
 * vtaimage_size_variants() - as vtaimage_size(), of a program for several shapes of its inputs
 * @source: the program; the variants have all of its tables between them, and the model, the
 *          constants and the labels in common; arena_bytes and host_bytes are the most of any
 * @variants: at least 2
 * @count: number of @variants
 */
size_t vtaimage_size_variants(const struct vtaimage_source *source,
			      const struct vtaimage_variant *variants, uint32_t count);

/* vtaimage_write_variants() - as vtaimage_write(), with the variants of vtaimage_size_variants() */
int vtaimage_write_variants(const struct vtaimage_source *source,
			    const struct vtaimage_variant *variants, uint32_t count, void *dst,
			    size_t size, struct vtaimage *check);

/**
 * vtaimage_open() - check an image, which may be forged, and open it
 * @image: out: the opened image; after an error, @image->why is the reason
 * @data: the file's bytes, which must exist, unchanged, as long as @image is used
 * @size: number of bytes
 *
 * Checks all rules of docs/program-image.md. Of several variants @image is the first. Returns 0.
 * Errors: -VTAOPS_EINVAL (an invalid image).
 */
int vtaimage_open(struct vtaimage *image, const void *data, size_t size);

/* vtaimage_variants() - number of variants of an opened image, at least 1 */
uint32_t vtaimage_variants(const struct vtaimage *image);

/**
 * vtaimage_variant() - open another variant of an opened image
 * @image: the opened image, or any variant of it
 * @i: number of the variant, from 0 to vtaimage_variants() - 1
 * @variant: out: the variant, an image like any other; may be @image
 *
 * Returns 0. Errors: -VTAOPS_EINVAL (no such variant).
 */
int vtaimage_variant(const struct vtaimage *image, uint32_t i, struct vtaimage *variant);

/* The shape of an input; rank 0 stands for any shape. */
struct vtaimage_shape {
	uint32_t rank;			/* at most VTACPU_RANK_MAX */
	uint32_t dims[VTACPU_RANK_MAX];
};

/**
 * vtaimage_match() - find the variant whose inputs have the given shapes
 * @image: the opened image, or any variant of it
 * @count: number of @shapes
 * @shapes: of the inputs, in the table's order
 *
 * Returns the number of the first such variant; -1: there is none, or @count is not the number of
 * inputs.
 */
int vtaimage_match(const struct vtaimage *image, uint32_t count,
		   const struct vtaimage_shape *shapes);

/* vtaimage_tensor() - read tensor @i, from 0 to tensor_count - 1 */
void vtaimage_tensor(const struct vtaimage *image, uint32_t i, struct vtaimage_tensor *tensor);
/* vtaimage_stream() - read stream @i, from 0 to stream_count - 1 */
void vtaimage_stream(const struct vtaimage *image, uint32_t i, struct vtaimage_stream *stream);
/* vtaimage_step() - read step @i, from 0 to step_count - 1 */
void vtaimage_step(const struct vtaimage *image, uint32_t i, struct vtaimage_step *step);
/* vtaimage_preprocess() - read preprocess record @i, from 0 to preprocess_count - 1 */
void vtaimage_preprocess(const struct vtaimage *image, uint32_t i,
			 struct vtaimage_preprocess *preprocess);

/**
 * vtaimage_size_of() - find the tensor that says how much of an output is in use
 * @image: the opened image
 * @i: number of the output
 * @dim: out: the dimension whose size data decides
 *
 * Returns the number of a tensor whose role is VTAIMAGE_SIZE, or -1: the shape is the size.
 */
int vtaimage_size_of(const struct vtaimage *image, uint32_t i, uint32_t *dim);

/* vtaimage_find() - number of the tensor with @name, or -1 */
int vtaimage_find(const struct vtaimage *image, const char *name);

/**
 * vtaimage_fits() - check that a card can run an image
 * @image: the opened image; after an error, @image->why is the reason
 * @core: the card's core, by vtaprog_core() or vtaops_core_init()
 *
 * Returns 0. Errors: -VTAOPS_ECORE (the image is for another configuration).
 */
int vtaimage_fits(struct vtaimage *image, const struct vtaops_core *core);

/**
 * vtaimage_work() - count the work of the parts of a stream
 * @image: the opened image
 * @stream: number of the stream
 * @cuts: as for vtaops_work()
 * @count: number of @cuts
 * @work: out: an array with the work of each part
 *
 * Returns 0. Errors: -VTAOPS_EINVAL (no such stream), and as vtaops_work().
 */
int vtaimage_work(const struct vtaimage *image, uint32_t stream, const uint32_t *cuts,
		  uint32_t count, struct vtaops_work *work);

/**
 * vtaimage_place() - copy the model, relocated for device addresses
 * @image: the opened image
 * @model_addr: device address of the model
 * @arena_addr: device address of the arena
 * @dst: out: the model, model_bytes bytes
 *
 * Returns 0. Errors: -VTAOPS_EALIGN (an address is not a multiple of align), -VTAOPS_EINVAL (a
 * segment would end above 2^32).
 */
int vtaimage_place(const struct vtaimage *image, uint32_t model_addr, uint32_t arena_addr,
		   void *dst);

#ifdef __cplusplus
}
#endif

#endif /* VTAIMAGE_H */
