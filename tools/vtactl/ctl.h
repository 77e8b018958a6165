/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ctl.h - code that the verbs of vtactl share: exit status, errors, cards
 */
#ifndef VTACTL_CTL_H
#define VTACTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli.h"
#include "vtadev.h"

/* Exit status: docs/operating.md; numbers never change their meaning. */
enum {
	CTL_OK		= CLI_OK,
	CTL_ERROR	= CLI_ERROR,
	CTL_NO_CARD	= 3,
	CTL_DENIED	= 4,
	CTL_BROKEN	= 5,	/* the card fails, or was given up */
	CTL_BUSY	= 6,	/* the card is in use */
};

cli_verb_fn bench_main, cdi_main, doctor_main, dump_main, export_main, list_main, monitor_main,
	    program_main, reset_main, status_main, test_main, top_main, trace_main;

/* Prints "vtactl: VERB: @subject: @why" to stderr; returns CTL_ERROR. */
int ctl_fail(const char *subject, const char *why);

/* Prints the error that a function of the library returned; returns the exit status for it. */
int ctl_error(const char *subject, int err);

/* If an output returned an error, prints it; returns the exit status. */
int ctl_written(const char *path, int err);

/* The text of an error on an open card: if the card was lost, why. */
const char *ctl_why(struct vtadev *dev, int err, char text[VTADEV_LOST_TEXT_MAX]);

/* Sets an option's double to 0.1 to 86400 seconds. */
int ctl_set_seconds(const struct cli_option *option, char *text);

/* CLOCK_MONOTONIC. */
int64_t ctl_now_ns(void);
void ctl_sleep_until(int64_t ns);

/*
 * Finds the card that @which names, or all if it is NULL. CTL_OK with at least one, to be freed by
 * vtadev_list_free(); or prints the reason and returns an exit status.
 */
int ctl_cards(const char *which, struct vtadev_card **cards, size_t *count);

/* The same, also for devices in the process: without @which, that of VTADEV_DEVICE besides. */
int ctl_cards_or_devices(const char *which, struct vtadev_card **cards, size_t *count);

/* True for a device in the process, which has no index. */
bool ctl_is_device(const struct vtadev_card *card);

/* Finds the card that @which names, or the first if it is NULL. */
int ctl_card(const char *which, struct vtadev_card *card);

/* If this user may not open the card, prints to stderr how to get permission. */
void ctl_print_access(const struct vtadev_card *card);

/* Prints @why for @subject, which could not be opened; returns the exit status for @err. */
int ctl_refused(const char *subject, const char *why, int err);

/* Prints why vtadev_list() failed with @err; returns the exit status for it. */
int ctl_not_listed(int err);

/* Prints why vtadev_open() of @which failed with @err; returns the exit status for it. */
int ctl_not_open(const char *which, int err);

/*
 * Opens a card or device, named as for vtadev_open(); or prints the reason and returns an exit
 * status.
 */
int ctl_open(const char *which, struct vtadev **dev);

struct json_object;
/* Prints the object, on one line or on many, and frees it. */
int ctl_print_json(struct json_object *object, bool one_line);

#endif /* VTACTL_CTL_H */
