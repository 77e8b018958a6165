// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "vta_holder.h"

#define SIZE	65536

static int export_buf(int fd, const struct mem *mem, int *out, volatile uint32_t **map)
{
	void *ptr;

	*out = buf_export(fd, mem->handle, O_RDWR | O_CLOEXEC);
	if (*out < 0)
		return *out;
	ptr = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *out, 0);
	*map = ptr;
	return ptr == MAP_FAILED ? -errno : 0;
}

static int pin(struct holder *h)
{
	struct vta_buf_pin req;

	h->pinned_kb = proc_number("status", "VmPin");
	h->own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (h->own == MAP_FAILED)
		return -errno;
	return buf_pin(h->fd, h->own, SIZE, 0, &req);
}

static int hold(struct holder *h)
{
	uint64_t arms = card_counter("arms");
	int err;

	queue_put(&h->q, desc_wait(h->host.addr + 8, UINT64_MAX));
	err = waiter_start(&h->waiter, &h->q, 2, -1);
	if (!err && card_counter_reaches("arms", arms + 1) < arms + 1)
		err = -ETIME;
	return err;
}

int holder_begin(struct holder *h)
{
	int err;

	h->fd = card_open();
	err = h->fd < 0 ? h->fd : queue_open(h->fd, &h->q, NULL);
	err = err ? err : mem_alloc(h->fd, &h->host, SIZE, VTA_BUF_HOST, 0);
	err = err ? err : mem_alloc(h->fd, &h->card, SIZE, VTA_BUF_CARD, 0);
	err = err ? err : export_buf(h->fd, &h->host, &h->host_fd, &h->host_map);
	err = err ? err : export_buf(h->fd, &h->card, &h->card_fd, &h->card_map);
	err = err ? err : pin(h);
	if (err)
		return err;
	h->host_map[0] = 42;
	h->card_map[0] = 42;
	if (proc_number("status", "VmPin") != h->pinned_kb + SIZE / 1024)
		return -EPROTO;
	return hold(h);
}

/* Every mapping can be read and written, touched before or not. */
static void touch_all(struct holder *h)
{
	volatile uint8_t *host = h->host.ptr, *card = h->card.ptr;

	for (unsigned int i = 0; i < SIZE; i += 4096) {
		host[i] = 1;
		card[i] = 2;
		h->card_map[i / 4 + 1] = 3;
	}
	queue_kick(&h->q);
	(void)*h->q.doorbell;
	memset(h->own, 1, SIZE);
}

const char *holder_loses(struct holder *h)
{
	if (waiter_join(&h->waiter) != -ENODEV)
		return "the waiter gets ENODEV";
	if (card_poll(h->fd, 0) != (POLLERR | POLLHUP))
		return "poll() returns POLLERR and POLLHUP";
	if (queue_wait(&h->q, 1, 0, NULL) != -ENODEV)
		return "calls are ENODEV";
	if (h->host_map[0] != 42)
		return "host memory in a dma-buf stays";
	if (h->card_map[0])
		return "card memory in a dma-buf is lost, and reads as zeroes";
	if (queue_seq(&h->q) || le32toh(h->q.status->status.state) != VTA_QUEUE_DISABLED)
		return "the status page shows zeroes";
	if (!SOON(proc_number("status", "VmPin") == h->pinned_kb))
		return "processes get their pinned pages back";
	touch_all(h);
	return "";
}

const char *holder_ends(struct holder *h)
{
	bool stays = h->host_map[0] == 42;

	touch_all(h);
	queue_unmap(&h->q);
	munmap(h->host.ptr, h->host.size);
	munmap(h->card.ptr, h->card.size);
	close(h->fd);
	stays = stays && h->host_map[0] == 42;
	munmap((void *)h->host_map, SIZE);
	munmap((void *)h->card_map, SIZE);
	close(h->host_fd);
	close(h->card_fd);
	munmap(h->own, SIZE);
	return stays ? "" : "host memory in a dma-buf outlives the card and the file";
}

/* ---- Computing processes ---- */

static void fill_until_lost(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);
	struct queue q;
	struct mem mem;

	if (fd < 0)
		return;
	if (!queue_open(fd, &q, NULL)) {
		if (!mem_alloc(fd, &mem, 1 << 20, VTA_BUF_CARD, 0)) {
			while (!queue_do(&q, desc_fill(mem.addr, 1, 1 << 20)))
				;
			munmap(mem.ptr, mem.size);
		}
		queue_unmap(&q);
	}
	close(fd);
}

static void work_for_ever(void)
{
	for (;;) {
		glob_t nodes;

		if (!glob("/dev/vta*", 0, NULL, &nodes)) {
			for (size_t i = 0; i < nodes.gl_pathc; i++)
				fill_until_lost(nodes.gl_pathv[i]);
			globfree(&nodes);
		}
		sleep_ms(1);
	}
}

pid_t worker_start(void)
{
	pid_t test = getpid(), pid = fork();

	/* A test that is ended by its time-out leaves none behind for the next one. */
	if (!pid) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != test)
			_exit(1);
		work_for_ever();
	}
	return pid < 0 ? -errno : pid;
}
