// SPDX-License-Identifier: Apache-2.0
/*
 * trace.c - take down when descriptors ran
 *
 * The only global state of the library, and only if VTADEV_TRACE is set when a
 * queue is made: a process has one trace, whatever it opens. One lock protects the trace;
 * recording takes this lock, so tracing adds to the measured times.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "dev.h"
#include "output.h"
#include "queue.h"
#include "trace.h"
#include "trace_file.h"

/* Descriptors that are kept, some 30 MiB; VTADEV_TRACE_MAX sets another number. */
#define KEPT_DEFAULT	(1ull << 18)

/* A place of the ring. */
struct place {
	struct vta_desc desc;
	int64_t submitted_ns;	/* CLOCK_MONOTONIC */
};

struct trace {
	struct trace *next;
	struct vtadev_queue *queue;
	struct trace_track *track;
	struct vtadev_buf *stamps;
	const struct vta_stamp *stamp;
	struct place *places;
	uint64_t taken;		/* descriptors taken down */
};

struct known_buf {
	struct known_buf *next;
	struct vtadev_buf *buf;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* Protects: all below */
static pthread_once_t at_fork = PTHREAD_ONCE_INIT;
static struct {
	pid_t pid;			/* whose trace it is */
	char *path;			/* NULL: nothing is traced */
	uint64_t room;			/* descriptors yet to be kept */
	unsigned int queues;		/* ever traced */
	unsigned int untraced;
	struct trace *live;		/* a parent's queues, too */
	struct trace_track *tracks;	/* the latest first */
	struct known_buf *bufs;
	bool unwritten;
	bool warned;
} state;

static void warn(const char *what, const char *name, int err)
{
	if (!state.warned)
		fprintf(stderr, "libvtadev: VTADEV_TRACE: %s %s: %s; the program continues\n", what,
			name, strerror(-err));
	state.warned = true;
}

/* ---- Beginning ---- */

/*
 * No other thread has the lock when the process is copied: a child that just ends
 * takes it, too.
 */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void follow_forks(void)
{
	pthread_atfork(before_fork, after_fork, after_fork);
}

bool trace_wanted(void)
{
	const char *path = secure_getenv("VTADEV_TRACE");

	if (!path || !*path)
		return false;
	pthread_once(&at_fork, follow_forks);
	return true;
}

/* %p becomes the process's id, %% a percent sign. */
static char *expand(const char *path)
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out)
		return NULL;
	for (; *path; path++) {
		if (path[0] == '%' && path[1] == 'p')
			fprintf(out, "%d", (int)getpid());
		else
			fputc(*path, out);
		if (path[0] == '%' && (path[1] == 'p' || path[1] == '%'))
			path++;
	}
	return fclose(out) ? NULL : name;
}

static uint64_t kept_most(void)
{
	const char *text = secure_getenv("VTADEV_TRACE_MAX");
	uint64_t most = KEPT_DEFAULT;
	char *end;

	if (text && *text >= '0' && *text <= '9') {
		errno = 0;
		most = strtoull(text, &end, 10);
		if (errno || *end)
			most = KEPT_DEFAULT;
	}
	return most;
}

/* For this process, which may be the child of one that was traced. */
static bool begin_trace(void)
{
	int err;

	if (state.pid == getpid())
		return state.path;
	state.pid = getpid();
	state.room = kept_most();
	state.queues = 0;
	state.untraced = 0;
	state.unwritten = false;
	state.warned = false;
	free(state.path);
	state.path = expand(secure_getenv("VTADEV_TRACE"));
	if (!state.path)
		return false;
	/* Now, and not after an hour of work. */
	err = output_check(state.path);
	if (!err)
		return true;
	warn("cannot write", state.path, err);
	free(state.path);
	state.path = NULL;
	return false;
}

static struct trace_track *new_track(const struct vtadev_queue *queue)
{
	struct trace_track *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->pid = state.pid;
	t->number = state.queues++;
	t->handle = queue->handle;
	t->clock_khz = queue->dev->info.clock_khz;
	t->card = queue->dev->info.card;
	if (t->card.index > UINT16_MAX)
		t->card.index = 0;	/* sysfs does not know it */
	t->offset_min = INT64_MIN;
	t->offset_max = INT64_MAX;
	t->next = state.tracks;
	state.tracks = t;
	return t;
}

static void free_trace(struct trace *t)
{
	vtadev_buf_free(t->stamps);
	free(t->places);
	free(t);
}

