// SPDX-License-Identifier: GPL-2.0-only
/*
 * matrix - the cells, one by one, as KTAP
 *
 *   matrix [-e N] [-o K] [-s STATE] [-k KIND]
 *
 * -e: only every N-th cell, -o: of these those that the K-th (0) is among; -s, -k: only
 * of this state or kind. The lines "# states ...", "# kinds ..." and, before each
 * result, "# cell ..." are for report.py.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "matrix.h"
#include "vta_emu.h"
#include "vta_selftest.h"

#define SETTLE_MS	5000

void cell_fail(struct cell *cell, const char *format, ...)
{
	va_list ap;

	cell->stalled = false;
	if (cell->why[0])	/* keep the first error */
		return;
	va_start(ap, format);
	vsnprintf(cell->why, sizeof(cell->why), format, ap);
	va_end(ap);
}

void cell_note(struct cell *cell, const char *call, int ret, bool allowed)
{
	size_t len = strlen(cell->result);

	snprintf(cell->result + len, sizeof(cell->result) - len, "%s%s:%d", len ? "," : "",
		 call, -ret);
	if (!allowed)
		cell_fail(cell, "%s returned errno %d", call, -ret);
}

bool cell_fits(const struct cell *cell, int ret)
{
	switch (ret) {
	case 0:
		return true;
	case -EIO:
	case -ETIMEDOUT:
		return cell->kind->reach != REACH_NOBODY;
	case -ENODEV:
		return cell->kind->reach == REACH_CARD;
	default:
		return false;
	}
}

/* "fault=page@%q 1" becomes "fault=page@3 1". */
static void order(struct cell *cell, const char *spec, uint32_t queue)
{
	const char *mark = strstr(spec, "%q");
	char line[96];

	if (mark)
		snprintf(line, sizeof(line), "%.*s%u%s", (int)(mark - spec), spec,
			 queue, mark + 2);
	else
		snprintf(line, sizeof(line), "%s", spec);
	if (emu_inject(line))
		cell_fail(cell, "the emulator refuses: %s", line);
}

void cell_inject(struct cell *cell, uint32_t queue)
{
	for (unsigned int i = 0; i < KIND_SPECS && cell->kind->specs[i]; i++)
		order(cell, cell->kind->specs[i], queue);
}

/* A kind for one queue is meaningless in a state without queues. */
static bool has_cell(const struct state *state, const struct kind *kind)
{
	for (unsigned int i = 0; i < KIND_SPECS && kind->specs[i]; i++)
		if (state->no_queue && strstr(kind->specs[i], "%q"))
			return false;
	return true;
}

/* ---- Afterwards ---- */

/* A reset may be under way still. */
static bool card_works(unsigned int ms)
{
	int64_t end = now_ns() + ms * 1000000ll;

	do {
		if (card_bound() && !card_try())
			return true;
		sleep_ms(10);
	} while (now_ns() < end);
	return false;
}

/* Returns the action after which the card works again. */
static const char *come_back(struct cell *cell, const struct state *state)
{
	const struct kind *kind = cell->kind;

	if ((kind->flags & KIND_UNPLUGS) && card_remove())
		cell_fail(cell, "the function cannot be removed");
	if (emu_clear())
		cell_fail(cell, "the emulator refuses to clear");
	if (kind->flags & KIND_UNPLUGS) {
		card_rescan();
		if (!card_works(SETTLE_MS))
			cell_fail(cell, "does not work after it was put in again");
		return "replug";
	}
	if (card_bound() && card_works(kind->reach == REACH_CARD ? SETTLE_MS / 2 : SETTLE_MS))
		return "works";
	if (!state->loses && kind->reach != REACH_CARD)
		cell_fail(cell, "the card has been given up");
	card_unbind();
	card_bind();
	if (!card_works(SETTLE_MS))
		cell_fail(cell, "does not work after it was bound again");
	return "rebind";
}

static void innocent_goes_on(struct cell *cell, const struct innocent *innocent)
{
	uint64_t rounds = innocent_next(innocent);
	int64_t end = now_ns() + 12ll * SETTLE_MS * 1000000;

	while (innocent_rounds(innocent) < rounds) {
		if (now_ns() > end) {
			cell_fail(cell, "the innocent makes no progress");
			return;
		}
		sleep_ms(1);
	}
}

