/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ctl.h - what the verbs of vtactl have in common: exit status, errors, which cards
 */
#ifndef VTACTL_CTL_H
#define VTACTL_CTL_H

#include <stdbool.h>
#include <stddef.h>

#include "vtadev.h"

/* Exit status: docs/operating.md; numbers never change their meaning. */
enum {
	CTL_OK		= 0,
	CTL_ERROR	= 1,
	CTL_USAGE	= 2,
	CTL_NO_CARD	= 3,
	CTL_DENIED	= 4,
	CTL_BROKEN	= 5,	/* the card fails, or was given up */
	CTL_BUSY	= 6,	/* the card is in use */
};

/* A verb: "vtactl NAME ARGUMENTS", with argv[0] its name; the exit status. */
typedef int ctl_verb_fn(int argc, char **argv);

ctl_verb_fn bench_main, cdi_main, dump_main, export_main, list_main, monitor_main,
	    program_main, reset_main, status_main, test_main, top_main, trace_main;

/* Errors go to stderr as sentences, after the name of the verb. */
void ctl_set_verb(const char *name);
int ctl_usage(const char *why, const char *word);
int ctl_fail(const char *subject, const char *why);
/* What a call of the library returned, and what to do about it. */
int ctl_error(const char *subject, int err);

/* The same of a call on an open card, as a sentence: why it was lost, if it was. */
const char *ctl_why(struct vtadev *dev, int err, char text[VTADEV_LOST_TEXT_MAX]);

/* For "-h": help on stdout. Fails if it cannot be written. */
int ctl_help(const char *help);

/* Arguments of options: a whole number from @least to @most, or seconds from 0.1 to 86400. */
bool ctl_number(const char *text, unsigned long least, unsigned long most, unsigned long *value);
bool ctl_seconds(const char *text, double *seconds);

/*
 * The cards that a verb is for: the one that @which names, or with NULL all.
 * CTL_OK and at least one, to be freed by vtadev_list_free(); or what was said is
 * wrong, as an exit status.
 */
int ctl_cards(const char *which, struct vtadev_card **cards, size_t *count);

/* What @which names, a device in the process too; NULL is as in vtadev_open(). */
int ctl_card_or_device(const char *which, struct vtadev_card *card);

/* The one that is named by the only argument left, or the first. */
int ctl_card(int argc, char **argv, struct vtadev_card *card);

/* If this user may not open the card, says on stderr how to get permission. */
void ctl_say_access(const struct vtadev_card *card);

/* Opens the card; or prints the reason and returns an exit status. */
int ctl_open(const struct vtadev_card *card, struct vtadev **dev);

struct json_object;
/* On stdout, on one line or on many; frees it. */
int ctl_print_json(struct json_object *object, bool one_line);

#endif /* VTACTL_CTL_H */
