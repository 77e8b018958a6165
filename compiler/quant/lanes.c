// SPDX-License-Identifier: Apache-2.0
/*
 * Images side by side. The caller's thread reads images ahead of the others, and reports the
 * progress, between the images that it runs. An image waits for earlier ones alone, which have
 * begun before it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "passes/passes.h"
#include "quant_impl.h"

/* Memory of all images that are under way beside the first */
#define BYTES_MAX	((uint64_t)64 << 20)

struct lanes {
	struct lane_work *work;
	const struct vtac_graph *graphs[2];
	unsigned int ahead;		/* images that are read at most before they begin */
	void ***read_ahead;		/* [ahead]: by image */
	struct vtac_graph failure;	/* its error: of an image not read, or the caller's */
	pthread_mutex_t lock;		/* protects what follows, work->failed and work->bad */
	pthread_cond_t moved;		/* any of it */
	unsigned int read, begun, ended;
	unsigned int *done;		/* [turns]: images that have had it */
};

/* ---- inputs ---- */

static void free_inputs(void **inputs)
{
	for (unsigned int i = 0; inputs && inputs[i]; i++)
		free(inputs[i]);
	free(inputs);
}

/* The inputs of both graphs, and NULL; NULL with an error of @g. */
static void **read_inputs(const struct lanes *l, unsigned int image, struct vtac_graph *g)
{
	unsigned int n = 0;
	void **inputs;

	for (int k = 0; k < 2; k++)
		n += l->graphs[k] ? l->graphs[k]->n_inputs : 0;
	inputs = calloc(n + 1u, sizeof(*inputs));
	n = 0;
	for (int k = 0; k < 2 && inputs; k++)
		for (unsigned int i = 0; l->graphs[k] && i < l->graphs[k]->n_inputs; i++) {
			const struct vtac_tensor *t = l->graphs[k]->inputs[i];

			inputs[n] = malloc((size_t)vtac_bytes(t) + 1);
			if (!inputs[n]) {
				vtac_fail(g, NULL, "Out of memory.");
				goto fail;
			}
			if (vtac_read_image(g, l->work->images, image, t, inputs[n++]))
				goto fail;
		}
	if (inputs)
		return inputs;
	vtac_fail(g, NULL, "Out of memory.");
fail:
	free_inputs(inputs);
	return NULL;
}

int lane_input(void *priv, const struct vtac_tensor *t, void *data)
{
	const struct lane *lane = priv;
	unsigned int n = 0;

	for (int k = 0; k < 2; k++) {
		const struct vtac_graph *g = lane->lanes->graphs[k];

		for (unsigned int i = 0; g && i < g->n_inputs; i++, n++)
			if (g->inputs[i] == t) {
				memcpy(data, lane->inputs[n], (size_t)vtac_bytes(t));
				return 0;
			}
	}
	return -1;
}

/* ---- turns ---- */

/* With the lock */
static void fail_from(struct lanes *l, unsigned int image, const struct vtac_tensor *bad)
{
	if (image >= l->work->failed)
		return;
	l->work->failed = image;
	l->work->bad = bad;
	pthread_cond_broadcast(&l->moved);
}

void lane_fail(struct lane *lane, const struct vtac_tensor *bad)
{
	pthread_mutex_lock(&lane->lanes->lock);
	fail_from(lane->lanes, lane->image, bad);
	pthread_mutex_unlock(&lane->lanes->lock);
}

bool lane_ended(void *priv)
{
	const struct lane *lane = priv;
	bool ended;

	pthread_mutex_lock(&lane->lanes->lock);
	ended = lane->image >= lane->lanes->work->failed;
	pthread_mutex_unlock(&lane->lanes->lock);
	return ended;
}

bool lane_turn(struct lane *lane, unsigned int i)
{
	struct lanes *l = lane->lanes;
	bool mine;

	pthread_mutex_lock(&l->lock);
	while (l->done[i] < lane->image && lane->image < l->work->failed)
		pthread_cond_wait(&l->moved, &l->lock);
	mine = l->done[i] == lane->image && lane->image < l->work->failed;
	pthread_mutex_unlock(&l->lock);
	return mine;
}

void lane_pass(struct lane *lane, unsigned int i)
{
	struct lanes *l = lane->lanes;

	pthread_mutex_lock(&l->lock);
	l->done[i] = lane->image + 1;
	pthread_cond_broadcast(&l->moved);
	pthread_mutex_unlock(&l->lock);
}

/* ---- images ---- */

