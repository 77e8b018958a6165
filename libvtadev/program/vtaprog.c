// SPDX-License-Identifier: Apache-2.0
/*
 * Programs on a card: memory for an image's segments, and the steps of a run, put together
 * in parts: the descriptors of card steps that follow each other are one batch, with one
 * doorbell.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "prog.h"

#define UPLOAD_NS	(60 * 1000000000ll)
#define INSN_BYTES	16u
#define RING_LEAST	64u

int vtaprog_core(const struct vtadev *dev, struct vtaops_core *core)
{
	const struct vtadev_info *info = vtadev_info(dev);

	*core = (struct vtaops_core) {
		.log_inp_width = info->log_inp_width, .log_wgt_width = info->log_wgt_width,
		.log_acc_width = info->log_acc_width, .log_batch = info->log_batch,
		.log_block = info->log_block, .log_uop_buff_size = info->log_uop_buff_size,
		.log_inp_buff_size = info->log_inp_buff_size,
		.log_wgt_buff_size = info->log_wgt_buff_size,
		.log_acc_buff_size = info->log_acc_buff_size,
	};
	return vtaops_core_init(core) ? -EPROTO : 0;
}

uint32_t vtaprog_ring(const struct vtadev *dev, const struct vtaimage *image)
{
	uint32_t entries = RING_LEAST, most = vtadev_info(dev)->ring_entries_max;

	while (entries < image->step_count && entries < most)
		entries *= 2;
	return entries < most ? entries : most;
}

static int explain(int err, char *why, const char *what)
{
	snprintf(why, VTAPROG_WHY_MAX, "%s: %s", what, vtadev_strerror(err));
	return err;
}

/* Consecutive steps of the card are one batch, which the ring must hold. */
static int fits_ring(const struct vtadev_queue *queue, const struct vtaimage *image,
		     char why[VTAPROG_WHY_MAX])
{
	uint32_t entries = vtadev_queue_entries(queue), descs = 0, most = 0, needed = 1;
	struct vtaimage_step step;

	for (uint32_t i = 0; i < image->step_count; i++) {
		vtaimage_step(image, i, &step);
		descs = step.kind == VTAIMAGE_CPU ? 0 : descs + 1;
		most = descs > most ? descs : most;
	}
	if (most <= entries)
		return 0;
	while (needed < most)
		needed *= 2;
	snprintf(why, VTAPROG_WHY_MAX, "a run is %u descriptors, the queue's ring holds %u: "
		 "make it with ring_entries = %u or more", most, entries, needed);
	return -ENOSPC;
}

static uint32_t address(const struct vtadev_buf *buf, uint32_t offset)
{
	return (buf ? vtadev_buf_addr(buf) : 0) + offset;
}

/* The model as the card is to have it. */
static int place_model(const struct vtaprog *prog, const struct vtaimage *image, void *to)
{
	return vtaimage_place(image, address(prog->model, 0), address(prog->arena, 0), to) ?
	       -EINVAL : 0;
}

/* Of it the streams alone, one behind the other. */
static int place_streams(const struct vtaprog *prog, const struct vtaimage *image, uint8_t *to)
{
	uint8_t *model = malloc(image->model_bytes);
	int err = model ? place_model(prog, image, model) : -ENOMEM;
	struct vtaimage_stream stream;

	for (uint32_t i = 0; i < image->stream_count && !err; i++) {
		vtaimage_stream(image, i, &stream);
		memcpy(to, model + stream.insn_at, stream.insn_count * INSN_BYTES);
		to += stream.insn_count * INSN_BYTES;
	}
	free(model);
	return err;
}

/* The model, or a twin's streams, to the card. */
static int load_model(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image)
{
	struct vtadev_buf *staging, *to = prog->twin ? prog->insns : prog->model;
	struct vta_desc copy;
	uint64_t seq;
	void *map;
	int err;

	err = vtadev_buf_alloc(dev, vtadev_buf_size(to), VTADEV_HOST, &staging);
	if (err)
		return err;
	err = vtadev_buf_map(staging, &map);
	if (!err)
		err = prog->twin ? place_streams(prog, image, map) : place_model(prog, image, map);
	if (!err) {
		copy = vtadev_desc_copy(vtadev_buf_addr(to), vtadev_buf_addr(staging),
					(uint32_t)vtadev_buf_size(to));
		err = vtadev_submit(prog->queue, &copy, 1, &seq);
	}
	if (!err)
		err = vtadev_wait(prog->queue, seq, UPLOAD_NS);
	vtadev_buf_free(staging);
	return err;
}

