// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of the driver when the card begins to fail, each caused by a victim: a process that
 * uses the card in that way.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "matrix.h"
#include "vta_insn.h"
#include "vta_selftest.h"

#define SIZE		(4u << 20)
#define WAIT_MS		600

struct victim {
	int fd;
	struct queue q;
	struct mem host, card, code;
};

static int victim_open(struct victim *v)
{
	int err, i;

	memset(v, 0, sizeof(*v));
	v->fd = card_open();
	if (v->fd < 0)
		return v->fd;
	err = queue_open(v->fd, &v->q, NULL);
	err = err ? err : mem_alloc(v->fd, &v->host, SIZE, VTA_BUF_HOST, 0);
	err = err ? err : mem_alloc(v->fd, &v->card, SIZE, VTA_BUF_CARD, 0);
	err = err ? err : mem_alloc(v->fd, &v->code, 4096, VTA_BUF_HOST, 0);
	/* So that there are numbers to go back to. */
	for (i = 0; i < 8 && !err; i++)
		err = queue_do(&v->q, desc_op(VTA_OP_NOP));
	return err;
}

static void unmap(struct mem *mem)
{
	if (mem->ptr && mem->ptr != MAP_FAILED)
		munmap(mem->ptr, mem->size);
}

static void victim_close(struct victim *v)
{
	queue_unmap(&v->q);	/* as much as there is of it */
	unmap(&v->host);
	unmap(&v->card);
	unmap(&v->code);
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
}

/* Begins a cell whose victim is there before the fault. */
static bool victim_ready(struct cell *cell, struct victim *v)
{
	int err = victim_open(v);

	if (!err)
		return true;
	cell_fail(cell, "the victim cannot begin: errno %d", -err);
	victim_close(v);
	return false;
}

/* A RUN of some 100 ms. */
static struct vta_desc run(struct victim *v)
{
	const struct vta_isa_loop loops = {
		.reset = 1, .uop_end = 1, .iter_out = 1500, .iter_in = 1500,
	};
	struct insn *code = v->code.ptr;
	struct vta_info info;
	struct core core;

	if (card_ioctl(v->fd, VTA_IOCTL_INFO, &info))
		return desc_op(VTA_OP_NOP);
	core = core_of(&info);
	code[0] = insn_gemm(&core, 0, &loops);
	code[1] = insn_finish(0);
	return desc_run(v->code.addr, 2, 0);
}

static struct vta_desc copy(const struct victim *v)
{
	return desc_copy(v->card.addr, v->host.addr, SIZE);
}

/* After its halt the queue continues; the card has reported why it halted. */
static void recover(struct cell *cell, struct victim *v)
{
	struct vta_queue_fault fault;
	int err = queue_fault(&v->q, &fault);

	cell_note(cell, "fault", err, !err && fault.reason != VTA_FAULT_NONE);
	err = queue_recover(&v->q);
	cell_note(cell, "recover", err, !err);
	err = err ? err : queue_do(&v->q, desc_op(VTA_OP_NOP));
	cell_note(cell, "next", err, !err);
}

/* Wait until all submitted descriptors have completed. */
static void finish(struct cell *cell, struct victim *v)
{
	int err = queue_wait(&v->q, v->q.submitted, cell->kind->work == WORK_ANY ?
			     WAIT_MS : PATIENCE_MS, NULL);

	if (cell->kind->work != WORK_ANY) {
		cell_note(cell, "work", err, err == cell->kind->work);
		if (err == -EIO && err == cell->kind->work)
			recover(cell, v);
	} else {
		cell_note(cell, "work", err, cell_fits(cell, err));
	}
}

static void work(struct cell *cell, struct victim *v, struct vta_desc desc)
{
	queue_put(&v->q, desc);
	finish(cell, v);
}

/* ---- The states ---- */

static void probing(struct cell *cell)
{
	int err = card_unbind();

	cell_note(cell, "unbind", err, !err);
	cell_inject(cell, 0);
	err = card_bind();
	if (!strncmp(cell->kind->name, "reg-", 4))
		cell_note(cell, "bind", err, err == -ENODEV);
	else
		/* A configuration space that cannot be is EINVAL to PCI. */
		cell_note(cell, "bind", err, cell_fits(cell, err) ||
			  (err == -EINVAL && cell->kind->flags & KIND_UNPLUGS));
}

static void idle(struct cell *cell)
{
	cell_inject(cell, 0);
	sleep_ms(150);
}

