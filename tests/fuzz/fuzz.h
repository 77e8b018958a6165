/* SPDX-License-Identifier: GPL-2.0-only */
/* The function of a fuzz target, which replay.c or libFuzzer calls. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Take @data as it may come from anyone; abort if something is wrong. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Good input number @i to start from, to be freed; NULL behind the last. */
uint8_t *fuzz_seed(unsigned int i, size_t *size);

#endif /* TESTS_FUZZ_FUZZ_H */
