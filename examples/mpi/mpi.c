// SPDX-License-Identifier: Apache-2.0
/*
 * Classify the test set's digits on many cards: each rank of MPI has a card and a part of
 * the images.
 *
 *	mpirun -n 4 digits-mpi [-f RANK|all:IMAGES] DIGITS.vtap TESTSET
 *
 * There is no master: all ranks know which images are done, and compute their own part of
 * the others. A rank whose card fails stays, without a card; the next round divides its
 * remaining images among the others. The job ends when all images are done, or no rank has
 * a card any more.
 *
 * -f is for tests: the rank's card fails for good after IMAGES images.
 *
 * Rank 0 compares all scores with the CPU's. Exit status: 0 if they are equal, 1 if not, on
 * any error, and if images remain without a card; 2 for a wrong command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "network.h"
#include "testset.h"
#include "worker.h"

struct job {
	int rank, ranks;
	struct digits_testset set;
	struct worker *worker;		/* NULL: this rank has no card (any more) */
	uint32_t fail_after;		/* UINT32_MAX: never */
	uint32_t images, rounds;	/* what this rank has done */
	uint64_t cycles;
	/* By image; zeros for those that are not done, or not known to this rank. */
	uint8_t *done;
	int8_t (*scores)[DIGITS_CLASSES];
};

/* Allocate zeroed memory. If that fails, the job ends: no rank could continue. */
static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		MPI_Abort(MPI_COMM_WORLD, 1);
		abort();
	}
	return memory;
}

/* Classify image @i, if there is still a card. */
static void classify(struct job *job, uint32_t i)
{
	if (job->images == job->fail_after)
		worker_break(job->worker);
	if (worker_run(job->worker, job->set.images[i], job->scores[i])) {
		job->done[i] = 1;
		job->images++;
		return;
	}
	job->cycles = worker_cycles(job->worker);
	worker_close(job->worker);
	job->worker = NULL;
}

/* Classify the @place'th of @workers equal parts of the @left remaining images. */
static void do_part(struct job *job, uint32_t place, uint32_t workers, uint32_t left)
{
	uint32_t from = (uint32_t)((uint64_t)left * place / workers);
	uint32_t to = (uint32_t)((uint64_t)left * (place + 1) / workers);
	uint8_t *known = allocate(job->set.count, 1);

	/* All ranks divide the same images: those that remained before this round. */
	memcpy(known, job->done, job->set.count);
	for (uint32_t i = 0, n = 0; i < job->set.count && n < to; i++) {
		if (known[i])
			continue;
		if (n++ >= from && job->worker)
			classify(job, i);
	}
	free(known);
}

static uint32_t left_to_do(const struct job *job)
{
	uint32_t left = job->set.count;

	for (uint32_t i = 0; i < job->set.count; i++)
		left -= job->done[i];
	return left;
}

