/* SPDX-License-Identifier: GPL-2.0-only */
/* log.h - messages of the kernel */
#ifndef VTA_MATRIX_LOG_H
#define VTA_MATRIX_LOG_H

void log_begin(void);
/* A line that should not be in the log, or NULL. */
const char *log_complaint(void);

#endif
