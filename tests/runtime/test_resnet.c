// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_resnet.c - the scores that examples/aot compares with are those of the network
 *
 * The training script wrote scores.bin. Here examples/digits/network.c computes every tenth
 * image's again, from the weights that the program is made of.
 */
#include <stdio.h>
#include <string.h>

#include "../frame.h"
#include "network.h"
#include "testset.h"

#define STEP	10

TEST(scores_are_the_networks)
{
	struct digits_testset set;
	FILE *file = fopen("examples/aot/scores.bin", "rb");
	int8_t want[DIGITS_CLASSES], got[DIGITS_CLASSES];
	unsigned int right = 0, tried = 0;

	assert_non_null(file);
	assert_int_equal(digits_load("examples/digits/testset.bin", &set), 0);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	assert_int_equal(ftell(file), (long)set.count * DIGITS_CLASSES);
	for (uint32_t i = 0; i < set.count; i += STEP, tried++) {
		digits_reference(set.images[i], got);
		assert_int_equal(fseek(file, (long)i * DIGITS_CLASSES, SEEK_SET), 0);
		assert_int_equal(fread(want, 1, sizeof(want), file), sizeof(want));
		if (memcmp(got, want, sizeof(want)))
			fail_msg("image %u: other scores than in scores.bin", (unsigned int)i);
		right += digits_best(got) == set.labels[i];
	}
	fclose(file);
	digits_unload(&set);
	/* 98.55 % of all are right. */
	if (right * 100 < tried * 96)
		fail_msg("%u of %u are right", right, tried);
}
