// SPDX-License-Identifier: Apache-2.0
/*
 * local_engine.c - the threads that execute descriptors
 *
 * Units as in the card: the front executes NOP, SIGNAL and WAIT, the others are the compute and
 * the copy engine. Each goes round the queues that have something for it, with as many
 * descriptors in a turn as the queue's priority allows. A unit is a thread, but for compute, of
 * which a thread for each core executes RUNs of different queues side by side, and for copies, of
 * which there is one more for some cores. They sleep when there is nothing to do. A thread of the
 * program that waits for a RUN executes it itself if none of them has begun it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch.h"
#include "clock.h"
#include "local_impl.h"
#include "thread.h"

/* Bytes that are copied between two checks whether to stop. */
#define PIECE		((size_t)1 << 20)
/* Bytes of a device's own memory that are filled at once, where memory for more is missing. */
#define FILL_PIECE	4096u
/*
 * How long a thread looks for another descriptor before it sleeps, if its last one was short: as
 * long as a wait spins. Looks are between two readings of the clock.
 */
#define SPIN_NS		10000u
#define SPIN_LOOKS	32u
#define SHORT_NS	100000u
/* After a thread has looked in vain, one in so many looks all the same. */
#define PROBE		16u
/*
 * A thread that looks leaves a descriptor to the thread that submitted it for as long, which is
 * enough to begin a wait, if the one before was waited for as soon.
 */
#define GRACE_NS	1000u
/* Questions whether to stop for each look at the clock. */
#define CLOCK_EVERY	16u
/*
 * Reading the processor's time is a system call: only after the other clock's deadline, and once
 * before, which short streams do not come to.
 */

/* A RUN, COPY or FILL under way: what the device asks its memory through. */
struct vtadev_device_space {
	struct local_queue *queue;
	int64_t deadline;	/* not before this is it worth to ask */
	int64_t end;		/* the run is late in any case */
	atomic_llong cpu_end;	/* by the thread's clock; 0: not read yet */
	clockid_t clock;	/* which is this one */
	atomic_uint asked;	/* whether to stop, since the last look at a clock */
	atomic_bool late;
};

void local_engine_wake(struct local *card, enum vta_unit unit)
{
	int looks = LOCAL_SPIN_LOOKS;

	if (!atomic_compare_exchange_strong(&card->units[unit].spin, &looks, LOCAL_SPIN_CALLED))
		pthread_cond_signal(&card->units[unit].wake);
}

/* ---- When to stop ---- */

static void space_begin(struct vtadev_device_space *space, struct local_queue *q)
{
	space->queue = q;
	atomic_init(&space->asked, 0);
	space->deadline = clock_ns() + LOCAL_TIME_LIMIT_NS;
	space->end = space->deadline + 9 * LOCAL_TIME_LIMIT_NS;
	if (pthread_getcpuclockid(pthread_self(), &space->clock))
		space->clock = CLOCK_MONOTONIC;
	atomic_init(&space->cpu_end, 0);
	atomic_init(&space->late, false);
}

/*
 * A busy host makes nothing late: the engine's own time counts. A device that computes while the
 * engine sleeps has ten times as long.
 */
static bool space_stop(struct vtadev_device_space *space)
{
	int64_t now;

	if (atomic_load_explicit(&space->queue->give_up, memory_order_relaxed))
		return true;
	if ((atomic_fetch_add_explicit(&space->asked, 1, memory_order_relaxed) + 1) % CLOCK_EVERY)
		return atomic_load_explicit(&space->late, memory_order_relaxed);
	if (!atomic_load_explicit(&space->cpu_end, memory_order_relaxed))
		atomic_store(&space->cpu_end, clock_ns_of(space->clock) + LOCAL_TIME_LIMIT_NS);
	now = clock_ns();
	if (now < space->deadline)
		return false;
	if (now >= space->end || clock_ns_of(space->clock) >= atomic_load(&space->cpu_end))
		atomic_store(&space->late, true);
	return atomic_load(&space->late);
}

/* ---- RUN ---- */

static enum vta_fault_reason space_read(struct vtadev_device_space *space, uint32_t addr,
					void *dst, size_t len, uint32_t *fault_addr)
{
	return local_read(&space->queue->card->space, addr, dst, len, fault_addr);
}

