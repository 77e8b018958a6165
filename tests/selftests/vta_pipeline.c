// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_pipeline - libvtadev's pipelines on a card or device: order and overlap by its
 * stamps, short rings, and faults in each stage, which no caller waits for
 */
#include "vta_harness.h"
#include "vtadev.h"
#include "vtadev_pipeline.h"

#define SECOND	1000000000ll
#define SIZE	65536u
#define BATCHES	24u
#define SLOTS	3u
#define NOWHERE	0x40000000u

FIXTURE(pipeline) {
	struct vtadev *dev;
	struct vtadev_buf *in, *slots, *out, *stamps;
	uint8_t *src, *dst;
	struct vta_stamp *stamp;
};

FIXTURE_SETUP(pipeline)
{
	void *ptr;

	ASSERT_EQ(0, vtadev_open(NULL, &self->dev));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, BATCHES * SIZE, VTADEV_HOST, &self->in));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, BATCHES * SIZE, VTADEV_HOST, &self->out));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, 2 * SLOTS * SIZE, VTADEV_CARD, &self->slots));
	ASSERT_EQ(0, vtadev_buf_alloc(self->dev, BATCHES * VTADEV_STAGES * sizeof(*self->stamp),
				      VTADEV_HOST, &self->stamps));
	ASSERT_EQ(0, vtadev_buf_map(self->in, &ptr));
	self->src = ptr;
	ASSERT_EQ(0, vtadev_buf_map(self->out, &ptr));
	self->dst = ptr;
	ASSERT_EQ(0, vtadev_buf_map(self->stamps, &ptr));
	self->stamp = ptr;
	for (unsigned int i = 0; i < BATCHES * SIZE; i++)
		self->src[i] = (uint8_t)(i * 7 + (i >> 11));
}

FIXTURE_TEARDOWN(pipeline)
{
	vtadev_buf_free(self->in);
	vtadev_buf_free(self->out);
	vtadev_buf_free(self->slots);
	vtadev_buf_free(self->stamps);
	vtadev_close(self->dev);
}

/* In to a slot, from there to its other half, out from there. */
struct job {
	struct vta_desc descs[VTADEV_STAGES];
	struct vtadev_batch batch;
};

static void make_job(struct _test_data_pipeline *self, struct job *job, unsigned int n,
		     unsigned int slot)
{
	uint32_t card = vtadev_buf_addr(self->slots) + slot * 2 * SIZE;

	job->descs[0] = vtadev_desc_copy(card, vtadev_buf_addr(self->in) + n * SIZE, SIZE);
	job->descs[1] = vtadev_desc_copy(card + SIZE, card, SIZE);
	job->descs[2] = vtadev_desc_copy(vtadev_buf_addr(self->out) + n * SIZE, card + SIZE, SIZE);
	for (unsigned int i = 0; i < VTADEV_STAGES; i++) {
		vtadev_desc_stamp(&job->descs[i], vtadev_buf_addr(self->stamps) +
				  (n * VTADEV_STAGES + i) * (uint32_t)sizeof(struct vta_stamp));
		job->batch.descs[i] = &job->descs[i];
		job->batch.n[i] = 1;
	}
}

/* All batches; in batch @bad, if there is one, the @stage is wrong. */
static int stream(struct _test_data_pipeline *self, struct vtadev_pipeline *pipe, unsigned int bad,
		  unsigned int stage)
{
	struct job job;
	unsigned int slot, n;
	int err = 0;

	for (n = 0; n < BATCHES && !err; n++) {
		err = vtadev_pipeline_begin(pipe, 20 * SECOND, &slot);
		if (err)
			break;
		make_job(self, &job, n, slot);
		if (n == bad)
			job.descs[stage] = vtadev_desc_fill(NOWHERE, 0, 4);
		err = vtadev_pipeline_submit(pipe, &job.batch, NULL);
	}
	return err ? err : vtadev_pipeline_drain(pipe, 20 * SECOND);
}

