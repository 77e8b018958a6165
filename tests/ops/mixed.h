/* SPDX-License-Identifier: GPL-2.0-only */
/* A network of which a part is the CPU's, as a program image of version 2. */
#ifndef TESTS_OPS_MIXED_H
#define TESTS_OPS_MIXED_H

#include "net.h"

#define MIXED_PATTERN	0x7f0180feu

/*
 * "image", a grey picture of float [1][1][NET_H][NET_H], becomes int8 and all channels of
 * the network of net.h; that runs twice, the second time with the sign changed by a table
 * and the last element of the input filled with MIXED_PATTERN;
 * the outputs' sum becomes float, is averaged for each channel and becomes "scores", float
 * [1][NET_UNITS]. @net is of net_compile(); the image is to be freed.
 */
uint8_t *mixed_compile(const struct net *net, size_t *size);

#endif /* TESTS_OPS_MIXED_H */
