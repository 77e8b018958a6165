// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_transfer.c - upload and download: copies by the CPU or the card, their order, and the
 * state after failures
 *
 * The fake card copies when the library waits, as the real one may.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../frame.h"
#include "fake.h"

#define ENTRIES		4u
#define COPY_MIN	100u
#define SIZE		0x100000u
/* Of a transfer of two or less; those of HUGE bytes end here, all but the first with huge pages. */
#define PIECE		(8u << 20)
#define END_FIRST	(1u << 20)
#define END_SECOND	(8u << 20)
#define END_THIRD	(14u << 20)
#define LITTLE		(1u << 20)	/* the least, when there is no room for more */
#define HUGE_PAGE	(2u << 20)
#define HUGE		(2 * PIECE + 5)

static struct vtadev *dev;
static struct vtadev_queue *q;
static struct vtadev_buf *buf;
static uint64_t done;		/* by the card */
static uint64_t freed;		/* pinned memory, of how many copies */
static uint64_t ahead;		/* copies that the card still had then, at most */
static unsigned int frees_too_early;

/* Let the card complete one descriptor: the library must submit more. */
static void step(struct fake *f)
{
	if (done < f->wait.seq)
		done = f->wait.seq;
	fake_complete(done);
}

/* Memory must not be unpinned before the card is done with it, in order. */
static void check_unpin(struct fake *f)
{
	(void)f;
	if (freed < vtadev_submitted(q))
		frees_too_early += done < ++freed;
	if (ahead < vtadev_submitted(q) - freed)
		ahead = vtadev_submitted(q) - freed;
}

static struct vtadev_queue *queue(size_t copy_min)
{
	struct vtadev_queue_opts opts = {
		.ring_entries = ENTRIES, .spin_ns = -1, .copy_min = copy_min,
	};
	struct vtadev_queue *queue = NULL;

	assert_int_equal(vtadev_queue_create(dev, &opts, &queue), 0);
	done = 0;
	freed = 0;
	ahead = 0;
	return queue;
}

static int setup(void **state)
{
	fake_setup(state);
	dev = fake_open();
	q = queue(COPY_MIN);
	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &buf), 0);
	fake.on_wait = step;
	fake.on_unpin = check_unpin;
	frees_too_early = 0;
	return 0;
}

static int teardown(void **state)
{
	fake.fail = 0;
	fake.on_unpin = NULL;
	vtadev_buf_free(buf);
	vtadev_queue_destroy(q);
	vtadev_close(dev);
	return fake_teardown(state) || frees_too_early;
}

#define QUEUE void *unused, setup, teardown

static const struct vta_desc *latest(void)
{
	return &fake.ring[(vtadev_submitted(q) - 1) % ENTRIES];
}

TEST_F(QUEUE, little_is_copied_by_the_cpu)
{
	char bytes[COPY_MIN - 1], back[COPY_MIN - 1] = { 0 };

	memset(bytes, 5, sizeof(bytes));
	assert_int_equal(vtadev_upload(q, buf, SIZE - sizeof(bytes), bytes, sizeof(bytes)), 0);
	assert_int_equal(vtadev_download(q, buf, SIZE - sizeof(back), back, sizeof(back)), 0);
	assert_memory_equal(bytes, back, sizeof(back));
	assert_int_equal(vtadev_submitted(q), 0);
	assert_int_equal(fake.pin.size, 0);
}

/* Either way, behind what the queue has to do. */
TEST_F(QUEUE, the_cpu_waits_for_the_queue)
{
	char byte = 1;

	assert_int_equal(vtadev_fill(q, buf, 0, 0, 8, NULL), 0);
	assert_int_equal(vtadev_download(q, buf, 0, &byte, 1), 0);
	assert_int_equal(fake.wait.seq, 1);
	assert_int_equal(done, 1);
	assert_int_equal(byte, 0);
	assert_int_equal(vtadev_fill(q, buf, 0, 0, 8, NULL), 0);
	assert_int_equal(vtadev_upload(q, buf, 0, NULL, 0), 0);
	assert_int_equal(done, 2);
}

