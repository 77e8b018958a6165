/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VTACTL_TRACE_H
#define VTACTL_TRACE_H

/* "vtactl trace ARGUMENTS": the exit status. */
int trace_main(int argc, char **argv);

#endif /* VTACTL_TRACE_H */
