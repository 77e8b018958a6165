// SPDX-License-Identifier: Apache-2.0
/*
 * A sum may begin with a value that stands for its bias: the card computes
 *	(start + sum) * mul = sum * mul + bias
 * in 32 bits, which wrap. Modulo 2^32 an odd multiplier has one such value for each bias; one that
 * 2^t divides has 2^t for each bias that 2^t divides.
 */
#include "program.h"

/* Returns the number by which odd @n times it is 1 mod 2^32: each round doubles the right bits. */
static uint32_t inverse_of(uint32_t n)
{
	uint32_t inverse = n;

	for (unsigned int bits = 3; bits < 32; bits *= 2)
		inverse *= 2 - n * inverse;
	return inverse;
}

bool vtac_sum_start(int32_t mul, int32_t bias, int32_t least, int32_t *start)
{
	uint32_t odd = (uint32_t)mul, value = (uint32_t)bias;
	unsigned int twos = 0;

	if (mul < 1)
		return false;
	for (; !(odd & 1); odd >>= 1)
		twos++;
	if (value & ((1u << twos) - 1))
		return false;
	/* Of those that are equal in the low 32 - twos bits, the least */
	value = (value >> twos) * inverse_of(odd) & (UINT32_MAX >> twos);
	*start = (int32_t)(twos ? value | 1u << 31 : value);
	return *start <= least;
}
