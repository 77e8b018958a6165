// SPDX-License-Identifier: Apache-2.0
/*
 * rack.c - launches for all cores of an OpenCL device
 *
 * A thread that has a stream to execute joins the active ones. One of these threads leads: in
 * rounds, it launches vta_stream with a work-group for each active stream, reads their states,
 * and releases the threads whose streams ask for the host. When its own stream does, another
 * thread leads. A stream that is alone has the kernel vta_team, or vta_wide for its large loops.
 *
 * Commands of a slot are in the order of one command queue, so a thread may enqueue copies for its
 * slot while another one leads. Buffers are replaced between two rounds only.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rack.h"

#define SLOTS_FIRST	4u
/* Launches between two checks, at most: of a stream that is alone, and of several. */
#define AHEAD_ALONE	4u
#define AHEAD_SHARED	2u
/* Work-groups of a team. */
#define TEAM_GROUPS	16u
/*
 * Questions whether a command is done that have no pause, also for a stream that is alone, and
 * nanoseconds between later ones.
 */
#define ASK_AT_ONCE	32u
#define ASK_ALONE	2000u
#define ASK_EVERY	20000

/* ---- Waiting ---- */

static cl_int wait_asking(cl_command_queue queue, cl_event event, unsigned int at_once)
{
	const struct timespec pause = { 0, ASK_EVERY };
	cl_int status = CL_QUEUED, err = clFlush(queue);

	for (unsigned int asked = 0; !err; asked++) {
		err = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
				     &status, NULL);
		if (status <= CL_COMPLETE)
			break;
		if (asked < at_once)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
	/* A copy must not go on when its memory is given back. */
	if (err)
		clWaitForEvents(1, &event);
	clReleaseEvent(event);
	return err ? err : status;
}

cl_int rack_wait(cl_command_queue queue, cl_event event)
{
	return wait_asking(queue, event, ASK_AT_ONCE);
}

/* ---- Buffers ---- */

static cl_int set_arguments(const struct rack *rack, cl_kernel kernel)
{
	const cl_mem *b = rack->buffers;
	const cl_mem args[RACK_ARGUMENTS] = {
		b[KERNELS_STATE], rack->arena, rack->pages, b[KERNELS_UOP], b[KERNELS_INP],
		b[KERNELS_WGT], b[KERNELS_ACC], b[KERNELS_WAITING], b[KERNELS_TOKENS],
		b[KERNELS_CODE], b[KERNELS_BOUNCE], b[KERNELS_PLAN], rack->slots,
	};
	cl_int err = 0;

	for (cl_uint i = 0; i < RACK_ARGUMENTS && !err; i++)
		err = clSetKernelArg(kernel, i, sizeof(cl_mem), &args[i]);
	return err;
}

static void release_buffers(cl_mem *buffers, cl_mem slots)
{
	for (unsigned int i = 0; i < KERNELS_BUFFERS; i++)
		if (buffers[i])
			clReleaseMemObject(buffers[i]);
	if (slots)
		clReleaseMemObject(slots);
}

/* Larger buffers with the slots' bytes; no command that is enqueued later has the old ones. */
static cl_int replace_buffers(struct rack *rack, unsigned int room)
{
	cl_mem old[KERNELS_BUFFERS], made[KERNELS_BUFFERS] = { 0 }, slots = NULL, old_slots;
	cl_int err = 0;

	for (unsigned int i = 0; i < KERNELS_BUFFERS && !err; i++) {
		made[i] = clCreateBuffer(rack->context, CL_MEM_READ_WRITE, rack->sizes[i] * room,
					 NULL, &err);
		if (!err && rack->room)
			err = clEnqueueCopyBuffer(rack->queue, rack->buffers[i], made[i], 0, 0,
						  rack->sizes[i] * rack->room, 0, NULL, NULL);
	}
	if (!err)
		slots = clCreateBuffer(rack->context, CL_MEM_READ_ONLY, room * sizeof(cl_uint),
				       NULL, &err);
	/* Memory that the device lacks is found out here, not in a launch. */
	if (!err)
		err = clFinish(rack->queue);
	if (err) {
		release_buffers(made, slots);
		return err;
	}
	memcpy(old, rack->buffers, sizeof(old));
	old_slots = rack->slots;
	memcpy(rack->buffers, made, sizeof(made));
	rack->slots = slots;
	release_buffers(old, old_slots);
	err = set_arguments(rack, rack->stream);
	if (!err && rack->crowd)
		err = set_arguments(rack, rack->crowd);
	if (!err && rack->team)
		err = set_arguments(rack, rack->team);
	if (!err && rack->wide)
		err = set_arguments(rack, rack->wide);
	return err;
}

