/* SPDX-License-Identifier: Apache-2.0 */
/* Read ONNX models. */
#ifndef VTAC_ONNX_H
#define VTAC_ONNX_H

#include "ir/graph.h"

/* Read the model in file @path. External data must be below the file's directory. */
int vtac_read_onnx(struct vtac_graph *g, const char *path);
/* Read a model of @len bytes; external data must be below @dir, NULL: there is none. */
int vtac_read_onnx_memory(struct vtac_graph *g, const void *data, size_t len, const char *dir);

#endif /* VTAC_ONNX_H */
