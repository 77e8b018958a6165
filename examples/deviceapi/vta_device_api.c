// SPDX-License-Identifier: Apache-2.0
/*
 * vta_device_api.c - TVM's DeviceAPI verbs over libvtadev, in C
 *
 * Each stream has a word of memory in which it counts its signals: SyncStreamFromTo
 * is a SIGNAL of the one queue and a WAIT of the other, without the CPU.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta_device_api.h"
#include "vtadev.h"

#define DEVICES_MAX	16
#define STREAMS_MAX	64	/* of a device, the default one included */
#define POOL_MAX	16	/* workspaces kept */
#define WORKSPACE_ALIGN	4096u
#define SLICE_NS	100000000

struct device;

/* A queue, and the word at its place in device.words. */
struct stream {
	struct device *device;
	pthread_mutex_t lock;		/* Protects: submitting, @signals */
	struct vtadev_queue *queue;
	unsigned int slot;
	uint64_t signals;		/* the word's value after all submitted work */
};

/* A data space, or a workspace. */
struct space {
	struct vtadev_buf *buf;
	struct stream *owner;		/* the stream that used it last */
	struct space *next;		/* of the unused workspaces */
};

struct device {
	pthread_mutex_t lock;		/* Protects: all but @words, before stream.lock */
	struct vtadev *card;		/* NULL: not open */
	struct stream *streams[STREAMS_MAX];	/* the first is the default one */
	struct vtadev_buf *words;
	uint64_t *word;			/* @words, for the CPU; little-endian */
	struct space *pool;
	unsigned int pooled;
};

static struct device devices[DEVICES_MAX] = {
	[0 ... DEVICES_MAX - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER },
};
static _Thread_local struct stream *current[DEVICES_MAX];
static _Thread_local char error[VTADEV_FAULT_TEXT_MAX];
static _Thread_local int described;	/* the error that @error describes already, or 0 */

const char *vta_api_error(void)
{
	return error;
}

static int fail(int err)
{
	if (err && err != described)
		snprintf(error, sizeof(error), "%s", vtadev_strerror(err));
	described = 0;
	return err;
}

/* ---- Devices ---- */

static bool is_device(DLDevice dev)
{
	return dev.device_type == VTA_API_DEVICE && dev.device_id >= 0 &&
	       dev.device_id < DEVICES_MAX;
}

