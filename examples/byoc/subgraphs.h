/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subgraphs.h - the functions that a compiler would emit for the digits network
 *
 * The graph was partitioned: three successive layers became one function for the card; the
 * others stayed on the CPU. Each function takes DLTensors of the CPU and returns 0 or a
 * negative errno. Tensors are [N, C, H, W], int8, with N = DIGITS_BATCH.
 */
#ifndef BYOC_SUBGRAPHS_H
#define BYOC_SUBGRAPHS_H

#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#define DIGITS_BATCH	50

struct vtadev;

/* Left to the CPU: its one input channel would fill a sixteenth of the card's blocks. */
int32_t digits_cpu_conv1(DLTensor *image, DLTensor *out);

/* conv2, conv3 and dense */
int32_t digits_vta(DLTensor *arg, DLTensor *out);

/* Left to the CPU: the card has no such operator. @digit: [N], int32. */
int32_t digits_cpu_argmax(DLTensor *scores, DLTensor *digit);

/* Load the card's function to @dev, once. */
int32_t digits_vta_init(struct vtadev *dev);
void digits_vta_exit(void);
/* The message of a failed digits_vta_init(), or "". */
const char *digits_vta_error(void);
/* Count the copies between host and card that a call makes. */
unsigned int digits_vta_copies(void);

/* Made by codegen.c: the card's function as a program image. */
extern const uint8_t digits_vta_image[];
extern const size_t digits_vta_size;

#endif /* BYOC_SUBGRAPHS_H */