static void opening(struct cell *cell)
{
	struct vta_info info;
	int fd, i;

	cell_inject(cell, 0);
	for (i = 0; i < 3; i++) {
		fd = card_open();
		cell_note(cell, "open", fd < 0 ? fd : 0, fd >= 0 || cell_fits(cell, fd));
		if (fd < 0)
			continue;
		cell_note(cell, "info", 0, cell_fits(cell, card_ioctl(fd, VTA_IOCTL_INFO, &info)));
		close(fd);
	}
}

static void allocating(struct cell *cell)
{
	static const uint32_t flags[] = { VTA_BUF_HOST, VTA_BUF_CARD };
	struct victim v;
	struct mem mem;
	int err, i;

	if (!victim_ready(cell, &v))
		return;
	cell_inject(cell, v.q.id);
	for (i = 0; i < 4; i++) {
		err = mem_alloc(v.fd, &mem, 256 << 10, flags[i % 2], 0);
		cell_note(cell, "alloc", err, cell_fits(cell, err));
		if (err)
			break;
		*(volatile int *)mem.ptr = i;
		err = mem_free(&mem);
		cell_note(cell, "free", err, cell_fits(cell, err));
	}
	work(cell, &v, desc_op(VTA_OP_NOP));
	victim_close(&v);
}

static void pinning(struct cell *cell)
{
	struct vta_buf_free unpin = { 0 };
	struct victim v;
	void *memory;
	int err, i;

	if (!victim_ready(cell, &v))
		return;
	memory = aligned_alloc(4096, 512 << 10);
	memset(memory, 1, 512 << 10);
	cell_inject(cell, v.q.id);
	for (i = 0; i < 4; i++) {
		struct vta_buf_pin pin = {
			.user_addr = (uintptr_t)memory,
			.size = 512 << 10,
		};

		err = card_ioctl(v.fd, VTA_IOCTL_BUF_PIN, &pin);
		cell_note(cell, "pin", err, cell_fits(cell, err));
		if (err)
			break;
		unpin.handle = pin.handle;
		err = card_ioctl(v.fd, VTA_IOCTL_BUF_FREE, &unpin);
		cell_note(cell, "free", err, cell_fits(cell, err));
	}
	work(cell, &v, desc_op(VTA_OP_NOP));
	victim_close(&v);
	free(memory);
}

static void submitting(struct cell *cell)
{
	const struct vta_desc nop = desc_op(VTA_OP_NOP);
	struct victim v;
	struct queue other;
	int err, i;

	if (!victim_ready(cell, &v))
		return;
	cell_inject(cell, v.q.id);
	for (i = 0; i < 8; i++)
		queue_put(&v.q, nop);
	err = queue_open(v.fd, &other, NULL);
	cell_note(cell, "create", err, cell_fits(cell, err));
	if (!err) {
		queue_put(&other, nop);
		err = queue_close(&other);
		cell_note(cell, "destroy", err, cell_fits(cell, err));
	} else {
		queue_unmap(&other);	/* it may be lost halfway */
	}
	finish(cell, &v);
	victim_close(&v);
}

static void running(struct cell *cell)
{
	struct vta_desc desc;
	struct victim v;

	if (!victim_ready(cell, &v))
		return;
	desc = run(&v);
	queue_put(&v.q, desc);
	cell_inject(cell, v.q.id);
	work(cell, &v, desc);	/* the first may be over by now */
	victim_close(&v);
}

static void waiting(struct cell *cell)
{
	struct waiter waiter;
	struct victim v;
	int err;

	if (!victim_ready(cell, &v))
		return;
	queue_hold(&v.q, &v.host, 1);
	err = waiter_start(&waiter, &v.q, v.q.submitted,
			   cell->kind->work == WORK_ANY ? WAIT_MS : PATIENCE_MS);
	if (err) {
		cell_fail(cell, "no thread: errno %d", -err);
	} else {
		cell_inject(cell, v.q.id);
		*(volatile uint64_t *)v.host.ptr = 1;
		queue_kick(&v.q);
		err = waiter_join(&waiter);
		/* A waiter that returns late was not woken, but found the result. */
		cell_note(cell, "waiter", err, err == -ETIME || cell_fits(cell, err));
		finish(cell, &v);
	}
	victim_close(&v);
}

static void copying(struct cell *cell)
{
	struct vta_desc desc;
	struct victim v;

	if (!victim_ready(cell, &v))
		return;
	desc = copy(&v);
	for (int i = 0; i < 8; i++)
		queue_put(&v.q, desc);
	cell_inject(cell, v.q.id);
	work(cell, &v, desc);	/* the others may be over by now */
	victim_close(&v);
}

