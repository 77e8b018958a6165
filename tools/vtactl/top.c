// SPDX-License-Identifier: GPL-2.0-only
/*
 * top.c - vtactl top: show live the work of processes on cards
 *
 * Compares two samples of fdinfo (holders.c). Processes that the user may not see are not shown,
 * but the card's line includes their work.
 */
#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bar.h"
#include "busy.h"
#include "ctl.h"
#include "files.h"
#include "holders.h"

#define LINE	256
#define BAR	12u	/* signs */

struct request {
	const char *which;
	bool batch;
	unsigned long count;	/* of tables; 0: without end */
	uint32_t colour;
	double seconds;		/* from one to the next */
};

/* The state of all cards and open files at a moment. */
struct sample {
	int64_t at_ns;
	struct vtadev_card *cards;
	struct busy *busy;
	size_t nr_cards;
	struct holder *holders;
	int nr_holders;
};

/* The work of an open file between two samples. */
struct row {
	const struct holder *h;
	double compute, copy;	/* shares of the time */
	double runs, copies;	/* for each second */
};

static const char help[] =
	"Usage: vtactl top [--delay=SECONDS] [--batch] [--count=N] [--color=WHEN] [CARD]\n"
	"\n"
	"Shows live what each process does with cards: load of the engines, memory, launches\n"
	"(RUNs) and copies a second, queues (QUE). The busiest process comes first. q quits.\n"
	"\n"
	"  -b, --batch          print tables one after the other, without a terminal\n"
	"  -d, --delay=SECONDS  time from one table to the next, 0.1 to 86400 (2)\n"
	"  -n, --count=N        end after N tables\n"
	"      --color=WHEN     colours, without NO_COLOR in the environment: auto, always or never\n"
	"  -h, --help           print this text\n"
	"\n"
	"Other users' processes are shown to root only; the card's line includes their load.\n";

/* ---- Samples ---- */

static void free_sample(struct sample *sample)
{
	if (sample->cards)
		vtadev_list_free(sample->cards);
	free(sample->busy);
	free(sample->holders);
	*sample = (struct sample) { 0 };
}

static int take_sample(const char *which, struct sample *sample)
{
	int ret;

	*sample = (struct sample) { 0 };
	ret = ctl_cards(which, &sample->cards, &sample->nr_cards);
	if (ret) {
		sample->cards = NULL;
		return ret;
	}
	sample->busy = calloc(sample->nr_cards, sizeof(*sample->busy));
	for (size_t i = 0; sample->busy && i < sample->nr_cards; i++)
		sample->busy[i] = busy_now(sample->cards[i].index);
	sample->at_ns = ctl_now_ns();
	sample->nr_holders = sample->busy ? holders_find(&sample->holders) : -ENOMEM;
	if (sample->nr_holders < 0) {
		ret = ctl_error("top", sample->nr_holders);
		sample->nr_holders = 0;
		free_sample(sample);
	}
	return ret;
}

static const struct holder *find_holder(const struct sample *sample, uint64_t client)
{
	for (int i = 0; i < sample->nr_holders; i++)
		if (sample->holders[i].client == client)
			return &sample->holders[i];
	return NULL;
}

static bool is_shown(const struct sample *sample, unsigned int card)
{
	for (size_t i = 0; i < sample->nr_cards; i++)
		if (sample->cards[i].index == card)
			return true;
	return false;
}

/* ---- Rows ---- */

static struct row row_of(const struct holder *h, const struct sample *before, int64_t ns)
{
	static const struct holder nothing;
	const struct holder *then = find_holder(before, h->client);
	double s = (double)ns / 1e9;

	/* It has been opened since then. */
	if (!then)
		then = &nothing;
	return (struct row) {
		.h = h,
		.compute = busy_share(busy_grown(h->compute_ns, then->compute_ns), ns),
		.copy = busy_share(busy_grown(h->copy_ns, then->copy_ns), ns),
		.runs = (double)busy_grown(h->runs, then->runs) / s,
		.copies = (double)busy_grown(h->copies, then->copies) / s,
	};
}

static int by_work(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double work_x = x->compute + x->copy, work_y = y->compute + y->copy;

	if (work_x > work_y || work_x < work_y)
		return work_x < work_y ? 1 : -1;
	return (x->h->client > y->h->client) - (x->h->client < y->h->client);
}

/* The rows of the cards that are shown, to be freed. */
static struct row *rows_of(const struct sample *before, const struct sample *now, size_t *count)
{
	struct row *rows = calloc((size_t)now->nr_holders + 1, sizeof(*rows));

