/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_trace.h - tracepoints
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vta

#if !defined(VTA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VTA_TRACE_H

#include <linux/tracepoint.h>

#include "vta_buf.h"
#include "vta_compat.h"
#include "vta_ctx.h"
#include "vta_device.h"
#include "vta_queue.h"

DECLARE_EVENT_CLASS(vta_ctx,
	TP_PROTO(const struct vta_ctx *ctx),
	TP_ARGS(ctx),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, ctx)
		__field(pid_t, tgid)
	),
	TP_fast_assign(
		__entry->card = MINOR(ctx->vdev->dev.devt);
		__entry->ctx = ctx->mmu.id;
		__entry->tgid = ctx->tgid;
	),
	TP_printk("vta%d context=%u tgid=%d", __entry->card, __entry->ctx, __entry->tgid)
);

DEFINE_EVENT(vta_ctx, vta_ctx_open, TP_PROTO(const struct vta_ctx *ctx), TP_ARGS(ctx));
DEFINE_EVENT(vta_ctx, vta_ctx_close, TP_PROTO(const struct vta_ctx *ctx), TP_ARGS(ctx));

DECLARE_EVENT_CLASS(vta_buf,
	TP_PROTO(const struct vta_buf *buf),
	TP_ARGS(buf),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, ctx)
		__field(u32, flags)
		__field(u64, addr)
		__field(u64, size)
	),
	TP_fast_assign(
		__entry->card = MINOR(buf->ctx->vdev->dev.devt);
		__entry->ctx = buf->ctx->mmu.id;
		__entry->flags = buf->flags;
		__entry->addr = buf->addr;
		__entry->size = buf->size;
	),
	TP_printk("vta%d context=%u addr=%#010llx size=%llu flags=%#x",
		  __entry->card, __entry->ctx, __entry->addr, __entry->size, __entry->flags)
);

DEFINE_EVENT(vta_buf, vta_buf_alloc, TP_PROTO(const struct vta_buf *buf), TP_ARGS(buf));
DEFINE_EVENT(vta_buf, vta_buf_free, TP_PROTO(const struct vta_buf *buf), TP_ARGS(buf));

DECLARE_EVENT_CLASS(vta_queue,
	TP_PROTO(const struct vta_queue *q),
	TP_ARGS(q),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, ctx)
		__field(u32, queue)
	),
	TP_fast_assign(
		__entry->card = MINOR(q->ctx->vdev->dev.devt);
		__entry->ctx = q->ctx->mmu.id;
		__entry->queue = q->id;
	),
	TP_printk("vta%d context=%u queue=%u", __entry->card, __entry->ctx, __entry->queue)
);

DEFINE_EVENT(vta_queue, vta_queue_create, TP_PROTO(const struct vta_queue *q), TP_ARGS(q));
DEFINE_EVENT(vta_queue, vta_queue_destroy, TP_PROTO(const struct vta_queue *q), TP_ARGS(q));
DEFINE_EVENT(vta_queue, vta_queue_recover, TP_PROTO(const struct vta_queue *q), TP_ARGS(q));

TRACE_EVENT(vta_queue_fault,
	TP_PROTO(const struct vta_queue *q),
	TP_ARGS(q),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, ctx)
		__field(u32, queue)
		__field(u32, reason)
		__field(u32, access)
		__field(u32, addr)
		__field(u32, insn_index)
		__field(u64, seq)
	),
	TP_fast_assign(
		__entry->card = MINOR(q->ctx->vdev->dev.devt);
		__entry->ctx = q->ctx->mmu.id;
		__entry->queue = q->id;
		__entry->reason = q->fault.reason;
		__entry->access = q->fault.access;
		__entry->addr = q->fault.addr;
		__entry->insn_index = q->fault.insn_index;
		__entry->seq = q->fault.seq;
	),
	TP_printk("vta%d context=%u queue=%u reason=%u access=%u addr=%#010x seq=%llu insn=%d",
		  __entry->card, __entry->ctx, __entry->queue, __entry->reason, __entry->access,
		  __entry->addr, __entry->seq, (int)__entry->insn_index)
);

TRACE_EVENT(vta_reset_request,
	TP_PROTO(const struct vta_device *vdev, const char *why),
	TP_ARGS(vdev, why),
	TP_STRUCT__entry(
		__field(int, card)
		__string(why, why)
	),
	TP_fast_assign(
		__entry->card = MINOR(vdev->dev.devt);
		vta_assign_str(why, why);
	),
	TP_printk("vta%d %s", __entry->card, __get_str(why))
);

/* perf, trace-cmd and bpftrace read the format, in which the names need their numbers. */
TRACE_DEFINE_ENUM(VTA_STEP_ABORT);
TRACE_DEFINE_ENUM(VTA_STEP_SOFT_RESET);
TRACE_DEFINE_ENUM(VTA_STEP_FUNCTION_RESET);
TRACE_DEFINE_ENUM(VTA_STEP_GIVE_UP);

TRACE_EVENT(vta_recovery,
	TP_PROTO(const struct vta_device *vdev, enum vta_step step, int ret),
	TP_ARGS(vdev, step, ret),
	TP_STRUCT__entry(
		__field(int, card)
		__field(unsigned int, step)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->card = MINOR(vdev->dev.devt);
		__entry->step = step;
		__entry->ret = ret;
	),
	TP_printk("vta%d step=%s ret=%d", __entry->card,
		  __print_symbolic(__entry->step,
				   { VTA_STEP_ABORT, "queue_abort" },
				   { VTA_STEP_SOFT_RESET, "soft_reset" },
				   { VTA_STEP_FUNCTION_RESET, "function_reset" },
				   { VTA_STEP_GIVE_UP, "give_up" }),
		  __entry->ret)
);

TRACE_EVENT(vta_wait_begin,
	TP_PROTO(const struct vta_queue *q, u64 seq),
	TP_ARGS(q, seq),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, queue)
		__field(u64, seq)
	),
	TP_fast_assign(
		__entry->card = MINOR(q->ctx->vdev->dev.devt);
		__entry->queue = q->id;
		__entry->seq = seq;
	),
	TP_printk("vta%d queue=%u seq=%llu", __entry->card, __entry->queue, __entry->seq)
);

TRACE_EVENT(vta_wait_end,
	TP_PROTO(const struct vta_queue *q, u64 seq, u64 done, int ret),
	TP_ARGS(q, seq, done, ret),
	TP_STRUCT__entry(
		__field(int, card)
		__field(u32, queue)
		__field(u64, seq)
		__field(u64, done)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->card = MINOR(q->ctx->vdev->dev.devt);
		__entry->queue = q->id;
		__entry->seq = seq;
		__entry->done = done;
		__entry->ret = ret;
	),
	TP_printk("vta%d queue=%u seq=%llu done=%llu ret=%d",
		  __entry->card, __entry->queue, __entry->seq, __entry->done, __entry->ret)
);

#endif /* VTA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vta_trace
#include <trace/define_trace.h>
