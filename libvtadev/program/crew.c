// SPDX-License-Identifier: Apache-2.0
/* Threads for the parts of kernels: they take the next part until there is none. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "crew.h"
#include "thread.h"

struct crew {
	pid_t owner;
	pthread_mutex_t lock;		/* protects what follows, but for the parts */
	pthread_cond_t given, done;	/* parts, or the end; the last part */
	bool end;
	const struct vtacpu_part *parts;
	char *scratch;
	size_t scratch_bytes;
	unsigned int n, next, left;	/* parts; of these, not begun from next on; not done */
	unsigned int threads;
	pthread_t ids[];
};

/* Runs parts while there are any. Called with the lock, and returns with it. */
static void take_parts(struct crew *crew)
{
	while (crew->next < crew->n) {
		unsigned int i = crew->next++;
		const struct vtacpu_part *part = &crew->parts[i];
		void *scratch = crew->scratch + i * crew->scratch_bytes;

		pthread_mutex_unlock(&crew->lock);
		vtacpu_run(part->kernel, &part->params, part->io, scratch);
		pthread_mutex_lock(&crew->lock);
		if (!--crew->left)
			pthread_cond_signal(&crew->done);
	}
}

static void *work(void *arg)
{
	struct crew *crew = arg;

	pthread_mutex_lock(&crew->lock);
	while (!crew->end) {
		take_parts(crew);
		if (!crew->end)
			pthread_cond_wait(&crew->given, &crew->lock);
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

void crew_run(struct crew *crew, const struct vtacpu_part *parts, unsigned int n, void *scratch,
	      size_t scratch_bytes)
{
	pthread_mutex_lock(&crew->lock);
	crew->parts = parts;
	crew->scratch = scratch;
	crew->scratch_bytes = scratch_bytes;
	crew->n = n;
	crew->next = 0;
	crew->left = n;
	pthread_cond_broadcast(&crew->given);
	take_parts(crew);
	while (crew->left)
		pthread_cond_wait(&crew->done, &crew->lock);
	/* No thread that wakes late finds parts. */
	crew->n = 0;
	crew->next = 0;
	pthread_mutex_unlock(&crew->lock);
}
