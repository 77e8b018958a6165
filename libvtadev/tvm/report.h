/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - report errors on stderr, rate-limited
 */
#ifndef DRIVER_REPORT_H
#define DRIVER_REPORT_H

/*
 * Print a sentence, without line end. The same sentence is printed at most once in
 * REPORT_AGAIN_S, with its count since, and no more than REPORT_MOST different ones in
 * REPORT_SPAN_S. The number of those that were left out is printed before the next one, or when the
 * program ends.
 */
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define REPORT_AGAIN_S	60
#define REPORT_SPAN_S	10
#define REPORT_MOST	64u

#endif /* DRIVER_REPORT_H */