static cl_int grow(struct rack *rack)
{
	unsigned int room = rack->room ? 2 * rack->room : SLOTS_FIRST;
	bool *used = realloc(rack->used, room * sizeof(*used));
	struct vta_state *states;
	cl_uint *list;
	cl_int err;

	if (!used)
		return CL_OUT_OF_HOST_MEMORY;
	rack->used = used;
	states = realloc(rack->states, room * sizeof(*states));
	if (!states)
		return CL_OUT_OF_HOST_MEMORY;
	rack->states = states;
	list = realloc(rack->list, room * sizeof(*list));
	if (!list)
		return CL_OUT_OF_HOST_MEMORY;
	rack->list = list;
	err = replace_buffers(rack, room);
	if (err)
		return err;
	memset(used + rack->room, 0, (room - rack->room) * sizeof(*used));
	rack->room = room;
	rack->listed = 0;
	return 0;
}

/* Waits until no round is under way; all other commands are enqueued with the lock. */
static cl_int grow_between_rounds(struct rack *rack)
{
	cl_int err;

	rack->growers++;
	while (rack->round)
		pthread_cond_wait(&rack->between, &rack->lock);
	err = grow(rack);
	rack->growers--;
	pthread_cond_broadcast(&rack->between);
	return err;
}

/* ---- Life ---- */

void rack_prepare(struct rack *rack)
{
	pthread_mutex_init(&rack->lock, NULL);
	pthread_cond_init(&rack->between, NULL);
	TAILQ_INIT(&rack->active);
}

/* NULL if the program does not have the kernel. */
static cl_int make_optional(const struct rack *rack, const char *name, cl_kernel *kernel)
{
	cl_int err;

	*kernel = clCreateKernel(rack->program, name, &err);
	if (err == CL_INVALID_KERNEL_NAME) {
		*kernel = NULL;
		err = 0;
	}
	return err;
}

static cl_int init_team(struct rack *rack)
{
	const cl_uint none = 0;
	cl_int err = make_optional(rack, "vta_team", &rack->team);

	if (err || !rack->team)
		return err;
	rack->team_state = clCreateBuffer(rack->context, CL_MEM_READ_WRITE,
					  sizeof(struct vta_team), NULL, &err);
	if (!err)
		err = clEnqueueFillBuffer(rack->queue, rack->team_state, &none, sizeof(none), 0,
					  sizeof(struct vta_team), 0, NULL, NULL);
	if (!err)
		err = clSetKernelArg(rack->team, RACK_ARGUMENTS, sizeof(struct vta_group), NULL);
	return err ? err : clSetKernelArg(rack->team, RACK_ARGUMENTS + 1,
					  sizeof(cl_mem), &rack->team_state);
}

cl_int rack_init(struct rack *rack)
{
	size_t group[3] = { 0 };
	cl_device_id id;
	cl_int err;

	rack->stream = clCreateKernel(rack->program, "vta_stream", &err);
	if (!err)
		err = clGetCommandQueueInfo(rack->queue, CL_QUEUE_DEVICE, sizeof(cl_device_id), &id,
					    NULL);
	if (!err)
		err = clGetKernelWorkGroupInfo(rack->stream, id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
					       sizeof(group), group, NULL);
	if (!err)
		err = clSetKernelArg(rack->stream, RACK_ARGUMENTS, sizeof(struct vta_group), NULL);
	if (err)
		return err;
	rack->items = group[0];
	err = make_optional(rack, "vta_crowd", &rack->crowd);
	if (!err && rack->crowd)
		err = clSetKernelArg(rack->crowd, RACK_ARGUMENTS, sizeof(struct vta_group), NULL);
	if (!err)
		err = init_team(rack);
	return err ? err : make_optional(rack, "vta_wide", &rack->wide);
}

