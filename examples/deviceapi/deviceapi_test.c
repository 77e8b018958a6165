// SPDX-License-Identifier: Apache-2.0
/*
 * deviceapi_test.c - the verbs on a card, as TVM's runtime calls them
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tests/frame.h"
#include "vta_device_api.h"
#include "vtadev.h"
#include "vtaprog.h"

#define BYTES	100000u

static const DLDevice card = { VTA_API_DEVICE, 0 }, cpu = { kDLCPU, 0 };
static const DLDataType int8 = { kDLInt, 8, 1 };

static void *space(size_t bytes)
{
	void *made = NULL;

	assert_int_equal(vta_api_alloc_data_space(card, bytes, 64, int8, &made), 0);
	assert_non_null(made);
	return made;
}

static void to_card(const void *from, void *to, size_t offset, size_t bytes)
{
	assert_int_equal(vta_api_copy_data_from_to(from, 0, to, offset, bytes, cpu, card, int8,
						   NULL), 0);
}

static void from_card(const void *from, size_t offset, void *to, size_t bytes)
{
	assert_int_equal(vta_api_copy_data_from_to(from, offset, to, 0, bytes, card, cpu, int8,
						   NULL), 0);
}

static void *pattern(size_t bytes, unsigned int seed)
{
	uint8_t *data = malloc(bytes);

	assert_non_null(data);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(i * 7 + seed + (i >> 8));
	return data;
}

TEST(attributes)
{
	const DLDevice none = { VTA_API_DEVICE, 9 }, other = { kDLCUDA, 0 };
	struct vta_api_value v;

	const char *device = getenv("VTADEV_DEVICE");
	char name[64];

	assert_int_equal(vta_api_get_attr(card, VTA_API_EXIST, &v), 0);
	assert_int_equal(v.number, 1);
	assert_int_equal(vta_api_get_attr(none, VTA_API_EXIST, &v), 0);
	assert_int_equal(v.number, 0);
	assert_int_equal(vta_api_get_attr(other, VTA_API_EXIST, &v), 0);
	assert_int_equal(v.number, 0);
	assert_int_equal(vta_api_get_attr(none, VTA_API_MAX_CLOCK_RATE, &v), -ENOENT);
	assert_int_equal(vta_api_get_attr(card, VTA_API_DEVICE_NAME, &v), 0);
	/* A card has its PCI address, a device in the process its name. */
	snprintf(name, sizeof(name), "VTA %s", device ? device : "0000:");
	assert_int_equal(strncmp(v.text, name, strlen(name)), 0);
	assert_int_equal(vta_api_get_attr(card, VTA_API_TOTAL_GLOBAL_MEMORY, &v), 0);
	assert_int_equal(v.number, vtadev_info(vta_api_card(card))->mem_size);
	assert_int_equal(vta_api_get_attr(card, (enum vta_api_attr)2, &v), -EOPNOTSUPP);
}

TEST(spaces_take_memory_and_give_it_back)
{
	struct vta_api_value before, now;
	void *mem, *more = &more;

	assert_int_equal(vta_api_get_attr(card, VTA_API_AVAILABLE_GLOBAL_MEMORY, &before), 0);
	mem = space(1 << 20);
	assert_int_equal(vta_api_address(mem) % vtadev_info(vta_api_card(card))->elem_bytes_max, 0);
	assert_int_equal(vta_api_get_attr(card, VTA_API_AVAILABLE_GLOBAL_MEMORY, &now), 0);
	assert_int_equal(now.number, before.number - (1 << 20));
	assert_int_equal(vta_api_alloc_data_space(card, (size_t)before.number, 0, int8, &more),
			 -ENOSPC);
	assert_ptr_equal(more, &more);
	assert_non_null(strstr(vta_api_error(), "spent"));
	assert_int_equal(vta_api_free_data_space(card, mem), 0);
	assert_int_equal(vta_api_free_data_space(card, NULL), 0);
	assert_int_equal(vta_api_get_attr(card, VTA_API_AVAILABLE_GLOBAL_MEMORY, &now), 0);
	assert_int_equal(now.number, before.number);
}

TEST(copies_in_all_directions_with_offsets)
{
	void *data = pattern(BYTES, 1), *a = space(BYTES), *b = space(BYTES);
	uint8_t back[BYTES];

	to_card(data, a, 0, BYTES);
	assert_int_equal(vta_api_copy_data_from_to(a, 101, b, 7, BYTES - 1000, card, card, int8,
						   NULL), 0);
	from_card(b, 7, back, BYTES - 1000);
	assert_memory_equal(back, (char *)data + 101, BYTES - 1000);
	assert_int_equal(vta_api_copy_data_from_to(data, 5, back, 2, 100, cpu, cpu, int8, NULL), 0);
	assert_memory_equal(back + 2, (char *)data + 5, 100);
	assert_int_equal(vta_api_copy_data_from_to(data, 0, a, 1, BYTES, cpu, card, int8, NULL),
			 -ERANGE);
	assert_int_equal(vta_api_free_data_space(card, a), 0);
	assert_int_equal(vta_api_free_data_space(card, b), 0);
	free(data);
}