/* Run rounds until all images are done. Returns how many remain without a card. */
static uint32_t do_all(struct job *job)
{
	uint32_t left;

	for (;;) {
		int mine = !!job->worker, before = 0, workers;

		left = left_to_do(job);
		MPI_Allreduce(&mine, &workers, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (!left || !workers)
			return left;
		MPI_Exscan(&mine, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (mine)
			do_part(job, job->rank ? (uint32_t)before : 0, (uint32_t)workers, left);
		MPI_Allreduce(MPI_IN_PLACE, job->done, (int)job->set.count, MPI_UINT8_T, MPI_BOR,
			      MPI_COMM_WORLD);
		job->rounds++;
	}
}

/* Print a line for each rank, in their order, on rank 0. */
static void report_ranks(const struct job *job, uint32_t clock_khz)
{
	uint64_t mine[2] = { job->images, job->cycles }, longest = 0;
	uint64_t (*all)[2] = allocate((size_t)job->ranks, sizeof(*all));

	MPI_Gather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	for (int i = 0; !job->rank && i < job->ranks; i++) {
		printf("rank %-4d %6" PRIu64 " images %12" PRIu64 " cycles\n", i, all[i][0],
		       all[i][1]);
		if (all[i][1] > longest)
			longest = all[i][1];
	}
	if (!job->rank)
		printf("longest   %" PRIu64 " cycles, %.3f ms of card time\n", longest,
		       clock_khz ? (double)longest / clock_khz : 0);
	free(all);
}

/* Compare all scores, which rank 0 has, with the CPU's. */
static bool check(const struct job *job)
{
	uint32_t right = 0, equal = 0;

	for (uint32_t i = 0; i < job->set.count; i++) {
		int8_t want[DIGITS_CLASSES];

		digits_reference(job->set.images[i], want);
		equal += !memcmp(want, job->scores[i], sizeof(want));
		right += digits_best(job->scores[i]) == job->set.labels[i];
	}
	printf("accuracy  %.2f %% (%" PRIu32 " of %" PRIu32 " images)\n",
	       100.0 * right / job->set.count, right, job->set.count);
	printf("scores    %s: %" PRIu32 " of %" PRIu32 " equal the CPU reference bit for bit\n",
	       equal == job->set.count ? "exact" : "WRONG", equal, job->set.count);
	return equal == job->set.count;
}

/* Run the job, collectively. Returns the exit status, the same for all ranks. */
static int run(struct job *job)
{
	uint32_t khz = job->worker ? worker_info(job->worker)->clock_khz : 0, clock_khz;
	uint32_t left = do_all(job);
	int ok = 1;

	if (job->worker)
		job->cycles = worker_cycles(job->worker);
	MPI_Allreduce(&khz, &clock_khz, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
	report_ranks(job, clock_khz);
	if (left) {
		if (!job->rank)
			fprintf(stderr, "digits-mpi: no rank has a card any more: %u of %u images "
				"are not classified\n", left, job->set.count);
		return 1;
	}
	MPI_Reduce(job->rank ? job->scores : MPI_IN_PLACE, job->scores,
		   (int)(job->set.count * DIGITS_CLASSES), MPI_UINT8_T, MPI_BOR, 0,
		   MPI_COMM_WORLD);
	if (!job->rank) {
		printf("rounds    %" PRIu32 "\n", job->rounds);
		ok = check(job);
	}
	MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return !ok;
}

/* Return this rank's number among those of its machine. */
static int local_rank(void)
{
	MPI_Comm machine;
	int rank;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
	MPI_Comm_rank(machine, &rank);
	MPI_Comm_free(&machine);
	return rank;
}

/* Parse "RANK:IMAGES" or "all:IMAGES". */
static bool parse_fail(struct job *job, const char *text)
{
	uint32_t images;
	char end;
	int rank;

	if (sscanf(text, "all:%" SCNu32 "%c", &images, &end) == 1)
		rank = job->rank;
	else if (sscanf(text, "%d:%" SCNu32 "%c", &rank, &images, &end) != 2)
		return false;
	if (rank == job->rank)
		job->fail_after = images;
	return true;
}

static bool arguments(struct job *job, int argc, char **argv)
{
	bool good = true;
	int opt;

	while ((opt = getopt(argc, argv, "f:")) != -1)
		good = good && opt == 'f' && parse_fail(job, optarg);
	if (good && optind == argc - 2)
		return true;
	if (!job->rank)
		fprintf(stderr, "usage: digits-mpi [-f RANK|all:IMAGES] DIGITS.vtap TESTSET\n");
	return false;
}

/* Read the test set, each rank for itself. Returns false for all if one rank cannot. */
static bool load(struct job *job, const char *path)
{
	int err = digits_load(path, &job->set), good;

	if (err)
		fprintf(stderr, "rank %d: %s: %s\n", job->rank, path, strerror(-err));
	job->done = allocate(job->set.count + 1, 1);
	job->scores = allocate(job->set.count + 1, sizeof(*job->scores));
	good = !err && job->set.count;
	MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return good;
}

int main(int argc, char **argv)
{
	struct job job = { .fail_after = UINT32_MAX };
	int status = 1;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
	if (!arguments(&job, argc, argv)) {
		status = 2;
	} else if (load(&job, argv[optind + 1])) {
		job.worker = worker_open(worker_card(local_rank()), argv[optind], job.rank);
		if (job.worker)
			printf("rank %-4d %s\n", job.rank, worker_info(job.worker)->card.node);
		fflush(stdout);
		status = digits_status("digits-mpi", !run(&job));
	}
	worker_close(job.worker);
	digits_unload(&job.set);
	free(job.done);
	free(job.scores);
	MPI_Finalize();
	return status;
}
