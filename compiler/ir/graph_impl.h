/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the graph share among themselves. */
#ifndef VTAC_GRAPH_IMPL_H
#define VTAC_GRAPH_IMPL_H

#include "graph.h"

void arena_free(struct vtac_arena *a);

/* Room for one more item after @n in an array of the arena. */
int array_grow(struct vtac_graph *g, void **items, unsigned int n, unsigned int *max,
	       size_t size);

/* Names are one space for tensors and another for nodes. */
enum name_kind { NAME_TENSOR, NAME_NODE };
void *names_find(const struct vtac_graph *g, enum name_kind kind, const char *name);
/* The name as it is kept: @name, or with a number if there is one. NULL: no memory. */
const char *names_add(struct vtac_graph *g, enum name_kind kind, const char *name,
		      void *item);

#endif /* VTAC_GRAPH_IMPL_H */