/* Copies, more than a queue holds, each of which needs the one before. */
TEST(a_stream_keeps_its_order)
{
	enum { STEPS = 600 };
	uint8_t *data = pattern(STEPS + 1, 3), back[STEPS + 1];
	void *mem = space(STEPS + 1);
	vta_api_stream stream;

	assert_int_equal(vta_api_create_stream(card, &stream), 0);
	to_card(data, mem, 0, STEPS + 1);
	for (size_t i = 0; i < STEPS; i++)
		assert_int_equal(vta_api_copy_data_from_to(mem, i, mem, i + 1, 1, card, card, int8,
							   stream), 0);
	assert_int_equal(vta_api_stream_sync(card, stream), 0);
	from_card(mem, 0, back, STEPS + 1);
	for (size_t i = 0; i <= STEPS; i++)
		assert_int_equal(back[i], data[0]);
	assert_int_equal(vta_api_free_stream(card, stream), 0);
	assert_int_equal(vta_api_free_data_space(card, mem), 0);
	free(data);
}

/* Each stream continues with the result of another, in a circle. */
TEST(streams_wait_for_one_another)
{
	enum { ROUNDS = 300, PIECE = 4096 };
	void *data = pattern(PIECE, 5), *mem = space((ROUNDS + 1) * PIECE);
	vta_api_stream stream[2];
	uint8_t back[PIECE];

	assert_int_equal(vta_api_create_stream(card, &stream[0]), 0);
	assert_int_equal(vta_api_create_stream(card, &stream[1]), 0);
	to_card(data, mem, 0, PIECE);

	for (size_t i = 0; i < ROUNDS; i++) {
		assert_int_equal(vta_api_copy_data_from_to(mem, i * PIECE, mem, (i + 1) * PIECE,
							   PIECE, card, card, int8,
							   stream[i & 1]), 0);
		assert_int_equal(vta_api_sync_stream_from_to(card, stream[i & 1], stream[~i & 1]),
				 0);
	}
	assert_int_equal(vta_api_stream_sync(card, stream[ROUNDS & 1]), 0);
	from_card(mem, ROUNDS * PIECE, back, PIECE);
	assert_memory_equal(back, data, PIECE);
	assert_int_equal(vta_api_free_stream(card, stream[0]), 0);
	assert_int_equal(vta_api_free_stream(card, stream[1]), 0);
	assert_int_equal(vta_api_free_data_space(card, mem), 0);
	free(data);
}

static void *sync_current(void *arg)
{
	*(int *)arg = vta_api_stream_sync(card, NULL);
	return NULL;
}

enum { LARGE = 8 << 20 };

/* Submit work that lasts longer than submitting the next items takes. */
static void keep_busy(vta_api_stream stream, void *mem)
{
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(vta_api_copy_data_from_to(mem, 0, mem, LARGE, LARGE, card, card,
							   int8, stream), 0);
}

/* A failure is reported once, to the caller that asks for that stream; other streams continue. */
TEST(a_failure_is_the_streams_own)
{
	vta_api_stream busy, bad, waiting;
	pthread_t thread;
	void *mem = space(4096), *large = space(2 * LARGE);
	int other = -1;

	assert_int_equal(vta_api_create_stream(card, &busy), 0);
	assert_int_equal(vta_api_create_stream(card, &bad), 0);
	assert_int_equal(vta_api_create_stream(card, &waiting), 0);
	/* Zeroes are loads of nothing; 5 is no instruction. */
	to_card("\5", mem, 16, 1);
	keep_busy(busy, large);
	assert_int_equal(vta_api_sync_stream_from_to(card, busy, bad), 0);
	assert_int_equal(vta_api_run(card, mem, 0, 2, bad), 0);
	assert_int_equal(vta_api_sync_stream_from_to(card, bad, waiting), 0);
	/* It waits for a signal that will not come, and is released. */
	assert_int_equal(vta_api_stream_sync(card, waiting), 0);
	/* A halted stream sends no signals to wait for. */
	assert_int_equal(vta_api_sync_stream_from_to(card, bad, waiting), 0);
	assert_int_equal(vta_api_stream_sync(card, waiting), 0);

	assert_int_equal(vta_api_set_stream(card, bad), 0);
	assert_int_equal(pthread_create(&thread, NULL, sync_current, &other), 0);
	pthread_join(thread, NULL);
	assert_int_equal(other, 0);
	assert_int_equal(vta_api_stream_sync(card, NULL), -EIO);
	assert_non_null(strstr(vta_api_error(), "instruction 1"));
	assert_int_equal(vta_api_stream_sync(card, NULL), 0);
	assert_int_equal(vta_api_run(card, mem, 0, 1, NULL), 0);
	assert_int_equal(vta_api_stream_sync(card, bad), 0);
	assert_int_equal(vta_api_set_stream(card, NULL), 0);
	assert_int_equal(vta_api_free_stream(card, busy), 0);
	assert_int_equal(vta_api_free_stream(card, bad), 0);
	assert_int_equal(vta_api_free_stream(card, waiting), 0);
	assert_int_equal(vta_api_free_stream(card, NULL), -EINVAL);
	assert_int_equal(vta_api_free_data_space(card, large), 0);
	assert_int_equal(vta_api_free_data_space(card, mem), 0);
}

