// SPDX-License-Identifier: Apache-2.0
/*
 * bench_inputs.c - inputs of runs that are measured
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "vtadev_bench.h"
#include "vtaprog.h"

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 32);
}

void vtadev_bench_values(const struct vtaimage_tensor *t, unsigned int number, void *values)
{
	size_t bytes = vtaprog_bytes(t);
	uint64_t state = number;
	float *floats = values;
	uint8_t *small = values;

	switch (t->type) {
	case VTACPU_F32:
		for (size_t i = 0; i < bytes / sizeof(*floats); i++)
			floats[i] = (float)(int32_t)next_random(&state) / 2147483648.0f;
		break;
	case VTACPU_BOOL:
		for (size_t i = 0; i < bytes; i++)
			small[i] = (uint8_t)(next_random(&state) & 1);
		break;
	case VTACPU_I32:
	case VTACPU_I64:
		memset(values, 0, bytes);
		break;
	default:
		for (size_t i = 0; i < bytes; i++)
			small[i] = (uint8_t)next_random(&state);
	}
}

/* Counts the inputs and their bytes, each rounded up to where the next may begin. */
static size_t count_inputs(const struct vtaimage *image, unsigned int *count)
{
	struct vtaimage_tensor t;
	size_t bytes = 0;

	*count = 0;
	for (uint32_t i = 0; i < image->tensor_count; i++) {
		vtaimage_tensor(image, i, &t);
		if (t.role != VTAIMAGE_INPUT)
			continue;
		++*count;
		bytes += (vtaprog_bytes(&t) + 7) / 8 * 8;
	}
	return bytes;
}

static int place_inputs(struct bench_inputs *inputs, const struct vtaimage *image,
			const struct iovec *given)
{
	uint8_t *to = inputs->values;
	struct vtaimage_tensor t;
	unsigned int n = 0;

	for (uint32_t i = 0; i < image->tensor_count; i++) {
		size_t bytes;

		vtaimage_tensor(image, i, &t);
		if (t.role != VTAIMAGE_INPUT)
			continue;
		bytes = vtaprog_bytes(&t);
		if (given && given[n].iov_len != bytes)
			return -EINVAL;
		inputs->io[n] = given ? given[n] : (struct iovec) { to, bytes };
		if (!given) {
			vtadev_bench_values(&t, n, to);
			to += (bytes + 7) / 8 * 8;
		}
		n++;
	}
	return 0;
}

int bench_inputs_make(struct bench_inputs *inputs, const struct vtaimage *image,
		      const struct iovec *given, unsigned int count)
{
	size_t bytes = count_inputs(image, &inputs->count);

	if (given && count != inputs->count)
		return -EINVAL;
	inputs->io = calloc(inputs->count + 1, sizeof(*inputs->io));
	if (!given)
		inputs->values = calloc(1, bytes + 1);
	if (!inputs->io || (!given && !inputs->values))
		return -ENOMEM;
	return place_inputs(inputs, image, given);
}

void bench_inputs_free(struct bench_inputs *inputs)
{
	free(inputs->io);
	free(inputs->values);
	*inputs = (struct bench_inputs) { 0 };
}
