// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first images of the digits' test set, and the scores that the CPU gives
 * them, as files for vtactl program run.
 *
 *	digits_raw TESTSET COUNT IMAGES SCORES
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "network.h"
#include "testset.h"

int main(int argc, char **argv)
{
	struct digits_testset set;
	FILE *images, *scores;
	uint32_t count;
	int failed = 0;

	if (argc != 5 || digits_load(argv[1], &set)) {
		fprintf(stderr, "usage: digits_raw TESTSET COUNT IMAGES SCORES\n");
		return 2;
	}
	count = (uint32_t)strtoul(argv[2], NULL, 10);
	images = fopen(argv[3], "we");
	scores = fopen(argv[4], "we");
	for (uint32_t i = 0; images && scores && i < count && i < set.count; i++) {
		int8_t score[DIGITS_CLASSES];

		digits_reference(set.images[i], score);
		for (unsigned int j = 0; j < DIGITS_PIXELS; j++)
			failed |= fputc(set.images[i][j] >> 1, images) == EOF;
		failed |= fwrite(score, sizeof(score), 1, scores) != 1;
	}
	failed |= !images || fclose(images);
	failed |= !scores || fclose(scores);
	digits_unload(&set);
	return failed;
}
