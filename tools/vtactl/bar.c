// SPDX-License-Identifier: GPL-2.0-only
/*
 * bar.c - bars and colours of texts for people
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bar.h"

static bool coloured;

void colour_choose(uint32_t when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when == COLOUR_AUTO)
		coloured = isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
	else
		coloured = when == COLOUR_ALWAYS;
}

const char *colour_begin(enum colour colour)
{
	static const char *const begin[] = { "", "\033[32m", "\033[33m", "\033[31m" };

	return coloured ? begin[colour] : "";
}

const char *colour_end(enum colour colour)
{
	return coloured && colour != COLOUR_NONE ? "\033[0m" : "";
}

enum colour colour_of_use(double share)
{
	return share < 0.85 ? COLOUR_GREEN : share < 0.97 ? COLOUR_YELLOW : COLOUR_RED;
}

const char *bar_text(double share, unsigned int width, char text[BAR_MAX])
{
	unsigned int full;

	share = share > 0 ? share < 1 ? share : 1 : 0;
	full = (unsigned int)(share * width + 0.5);
	if (share > 0 && !full)
		full = 1;
	text[0] = '[';
	memset(text + 1, '#', full);
	memset(text + 1 + full, '-', width - full);
	memcpy(text + 1 + width, "]", 2);
	return text;
}
