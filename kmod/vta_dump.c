// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_dump.c - the state of a card and of the driver, as text: a devcoredump
 *
 * Bug reports are public. So the text names users' processes and queues by number only, and
 * contains no memory, no ring contents and no bus addresses.
 */
#include <linux/devcoredump.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_history.h"
#include "vta_irq.h"
#include "vta_queue.h"
#include "vta_user.h"

/* Size limit of a text. */
#define VTA_DUMP_SIZE	(128 * 1024)

struct vta_dump_reg {
	const char *name;
	u32 reg;
};

#define VTA_DUMP_REG(name)	{ #name, REG_##name }

static void vta_dump_regs(struct vta_device *vdev, struct vta_text *text)
{
	static const struct vta_dump_reg regs[] = {
		VTA_DUMP_REG(MAGIC), VTA_DUMP_REG(CONTRACT), VTA_DUMP_REG(FEATURES_LO),
		VTA_DUMP_REG(QUEUES), VTA_DUMP_REG(CONTEXTS), VTA_DUMP_REG(MEM_SIZE_LO),
		VTA_DUMP_REG(MEM_SIZE_HI), VTA_DUMP_REG(DOORBELL_SHIFT),
		VTA_DUMP_REG(RING_ORDER_MAX), VTA_DUMP_REG(CLOCK_KHZ), VTA_DUMP_REG(HW_VER),
		VTA_DUMP_REG(CONFIG0), VTA_DUMP_REG(CONFIG1), VTA_DUMP_REG(CONFIG2),
		VTA_DUMP_REG(CONTROL), VTA_DUMP_REG(STATUS), VTA_DUMP_REG(HEARTBEAT),
		VTA_DUMP_REG(GENERATION), VTA_DUMP_REG(EVENT), VTA_DUMP_REG(EVENT_ENABLE),
		VTA_DUMP_REG(EVENT_VECTOR), VTA_DUMP_REG(TLB_INVALIDATE), VTA_DUMP_REG(TIME_LO),
		VTA_DUMP_REG(TIME_HI),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(regs); i++)
		vta_print(text, "register %#05x %-14s %#010x\n", regs[i].reg, regs[i].name,
			  vta_read(vdev, regs[i].reg));
	for (i = 0; i < VTA_NR_ENGINES; i++)
		vta_print(text, "engine %u MOVES=%u QUEUE=%u SEQ=%llu SINCE=%llu\n", i,
			  vta_read(vdev, REG_ENGINE_MOVES(i)),
			  vta_read(vdev, REG_ENGINE_QUEUE(i)),
			  vta_read64(vdev, REG_ENGINE_SEQ_LO(i)),
			  vta_read64(vdev, REG_ENGINE_SINCE_LO(i)));
	if (!(vdev->caps.features & REG_FEATURES_COUNTERS))
		return;
	for (i = 0; i < VTA_COUNTERS; i++)
		vta_print(text, "counter %u %llu\n", i, vta_read64(vdev, REG_COUNTER(i)));
}

/*
 * Prints the record of a queue, unless it is stopped. Its memory is freed after the queue has left
 * the context's table.
 */
static bool vta_dump_record(struct vta_queue *q, struct vta_text *text)
{
	const struct vta_status *rec = &q->record->status;
	struct vta_ctx *ctx = q->ctx;
	bool exists;

	xa_lock(&ctx->queues);
	exists = xa_load(&ctx->queues, q->id) == q && !READ_ONCE(q->stopped);
	if (exists) {
		vta_print(text, "  record seq=%llu state=%u fault_reason=%u",
			  le64_to_cpu(READ_ONCE(rec->seq)), le32_to_cpu(READ_ONCE(rec->state)),
			  le32_to_cpu(READ_ONCE(rec->fault_reason)));
		vta_print(text, " time=%llu cycles=%llu\n",
			  le64_to_cpu(READ_ONCE(rec->time)), le64_to_cpu(READ_ONCE(rec->cycles)));
	}
	xa_unlock(&ctx->queues);
	return exists;
}

static void vta_dump_queue(struct vta_queue *q, bool there, struct vta_text *text)
{
	struct vta_device *vdev = q->ctx->vdev;
	struct vta_queue_fault fault;
	bool halted, armed, waited;
	u64 seq, arm_seq;

	spin_lock_irq(&q->vector->lock);
	seq = q->seq;
	arm_seq = q->waiters.arm_seq;
	halted = q->halted;
	armed = q->waiters.armed;
	waited = !list_empty(&q->waiters.node);
	fault = q->fault;
	spin_unlock_irq(&q->vector->lock);

	vta_print(text, "queue %u context=%u ring_order=%u priority=%u cycles=%llu",
		  q->id, q->ctx->mmu.id, q->setup.ring_order, q->setup.priority, q->setup.cycles);
	vta_print(text, " vector=%u seq=%llu%s%s", q->vector->nr, seq,
		  q->stopped ? " stopped" : "", waited ? " waited-for" : "");
	if (armed)
		vta_print(text, " armed=%llu", arm_seq);
	if (halted)
		vta_print(text, " halted=%s", vta_fault_reason(fault.reason)->name);
	vta_print(text, "\n");
	if (!vta_dump_record(q, text) || !there)
		return;
	vta_print(text, "  registers CTRL=%#x STATE=%#x CONTEXT=%u RING_ORDER=%u",
		  vta_read(vdev, REG_QUEUE_CTRL(q->id)), vta_read(vdev, REG_QUEUE_STATE(q->id)),
		  vta_read(vdev, REG_QUEUE_CONTEXT(q->id)),
		  vta_read(vdev, REG_QUEUE_RING_ORDER(q->id)));
	vta_print(text, " RING_ADDR=%#x VECTOR=%u SEQ=%llu SUBMITTED=%u SAVE=%#x\n",
		  vta_read(vdev, REG_QUEUE_RING_ADDR(q->id)),
		  vta_read(vdev, REG_QUEUE_VECTOR(q->id)),
		  vta_read64(vdev, REG_QUEUE_SEQ_LO(q->id)),
		  vta_read(vdev, REG_QUEUE_SUBMITTED(q->id)),
		  vta_read(vdev, REG_QUEUE_SAVE(q->id)));
}

