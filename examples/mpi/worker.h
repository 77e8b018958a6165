/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's card, with the digits network on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "network.h"
#include "vtadev.h"

struct worker;

/*
 * Opens a card, as vtadev_open() has @card, and loads the program image in the file @path.
 * Returns NULL, and says why on stderr, with @rank in front, as all functions here do.
 */
struct worker *worker_open(const char *card, const char *path, int rank);
void worker_close(struct worker *worker);	/* NULL is allowed */

const struct vtadev_info *worker_info(const struct worker *worker);

/* The scores of one image. Returns false if the card fails. */
bool worker_run(struct worker *worker, const uint8_t image[DIGITS_PIXELS],
		int8_t scores[DIGITS_CLASSES]);

/*
 * For tests: has the card fetch instructions from where no memory is, which halts the
 * queue. All runs after that fail.
 */
void worker_break(struct worker *worker);

/*
 * Card time since the card was opened, in cycles: of loading the program and of all runs.
 * Both engines' busy cycles, as a run's copies and launch follow each other. 0 where the card
 * has no counters. A card that several ranks share counts for all of them.
 */
uint64_t worker_cycles(const struct worker *worker);

/*
 * The card of rank @local of this machine, of those that the process may open, in turn. NULL
 * if VTADEV_DEVICE names one, or none can be opened. Valid until the next call.
 */
const char *worker_card(int local);