static uint32_t stream_bytes(const struct vtaimage *image)
{
	struct vtaimage_stream stream;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < image->stream_count; i++) {
		vtaimage_stream(image, i, &stream);
		bytes += stream.insn_count * INSN_BYTES;
	}
	return bytes;
}

/* Set the streams' addresses: in the model, or, a twin's, one behind the other. */
static int make_streams(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image)
{
	uint32_t bytes = stream_bytes(image), at = 0;
	struct vtaimage_stream stream;
	int err = 0;

	prog->streams = calloc(image->stream_count + 1, sizeof(*prog->streams));
	if (!prog->streams)
		return -ENOMEM;
	if (prog->twin && bytes)
		err = vtadev_buf_alloc(dev, bytes, VTADEV_CARD, &prog->insns);
	for (uint32_t i = 0; i < image->stream_count && !err; i++) {
		vtaimage_stream(image, i, &stream);
		prog->streams[i] = prog->twin ? address(prog->insns, at) :
				   address(prog->model, stream.insn_at);
		at += stream.insn_count * INSN_BYTES;
	}
	return err;
}

static int make_tensors(struct vtaprog *prog, const struct vtaimage *image)
{
	prog->tensors = calloc(image->tensor_count + 1, sizeof(*prog->tensors));
	if (!prog->tensors)
		return -ENOMEM;
	prog->count = image->tensor_count;
	for (uint32_t i = 0; i < prog->count; i++)
		vtaimage_tensor(image, i, &prog->tensors[i]);
	return 0;
}

/* Memory of all segments; arena and host are 0, as what is allocated is. */
static int make_memory(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image)
{
	void *map;
	int err = 0;

	if (image->model_bytes && !prog->twin)
		err = vtadev_buf_alloc_at(dev, image->model_bytes, VTADEV_CARD, image->align, 0,
					  &prog->model);
	if (!err && image->arena_bytes)
		err = vtadev_buf_alloc_at(dev, image->arena_bytes, VTADEV_CARD, image->align, 0,
					  &prog->arena);
	if (!err && image->host_bytes)
		err = vtadev_buf_alloc(dev, image->host_bytes, VTADEV_HOST, &prog->host);
	if (!err && prog->host) {
		err = vtadev_buf_map(prog->host, &map);
		prog->map = err ? NULL : map;
	}
	if (!err && image->consts_bytes && !prog->consts) {
		size_t size = ((size_t)image->consts_bytes + VTAIMAGE_HOST_ALIGN - 1) /
			      VTAIMAGE_HOST_ALIGN * VTAIMAGE_HOST_ALIGN;

		prog->consts = aligned_alloc(VTAIMAGE_HOST_ALIGN, size);
		if (!prog->consts)
			return -ENOMEM;
		memcpy(prog->consts, image->consts, image->consts_bytes);
	}
	return err;
}

static uint32_t place_address(const struct vtaprog *prog, struct vtaimage_place place)
{
	return address(place.segment == VTAIMAGE_IN_ARENA ? prog->arena : prog->host, place.offset);
}

static void make_kernel(const struct vtaprog *prog, const struct vtaimage_step *step,
			struct kernel_step *k)
{
	*k = (struct kernel_step) { .kernel = step->kernel, .params = step->params };
	for (unsigned int i = 0; i < VTACPU_OPERANDS_MAX; i++) {
		struct vtaimage_place at = step->io[i];

		if (at.segment == VTAIMAGE_IN_HOST)
			k->io[i] = prog->map + at.offset;
		else if (at.segment == VTAIMAGE_IN_CONSTS)
			k->io[i] = prog->consts + at.offset;
	}
	if (prog->map)
		k->scratch = prog->map + step->scratch;
}

static void make_desc(const struct vtaprog *prog, const struct vtaimage_step *step,
		      struct vta_desc *desc)
{
	if (step->kind == VTAIMAGE_COPY) {
		bool there = step->dst.segment == VTAIMAGE_IN_ARENA;

		*desc = vtadev_desc_copy2d(place_address(prog, step->dst),
					   there ? step->pitch : step->bytes,
					   place_address(prog, step->src),
					   there ? step->bytes : step->pitch, step->bytes,
					   step->rows ? step->rows : 1);
		return;
	}
	*desc = vtadev_desc_fill(place_address(prog, step->dst), step->pattern, step->bytes);
}

/* Numbers of what make_steps() has made: kernels, descriptors. */
struct made {
	uint32_t count[2];
};