static void faulted(struct cell *cell)
{
	struct vta_queue_fault fault;
	struct victim v;
	int err;

	if (!victim_ready(cell, &v))
		return;
	err = queue_do(&v.q, desc_op(0xff));
	cell_note(cell, "halt", err, err == -EIO);
	cell_inject(cell, v.q.id);
	err = queue_fault(&v.q, &fault);
	cell_note(cell, "fault", err, cell_fits(cell, err));
	err = queue_recover(&v.q);
	cell_note(cell, "recover", err, cell_fits(cell, err));
	if (!err)
		work(cell, &v, desc_op(VTA_OP_NOP));
	victim_close(&v);
}

static void resetting(struct cell *cell)
{
	struct vta_info info;
	struct victim v;
	int err;

	if (!victim_ready(cell, &v))
		return;
	cell_inject(cell, v.q.id);
	err = card_pci_reset();
	cell_note(cell, "reset", err, !err || cell->kind->reach == REACH_CARD);
	if (!err) {
		err = card_ioctl(v.fd, VTA_IOCTL_INFO, &info);
		cell_note(cell, "info", err, err == -ENODEV);
	}
	victim_close(&v);
}

/* Many jobs in both engines, without a waiter. */
static void keep_busy(struct victim *v)
{
	struct vta_desc desc;

	for (int i = 0; i < 8; i++) {
		desc = i % 2 ? copy(v) : run(v);
		queue_put(&v->q, desc);
	}
}

static void closing(struct cell *cell)
{
	struct victim v;

	if (!victim_ready(cell, &v))
		return;
	keep_busy(&v);
	cell_inject(cell, v.q.id);
	victim_close(&v);
}

static void killing(struct cell *cell)
{
	struct victim v;
	int ready[2], status;
	uint32_t id = UINT32_MAX;	/* none */
	pid_t pid;

	if (pipe(ready))
		return;
	pid = fork();
	if (!pid) {
		if (!victim_open(&v)) {
			keep_busy(&v);
			id = v.q.id;
		}
		if (write(ready[1], &id, sizeof(id)) != sizeof(id))
			_exit(1);
		queue_wait(&v.q, v.q.submitted, -1, NULL);
		pause();
		_exit(0);
	}
	if (read(ready[0], &id, sizeof(id)) != sizeof(id) || id == UINT32_MAX)
		cell_fail(cell, "the victim cannot begin");
	cell_inject(cell, id);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(ready[0]);
	close(ready[1]);
}

static void suspending(struct cell *cell)
{
	struct victim v;
	int err;

	if (!victim_ready(cell, &v))
		return;
	cell_inject(cell, v.q.id);
	err = card_suspend();
	cell_note(cell, "suspend", err, !err || cell->kind->reach == REACH_CARD);
	err = queue_do(&v.q, desc_op(VTA_OP_NOP));
	/* The queue has survived, or is lost with an error. */
	cell_note(cell, "work", err, err == -ENODEV || err == cell->kind->work ||
		  (cell->kind->work == WORK_ANY && cell_fits(cell, err)));
	victim_close(&v);
}

static void removing(struct cell *cell)
{
	struct vta_info info;
	struct victim v;
	int err;

	if (!victim_ready(cell, &v))
		return;
	keep_busy(&v);
	cell_inject(cell, v.q.id);
	err = card_unbind();
	cell_note(cell, "unbind", err, !err);
	err = card_ioctl(v.fd, VTA_IOCTL_INFO, &info);
	cell_note(cell, "info", err, err == -ENODEV);
	victim_close(&v);
}

const struct state states[] = {
	{ "probing",	probing, true, true },
	{ "idle",	idle, true, false },
	{ "opening",	opening, true, false },
	{ "allocating",	allocating, false, false },
	{ "pinning",	pinning, false, false },
	{ "submitting",	submitting, false, false },
	{ "running",	running, false, false },
	{ "waiting",	waiting, false, false },
	{ "copying",	copying, false, false },
	{ "faulted",	faulted, false, false },
	{ "resetting",	resetting, false, true },
	{ "closing",	closing, false, false },
	{ "killing",	killing, false, false },
	{ "suspending",	suspending, false, true },
	{ "removing",	removing, false, true },
};

const unsigned int nr_states = sizeof(states) / sizeof(states[0]);