static enum vta_fault_reason space_write(struct vtadev_device_space *space, uint32_t addr,
					 const void *src, size_t len, uint32_t *fault_addr)
{
	return local_write(&space->queue->card->space, addr, src, len, fault_addr);
}

/* The smaller limit, of those that are not 0. */
static uint64_t smaller(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a | b;
	return a < b ? a : b;
}

/* The core of RUNs without KEEP: of the queue, or the only one that the device has. */
static struct local_core *loose_core(struct local_queue *q)
{
	return q->card->cores > 1 ? &q->loose : &q->card->loose;
}

int local_core_make(struct local_queue *q)
{
	void **core = q->keeps ? &q->core : &loose_core(q)->core;

	return *core ? 0 : q->card->ops->core_new(q->card->device, core);
}

/*
 * The core that the RUN is to have, and how it is to find it. A RUN that keeps nothing
 * finds what the one before it left, unless one that keeps something came between, as on the
 * card, which has one core; on a device with several, what the one before it in its queue left.
 */
static int choose_core(struct local_queue *q, void **core, uint32_t *flags)
{
	struct local *card = q->card;
	struct local_core *loose = loose_core(q);
	bool keep = q->desc.op_flags & VTA_DESC_KEEP;
	void **which = keep ? &q->core : &loose->core;
	int err;

	*flags = 0;
	if (!*which) {
		err = card->ops->core_new(card->device, which);
		if (err)
			return err;
	} else if (keep ? !q->kept : loose->kept != card->kept) {
		*flags |= VTADEV_DEVICE_RUN_CLEAR;
	}
	if (keep)
		*flags |= VTADEV_DEVICE_RUN_TOKENS;
	q->kept = keep || q->kept;
	if (keep)
		card->kept++;
	else
		loose->kept = card->kept;
	*core = *which;
	return 0;
}

static void count_run(struct local *card, const struct vtadev_device_result *result)
{
	card->counters.insns += result->insns;
	card->counters.compute_cycles += result->cycles;
	card->counters.gemm_uops += result->gemm_uops;
	card->counters.alu_uops += result->alu_uops;
}

static struct local_outcome outcome_of(const struct vtadev_device_result *result)
{
	struct local_outcome outcome = LOCAL_OK;

	outcome.cycles = result->cycles;
	outcome.reason = result->reason;
	if (!outcome.reason)
		return outcome;
	outcome.access = result->access;
	outcome.addr = result->addr;
	outcome.insn_index = result->insn_index;
	memcpy(outcome.insn, result->insn, sizeof(outcome.insn));
	return outcome;
}

/* Without the lock, but for its beginning and end; a negative errno loses the device. */
static int run_stream(struct local_queue *q, struct local_outcome *outcome)
{
	struct local *card = q->card;
	struct vtadev_device_space space;
	const struct vtadev_device_memory memory = {
		.space = &space,
		.read = space_read,
		.write = space_write,
		.stop = space_stop,
	};
	struct vtadev_device_run how = {
		.memory = &memory,
		.insn_addr = q->desc.run.insn_addr,
		.insn_count = q->desc.run.insn_count,
		.cycle_limit = smaller(q->desc.run.cycle_limit, q->max_cycles),
	};
	struct vtadev_device_result result = { 0 };
	void *core;
	int err;

	err = choose_core(q, &core, &how.flags);
	if (err)
		return err;
	pthread_mutex_unlock(&card->lock);
	space_begin(&space, q);
	err = card->ops->run(card->device, core, &how, &result);
	pthread_mutex_lock(&card->lock);
	count_run(card, &result);
	*outcome = outcome_of(&result);
	if (atomic_load(&space.late)) {
		*outcome = LOCAL_OK;
		outcome->reason = VTA_FAULT_TIME;
	}
	return err;
}

/* ---- COPY and FILL; without the lock ---- */

/* Bytes from the first row's start to the last one's end; SIZE_MAX if that is too much. */
static size_t span(size_t width, size_t rows, size_t pitch)
{
	size_t bytes;

	if (__builtin_mul_overflow(rows - 1, pitch, &bytes) ||
	    __builtin_add_overflow(bytes, width, &bytes))
		return SIZE_MAX;
	return bytes;
}

static bool overlap(uint32_t a, uint32_t b, size_t len)
{
	return a < b + (uint64_t)len && b < a + (uint64_t)len;
}

