// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bus mastering, power states and resets (docs/hardware.md, sections 1 and 11),
 * idle and in the midst of work; and a host that goes.
 */
#include <linux/pci_regs.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../frame.h"
#include "card_prog.h"
#include "card_rig.h"

#define DATA	0x00100000u	/* guest memory, 1 page */
#define CODE	0x00200000u	/* guest memory, 1 page */

struct bench {
	struct rig *r;
	struct rig_queue compute, copy, front;
	uint8_t *data;
	void *code;
};

static void bench(struct bench *b, struct rig *r)
{
	struct prog p;

	*b = (struct bench) { .r = r };
	rig_context(r, 0);
	b->data = rig_map_pages(r, 0, DATA, 1);
	b->code = rig_map_pages(r, 0, CODE, 1);
	p = prog_at(b->code);
	prog_busy(&p);
	p = prog_at((uint8_t *)b->code + 1024);
	prog_store(&p, 0, DATA, 1, 0);
	rig_queue(r, &b->compute, 0, 0, 4);
	rig_queue(r, &b->copy, 1, 0, 4);
	rig_queue(r, &b->front, 2, 0, 4);
	rig_queue_start(&b->compute, 0);
	rig_queue_start(&b->copy, 0);
	rig_queue_start(&b->front, 0);
	rig_set(r, REG_EVENT_ENABLE, REG_EVENT_ALL);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec) { .tv_nsec = ms * 1000000 }, NULL);
}

static struct vta_desc long_fill(void)
{
	return vtadev_desc_fill2d(DATA, 0, 0x31313131, 1, UINT32_MAX);
}

/* All three busy for as long as it takes. */
static void load(struct bench *b)
{
	rig_put(&b->compute, vtadev_desc_run(CODE, 1, 0));
	rig_submit(&b->compute);
	rig_put(&b->copy, long_fill());
	rig_submit(&b->copy);
	rig_put(&b->front, vtadev_desc_wait(DATA + 2048, 1));
	rig_submit(&b->front);
	rig_await(b->r, REG_STATUS, REG_STATUS_BUSY, REG_STATUS_BUSY);
	rig_set(b->r, REG_QUEUE_ARM(1), 1);
}

/* ---- The gate ---- */

static void bus_off(struct rig *r)
{
	vfc_command(&r->c, 0, PCI_COMMAND_MASTER);
}

static void bus_on(struct rig *r)
{
	vfc_command(&r->c, PCI_COMMAND_MASTER, 0);
}

#define ROWS	(rig_is_emulator() ? 1000000u : 100000u)

#define COPYING	(VTA_QUEUE_ACTIVE | REG_QUEUE_STATE_BUSY | VTA_HAND_IN_COPY << 8)

/* The copy engine is in the midst of its rows when the bus goes, after @done others of them. */
static bool stops_while_copying(struct bench *b, uint64_t done)
{
	struct rig *r = b->r;

	rig_put(&b->copy, vtadev_desc_fill2d(DATA + 512, 0, 0x31313131, 1, ROWS));
	rig_submit(&b->copy);
	while (rig_get(r, REG_QUEUE_STATE(1)) != COPYING &&
	       rig_get(r, REG_QUEUE_SEQ_LO(1)) == done)
		;
	bus_off(r);
	/* A thread counts its writes before it sleeps. */
	if (rig_is_emulator())
		rig_is_idle(r, RIG_NEVER);
	else
		pause_ms(RIG_NEVER);
	return rig_get(r, REG_QUEUE_STATE(1)) == COPYING &&
	       rig_counter(r, VTA_COUNTER_DMA_WRITE_BYTES) < ROWS;
}

TEST_F(RIG, bus_master_holds_work)
{
	uint64_t written, done = 0;
	struct bench b;

	bench(&b, r);
	/* So many rows that this process is seldom paused until they are done. */
	while (!stops_while_copying(&b, done)) {
		assert_in_range(done, 0, 9);
		bus_on(r);
		rig_wait_seq(&b.copy, ++done);
		rig_settle(&b.copy);
		rig_clear_counters(r);
	}
	rig_submit(&b.front);
	for (int i = 0; i < 5; i++) {
		rig_put(&b.front, vtadev_desc_signal(DATA + 1024, (uint64_t)i + 1));
		rig_submit(&b.front);
	}
	rig_put(&b.compute, vtadev_desc_run(CODE + 1024, 1, 0));
	rig_submit(&b.compute);
	written = rig_counter(r, VTA_COUNTER_DMA_WRITE_BYTES);
	assert_true(written < ROWS);
	b.data[512] = 0xaa;
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DMA_WRITE_BYTES), written);
	assert_int_equal(b.data[512], 0xaa);
	assert_int_equal(rig_seq(&b.copy), done);
	assert_int_equal(rig_seq(&b.front) | rig_seq(&b.compute), 0);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(1)), COPYING);
	/* And on again: everything ends as if nothing had been. */
	bus_on(r);
	rig_wait_seq(&b.copy, done + 1);
	rig_wait_seq(&b.front, 5);
	rig_wait_seq(&b.compute, 1);
	assert_int_equal(*(uint64_t *)(b.data + 1024), 5);
	assert_int_equal(rig_counter(r, VTA_COUNTER_FAULTS), 0);
}