/* Is there room in the last part? */
static bool part_has_room(const struct vtaprog *prog, bool card)
{
	const struct part *last;

	if (!prog->part_count)
		return false;
	last = &prog->parts[prog->part_count - 1];
	return last->card == card &&
	       (!card || last->count < vtadev_queue_entries(prog->queue));
}

/* Counts a kernel, or a descriptor, of the last part, or of a new one. */
static uint32_t add_to_part(struct vtaprog *prog, struct made *made, bool card)
{
	if (!part_has_room(prog, card))
		prog->parts[prog->part_count++] = (struct part) {
			.card = card, .first = made->count[card],
			.span = made->count[0] + made->count[1],
		};
	prog->parts[prog->part_count - 1].count++;
	return made->count[card]++;
}

/* Makes a RUN for each part of the stream. */
static void make_runs(struct vtaprog *prog, const struct vtaimage *image, uint32_t number,
		      struct made *made)
{
	const struct vtaprog_cut *cuts = NULL;
	struct vtaimage_stream stream;
	struct vtaimage_step step;
	uint32_t count, first = 0;

	vtaimage_step(image, number, &step);
	vtaimage_stream(image, step.stream, &stream);
	count = profile_cuts(prog->profile, image, step.stream, &cuts);
	for (uint32_t i = 0; i <= count; i++) {
		uint32_t end = i < count ? cuts[i].insn : stream.insn_count;
		struct vta_desc *desc = &prog->descs[add_to_part(prog, made, true)];

		*desc = vtadev_desc_run(prog->streams[step.stream] + first * INSN_BYTES,
					end - first, 0);
		if (count)
			vtadev_desc_keep(desc);
		if (prog->profile)
			profile_add(prog->profile, number, first, end - first);
		first = end;
	}
}

static void make_step(struct vtaprog *prog, const struct vtaimage *image, uint32_t number,
		      struct made *made)
{
	struct vtaimage_step step;

	vtaimage_step(image, number, &step);
	if (step.kind == VTAIMAGE_RUN) {
		make_runs(prog, image, number, made);
		return;
	}
	if (step.kind == VTAIMAGE_CPU)
		make_kernel(prog, &step, &prog->kernels[add_to_part(prog, made, false)]);
	else
		make_desc(prog, &step, &prog->descs[add_to_part(prog, made, true)]);
	if (prog->profile)
		profile_add(prog->profile, number, 0, 0);
}

static int make_steps(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image)
{
	uint64_t room = prog->profile ? prog->profile->room : image->step_count;
	struct made made = { 0 };

	prog->descs = calloc(room, sizeof(*prog->descs));
	prog->kernels = calloc(image->step_count, sizeof(*prog->kernels));
	prog->parts = calloc(room, sizeof(*prog->parts));
	if (!prog->descs || !prog->kernels || !prog->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < image->step_count; i++)
		make_step(prog, image, i, &made);
	prog->kernel_count = made.count[0];
	return prog->profile ? profile_stamp(dev, prog->profile, prog->descs, made.count[1]) : 0;
}

/* Checks that the card has the image's core, which needs no memory of the card's. */
static int check_card(const struct vtadev *dev, const struct vtaimage *image,
		      char why[VTAPROG_WHY_MAX])
{
	struct vtaimage copy = *image;	/* other threads may read @image */
	struct vtaops_core core;
	int err = vtaprog_core(dev, &core);

	if (err)
		return explain(err, why, "the card");
	if (vtaimage_fits(&copy, &core)) {
		snprintf(why, VTAPROG_WHY_MAX, "%s", copy.why);
		return -ENOEXEC;
	}
	return 0;
}

static int fill_program(struct vtadev *dev, struct vtaprog *prog, const struct vtaimage *image,
			char why[VTAPROG_WHY_MAX])
{
	int err = make_memory(dev, prog, image);

	if (!err)
		err = make_streams(dev, prog, image);
	if (err)
		return explain(err, why, "memory for the program");
	err = make_tensors(prog, image);
	if (!err)
		err = make_steps(dev, prog, image);
	if (err)
		return explain(err, why, "the program");
	if (prog->twin ? prog->insns : prog->model)
		err = load_model(dev, prog, image);
	return err ? explain(err, why, "bringing the program to the card") : 0;
}

/* @first: whose model it has, or NULL; @profile: its own from now on, or NULL */
static int load_program(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaprog *first,
			struct profile *profile, const struct vtaimage *image,
			struct vtaprog **out, char why[VTAPROG_WHY_MAX])
{
	struct vtaprog *prog = calloc(1, sizeof(*prog));
	int err;

