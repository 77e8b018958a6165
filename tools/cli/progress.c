// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * progress.c - the progress of a long command, on standard error
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"

#define BAR_NS		100000000ll
#define LINE_NS		10000000000ll
/* A share from which the time that is left is estimated, and a time likewise. */
#define LEFT_SHARE	0.02
#define LEFT_NS		2000000000ll

#define COLUMNS_USUAL	80
#define BAR_WIDTH	30
#define STEP_WIDTH	16
/* Of ", about 99 min left" */
#define LEFT_WIDTH	19
#define TEXT_MAX	160

static struct {
	bool begun, off, terminal, drawn;
	int64_t begin, last;		/* the command's begin; of the last bar or line */
	double share;
} progress;

/* The coarse clock is cheap, and exact enough. */
static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* A terminal that can erase a line. */
static bool is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb");
}

static unsigned int columns(void)
{
	struct winsize size;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col :
	       COLUMNS_USUAL;
}

/* "about 2 min left", rounded as far as an estimate deserves; empty while there is none. */
static void left_text(int64_t elapsed, char text[TEXT_MAX])
{
	double left;

	*text = '\0';
	if (progress.share < LEFT_SHARE || progress.share >= 1 || elapsed < LEFT_NS)
		return;
	left = (double)elapsed / 1e9 * (1 - progress.share) / progress.share;
	if (left < 100)
		snprintf(text, TEXT_MAX, ", about %.0f s left", left < 1 ? 1 : left);
	else if (left < 100 * 60)
		snprintf(text, TEXT_MAX, ", about %.0f min left", left / 60);
	else
		snprintf(text, TEXT_MAX, ", about %.0f h left", left / 3600);
}

/* As much of the step, the bar, the percentage and the time as fits; the percentage always. */
static void draw_bar(const char *step, const char *left)
{
	/* The last column stays empty: some terminals go to the next line behind it. */
	unsigned int room = columns() - 1, used = 4, bar = 0;
	char text[TEXT_MAX] = "";

	if (room >= used + STEP_WIDTH + 1)
		used += STEP_WIDTH + 1;
	else
		step = NULL;
	/* The time has its room from the begin, so that the bar keeps its width. */
	if (room >= used + LEFT_WIDTH)
		used += LEFT_WIDTH;
	else
		left = "";
	/* Brackets, a space and three signs at least. */
	if (room >= used + 6)
		bar = room - used - 3 < BAR_WIDTH ? room - used - 3 : BAR_WIDTH;
	if (bar) {
		text[0] = '[';
		memset(text + 1, '-', bar);
		memset(text + 1, '#', (size_t)(progress.share * bar));
		memcpy(text + 1 + bar, "] ", 3);
	}
	fputs("\r", stderr);
	if (step)
		fprintf(stderr, "%-*.*s ", STEP_WIDTH, STEP_WIDTH, step);
	fprintf(stderr, "%s%3d%%%s\033[K", text, (int)(progress.share * 100), left);
	fflush(stderr);
	progress.drawn = true;
}

void progress_show(const char *step, double share)
{
	int64_t now = now_ns();
	char left[TEXT_MAX];

	if (progress.off)
		return;
	if (!progress.begun) {
		progress.begun = true;
		progress.begin = now;
		progress.terminal = is_terminal();
		/* The first bar comes at once, the first line after its time. */
		progress.last = progress.terminal ? now - BAR_NS : now;
	}
	if (share > progress.share)
		progress.share = share < 1 ? share : 1;
	if (now - progress.last < (progress.terminal ? BAR_NS : LINE_NS))
		return;
	progress.last = now;
	left_text(now - progress.begin, left);
	if (progress.terminal)
		draw_bar(step, left);
	else
		fprintf(stderr, "%s: %s: %d %%%s\n", cli_name(), step,
			(int)(progress.share * 100), left);
}

void progress_clear(void)
{
	if (progress.drawn)
		fputs("\r\033[K", stderr);
	progress.drawn = false;
	/* Then the next call draws it at once. */
	if (progress.terminal)
		progress.last = 0;
}

void progress_off(void)
{
	progress_clear();
	progress.off = true;
}