TEST_F(RIG, interrupts_wait_for_the_bus)
{
	struct bench b;

	bench(&b, r);
	rig_do(&b.front, vtadev_desc_nop());
	bus_off(r);
	/* Due three times on one vector, and once on another. */
	rig_set(r, REG_QUEUE_ARM(2), 1);
	rig_set(r, REG_QUEUE_ARM(2), 0);
	rig_set(r, REG_QUEUE_ARM(2), 1);
	rig_set(r, REG_QUEUE_ARM(1), 0);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(2), RIG_NEVER), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 0);
	bus_on(r);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(2), RIG_SOON), 1);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(1), RIG_SOON), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_INTERRUPTS), 2);
	bus_off(r);
	bus_on(r);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(2), RIG_NEVER), 0);
}

TEST_F(RIG, queue_starts_without_bus)
{
	struct bench b;
	uint64_t bad;

	bench(&b, r);
	rig_queue_stop(&b.front, false);
	bus_off(r);
	bad = rig_counter(r, VTA_COUNTER_BAD_ACCESSES);
	/* Not ACTIVE before it is in its status page, and so takes nothing. */
	rig_set64(r, REG_QUEUE_START_LO(2), 70);
	rig_set(r, REG_QUEUE_SUBMITTED(2), 70);
	rig_set(r, REG_QUEUE_CTRL(2), REG_QUEUE_CTRL_ENABLE);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(2)),
			 VTA_QUEUE_DISABLED | REG_QUEUE_STATE_BUSY);
	b.front.ring[70 % 16] = vtadev_desc_nop();
	rig_set(r, REG_QUEUE_ARM(2), 71);
	rig_doorbell(r, 2, 71);
	pause_ms(RIG_NEVER);
	assert_int_equal(b.front.page->status.state, VTA_QUEUE_DISABLED);
	assert_int_equal(rig_counter(r, VTA_COUNTER_BAD_ACCESSES), bad);
	bus_on(r);
	/* ARM was too early, but the doorbell was not. */
	rig_await(r, REG_QUEUE_SEQ_LO(2), 0xffffffff, 71);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(2), RIG_NEVER), 0);
	assert_int_equal(rig_seq(&b.front), 71);
	rig_set(r, REG_QUEUE_ARM(2), 71);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(2), RIG_SOON), 1);
	assert_int_equal(rig_get(r, REG_QUEUE_STATE(2)), VTA_QUEUE_ACTIVE);
}

TEST_F(RIG, abort_waits_for_the_bus)
{
	struct bench b;

	bench(&b, r);
	load(&b);
	bus_off(r);
	for (unsigned int i = 0; i < 3; i++)
		rig_set(r, REG_QUEUE_CTRL(i), REG_QUEUE_CTRL_ABORT);
	pause_ms(RIG_NEVER);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rig_get(r, REG_QUEUE_STATE(i)) & ~REG_QUEUE_STATE_HAND,
				 VTA_QUEUE_ACTIVE | REG_QUEUE_STATE_BUSY);
	bus_on(r);
	for (unsigned int i = 0; i < 3; i++)
		rig_await(r, REG_QUEUE_STATE(i), 0x1f, VTA_QUEUE_DISABLED);
	assert_int_equal(b.copy.page->status.state, VTA_QUEUE_DISABLED);
	assert_int_equal(rig_seq(&b.copy), 0);
}

