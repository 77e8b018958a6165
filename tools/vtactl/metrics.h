/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * metrics.h - what cards and their users do, as metrics: docs/operating.md
 */
#ifndef VTACTL_METRICS_H
#define VTACTL_METRICS_H

#include <stdio.h>

struct json_object;

/* Of cards: @cards is an array of what gather() returns. */
void metrics_cards(FILE *file, struct json_object *cards);
/* Of users. An exit status. */
int metrics_users(FILE *file);

#endif /* VTACTL_METRICS_H */
