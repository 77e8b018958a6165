/* SPDX-License-Identifier: Apache-2.0 */
/* A program of a part of a graph, loaded on the session's cards. */
#ifndef VTA_ORT_ENGINE_H
#define VTA_ORT_ENGINE_H

#include <sys/uio.h>

#include "provider.h"

/* A value at the border of a part, as ONNX Runtime has it */
struct shape {
	ONNXTensorElementDataType type;
	bool known;			/* else rank is the only fact, and may be 0 */
	size_t rank, count, bytes;
	int64_t dims[8];
};

/* The inputs and outputs of a part, in the order of its node */
struct border {
	size_t n_in, n_out;
	struct shape *in, *out;
};

struct engine;

/**
 * engine_new() - load a program image
 * @how: the session's choice
 * @border: of the part; lives as long as the engine
 * @image: becomes the engine's, also after an error
 * @size: bytes
 * @engine: out: an engine with one user
 */
OrtStatus *engine_new(const struct choice *how, const struct border *border, uint8_t *image,
		      size_t size, struct engine **engine);

/* engine_image() - the bytes of the program image, which live as long */
const uint8_t *engine_image(const struct engine *e, size_t *size);

/* engine_get() - add a user; threads may run one engine at once */
struct engine *engine_get(struct engine *e);
/* engine_put() - remove a user, or NULL; the last one frees it */
void engine_put(struct engine *e);

/**
 * engine_run() - compute a part once
 * @e: the engine
 * @context: of the node, which gets the outputs
 * @in: the node's inputs
 */
OrtStatus *engine_run(struct engine *e, OrtKernelContext *context, const struct iovec *in);

#endif /* VTA_ORT_ENGINE_H */
