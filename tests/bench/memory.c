// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory.c - measure copies, pinning, mapping and page walks, in the guest
 */
#include "memory.h"

int main(int argc, char **argv)
{
	struct bench bench;

	bench_begin(&bench, "memory", argc, argv);
	bench_open(&bench);
	bench_copy(&bench);
	bench_choice(&bench);
	bench_map(&bench);
	bench_alloc(&bench);
	bench_walks(&bench);
	bench_close(&bench);
	bench_open_card(&bench, BENCH_MODELLED);
	bench_transfer(&bench);
	bench_end(&bench);
	return 0;
}
