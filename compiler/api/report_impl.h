/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the report. */
#ifndef VTAC_REPORT_IMPL_H
#define VTAC_REPORT_IMPL_H

#include "vtac.h"

/* The work of each node, by its place in the order, to be freed; zeros if it is not the card's. */
struct vtaops_work *report_count_work(const struct vtac_program *p);

/* Multiplications of a convolution or matrix product; 0 of others. */
double report_multiplications(const struct vtac_node *node);

/* Has the tensor memory of its own in the arena? */
bool report_is_block(const struct vtac_tensor *t);

/* Bytes of the arena in use in step @step, 1 + the node's place. */
uint64_t report_live_bytes(const struct vtac_program *p, unsigned int step);

#endif /* VTAC_REPORT_IMPL_H */
