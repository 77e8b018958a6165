/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bar.h - bars and colours of texts for people
 */
#ifndef VTACTL_BAR_H
#define VTACTL_BAR_H

#include <stdbool.h>
#include <stdint.h>

enum colour { COLOUR_NONE, COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED };

/* Words of the option --color, in its order. */
enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/*
 * Decides whether standard output gets colours. COLOUR_AUTO: if it is a terminal, unless TERM is
 * dumb or NO_COLOR is set (https://no-color.org).
 */
void colour_choose(uint32_t when);

/* Sequences that begin and end a colour; empty without colours. */
const char *colour_begin(enum colour colour);
const char *colour_end(enum colour colour);

/* Of a share of memory in use: a warning from 85 % on, red from 97 % on. */
enum colour colour_of_use(double share);

#define BAR_MAX	32

/* A bar of @width signs, at most BAR_MAX - 3, as "[###---]"; a share above 0 has one at least. */
const char *bar_text(double share, unsigned int width, char text[BAR_MAX]);

#endif /* VTACTL_BAR_H */