void rack_destroy(struct rack *rack)
{
	if (rack->stream)
		clReleaseKernel(rack->stream);
	if (rack->crowd)
		clReleaseKernel(rack->crowd);
	if (rack->team)
		clReleaseKernel(rack->team);
	if (rack->team_state)
		clReleaseMemObject(rack->team_state);
	if (rack->wide)
		clReleaseKernel(rack->wide);
	release_buffers(rack->buffers, rack->slots);
	free(rack->used);
	free(rack->states);
	free(rack->list);
	pthread_cond_destroy(&rack->between);
	pthread_mutex_destroy(&rack->lock);
}

static bool find_slot(const struct rack *rack, unsigned int *slot)
{
	for (*slot = 0; *slot < rack->room; ++*slot)
		if (!rack->used[*slot])
			return true;
	return false;
}

cl_int rack_enter(struct rack *rack, struct rack_core *core)
{
	cl_int err = 0;

	pthread_cond_init(&core->wake, NULL);
	pthread_mutex_lock(&rack->lock);
	while (!err && !find_slot(rack, &core->slot))
		err = grow_between_rounds(rack);
	if (!err)
		rack->used[core->slot] = true;
	pthread_mutex_unlock(&rack->lock);
	if (err)
		pthread_cond_destroy(&core->wake);
	return err;
}

void rack_leave(struct rack *rack, struct rack_core *core)
{
	pthread_mutex_lock(&rack->lock);
	rack->used[core->slot] = false;
	pthread_mutex_unlock(&rack->lock);
	pthread_cond_destroy(&core->wake);
}

/* ---- Bytes of a slot ---- */

/* The lock is held while a command is enqueued: buffers may be replaced otherwise. */
cl_int rack_put(struct rack *rack, const struct rack_core *core, enum kernels_buffer buffer,
		const void *from, size_t size)
{
	cl_int err;

	pthread_mutex_lock(&rack->lock);
	err = clEnqueueWriteBuffer(rack->queue, rack->buffers[buffer], CL_FALSE,
				   core->slot * rack->sizes[buffer], size, from, 0, NULL, NULL);
	pthread_mutex_unlock(&rack->lock);
	return err;
}

cl_int rack_get(struct rack *rack, const struct rack_core *core, enum kernels_buffer buffer,
		void *to, size_t size)
{
	cl_event done;
	cl_int err;

	pthread_mutex_lock(&rack->lock);
	err = clEnqueueReadBuffer(rack->queue, rack->buffers[buffer], CL_FALSE,
				  core->slot * rack->sizes[buffer], size, to, 0, NULL, &done);
	pthread_mutex_unlock(&rack->lock);
	return err ? err : rack_wait(rack->queue, done);
}

cl_int rack_zero(struct rack *rack, const struct rack_core *core, enum kernels_buffer buffer,
		 size_t size)
{
	const cl_uchar none = 0;
	cl_int err;

	pthread_mutex_lock(&rack->lock);
	err = clEnqueueFillBuffer(rack->queue, rack->buffers[buffer], &none, sizeof(none),
				  core->slot * rack->sizes[buffer], size, 0, NULL, NULL);
	pthread_mutex_unlock(&rack->lock);
	return err;
}

/* ---- Rounds ---- */

/* A round's launches: copied from the active streams, and used without the lock. */
struct round {
	unsigned int streams, launches;
	unsigned int over;		/* streams that the last one ended */
	bool wide;			/* before the first launch of vta_stream */
	bool listed;			/* @slots is to be written */
	unsigned int first, end;	/* slots whose states are read */
};

/*
 * Twice as many as before, or half: a slot whose stream is over idles for half of its round, and
 * all of them while the host is between two rounds, which takes as long as half a launch.
 */
static unsigned int count_launches(const struct round *last, unsigned int most)
{
	unsigned int idle = last->over * last->launches;
	unsigned int n = idle > last->streams ? last->launches / 2 : 2 * last->launches;

	n = n < most ? n : most;
	return n ? n : 1;
}

static void begin_round(struct rack *rack, struct round *round)
{
	const struct rack_core *core;
	unsigned int n = 0, ahead;

	round->first = rack->room;
	round->end = 0;
	for (core = TAILQ_FIRST(&rack->active); core; core = TAILQ_NEXT(core, next)) {
		round->listed |= n >= rack->listed || rack->list[n] != core->slot;
		rack->list[n++] = core->slot;
		if (round->first > core->slot)
			round->first = core->slot;
		if (round->end <= core->slot)
			round->end = core->slot + 1;
	}
	round->listed |= n != rack->listed;
	rack->listed = n;
	ahead = n == 1 ? AHEAD_ALONE : AHEAD_SHARED;
	round->launches = count_launches(round, ahead);
	round->streams = n;
	core = TAILQ_FIRST(&rack->active);
	round->wide = core->state->status == VTA_WIDE;
}