/* A side of rows that are all in one piece of memory. */
static bool find_side(struct local_space *space, uint32_t addr, bool write, size_t all,
		      struct vtadev_device_side *side)
{
	struct local_piece piece = { .len = all };

	if (local_find_piece(space, addr, write, &piece) || piece.len != all)
		return false;
	side->ptr = piece.ptr;
	side->offset = piece.offset;
	return true;
}

/* By the device, if memory is its own, and both sides are one piece each and share nothing. */
static bool copy_by_device(struct local_queue *q)
{
	struct local_space *space = &q->card->space;
	const struct vta_desc *desc = &q->desc;
	struct vtadev_device_rows rows = {
		.dst.pitch = desc->copy.dst_pitch,
		.src.pitch = desc->copy.src_pitch,
		.width = desc->copy.width,
		.rows = desc->copy.rows,
	};
	size_t dst_all, src_all;
	bool good;

	if (!space->ops->copy || !rows.width || !rows.rows)
		return false;
	if (rows.rows == 1) {
		rows.dst.pitch = rows.width;
		rows.src.pitch = rows.width;
	}
	dst_all = span(rows.width, rows.rows, rows.dst.pitch);
	src_all = span(rows.width, rows.rows, rows.src.pitch);
	local_begin(space);
	good = find_side(space, desc->copy.dst, true, dst_all, &rows.dst) &&
	       find_side(space, desc->copy.src, false, src_all, &rows.src) &&
	       !(rows.dst.ptr && rows.src.ptr) && rows.dst.pitch >= rows.width &&
	       rows.src.pitch >= rows.width &&
	       !overlap(desc->copy.dst, desc->copy.src, dst_all > src_all ? dst_all : src_all);
	if (good)
		local_copy_rows(space, &rows);
	local_end(space);
	return good;
}

/* From piece to piece of the same length. The device may have both: they may overlap. */
static void copy_bytes(struct local_space *space, const struct local_piece *to,
		       const struct local_piece *from)
{
	struct local_piece dst = *to, src = *from;
	uint8_t some[4096];

	if (to->ptr) {
		local_get(space, from, to->ptr);
		return;
	}
	if (from->ptr) {
		local_put(space, to, from->ptr);
		return;
	}
	for (size_t left = to->len; left; left -= dst.len) {
		dst.len = left < sizeof(some) ? left : sizeof(some);
		src.len = dst.len;
		local_get(space, &src, some);
		local_put(space, &dst, some);
		dst.offset += dst.len;
		src.offset += dst.len;
	}
}

/* The next bytes of a row, as many as are in one piece on both sides. */
static size_t copy_piece(struct local_space *space, uint64_t dst, uint64_t src, size_t len,
			 struct local_outcome *outcome)
{
	struct local_piece from = { .len = len < PIECE ? len : PIECE }, to = { .len = 0 };

	local_begin(space);
	outcome->access = VTA_ACCESS_COPY_SRC;
	outcome->addr = (uint32_t)src;
	outcome->reason = local_find_piece(space, src, false, &from);
	if (!outcome->reason) {
		outcome->access = VTA_ACCESS_COPY_DST;
		outcome->addr = (uint32_t)dst;
		to.len = from.len;
		outcome->reason = local_find_piece(space, dst, true, &to);
	}
	if (!outcome->reason) {
		from.len = to.len;
		copy_bytes(space, &to, &from);
	}
	local_end(space);
	return outcome->reason ? 0 : to.len;
}

static void copy_row(struct vtadev_device_space *at, uint64_t dst, uint64_t src, size_t width,
		     struct local_outcome *outcome)
{
	size_t n;

	for (; width && !space_stop(at); dst += n, src += n, width -= n) {
		n = copy_piece(&at->queue->card->space, dst, src, width, outcome);
		if (!n)
			return;
	}
}

/* Copy the part that is filled behind itself, twice as much each time. */
static void fill_bytes(uint8_t *to, uint32_t pattern, size_t len)
{
	size_t n = len < sizeof(pattern) ? len : sizeof(pattern);

	memcpy(to, &pattern, n);
	for (; n < len; n *= 2)
		memcpy(to + n, to, len - n < n ? len - n : n);
}

