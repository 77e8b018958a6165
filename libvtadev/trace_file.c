// SPDX-License-Identifier: Apache-2.0
/*
 * trace_file.c - write a trace as JSON, in the Trace Event Format that
 * chrome://tracing and Perfetto read
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "trace_file.h"
#include "vta_desc.h"

/*
 * Thread ids of what is no thread: above those of Linux, which end at 2^22. An
 * engine's or a queue's track.
 */
#define TID_BASE	(1u << 30)
#define TID_COMPUTE(c)	(TID_BASE + 2 * (c))
#define TID_COPY(c)	(TID_BASE + 2 * (c) + 1)
#define TID_QUEUE(q)	(TID_BASE + (1u << 20) + (q))

static void put_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)	/* of no encoding that is known */
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

/* Microseconds, exact to the nanosecond. */
static void put_time(FILE *file, const char *key, uint64_t ns)
{
	fprintf(file, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned int)(ns % 1000));
}

static void put_name(FILE *file, const char *before, const char *kind, pid_t pid,
		     unsigned int tid, const char *name)
{
	fprintf(file, "%s{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":",
		before, kind, (int)pid, tid);
	put_text(file, name);
	fputs("}}", file);
}

/* Print the operands of a descriptor. */
static void put_operands(FILE *file, const struct vta_desc *d)
{
	switch (vta_desc_op(d)) {
	case VTA_OP_RUN:
		fprintf(file, ",\"insn_addr\":%u,\"insns\":%u", le32toh(d->run.insn_addr),
			le32toh(d->run.insn_count));
		break;
	case VTA_OP_COPY:
		fprintf(file, ",\"bytes\":%" PRIu64 ",\"rows\":%u,\"dst\":%u,\"src\":%u",
			(uint64_t)le32toh(d->copy.width) * le32toh(d->copy.rows),
			le32toh(d->copy.rows), le32toh(d->copy.dst), le32toh(d->copy.src));
		break;
	case VTA_OP_FILL:
		fprintf(file, ",\"bytes\":%" PRIu64 ",\"rows\":%u,\"dst\":%u",
			(uint64_t)le32toh(d->fill.width) * le32toh(d->fill.rows),
			le32toh(d->fill.rows), le32toh(d->fill.dst));
		break;
	case VTA_OP_SIGNAL:
	case VTA_OP_WAIT:
		fprintf(file, ",\"addr\":%u,\"value\":%" PRIu64, le32toh(d->sync.addr),
			le64toh(d->sync.value));
		break;
	default:
		break;
	}
}

/*
 * A span with its times. A descriptor that did not complete, or whose stamp the program overwrote,
 * is a mark at @when, the last known time of the queue.
 */
static void put_event(FILE *file, const struct trace_track *t, const struct trace_event *e,
		      uint64_t when)
{
	static const char *const units[] = { "sync", "compute", "copy" };
	const struct vta_desc_rule *rule = vta_desc_rule(vta_desc_op(&e->desc));
	enum vta_unit unit = vta_desc_unit(&e->desc);
	unsigned int tid = TID_QUEUE(t->number);

	if (e->stamped && unit != VTA_UNIT_FRONT)
		tid = unit == VTA_UNIT_COMPUTE ? TID_COMPUTE(t->card.index) :
						 TID_COPY(t->card.index);
	fprintf(file, ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u",
		rule ? rule->name : "unknown", units[unit], (int)t->pid, tid);
	if (e->stamped) {
		fputs(",\"ph\":\"X\"", file);
		put_time(file, "ts", e->start);
		put_time(file, "dur", e->end - e->start);
	} else {
		fputs(",\"ph\":\"i\",\"s\":\"t\"", file);
		put_time(file, "ts", when);
	}
	fprintf(file, ",\"args\":{\"card\":%u,\"queue\":%u,\"seq\":%" PRIu64 ",\"completed\":%s",
		t->card.index, t->number, e->seq, e->completed ? "true" : "false");
	if (e->stamped)
		fprintf(file, ",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
			",\"cycles\":%" PRIu64, e->start, e->end, e->cycles);
	put_operands(file, &e->desc);
	fputs("}}", file);
}

