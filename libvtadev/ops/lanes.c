// SPDX-License-Identifier: Apache-2.0
/*
 * Planes and lanes, 16 lanes of 16 positions at a time: a square of bytes is turned
 * in vector registers, and narrowed or widened where values are less than a byte.
 * Compilers that know no vectors of the machine take value by value.
 */
#include "lanes.h"

void ops_put(uint8_t *array, size_t at, unsigned int log_width, int8_t value)
{
	unsigned int width = 1u << log_width;
	unsigned int shift = (unsigned int)(at << log_width & 7);
	unsigned int mask = ((1u << width) - 1) << shift;
	uint8_t *byte = &array[at >> (3 - log_width)];

	*byte = (uint8_t)((*byte & ~mask) | (((unsigned int)value << shift) & mask));
}

int8_t ops_get(const uint8_t *array, size_t at, unsigned int log_width)
{
	unsigned int width = 1u << log_width;
	unsigned int shift = (unsigned int)(at << log_width & 7);
	unsigned int value = (unsigned int)array[at >> (3 - log_width)] >> shift &
			     ((1u << width) - 1);
	unsigned int sign = 1u << (width - 1);

	return (int8_t)((value ^ sign) - sign);
}

static void put_each(const struct ops_lanes *l, const int8_t *src, size_t row, uint32_t given,
		     size_t positions)
{
	for (size_t p = 0; p < positions; p++)
		for (uint32_t i = 0; i < l->count; i++)
			ops_put(l->array, l->at + p * l->step + i, l->log_width,
				i < given ? src[i * row + p] : 0);
}

static void get_each(const struct ops_lanes *l, int8_t *dst, size_t row, uint32_t given,
		     size_t positions)
{
	for (size_t p = 0; p < positions; p++)
		for (uint32_t i = 0; i < given; i++)
			dst[i * row + p] = ops_get(l->array, l->at + p * l->step + i, l->log_width);
}

/*
 * Registers of 16 bytes, in which byte 0 is the lowest of a wider number. Copies of
 * constant size are the compiler's own: a call each would cost more than the rest.
 */
#if (defined(__SSE2__) || defined(__ARM_NEON)) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#define SIDE	16u

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef uint8_t bytes4 __attribute__((vector_size(4)));
typedef uint16_t pairs8 __attribute__((vector_size(16)));
typedef uint16_t pairs4 __attribute__((vector_size(8)));

/* Row i byte j becomes row j byte i: four times, both halves of the rows interleaved. */
static void turn(bytes16 rows[SIDE])
{
	bytes16 next[SIDE];

	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < SIDE / 2; i++) {
			bytes16 a = rows[i], b = rows[i + SIDE / 2];

			next[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4,
							      20, 5, 21, 6, 22, 7, 23);
			next[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11,
								  27, 12, 28, 13, 29, 14, 30, 15,
								  31);
		}
		__builtin_memcpy(rows, next, sizeof(next));
	}
}

/* The low bits of 16 values, at the row's front. */
static bytes16 narrow(bytes16 row, unsigned int log_width)
{
	bytes16 to = { 0 };
	pairs8 pairs = (pairs8)row;
	bytes8 half;
	bytes4 quarter;

	if (log_width == 3)
		return row;
	if (log_width == 2) {
		half = __builtin_convertvector((pairs & 0xf) | (pairs >> 4 & 0xf0), bytes8);
		__builtin_memcpy(&to, &half, sizeof(half));
		return to;
	}
	half = __builtin_convertvector((pairs & 3) | (pairs >> 6 & 0xc), bytes8);
	quarter = __builtin_convertvector(((pairs4)half & 0xf) | ((pairs4)half >> 4 & 0xf0),
					  bytes4);
	__builtin_memcpy(&to, &quarter, sizeof(quarter));
	return to;
}

/* narrow(), undone. */
static bytes16 widen(bytes16 row, unsigned int log_width)
{
	bytes8 half;
	bytes4 quarter;
	pairs8 pairs;
	pairs4 few;

	if (log_width == 3)
		return row;
	__builtin_memcpy(&half, &row, sizeof(half));
	if (log_width == 2) {
		pairs = __builtin_convertvector(half, pairs8);
		return ((bytes16)((pairs | pairs << 4) & 0x0f0f) ^ 8) - 8;
	}
	__builtin_memcpy(&quarter, &row, sizeof(quarter));
	few = __builtin_convertvector(quarter, pairs4);
	half = (bytes8)((few | few << 4) & 0x0f0f);
	pairs = __builtin_convertvector(half, pairs8);
	return ((bytes16)((pairs | pairs << 6) & 0x0303) ^ 2) - 2;
}

/* Nothing is read or written beyond @count bytes. */
static bytes16 load(const void *src, size_t count)
{
	bytes16 row = { 0 };

	if (count >= SIDE)
		__builtin_memcpy(&row, src, SIDE);
	else
		memcpy(&row, src, count);
	return row;
}

