// SPDX-License-Identifier: Apache-2.0
/*
 * profile.c - the record of a run: when each descriptor and each kernel was executed
 *
 * A stamp has the card's time. A descriptor begins after the doorbell, and its end is seen after
 * it: so the times before the one and after the other bound how far the host's clock is ahead.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "prog.h"

/* Longer records are refused as memory that there is not. */
#define SPANS_MAX	(1u << 22)

static bool are_sorted(const struct vtaprog_cut *cuts, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (cuts[i].stream < cuts[i - 1].stream ||
		    (cuts[i].stream == cuts[i - 1].stream && cuts[i].insn <= cuts[i - 1].insn))
			return false;
	return true;
}

static bool are_within(const struct vtaimage *image, const struct vtaprog_cut *cuts,
		       uint32_t count)
{
	struct vtaimage_stream stream;

	for (uint32_t i = 0; i < count; i++) {
		if (cuts[i].stream >= image->stream_count)
			return false;
		vtaimage_stream(image, cuts[i].stream, &stream);
		if (!cuts[i].insn || cuts[i].insn >= stream.insn_count)
			return false;
	}
	return true;
}

/* The number of spans: a step may run a stream that another step has run. */
static uint64_t count_spans(const struct vtaimage *image, const struct profile *profile)
{
	uint64_t spans = image->step_count;

	for (uint32_t i = 0; i < image->step_count; i++) {
		const struct vtaprog_cut *cuts;
		struct vtaimage_step step;

		vtaimage_step(image, i, &step);
		if (step.kind == VTAIMAGE_RUN)
			spans += profile_cuts(profile, image, step.stream, &cuts);
	}
	return spans;
}

int profile_new(const struct vtaimage *image, const struct vtaprog_cut *cuts, uint32_t count,
		struct profile **out)
{
	struct profile *profile;

	if (!are_sorted(cuts, count) || !are_within(image, cuts, count))
		return -EINVAL;
	profile = calloc(1, sizeof(*profile));
	if (!profile)
		return -ENOMEM;
	profile->cuts = cuts;
	profile->cut_count = count;
	profile->room = count_spans(image, profile);
	if (profile->room <= SPANS_MAX)
		profile->spans = calloc(profile->room + 1, sizeof(*profile->spans));
	if (!profile->spans) {
		free(profile);
		return -ENOMEM;
	}
	*out = profile;
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	vtadev_buf_free(profile->stamps);
	free(profile->spans);
	free(profile);
}

/* A RUN with KEEP finds the tokens that the one before it left: a whole stream leaves none. */
static bool may_cut(const struct vtaimage *image, uint32_t stream)
{
	struct vtaops_work work;

	return !vtaimage_work(image, stream, NULL, 0, &work);
}

uint32_t profile_cuts(const struct profile *profile, const struct vtaimage *image,
		      uint32_t stream, const struct vtaprog_cut **cuts)
{
	uint32_t first = 0, end;

	if (!profile)
		return 0;
	while (first < profile->cut_count && profile->cuts[first].stream < stream)
		first++;
	for (end = first; end < profile->cut_count && profile->cuts[end].stream == stream; end++)
		;
	if (first == end || !may_cut(image, stream))
		return 0;
	*cuts = &profile->cuts[first];
	return end - first;
}

void profile_add(struct profile *profile, uint32_t step, uint32_t insn, uint32_t insn_count)
{
	profile->spans[profile->count++] = (struct vtaprog_span) {
		.step = step, .insn = insn, .insn_count = insn_count };
}

int profile_stamp(struct vtadev *dev, struct profile *profile, struct vta_desc *descs,
		  uint32_t count)
{
	void *map;
	int err;

	profile->cuts = NULL;
	if (!count)
		return 0;
	err = vtadev_buf_alloc(dev, count * sizeof(*profile->stamp), VTADEV_HOST,
			       &profile->stamps);
	if (!err)
		err = vtadev_buf_map(profile->stamps, &map);
	if (err)
		return err;
	profile->stamp = map;
	for (uint32_t i = 0; i < count; i++)
		vtadev_desc_stamp(&descs[i], vtadev_buf_addr(profile->stamps) +
				  i * (uint32_t)sizeof(*profile->stamp));
	return 0;
}

void profile_begin(struct profile *profile)
{
	profile->low = INT64_MIN;
	profile->high = INT64_MAX;
}

/* The card may write anything as its time: differences wrap. */
static int64_t difference(int64_t host, uint64_t card)
{
	return (int64_t)((uint64_t)host - card);
}

static void bound_clock(struct profile *profile, uint64_t start, uint64_t end, int64_t now)
{
	int64_t low = difference(profile->submitted, start), high = difference(now, end);

	if (low > profile->low)
		profile->low = low;
	if (high < profile->high)
		profile->high = high;
}

int profile_take(struct vtaprog *prog, const struct part *part)
{
	struct profile *profile = prog->profile;
	int64_t now = clock_ns();

	for (uint32_t i = 0; i < part->count; i++) {
		struct vta_stamp stamp = profile->stamp[part->first + i];
		struct vtaprog_span *span = &profile->spans[part->span + i];

		if (le64toh(stamp.seq) != prog->seq - (part->count - 1 - i) ||
		    le64toh(stamp.end) < le64toh(stamp.start))
			return -EPROTO;
		span->begin = (int64_t)le64toh(stamp.start);
		span->end = (int64_t)le64toh(stamp.end);
		span->cycles = le64toh(stamp.cycles);
		bound_clock(profile, le64toh(stamp.start), le64toh(stamp.end), now);
	}
	return 0;
}

static int64_t offset_of(const struct profile *profile)
{
	uint64_t range = (uint64_t)profile->high - (uint64_t)profile->low;

	return profile->low < profile->high ? (int64_t)((uint64_t)profile->low + range / 2) :
		profile->low;
}

void profile_end(struct vtaprog *prog)
{
	uint64_t offset = (uint64_t)offset_of(prog->profile);

	for (uint32_t p = 0; p < prog->part_count; p++) {
		const struct part *part = &prog->parts[p];
		struct vtaprog_span *span = &prog->profile->spans[part->span];

		for (uint32_t i = 0; i < part->count && part->card; i++, span++) {
			span->begin = (int64_t)((uint64_t)span->begin + offset);
			span->end = (int64_t)((uint64_t)span->end + offset);
		}
	}
}

uint32_t vtaprog_spans(const struct vtaprog *prog, const struct vtaprog_span **spans,
		       int64_t *error_ns)
{
	const struct profile *profile = prog->profile;
	bool known = profile && profile->low != INT64_MIN && profile->low < profile->high;

	*spans = profile ? profile->spans : NULL;
	if (error_ns)
		*error_ns = known ? (int64_t)(((uint64_t)profile->high -
					       (uint64_t)profile->low) / 2) : 0;
	return profile ? profile->count : 0;
}
