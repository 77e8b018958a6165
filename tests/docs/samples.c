// SPDX-License-Identifier: GPL-2.0-only
/*
 * samples.c - the C of the documents, called: run.sh links this with all of it
 *
 * The declarations are what a reader would write. Runs on a card, or on the device that
 * VTADEV_DEVICE names.
 */
#include <stdlib.h>
#include <string.h>

#include <dlpack/dlpack.h>
#include <vta/driver.h>
#include <vtadev.h>
#include <vtaops.h>

#include "../frame.h"
#include "vta_device_api.h"

/* README.md */
int launch(struct vtadev_queue *queue, uint32_t card, uint32_t host, uint32_t size,
	   uint32_t stream, uint32_t instructions);
/* docs/uapi.md */
int fill_a_page(const char *node, uint32_t pattern, uint32_t *first_word);
/* docs/retargeting.md */
int run_stream(const void *stream, uint32_t instructions);
int run_all(VTADeviceHandle device, const vta_phy_addr_t *streams, const uint32_t *counts,
	    unsigned int n);
int dense(struct vtadev *dev, struct vtadev_queue *queue, const int8_t *inp, const int8_t *wgt,
	  int8_t *out, uint32_t in, uint32_t units, unsigned int shift);
int load_model(struct vtadev *dev, struct vtadev_queue *queue, const void *model, size_t size,
	       struct vtadev_buf **buf);
int32_t kernel(DLTensor *code, uint32_t instructions);
int order(struct vtadev_queue *before, struct vtadev_queue *after, uint32_t word, uint64_t count);
int exponent_of(float max);
int shift_of(int in, int wgt, int out);
int32_t bias_of(float bias, int in, int wgt, int out);
size_t packed_index(size_t batch, size_t block, size_t channels, size_t height, size_t width,
		    size_t n, size_t c, size_t y, size_t x);

#define SECOND	1000000000ll

static const uint64_t finish[2] = { 3 }, illegal[2] = { 7 };
static struct vtadev *dev;
static struct vtadev_queue *queue;

TEST(a_page_is_filled_without_a_library)
{
	uint32_t word = 0;

	if (getenv("VTADEV_DEVICE"))
		skip();	/* a device in the process has no node */
	assert_int_equal(fill_a_page("/dev/vta0", 0x600dcafe, &word), 0);
	assert_int_equal(word, 0x600dcafe);
	assert_int_equal(fill_a_page("/dev/vta9", 1, &word), -1);
}

TEST(streams_run_and_fail)
{
	assert_int_equal(run_stream(finish, 1), 0);
	assert_int_equal(run_stream(illegal, 1), 2);
}

TEST(streams_run_one_after_the_other)
{
	VTADeviceHandle device = VTADeviceAlloc();
	uint64_t *mem = VTAMemAlloc(64, VTA_CACHED);
	vta_phy_addr_t addr = VTAMemGetPhyAddr(mem);
	const vta_phy_addr_t streams[] = { addr, addr + 16, addr };
	const uint32_t counts[] = { 1, 1, 1 };

	memcpy(mem, finish, 16);
	memcpy(mem + 2, finish, 16);
	assert_int_equal(run_all(device, streams, counts, 3), 0);
	memcpy(mem + 2, illegal, 16);
	assert_int_equal(run_all(device, streams, counts, 3), 2);
	VTADeviceFree(device);
	VTAMemFree(mem);
}

TEST(a_dense_layer_is_right)
{
	enum { IN = 40, UNITS = 20, SHIFT = 5 };
	int8_t inp[IN], wgt[UNITS * IN], out[UNITS];

	for (int i = 0; i < IN; i++)
		inp[i] = (int8_t)(i * 7);
	for (int i = 0; i < UNITS * IN; i++)
		wgt[i] = (int8_t)(i * 5 + i / IN);
	assert_int_equal(dense(dev, queue, inp, wgt, out, IN, UNITS, SHIFT), 0);
	for (int u = 0; u < UNITS; u++) {
		int32_t sum = 0;

		for (int i = 0; i < IN; i++)
			sum += inp[i] * wgt[u * IN + i];
		sum >>= SHIFT;
		assert_int_equal(out[u], sum > 127 ? 127 : sum < -128 ? -128 : sum);
	}
}

TEST(a_model_is_where_the_compiler_put_it)
{
	char model[10000], back[10000];
	struct vtadev_buf *buf;

	for (size_t i = 0; i < sizeof(model); i++)
		model[i] = (char)(i * 3 + (i >> 8));
	assert_int_equal(load_model(dev, queue, model, sizeof(model), &buf), 0);
	assert_int_equal(vtadev_buf_addr(buf), 0x10000000);
	assert_int_equal(vtadev_download(queue, buf, 0, back, sizeof(back)), 0);
	assert_memory_equal(model, back, sizeof(model));
	vtadev_buf_free(buf);
}

