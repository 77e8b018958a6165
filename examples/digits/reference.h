/* SPDX-License-Identifier: Apache-2.0 */
/* The digits network on the CPU in plain loops: what the card must equal bit for bit. */
#pragma once

#include <stdint.h>

#include "network.h"

/* The ten scores of one image. Thread-safe: it only reads constants. */
void digits_reference(const uint8_t image[DIGITS_PIXELS], int8_t scores[DIGITS_CLASSES]);

/* The digit that the scores stand for: the first of the highest. */
unsigned int digits_best(const int8_t scores[DIGITS_CLASSES]);
