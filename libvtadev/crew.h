/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew.h - threads that run the items of jobs, beside the threads that have the jobs
 *
 * Any thread may give a job, an item of another job too: its own items go first. An item may wait
 * for items of its job that have lower numbers, as these have begun; for others it must not.
 */
#ifndef VTADEV_CREW_H
#define VTADEV_CREW_H

#include <stddef.h>

#define CREW_THREADS_MAX	64u

struct crew;

/**
 * struct crew_job - items from 0 to @n - 1
 * @run: runs item @i, in any thread
 * @arg: for @run
 * @n: number of items
 * @next: the crew's, as are those below: the next item that is not begun
 * @left: items that have not ended
 * @link: the job whose items go after its own
 */
struct crew_job {
	void (*run)(void *arg, unsigned int i);
	void *arg;
	unsigned int n;
	unsigned int next, left;
	struct crew_job *link;
};

/* crew_processors() - the processors that this process may use, at most CREW_THREADS_MAX */
unsigned int crew_processors(void);

/*
 * crew_new() - start threads, so that there are @threads with one that gives jobs; fewer, if no
 * more can be had. Returns 0 or -ENOMEM.
 */
int crew_new(unsigned int threads, struct crew **crew);

/* crew_free() - end the threads; in a child of fork(), which has none, only free; or NULL */
void crew_free(struct crew *crew);

/* crew_threads() - threads of the crew with the one that gives jobs; 1 for NULL */
unsigned int crew_threads(const struct crew *crew);

/* crew_idle() - threads that wait for items at the moment; 0 for NULL */
unsigned int crew_idle(struct crew *crew);

/*
 * crew_start() - give a job, which exists until crew_finish(). Its items begin in the order of
 * their numbers. Without a crew (NULL) they all run in crew_finish().
 */
void crew_start(struct crew *crew, struct crew_job *job);

/* crew_append() - as crew_start(), but jobs that were given before go first */
void crew_append(struct crew *crew, struct crew_job *job);

/* crew_finish() - run what is left of a job, and wait for all of it */
void crew_finish(struct crew *crew, struct crew_job *job);

/* crew_run() - run @n items, and wait for all of them */
void crew_run(struct crew *crew, void (*run)(void *arg, unsigned int i), void *arg, unsigned int n);

#endif /* VTADEV_CREW_H */
