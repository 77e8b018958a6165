// SPDX-License-Identifier: Apache-2.0
/*
 * device.c - handles, and the runs of each
 *
 * A pointer is a handle if it is in the list of all handles. Each user of a handle holds a
 * reference. A handle stays in the list while there are references, even if another thread frees
 * the handle meanwhile. A handle's lock is taken before the space is entered. While the list's
 * lock is held, no other lock is.
 *
 * A queue is of the card as it was opened at a time (the space's generation) and
 * is made anew after a reset, and after a fault.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "carry.h"
#include "device.h"
#include "report.h"
#include "space.h"
#include "vta/driver.h"
#include "vta/driver_async.h"
#include "vta/driver_counters.h"

enum result { DONE = 0, TIMEOUT = 1, FAILED = 2 };

#define INSN_BYTES	16u
/* Errno of a run on a card that keeps no state, and that another context has used meanwhile. */
#define STATE_TAKEN	EREMCHG
/* Between check and use, a card can be reset once more; not for ever. */
#define TRIES		3

struct device {
	struct device *next;		/* devices_lock */
	unsigned int refs;		/* devices_lock */
	bool freed;			/* devices_lock */
	atomic_bool async;		/* written with @lock held */
	atomic_bool copy_failed;	/* since the last run */

	pthread_mutex_t lock;		/* Protects: all that follows */
	struct vtadev_queue *queue;	/* NULL: to be made */
	unsigned int generation;	/* of @queue */
	uint32_t tokens, waiting;	/* depths of that card's core */
	bool kept;			/* a run has left state in the core, for all we know */
	bool carries;			/* the card keeps no state: @carry has what can be kept */
	bool fresh;			/* the run in hand is the first since the state was lost */
	struct carry carry;
	bool pending;			/* no wait has followed the last submission to @queue */
	enum result result;		/* of runs since the last synchronisation */
};

/* A stream to run, as VTADeviceRun() has it. */
struct work {
	uint32_t addr;
	uint32_t count;
	uint32_t cycles;
};

/* Protects: devices, early_copy_failed */
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *devices;
static bool early_copy_failed;		/* while there was no handle */
/* Number of asynchronous handles: while it is 0, they are not searched for. */
static atomic_uint nr_async;

/* ---- The list ---- */

static struct device *device_get(const void *handle)
{
	struct device *d;

	pthread_mutex_lock(&devices_lock);
	for (d = devices; d && d != handle; d = d->next)
		;
	if (d && d->freed)
		d = NULL;
	if (d)
		d->refs++;
	pthread_mutex_unlock(&devices_lock);
	return d;
}

/* Drops a reference; with the last one, it leaves the list. */
static bool device_unlink(struct device *d)
{
	struct device **at;
	bool last;

	pthread_mutex_lock(&devices_lock);
	last = !--d->refs;
	if (last) {
		for (at = &devices; *at != d; at = &(*at)->next)
			;
		*at = d->next;
	}
	pthread_mutex_unlock(&devices_lock);
	return last;
}

static void forget_queue(struct device *d)
{
	vtadev_queue_destroy(d->queue);
	carry_free(&d->carry);
	d->queue = NULL;
	d->pending = false;
}

