/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * test.h - a card's self test: what its parts have in common
 */
#ifndef VTACTL_TEST_H
#define VTACTL_TEST_H

#include <stdint.h>

#include "vtadev.h"

/* The longest that anything here may take. */
#define TEST_WAIT_NS	(30 * 1000000000ll)

/**
 * struct card_test - a self test
 * @dev: the card
 * @queue: whose waits never spin, so that each takes an interrupt
 * @random: for data
 * @why: what is wrong, when a part has failed
 */
struct card_test {
	struct vtadev *dev;
	struct vtadev_queue *queue;
	uint64_t random;
	char why[256];
};

/* A part: 0, or -1 and @why. */
typedef int card_test_fn(struct card_test *t);

/* Notes why. */
void test_note(struct card_test *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, of what the library has returned for @what; of a fault, which. */
void test_note_error(struct card_test *t, const char *what, int err);

/* The same, with -1 for the caller to return. */
#define test_says(t, ...)		(test_note(t, __VA_ARGS__), -1)
#define test_error(t, what, err)	(test_note_error(t, what, err), -1)

uint32_t test_random(struct card_test *t);

/* Hands them to the card and waits for the last; 0, or -1 and @why. */
int test_do(struct card_test *t, const char *what, const struct vta_desc *descs, unsigned int n);

/* Every instruction of the core (test_core.c). */
card_test_fn test_core_gemm, test_core_alu, test_core_load;

#endif /* VTACTL_TEST_H */
