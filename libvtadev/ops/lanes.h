/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between planes, in which the values of a channel follow each other, and lanes, in
 * which those of a position do: what packing is made of.
 */
#ifndef OPS_LANES_H
#define OPS_LANES_H

#include "ops_impl.h"

/* Layout of lanes in an array of values of 2^log_width bits. */
struct ops_lanes {
	uint8_t *array;
	size_t at;		/* value that is lane 0 of position 0 */
	size_t step;		/* values from one position to the next */
	uint32_t count;		/* of lanes: a power of two */
	unsigned int log_width;
};

/*
 * Lane i of position p is src[i * row + p]; from @given lanes on, 0. The low bits
 * are kept.
 */
void ops_to_lanes(const struct ops_lanes *lanes, const int8_t *src, size_t row, uint32_t given,
		  size_t positions);

/* The other way round, for the first @given lanes; signs are extended. */
void ops_from_lanes(const struct ops_lanes *lanes, int8_t *dst, size_t row, uint32_t given,
		    size_t positions);

/* Value number @at of an array. */
void ops_put(uint8_t *array, size_t at, unsigned int log_width, int8_t value);
int8_t ops_get(const uint8_t *array, size_t at, unsigned int log_width);

#endif /* OPS_LANES_H */