/* Read images ahead; in the caller's thread, with the lock, which it leaves meanwhile. */
static void read_ahead(struct lanes *l)
{
	while (l->read < l->work->failed && l->read - l->begun < l->ahead) {
		unsigned int image = l->read;
		void **inputs;

		pthread_mutex_unlock(&l->lock);
		/* An earlier image may fail yet: only then the error is the graph's. */
		inputs = read_inputs(l, image, &l->failure);
		pthread_mutex_lock(&l->lock);
		if (!inputs) {
			fail_from(l, image, NULL);
			return;
		}
		l->read_ahead[image % l->ahead] = inputs;
		l->read++;
		pthread_cond_broadcast(&l->moved);
	}
}

/* The next image; false if there is none. With the lock. */
static bool begin_image(struct lanes *l, struct lane *lane, bool caller)
{
	if (caller)
		read_ahead(l);
	while (!caller && l->begun == l->read && l->read < l->work->failed)
		pthread_cond_wait(&l->moved, &l->lock);
	if (l->begun == l->read || l->begun >= l->work->failed)
		return false;
	*lane = (struct lane) { .lanes = l, .image = l->begun++ };
	lane->inputs = l->read_ahead[lane->image % l->ahead];
	l->read_ahead[lane->image % l->ahead] = NULL;
	return true;
}

/* Reports the progress; with the lock, which it leaves meanwhile. */
static void report(struct lanes *l)
{
	const struct vtac_options *opt = l->work->opt;
	unsigned int ended = l->ended;
	int end;

	if (!opt->progress)
		return;
	pthread_mutex_unlock(&l->lock);
	end = opt->progress(opt->progress_priv, l->work->what, ended, l->work->count);
	pthread_mutex_lock(&l->lock);
	if (!end)
		return;
	l->failure.error.text[0] = 0;
	vtac_fail(&l->failure, NULL, "The caller ended the compilation.");
	fail_from(l, 0, NULL);
}

/* Images one after the other, until there are none. */
static void run_lane(struct lanes *l, bool caller)
{
	struct lane lane;

	pthread_mutex_lock(&l->lock);
	while (begin_image(l, &lane, caller)) {
		int err;

		if (caller)
			report(l);
		pthread_mutex_unlock(&l->lock);
		err = lane_ended(&lane) ? -1 : l->work->run(l->work->priv, &lane);
		free_inputs(lane.inputs);
		pthread_mutex_lock(&l->lock);
		if (err)
			fail_from(l, lane.image, NULL);
		l->ended++;
	}
	pthread_mutex_unlock(&l->lock);
}

static void run_item(void *arg, unsigned int i)
{
	(void)i;
	run_lane(arg, false);
}

/* Images that are under way at once */
static unsigned int count_lanes(const struct lane_work *work)
{
	uint64_t each = 1 + work->bytes, n = crew_threads(work->g->crew);

	for (int k = 0; k < 2; k++)
		if (work->graphs[k]) {
			uint64_t bytes = vtac_float_bytes(work->graphs[k]);

			each = bytes > BYTES_MAX ? BYTES_MAX + 1 : each + bytes;
		}
	n = n < 1 + BYTES_MAX / each ? n : 1 + BYTES_MAX / each;
	return n < work->count ? (unsigned int)n : work->count;
}

int lanes_run(struct lane_work *work)
{
	unsigned int n = count_lanes(work);
	struct lanes l = {
		.work = work, .ahead = n + 1, .lock = PTHREAD_MUTEX_INITIALIZER,
		.moved = PTHREAD_COND_INITIALIZER,
	};
	struct crew_job job = { .run = run_item, .arg = &l, .n = n - 1 };

	for (int k = 0; k < 2; k++)
		l.graphs[k] = work->graphs[k] ? vtac_float_graph(work->graphs[k]) : NULL;
	work->failed = work->count;
	work->bad = NULL;
	l.read_ahead = calloc(l.ahead, sizeof(*l.read_ahead));
	l.done = calloc(work->turns + 1u, sizeof(*l.done));
	if (l.read_ahead && l.done) {
		crew_start(work->g->crew, &job);
		run_lane(&l, true);
		crew_finish(work->g->crew, &job);
		pthread_mutex_lock(&l.lock);
		if (work->failed == work->count)
			report(&l);
		pthread_mutex_unlock(&l.lock);
	}
	for (unsigned int i = 0; l.read_ahead && i < l.ahead; i++)
		free_inputs(l.read_ahead[i]);
	if (!l.read_ahead || !l.done)
		work->failed = 0;
	free(l.read_ahead);
	free(l.done);
	if (work->failed == work->count)
		return 0;
	if (l.failure.error.text[0])
		return vtac_fail(work->g, NULL, "%s", l.failure.error.text);
	for (int k = 0; k < 2; k++)
		if (work->bad || (l.graphs[k] && l.graphs[k]->error.text[0]))
			return -1;
	return vtac_fail(work->g, NULL, "Out of memory.");
}