/* Copied to the card's memory, and run there. */
TEST(a_launch_copies_and_runs)
{
	struct vtadev_buf *host, *card;
	uint64_t back[2];

	assert_int_equal(vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &host), 0);
	assert_int_equal(vtadev_buf_alloc(dev, 4096, VTADEV_CARD, &card), 0);
	assert_int_equal(vtadev_buf_write(host, 0, finish, 16), 0);
	assert_int_equal(launch(queue, vtadev_buf_addr(card), vtadev_buf_addr(host), 16,
				vtadev_buf_addr(card), 1), 0);
	assert_int_equal(vtadev_download(queue, card, 0, back, sizeof(back)), 0);
	assert_memory_equal(back, finish, sizeof(back));
	vtadev_buf_free(host);
	vtadev_buf_free(card);
}

TEST(queues_are_ordered)
{
	struct vtadev_queue *after;
	struct vtadev_buf *word;
	uint64_t *count;
	void *ptr;

	assert_int_equal(vtadev_queue_create(dev, NULL, &after), 0);
	assert_int_equal(vtadev_buf_alloc(dev, 4096, VTADEV_HOST, &word), 0);
	assert_int_equal(vtadev_buf_map(word, &ptr), 0);
	count = ptr;
	for (uint64_t i = 1; i < 4; i++) {
		assert_int_equal(order(queue, after, vtadev_buf_addr(word), i), 0);
		assert_int_equal(vtadev_sync(after, 10 * SECOND), 0);
		assert_int_equal(*count, i);
	}
	assert_int_equal(vtadev_sync(queue, 10 * SECOND), 0);
	vtadev_queue_destroy(after);
	vtadev_buf_free(word);
}

TEST(a_kernel_runs)
{
	const DLDevice card = { VTA_API_DEVICE, 0 }, cpu = { kDLCPU, 0 };
	const DLDataType int8 = { kDLInt, 8, 1 };
	DLTensor code = { .device = card, .byte_offset = 16 };

	assert_int_equal(vta_api_set_device(card), 0);
	assert_int_equal(vta_api_alloc_data_space(card, 32, 0, int8, &code.data), 0);
	assert_int_equal(vta_api_copy_data_from_to(finish, 0, code.data, 16, 16, cpu, card, int8,
						   NULL), 0);
	assert_int_equal(kernel(&code, 1), 0);
	assert_int_equal(vta_api_stream_sync(card, NULL), 0);
	code.device = cpu;
	assert_int_equal(kernel(&code, 1), -1);
	vta_api_release(card);
}

TEST(scales_are_powers_of_two)
{
	assert_int_equal(exponent_of(1.0f), 6);
	assert_int_equal(exponent_of(127.0f), 0);
	assert_int_equal(exponent_of(128.0f), -1);
	assert_int_equal(shift_of(6, 7, 4), 9);
	/* 0.5 * 2^13, and half of what 9 bits lose. */
	assert_int_equal(bias_of(0.5f, 6, 7, 4), 4096 + 256);
	assert_int_equal(bias_of(-0.5f, 6, 7, 13), -4096);
}

/* Against what the operators do. */
TEST(packed_tensors_have_that_layout)
{
	enum { N = 3, C = 11, H = 2, W = 5 };
	struct vtaops_core core = {
		.log_inp_width = 3, .log_wgt_width = 3, .log_acc_width = 5, .log_batch = 1,
		.log_block = 3, .log_uop_buff_size = 15, .log_inp_buff_size = 15,
		.log_wgt_buff_size = 15, .log_acc_buff_size = 16,
	};
	int8_t plain[N * C * H * W], *packed;

	assert_int_equal(vtaops_core_init(&core), 0);
	packed = calloc(1, vtaops_act_bytes(&core, N, C, H, W));
	assert_non_null(packed);
	for (int i = 0; i < N * C * H * W; i++)
		plain[i] = (int8_t)(i % 251);
	vtaops_pack_act(&core, packed, plain, N, C, H, W);
	for (int i = 0; i < N * C * H * W; i++) {
		size_t at = packed_index(core.batch, core.block, C, H, W, i / (C * H * W),
					 i / (H * W) % C, i / W % H, i % W);

		assert_int_equal(packed[at], plain[i]);
	}
	free(packed);
}

static int setup(void **state)
{
	(void)state;
	return vtadev_open(NULL, &dev) || vtadev_queue_create(dev, NULL, &queue);
}

static int teardown(void **state)
{
	(void)state;
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
	return 0;
}

GROUP(setup, teardown);
