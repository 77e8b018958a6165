/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's card, with the digits network on it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "network.h"
#include "vtadev.h"

struct worker;

/*
 * Open a card, named as for vtadev_open(), and load the program image in the file @path.
 * Returns NULL after printing why on stderr, after @rank, as all functions here do.
 */
struct worker *worker_open(const char *card, const char *path, int rank);
void worker_close(struct worker *worker);	/* NULL is allowed */

const struct vtadev_info *worker_info(const struct worker *worker);

/* Compute the scores of one image. Returns false if the card fails. */
bool worker_run(struct worker *worker, const uint8_t image[DIGITS_PIXELS],
		int8_t scores[DIGITS_CLASSES]);

/*
 * For tests: halt the queue, by instructions at an address without memory. All runs after
 * that fail.
 */
void worker_break(struct worker *worker);

/*
 * Card time since the card was opened, in cycles: of loading the program and of all runs.
 * It is the sum of both engines' busy cycles, as a run's copies and launch follow each other;
 * 0 if the card has no counters. A card that several ranks share counts for all of them.
 */
uint64_t worker_cycles(const struct worker *worker);

/*
 * Choose the card of rank @local of this machine: those that the process may open, in turn.
 * Returns NULL if VTADEV_DEVICE names one, or none can be opened. Valid until the next call.
 */
const char *worker_card(int local);