static cl_int launch(const struct rack *rack, const struct round *round)
{
	const bool team = rack->team && round->streams == 1;
	const size_t items = rack->items * (team ? TEAM_GROUPS : round->streams);
	const cl_uint shared = round->streams > 1 || !rack->wide;
	const cl_kernel stream = team ? rack->team :
				 rack->crowd && round->streams > rack->units ? rack->crowd :
									       rack->stream;
	bool wide = round->wide;
	cl_event done;
	cl_int err;

	err = team ? 0 : clSetKernelArg(stream, RACK_ARGUMENTS + 1, sizeof(shared), &shared);
	if (!err && round->listed)
		err = clEnqueueWriteBuffer(rack->queue, rack->slots, CL_FALSE, 0,
					   round->streams * sizeof(*rack->list), rack->list, 0,
					   NULL, NULL);
	for (unsigned int i = 0; i < round->launches && !err; i++, wide = true) {
		if (!shared && wide)
			err = clEnqueueNDRangeKernel(rack->queue, rack->wide, 1, NULL,
						     &rack->wide_items, NULL, 0, NULL, NULL);
		if (!err)
			err = clEnqueueNDRangeKernel(rack->queue, stream, 1, NULL, &items,
						     &rack->items, 0, NULL, NULL);
	}
	if (err)
		return err;
	err = clEnqueueReadBuffer(rack->queue, rack->buffers[KERNELS_STATE], CL_FALSE,
				  round->first * sizeof(*rack->states),
				  (round->end - round->first) * sizeof(*rack->states),
				  rack->states + round->first, 0, NULL, &done);
	return err ? err : wait_asking(rack->queue, done,
				       round->streams == 1 ? ASK_ALONE : ASK_AT_ONCE);
}

static void end_round(struct rack *rack, struct round *round, cl_int err)
{
	struct rack_core *core = TAILQ_FIRST(&rack->active), *next;

	round->over = 0;
	/* Streams that joined meanwhile are behind those of the round. */
	for (unsigned int i = 0; i < round->streams; i++, core = next) {
		next = TAILQ_NEXT(core, next);
		if (!err)
			*core->state = rack->states[core->slot];
		core->err = err;
		core->over = err || (core->state->status != VTA_RUN &&
				     core->state->status != VTA_WIDE) ||
			     core->memory->stop(core->memory->space);
		round->over += core->over;
		if (core->over) {
			TAILQ_REMOVE(&rack->active, core, next);
			pthread_cond_signal(&core->wake);
		}
	}
	if (rack->growers)
		pthread_cond_broadcast(&rack->between);
}

/* Lead until the thread's own stream is over; then another one's thread does. */
static void lead(struct rack *rack, const struct rack_core *own)
{
	struct round round = { .launches = 0 };
	struct rack_core *heir;
	cl_int err;

	rack->leading = true;
	while (!own->over) {
		if (rack->growers) {
			pthread_cond_wait(&rack->between, &rack->lock);
			continue;
		}
		round.listed = !round.launches;
		begin_round(rack, &round);
		rack->round = true;
		pthread_mutex_unlock(&rack->lock);
		err = launch(rack, &round);
		pthread_mutex_lock(&rack->lock);
		rack->round = false;
		end_round(rack, &round, err);
	}
	rack->leading = false;
	heir = TAILQ_FIRST(&rack->active);
	if (heir)
		pthread_cond_signal(&heir->wake);
}

cl_int rack_step(struct rack *rack, struct rack_core *core,
		 const struct vtadev_device_memory *memory, struct vta_state *state)
{
	pthread_mutex_lock(&rack->lock);
	core->memory = memory;
	core->state = state;
	core->over = false;
	core->err = 0;
	TAILQ_INSERT_TAIL(&rack->active, core, next);
	while (!core->over) {
		if (rack->leading)
			pthread_cond_wait(&core->wake, &rack->lock);
		else
			lead(rack, core);
	}
	pthread_mutex_unlock(&rack->lock);
	return core->err;
}