static void nothing_left(struct cell *cell)
{
	int64_t end = now_ns() + 6ll * SETTLE_MS * 1000000;
	const char *left;

	while ((left = card_leftover()) && now_ns() < end)
		sleep_ms(5);
	if (left)
		cell_fail(cell, "%s is not back to where it was", left);
}

static const char *run_cell(struct cell *cell, const struct state *state)
{
	bool may_lose = state->loses || cell->kind->reach == REACH_CARD;
	struct innocent *innocent;
	const char *back, *wrong;
	bool stalled;

	log_begin();
	innocent = innocent_start();
	if (!innocent) {
		cell_fail(cell, "no memory for the innocent");
		return "";
	}
	state->run(cell);
	back = come_back(cell, state);
	innocent_goes_on(cell, innocent);
	stalled = innocent_stalled(innocent) && !may_lose && !(cell->kind->flags & KIND_STALLS);
	wrong = innocent_end(innocent, may_lose);
	if (wrong)
		cell_fail(cell, "%s", wrong);
	nothing_left(cell);
	wrong = log_complaint();
	if (wrong)
		cell_fail(cell, "the kernel's log has: %s", wrong);
	if (stalled) {
		stalled = !cell->why[0];
		cell_fail(cell, "the innocent was kept waiting");
		cell->stalled = stalled;
	}
	return back;
}

/* ---- All of them ---- */

struct choice {
	const char *state;
	const char *kind;
	unsigned int every, offset;
};

static bool chosen(const struct choice *choice, unsigned int s, unsigned int k)
{
	if (choice->state && strcmp(choice->state, states[s].name))
		return false;
	if (choice->kind && strcmp(choice->kind, kinds[k].name))
		return false;
	/* Diagonals, so that a sample has all states and all kinds. */
	return has_cell(&states[s], &kinds[k]) && (s + k) % choice->every == choice->offset;
}

static unsigned int count(const struct choice *choice)
{
	unsigned int s, k, n = 0;

	for (s = 0; s < nr_states; s++)
		for (k = 0; k < nr_kinds; k++)
			n += chosen(choice, s, k);
	return n;
}

static void print_names(void)
{
	printf("# states");
	for (unsigned int i = 0; i < nr_states; i++)
		printf(" %s", states[i].name);
	printf("\n# kinds");
	for (unsigned int i = 0; i < nr_kinds; i++)
		printf(" %s", kinds[i].name);
	printf("\n");
}

static bool do_cell(unsigned int n, unsigned int s, unsigned int k)
{
	int64_t begin = now_ns();
	unsigned int tries = 0;
	struct cell cell;
	const char *back;

	/* On a machine that was paused all processes wait, but not each time. */
	do {
		cell = (struct cell) { .kind = &kinds[k] };
		back = run_cell(&cell, &states[s]);
		if (cell.stalled)
			printf("# %s.%s: %s\n", states[s].name, kinds[k].name, cell.why);
	} while (cell.stalled && ++tries < 3);
	printf("# cell %s %s %s %s %lld\n", states[s].name, kinds[k].name, back,
	       cell.result[0] ? cell.result : "-", (long long)(now_ns() - begin) / 1000000);
	if (cell.why[0])
		printf("# %s\n", cell.why);
	printf("%sok %u %s.%s\n", cell.why[0] ? "not " : "", n, states[s].name, kinds[k].name);
	fflush(stdout);
	return !cell.why[0];
}

int main(int argc, char **argv)
{
	struct choice choice = { .every = 1 };
	unsigned int s, k, n = 0, failed = 0;
	int opt;

	while ((opt = getopt(argc, argv, "e:o:s:k:")) != -1) {
		switch (opt) {
		case 'e':
			choice.every = (unsigned int)atoi(optarg);
			break;
		case 'o':
			choice.offset = (unsigned int)atoi(optarg);
			break;
		case 's':
			choice.state = optarg;
			break;
		case 'k':
			choice.kind = optarg;
			break;
		default:
			return 2;
		}
	}
	if (choice.offset >= choice.every || optind != argc)
		return 2;
	if (card_find() || !card_bound()) {
		printf("Bail out! no card\n");
		return 1;
	}
	printf("TAP version 13\n1..%u\n", count(&choice));
	print_names();
	for (s = 0; s < nr_states; s++)
		for (k = 0; k < nr_kinds; k++)
			if (chosen(&choice, s, k))
				failed += !do_cell(++n, s, k);
	return failed ? 1 : 0;
}