static void stream_destroy(struct stream *s)
{
	if (!s)
		return;
	s->device->streams[s->slot] = NULL;
	vtadev_queue_destroy(s->queue);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int stream_create(struct device *d, struct stream **out)
{
	struct stream *s;
	unsigned int slot;
	int err;

	for (slot = 0; slot < STREAMS_MAX && d->streams[slot]; slot++)
		;
	if (slot == STREAMS_MAX)
		return -ENOSPC;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = vtadev_queue_create(d->card, NULL, &s->queue);
	if (err) {
		free(s);
		return err;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->device = d;
	s->slot = slot;
	/* The count continues: signals of an earlier stream remain valid. */
	s->signals = le64toh(d->word[slot]);
	d->streams[slot] = s;
	*out = s;
	return 0;
}

static void space_destroy(struct space *space)
{
	vtadev_buf_free(space->buf);
	free(space);
}

/* Frees the unused workspaces of one stream, or of all. */
static void pool_empty(struct device *d, const struct stream *owner)
{
	struct space **at = &d->pool, *space;

	while ((space = *at)) {
		if (owner && space->owner != owner) {
			at = &space->next;
			continue;
		}
		*at = space->next;
		d->pooled--;
		space_destroy(space);
	}
}

static void close_device(struct device *d)
{
	for (unsigned int i = 0; i < STREAMS_MAX; i++)
		stream_destroy(d->streams[i]);
	pool_empty(d, NULL);
	vtadev_buf_free(d->words);
	vtadev_close(d->card);
	d->words = NULL;
	d->card = NULL;
}

static int open_device(struct device *d, int id)
{
	struct stream *first;
	const char *card;
	char which[16];
	void *word;
	int err;

	snprintf(which, sizeof(which), "%d", id);
	/* The environment may name another device for number 0. */
	card = !id && getenv("VTADEV_DEVICE") ? NULL : which;
	err = vtadev_open(card, &d->card);
	if (err) {
		vtadev_open_text(card, error, sizeof(error));
		described = err;
		return err;
	}
	err = vtadev_buf_alloc(d->card, STREAMS_MAX * sizeof(*d->word), VTADEV_HOST, &d->words);
	if (!err)
		err = vtadev_buf_map(d->words, &word);
	if (!err) {
		d->word = word;
		err = stream_create(d, &first);
	}
	if (err)
		close_device(d);
	return err;
}

/* Open the device unless it is open. Returns NULL and sets *err if that fails. */
static struct device *device_of(DLDevice dev, int *err)
{
	struct device *d = is_device(dev) ? &devices[dev.device_id] : NULL;

	*err = -ENOENT;
	if (!d)
		return NULL;
	pthread_mutex_lock(&d->lock);
	*err = d->card ? 0 : open_device(d, dev.device_id);
	pthread_mutex_unlock(&d->lock);
	return *err ? NULL : d;
}

int vta_api_set_device(DLDevice dev)
{
	int err;

	device_of(dev, &err);
	return fail(err);
}

struct vtadev *vta_api_card(DLDevice dev)
{
	int err;
	struct device *d = device_of(dev, &err);

	fail(err);
	return d ? d->card : NULL;
}

void vta_api_release(DLDevice dev)
{
	struct device *d;

	if (!is_device(dev))
		return;
	d = &devices[dev.device_id];
	pthread_mutex_lock(&d->lock);
	if (d->card)
		close_device(d);
	pthread_mutex_unlock(&d->lock);
	current[dev.device_id] = NULL;
}

static int attr_of(struct device *d, enum vta_api_attr attr, struct vta_api_value *value)
{
	const struct vtadev_info *info = vtadev_info(d->card);
	uint64_t bytes;
	int err;

	switch (attr) {
	case VTA_API_EXIST:
	case VTA_API_MULTI_PROCESSOR_COUNT:
		value->number = 1;
		return 0;
	case VTA_API_COMPUTE_VERSION:
		snprintf(value->text, sizeof(value->text), "%u.%u.%u", info->hw_ver_major,
			 info->hw_ver_minor, info->hw_ver_patch);
		return 0;
	case VTA_API_DEVICE_NAME:
		snprintf(value->text, sizeof(value->text), "VTA %.48s",
			 *info->card.pci ? info->card.pci : info->card.node);
		return 0;
	case VTA_API_MAX_CLOCK_RATE:
		value->number = info->clock_khz;
		return 0;
	case VTA_API_TOTAL_GLOBAL_MEMORY:
		value->number = (int64_t)info->mem_size;
		return 0;
	case VTA_API_AVAILABLE_GLOBAL_MEMORY:
		err = vtadev_mem_free(d->card, &bytes);
		if (!err)
			value->number = (int64_t)bytes;
		return err;
	}
	return -EOPNOTSUPP;
}

int vta_api_get_attr(DLDevice dev, enum vta_api_attr attr, struct vta_api_value *value)
{
	int err;
	struct device *d = device_of(dev, &err);

	*value = (struct vta_api_value) { 0 };
	if (!d)
		return attr == VTA_API_EXIST ? 0 : fail(err);
	return fail(attr_of(d, attr, value));
}

/* ---- Streams ---- */

static struct stream *stream_of(struct device *d, vta_api_stream stream)
{
	struct stream *s = stream ? stream : current[d - devices];

	return s ? s : d->streams[0];
}

/*
 * A halted stream will never send its signals: release the streams that wait for them. Call with
 * device.lock held.
 */
static void release_waiters(struct device *d)
{
	bool any = false;

	for (unsigned int i = 0; i < STREAMS_MAX; i++) {
		struct stream *s = d->streams[i];

		if (!s || vtadev_done(s->queue, vtadev_submitted(s->queue)) >= 0)
			continue;
		__atomic_store_n(&d->word[i], htole64(s->signals), __ATOMIC_RELEASE);
		any = true;
	}
	for (unsigned int i = 0; any && i < STREAMS_MAX; i++) {
		struct stream *s = d->streams[i];

		if (!s)
			continue;
		pthread_mutex_lock(&s->lock);
		vtadev_kick(s->queue);
		pthread_mutex_unlock(&s->lock);
	}
}

/* Wait for @seq. device.lock is held if @locked, and never a stream's. */
static int stream_wait_for(struct stream *s, uint64_t seq, bool locked)
{
	int err;

	for (;;) {
		err = vtadev_wait(s->queue, seq, SLICE_NS);
		if (err != -ETIMEDOUT)
			return err;
		if (!locked)
			pthread_mutex_lock(&s->device->lock);
		release_waiters(s->device);
		if (!locked)
			pthread_mutex_unlock(&s->device->lock);
	}
}

static int stream_wait(struct stream *s, bool locked)
{
	return stream_wait_for(s, vtadev_submitted(s->queue), locked);
}

/* After -EAGAIN: wait for the oldest descriptor. */
static int stream_room(struct stream *s)
{
	uint64_t seq;
	int err = vtadev_completed(s->queue, &seq);

	return err ? err : stream_wait_for(s, seq + 1, false);
}

static int stream_submit(struct stream *s, const struct vta_desc *desc)
{
	int err, room = 0;

	do {
		pthread_mutex_lock(&s->lock);
		err = vtadev_submit(s->queue, desc, 1, NULL);
		pthread_mutex_unlock(&s->lock);
		if (err == -EAGAIN)
			room = stream_room(s);
	} while (err == -EAGAIN && !room);
	return err == -EAGAIN ? room : err;
}

int vta_api_create_stream(DLDevice dev, vta_api_stream *stream)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct stream *s = NULL;

	if (!d)
		return fail(err);
	pthread_mutex_lock(&d->lock);
	err = stream_create(d, &s);
	pthread_mutex_unlock(&d->lock);
	if (!err)
		*stream = s;
	return fail(err);
}

int vta_api_free_stream(DLDevice dev, vta_api_stream stream)
{
	struct stream *s = stream;
	struct device *d;
	int err;

	d = device_of(dev, &err);
	if (!d || !s || s == d->streams[0])
		return fail(-EINVAL);
	err = stream_wait(s, false);
	if (current[dev.device_id] == s)
		current[dev.device_id] = NULL;
	pthread_mutex_lock(&d->lock);
	/* If it halted, others may still wait for its signals. */
	release_waiters(d);
	pool_empty(d, s);
	stream_destroy(s);
	pthread_mutex_unlock(&d->lock);
	return fail(err);
}

int vta_api_set_stream(DLDevice dev, vta_api_stream stream)
{
	int err;

	if (device_of(dev, &err))
		current[dev.device_id] = stream;
	return fail(err);
}

/* Restart a halted queue without the descriptors after the failed one. */
static int revive(struct device *d, struct stream *s)
{
	struct vtadev_fault fault;
	int err;

	if (vtadev_fault(s->queue, &fault))
		return fail(-EIO);
	pthread_mutex_lock(&d->lock);
	release_waiters(d);
	pthread_mutex_lock(&s->lock);
	err = vtadev_recover(s->queue);
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&d->lock);
	if (err)
		return fail(err);
	vtadev_fault_text(&fault, error, sizeof(error));
	return -EIO;
}

