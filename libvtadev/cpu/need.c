// SPDX-License-Identifier: Apache-2.0
/* Checking parameters: what the kernels rely on. */
#include "cpu_impl.h"

uint32_t vtacpu_type_bytes(uint32_t type)
{
	switch (type) {
	case VTACPU_F32:
	case VTACPU_I32:
		return 4;
	case VTACPU_I8:
	case VTACPU_U8:
	case VTACPU_BOOL:
		return 1;
	case VTACPU_I64:
		return 8;
	default:
		return 0;
	}
}

uint64_t cpu_mul(uint64_t a, uint64_t b)
{
	uint64_t n;

	return __builtin_mul_overflow(a, b, &n) ? UINT64_MAX : n;
}

uint64_t cpu_count(const uint32_t *dims, uint32_t rank)
{
	uint64_t n = 1;

	if (rank > VTACPU_RANK_MAX)
		return 0;
	for (uint32_t i = 0; i < rank; i++) {
		n = cpu_mul(n, dims[i]);
		if (!n || n > COUNT_MAX)
			return 0;
	}
	return n;
}

int cpu_operand(struct vtacpu_need *need, uint64_t count, uint32_t value)
{
	uint64_t bytes = cpu_mul(count, value);

	if (!bytes || bytes > VTACPU_BYTES_MAX)
		return cpu_bad(need, "an operand is larger than 2 GiB");
	need->value[need->operands] = value;
	need->bytes[need->operands++] = bytes;
	return 0;
}

int cpu_operand_if(struct vtacpu_need *need, bool has, uint64_t count, uint32_t value)
{
	if (has)
		return cpu_operand(need, count, value);
	need->value[need->operands] = value;
	need->bytes[need->operands++] = 0;
	return 0;
}

int cpu_scratch(struct vtacpu_need *need, uint64_t bytes)
{
	if (bytes > VTACPU_BYTES_MAX)
		return cpu_bad(need, "it needs more than 2 GiB to work in");
	need->scratch = bytes;
	return 0;
}

int cpu_act_ok(struct vtacpu_need *need, const struct vtacpu_act *act)
{
	return act->kind < VTACPU_ACTS ? 0 : cpu_bad(need, "no such activation");
}

int cpu_flag_ok(struct vtacpu_need *need, uint32_t flag)
{
	return flag <= 1 ? 0 : cpu_bad(need, "a flag is neither 0 nor 1");
}

int cpu_post_need(struct vtacpu_need *need, const struct vtacpu_post *post, bool y_unsigned,
		  uint64_t channels)
{
	int32_t least = y_unsigned ? 0 : -128, most = least + 255;

	if (post->lo > post->hi || post->lo < least || post->hi > most)
		return cpu_bad(need, "the limits are not within the output's type");
	if (post->shift > 31 || post->round > 1 || post->vectors > 7)
		return cpu_bad(need, "a shift is above 31, or a flag is unknown");
	if ((post->vectors & VTACPU_BIAS && post->bias) ||
	    (post->vectors & VTACPU_MULS && post->mul) ||
	    (post->vectors & VTACPU_SHIFTS && (post->shift || post->round)))
		return cpu_bad(need, "a value is given for all channels and for each");
	for (uint32_t bit = 1; bit <= VTACPU_SHIFTS; bit *= 2)
		if (cpu_operand_if(need, post->vectors & bit, channels, 4))
			return -1;
	return 0;
}