TEST_F(QUEUE, much_is_copied_by_the_card)
{
	char bytes[COPY_MIN + 8] = { 0 };
	struct vta_desc want;

	assert_int_equal(vtadev_upload(q, buf, 40, bytes + 1, COPY_MIN), 0);
	assert_true(fake.pin.user_addr == (uintptr_t)bytes + 1);
	assert_int_equal(fake.pin.size, COPY_MIN);
	assert_int_equal(fake.pin.flags, VTA_BUF_READONLY);	/* const memory will do */
	want = vtadev_desc_copy(vtadev_buf_addr(buf) + 40,
				0x600000 + ((uintptr_t)bytes + 1) % VTA_PAGE_SIZE, COPY_MIN);
	assert_memory_equal(latest(), &want, sizeof(want));
	assert_int_equal(done, 1);
	assert_int_equal(fake.buffers, 1);

	assert_int_equal(vtadev_download(q, buf, 50, bytes + 2, COPY_MIN), 0);
	assert_int_equal(fake.pin.flags, 0);
	want = vtadev_desc_copy(0x600000 + ((uintptr_t)bytes + 2) % VTA_PAGE_SIZE,
				vtadev_buf_addr(buf) + 50, COPY_MIN);
	assert_memory_equal(latest(), &want, sizeof(want));
	assert_int_equal(done, 2);
	assert_int_equal(fake.buffers, 1);
}

TEST_F(QUEUE, room_in_the_ring_is_waited_for)
{
	char bytes[COPY_MIN] = { 0 };

	for (unsigned int i = 0; i < ENTRIES; i++)
		assert_int_equal(vtadev_fill(q, buf, 0, 0, 8, NULL), 0);
	assert_int_equal(vtadev_upload(q, buf, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(vtadev_submitted(q), ENTRIES + 1);
	assert_int_equal(done, ENTRIES + 1);
}

static struct vtadev_buf *import_huge(void)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC);
	struct vtadev_buf *huge = NULL;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, HUGE), 0);
	fake.import_size = HUGE;
	assert_int_equal(vtadev_buf_import(dev, fd, 0, &huge), 0);
	close(fd);
	return huge;
}

/* At some distance from the start of a huge page; free() @mem. */
static char *huge_bytes(size_t offset, char **mem)
{
	*mem = aligned_alloc(HUGE_PAGE, 3 * PIECE);
	assert_non_null(*mem);
	return *mem + offset;
}

static void assert_piece(unsigned int i, const struct vtadev_buf *to, size_t at,
			 const char *bytes, size_t len)
{
	struct vta_desc want = vtadev_desc_copy(0x600000 + (uintptr_t)bytes % VTA_PAGE_SIZE,
						vtadev_buf_addr(to) + (uint32_t)at, (uint32_t)len);

	assert_memory_equal(&fake.ring[i % ENTRIES], &want, sizeof(want));
}

static void assert_pieces_of_huge(const struct vtadev_buf *to, size_t at, char *bytes, char *mem)
{
	size_t begin = (size_t)(bytes - mem);
	const size_t ends[] = { END_FIRST, END_SECOND, END_THIRD, HUGE - at + begin };

	for (unsigned int i = 0; i < 4; begin = ends[i++]) {
		assert_piece(i, to, at, mem + begin, ends[i] - begin);
		at += ends[i] - begin;
	}
}

/* The next one is pinned and given to the card before the last one is waited for. */
TEST_F(QUEUE, pieces)
{
	struct vtadev_buf *huge = import_huge();
	char *mem, *bytes = huge_bytes(0, &mem);

	assert_int_equal(vtadev_download(q, huge, 0, bytes, HUGE), 0);
	assert_int_equal(done, 4);
	assert_int_equal(ahead, 1);
	assert_int_equal(fake.pin.size, HUGE - END_THIRD);
	assert_true(fake.pin.user_addr == (uintptr_t)bytes + END_THIRD);
	assert_pieces_of_huge(huge, 0, bytes, mem);
	vtadev_buf_free(huge);
	free(mem);
}

/* The card is idle while the first piece is pinned and the last one is given back. */
TEST_F(QUEUE, the_first_and_the_last_piece_are_small)
{
	char *bytes = aligned_alloc(VTA_PAGE_SIZE, SIZE);

	assert_non_null(bytes);
	assert_int_equal(vtadev_download(q, buf, 0, bytes, SIZE - 1), 0);
	assert_int_equal(done, 1);
	assert_piece(0, buf, 0, bytes, SIZE - 1);
	assert_int_equal(vtadev_download(q, buf, 0, bytes, SIZE), 0);
	assert_int_equal(done, 4);
	assert_piece(1, buf, 0, bytes, SIZE / 16);
	assert_piece(2, buf, SIZE / 16, bytes, SIZE / 16 * 13);
	assert_piece(3, buf, SIZE / 8 * 7, bytes, SIZE / 8);
	free(bytes);
}

