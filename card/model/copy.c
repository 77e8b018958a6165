// SPDX-License-Identifier: GPL-2.0-only
/*
 * COPY and FILL. The contract gives their cycles by definition; what is counted
 * for one that did not get to its end are the rows that did.
 */
#include <string.h>

#include "model.h"
#include "stream_copy.h"

static void count_cycles(struct card *card, uint32_t width, uint32_t rows,
			 struct outcome *outcome)
{
	outcome->cycles = vta_copy_cycles(rows, width);
	counter_add(&card->counters, VTA_COUNTER_COPY_CYCLES, outcome->cycles);
}

/* A row's address may lie beyond 2^32, but not beyond 2^64. */
static struct mmu_row row_at(uint32_t addr, uint32_t row, uint32_t pitch)
{
	return mmu_row(addr + (uint64_t)row * pitch);
}

static int copy_row(const struct mmu_port *port, struct mmu_row dst, struct mmu_row src,
		    uint32_t width, bool stream, struct outcome *outcome)
{
	size_t done;

	dst.stream = stream;
	for (uint32_t left = width; left; left -= done) {
		bool at_src;
		int ret = mmu_copy_step(port, &dst, &src, left, &done, &at_src, &outcome->addr);

		outcome->access = at_src ? VTA_ACCESS_COPY_SRC : VTA_ACCESS_COPY_DST;
		if (ret)
			return ret;
	}
	return 0;
}

struct outcome copy_execute(struct card *card, const struct queue *q)
{
	const struct mmu_port port = card_port(card, q);
	struct outcome outcome = OUTCOME_OK;
	const uint32_t width = q->desc.copy.width, rows = q->desc.copy.rows;
	/* Short rows leave most of their lines to be finished by the next one. */
	const bool stream = width >= VTA_PAGE_SIZE &&
			    (uint64_t)width * rows >= STREAM_COPY_MIN;
	uint32_t r = width ? 0 : rows;

	for (; r < rows && !outcome.ret; r += !outcome.ret)
		outcome.ret = copy_row(&port,
				       row_at(q->desc.copy.dst, r, q->desc.copy.dst_pitch),
				       row_at(q->desc.copy.src, r, q->desc.copy.src_pitch),
				       width, stream, &outcome);
	count_cycles(card, width, r, &outcome);
	return outcome;
}

/* One page of the pattern, from any of its four bytes on. */
struct pattern {
	uint8_t bytes[VTA_PAGE_SIZE + sizeof(uint32_t)];
};

static int fill_row(const struct mmu_port *port, struct mmu_row dst,
		    const struct pattern *pattern, uint32_t width, struct outcome *outcome)
{
	size_t done;

	for (uint32_t at = 0; at < width; at += done) {
		int ret = mmu_fill_step(port, &dst, pattern->bytes + at % sizeof(uint32_t),
					width - at, &done, &outcome->addr);

		if (ret)
			return ret;
	}
	return 0;
}

struct outcome fill_execute(struct card *card, const struct queue *q)
{
	const struct mmu_port port = card_port(card, q);
	struct outcome outcome = OUTCOME_OK;
	const uint32_t width = q->desc.fill.width, rows = q->desc.fill.rows;
	uint32_t r = width ? 0 : rows;
	struct pattern pattern;

	for (size_t i = 0; i < sizeof(pattern.bytes); i += sizeof(uint32_t))
		memcpy(pattern.bytes + i, &q->desc.fill.pattern, sizeof(uint32_t));
	outcome.access = VTA_ACCESS_COPY_DST;
	for (; r < rows && !outcome.ret; r += !outcome.ret)
		outcome.ret = fill_row(&port, row_at(q->desc.fill.dst, r, q->desc.fill.dst_pitch),
				       &pattern, width, &outcome);
	count_cycles(card, width, r, &outcome);
	return outcome;
}

size_t card_copy_pieces(struct card *card, const struct card_copy *copy,
			struct mmu_piece *pieces, size_t max)
{
	static const atomic_bool never;
	const struct mmu_port port = {
		.mmu = &card->mmu, .give_up = &never, .context = copy->context,
	};
	struct mmu_row dst = mmu_row(copy->dst), src = mmu_row(copy->src);
	uint32_t left = copy->bytes;
	size_t n = 0;

	if (!bus_epoch_on(bus_epoch(&card->bus)))
		return 0;
	for (; left && n < max; left -= (uint32_t)pieces[n++].len)
		if (mmu_piece(&port, &dst, &src, left, &pieces[n]))
			return 0;
	return left ? 0 : n;
}
