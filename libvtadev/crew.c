// SPDX-License-Identifier: Apache-2.0
/* Threads that take the next item of the last job until there is none. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "crew.h"
#include "thread.h"

struct crew {
	pid_t owner;
	pthread_mutex_t lock;		/* protects what follows, and the jobs' own fields */
	pthread_cond_t given, done;	/* items, or the end; a job's last item */
	bool end;
	struct crew_job *jobs;		/* with items that are not begun, in their order */
	atomic_uint idle;		/* threads that wait for @given */
	unsigned int threads;
	pthread_t ids[];
};

unsigned int crew_processors(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return (unsigned int)n < CREW_THREADS_MAX ? (unsigned int)n : CREW_THREADS_MAX;
}

static void remove_job(struct crew *crew, const struct crew_job *job)
{
	struct crew_job **at = &crew->jobs;

	while (*at != job)
		at = &(*at)->link;
	*at = job->link;
}

/* Runs an item of a job that has one. Called with the lock, and returns with it. */
static void run_item(struct crew *crew, struct crew_job *job)
{
	unsigned int i = job->next++;

	if (job->next == job->n)
		remove_job(crew, job);
	pthread_mutex_unlock(&crew->lock);
	job->run(job->arg, i);
	pthread_mutex_lock(&crew->lock);
	if (!--job->left)
		pthread_cond_broadcast(&crew->done);
}

static void *work(void *arg)
{
	struct crew *crew = arg;

	pthread_mutex_lock(&crew->lock);
	while (!crew->end) {
		if (crew->jobs) {
			run_item(crew, crew->jobs);
			continue;
		}
		atomic_fetch_add(&crew->idle, 1);
		pthread_cond_wait(&crew->given, &crew->lock);
		atomic_fetch_sub(&crew->idle, 1);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

int crew_new(unsigned int threads, struct crew **out)
{
	struct crew *crew = calloc(1, sizeof(*crew) + threads * sizeof(crew->ids[0]));

	if (!crew)
		return -ENOMEM;
	crew->owner = getpid();
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->given, NULL);
	pthread_cond_init(&crew->done, NULL);
	while (crew->threads + 1 < threads &&
	       !thread_create(&crew->ids[crew->threads], work, crew))
		crew->threads++;
	*out = crew;
	return 0;
}

void crew_free(struct crew *crew)
{
	if (crew && crew->owner == getpid()) {
		pthread_mutex_lock(&crew->lock);
		crew->end = true;
		pthread_cond_broadcast(&crew->given);
		pthread_mutex_unlock(&crew->lock);
		for (unsigned int i = 0; i < crew->threads; i++)
			pthread_join(crew->ids[i], NULL);
		pthread_cond_destroy(&crew->done);
		pthread_cond_destroy(&crew->given);
		pthread_mutex_destroy(&crew->lock);
	}
	free(crew);
}

unsigned int crew_threads(const struct crew *crew)
{
	return crew ? crew->threads + 1 : 1;
}

unsigned int crew_idle(struct crew *crew)
{
	return crew ? atomic_load_explicit(&crew->idle, memory_order_relaxed) : 0;
}

static void give_job(struct crew *crew, struct crew_job *job, bool last)
{
	struct crew_job **at;

	job->next = 0;
	job->left = job->n;
	if (!crew || !job->n)
		return;
	pthread_mutex_lock(&crew->lock);
	at = &crew->jobs;
	while (last && *at)
		at = &(*at)->link;
	job->link = *at;
	*at = job;
	for (unsigned int i = 0; i < job->n && i < crew_idle(crew); i++)
		pthread_cond_signal(&crew->given);
	pthread_mutex_unlock(&crew->lock);
}

void crew_start(struct crew *crew, struct crew_job *job)
{
	give_job(crew, job, false);
}

void crew_append(struct crew *crew, struct crew_job *job)
{
	give_job(crew, job, true);
}

void crew_finish(struct crew *crew, struct crew_job *job)
{
	if (!crew) {
		while (job->next < job->n)
			job->run(job->arg, job->next++);
		return;
	}
	pthread_mutex_lock(&crew->lock);
	while (job->next < job->n)
		run_item(crew, job);
	while (job->left)
		pthread_cond_wait(&crew->done, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}

void crew_run(struct crew *crew, void (*run)(void *arg, unsigned int i), void *arg, unsigned int n)
{
	struct crew_job job = { .run = run, .arg = arg, .n = n };

	/* A single item needs no other thread. */
	crew = n > 1 ? crew : NULL;
	crew_start(crew, &job);
	crew_finish(crew, &job);
}