static void store_row(void *dst, const bytes16 *row, size_t count)
{
	if (count >= SIDE)
		__builtin_memcpy(dst, row, SIDE);
	else
		memcpy(dst, row, count);
}

static bool in_bytes(const struct ops_lanes *l)
{
	return (l->count << l->log_width) % 8 == 0;
}

/* Address of lane @lane of position @position. */
static uint8_t *lane_at(const struct ops_lanes *l, size_t position, uint32_t lane)
{
	return l->array + ((l->at + position * l->step + lane) << l->log_width) / 8;
}

/* Bytes of a row of a square. */
static size_t lane_bytes(const struct ops_lanes *l)
{
	return ((size_t)min_u32(l->count, SIDE) << l->log_width) / 8;
}

/* The square for positions from @p on: the last one is moved back to be a whole one. */
struct square {
	size_t at;
	uint32_t positions;
};

static struct square square(size_t positions, size_t p)
{
	if (positions < SIDE)
		return (struct square) { 0, (uint32_t)positions };
	return (struct square) { p < positions - SIDE ? p : positions - SIDE, SIDE };
}

static void pack_square(const struct ops_lanes *l, const int8_t *src, size_t row, uint32_t given,
			uint32_t lane, struct square s)
{
	size_t bytes = lane_bytes(l), end = given * row;
	bytes16 rows[SIDE] = { { 0 } };

	/* Positions that a row has beyond the square's are turned too, but not stored. */
	for (uint32_t i = 0; i < SIDE && lane + i < given; i++)
		rows[i] = load(src + (lane + i) * row + s.at, end - (lane + i) * row - s.at);
	turn(rows);
	for (uint32_t i = 0; i < s.positions; i++) {
		bytes16 to = narrow(rows[i], l->log_width);

		store_row(lane_at(l, s.at + i, lane), &to, bytes);
	}
}

static void unpack_square(const struct ops_lanes *l, int8_t *dst, size_t row, uint32_t given,
			  uint32_t lane, struct square s)
{
	size_t bytes = lane_bytes(l);
	bytes16 rows[SIDE] = { { 0 } };

	for (uint32_t i = 0; i < s.positions; i++)
		rows[i] = widen(load(lane_at(l, s.at + i, lane), bytes), l->log_width);
	turn(rows);
	for (uint32_t i = 0; i < SIDE && lane + i < given; i++)
		store_row(dst + (lane + i) * row + s.at, &rows[i], s.positions);
}

/* A single position, whose values follow each other on both sides. */
static void pack_position(const struct ops_lanes *l, const int8_t *src, uint32_t given)
{
	for (uint32_t lane = 0; lane < l->count; lane += SIDE) {
		bytes16 to = { 0 };

		if (lane < given)
			to = narrow(load(src + lane, given - lane), l->log_width);
		store_row(lane_at(l, 0, lane), &to, lane_bytes(l));
	}
}

static void unpack_position(const struct ops_lanes *l, int8_t *dst, uint32_t given)
{
	for (uint32_t lane = 0; lane < given; lane += SIDE) {
		bytes16 row = widen(load(lane_at(l, 0, lane), lane_bytes(l)), l->log_width);

		store_row(dst + lane, &row, given - lane);
	}
}

void ops_to_lanes(const struct ops_lanes *l, const int8_t *src, size_t row, uint32_t given,
		  size_t positions)
{
	if (!in_bytes(l)) {
		put_each(l, src, row, given, positions);
		return;
	}
	if (positions == 1 && row == 1) {
		pack_position(l, src, given);
		return;
	}
	for (uint32_t lane = 0; lane < l->count; lane += SIDE)
		for (size_t p = 0; p < positions; p += SIDE)
			pack_square(l, src, row, given, lane, square(positions, p));
}

void ops_from_lanes(const struct ops_lanes *l, int8_t *dst, size_t row, uint32_t given,
		    size_t positions)
{
	if (!in_bytes(l)) {
		get_each(l, dst, row, given, positions);
		return;
	}
	if (positions == 1 && row == 1) {
		unpack_position(l, dst, given);
		return;
	}
	for (uint32_t lane = 0; lane < given; lane += SIDE)
		for (size_t p = 0; p < positions; p += SIDE)
			unpack_square(l, dst, row, given, lane, square(positions, p));
}

#else

void ops_to_lanes(const struct ops_lanes *l, const int8_t *src, size_t row, uint32_t given,
		  size_t positions)
{
	put_each(l, src, row, given, positions);
}

void ops_from_lanes(const struct ops_lanes *l, int8_t *dst, size_t row, uint32_t given,
		    size_t positions)
{
	get_each(l, dst, row, given, positions);
}

#endif