	*count = 0;
	for (int i = 0; rows && i < now->nr_holders; i++)
		if (is_shown(now, now->holders[i].card))
			rows[(*count)++] = row_of(&now->holders[i], before,
						  now->at_ns - before->at_ns);
	if (*count)
		qsort(rows, *count, sizeof(*rows), by_work);
	return rows;
}

/* ---- A table ---- */

/* Prints a line, to the terminal or to stdout. */
typedef void put_fn(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *bytes_text(uint64_t bytes, char text[16])
{
	static const char units[] = "BKMGTP";
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 9999.5 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	snprintf(text, 16, "%.0f%c", value, units[unit]);
	return text;
}

static const char *percent_text(bool known, double share, char text[16])
{
	if (known)
		snprintf(text, 16, "%.1f", 100 * share);
	else
		snprintf(text, 16, "-");
	return text;
}

static uint64_t number_of(int dir, const char *file)
{
	uint64_t value = 0;

	return dir >= 0 && files_number(dir, file, &value) ? value : 0;
}

static void put_card(put_fn *put, const struct sample *before, const struct sample *now, size_t i)
{
	unsigned int index = now->cards[i].index;
	char compute[16], copy[16], used[16], size[16], state[FILES_LINE] = "gone";
	int dir = files_card(index);
	uint64_t mem_size = number_of(dir, "mem_size");
	const struct busy *then = NULL, *b = &now->busy[i];
	double share[2] = { 0, 0 }, use;
	char bars[3][BAR_MAX];
	bool known;

	for (size_t k = 0; k < before->nr_cards; k++)
		if (before->cards[k].index == index)
			then = &before->busy[k];
	known = then && then->known && b->known;
	if (known) {
		int64_t ns = b->at_ns - then->at_ns;

		share[0] = busy_share(busy_grown(b->compute_ns, then->compute_ns), ns);
		share[1] = busy_share(busy_grown(b->copy_ns, then->copy_ns), ns);
	}
	if (dir >= 0)
		files_line(dir, "state", state);
	put("vta%u: compute %s %%, copy %s %%, memory %s of %s, queues %" PRIu64 " of %" PRIu64
	    ", contexts %" PRIu64 " of %" PRIu64 ", %s", index,
	    percent_text(known, share[0], compute), percent_text(known, share[1], copy),
	    bytes_text(mem_size - number_of(dir, "mem_free"), used), bytes_text(mem_size, size),
	    number_of(dir, "queues_used"), number_of(dir, "queues"),
	    number_of(dir, "contexts_used"), number_of(dir, "contexts"), state);
	use = mem_size ? (double)(mem_size - number_of(dir, "mem_free")) / (double)mem_size : 0;
	put("      compute %s%s%s copy %s%s%s memory %s%s%s", colour_begin(COLOUR_GREEN),
	    bar_text(share[0], BAR, bars[0]), colour_end(COLOUR_GREEN), colour_begin(COLOUR_GREEN),
	    bar_text(share[1], BAR, bars[1]), colour_end(COLOUR_GREEN),
	    colour_begin(colour_of_use(use)), bar_text(use, BAR, bars[2]),
	    colour_end(colour_of_use(use)));
	if (dir >= 0)
		close(dir);
}

static void put_row(put_fn *put, const struct row *row)
{
	const struct holder *h = row->h;
	char compute[16], copy[16], card[16], host[16], runs[16] = "-", copies[16] = "-", name[16];

	if (h->has_usage) {
		snprintf(runs, sizeof(runs), "%.1f", row->runs);
		snprintf(copies, sizeof(copies), "%.1f", row->copies);
	}
	snprintf(name, sizeof(name), "vta%u", h->card);
	put("%7d %-8.8s %-5s %5s %5s %6s %6s %8s %8s %3" PRIu64 " %s", (int)h->pid, h->user,
	    name, percent_text(h->has_usage, row->compute, compute),
	    percent_text(h->has_usage, row->copy, copy), bytes_text(h->card_bytes, card),
	    bytes_text(h->host_bytes + h->pinned_bytes + h->imported_bytes, host), runs, copies,
	    h->nr_queues, h->command);
}

/* Prints at most @lines lines. */
static void put_table(put_fn *put, const struct sample *before, const struct sample *now, int lines)
{
	struct row *rows;
	size_t count;

	for (size_t i = 0; i < now->nr_cards && lines > 1; i++, lines -= 2)
		put_card(put, before, now, i);
	if (lines-- > 0)
		put("%7s %-8s %-5s %5s %5s %6s %6s %8s %8s %3s %s", "PID", "USER", "CARD", "COMP%",
		    "COPY%", "MEMORY", "HOST", "RUNS/s", "COPIES/s", "QUE", "COMMAND");
	rows = rows_of(before, now, &count);
	for (size_t i = 0; i < count && lines-- > 0; i++)
		put_row(put, &rows[i]);
	free(rows);
}

/* ---- Batches ---- */

__attribute__((format(printf, 1, 2)))
static void put_stdout(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static int run_batch(const struct request *r, struct sample *before)
{
	unsigned long n = 0;
	struct sample now;
	int ret = CTL_OK;

	while (!ret) {
		ctl_sleep_until(before->at_ns + (int64_t)(r->seconds * 1e9));
		ret = take_sample(r->which, &now);
		if (ret)
			break;
		put_table(put_stdout, before, &now, INT32_MAX);
		putchar('\n');
		free_sample(before);
		*before = now;
		if (fflush(stdout) || ++n == r->count)
			break;
	}
	return ret;
}

/* ---- The screen ---- */

/* Adds a line as far as there are columns; curses makes attributes of bar.h's colours. */
static void add_line(const char *line)
{
	int room = COLS, row = getcury(stdscr);

	while (*line && room > 0) {
		int n = (int)strcspn(line, "\033"), number = 0, taken = 0;

		n = n < room ? n : room;
		addnstr(line, n);
		room -= n;
		line += n;
		if (*line != '\033')
			continue;
		if (sscanf(line, "\033[%dm%n", &number, &taken) == 1 && taken)
			attrset(number ? COLOR_PAIR(number - 30) : A_NORMAL);
		line += taken ? taken : 1;
	}
	attrset(A_NORMAL);
	if (row < LINES - 1)
		move(row + 1, 0);
}

__attribute__((format(printf, 1, 2)))
static void put_screen(const char *format, ...)
{
	char line[LINE];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	add_line(line);
}

/* Pair N is the foreground N, on the terminal's own background. */
static void begin_colours(void)
{
	if (start_color() == ERR || use_default_colors() == ERR) {
		colour_choose(COLOUR_NEVER);
		return;
	}
	for (short n = COLOR_RED; n <= COLOR_YELLOW; n++)
		init_pair(n, n, -1);
}

/* Waits until @until_ns; true if q was pressed. */
static bool wait_for_q(int64_t until_ns)
{
	for (;;) {
		int64_t left = until_ns - ctl_now_ns();

		if (left <= 0)
			return false;
		timeout((int)(left / 1000000) + 1);
		switch (getch()) {
		case 'q':
		case 'Q':
			return true;
		case KEY_RESIZE:
			clear();
			return false;
		case ERR:	/* the time is over, or there is no keyboard */
			ctl_sleep_until(until_ns);
			return false;
		default:
			break;
		}
	}
}

static int run_screen(const struct request *r, struct sample *before)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);
	struct sample now;
	unsigned long n = 0;
	int ret = CTL_OK;

	if (!screen)
		return ctl_fail("this terminal cannot be used", "use --batch");
	begin_colours();
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	while (!wait_for_q(before->at_ns + (int64_t)(r->seconds * 1e9))) {
		ret = take_sample(r->which, &now);
		if (ret)
			break;
		erase();
		move(0, 0);
		put_table(put_screen, before, &now, LINES);
		refresh();
		free_sample(before);
		*before = now;
		if (++n == r->count)
			break;
	}
	endwin();
	delscreen(screen);
	/* Prints the error again, on the normal screen. */
	if (ret && !take_sample(r->which, &now))
		free_sample(&now);
	return ret;
}

/* ---- The verb ---- */

static int parse(int argc, char **argv, struct request *r)
{
	const struct cli_option options[] = {
		{ CLI_FLAG("batch", &r->batch) },
		{ CLI_WORD("color", &r->colour) },
		{ CLI_NUMBER("count", &r->count, 1, 1000000000) },
		{ .name = "delay", .set = ctl_set_seconds, .to = &r->seconds },
		{ 0 },
	};
	int ret = cli_options(help, options, 1, &argc, &argv);

	colour_choose(r->colour);
	r->which = argv[0];
	return ret;
}

int top_main(int argc, char **argv)
{
	struct request r = { .seconds = 2 };
	int ret = parse(argc, argv, &r);
	struct sample before;

	if (ret != CLI_GO)
		return ret;
	ret = take_sample(r.which, &before);
	if (ret)
		return ret;
	ret = r.batch ? run_batch(&r, &before) : run_screen(&r, &before);
	free_sample(&before);
	return ret;
}