static void device_put(struct device *d)
{
	if (!device_unlink(d))
		return;
	forget_queue(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
	space_drop();
}

/* Returns false if there is a handle already on a card that keeps no state. */
static bool device_add(struct device *d)
{
	bool can;

	pthread_mutex_lock(&devices_lock);
	can = !d->carries || !devices;
	if (can) {
		d->next = devices;
		devices = d;
		d->copy_failed = early_copy_failed;
		early_copy_failed = false;
	}
	pthread_mutex_unlock(&devices_lock);
	return can;
}

void devices_copy_failed(void)
{
	pthread_mutex_lock(&devices_lock);
	for (struct device *d = devices; d; d = d->next)
		d->copy_failed = true;
	if (!devices)
		early_copy_failed = true;
	pthread_mutex_unlock(&devices_lock);
}

/* From now on it is no handle; the caller has a reference. */
static void device_retire(struct device *d)
{
	pthread_mutex_lock(&devices_lock);
	if (!d->freed)
		d->refs--;	/* that of VTADeviceAlloc(), and not the last */
	d->freed = true;
	pthread_mutex_unlock(&devices_lock);
}

/* ---- Ends of runs ---- */

static void report_fault(const struct device *d, const struct vtadev_fault *fault)
{
	char text[VTADEV_FAULT_TEXT_MAX];

	vtadev_fault_text(fault, text, sizeof(text));
	if (fault->reason == VTA_FAULT_DEADLOCK)
		report("VTADeviceRun: %s (a token queue of this card holds %u tokens, and %u "
		       "instructions wait: docs/isa.md, section 3)", text, d->tokens, d->waiting);
	else
		report("VTADeviceRun: %s", text);
}

/* Result for -EIO, by the fault. */
static enum result result_of_fault(struct device *d)
{
	struct vtadev_fault fault;

	if (vtadev_fault(d->queue, &fault)) {
		report("VTADeviceRun: %s", vtadev_strerror(-EIO));
		return FAILED;
	}
	/* The program's instruction, behind those that push the tokens. */
	if (fault.insn_index != VTA_FAULT_NO_INSN && fault.insn_index >= d->carry.prologue)
		fault.insn_index -= d->carry.prologue;
	report_fault(d, &fault);
	return fault.reason == VTA_FAULT_CYCLES || fault.reason == VTA_FAULT_TIME ? TIMEOUT :
										    FAILED;
}

static void report_lost(const struct device *d)
{
	char text[VTADEV_LOST_TEXT_MAX];

	space_lost_text(d->generation, text, sizeof(text));
	report("VTADeviceRun: the run is lost: %s", text);
}

/* A run that was given to the card has ended with @err. */
static void ended(struct device *d, int err)
{
	enum result result = FAILED;

	if (!err)
		return;
	if (err == -EIO)
		result = result_of_fault(d);
	else if (err == -ENODEV)
		report_lost(d);
	else if (err == -ESTALE)
		report("VTADeviceRun: not run: the card was reset since this handle's last run: "
		       "what that left in the core (micro-ops, tensors, tokens) is lost");
	else if (err == -STATE_TAKEN)
		report("VTADeviceRun: another program has used the card, which keeps no state: "
		       "what this handle's last run left in the core (micro-ops, tensors) is lost");
	else if (err != -EFAULT)	/* which has been reported */
		report("VTADeviceRun: %s", space_strerror(err));
	if (d->result == DONE)
		d->result = result;
	if (err == -EFAULT)
		return;		/* the card has not seen that run */
	/* A halted queue stays the handle's: another process might take the last one. */
	if (err != -STATE_TAKEN && (err != -EIO || vtadev_recover(d->queue)))
		forget_queue(d);
	carry_drop(&d->carry);
	d->kept = false;	/* which this records */
	d->pending = false;
}

/* The run has ended well; was it the state of the last one that it found? */
static int check_carried(struct device *d)
{
	unsigned int generation;
	bool found = carry_end(&d->carry, space_enter(&generation), d->fresh);

	space_leave();
	return found ? 0 : -STATE_TAKEN;
}

/* Wait for all that the card was given. */
static void finish(struct device *d)
{
	int err;

	if (!d->pending)
		return;
	err = vtadev_sync(d->queue, -1);
	if (!err && d->carries)
		err = check_carried(d);
	ended(d, err);
	d->pending = false;
}

static enum result take_result(struct device *d)
{
	enum result result = d->result;

	d->result = DONE;
	return result;
}

/* ---- Runs ---- */

/* All of the stream is in memory of ours. In the space. */
static bool stream_is_ours(const struct work *w)
{
	const struct mem *mem = space_find_addr(w->addr);

	if (w->addr % INSN_BYTES)
		report("VTADeviceRun: stream at 0x%08x: not a multiple of %u", w->addr,
		       INSN_BYTES);
	else if (!mem)
		report("VTADeviceRun: stream at 0x%08x: not in memory of VTAMemAlloc", w->addr);
	else if (w->count > (mem->size - (w->addr - mem->addr)) / INSN_BYTES)
		report("VTADeviceRun: %u instructions at 0x%08x reach beyond their memory",
		       w->count, w->addr);
	else
		return true;
	return false;
}

/*
 * The queue of the card as it is open now. In the space. It keeps the core's state from
 * run to run: a new one has none, which must be reported to a program that relies on it.
 */
static int have_queue(struct device *d, struct vtadev *dev, unsigned int generation)
{
	struct vtadev_queue_opts opts = { .flags = VTADEV_QUEUE_KEEP };

	if (d->queue && d->generation == generation)
		return 0;
	if (d->pending)
		return -ENODEV;		/* lost with the card as it was open then */
	if (d->kept)
		return -ESTALE;
	forget_queue(d);
	d->generation = generation;
	d->carries = !vtadev_info(dev)->save_size;
	if (d->carries)
		opts.flags = 0;
	d->tokens = 1u << vtadev_info(dev)->log_tokens;
	d->waiting = 1u << vtadev_info(dev)->log_waiting;
	return vtadev_queue_create(dev, &opts, &d->queue);
}

/* The descriptor of a stream on a card that keeps no state. In the space. */
static int carry_stream(struct device *d, struct vtadev *dev, const struct work *w,
			struct vta_desc *desc)
{
	const struct mem *mem = space_find_addr(w->addr);
	uint32_t addr = w->addr, count = w->count;
	int err = carry_begin(&d->carry, dev, mem->ptr + (w->addr - mem->addr), &addr, &count);

	*desc = vtadev_desc_run(addr, count,
				w->cycles ? (uint64_t)w->cycles + count - w->count : 0);
	return err;
}

/* Give the stream to the card. In the space. */
static int submit(struct device *d, struct vtadev *dev, const struct work *w)
{
	struct vta_desc desc = vtadev_desc_run(w->addr, w->count, w->cycles);
	int err = 0;

	if (d->carries)
		err = carry_stream(d, dev, w, &desc);
	else
		vtadev_desc_keep(&desc);
	if (!err)
		err = vtadev_submit(d->queue, &desc, 1, NULL);
	if (err)
		return err;
	d->pending = true;
	d->fresh = !d->kept;
	d->kept = true;
	return 0;
}

static int try_run(struct device *d, const struct work *w, unsigned int *generation)
{
	struct vtadev *dev = space_enter(generation);
	int err = -EFAULT;

	if (stream_is_ours(w)) {
		err = have_queue(d, dev, *generation);
		if (!err)
			err = submit(d, dev, w);
	}
	space_leave();
	return err;
}

/* After a failure: 0 if it is worth another try. */
static int help(struct device *d, int err, unsigned int generation)
{
	if (err == -EAGAIN)
		return vtadev_wait_room(d->queue, 1, -1);
	/* Earlier runs that the card had are lost: report that first. */
	if (err == -ENODEV && !d->pending)
		return space_recover(generation);
	return err;
}

static void start_work(struct device *d, const struct work *w)
{
	unsigned int generation;
	int err = -EFAULT, help_err;

	if (atomic_exchange(&d->copy_failed, false)) {
		report("VTADeviceRun: not run: a copy to or from VTAMemAlloc's memory has failed");
		d->result = FAILED;
		return;
	}
	for (int i = 0; i < TRIES; i++) {
		err = try_run(d, w, &generation);
		/* The next stream depends on what this one leaves. */
		if (!err && d->carries)
			finish(d);
		if (!err)
			return;
		help_err = help(d, err, generation);
		if (help_err) {
			err = help_err;
			break;
		}
	}
	ended(d, err);
}

static enum result run_stream(struct device *d, const struct work *w)
{
	if (d->result != DONE)
		return DONE;	/* of an asynchronous handle: it will be reported */
	start_work(d, w);
	if (d->async)
		return DONE;
	finish(d);
	return take_result(d);
}

static void set_async(struct device *d, bool async)
{
	if (async && !d->async)
		atomic_fetch_add(&nr_async, 1);
	else if (!async && d->async)
		atomic_fetch_sub(&nr_async, 1);
	d->async = async;
}

/* ---- The calls ---- */

/* Check that VTA's headers make streams for this core. */
static int check_core(const struct vtadev_info *info)
{
	if (vtadev_tvm_fields(info->log_uop_depth, info->log_acc_depth))
		return 0;
	report("VTADeviceAlloc: %s: with LOG_UOP_BUFF_SIZE=%u, VTA's headers lay out GEMM and ALU "
	       "otherwise than the card reads them (docs/isa.md, section 10): "
	       "use a card of another configuration, or libvtadev",
	       info->card.node, info->log_uop_buff_size);
	return -SPACE_SAID;
}

/* In the space. */
static int try_set_up(struct device *d, struct vtadev *dev, unsigned int generation)
{
	int err = check_core(vtadev_info(dev));

	if (!err)
		err = have_queue(d, dev, generation);
	if (!err && d->carries && !carry_is_possible(dev)) {
		report("VTADeviceAlloc: %s: the card keeps no state from run to run, and its "
		       "counters cannot be read: nothing would tell that another program has "
		       "used it", vtadev_info(dev)->card.node);
		err = -SPACE_SAID;
	}
	return err;
}

/* Allocate all that the handle needs for its runs: later there may be none left. */
static int set_up(struct device *d)
{
	unsigned int generation;
	struct vtadev *dev;
	int err = -ENODEV;

	for (int i = 0; err == -ENODEV && i < TRIES; i++) {
		dev = space_enter(&generation);
		err = try_set_up(d, dev, generation);
		space_leave();
		if (err == -ENODEV && space_recover(generation))
			break;
	}
	return err;
}

VTADeviceHandle VTADeviceAlloc(void)
{
	struct device *d;
	int err = -ENOMEM;

	if (space_is_parents(__func__))
		return NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		goto err;
	err = space_hold();
	if (err)
		goto err_free;
	err = set_up(d);
	if (err)
		goto err_drop;
	d->refs = 1;
	pthread_mutex_init(&d->lock, NULL);
	if (device_add(d))
		return d;
	report("%s: the card keeps no state from run to run, so it has room for one handle of a "
	       "process", __func__);
	err = -SPACE_SAID;
	pthread_mutex_destroy(&d->lock);

err_drop:
	forget_queue(d);
	space_drop();
err_free:
	free(d);
err:
	if (err != -SPACE_SAID)
		report("%s: no queue for another handle: %s", __func__, space_strerror(err));
	return NULL;
}

void VTADeviceFree(VTADeviceHandle handle)
{
	struct device *d;

	if (!handle || space_is_parents(NULL))
		return;
	d = device_get(handle);
	if (!d) {
		report("%s: %p is not a handle, or was freed before", __func__, handle);
		return;
	}
	pthread_mutex_lock(&d->lock);
	finish(d);
	set_async(d, false);
	pthread_mutex_unlock(&d->lock);
	device_retire(d);
	device_put(d);
}

int VTADeviceRun(VTADeviceHandle handle, vta_phy_addr_t insn_phy_addr, uint32_t insn_count,
		 uint32_t wait_cycles)
{
	const struct work w = { insn_phy_addr, insn_count, wait_cycles };
	enum result result;
	struct device *d;

	if (space_is_parents(__func__))
		return FAILED;
	d = device_get(handle);
	if (!d) {
		report("%s: %p is not a handle", __func__, handle);
		return FAILED;
	}
	if (!insn_count) {
		device_put(d);
		return DONE;
	}
	pthread_mutex_lock(&d->lock);
	result = run_stream(d, &w);
	pthread_mutex_unlock(&d->lock);
	device_put(d);
	return result;
}

/* Waits for the runs of @handle and returns their result; @async: the mode from now on, or NULL. */
static enum result settle(VTADeviceHandle handle, const char *call, const int *async)
{
	enum result result;
	struct device *d;

	if (space_is_parents(call))
		return FAILED;
	d = device_get(handle);
	if (!d) {
		report("%s: %p is not a handle", call, handle);
		return FAILED;
	}
	pthread_mutex_lock(&d->lock);
	finish(d);
	result = take_result(d);
	if (async)
		set_async(d, *async);
	pthread_mutex_unlock(&d->lock);
	device_put(d);
	return result;
}

int VTADeviceSetAsync(VTADeviceHandle handle, int async)
{
	return settle(handle, __func__, &async);
}

int VTADeviceSync(VTADeviceHandle handle)
{
	return settle(handle, __func__, NULL);
}

/* The handle behind @d in the list, @d put; NULL at the end. */
static struct device *device_next(struct device *d)
{
	struct device *next;

	pthread_mutex_lock(&devices_lock);
	next = d ? d->next : devices;
	if (next)
		next->refs++;
	pthread_mutex_unlock(&devices_lock);
	if (d)
		device_put(d);
	return next;
}

void devices_drain(void)
{
	struct device *d;

	if (!atomic_load(&nr_async))
		return;
	for (d = device_next(NULL); d; d = device_next(d)) {
		if (!d->async)
			continue;
		pthread_mutex_lock(&d->lock);
		finish(d);
		pthread_mutex_unlock(&d->lock);
	}
}

int VTACounters(struct vtadev_counters *counters)
{
	unsigned int generation;
	int err = space_is_parents(__func__) ? -ECHILD : space_hold();

	if (err)
		return err;
	err = vtadev_counters(space_enter(&generation), counters);
	space_leave();
	space_drop();
	return err;
}