	if (!prog) {
		profile_free(profile);
		return explain(-ENOMEM, why, "the program");
	}
	prog->core = image->core;
	prog->queue = queue;
	prog->profile = profile;
	prog->consts_bytes = image->consts_bytes;
	if (first) {
		prog->twin = true;
		prog->model = first->model;
		prog->consts = first->consts;
	}
	err = fill_program(dev, prog, image, why);
	if (err)
		vtaprog_free(prog);
	else
		*out = prog;
	return err;
}

int vtaprog_load(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaimage *image,
		 struct vtaprog **out, char why[VTAPROG_WHY_MAX])
{
	int err = check_card(dev, image, why);

	if (!err)
		err = fits_ring(queue, image, why);
	return err ? err : load_program(dev, queue, NULL, NULL, image, out, why);
}

int vtaprog_twin(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaprog *first,
		 const struct vtaimage *image, struct vtaprog **out, char why[VTAPROG_WHY_MAX])
{
	int err = check_card(dev, image, why);

	if (!err)
		err = fits_ring(queue, image, why);
	if (err)
		return err;
	if ((first->model ? vtadev_buf_size(first->model) : 0) != image->model_bytes ||
	    first->consts_bytes != image->consts_bytes ||
	    (first->consts && memcmp(first->consts, image->consts, image->consts_bytes))) {
		snprintf(why, VTAPROG_WHY_MAX, "it is not the image of the program that is there");
		return -EINVAL;
	}
	return load_program(dev, queue, first, NULL, image, out, why);
}

int vtaprog_profile(struct vtadev *dev, struct vtadev_queue *queue, const struct vtaimage *image,
		    const struct vtaprog_cut *cuts, uint32_t count, struct vtaprog **out,
		    char why[VTAPROG_WHY_MAX])
{
	struct profile *profile;
	int err = check_card(dev, image, why);

	if (err)
		return err;
	err = profile_new(image, cuts, count, &profile);
	if (err)
		return explain(err, why, "the places to cut streams at");
	return load_program(dev, queue, NULL, profile, image, out, why);
}

void vtaprog_free(struct vtaprog *prog)
{
	if (!prog)
		return;
	threads_free(prog);
	vtadev_buf_free(prog->host);
	vtadev_buf_free(prog->arena);
	vtadev_buf_free(prog->insns);
	if (!prog->twin)
		vtadev_buf_free(prog->model);
	free(prog->streams);
	if (!prog->twin)
		free(prog->consts);
	free(prog->tensors);
	free(prog->descs);
	free(prog->kernels);
	free(prog->parts);
	profile_free(prog->profile);
	free(prog);
}

uint32_t vtaprog_tensors(const struct vtaprog *prog)
{
	return prog->count;
}

const struct vtaimage_tensor *vtaprog_tensor(const struct vtaprog *prog, uint32_t i)
{
	return i < prog->count ? &prog->tensors[i] : NULL;
}

/* -ECHILD in a child, whose steps on the CPU would write to its parent's memory. */
static int check_owner(const struct vtaprog *prog)
{
	void *map;

	return prog->host ? vtadev_buf_map(prog->host, &map) : 0;
}

int vtaprog_map(struct vtaprog *prog, uint32_t i, void **ptr)
{
	if (i >= prog->count || prog->tensors[i].role == VTAIMAGE_INTERNAL)
		return -ENOENT;
	*ptr = prog->map + prog->tensors[i].offset;
	return check_owner(prog);
}

size_t vtaprog_bytes(const struct vtaimage_tensor *t)
{
	return t->layout == VTAIMAGE_PACKED ? (size_t)t->n * t->c * t->h * t->w : t->bytes;
}

int vtaprog_put(struct vtaprog *prog, uint32_t i, const void *values)
{
	const struct vtaimage_tensor *t;
	void *to;
	int err = vtaprog_map(prog, i, &to);

	if (err)
		return err;
	t = &prog->tensors[i];
	if (t->layout == VTAIMAGE_PACKED)
		vtaops_pack_act(&prog->core, to, values, t->n, t->c, t->h, t->w);
	else
		memcpy(to, values, t->bytes);
	return 0;
}