static void vta_dump_ctx(struct vta_ctx *ctx, bool there, struct vta_text *text)
{
	struct vta_usage usage;
	struct vta_queue *q;

	vta_usage_of_ctx(ctx, &usage);
	vta_print(text, "context %u client=%llu pid=%d%s queues=%u", ctx->mmu.id, ctx->client,
		  ctx->tgid, ctx->dead ? " dead" : "", ctx->nr_queues);
	vta_print(text, " group=%d weight=%u", ctx->user->group, ctx->user->weight);
	vta_print(text, " host_bytes=%llu card_bytes=%llu pinned_bytes=%llu imported_bytes=%llu",
		  ctx->host_bytes, ctx->card_bytes, ctx->pinned_bytes, ctx->imported_bytes);
	vta_print(text, " descriptors=%llu cycles=%llu runs=%llu copies=%llu\n",
		  usage.descriptors, usage.cycles, usage.runs, usage.copies);
	/* Not under vta_ctx.lock, for a reset; registers take long. */
	for (q = vta_queue_next(ctx, NULL); q; q = vta_queue_next(ctx, q))
		vta_dump_queue(q, there, text);
}

static void vta_dump_driver(struct vta_device *vdev, struct vta_text *text)
{
	vta_print(text, "memory size=%llu host=%lld pinned=%lld page_tables=%lld\n",
		  vdev->caps.mem_size, atomic64_read(&vdev->host_bytes),
		  atomic64_read(&vdev->pinned_bytes), atomic64_read(&vdev->table_bytes));
	vta_print(text, "recovery queue_aborts=%d soft_resets=%d function_resets=%d given_up=%d",
		  atomic_read(&vdev->steps[VTA_STEP_ABORT]),
		  atomic_read(&vdev->steps[VTA_STEP_SOFT_RESET]),
		  atomic_read(&vdev->steps[VTA_STEP_FUNCTION_RESET]),
		  atomic_read(&vdev->steps[VTA_STEP_GIVE_UP]));
	vta_print(text, " lost_interrupts=%d interrupt_storms=%d throttled=%d\n",
		  atomic_read(&vdev->lost_interrupts), atomic_read(&vdev->interrupt_storms),
		  atomic_read(&vdev->throttled));
}

static void vta_dump_print(struct vta_device *vdev, const char *reason, struct vta_text *text)
{
	/* Each register read of an absent card costs a time-out. */
	bool there = vta_card_is_present(vdev);
	const char *silent = vta_may_access(vdev) ? ", does not answer" : ", not accessible now";
	struct vta_ctx *ctx;

	lockdep_assert_held(&vdev->lock);

	vta_print(text, "vta %s on Linux %s\n", VTA_VERSION, init_utsname()->release);
	vta_print(text, "card %s at %s, generation %u%s\n", dev_name(&vdev->dev),
		  pci_name(vdev->pdev), vdev->generation, there ? "" : silent);
	vta_print(text, "because %s\n", reason);
	vta_print(text, "time %llu ms since the host was booted\n",
		  div_u64(ktime_get_boottime_ns(), NSEC_PER_MSEC));
	vta_dump_driver(vdev, text);
	if (there)
		vta_dump_regs(vdev, text);
	list_for_each_entry(ctx, &vdev->ctxs, node)
		vta_dump_ctx(ctx, there, text);
	vta_print(text, "last faults\n");
	vta_history_print_faults(vdev, false, text);
	vta_print(text, "last resets\n");
	vta_history_print_resets(vdev, text);
}

void vta_dump_coredump(struct vta_device *vdev, const char *reason)
{
	struct vta_text text = { .size = VTA_DUMP_SIZE };

	text.buf = vmalloc(VTA_DUMP_SIZE);
	if (!text.buf)	/* the reset goes on without a dump */
		return;
	vta_dump_print(vdev, reason, &text);
	/* The dump may outlive this module, so it belongs to the PCI device. */
	dev_coredumpv(&vdev->pdev->dev, text.buf, text.len, GFP_KERNEL);
}

void vta_dump_state(struct vta_device *vdev)
{
	vta_card_lock(vdev);
	vta_dump_coredump(vdev, "the state was asked for");
	vta_card_unlock(vdev);
}