int vta_api_stream_sync(DLDevice dev, vta_api_stream stream)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct stream *s;

	if (!d)
		return fail(err);
	s = stream_of(d, stream);
	err = stream_wait(s, false);
	return err == -EIO ? revive(d, s) : fail(err);
}

static uint32_t word_address(const struct stream *s)
{
	return vtadev_buf_addr(s->device->words) + s->slot * (uint32_t)sizeof(uint64_t);
}

/* Submit a signal. Waiting for *@value waits for it. */
static int stream_signal(struct stream *s, uint64_t *value)
{
	struct vta_desc desc;
	int err, room = 0;

	do {
		pthread_mutex_lock(&s->lock);
		*value = s->signals + 1;
		desc = vtadev_desc_signal(word_address(s), *value);
		err = vtadev_submit(s->queue, &desc, 1, NULL);
		if (!err)
			s->signals++;
		pthread_mutex_unlock(&s->lock);
		if (err == -EAGAIN)
			room = stream_room(s);
	} while (err == -EAGAIN && !room);
	return err == -EAGAIN ? room : err;
}

int vta_api_sync_stream_from_to(DLDevice dev, vta_api_stream from, vta_api_stream to)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct stream *src, *dst;
	struct vta_desc desc;
	uint64_t value;

	if (!d)
		return fail(err);
	src = stream_of(d, from);
	dst = stream_of(d, to);
	err = stream_signal(src, &value);
	/* A halted stream does nothing more; its own StreamSync reports that. */
	if (err == -EIO)
		return 0;
	if (err)
		return fail(err);
	desc = vtadev_desc_wait(word_address(src), value);
	return fail(stream_submit(dst, &desc));
}

