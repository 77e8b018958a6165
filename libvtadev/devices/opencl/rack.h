/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rack.h - the cores of an OpenCL device: buffers with a slot for each, and launches for all
 *
 * Streams of different cores are executed side by side, by a work-group each of one launch.
 */
#ifndef VTA_DEVICES_OPENCL_RACK_H
#define VTA_DEVICES_OPENCL_RACK_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "devices/kernels.h"
#include "cl.h"

/* The arena, the pages, the slots, and the buffers of cores: arguments of all kernels. */
#define RACK_ARGUMENTS	(KERNELS_BUFFERS + 3)

/* A core, and its stream while rack_step() has it. */
struct rack_core {
	unsigned int slot;
	const struct vtadev_device_memory *memory;
	struct vta_state *state;
	bool over;			/* the host is asked for, or an error has ended it */
	cl_int err;
	pthread_cond_t wake;		/* it is over, or its thread is to lead */
	TAILQ_ENTRY(rack_core) next;
};

/**
 * struct rack - an OpenCL device's cores
 * @context: where buffers are made
 * @queue: in which kernels are launched, in order
 * @program: vta.cl, built
 * @arena: argument of the kernels
 * @pages: argument of the kernels
 * @wide_items: work-items of vta_wide
 * @units: compute units of the device
 * @sizes: bytes of a slot in each buffer
 *
 * The fields above are set between rack_prepare() and rack_init().
 */
struct rack {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_mem arena, pages;
	size_t wide_items;
	cl_uint units;
	size_t sizes[KERNELS_BUFFERS];

	pthread_mutex_t lock;		/* Protects: all below */
	pthread_cond_t between;		/* no round is under way, or buffers are replaced */
	cl_kernel stream;
	cl_kernel crowd;		/* for more streams than @units; NULL: @stream is */
	cl_kernel team;			/* for one stream; NULL: @stream and @wide are */
	cl_kernel wide;			/* NULL with VTA_TASK, and if there is @team */
	size_t items;			/* of a group of @stream and @crowd */
	cl_mem buffers[KERNELS_BUFFERS], slots, team_state;
	bool *used;			/* slots */
	struct vta_state *states;	/* of all slots, for a round */
	cl_uint *list;			/* slots of a round, as they were written to @slots */
	unsigned int room, listed;
	TAILQ_HEAD(rack_cores, rack_core) active;
	bool leading;			/* a thread launches for all */
	bool round;			/* it does so without the lock */
	unsigned int growers;		/* threads that wait to replace buffers */
};

/*
 * rack_wait() - wait for @event of @queue, and release it. Returns 0 or an error of the command.
 * NVIDIA's driver lets no other thread enqueue while one is in a call of it that waits; so this
 * asks again and again.
 */
cl_int rack_wait(cl_command_queue queue, cl_event event);

/* Of a zeroed rack: from here on rack_destroy() is due. */
void rack_prepare(struct rack *rack);
/* Make kernels, once the fields are set. */
cl_int rack_init(struct rack *rack);
void rack_destroy(struct rack *rack);

/* Take a slot, whose bytes are undefined; doubles the buffers if there is none. */
cl_int rack_enter(struct rack *rack, struct rack_core *core);
void rack_leave(struct rack *rack, struct rack_core *core);

/* As put, get, zero and step of struct kernels_ops, for the core's slot. */
cl_int rack_put(struct rack *rack, const struct rack_core *core, enum kernels_buffer buffer,
		const void *from, size_t size);
cl_int rack_get(struct rack *rack, const struct rack_core *core, enum kernels_buffer buffer,
		void *to, size_t size);
cl_int rack_zero(struct rack *rack, const struct rack_core *core, enum kernels_buffer buffer,
		 size_t size);
cl_int rack_step(struct rack *rack, struct rack_core *core,
		 const struct vtadev_device_memory *memory, struct vta_state *state);

#endif /* VTA_DEVICES_OPENCL_RACK_H */