TEST_F(QUEUE, pieces_are_of_whole_huge_pages)
{
	struct vtadev_buf *huge = import_huge();
	char *mem, *bytes = huge_bytes(3, &mem);

	assert_int_equal(vtadev_download(q, huge, 1, bytes, HUGE - 1), 0);
	assert_int_equal(done, 4);
	assert_pieces_of_huge(huge, 1, bytes, mem);
	vtadev_buf_free(huge);
	free(mem);
}

/* With room for one piece of the usual length: the card waits for no more than it must. */
TEST_F(QUEUE, little_room)
{
	struct vtadev_buf *huge = import_huge();
	const size_t ends[] = { END_FIRST, END_SECOND, 12 * LITTLE, 15 * LITTLE, HUGE - 5 };
	char *mem, *bytes = huge_bytes(0, &mem);

	fake.pin_limit = PIECE + 1;
	assert_int_equal(vtadev_download(q, huge, 0, bytes, HUGE - 5), 0);
	assert_int_equal(done, 5);
	assert_int_equal(ahead, 1);
	for (unsigned int i = 1; i < 5; i++)
		assert_piece(i, huge, ends[i - 1], bytes + ends[i - 1], ends[i] - ends[i - 1]);
	assert_int_equal(fake.buffers, 2);
	vtadev_buf_free(huge);
	free(mem);
}

TEST_F(QUEUE, hardly_any_room)
{
	struct vtadev_buf *huge = import_huge();
	char *mem, *bytes = huge_bytes(0, &mem);
	unsigned int calls;

	fake.pin_limit = LITTLE;		/* one at a time, but for the last, small ones */
	assert_int_equal(vtadev_upload(q, huge, 0, bytes, 4 * LITTLE), 0);
	assert_int_equal(done, 6);
	assert_int_equal(ahead, 1);
	fake.pin_limit = LITTLE / 4 - 1;	/* the CPU does it */
	calls = fake.calls;
	assert_int_equal(vtadev_upload(q, huge, 0, bytes, 4 * LITTLE), 0);
	assert_int_equal(done, 6);
	assert_true(fake.calls - calls <= 8);
	vtadev_buf_free(huge);
	free(mem);
}

/* The CPU copies memory that cannot be pinned: all of it, or the rest. */
TEST_F(QUEUE, memory_that_cannot_be_pinned)
{
	static const int errors[] = { EFAULT, ENOMEM, ENOSPC, EOPNOTSUPP, EACCES };
	char bytes[COPY_MIN], back[COPY_MIN];

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.fail_pin = errors[i];
		memset(bytes, (int)i + 1, sizeof(bytes));
		assert_int_equal(vtadev_upload(q, buf, 9, bytes, sizeof(bytes)), 0);
		assert_int_equal(vtadev_download(q, buf, 9, back, sizeof(back)), 0);
		assert_memory_equal(bytes, back, sizeof(bytes));
	}
	assert_int_equal(vtadev_submitted(q), 0);
	fake.fail_pin = ENODEV;
	assert_int_equal(vtadev_upload(q, buf, 9, bytes, sizeof(bytes)), -ENODEV);
}

TEST_F(QUEUE, the_rest_is_not_copied_twice)
{
	struct vtadev_buf *huge = import_huge();
	char *mem, *bytes = huge_bytes(0, &mem);
	void *ptr;

	memset(bytes, 9, HUGE);
	fake.pins = 1;
	fake.fail_pin = ENOMEM;
	assert_int_equal(vtadev_upload(q, huge, 1, bytes, HUGE - 1), 0);
	assert_int_equal(done, 1);
	assert_int_equal(vtadev_buf_map(huge, &ptr), 0);
	/* The fake card has not copied its part. */
	assert_int_equal(((char *)ptr)[END_FIRST], 0);
	assert_int_equal(((char *)ptr)[END_FIRST + 1], 9);
	assert_int_equal(((char *)ptr)[HUGE - 1], 9);
	vtadev_buf_free(huge);
	free(mem);
}

