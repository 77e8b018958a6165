/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * progress.h - the progress of a long command, on standard error
 *
 * On a terminal: one bar for the whole command, with the time that is left. Elsewhere (a log of
 * CI): a line every ten seconds. A command that ends sooner prints none. Not thread-safe: a program
 * has one command.
 */
#ifndef VTA_PROGRESS_H
#define VTA_PROGRESS_H

/**
 * progress_show() - report how much of the command is done
 * @step: the step that the command is at, a word or two
 * @share: the part of the whole command that is done, from 0 to 1. A lower share than an earlier
 * one counts as that one, so the bar never goes back.
 *
 * Costs a clock reading: call it as often as is convenient. The bar is drawn anew ten times a
 * second at most, as wide as the terminal is then.
 */
void progress_show(const char *step, double share);

/*
 * progress_clear() - erase the bar, before something else is printed and at the command's end
 *
 * The next progress_show() draws the bar again.
 */
void progress_clear(void);

/* progress_off() - print no progress from now on, as --quiet asks for */
void progress_off(void);

#endif /* VTA_PROGRESS_H */
