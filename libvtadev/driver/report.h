/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - say on stderr what went wrong, once
 */
#ifndef DRIVER_REPORT_H
#define DRIVER_REPORT_H

/*
 * A sentence without line end. What was said before is not said again, and
 * after many different ones nothing is.
 */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* DRIVER_REPORT_H */