TEST_F(RIG, d3_holds_work)
{
	struct bench b;
	uint16_t pm = vfc_find_cap(&r->c, PCI_CAP_ID_PM);
	uint32_t generation;

	assert_true(pm);
	bench(&b, r);
	generation = rig_get(r, REG_GENERATION);
	rig_do(&b.front, vtadev_desc_nop());
	rig_put(&b.front, vtadev_desc_wait(DATA, 1));
	rig_submit(&b.front);
	vfc_cfg_write16(&r->c, pm + PCI_PM_CTRL, PCI_D3HOT);
	/* All ones, and writes are dropped. */
	assert_int_equal(rig_get(r, REG_MAGIC), 0xffffffff);
	assert_int_equal(vfc_bar_read32(&r->c, VTA_BAR_DOORBELLS, 0), 0xffffffff);
	*(uint64_t *)b.data = 1;
	rig_submit(&b.front);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	pause_ms(RIG_NEVER);
	assert_int_equal(rig_seq(&b.front), 1);
	/* No_Soft_Reset: everything is as it was. */
	vfc_cfg_write16(&r->c, pm + PCI_PM_CTRL, PCI_D0);
	assert_int_equal(rig_get(r, REG_MAGIC), REG_MAGIC_VALUE);
	assert_int_equal(rig_get(r, REG_GENERATION), generation);
	rig_submit(&b.front);
	rig_wait_seq(&b.front, 2);
}

TEST_F(RIG, memory_decoding_off)
{
	struct bench b;

	bench(&b, r);
	vfc_command(&r->c, 0, PCI_COMMAND_MEMORY);
	assert_int_equal(rig_get(r, REG_MAGIC), 0xffffffff);
	rig_set(r, REG_EVENT_VECTOR, 7);
	vfc_command(&r->c, PCI_COMMAND_MEMORY, 0);
	assert_int_equal(rig_get(r, REG_EVENT_VECTOR), 0);
	rig_do(&b.front, vtadev_desc_nop());
}

/* ---- Resets ---- */

/* Asserts the state after every reset. */
static void assert_reset(struct bench *b, uint32_t generation)
{
	struct rig *r = b->r;

	rig_ready(r);
	assert_int_equal(rig_get(r, REG_GENERATION), generation);
	assert_int_equal(rig_get(r, REG_STATUS), REG_STATUS_READY);
	assert_int_equal(rig_get(r, REG_CONTROL), 0);
	assert_int_equal(rig_get(r, REG_EVENT_ENABLE), 0);
	assert_int_equal(rig_get(r, REG_CONTEXT_CTRL(0)), 0);
	assert_true(rig_get64(r, REG_CONTEXT_ROOT_LO(0)) == 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(rig_get(r, REG_QUEUE_STATE(i)), 0);
		assert_int_equal(rig_get(r, REG_QUEUE_CTRL(i)), 0);
		assert_int_equal(rig_get(r, REG_QUEUE_RING_ADDR(i)), 0);
		assert_int_equal(rig_get64(r, REG_QUEUE_SEQ_LO(i)), 0);
	}
	/* No DMA of before happens, and status pages are left as they were. */
	b->data[0] = 0x99;
	pause_ms(RIG_NEVER);
	assert_int_equal(b->data[0], 0x99);
	assert_int_equal(b->copy.page->status.state, VTA_QUEUE_ACTIVE);
}

/* Then it works again, with an empty TLB and empty scratchpads. */
static void assert_works(struct bench *b)
{
	struct rig *r = b->r;
	struct bench again;

	r->next += 1 << 20;
	bench(&again, r);
	memset(again.data, 0xcc, 4096);
	rig_do(&again.compute, vtadev_desc_run(CODE + 1024, 1, 0));
	assert_int_equal(again.data[0], 0);
	assert_int_equal(again.data[15], 0);
	assert_int_equal(again.data[16], 0xcc);
	rig_do(&again.copy, vtadev_desc_fill(DATA, 5, 4));
	assert_int_equal(again.data[0], 5);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(1), 1), 0);
	assert_int_equal(vfc_irq_wait(&r->c, 0, 1), 0);
}

TEST_F(RIG, soft_reset_under_load)
{
	uint32_t generation = rig_get(r, REG_GENERATION);
	uint64_t doorbells, time;
	struct bench b;

	bench(&b, r);
	load(&b);
	doorbells = rig_counter(r, VTA_COUNTER_DOORBELLS);
	time = rig_get64(r, REG_TIME_LO);
	r->c.bar4[77] = 0x77;
	rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE | REG_CONTROL_RESET);
	assert_reset(&b, generation + 1);
	/* Counters and card memory are kept, and time continues. */
	assert_int_equal(rig_counter(r, VTA_COUNTER_RESETS), 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), doorbells);
	assert_int_equal(r->c.bar4[77], 0x77);
	assert_true(rig_get64(r, REG_TIME_LO) > time);
	assert_works(&b);
}