/* ---- Data spaces ---- */

static int space_create(struct device *d, size_t nbytes, size_t alignment, struct space **out)
{
	struct space *space = calloc(1, sizeof(*space));
	size_t largest = vtadev_info(d->card)->elem_bytes_max;
	int err;

	if (!space)
		return -ENOMEM;
	/* Instructions count in elements, so addresses are multiples of the largest. */
	if (alignment < largest)
		alignment = largest;
	if (alignment < VTA_PAGE_SIZE)
		alignment = VTA_PAGE_SIZE;
	err = vtadev_buf_alloc_at(d->card, nbytes ? nbytes : 1, VTADEV_CARD, alignment, 0,
				  &space->buf);
	if (err)
		free(space);
	else
		*out = space;
	return err;
}

int vta_api_alloc_data_space(DLDevice dev, size_t nbytes, size_t alignment,
			     DLDataType type_hint, void **space)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct space *made = NULL;

	(void)type_hint;
	if (!d)
		return fail(err);
	err = space_create(d, nbytes, alignment, &made);
	if (err == -ENOSPC) {
		/* Free the unused workspaces, and try again. */
		pthread_mutex_lock(&d->lock);
		pool_empty(d, NULL);
		pthread_mutex_unlock(&d->lock);
		err = space_create(d, nbytes, alignment, &made);
	}
	if (!err)
		*space = made;
	return fail(err);
}

int vta_api_free_data_space(DLDevice dev, void *space)
{
	int err;
	struct device *d = device_of(dev, &err);

	if (!d || !space)
		return fail(err);
	pthread_mutex_lock(&d->lock);
	/* Errors are reported by StreamSync. */
	for (unsigned int i = 0; i < STREAMS_MAX; i++)
		if (d->streams[i])
			stream_wait(d->streams[i], true);
	pthread_mutex_unlock(&d->lock);
	space_destroy(space);
	return 0;
}

/* Submit a copy to the stream. */
static int copy_on_device(struct stream *s, const struct space *from, size_t from_offset,
			  const struct space *to, size_t to_offset, size_t nbytes)
{
	int err, room = 0;

	do {
		pthread_mutex_lock(&s->lock);
		err = vtadev_copy(s->queue, to->buf, to_offset, from->buf, from_offset, nbytes,
				  NULL);
		pthread_mutex_unlock(&s->lock);
		if (err == -EAGAIN)
			room = stream_room(s);
	} while (err == -EAGAIN && !room);
	return err == -EAGAIN ? room : err;
}

