/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subgraphs.h - the functions that a compiler would emit for the digits network
 *
 * The graph was partitioned: the layers that the card does well, which follow each other,
 * became one function for it; the rest stayed on the CPU. Each takes DLTensors of the CPU
 * and returns 0 or a negative errno. Tensors are [N, C, H, W], int8, with N =
 * DIGITS_BATCH.
 */
#ifndef BYOC_SUBGRAPHS_H
#define BYOC_SUBGRAPHS_H

#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#define DIGITS_BATCH	50

struct vtadev;

/* One channel is a sixteenth of what the card's blocks take: left to the CPU. */
int32_t digits_cpu_conv1(DLTensor *image, DLTensor *out);

/* conv2, conv3 and dense */
int32_t digits_vta(DLTensor *arg, DLTensor *out);

/* What the card has no operator for: [N] int32, the digit of each image. */
int32_t digits_cpu_argmax(DLTensor *scores, DLTensor *digit);

/* Brings the card's function to @dev, once; and the end of that. */
int32_t digits_vta_init(struct vtadev *dev);
void digits_vta_exit(void);
/* What was wrong with it, or "". */
const char *digits_vta_error(void);
/* Copies between host and card that a call makes. */
unsigned int digits_vta_copies(void);

/* Made by codegen.c: the card's function as a program image. */
extern const uint8_t digits_vta_image[];
extern const size_t digits_vta_size;

#endif /* BYOC_SUBGRAPHS_H */
