/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test.h - code that the parts of a card's self test share
 */
#ifndef VTACTL_TEST_H
#define VTACTL_TEST_H

#include <stdint.h>

#include "vtadev.h"

/* Limit of each wait. */
#define TEST_WAIT_NS	(30 * 1000000000ll)

/**
 * struct card_test - a self test
 * @dev: the card
 * @queue: a queue whose waits never spin, so that each takes an interrupt
 * @random: state of test_random()
 * @why: the reason, when a part has failed
 * @part: name of the part that runs
 * @before: shares of the parts before it, in the whole test
 * @share: its own
 */
struct card_test {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	uint64_t random;
	char why[256];
	const char *part;
	double before, share;
};

/* Runs a part; 0, or -1 with the reason in @why. */
typedef int card_test_fn(struct card_test *t);

/* Sets @why. */
void test_note(struct card_test *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for an error of the library in @what, with the fault if it is one. */
void test_note_error(struct card_test *t, const char *what, int err);

/* The same; are -1 for the caller to return. */
#define test_says(t, ...)		(test_note(t, __VA_ARGS__), -1)
#define test_error(t, what, err)	(test_note_error(t, what, err), -1)

/* Reports that this share of the part is done, from 0 to 1. */
void test_progress(const struct card_test *t, double share);

uint32_t test_random(struct card_test *t);

/* Submits the descriptors and waits for the last; 0, or -1 with @why set. */
int test_do(struct card_test *t, const char *what, const struct vta_desc *descs, unsigned int n);

/* Every instruction of the core (test_core.c). */
card_test_fn test_core_gemm, test_core_alu, test_core_load;

#endif /* VTACTL_TEST_H */