static void put_fault(FILE *file, const struct trace_track *t,
		      const struct vtadev_fault *fault)
{
	char text[VTADEV_FAULT_TEXT_MAX];

	vtadev_fault_text(fault, text, sizeof(text));
	fputs(",\n{\"name\":\"fault\",\"cat\":\"fault\",\"ph\":\"i\",\"s\":\"p\"", file);
	fprintf(file, ",\"pid\":%d,\"tid\":%u", (int)t->pid, TID_QUEUE(t->number));
	put_time(file, "ts", fault->time);
	fprintf(file, ",\"args\":{\"card\":%u,\"queue\":%u,\"seq\":%" PRIu64 ",\"text\":",
		t->card.index, t->number, fault->seq);
	put_text(file, text);
	fputs("}}", file);
}

static void put_names(FILE *file, const struct trace_track *t)
{
	char name[96];

	snprintf(name, sizeof(name), "vta%u compute", t->card.index);
	put_name(file, ",\n", "thread_name", t->pid, TID_COMPUTE(t->card.index), name);
	snprintf(name, sizeof(name), "vta%u copy", t->card.index);
	put_name(file, ",\n", "thread_name", t->pid, TID_COPY(t->card.index), name);
	snprintf(name, sizeof(name), "vta%u queue %u (handle %u)", t->card.index, t->number,
		 t->handle);
	put_name(file, ",\n", "thread_name", t->pid, TID_QUEUE(t->number), name);
}

static void put_track(FILE *file, const struct trace_track *t)
{
	uint64_t when = t->nr_faults ? t->faults[0].time : 0;

	put_names(file, t);
	for (const struct trace_chunk *c = t->first; c; c = c->next) {
		for (unsigned int i = 0; i < c->used; i++) {
			if (c->events[i].stamped)
				when = c->events[i].end;
			put_event(file, t, &c->events[i], when);
		}
	}
	for (unsigned int i = 0; i < t->nr_faults; i++)
		put_fault(file, t, &t->faults[i]);
}

static void put_offset(FILE *file, const char *key, int64_t offset, int64_t unknown)
{
	if (offset == unknown)
		fprintf(file, ",\"%s\":null", key);
	else
		fprintf(file, ",\"%s\":%" PRId64, key, offset);
}

static uint64_t events_of(const struct trace_track *t)
{
	uint64_t events = 0;

	for (const struct trace_chunk *c = t->first; c; c = c->next)
		events += c->used;
	return events;
}

/* Print the part that is no event: counts, and the relation of card time to the host's. */
static void put_other(FILE *file, pid_t pid, const struct trace_track *tracks,
		      unsigned int untraced)
{
	uint64_t events = 0, dropped = 0;
	const char *comma = "";

	for (const struct trace_track *t = tracks; t; t = t->next) {
		if (t->pid != pid)
			continue;
		events += events_of(t);
		dropped += t->dropped;
	}
	fprintf(file, "\"otherData\":{\"pid\":%d,\"clock\":\"card time\",\"descriptors\":%" PRIu64
		",\"dropped\":%" PRIu64 ",\"queues_untraced\":%u,\"queues\":[", (int)pid, events,
		dropped, untraced);
	for (const struct trace_track *t = tracks; t; t = t->next) {
		if (t->pid != pid)
			continue;
		fprintf(file, "%s\n{\"queue\":%u,\"handle\":%u,\"card\":%u,\"clock_khz\":%u", comma,
			t->number, t->handle, t->card.index, t->clock_khz);
		fprintf(file, ",\"descriptors\":%" PRIu64 ",\"dropped\":%" PRIu64, events_of(t),
			t->dropped);
		put_offset(file, "monotonic_less_card_min_ns", t->offset_min, INT64_MIN);
		put_offset(file, "monotonic_less_card_max_ns", t->offset_max, INT64_MAX);
		fputc('}', file);
		comma = ",";
	}
	fputs("]},\n", file);
}

static void put_trace(FILE *file, pid_t pid, const struct trace_track *tracks,
		      unsigned int untraced)
{
	fputs("{\"displayTimeUnit\":\"ns\",", file);
	put_other(file, pid, tracks, untraced);
	fputs("\"traceEvents\":[", file);
	put_name(file, "\n", "process_name", pid, 0, program_invocation_short_name);
	for (const struct trace_track *t = tracks; t; t = t->next)
		if (t->pid == pid)
			put_track(file, t);
	fputs("\n]}\n", file);
}

int trace_write(const char *path, pid_t pid, const struct trace_track *tracks,
		unsigned int untraced)
{
	struct output out;
	int err = output_open(&out, path, 0666);

	if (err)
		return err;
	put_trace(out.file, pid, tracks, untraced);
	return output_close(&out);
}