/* As much of a piece of the device's own memory as one call of its driver fills. */
static size_t fill_by_device(struct local_space *space, const struct local_piece *piece,
			     uint32_t pattern)
{
	struct local_piece to = *piece;
	uint8_t few[FILL_PIECE], *many = malloc(to.len);

	if (!many && to.len > sizeof(few))
		to.len = sizeof(few);
	fill_bytes(many ? many : few, pattern, to.len);
	local_put(space, &to, many ? many : few);
	free(many);
	return to.len;
}

static size_t fill_piece(struct local_space *space, uint64_t dst, uint32_t pattern,
			 unsigned int phase, size_t len, struct local_outcome *outcome)
{
	struct local_piece to = { .len = len < PIECE ? len : PIECE };

	pattern = pattern >> phase * 8 | (uint32_t)((uint64_t)pattern << (32 - phase * 8));
	local_begin(space);
	outcome->addr = (uint32_t)dst;
	outcome->reason = local_find_piece(space, dst, true, &to);
	if (!outcome->reason && to.ptr)
		fill_bytes(to.ptr, pattern, to.len);
	else if (!outcome->reason)
		to.len = fill_by_device(space, &to, pattern);
	local_end(space);
	return outcome->reason ? 0 : to.len;
}

static void fill_row(struct vtadev_device_space *at, uint64_t dst, uint32_t pattern, size_t width,
		     struct local_outcome *outcome)
{
	size_t n;

	outcome->access = VTA_ACCESS_COPY_DST;
	for (size_t done = 0; done < width && !space_stop(at); done += n) {
		n = fill_piece(&at->queue->card->space, dst + done, pattern, done % sizeof(pattern),
			       width - done, outcome);
		if (!n)
			return;
	}
}

static void move_rows(struct vtadev_device_space *at, struct local_outcome *outcome)
{
	const struct vta_desc *desc = &at->queue->desc;
	bool copies = vta_desc_op(desc) == VTA_OP_COPY;
	uint32_t row = desc->copy.width ? 0 : desc->copy.rows;

	/* A row's address may be beyond 2^32, which is a fault, but not beyond 2^64. */
	for (; row < desc->copy.rows && !outcome->reason && !space_stop(at); row++) {
		if (copies)
			copy_row(at, desc->copy.dst + (uint64_t)row * desc->copy.dst_pitch,
				 desc->copy.src + (uint64_t)row * desc->copy.src_pitch,
				 desc->copy.width, outcome);
		else
			fill_row(at, desc->fill.dst + (uint64_t)row * desc->fill.dst_pitch,
				 desc->fill.pattern, desc->fill.width, outcome);
	}
	outcome->cycles = vta_copy_cycles(row, desc->copy.width);
}

static void copy(struct local_queue *q, struct local_outcome *outcome)
{
	struct vtadev_device_space at;

	pthread_mutex_unlock(&q->card->lock);
	space_begin(&at, q);
	if (vta_desc_op(&q->desc) == VTA_OP_COPY && copy_by_device(q))
		outcome->cycles = vta_desc_copy_cycles(&q->desc);
	else
		move_rows(&at, outcome);
	pthread_mutex_lock(&q->card->lock);
	if (atomic_load(&at.late)) {
		*outcome = LOCAL_OK;
		outcome->reason = VTA_FAULT_TIME;
	}
}

/* ---- NOP, SIGNAL, WAIT ---- */

static void look_again(struct local *card)
{
	for (uint32_t i = 0; i < card->queues_end; i++)
		if (card->queues[i])
			card->queues[i]->look = true;
}

static void signal_word(struct local_queue *q, struct local_outcome *outcome)
{
	struct local *card = q->card;

	outcome->access = VTA_ACCESS_SIGNAL;
	outcome->addr = q->desc.sync.addr;
	pthread_mutex_unlock(&card->lock);
	outcome->reason = local_write64(&card->space, q->desc.sync.addr, q->desc.sync.value);
	pthread_mutex_lock(&card->lock);
	look_again(card);
}

/* False: it is to wait on. */
static bool wait_word(struct local_queue *q, struct local_outcome *outcome)
{
	struct local *card = q->card;
	uint64_t value = 0;

	outcome->access = VTA_ACCESS_WAIT;
	outcome->addr = q->desc.sync.addr;
	q->look = false;
	pthread_mutex_unlock(&card->lock);
	outcome->reason = local_read64(&card->space, q->desc.sync.addr, &value);
	pthread_mutex_lock(&card->lock);
	return outcome->reason || value >= q->desc.sync.value;
}