/* Copy after the stream's work, and wait for it. */
static int copy_with_host(struct stream *s, const struct space *space, size_t offset,
			  void *host, size_t nbytes, bool in)
{
	int err;

	for (;;) {
		err = stream_wait(s, false);
		if (err)
			return err;
		pthread_mutex_lock(&s->lock);
		if (vtadev_done(s->queue, vtadev_submitted(s->queue)) == 1)
			break;
		/*
		 * While the lock is held, no thread could release a WAIT that was submitted
		 * meanwhile.
		 */
		pthread_mutex_unlock(&s->lock);
	}
	if (in)
		err = vtadev_upload(s->queue, space->buf, offset, host, nbytes);
	else
		err = vtadev_download(s->queue, space->buf, offset, host, nbytes);
	pthread_mutex_unlock(&s->lock);
	return err;
}

int vta_api_copy_data_from_to(const void *from, size_t from_offset, void *to, size_t to_offset,
			      size_t nbytes, DLDevice dev_from, DLDevice dev_to,
			      DLDataType type_hint, vta_api_stream stream)
{
	bool out = dev_from.device_type != kDLCPU, in = dev_to.device_type != kDLCPU;
	const char *host_from = (const char *)from + from_offset;
	char *host_to = (char *)to + to_offset;
	struct device *d;
	struct stream *s;
	int err;

	(void)type_hint;
	if (!in && !out) {
		memmove(host_to, host_from, nbytes);
		return 0;
	}
	if (in && out && dev_from.device_id != dev_to.device_id)
		return fail(-EOPNOTSUPP);
	d = device_of(in ? dev_to : dev_from, &err);
	if (!d)
		return fail(err);
	s = stream_of(d, stream);
	if (in && out)
		err = copy_on_device(s, from, from_offset, to, to_offset, nbytes);
	else if (in)
		err = copy_with_host(s, to, to_offset, (void *)host_from, nbytes, true);
	else
		err = copy_with_host(s, from, from_offset, host_to, nbytes, false);
	return fail(err);
}

/* ---- Workspaces ---- */

/* Take the smallest that fits of those that @s used last, so that @s alone orders their uses. */
static struct space *pool_take(struct device *d, const struct stream *s, size_t nbytes)
{
	struct space **best = NULL, *space;

	for (struct space **at = &d->pool; *at; at = &(*at)->next) {
		size_t size = vtadev_buf_size((*at)->buf);

		if ((*at)->owner == s && size >= nbytes &&
		    (!best || size < vtadev_buf_size((*best)->buf)))
			best = at;
	}
	if (!best)
		return NULL;
	space = *best;
	*best = space->next;
	d->pooled--;
	return space;
}

int vta_api_alloc_workspace(DLDevice dev, size_t nbytes, DLDataType type_hint, void **space)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct space *found;

	if (!d)
		return fail(err);
	nbytes = (nbytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
	pthread_mutex_lock(&d->lock);
	found = pool_take(d, stream_of(d, NULL), nbytes);
	pthread_mutex_unlock(&d->lock);
	if (!found)
		return vta_api_alloc_data_space(dev, nbytes, 0, type_hint, space);
	*space = found;
	return 0;
}

int vta_api_free_workspace(DLDevice dev, void *space)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct space *back = space;

	if (!d || !space)
		return fail(err);
	pthread_mutex_lock(&d->lock);
	if (d->pooled < POOL_MAX) {
		back->owner = stream_of(d, NULL);
		back->next = d->pool;
		d->pool = back;
		d->pooled++;
		back = NULL;
	}
	pthread_mutex_unlock(&d->lock);
	return back ? vta_api_free_data_space(dev, back) : 0;
}

/* ---- Kernels ---- */

uint32_t vta_api_address(const void *space)
{
	return vtadev_buf_addr(((const struct space *)space)->buf);
}

int vta_api_run(DLDevice dev, const void *space, size_t offset, uint32_t insn_count,
		vta_api_stream stream)
{
	int err;
	struct device *d = device_of(dev, &err);
	struct vta_desc desc;
	struct stream *s;

	if (!d)
		return fail(err);
	s = stream_of(d, stream);
	desc = vtadev_desc_run(vta_api_address(space) + (uint32_t)offset, insn_count, 0);
	return fail(stream_submit(s, &desc));
}