/* Without the lock, as buffers take it. */
static int prepare(struct vtadev_queue *queue, struct trace **out)
{
	struct trace *t = calloc(1, sizeof(*t));
	void *ptr;
	int err;

	if (!t)
		return -ENOMEM;
	t->queue = queue;
	t->places = calloc(queue->entries, sizeof(*t->places));
	err = t->places ? 0 : -ENOMEM;
	if (!err)
		err = vtadev_buf_alloc(queue->dev, queue->entries * sizeof(*t->stamp), VTADEV_HOST,
				       &t->stamps);
	if (!err)
		err = vtadev_buf_map(t->stamps, &ptr);
	if (err) {
		free_trace(t);
		return err;
	}
	t->stamp = ptr;
	*out = t;
	return 0;
}

struct trace *trace_open(struct vtadev_queue *queue)
{
	struct trace *t = NULL;
	bool on;
	int err;

	if (!trace_wanted())
		return NULL;
	pthread_mutex_lock(&lock);
	on = begin_trace();
	pthread_mutex_unlock(&lock);
	if (!on)
		return NULL;

	err = prepare(queue, &t);
	pthread_mutex_lock(&lock);
	if (!err) {
		t->track = new_track(queue);
		if (!t->track)
			err = -ENOMEM;
	}
	if (err) {
		warn("cannot trace", "a queue", err);
		state.untraced++;
	} else {
		t->next = state.live;
		state.live = t;
	}
	state.unwritten = true;
	pthread_mutex_unlock(&lock);
	if (err && t) {
		free_trace(t);
		t = NULL;
	}
	return t;
}

/* ---- Stamps of the program's own ---- */

bool trace_buf_add(struct vtadev_buf *buf)
{
	struct known_buf *known = malloc(sizeof(*known));

	if (!known)
		return false;
	known->buf = buf;
	pthread_mutex_lock(&lock);
	known->next = state.bufs;
	state.bufs = known;
	pthread_mutex_unlock(&lock);
	return true;
}

static bool read_own_stamp(const struct vtadev *dev, uint32_t addr, struct vta_stamp *stamp)
{
	void *ptr;

	for (struct known_buf *known = state.bufs; known; known = known->next) {
		struct vtadev_buf *buf = known->buf;

		if (buf->dev != dev || addr < buf->addr ||
		    !buf_in_range(buf, addr - buf->addr, sizeof(*stamp)))
			continue;
		if (vtadev_buf_map(buf, &ptr))
			return false;
		memcpy(stamp, (char *)ptr + (addr - buf->addr), sizeof(*stamp));
		return true;
	}
	return false;
}

/* ---- Taking down ---- */

/* Room for one more, or NULL and it is counted. */
static struct trace_event *new_event(struct trace_track *track)
{
	struct trace_chunk *chunk = track->last;

	if (!state.room)
		goto drop;
	if (!chunk || chunk->used == TRACE_CHUNK) {
		chunk = calloc(1, sizeof(*chunk));
		if (!chunk)
			goto drop;
		if (track->last)
			track->last->next = chunk;
		else
			track->first = chunk;
		track->last = chunk;
	}
	state.room--;
	return &chunk->events[chunk->used++];

drop:
	track->dropped++;
	return NULL;
}

/* A stamp bounds the difference of the clocks: submitted before, seen after. */
static void bound_offset(struct trace_track *track, const struct trace_event *e,
			 int64_t submitted_ns, int64_t now)
{
	int64_t low = submitted_ns - (int64_t)e->start;
	int64_t high = now - (int64_t)e->end;

	if (low > track->offset_min)
		track->offset_min = low;
	if (high < track->offset_max)
		track->offset_max = high;
}

static bool has_own_stamp(const struct vta_desc *desc)
{
	return desc->stamp_addr || desc->op_flags & htole32(VTA_DESC_STAMP);
}

static void record_descriptor(struct trace *t, uint64_t seq, bool completed, int64_t now)
{
	uint32_t index = (uint32_t)(seq - 1) & (t->queue->entries - 1);
	const struct place *place = &t->places[index];
	struct trace_event *e = new_event(t->track);
	struct vta_stamp stamp;
	bool known = true;

	if (!e)
		return;
	*e = (struct trace_event) { .desc = place->desc, .seq = seq, .completed = completed };
	if (!completed)
		return;
	if (has_own_stamp(&place->desc))
		known = read_own_stamp(t->queue->dev, le32toh(place->desc.stamp_addr), &stamp);
	else
		stamp = t->stamp[index];
	/* The program may have used its stamp's memory again. */
	if (!known || le64toh(stamp.seq) != seq || le64toh(stamp.end) < le64toh(stamp.start))
		return;
	e->stamped = true;
	e->start = le64toh(stamp.start);
	e->end = le64toh(stamp.end);
	e->cycles = le64toh(stamp.cycles);
	bound_offset(t->track, e, place->submitted_ns, now);
}