static void check_order(struct __test_metadata *_metadata, struct _test_data_pipeline *self)
{
	for (unsigned int n = 0; n < BATCHES; n++) {
		struct vta_stamp *s = &self->stamp[n * VTADEV_STAGES];

		EXPECT_LE(le64toh(s[0].end), le64toh(s[1].start));
		EXPECT_LE(le64toh(s[1].end), le64toh(s[2].start));
		if (n < SLOTS)
			continue;
		/* The slot was computed with, and copied out. */
		EXPECT_LE(le64toh(s[-(int)(SLOTS * VTADEV_STAGES) + 1].end), le64toh(s[0].start));
		EXPECT_LE(le64toh(s[-(int)(SLOTS * VTADEV_STAGES) + 2].end), le64toh(s[1].start));
	}
}

TEST_F(pipeline, keeps_slots_apart_with_any_rings)
{
	static const unsigned int rings[] = { 0, 64, 4, 2, 1 };
	struct vtadev_pipeline_opts opts = { .depth = SLOTS, .ahead = 8 };
	struct vtadev_pipeline *pipe;

	for (unsigned int i = 0; i < ARRAY_SIZE(rings); i++) {
		for (unsigned int q = 0; q < VTADEV_STAGES; q++)
			opts.queues[q].ring_entries = rings[i];
		memset(self->dst, 0, BATCHES * SIZE);
		ASSERT_EQ(0, vtadev_pipeline_create(self->dev, &opts, &pipe));
		EXPECT_EQ(0, stream(self, pipe, BATCHES, 0)) {
			TH_LOG("with rings of %u", rings[i]);
		}
		EXPECT_EQ(0, memcmp(self->src, self->dst, BATCHES * SIZE));
		check_order(_metadata, self);
		vtadev_pipeline_destroy(pipe);
	}
}

/* One of the queues halts; the others would wait for it. */
TEST_F(pipeline, fault_in_any_stage_is_reported)
{
	struct vtadev_pipeline_opts opts = { .depth = SLOTS };
	struct vtadev_pipeline *pipe;
	struct vtadev_fault fault;
	enum vtadev_stage stage;
	unsigned int bad, i;

	for (i = 0; i < 2 * VTADEV_STAGES; i++) {
		/* Rings that hold all, and ones that submitting waits for. */
		for (bad = 0; bad < VTADEV_STAGES; bad++)
			opts.queues[bad].ring_entries = i % 2 ? 2 : 256;
		bad = i / 2;
		ASSERT_EQ(0, vtadev_pipeline_create(self->dev, &opts, &pipe));
		EXPECT_EQ(-EIO, stream(self, pipe, 7, bad));
		EXPECT_EQ(-EIO, vtadev_pipeline_begin(pipe, -1, NULL));
		ASSERT_EQ(0, vtadev_pipeline_fault(pipe, &stage, &fault));
		EXPECT_EQ(bad, stage);
		EXPECT_EQ(VTA_FAULT_PAGE, fault.reason);
		EXPECT_EQ(NOWHERE, fault.addr);
		vtadev_pipeline_destroy(pipe);
		/* And the card is as good as before. */
		ASSERT_EQ(0, vtadev_pipeline_create(self->dev, NULL, &pipe));
		EXPECT_EQ(0, stream(self, pipe, BATCHES, 0));
		vtadev_pipeline_destroy(pipe);
	}
}

TEST_F(pipeline, can_be_destroyed_with_work_in_flight)
{
	struct vtadev_pipeline *pipe;
	struct job job;
	unsigned int i, slot;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, vtadev_pipeline_create(self->dev, NULL, &pipe));
		ASSERT_EQ(0, vtadev_pipeline_begin(pipe, 0, &slot));
		make_job(self, &job, i, slot);
		ASSERT_EQ(0, vtadev_pipeline_submit(pipe, &job.batch, NULL));
		vtadev_pipeline_destroy(pipe);
	}
}

TEST_HARNESS_MAIN