TEST_F(RIG, soft_reset_without_bus)
{
	uint32_t generation = rig_get(r, REG_GENERATION);
	struct bench b;

	bench(&b, r);
	load(&b);
	bus_off(r);
	rig_set(r, REG_QUEUE_CTRL(0), 0);
	rig_set(r, REG_QUEUE_ARM(2), 0);
	rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
	assert_reset(&b, generation + 1);
	bus_on(r);
	assert_int_equal(vfc_irq_wait(&r->c, RIG_VECTOR(2), RIG_NEVER), 0);
	assert_works(&b);
}

TEST_F(RIG, flr_under_load)
{
	uint32_t generation = rig_get(r, REG_GENERATION);
	struct bench b;
	uint64_t time;

	bench(&b, r);
	load(&b);
	time = rig_get64(r, REG_TIME_LO);
	vfc_flr(&r->c);
	pause_ms(100);
	/* Configuration space is reset, so the card does not answer. */
	assert_int_equal(rig_get(r, REG_STATUS), 0xffffffff);
	vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	assert_reset(&b, generation + 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 0);
	assert_int_equal(rig_counter(r, VTA_COUNTER_RESETS), 0);
	assert_true(rig_get64(r, REG_TIME_LO) > time);
	assert_works(&b);
}

TEST_F(RIG, hot_reset_under_load)
{
	uint32_t generation = rig_get(r, REG_GENERATION);
	struct bench b;

	bench(&b, r);
	load(&b);
	assert_int_equal(vfc_reset(&r->c), 0);
	vfc_command(&r->c, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0);
	assert_reset(&b, generation + 1);
	assert_int_equal(rig_counter(r, VTA_COUNTER_DOORBELLS), 0);
	assert_works(&b);
}

/* Writes before READY are ignored, whenever they come. */
TEST_F(RIG, reset_again_and_again)
{
	struct bench b;

	bench(&b, r);
	for (int i = 0; i < 50; i++) {
		load(&b);
		for (int k = 0; k < i % 4; k++)
			rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
		rig_set(r, REG_CONTROL, REG_CONTROL_RESET);
		rig_ready(r);
		assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), 0);
		/* A stale descriptor of before is not executed. */
		assert_int_equal(rig_get(r, REG_STATUS), REG_STATUS_READY);
		rig_set64(r, REG_CONTEXT_ROOT_LO(0), r->root[0]);
		rig_set(r, REG_CONTEXT_CTRL(0), REG_CONTEXT_CTRL_ENABLE);
		for (unsigned int n = 0; n < 3; n++) {
			struct rig_queue *q = n == 0 ? &b.compute : n == 1 ? &b.copy : &b.front;

			rig_set(r, REG_QUEUE_RING_ORDER(n), 4);
			rig_set(r, REG_QUEUE_RING_ADDR(n), RIG_RING(n));
			rig_set64(r, REG_QUEUE_STATUS_LO(n), q->status_bus);
			rig_queue_start(q, (uint64_t)i);
		}
		rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE);
	}
}

/* ---- Hosts that go ---- */

TEST_F(RIG, client_goes_under_load)
{
	struct bench b;

	bench(&b, r);
	load(&b);
	/* The teardown hangs up, and the emulator must end by itself. */
}

#define KILLED struct rig *r, rig_setup, NULL

TEST_F(KILLED, signal_under_load)
{
	struct bench b;
	int status;

	bench(&b, r);
	load(&b);
	assert_int_equal(kill(r->pid, SIGTERM), 0);
	assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	vfc_close(&r->c);
	assert_int_equal(rmdir(r->dir), 0);
	free(r);
}

TEST(next_client_is_served)
{
	static const char *const args[] = { "--queues", "8", "--mem", "8M", "--stay", NULL };
	struct rig rig, *r = &rig;
	struct bench b;
	uint32_t generation = 0;

	rig_start(r, args);
	for (int i = 0; i < 3; i++) {
		uint32_t now = rig_get(r, REG_GENERATION);

		assert_true(now > generation || !i);
		generation = now;
		bench(&b, r);
		load(&b);
		vfc_close(&r->c);
		r->next = 0;
		vfc_open(&r->c, r->socket, RIG_RAM, RIG_RAM_SIZE);
		rig_ready(r);
		assert_int_equal(rig_get(r, REG_QUEUE_STATE(0)), 0);
	}
	assert_int_equal(kill(r->pid, SIGINT), 0);
	rig_stop(r);
}
