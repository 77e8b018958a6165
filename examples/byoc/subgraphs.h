/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subgraphs.h - the functions that a compiler would emit for the digits network
 *
 * The graph was partitioned: what the card does well became functions for the
 * card, of as many layers as follow each other, the rest stayed on the CPU. Each
 * takes DLTensors and returns 0 or a negative errno. Tensors are [N, C, H, W],
 * int8, of the batch that the module was made for.
 *
 * A function for the card takes tensors on the card: `data` is a space of
 * vta_device_api.h, its content packed as the operators want it (vtaops.h).
 */
#ifndef BYOC_SUBGRAPHS_H
#define BYOC_SUBGRAPHS_H

#include <dlpack/dlpack.h>

/* One channel is a sixteenth of what the card's blocks take: left to the CPU. */
int32_t digits_cpu_conv1(DLTensor *image, DLTensor *out);

int32_t digits_vta_conv2_conv3(DLTensor *arg, DLTensor *out);
int32_t digits_vta_dense(DLTensor *arg, DLTensor *out);

/* What the card has no operator for: [N] int32, the digit of each image. */
int32_t digits_cpu_argmax(DLTensor *scores, DLTensor *digit);

/* Puts weights and biases on the card, once; and the end of that. */
int32_t digits_vta_init(DLDevice dev, uint32_t batch);
void digits_vta_exit(void);

#endif /* BYOC_SUBGRAPHS_H */
