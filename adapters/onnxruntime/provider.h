/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution provider for ONNX Runtime
 *
 * ONNX Runtime loads this library by its path, and calls the two functions of factory.c. A session
 * that uses a card asks which nodes of its graph the provider takes (select.c), and to compile each
 * part of them (fused.c). A part goes to the compiler as an ONNX file in memory (model.c), which is
 * written of the graph as ONNX Runtime has it (graph.c). An EPContext node has its program within
 * (context.c).
 *
 * Functions that return OrtStatus * return NULL, or an error that the caller owns.
 */
#ifndef VTA_ORT_PROVIDER_H
#define VTA_ORT_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <onnxruntime_c_api.h>

#include "libvtac.h"
#include "vtaops.h"

#define PROVIDER_NAME	"VtaExecutionProvider"

/* Of the ONNX Runtime that loaded the library: set once, before anything else is called. */
extern const OrtApi *ort;
extern const OrtEpApi *ort_ep;

/* Return from a function with the error of a call, if it has one. */
#define TRY(call) \
	do { \
		OrtStatus *status_ = (call); \
		if (status_) \
			return status_; \
	} while (0)

/* ort_fail() - an error with a sentence */
OrtStatus *ort_fail(OrtErrorCode code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
OrtStatus *ort_no_memory(void);

/* ---- graph.c: a graph as arrays ---- */

/* Memory that is freed at once. */
struct memory {
	struct memory_block *blocks;
};

/* memory_get() - zeroed memory for @n items of @size bytes; NULL: there is none */
void *memory_get(struct memory *m, size_t n, size_t size);
void memory_free(struct memory *m);

struct value {
	const OrtValueInfo *info;
	const char *name;		/* ONNX Runtime's: as long as the graph */
	ptrdiff_t producer;		/* number of its node; -1: an input or a constant */
	bool constant, output;
	ONNXTensorElementDataType type;
	/* Of a known shape, of a rank from 1 to 8 and sizes from 1 on; or a constant scalar */
	bool shaped;
	size_t rank;
	int64_t dims[8];
};

struct node {
	const OrtNode *node;
	size_t *in, *out;		/* numbers of values; NO_VALUE: left out */
	size_t n_in, n_out;
	size_t n_hidden;		/* of in, at the end: those that only its subgraphs use */
	bool plain;			/* without subgraphs */
	bool context;			/* a program of this provider */
};

#define NO_VALUE	SIZE_MAX

struct graph {
	const OrtGraph *graph;
	struct memory memory;
	struct node *nodes;		/* in topological order, the file's */
	struct value *values;
	size_t n_nodes, n_values;
};

/* graph_read() - read a graph, to be freed even after an error */
OrtStatus *graph_read(struct graph *g, const OrtGraph *graph);
void graph_free(struct graph *g);
/* graph_find() - the number of the value @name, or NO_VALUE */
size_t graph_find(const struct graph *g, const char *name);
/* is_number() - the compiler and its programs have values of this type */
bool is_number(ONNXTensorElementDataType type);

/* ---- model.c ---- */

/* A part of a graph. Inputs and outputs are named in0, in1, ... and out0, ... in the file. */
struct part {
	size_t *nodes, n_nodes;		/* numbers, rising */
	size_t *inputs, n_inputs;	/* computed values that the part needs */
	size_t *outputs, n_outputs;	/* values that others need */
};

/**
 * model_check() - check that a node can be written
 * @g: the graph
 * @node: its number
 * @why: out: NULL, or a sentence with the reason that it cannot
 */
OrtStatus *model_check(const struct graph *g, size_t node, const char **why);

/**
 * model_write() - write a part of a graph as an ONNX file
 * @g: the graph
 * @part: the part, whose inputs have shapes
 * @numbered: name nodes "n" and their number, else as they are named
 * @data: out: a ModelProto, to be freed by free()
 * @size: out: bytes
 *
 * Fails with ORT_NOT_IMPLEMENTED if the file would have more than 2 GiB, or has a node that
 * model_check() refuses.
 */
OrtStatus *model_write(const struct graph *g, const struct part *part, bool numbered,
		       uint8_t **data, size_t *size);

/* ---- context.c ---- */

/* context_is_ours() - an EPContext node with a program of this provider? */
OrtStatus *context_is_ours(const OrtNode *node, bool *ours);

/* context_read() - read the program of such a node, to be freed */
OrtStatus *context_read(const OrtNode *node, uint8_t **image, size_t *size);

/* context_write() - make such a node, with inputs and outputs of @node; ONNX Runtime frees it */
OrtStatus *context_write(const OrtNode *node, const uint8_t *image, size_t size,
			 OrtNode **context);

/* ---- factory.c ---- */

#define CARDS_MAX	64

/* The choice of a session: lives as long as the provider. */
struct choice {
	char *cards[CARDS_MAX];		/* names for vtadev_open() */
	unsigned int n_cards;
	char *fallback;			/* device that computes while no card is up; or NULL */
	unsigned int runs;		/* that a float model is observed in */
	char *calibration;		/* directory with an array for each input; or NULL */
	bool all;			/* take nodes that cards compute slower, or not at all */
	bool contexts;			/* the session writes EPContext nodes */
	struct vtaops_core core;
	const OrtLogger *log;
};

/* ---- select.c ---- */

/**
 * select_nodes() - choose nodes that run on the card, with those between them
 * @g: the graph
 * @how: the session's choice
 * @parts: out: parts that a path never leaves and enters again, in @g's memory
 * @n: out: number of parts
 */
OrtStatus *select_nodes(struct graph *g, const struct choice *how, struct part **parts, size_t *n);

/* ---- fused.c ---- */

/**
 * fused_new() - compile a part of a graph, and load it on the cards
 * @how: the session's choice
 * @graph: the part alone; not needed after the call
 * @node: the node that takes its place, for the order of inputs and outputs
 * @info: out: functions for ONNX Runtime, to be freed by fused_free()
 * @context: out: an EPContext node with the program, if @how->contexts
 */
OrtStatus *fused_new(const struct choice *how, const OrtGraph *graph, const OrtNode *node,
		     OrtNodeComputeInfo **info, OrtNode **context);
void fused_free(OrtNodeComputeInfo *info);

/* log_text() - write a sentence to ONNX Runtime's log */
void log_text(const OrtLogger *log, OrtLoggingLevel level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* VTA_ORT_PROVIDER_H */