int64_t vtaprog_size(struct vtaprog *prog, uint32_t i, uint32_t *dim)
{
	int64_t n, most;
	void *from;
	int err = vtaprog_map(prog, i, &from);

	if (err)
		return err;
	if (i + 1 >= prog->count || prog->tensors[i + 1].role != VTAIMAGE_SIZE)
		return -ENODATA;
	err = vtaprog_map(prog, i + 1, &from);
	if (err)
		return err;
	memcpy(&n, from, sizeof(n));
	*dim = (uint32_t)prog->tensors[i + 1].zero;
	most = prog->tensors[i].dims[*dim];
	return n < 0 ? 0 : n < most ? n : most;
}

int vtaprog_check(const struct vtaprog *prog)
{
	uint64_t completed;

	return vtadev_completed(prog->queue, &completed);
}

int vtaprog_get(struct vtaprog *prog, uint32_t i, void *values)
{
	const struct vtaimage_tensor *t;
	void *from;
	int err = vtaprog_map(prog, i, &from);

	if (err)
		return err;
	t = &prog->tensors[i];
	if (t->layout == VTAIMAGE_PACKED)
		vtaops_unpack_act(&prog->core, values, from, t->n, t->c, t->h, t->w);
	else
		memcpy(values, from, t->bytes);
	return vtaprog_check(prog);
}

int vtaprog_submit(struct vtaprog *prog, uint64_t *seq)
{
	if (prog->running)
		return -EBUSY;
	if (prog->part_count != 1 || !prog->parts[0].card || prog->profile)
		return -EOPNOTSUPP;
	return vtadev_submit(prog->queue, prog->descs, prog->parts[0].count, seq);
}

static void run_kernel(struct vtaprog *prog, const struct part *p, uint32_t i)
{
	const struct kernel_step *k = &prog->kernels[p->first + i];
	struct vtaprog_span *span = prog->profile ? &prog->profile->spans[p->span + i] : NULL;

	if (span)
		span->begin = clock_ns();
	threads_run(prog, k);
	if (span)
		span->end = clock_ns();
}

/* The CPU's steps up to the card's next, which are submitted; done behind the last. */
static int next_part(struct vtaprog *prog)
{
	for (; prog->part < prog->part_count; prog->part++) {
		const struct part *p = &prog->parts[prog->part];

		if (p->card && prog->profile)
			prog->profile->submitted = clock_ns();
		if (p->card)
			return vtadev_submit(prog->queue, prog->descs + p->first, p->count,
					     &prog->seq);
		for (uint32_t i = 0; i < p->count; i++)
			run_kernel(prog, p, i);
	}
	if (prog->profile)
		profile_end(prog);
	return 0;
}

int vtaprog_begin(struct vtaprog *prog)
{
	int err;

	if (prog->running)
		return -EBUSY;
	err = check_owner(prog);
	if (err)
		return err;
	prog->part = 0;
	if (prog->profile)
		profile_begin(prog->profile);
	err = next_part(prog);
	prog->running = !err;
	return err;
}

int vtaprog_end(struct vtaprog *prog, int64_t timeout_ns)
{
	int64_t start = clock_ns();
	int err = 0;

	if (!prog->running)
		return -EINVAL;
	while (!err && prog->part < prog->part_count) {
		int64_t left = timeout_ns;

		if (timeout_ns >= 0) {
			left -= clock_ns() - start;
			left = left > 0 ? left : 0;
		}
		err = vtadev_wait(prog->queue, prog->seq, left);
		/* The run continues: the caller can wait for it again. */
		if (err == -ETIMEDOUT || err == -EINTR)
			return err;
		if (!err && prog->profile)
			err = profile_take(prog, &prog->parts[prog->part]);
		prog->part++;
		if (!err)
			err = next_part(prog);
	}
	prog->running = false;
	return err;
}

bool prog_ready(struct vtaprog *prog)
{
	return vtadev_wait(prog->queue, prog->seq, 0) != -ETIMEDOUT ||
	       vtadev_arm(prog->queue, vtadev_submitted(prog->queue)) != 0;
}

int vtaprog_poll(struct vtaprog *prog)
{
	int err, armed;

	do {
		armed = 0;
		err = vtaprog_end(prog, 0);
		if (err == -ETIMEDOUT)
			armed = vtadev_arm(prog->queue, vtadev_submitted(prog->queue));
		/* It completed meanwhile, or the queue halted: vtaprog_end() knows. */
	} while (armed == 1 || armed == -EIO);
	if (armed >= 0)
		return err;
	prog->running = false;
	return armed;
}

int vtaprog_run(struct vtaprog *prog, int64_t timeout_ns)
{
	int err = vtaprog_begin(prog);

	return err ? err : vtaprog_end(prog, timeout_ns);
}