TEST(workspaces_are_reused_in_their_stream)
{
	vta_api_stream stream;
	void *first, *again, *other;
	uint32_t address;

	assert_int_equal(vta_api_create_stream(card, &stream), 0);
	assert_int_equal(vta_api_alloc_workspace(card, 10000, int8, &first), 0);
	address = vta_api_address(first);
	assert_int_equal(vta_api_free_workspace(card, first), 0);
	assert_int_equal(vta_api_set_stream(card, stream), 0);
	assert_int_equal(vta_api_alloc_workspace(card, 10000, int8, &other), 0);
	assert_true(vta_api_address(other) != address);
	assert_int_equal(vta_api_free_workspace(card, other), 0);
	assert_int_equal(vta_api_set_stream(card, NULL), 0);
	assert_int_equal(vta_api_alloc_workspace(card, 9000, int8, &again), 0);
	assert_int_equal(vta_api_address(again), address);
	assert_int_equal(vta_api_alloc_workspace(card, 9000, int8, &other), 0);
	assert_true(vta_api_address(other) != address);
	assert_int_equal(vta_api_free_workspace(card, again), 0);
	assert_int_equal(vta_api_free_workspace(card, other), 0);
	assert_int_equal(vta_api_free_stream(card, stream), 0);
}

/* A compiled function allocates a workspace for its stream, and runs it. */
TEST(a_kernel_runs_in_its_stream)
{
	enum { IN = 48, UNITS = 32, STREAM_BYTES = 65536 };
	struct vtaops_core core;
	int err = vtaprog_core(vta_api_card(card), &core);
	struct vtaops_insn *insns = calloc(1, STREAM_BYTES);
	uint32_t *uops = (uint32_t *)((char *)insns + STREAM_BYTES / 2);
	int8_t *inp = pattern(IN, 1), *wgt = pattern(IN * UNITS, 2), out[UNITS];
	size_t inp_bytes = vtaops_act_bytes(&core, 1, IN, 1, 1);
	size_t wgt_bytes = vtaops_wgt_bytes(&core, UNITS, IN, 1, 1);
	size_t out_bytes = vtaops_act_bytes(&core, 1, UNITS, 1, 1);
	void *a = space(inp_bytes), *w = space(wgt_bytes), *o = space(out_bytes), *code;
	struct vtaops_dense op = {
		.inp = vta_api_address(a), .wgt = vta_api_address(w), .out = vta_api_address(o),
		.n = 1, .in = IN, .units = UNITS, .post = { .shift = 6, .lo = -128, .hi = 127 },
	};
	void *packed = calloc(1, inp_bytes + wgt_bytes + out_bytes);
	struct vtaops_builder b;

	assert_int_equal(err, 0);
	assert_int_equal(vta_api_alloc_workspace(card, STREAM_BYTES, int8, &code), 0);
	vtaops_begin(&b, &core, insns, STREAM_BYTES / 2 / sizeof(*insns), uops, STREAM_BYTES / 8,
		     vta_api_address(code) + STREAM_BYTES / 2);
	vtaops_dense(&b, &op);
	assert_int_equal(vtaops_finish(&b), 0);
	to_card(insns, code, 0, STREAM_BYTES);
	vtaops_pack_act(&core, packed, inp, 1, IN, 1, 1);
	to_card(packed, a, 0, inp_bytes);
	vtaops_pack_wgt(&core, packed, wgt, UNITS, IN, 1, 1);
	to_card(packed, w, 0, wgt_bytes);
	assert_int_equal(vta_api_run(card, code, 0, (uint32_t)b.insns, NULL), 0);
	assert_int_equal(vta_api_stream_sync(card, NULL), 0);
	from_card(o, 0, packed, out_bytes);
	vtaops_unpack_act(&core, out, packed, 1, UNITS, 1, 1);
	for (unsigned int u = 0; u < UNITS; u++) {
		int32_t sum = 0;

		for (unsigned int i = 0; i < IN; i++)
			sum += inp[i] * wgt[u * IN + i];
		sum >>= 6;
		assert_int_equal(out[u], sum < -128 ? -128 : sum > 127 ? 127 : sum);
	}
	assert_int_equal(vta_api_free_workspace(card, code), 0);
	assert_int_equal(vta_api_free_data_space(card, a), 0);
	assert_int_equal(vta_api_free_data_space(card, w), 0);
	assert_int_equal(vta_api_free_data_space(card, o), 0);
	free(insns);
	free(packed);
	free(inp);
	free(wgt);
}

static int setup(void **state)
{
	int err = vta_api_set_device(card);

	(void)state;
	if (err)
		print_message("%s\n", vta_api_error());
	return err;
}

static int teardown(void **state)
{
	(void)state;
	vta_api_release(card);
	return 0;
}

GROUP(setup, teardown);
