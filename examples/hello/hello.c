// SPDX-License-Identifier: Apache-2.0
/*
 * The smallest program that uses a card: it fills a page of the card's memory, copies it
 * to the host, and checks it. docs/quick-start.md explains it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <vtadev.h>

#define SIZE	4096
#define SECOND	1000000000

static void check(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "hello: %s: %s\n", what, vtadev_strerror(err));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct vtadev_queue *queue;
	struct vtadev_buf *card, *host;
	struct vta_desc work[2];
	/* The first card, or "1", "vta1", "/dev/vta1", "0000:01:00.0", "soft". */
	const char *which = argc > 1 ? argv[1] : NULL;
	char why[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	uint64_t seq;
	void *map;

	if (vtadev_open(which, &dev)) {
		vtadev_open_text(which, why, sizeof(why));
		fprintf(stderr, "hello: %s\n", why);
		return 1;
	}
	check(vtadev_queue_create(dev, NULL, &queue), "no queue");
	check(vtadev_buf_alloc(dev, SIZE, VTADEV_CARD, &card), "no card memory");
	check(vtadev_buf_alloc(dev, SIZE, VTADEV_HOST, &host), "no host memory");
	check(vtadev_buf_map(host, &map), "no mapping");

	/* Two descriptors, one doorbell write, no system call. */
	work[0] = vtadev_desc_fill(vtadev_buf_addr(card), 0x5654, SIZE);
	work[1] = vtadev_desc_copy(vtadev_buf_addr(host), vtadev_buf_addr(card), SIZE);
	check(vtadev_submit(queue, work, 2, &seq), "not submitted");
	check(vtadev_wait(queue, seq, SECOND), "not done");

	const uint32_t *words = map;

	for (int i = 0; i < SIZE / 4; i++) {
		if (words[i] != 0x5654) {
			fprintf(stderr, "hello: word %d is %#" PRIx32 "\n", i, words[i]);
			return 1;
		}
	}
	printf("hello from %s, serial %#" PRIx64 "\n", vtadev_info(dev)->card.node,
	       vtadev_info(dev)->serial);
	vtadev_buf_free(host);
	vtadev_buf_free(card);
	vtadev_queue_destroy(queue);
	vtadev_close(dev);
	if (fflush(stdout)) {
		perror("hello: standard output");
		return 1;
	}
	return 0;
}
