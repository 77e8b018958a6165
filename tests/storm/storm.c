// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm - the card is removed and comes back again and again while processes compute and verify
 *
 *   storm [-n CYCLES] [-t SECONDS] [-f [-k KIND]]
 *
 * A cycle unbinds and binds the driver, resets the card, and pulls it out and puts it
 * in again; between these every process must get something done. Ends after so many
 * cycles (10), or once the time is over. -f: in each cycle the card also breaks in
 * one of the ways of the fault matrix, or always in the one named KIND, and every tenth
 * the machine sleeps. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "matrix.h"
#include "vta_emu.h"
#include "vta_selftest.h"

#define PROCESSES	4u
#define SETTLE_MS	30000
#define FAULT_MS	100
#define REPORT_MS	60000

static struct innocent *processes[PROCESSES];
static const struct kind *only;
static char why[192];

static const struct kind *kind_named(const char *name)
{
	for (unsigned int i = 0; i < nr_kinds; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static const struct kind *kind_of(unsigned int cycle)
{
	return only ? only : &kinds[cycle % nr_kinds];
}

/* Keeps the first error. */
static bool fail(const char *what, const char *more)
{
	if (!why[0])
		snprintf(why, sizeof(why), "%s%s", what, more ? more : "");
	return false;
}

/* ---- Steps of a cycle ---- */

static bool rebind(unsigned int cycle)
{
	(void)cycle;
	if (card_unbind())
		return fail("the driver cannot be unbound", NULL);
	return !card_bind() || fail("the driver cannot be bound", NULL);
}

static bool reset_card(unsigned int cycle)
{
	(void)cycle;
	return !card_pci_reset() || fail("the card cannot be reset", NULL);
}

/* In every other cycle the kernel is notified before the card is gone. */
static bool replug(unsigned int cycle)
{
	bool surprise = cycle & 1;

	if (surprise && emu_inject("gone"))
		return fail("the emulator refuses", NULL);
	if (card_remove())
		return fail("the card cannot be removed", NULL);
	if (!surprise && emu_inject("gone"))
		return fail("the emulator refuses", NULL);
	if (emu_clear())
		return fail("the emulator refuses", NULL);
	card_rescan();
	return true;
}

static bool doze(unsigned int cycle)
{
	return cycle % 10 || !card_suspend() || fail("the machine cannot suspend", NULL);
}

/* %q is the number of a queue that another process may have. */
static bool spoil(unsigned int cycle)
{
	const struct kind *kind = kind_of(cycle);
	char line[96];

	for (unsigned int i = 0; i < KIND_SPECS && kind->specs[i]; i++) {
		const char *mark = strstr(kind->specs[i], "@%q");

		snprintf(line, sizeof(line), "%.*s%s",
			 mark ? (int)(mark - kind->specs[i]) : (int)sizeof(line),
			 kind->specs[i], mark ? mark + 3 : "");
		if (emu_inject(line))
			return fail("the emulator refuses: ", line);
	}
	sleep_ms(FAULT_MS);
	if ((kind->flags & KIND_UNPLUGS) && card_remove())
		return fail("the card cannot be removed", NULL);
	if (emu_clear())
		return fail("the emulator refuses", NULL);
	if (kind->flags & KIND_UNPLUGS)
		card_rescan();
	else
		rebind(cycle);	/* it may have been given up */
	return true;
}

/* ---- Checks after each step ---- */

static bool all_go_on(void)
{
	int64_t end = now_ns() + SETTLE_MS * 1000000ll;
	uint64_t rounds[PROCESSES];

	for (unsigned int i = 0; i < PROCESSES; i++)
		rounds[i] = innocent_next(processes[i]);
	for (unsigned int i = 0; i < PROCESSES; i++)
		while (innocent_rounds(processes[i]) < rounds[i]) {
			if (now_ns() > end)
				return fail("a process makes no progress", NULL);
			sleep_ms(2);
		}
	return true;
}

static bool results_are_right(bool may_be_early)
{
	bool right = true;

	for (unsigned int i = 0; i < PROCESSES; i++)
		if (innocent_corrupt(processes[i]) && !may_be_early)
			right = false;
	return right || fail("the results of a process are wrong", NULL);
}

static bool log_is_clean(void)
{
	const char *line = log_complaint();

	return !line || fail("the kernel's log has: ", line);
}

struct step {
	const char *name;
	bool (*act)(unsigned int cycle);
	bool faulty;
};

static const struct step steps[] = {
	{ "unbind and bind", rebind, false },
	{ "reset", reset_card, false },
	{ "unplug and replug", replug, false },
	{ "break", spoil, true },
	{ "sleep", doze, true },
};

#define NR_STEPS	(sizeof(steps) / sizeof(steps[0]))

static bool cycle_once(unsigned int cycle, bool faulty)
{
	const struct kind *kind = kind_of(cycle);

	for (unsigned int i = 0; i < NR_STEPS; i++) {
		bool spoils = steps[i].act == spoil;
		bool early = spoils && (kind->flags & KIND_EARLY);

		if (steps[i].faulty && !faulty)
			continue;
		if (steps[i].act(cycle) && all_go_on() && results_are_right(early) &&
		    log_is_clean())
			continue;
		printf("# cycle %u, %s%s%s: %s\n", cycle, steps[i].name, spoils ? " " : "",
		       spoils ? kind->name : "", why);
		return false;
	}
	return true;
}

static uint64_t all_rounds(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < PROCESSES; i++)
		sum += innocent_rounds(processes[i]);
	return sum;
}

static unsigned int run(unsigned int cycles, unsigned int seconds, bool faulty)
{
	int64_t begin = now_ns(), end = begin + seconds * 1000000000ll, reported = begin;
	unsigned int n;

	for (n = 0; seconds ? now_ns() < end : n < cycles; n++) {
		if (!cycle_once(n, faulty))
			break;
		if (now_ns() - reported < REPORT_MS * 1000000ll)
			continue;
		reported = now_ns();
		printf("# %u cycles, %llu rounds of work, %lld s\n", n + 1,
		       (unsigned long long)all_rounds(),
		       (long long)(reported - begin) / 1000000000);
		fflush(stdout);
	}
	return n;
}

static void end_all(void)
{
	for (unsigned int i = 0; i < PROCESSES; i++) {
		const char *wrong = innocent_end(processes[i], true);

		if (wrong)
			fail(wrong, NULL);
	}
}

static void nothing_left(void)
{
	int64_t end = now_ns() + SETTLE_MS * 1000000ll;
	const char *left;

	while ((left = card_leftover()) && now_ns() < end)
		sleep_ms(5);
	if (left)
		fail(left, " is not back to where it was");
}

int main(int argc, char **argv)
{
	unsigned int cycles = 10, seconds = 0, done, i;
	uint64_t rounds;
	bool faulty = false;
	int opt;

	while ((opt = getopt(argc, argv, "n:t:fk:")) != -1) {
		switch (opt) {
		case 'n':
			cycles = (unsigned int)atoi(optarg);
			break;
		case 't':
			seconds = (unsigned int)atoi(optarg);
			break;
		case 'f':
			faulty = true;
			break;
		case 'k':
			only = kind_named(optarg);
			if (!only) {
				fprintf(stderr, "storm: no kind %s\n", optarg);
				return 2;
			}
			break;
		default:
			return 2;
		}
	}
	if (card_find() || !card_bound()) {
		printf("Bail out! no card\n");
		return 1;
	}
	log_begin();
	for (i = 0; i < PROCESSES; i++) {
		processes[i] = innocent_start();
		if (!processes[i])
			return 2;
	}
	printf("TAP version 13\n1..2\n");
	done = run(cycles, seconds, faulty);
	rounds = all_rounds();
	printf("%sok 1 %u cycles, in which %u processes did %llu rounds of work\n",
	       why[0] ? "not " : "", done, PROCESSES, (unsigned long long)rounds);
	why[0] = '\0';
	end_all();
	nothing_left();
	log_is_clean();
	printf("%sok 2 what they computed is right, all counters are back to zero%s%s\n",
	       why[0] ? "not " : "", why[0] ? ": " : "", why);
	return why[0] || (!seconds && done < cycles);
}
