/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tvm.h - the output of TVM's graph executor: graph JSON and parameters
 *
 * Both may come from anyone: sizes are bounded, everything that is an index is checked.
 */
#ifndef VTAC_TVM_H
#define VTAC_TVM_H

#include "emit.h"

#define TVM_RANK_MAX	16
#define TVM_DEVICE_CPU	1	/* DLDeviceType */

/* DLDataType */
struct tvm_type {
	uint8_t code, bits;
	uint16_t lanes;
};

/* A value of the graph: an output of a node. */
struct tvm_entry {
	struct tvm_type type;
	uint32_t rank;
	int64_t dims[TVM_RANK_MAX];
	uint64_t bytes;
	uint32_t storage, device;
	uint32_t node, index;		/* whose output it is */
	const struct tvm_param *param;	/* its value, or NULL */
};

struct tvm_node {
	char *name, *function;		/* no function: an input, or a parameter */
	uint32_t *inputs, n_inputs;	/* entries */
	uint32_t first, n_outputs;	/* entries */
	bool flatten;
};

struct tvm_graph {
	struct tvm_node *nodes;
	struct tvm_entry *entries;
	uint32_t *heads;		/* entries */
	uint32_t n_nodes, n_entries, n_heads;
};

struct tvm_param {
	char *name;
	struct tvm_type type;
	uint32_t rank;
	int64_t dims[TVM_RANK_MAX];
	const uint8_t *data;		/* in the file's bytes */
	uint64_t bytes;
};

struct tvm_params {
	struct tvm_param *params;
	uint32_t count;
};

/* Of a file's bytes. Both return 0, or -1 and the reason; free in each case. */
int tvm_graph_read(struct tvm_graph *g, const char *text, size_t size, struct vtac_error *error);
void tvm_graph_free(struct tvm_graph *g);
int tvm_params_read(struct tvm_params *p, const uint8_t *data, size_t size,
		    struct vtac_error *error);
void tvm_params_free(struct tvm_params *p);

/* A sentence, as error->text; returns -1. */
int tvm_fail(struct vtac_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes of a shape, 0 if it is none or larger than 1 GiB. */
uint64_t tvm_bytes(struct tvm_type type, uint32_t rank, const int64_t *dims);

/* The headers that functions include, and what is behind them: emit_tvm_api.c. */
int tvm_emit_api(struct vtac_emit_files *files);

#endif /* VTAC_TVM_H */
