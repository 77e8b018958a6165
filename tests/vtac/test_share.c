// SPDX-License-Identifier: GPL-2.0-only
/* Test of compiler/ir/share.c and libvtadev/cpu/split.c: threads give the same bits as one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "crew.h"
#include "ir/kernel.h"

/* No multiple of the channels of any number of threads that is tried. */
#define CHANNELS	101

static const struct vtacpu_window window = {
	.n = 1, .ic = 16, .ih = 20, .iw = 20, .oc = CHANNELS, .oh = 20, .ow = 20,
	.kh = 3, .kw = 3, .stride_h = 1, .stride_w = 1, .pad_top = 1, .pad_left = 1,
	.dil_h = 1, .dil_w = 1, .groups = 1,
};

static uint32_t next(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

static bool is_float(const struct vtac_call *call)
{
	return call->kernel != VTACPU_CONV_I8 && call->kernel != VTACPU_GEMM_I8;
}

/* Operands of 4 bytes are floats, or the vectors of an integer output stage. */
static void *operand(const struct vtac_call *call, uint32_t i, uint64_t *seed)
{
	size_t n = (size_t)call->need.bytes[i];
	uint8_t *to = malloc(n);

	assert_non_null(to);
	for (size_t k = 0; k < n; k += call->need.value[i]) {
		float f = (float)next(seed, 2001) / 1000 - 1;
		int32_t v = (int32_t)next(seed, 14);

		if (call->need.value[i] == 1)
			to[k] = (uint8_t)next(seed, 256);
		else
			memcpy(to + k, is_float(call) ? (void *)&f : (void *)&v,
			       4);
	}
	return to;
}

static struct crew *crew;

static void run(const struct vtac_call *call, unsigned int threads, void *const *io)
{
	assert_int_equal(vtac_run_parts(call, crew, vtac_shared_parts(call, threads), io), 0);
}

/* Returns into how many parts 16 threads share it. */
static unsigned int same_bits(struct vtac_call *call)
{
	static const unsigned int threads[] = { 2, 3, 5, 16 };
	void *io[VTACPU_OPERANDS_MAX] = { NULL }, *one;
	uint64_t seed = 1;
	size_t bytes;
	uint32_t last;

	if (vtacpu_need(call->kernel, &call->p, &call->need))
		fail_msg("%s", call->need.why);
	last = call->need.operands - 1;
	for (uint32_t i = 0; i <= last; i++)
		io[i] = call->need.bytes[i] ? operand(call, i, &seed) : NULL;
	bytes = (size_t)call->need.bytes[last];
	run(call, 1, io);
	one = io[last];
	io[last] = malloc(bytes);
	assert_non_null(io[last]);
	for (unsigned int i = 0; i < 4; i++) {
		memset(io[last], 0x55, bytes);
		run(call, threads[i], io);
		assert_memory_equal(io[last], one, bytes);
	}
	for (uint32_t i = 0; i <= last; i++)
		free(io[i]);
	free(one);
	return vtac_shared_parts(call, 16);
}

TEST(floats)
{
	struct vtac_call call = {
		.kernel = VTACPU_CONV_F32,
		.p.conv_f32 = { .win = window, .has_bias = 1, .has_res = 1,
			    .act = { VTACPU_ACT_CLIP, 0, 3 } },
	};

	assert_int_equal(same_bits(&call), 6);
	call.p.conv_f32.has_bias = 0;
	call.p.conv_f32.win.transposed = 1;
	assert_int_equal(same_bits(&call), 6);
}

/* With all vectors that an output stage can have, and none. */
TEST(integers)
{
	struct vtac_call call = {
		.kernel = VTACPU_CONV_I8,
		.p.conv_i8 = {
			.win = window, .has_res = 2,
			.post = { .vectors = VTACPU_BIAS | VTACPU_MULS | VTACPU_SHIFTS,
				  .lo = -127, .hi = 127 },
		},
	};

	assert_int_equal(same_bits(&call), 6);
	call.p.conv_i8.has_res = 0;
	call.p.conv_i8.post = (struct vtacpu_post){ .mul = 1, .shift = 9, .lo = -127, .hi = 127 };
	assert_int_equal(same_bits(&call), 6);
}

/* Images and groups are parts, too; without enough work or memory there are fewer. */
TEST(images_groups_and_small_ones)
{
	struct vtac_call call = { .kernel = VTACPU_CONV_F32, .p.conv_f32 = { .win = window } };

	call.p.conv_f32.win.n = 2;
	assert_int_equal(same_bits(&call), 2);
	call.p.conv_f32.win.n = 1;
	call.p.conv_f32.win.oc = 96;
	call.p.conv_f32.win.groups = 2;
	assert_int_equal(same_bits(&call), 2);
	call.p.conv_f32.win.groups = 1;
	assert_int_equal(same_bits(&call), 6);
	call.p.conv_f32.win.ih = 2;
	call.p.conv_f32.win.oh = 2;
	assert_int_equal(same_bits(&call), 1);
	call.p.conv_f32.win = window;
	call.p.conv_f32.win.transposed = 1;
	call.p.conv_f32.win.ic = 6144;
	call.p.conv_f32.win.oc = 96;
	call.p.conv_f32.win.oh = 1;
	call.p.conv_f32.win.ow = 1;
	assert_int_equal(same_bits(&call), 3);
	call.p.conv_f32.win.ic = 16384;
	assert_int_equal(same_bits(&call), 1);
}

TEST(groups_with_all_operands)
{
	struct vtac_call floats = {
		.kernel = VTACPU_CONV_F32,
		.p.conv_f32 = { .win = window, .has_bias = 1, .has_res = 1 },
	};
	struct vtac_call integers = {
		.kernel = VTACPU_CONV_I8,
		.p.conv_i8 = {
			.win = window, .has_res = 2,
			.post = { .vectors = VTACPU_BIAS | VTACPU_MULS | VTACPU_SHIFTS,
				  .lo = -127, .hi = 127 },
		},
	};

	floats.p.conv_f32.win.ic = 7 * 60;
	floats.p.conv_f32.win.oc = 7 * 13;
	floats.p.conv_f32.win.groups = 7;
	assert_int_equal(same_bits(&floats), 7);
	/* Depthwise */
	integers.p.conv_i8.win.ic = 801;
	integers.p.conv_i8.win.oc = 801;
	integers.p.conv_i8.win.groups = 801;
	assert_int_equal(same_bits(&integers), 5);
	integers.p.conv_i8.win.ic = 16;
	integers.p.conv_i8.win.oc = 101;
	integers.p.conv_i8.win.groups = 1;
	integers.p.conv_i8.win.n = 3;
	assert_int_equal(same_bits(&integers), 3);
	/* A residual of 16 bits, and the low half of such a result */
	integers.p.conv_i8.has_res = 3;
	integers.p.conv_i8.post.vectors = VTACPU_BIAS | VTACPU_MULS | VTACPU_LOW;
	integers.p.conv_i8.post.lo = -32768;
	assert_int_equal(same_bits(&integers), 3);
}

/* Of a batch with one b and one row of c for all; then along other dimensions. */
TEST(products)
{
	struct vtac_call call = {
		.kernel = VTACPU_GEMM_F32,
		.p.gemm_f32 = {
			.mat = {
				.batch = { 1, 3, 2 }, .m = 50, .n = 70, .k = 300,
				.a_batch = { 0, 30000, 15000 }, .a_row = 300, .a_col = 1,
				.b_row = 70, .b_col = 1, .c_col = 1,
			},
			.has_c = 1, .alpha = 0.5f, .beta = 2,
		},
	};
	struct vtac_call bytes = {
		.kernel = VTACPU_GEMM_I8,
		.p.gemm_i8 = {
			.post = { .vectors = VTACPU_BIAS, .mul = 1, .shift = 9, .lo = -127,
				  .hi = 127 },
			.has_c = 1,
		},
	};

	bytes.p.gemm_i8.mat = call.p.gemm_f32.mat;
	assert_int_equal(same_bits(&call), 3);
	assert_int_equal(same_bits(&bytes), 3);
	call.p.gemm_f32.mat.batch[1] = 1;
	assert_int_equal(same_bits(&call), 2);
	call.p.gemm_f32.mat.batch[2] = 1;
	call.p.gemm_f32.mat.m = 101;
	bytes.p.gemm_i8.mat = call.p.gemm_f32.mat;
	assert_int_equal(same_bits(&call), 4);
	assert_int_equal(same_bits(&bytes), 4);
	/* A single row, by columns of a transposed b */
	call.p.gemm_f32.mat = (struct vtacpu_matrices) {
		.batch = { 1, 1, 1 }, .m = 1, .n = 1001, .k = 2100, .a_row = 2100, .a_col = 1,
		.b_row = 1, .b_col = 2100, .c_col = 1,
	};
	bytes.p.gemm_i8.mat = call.p.gemm_f32.mat;
	assert_int_equal(same_bits(&call), 4);
	assert_int_equal(same_bits(&bytes), 1);
}

/* By rows and by images: all parts read the whole packed matrix. */
TEST(packed_products)
{
	struct vtac_call call = {
		.kernel = VTACPU_GEMM_PACKED_F32,
		.p.gemm_f32 = {
			.mat = {
				.batch = { 1, 3, 1 }, .m = 50, .n = 70, .k = 300,
				.a_batch = { 0, 15000, 0 }, .a_row = 300, .a_col = 1, .c_col = 1,
			},
			.has_c = 1, .alpha = 1, .beta = 1,
		},
	};

	assert_int_equal(same_bits(&call), 3);
	call.p.gemm_f32.mat.batch[1] = 1;
	call.p.gemm_f32.mat.m = 101;
	assert_int_equal(same_bits(&call), 4);
	call.p.gemm_f32.mat.m = 1;
	call.p.gemm_f32.mat.n = 7001;
	assert_int_equal(same_bits(&call), 1);
}

TEST(products_of_rounded_values)
{
	struct vtac_call call = {
		.kernel = VTACPU_GEMM_ROUNDED,
		.p.gemm_rounded = { .m = 101, .n = 70, .k = 300, .scales = 70, .has_bias = 1 },
	};

	assert_int_equal(same_bits(&call), 4);
	call.p.gemm_rounded.m = 1;
	call.p.gemm_rounded.n = 7001;
	call.p.gemm_rounded.scales = 1;
	assert_int_equal(same_bits(&call), 1);
}

TEST(others_are_whole)
{
	struct vtac_call call = {
		.kernel = VTACPU_SOFTMAX_F32, .p.softmax_f32 = { 1, 3000, 1000 },
	};

	assert_int_equal(same_bits(&call), 1);
}

#define ITEMS	40u

/* By item of a job, and by item of its own job */
static atomic_uint runs[ITEMS][ITEMS];

static void run_inner(void *arg, unsigned int i)
{
	atomic_uint *row = arg;

	atomic_fetch_add(&row[i], 1);
}

static void run_outer(void *arg, unsigned int i)
{
	(void)arg;
	crew_run(crew, run_inner, runs[i], i);
}

/* Items give jobs, too; each item is run once, also without a crew. */
TEST(jobs_of_items)
{
	unsigned int rounds = 0;

	for (; rounds < 50; rounds++)
		crew_run(rounds % 5 ? crew : NULL, run_outer, NULL, ITEMS);
	for (unsigned int i = 0; i < ITEMS; i++)
		for (unsigned int k = 0; k < ITEMS; k++)
			assert_int_equal(runs[i][k], k < i ? rounds : 0);
}

struct chain {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	unsigned int done;
};

/* Waits for the item before. */
static void run_link(void *arg, unsigned int i)
{
	struct chain *chain = arg;

	pthread_mutex_lock(&chain->lock);
	while (chain->done < i)
		pthread_cond_wait(&chain->moved, &chain->lock);
	chain->done++;
	pthread_cond_broadcast(&chain->moved);
	pthread_mutex_unlock(&chain->lock);
}

TEST(items_wait_for_earlier_ones)
{
	struct chain chain = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

	crew_run(crew, run_link, &chain, ITEMS);
	assert_int_equal(chain.done, ITEMS);
}

static int setup(void **state)
{
	(void)state;
	return crew_new(4, &crew);
}

static int teardown(void **state)
{
	(void)state;
	crew_free(crew);
	return 0;
}

GROUP(setup, teardown);
