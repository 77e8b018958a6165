// SPDX-License-Identifier: GPL-2.0-only
/*
 * busy.c - the load of a card's engines between two moments
 */
#include <unistd.h>

#include "busy.h"
#include "ctl.h"
#include "files.h"

struct busy busy_now(unsigned int index)
{
	struct busy busy = { .at_ns = ctl_now_ns() };
	int dir = files_card(index);

	if (dir < 0)
		return busy;
	busy.known = files_number(dir, "usage/run_ns", &busy.compute_ns) &&
		     files_number(dir, "usage/copy_ns", &busy.copy_ns);
	close(dir);
	return busy;
}

double busy_share(uint64_t busy_ns, int64_t ns)
{
	if (ns <= 0)
		return 0;
	return busy_ns < (uint64_t)ns ? (double)busy_ns / (double)ns : 1;
}