TEST_F(QUEUE, buffers_for_reading)
{
	struct vtadev_buf *fixed = NULL;
	char bytes[COPY_MIN] = { 1 };

	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_READONLY, &fixed), 0);
	assert_int_equal(vtadev_upload(q, fixed, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(vtadev_submitted(q), 0);	/* the card may not */
	assert_int_equal(vtadev_download(q, fixed, 0, bytes, sizeof(bytes)), 0);
	assert_int_equal(vtadev_submitted(q), 1);
	vtadev_buf_free(fixed);
}

TEST_F(QUEUE, refusals)
{
	struct vtadev *other = fake_open();
	struct vtadev_buf *theirs = NULL;
	char byte = 1;

	assert_int_equal(vtadev_buf_alloc(other, SIZE, VTADEV_HOST, &theirs), 0);
	assert_int_equal(vtadev_upload(q, theirs, 0, &byte, 1), -EINVAL);
	assert_int_equal(vtadev_download(q, theirs, 0, &byte, 1), -EINVAL);
	assert_int_equal(vtadev_upload(q, buf, SIZE, &byte, 1), -ERANGE);
	assert_int_equal(vtadev_upload(q, buf, SIZE + 1, &byte, 0), -ERANGE);
	assert_int_equal(vtadev_download(q, buf, 1, &byte, SIZE), -ERANGE);
	assert_int_equal(vtadev_download(q, buf, SIZE_MAX, &byte, 2), -ERANGE);
	vtadev_buf_free(theirs);
	vtadev_close(other);
}

static void halt(struct fake *f)
{
	(void)f;
	fake_state(VTA_QUEUE_HALTED);
	done = vtadev_submitted(q);	/* a halted queue touches nothing */
}

TEST_F(QUEUE, halts)
{
	char bytes[COPY_MIN] = { 0 };

	fake.on_wait = halt;
	fake.wait_errno = EIO;
	assert_int_equal(vtadev_upload(q, buf, 0, bytes, sizeof(bytes)), -EIO);
	assert_int_equal(fake.buffers, 1);
	/* The CPU does not go where the card could not. */
	bytes[0] = 7;
	assert_int_equal(vtadev_fill(q, buf, 0, 0, 8, NULL), -EIO);
	assert_int_equal(vtadev_download(q, buf, 0, bytes, sizeof(bytes)), -EIO);
	assert_int_equal(bytes[0], 7);
	fake.wait_errno = 0;
}

/* @len bytes are copied by the card or the CPU as expected, in both directions. */
static void assert_by_card(struct vtadev_buf *to, size_t len, char *bytes, unsigned int card)
{
	uint64_t before = vtadev_submitted(q);

	assert_int_equal(vtadev_upload(q, to, 0, bytes, len), 0);
	assert_int_equal(vtadev_submitted(q) - before, card);
	assert_int_equal(vtadev_download(q, to, 0, bytes, len), 0);
	assert_int_equal(vtadev_submitted(q) - before, 2 * card);
}

/* The one that follows is unpinned, too. */
TEST_F(QUEUE, halts_in_a_large_one)
{
	struct vtadev_buf *huge = import_huge();
	char *mem, *bytes = huge_bytes(0, &mem);

	fake.on_wait = halt;
	fake.wait_errno = EIO;
	assert_int_equal(vtadev_upload(q, huge, 0, bytes, HUGE), -EIO);
	assert_int_equal(vtadev_submitted(q), 2);
	assert_int_equal(fake.buffers, 2);
	fake.wait_errno = 0;
	vtadev_buf_free(huge);
	free(mem);
}

/*
 * The wait for the last piece fails, though a later one will not, by what the card
 * reports then: its bytes are missing.
 */
TEST_F(QUEUE, halts_that_others_recover)
{
	static const int errors[] = { EIO, EINVAL };
	struct vtadev_buf *huge = import_huge();
	char *mem, *bytes = huge_bytes(0, &mem);

	fake.fail_pin = ENOMEM;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		fake.pins = 1;
		fake.wait_errno = errors[i];
		assert_int_equal(vtadev_upload(q, huge, 0, bytes, HUGE), -errors[i]);
		assert_int_equal(vtadev_sync(q, -1), 0);
		assert_int_equal(done, i + 1);
		assert_int_equal(fake.buffers, 2);
		fake.wait_errno = 0;
	}
	vtadev_buf_free(huge);
	free(mem);
}

TEST_F(QUEUE, defaults_and_never)
{
	const size_t least = VTADEV_COPY_MIN_DEFAULT;
	struct vtadev_buf *card = NULL;
	char *bytes = calloc(1, SIZE);

	assert_non_null(bytes);
	assert_true(least <= SIZE);
	assert_int_equal(vtadev_buf_alloc(dev, SIZE, VTADEV_CARD, &card), 0);
	vtadev_queue_destroy(q);
	q = queue(0);
	assert_by_card(card, least, bytes, 1);
	assert_by_card(card, least - 1, bytes, 0);
	assert_by_card(buf, least, bytes, 1);
	vtadev_queue_destroy(q);
	q = queue(SIZE_MAX);
	assert_by_card(card, SIZE, bytes, 0);
	vtadev_buf_free(card);
	free(bytes);
}