/* ---- The threads ---- */

static int execute(struct local_queue *q, struct local_outcome *outcome)
{
	if (q->unit == VTA_UNIT_COMPUTE)
		return run_stream(q, outcome);
	if (q->unit == VTA_UNIT_COPY)
		copy(q, outcome);
	else if (vta_desc_op(&q->desc) == VTA_OP_SIGNAL)
		signal_word(q, outcome);
	return 0;
}

/* The queue's next descriptor may be another thread's. */
static void pass_on(struct local_queue *q, enum vta_unit unit)
{
	local_fetch(q);
	if (q->phase == LOCAL_READY && q->unit != unit)
		local_engine_wake(q->card, q->unit);
}

static void serve(struct local_engine *engine, struct local_queue *q)
{
	struct local_outcome outcome = LOCAL_OK;
	int err = 0;

	if (q->phase == LOCAL_READY)
		q->begin = local_time(engine->card);
	q->phase = LOCAL_EXECUTING;
	engine->card->units[engine->unit].busy++;
	if (vta_desc_op(&q->desc) == VTA_OP_WAIT) {
		bool over = wait_word(q, &outcome);

		engine->card->units[engine->unit].busy--;
		if (!over && !atomic_load(&q->give_up)) {
			q->phase = LOCAL_WAITING;
			return;
		}
	} else {
		err = execute(q, &outcome);
		engine->card->units[engine->unit].busy--;
	}
	if (err < 0 || atomic_load(&engine->card->space.broken))
		local_lose(engine->card);
	local_finish(q, &outcome);
	engine->begin = q->begin;
	pass_on(q, engine->unit);
}

/* Returns true if the unit's thread has work for the queue. */
static bool has_work(struct local_queue *q, enum vta_unit unit)
{
	if (!q || q->state != VTA_QUEUE_ACTIVE)
		return false;
	if (unit == VTA_UNIT_FRONT) {
		pass_on(q, unit);
		if (q->phase == LOCAL_WAITING)
			return q->look;
	}
	return q->phase == LOCAL_READY && q->unit == unit;
}

/* No more RUNs are side by side than the device has cores, whichever threads execute them. */
static bool is_full(const struct local *card, enum vta_unit unit)
{
	return unit == VTA_UNIT_COMPUTE && card->units[unit].busy >= card->cores;
}

static struct local_queue *pick(struct local *card, enum vta_unit which)
{
	struct local_unit *unit = &card->units[which];

	if (is_full(card, which))
		return NULL;
	for (unsigned int i = 0; i <= card->queues_end; i++) {
		struct local_queue *q = card->queues[unit->turn];

		if (unit->left && has_work(q, which)) {
			unit->left--;
			return q;
		}
		unit->turn = unit->turn + 1 < card->queues_end ? unit->turn + 1 : 0;
		q = card->queues[unit->turn];
		unit->left = q ? 1u << q->priority : 0;
	}
	return NULL;
}

/* Returns true when it was called, before @end. Without the lock. */
static bool look(const struct local *card, struct local_unit *unit, uint64_t end)
{
	do {
		for (unsigned int i = 0; i < SPIN_LOOKS; i++) {
			if (atomic_load(&unit->spin) == LOCAL_SPIN_CALLED)
				return true;
			arch_relax();
		}
	} while (local_time(card) < end);
	return false;
}

static void let_pass(const struct local *card, uint64_t ns)
{
	uint64_t end = local_time(card) + ns;

	while (local_time(card) < end)
		arch_relax();
}

/*
 * Drop the lock and look for a call for a short time, once after each short descriptor: a program
 * that waits for each of its streams submits the next one soon. One thread of a unit does.
 */
static bool spin(struct local_engine *engine)
{
	struct local *card = engine->card;
	struct local_unit *unit = &card->units[engine->unit];
	uint64_t begin = engine->begin, now = local_time(card);
	bool helped = unit->helped;

	engine->begin = 0;
	if (!card->spins || !begin || now - begin > SHORT_NS ||
	    atomic_load(&unit->spin) != LOCAL_SPIN_NONE)
		return false;
	if (unit->skips) {
		unit->skips--;
		return false;
	}
	atomic_store(&unit->spin, LOCAL_SPIN_LOOKS);
	pthread_mutex_unlock(&card->lock);
	if (look(card, unit, now + SPIN_NS) && helped)
		let_pass(card, GRACE_NS);
	local_lock(card);
	if (atomic_exchange(&unit->spin, LOCAL_SPIN_NONE) == LOCAL_SPIN_LOOKS)
		unit->skips = PROBE - 1;
	else
		engine->begin = local_time(card);
	return true;
}

