// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz - random programs of calls, led by the kernel's coverage
 *
 *   fuzz [-b] [-n OPERATIONS] [-w WORKERS] [-s SEED] [-o OUT] [PROGRAM-FILE...]
 *
 * The given programs are executed first (-n 0: only these). -b: the card fails, too,
 * with what it answers. OUT/corpus gets what has been found, and OUT/crashes what was
 * being executed when the kernel complained. Prints TAP.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "card.h"
#include "log.h"
#include "vta_emu.h"
#include "vta_selftest.h"

#define NOBODY		65534
/*
 * Times are counted in turns of sleeping: a guest's clock may jump when a busy host
 * lets its processors wait. A process that has executed nothing for so many turns is stuck.
 */
#define TURN_MS		100
#define STUCK_TURNS	3000
#define SETTLE_TURNS	200
#define DEATHS_MAX	20
#define REPORT_MS	30000

static struct {
	unsigned int workers;
	uint64_t seed;
	const char *out;
	char **files;
	int nr_files;
} opts = { .workers = 4, .seed = 1 };

static int tests, failures;

static void print_result(bool good, const char *what)
{
	printf("%sok %d %s\n", good ? "" : "not ", ++tests, what);
	fflush(stdout);
	failures += !good;
}

/* ---- Workers ---- */

static void execute_prog(struct worker *self, const struct prog *prog)
{
	self->now = *prog;
	exec_prog(&self->now);
	self->progs++;
}

static void replay(struct worker *self, unsigned int number)
{
	struct prog prog;
	int i;

	for (i = (int)number; i < opts.nr_files; i += (int)opts.workers) {
		if (prog_read(&prog, opts.files[i]) || !prog.len)
			continue;
		execute_prog(self, &prog);
		if (!atomic_load(&pool->learns))
			pool_add(&prog);
	}
}

static const struct prog *any_prog(uint64_t *random)
{
	static const struct prog none;
	unsigned int n = atomic_load(&pool->nr_progs);

	if (n > POOL_PROGS)
		n = POOL_PROGS;
	return n ? &pool->progs[(random_next(random) >> 32) % n] : &none;
}

static void run_worker(unsigned int number, unsigned int life)
{
	struct worker *self = &pool->workers[number];
	uint64_t random = opts.seed * 0x9e3779b97f4a7c15ull + (life * WORKERS_MAX + number + 1);

	exec_begin();
	/* Half of them are users like any other. */
	if (number % 2 && !pool->breaks && setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!life)
		replay(self, number);
	while (!atomic_load(&pool->stop) && atomic_load(&pool->ops) < pool->ops_max) {
		struct prog prog = *any_prog(&random);

		if (prog.len > PROG_OPS)	/* it was being replaced */
			continue;
		mutate(&prog, any_prog(&random), &random);
		execute_prog(self, &prog);
	}
	_exit(0);
}

static void start_worker(unsigned int number, unsigned int life)
{
	pid_t pid = fork();

	if (!pid)
		run_worker(number, life);
	pool->workers[number].pid = pid;
}

/* ---- What becomes of them ---- */

static void keep_prog(const struct prog *prog, const char *dir, unsigned int number)
{
	char path[256];

	if (!opts.out)
		return;
	snprintf(path, sizeof(path), "%s/%s", opts.out, dir);
	mkdir(opts.out, 0755);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%u-%u", opts.out, dir, (unsigned int)opts.seed, number);
	prog_write(prog, path);
}

static void keep_all_now(void)
{
	unsigned int i;

	for (i = 0; i < opts.workers; i++)
		keep_prog(&pool->workers[i].now, "crashes", i);
}

static void report_progress(int64_t begin)
{
	printf("# %llu operations, %llu programs, %llu that found no card, "
	       "%u edges by %u programs, %lld s\n",
	       (unsigned long long)pool->ops,
	       (unsigned long long)pool->with_card,
	       (unsigned long long)pool->without_card, pool->edges_seen, pool->nr_progs,
	       (long long)(now_ns() - begin) / 1000000000);
	fflush(stdout);
}

static void show_stack(pid_t pid)
{
	char command[64];

	snprintf(command, sizeof(command), "cat /proc/%d/task/*/stack", (int)pid);
	if (system(command))
		printf("# no stack of %d\n", (int)pid);
}

struct watch {
	uint64_t progs[WORKERS_MAX];
	unsigned int idle[WORKERS_MAX];		/* turns */
	unsigned int lives[WORKERS_MAX];
	unsigned int running, deaths;
	const char *wrong;
};

