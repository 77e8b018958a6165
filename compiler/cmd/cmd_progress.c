// SPDX-License-Identifier: Apache-2.0
/* The compiler's steps as the progress of the whole command. */
#include <string.h>

#include "cmd.h"
#include "progress.h"

/* As the pass calibrate has them, for a network of usual size */
#define CANDIDATES	5
#define CALIB_IMAGES	12u
#define EVAL_IMAGES	8u

enum { PARTITIONING, CHOOSING, CALIBRATING, LOWERING, MEASURING, STEPS };

/* Steps that take long, in their order; their times, in runs of the float network. */
static struct {
	const char *const name;
	double runs;
} steps[STEPS] = {
	[PARTITIONING] = { "partitioning", 1 },
	[CHOOSING] = { "choosing", 0 },
	[CALIBRATING] = { "calibrating", 0 },
	[LOWERING] = { "lowering", 2 },
	[MEASURING] = { "measuring", 0 },
};

static unsigned int at_most(unsigned int n, unsigned int most)
{
	return n < most ? n : most;
}

void cmd_progress_plan(unsigned int calibrate, unsigned int measure)
{
	unsigned int eval = at_most((calibrate + 2) / 3, EVAL_IMAGES);
	unsigned int calib = at_most(calibrate - eval, CALIB_IMAGES);

	/* Two graphs are counted, and all candidates run on an evaluation set. */
	steps[CHOOSING].runs = 2 * calib + (CANDIDATES + 1) * eval;
	steps[CALIBRATING].runs = calibrate - calib;
	steps[MEASURING].runs = 2 * measure;
}

int cmd_progress(void *priv, const char *what, uint64_t done, uint64_t total)
{
	double before = 0, all = 0;

	(void)priv;
	/* Other steps are short, and leave the bar where it is. */
	for (unsigned int i = 0; i < STEPS; i++) {
		if (!strcmp(steps[i].name, what) && total)
			before = all + steps[i].runs * (double)done / (double)total;
		all += steps[i].runs;
	}
	progress_show(what, before / all);
	return 0;
}