static void record_completed(struct trace *t, uint64_t completed)
{
	int64_t now = clock_ns();

	while (t->taken < completed)
		record_descriptor(t, ++t->taken, true, now);
}

void trace_submit(struct trace *t, uint64_t submitted, uint32_t n, uint64_t completed)
{
	struct vtadev_queue *queue = t->queue;
	int64_t now = clock_ns();

	pthread_mutex_lock(&lock);
	record_completed(t, completed);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t index = (uint32_t)(submitted + i) & (queue->entries - 1);
		struct vta_desc *desc = &queue->ring[index];

		t->places[index] = (struct place) { *desc, now };
		if (!has_own_stamp(desc))
			vtadev_desc_stamp(desc, vtadev_buf_addr(t->stamps) +
					  index * (uint32_t)sizeof(*t->stamp));
	}
	state.unwritten = true;
	pthread_mutex_unlock(&lock);
}

/* Stamps in it may be gone as soon as it is. */
void trace_buf_del(struct vtadev_buf *buf)
{
	struct known_buf **link;

	pthread_mutex_lock(&lock);
	for (link = &state.bufs; *link && (*link)->buf != buf; link = &(*link)->next)
		;
	if (*link) {
		struct known_buf *known = *link;
		struct status now;

		for (struct trace *t = state.live; t; t = t->next)
			if (t->queue->dev == buf->dev && !status_read(t->queue, &now))
				record_completed(t, now.seq);
		*link = known->next;
		free(known);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- Ending ---- */

static void add_fault(struct trace_track *track, const struct vtadev_fault *fault)
{
	struct vtadev_fault *faults = NULL;

	if (state.room)
		faults = reallocarray(track->faults, track->nr_faults + 1, sizeof(*faults));
	if (!faults) {
		track->dropped++;
		return;
	}
	state.room--;
	faults[track->nr_faults++] = *fault;
	track->faults = faults;
}

/* Record the descriptors that have completed, and the reason why no more will. */
static void record_progress(struct trace *t)
{
	struct trace_track *track = t->track;
	struct vtadev_fault fault;
	struct status now;

	if (status_read(t->queue, &now))
		return;
	record_completed(t, now.seq);
	if (now.state == VTA_QUEUE_ACTIVE || vtadev_fault(t->queue, &fault) ||
	    fault.reason == VTA_FAULT_NONE)
		return;
	/* Seen before, if recovering has failed. */
	if (!track->nr_faults || track->faults[track->nr_faults - 1].time != fault.time)
		add_fault(track, &fault);
}

static void record_rest(struct trace *t)
{
	while (t->taken < vtadev_submitted(t->queue))
		record_descriptor(t, ++t->taken, false, 0);
}

static void record_all(struct trace *t)
{
	record_progress(t);
	record_rest(t);
}

void trace_halted(struct trace *t)
{
	pthread_mutex_lock(&lock);
	record_progress(t);
	pthread_mutex_unlock(&lock);
}

void trace_recovered(struct trace *t, uint64_t seq)
{
	pthread_mutex_lock(&lock);
	record_rest(t);
	t->taken = seq;
	pthread_mutex_unlock(&lock);
}

static void write_file(void)
{
	int err = trace_write(state.path, state.pid, state.tracks, state.untraced);

	if (err)
		warn("cannot write", state.path, err);
	state.unwritten = false;
}

/* Those of a parent process it takes down itself. */
static bool is_own(const struct trace *t)
{
	return t->track->pid == getpid();
}

static bool any_own(void)
{
	const struct trace *t = state.live;

	while (t && !is_own(t))
		t = t->next;
	return t;
}

void trace_close(struct trace *t)
{
	struct trace **link;

	pthread_mutex_lock(&lock);
	for (link = &state.live; *link != t; link = &(*link)->next)
		;
	*link = t->next;
	if (is_own(t)) {
		record_all(t);
		if (!any_own())
			write_file();
	}
	pthread_mutex_unlock(&lock);
	free_trace(t);
}

/* A program that ends without having closed everything is traced, too. */
static __attribute__((destructor)) void at_exit(void)
{
	pthread_mutex_lock(&lock);
	if (state.path && state.unwritten && state.pid == getpid()) {
		for (struct trace *t = state.live; t; t = t->next)
			if (is_own(t))
				record_all(t);
		write_file();
	}
	pthread_mutex_unlock(&lock);
}