static void look_after(struct watch *w, unsigned int i)
{
	struct worker *worker = &pool->workers[i];
	int status;

	if (!worker->pid)
		return;
	if (waitpid(worker->pid, &status, WNOHANG) == worker->pid) {
		worker->pid = 0;
		if (WIFEXITED(status) && !WEXITSTATUS(status)) {
			w->running--;
			return;
		}
		printf("# worker %u ended with status 0x%x\n", i, status);
		keep_prog(&worker->now, "crashes", 100 + w->deaths);
		if (++w->deaths > DEATHS_MAX)
			w->wrong = "workers die";
		else
			start_worker(i, ++w->lives[i]);
		return;
	}
	if (worker->progs != w->progs[i]) {
		w->progs[i] = worker->progs;
		w->idle[i] = 0;
	} else if (++w->idle[i] > STUCK_TURNS) {
		w->wrong = "a worker is stuck";
		show_stack(worker->pid);
	}
}

static void watch_all(struct watch *w)
{
	int64_t begin = now_ns(), told = begin;
	const char *line;
	unsigned int i;

	w->running = opts.workers;
	for (i = 0; i < opts.workers; i++)
		start_worker(i, 0);
	while (w->running && !w->wrong) {
		sleep_ms(TURN_MS);
		for (i = 0; i < opts.workers && !w->wrong; i++)
			look_after(w, i);
		line = log_complaint();
		if (line) {
			w->wrong = "the kernel complains";
			printf("# %s\n", line);
		}
		if (now_ns() - told > REPORT_MS * 1000000ll) {
			told = now_ns();
			report_progress(begin);
		}
	}
	if (w->wrong)
		keep_all_now();
	report_progress(begin);
	atomic_store(&pool->stop, true);
	for (i = 0; i < opts.workers; i++)
		if (pool->workers[i].pid > 0)
			kill(pool->workers[i].pid, SIGKILL);
	while (wait(NULL) > 0)
		;
}

/* ---- Afterwards ---- */

/* As it is, or once the driver has been bound again. */
static bool works(void)
{
	unsigned int turns = 0;

	if (pool->breaks) {
		emu_clear();
		card_unbind();
		card_bind();
	}
	while (!card_bound() || card_try()) {
		if (++turns > SETTLE_TURNS)
			return false;
		sleep_ms(TURN_MS);
	}
	return true;
}

static bool nothing_left(void)
{
	unsigned int turns = 0;
	const char *left;

	while ((left = card_leftover()) && ++turns < SETTLE_TURNS)
		sleep_ms(TURN_MS);
	if (left)
		printf("# %s is not back to where it was\n", left);
	return !left;
}

static void keep_corpus(void)
{
	unsigned int i, n = pool->nr_progs < POOL_PROGS ? pool->nr_progs : POOL_PROGS;

	for (i = 0; i < n; i++)
		if (pool->progs[i].len <= PROG_OPS)
			keep_prog(&pool->progs[i], "corpus", i);
}

static bool parse_options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "bn:w:s:o:")) != -1) {
		switch (opt) {
		case 'b':
			pool->breaks = true;
			break;
		case 'n':
			pool->ops_max = strtoull(optarg, NULL, 0);
			break;
		case 'w':
			opts.workers = (unsigned int)atoi(optarg);
			break;
		case 's':
			opts.seed = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			opts.out = optarg;
			break;
		default:
			return false;
		}
	}
	opts.files = argv + optind;
	opts.nr_files = argc - optind;
	return opts.workers && opts.workers <= WORKERS_MAX;
}

int main(int argc, char **argv)
{
	struct watch watch = { 0 };
	char what[160];

	if (pool_create() || !parse_options(argc, argv))
		return 2;
	pool->control = open("/tmp/fuzz-control", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (card_find() || !card_bound() || chmod(card_node(), 0666)) {
		printf("Bail out! no card\n");
		return 1;
	}
	printf("TAP version 13\n1..3\n# seed %llu\n", (unsigned long long)opts.seed);
	log_begin();
	watch_all(&watch);
	snprintf(what, sizeof(what), "%llu operations by %u processes, %u edges of the module%s%s",
		 (unsigned long long)pool->ops, opts.workers, pool->edges_seen,
		 watch.wrong ? ": " : "", watch.wrong ? watch.wrong : "");
	print_result(!watch.wrong && !watch.deaths && pool->ops >= pool->ops_max, what);
	print_result(works(), "the card works");
	print_result(nothing_left(), "nothing is left");
	keep_corpus();
	return failures ? 1 : 0;
}
