/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages of the emulator, on stderr, one line each.
 */
#ifndef VTA_EMU_LOG_H
#define VTA_EMU_LOG_H


enum log_level {
	LOG_ERROR,	/* the emulator or the card cannot continue */
	LOG_WARN,	/* needs attention */
	LOG_INFO,	/* what happens rarely: clients, faults, resets */
	LOG_DEBUG,
};

/* Before there are threads. */
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...)	log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)	log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)	log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)	log_line(LOG_DEBUG, __VA_ARGS__)

#endif
