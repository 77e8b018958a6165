// SPDX-License-Identifier: Apache-2.0
/*
 * reference_test [TESTSET]: the network is its file and its layers fit together, malformed
 * test sets are refused, and the reference recognises at least 97 % of the images. Prints TAP.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../tests/frame.h"
#include "network.h"
#include "testset.h"

enum {
	MIN_IMAGES = 1000,
	MIN_PERCENT = 97,
	SMALL_SET = 16 + DIGITS_PIXELS + 1,	/* a set of one image */
};

static int load_bytes(const uint8_t *bytes, size_t size)
{
	char path[] = "/tmp/digits-XXXXXX";
	struct digits_testset set = { 0 };
	int fd = mkstemp(path);
	int err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	err = digits_load(path, &set);
	unlink(path);
	digits_unload(&set);
	return err;
}

/* A valid set of one black image labelled 0, and a byte too many. */
static void make_set(uint8_t set[SMALL_SET + 1])
{
	static const uint8_t header[16] = { 'D', 'I', 'G', '1', 1, 0, 0, 0, 28, 0, 0, 0, 28 };

	memset(set, 0, SMALL_SET + 1);
	memcpy(set, header, sizeof(header));
}

TEST(testset_of_wrong_length)
{
	uint8_t bytes[SMALL_SET + 1];

	make_set(bytes);
	assert_int_equal(load_bytes(bytes, SMALL_SET), 0);
	assert_int_equal(load_bytes(bytes, 0), -EINVAL);
	assert_int_equal(load_bytes(bytes, 8), -EINVAL);
	assert_int_equal(load_bytes(bytes, SMALL_SET - 1), -EINVAL);
	assert_int_equal(load_bytes(bytes, SMALL_SET + 1), -EINVAL);
}

TEST(testset_with_wrong_content)
{
	enum { SPOILT = 7 };
	static const struct {
		size_t offset;
		uint8_t value;
	} spoilt[SPOILT] = {
		{ 0, 'X' },		/* magic */
		{ 4, 0 },		/* no images */
		{ 4, 2 },		/* more images than data */
		{ 7, 0xff },		/* an impossible count */
		{ 8, 29 },		/* another height */
		{ 12, 27 },		/* another width */
		{ SMALL_SET - 1, 10 },	/* a label above 9 */
	};

	for (int i = 0; i < SPOILT; i++) {
		uint8_t bytes[SMALL_SET + 1];

		make_set(bytes);
		bytes[spoilt[i].offset] = spoilt[i].value;
		assert_int_equal(load_bytes(bytes, SMALL_SET), -EINVAL);
	}
}

TEST(testset_that_cannot_be_read)
{
	struct digits_testset set;

	assert_int_equal(digits_load("/nonexistent", &set), -ENOENT);
	assert_int_equal(digits_load("/tmp", &set), -EIO);
}

/* The build included the bytes that training wrote, all of them and no others. */
TEST(network_is_its_file)
{
	const struct digits_layer *last = &digits_network.layer[digits_network.layers - 1];
	size_t size = last->bias + last->out_channels * sizeof(int32_t);
	FILE *file = fopen("examples/digits/weights.bin", "rbe");
	uint8_t *bytes = malloc(size);

	assert_non_null(file);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, size, file), size);
	assert_int_equal(fgetc(file), EOF);
	assert_memory_equal(bytes, &digits_network, size);
	free(bytes);
	fclose(file);
}

/* Each layer's output has the size that its input gives, and is the next one's input. */
TEST(layers_fit_together)
{
	uint32_t channels = 1, side = DIGITS_SIDE;

	assert_in_range(digits_network.layers, 1, DIGITS_LAYERS_MAX);
	for (uint32_t i = 0; i < digits_network.layers; i++) {
		const struct digits_layer *l = &digits_network.layer[i];

		assert_int_equal(l->source, (int32_t)i - 1);
		assert_int_equal(l->in_channels, channels);
		assert_int_equal(l->in_side, side);
		assert_int_equal(l->out_side, (side + 2 * l->pad - l->kernel) / l->stride + 1);
		assert_in_range(l->shift, 1, 31);
		channels = l->out_channels;
		side = l->out_side;
	}
	assert_int_equal(channels * side * side, DIGITS_CLASSES);
}

TEST(best_is_the_first_of_the_highest)
{
	const int8_t tied[DIGITS_CLASSES] = { -3, 7, 0, 7, -128, 1, 2, 7, 6, -1 };
	const int8_t low[DIGITS_CLASSES] = { -128, -128, -128, -128, -128,
					     -128, -128, -128, -128, -127 };

	assert_int_equal(digits_best(tied), 1);
	assert_int_equal(digits_best(low), 9);
}

TEST(reference_is_accurate)
{
	struct digits_testset set;
	uint32_t right = 0;

	assert_int_equal(digits_load("examples/digits/testset.bin", &set), 0);
	for (uint32_t i = 0; i < set.count; i++) {
		int8_t scores[DIGITS_CLASSES];

		digits_reference(set.images[i], scores);
		right += digits_best(scores) == set.labels[i];
	}
	printf("# %u of %u images right (%.2f %%)\n", right, set.count,
	       100.0 * right / set.count);
	assert_true(set.count >= MIN_IMAGES);
	assert_true((uint64_t)right * 100 >= (uint64_t)set.count * MIN_PERCENT);
	digits_unload(&set);
}
