// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lines on stderr, each written whole.
 */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

static const char *const names[] = {
	[LOG_ERROR]	= "error",
	[LOG_WARN]	= "warn",
	[LOG_INFO]	= "info",
	[LOG_DEBUG]	= "debug",
};

static enum log_level limit = LOG_WARN;

void log_set_level(enum log_level level)
{
	limit = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (level > limit)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "vta-emu: %s: %s\n", names[level], line);
}