static void *engine_main(void *arg)
{
	struct local_engine *engine = arg;
	struct local *card = engine->card;
	struct local_unit *unit = &card->units[engine->unit];

	pthread_mutex_lock(&card->lock);
	while (!card->exiting) {
		struct local_queue *q = pick(card, engine->unit);

		if (q) {
			unit->helped = false;
			serve(engine, q);
		} else if (!spin(engine)) {
			pthread_cond_wait(&unit->wake, &card->lock);
			/* Another thread may have the work already: then look for more. */
			engine->begin = local_time(card);
		}
	}
	pthread_mutex_unlock(&card->lock);
	return NULL;
}

/* ---- A thread that waits executes what it waits for ---- */

static unsigned int count_work(const struct local *card, enum vta_unit unit)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < card->queues_end; i++)
		n += has_work(card->queues[i], unit);
	return n;
}

/* Only what a thread of the unit would take as well: turns are the queues' as ever. */
static bool take_own(struct local *card, struct local_queue *q, enum vta_unit unit)
{
	return has_work(q, unit) && count_work(card, unit) == 1 && pick(card, unit) == q;
}

/*
 * The program's thread has in its caches what it has just written, and no thread has to wake for
 * the result. The wait is to have no time-out, since a RUN cannot be handed over.
 */
void local_help(struct local *card, uint32_t handle, uint64_t seq)
{
	struct local_engine self = { .card = card, .unit = VTA_UNIT_COMPUTE };
	struct local_unit *unit = &card->units[self.unit];
	struct local_queue *q;
	unsigned int left = 0;
	int cancel;

	/* A device with memory of its own computes elsewhere. */
	if (card->ops->map)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	local_lock(card);
	q = local_find(card, handle);
	if (q && q->phase == LOCAL_EXECUTING && q->unit == self.unit &&
	    local_time(card) - q->begin < GRACE_NS)
		unit->helped = true;
	while (q && q->state == VTA_QUEUE_ACTIVE && q->seq < seq && take_own(card, q, self.unit)) {
		serve(&self, q);
		unit->helped = true;
		left = 1;
	}
	if (left)
		left = count_work(card, self.unit);
	pthread_mutex_unlock(&card->lock);
	while (left--)
		local_engine_wake(card, self.unit);
	pthread_setcancelstate(cancel, NULL);
}

void local_engines_stop(struct local *card)
{
	card->exiting = true;
	for (unsigned int i = 0; i < card->queues_end; i++)
		if (card->queues[i])
			atomic_store(&card->queues[i]->give_up, true);
	for (unsigned int i = 0; i < VTA_UNITS; i++)
		pthread_cond_broadcast(&card->units[i].wake);
	pthread_mutex_unlock(&card->lock);
	for (unsigned int i = 0; i < card->started; i++)
		pthread_join(card->engines[i].thread, NULL);
	pthread_mutex_lock(&card->lock);
}

static unsigned int count_queues(const struct local *card)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < card->queues_end; i++)
		n += !!card->queues[i];
	return n;
}

/* A thread of each unit, then those for more cores: the last one of some copies. */
static enum vta_unit unit_of(unsigned int thread)
{
	unsigned int turn = (thread + 2 - VTA_UNITS) % (LOCAL_CORES_COPIER + 1);

	if (thread < VTA_UNITS)
		return (enum vta_unit)thread;
	return turn ? VTA_UNIT_COMPUTE : VTA_UNIT_COPY;
}

/* Threads that are started stay: a failure is the queue's, and the next one tries again. */
int local_engines_start(struct local *card)
{
	unsigned int cores = count_queues(card) + 1, need;
	int err = 0;

	cores = cores < card->cores ? cores : card->cores;
	need = VTA_UNITS - 1 + cores + cores / LOCAL_CORES_COPIER;
	while (card->started < need && !err) {
		struct local_engine *engine = &card->engines[card->started];

		engine->card = card;
		engine->unit = unit_of(card->started);
		err = thread_create(&engine->thread, engine_main, engine);
		card->started += !err;
	}
	return -err;
}
