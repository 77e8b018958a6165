// SPDX-License-Identifier: Apache-2.0
/*
 * local.c - a card in the process: its lifetime, its ioctls, its result of poll()
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arch.h"
#include "clock.h"
#include "fd.h"
#include "local_impl.h"
#include "vta_regs.h"

/* Attempts to take the lock before sleeping. */
#define LOCK_LOOKS	64u

#define CONTRACT	(VTA_CONTRACT << 16 | VTA_CONTRACT_NEWEST_MINOR)

/* ---- Time ---- */

uint64_t local_time(const struct local *card)
{
	return (uint64_t)clock_ns() - card->power_on + 1;
}

/* ---- poll() ---- */

/*
 * The other end of a socket determines the result of poll(): a byte is POLLIN, an urgent byte
 * POLLPRI (and POLLIN, as the byte can be read), a closed end POLLHUP. All bytes that were sent are
 * read back before others are sent.
 */
static void send_events(struct local *card, uint32_t events)
{
	char bytes[16];

	while (recv(card->fd, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_OOB) > 0)
		;
	while (recv(card->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	if (events & POLLHUP) {
		close(card->fd_end);
		card->fd_end = -1;
		return;
	}
	/* Without urgent bytes (Linux before 5.15), an ordinary one makes the program check. */
	if (events & POLLPRI && send(card->fd_end, "!", 1, MSG_DONTWAIT | MSG_OOB) < 0)
		events |= POLLIN;
	if (events & POLLIN)
		send(card->fd_end, ".", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void local_lock(struct local *card)
{
	for (unsigned int i = 0; card->spins && i < LOCK_LOOKS; i++) {
		if (!pthread_mutex_trylock(&card->lock))
			return;
		arch_relax();
	}
	pthread_mutex_lock(&card->lock);
}

void local_poll_update(struct local *card)
{
	uint32_t events = card->lost ? POLLHUP : 0;

	for (uint32_t i = 0; i < card->queues_end && !card->lost; i++) {
		const struct local_queue *q = card->queues[i];

		if (q && q->poll_hit)
			events |= POLLIN;
		if (q && q->state == VTA_QUEUE_HALTED)
			events |= POLLPRI;
	}
	if (events == card->events)
		return;
	card->events = events;
	send_events(card, events);
}

int local_fd(const struct local *card)
{
	return card->fd;
}

/* ---- Life ---- */

/* Bytes of a core's state, by docs/hardware.md. */
static uint32_t save_size(const struct vta_info *info)
{
	uint64_t size = 64 + (1ull << info->log_uop_buff_size) +
			(1ull << info->log_inp_buff_size) + (1ull << info->log_wgt_buff_size) +
			(1ull << info->log_acc_buff_size);

	return (uint32_t)((size + VTA_PAGE_SIZE - 1) / VTA_PAGE_SIZE * VTA_PAGE_SIZE);
}

static void complete_info(struct vta_info *info)
{
	info->contract = CONTRACT;
	info->abi = VTA_ABI_VERSION;
	info->features = VTADEV_FEATURE_COUNTERS;
	info->queues = LOCAL_QUEUES;
	info->contexts = 1;
	info->ring_order_max = LOCAL_RING_ORDER_MAX;
	info->vectors = 0;
	info->generation = 0;
	info->save_size = save_size(info);
}

static int init(struct local *card)
{
	int ends[2];
	int err;

	err = local_space_init(card);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		err = -errno;
		local_space_destroy(card);
		return err;
	}
	card->fd = fd_above_streams(ends[0]);
	err = card->fd < 0 ? -errno : 0;
	card->fd_end = fd_above_streams(ends[1]);
	err = card->fd_end < 0 ? -errno : err;
	if (err) {
		if (card->fd >= 0)
			close(card->fd);
		if (card->fd_end >= 0)
			close(card->fd_end);
		local_space_destroy(card);
		return err;
	}
	card->pid = getpid();
	card->power_on = (uint64_t)clock_ns();
	pthread_mutex_init(&card->lock, NULL);
	pthread_cond_init(&card->idle, NULL);
	for (unsigned int i = 0; i < VTA_UNITS; i++)
		pthread_cond_init(&card->units[i].wake, NULL);
	for (unsigned int i = 0; i < VTA_UNITS; i++)
		atomic_init(&card->units[i].spin, LOCAL_SPIN_NONE);
	return 0;
}

/* A thread that looks for work must not keep the one that makes it from the only processor. */
static bool has_processors(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

int local_open(const char *which, struct local **out, char *why, size_t size)
{
	struct local *card = calloc(1, sizeof(*card));
	const char *args;
	int err;

	if (!card)
		return -ENOMEM;
	err = plugin_load(which, &card->ops, &args, why, size);
	if (!err)
		err = card->ops->open(args, &card->info, &card->device, why, size);
	if (err) {
		free(card);
		return err;
	}
	complete_info(&card->info);
	card->cores = card->info.cores ? card->info.cores : 1;
	if (card->cores > LOCAL_CORES_MAX)
		card->cores = LOCAL_CORES_MAX;
	card->info.cores = (uint16_t)card->cores;
	card->spins = has_processors();
	err = init(card);
	if (err) {
		card->ops->close(card->device);
		free(card);
		return err;
	}
	*out = card;
	return 0;
}

static void free_card(struct local *card)
{
	for (uint32_t i = 0; i < card->queues_end; i++)
		if (card->queues[i])
			local_queue_free(card->queues[i]);
	if (card->loose.core)
		card->ops->core_free(card->device, card->loose.core);
	local_space_destroy(card);
	card->ops->close(card->device);
	for (unsigned int i = 0; i < VTA_UNITS; i++)
		pthread_cond_destroy(&card->units[i].wake);
	pthread_cond_destroy(&card->idle);
	pthread_mutex_destroy(&card->lock);
	free(card);
}

void local_close(struct local *card)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	close(card->fd);
	if (card->fd_end >= 0)
		close(card->fd_end);
	/* A child has none of the threads, and perhaps a lock that one of them held. */
	if (card->pid == getpid()) {
		pthread_mutex_lock(&card->lock);
		local_engines_stop(card);
		pthread_mutex_unlock(&card->lock);
		free_card(card);
	}
	pthread_setcancelstate(cancel, NULL);
}

/* ---- Requests ---- */

static bool is_lost(struct local *card)
{
	bool lost;

	pthread_mutex_lock(&card->lock);
	lost = card->lost;
	pthread_mutex_unlock(&card->lock);
	return lost;
}

static int tell_info(struct local *card, struct vta_info *info)
{
	*info = card->info;
	local_begin(&card->space);
	info->mem_free = card->info.mem_size - card->space.card_bytes;
	local_end(&card->space);
	return 0;
}

static int tell_lost(struct local *card, struct vta_lost *lost)
{
	bool is = is_lost(card);

	*lost = (struct vta_lost){
		.fate = is ? VTA_FATE_GIVEN_UP : VTA_FATE_NONE,
		.cause = is ? VTA_CAUSE_CARD : VTA_CAUSE_NONE,
	};
	return 0;
}

static int answer(struct local *card, unsigned long request, void *arg)
{
	if (request == VTA_IOCTL_LOST)
		return tell_lost(card, arg);
	/* Freeing succeeds even if the device is lost. */
	if (request == VTA_IOCTL_BUF_FREE)
		return local_buf_free(card, arg);
	if (request == VTA_IOCTL_QUEUE_DESTROY)
		return local_queue_destroy(card, arg);
	if (is_lost(card))
		return -ENODEV;
	switch (request) {
	case VTA_IOCTL_INFO:
		return tell_info(card, arg);
	case VTA_IOCTL_BUF_ALLOC:
		return local_buf_alloc(card, arg);
	case VTA_IOCTL_BUF_PIN:
		return local_buf_pin(card, arg);
	case VTA_IOCTL_BUF_EXPORT:
		return local_buf_export(card, arg);
	case VTA_IOCTL_BUF_IMPORT:
		return local_buf_import(card, arg);
	case VTA_IOCTL_QUEUE_CREATE:
		return local_queue_create(card, arg);
	case VTA_IOCTL_WAIT:
		return local_wait(card, arg);
	case VTA_IOCTL_FAULT:
		return local_queue_fault(card, arg);
	case VTA_IOCTL_QUEUE_EVENT:
		return local_queue_event(card, arg);
	case VTA_IOCTL_QUEUE_RECOVER:
		return local_queue_recover(card, arg);
	default:
		return -ENOTTY;
	}
}

int local_request(struct local *card, unsigned long request, void *arg)
{
	int cancel, ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ret = answer(card, request, arg);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}

void *local_map(uint64_t offset)
{
	return (void *)(uintptr_t)offset;
}

struct local_queue *local_queue(struct local *card, uint32_t handle)
{
	struct local_queue *q;

	pthread_mutex_lock(&card->lock);
	q = local_find(card, handle);
	pthread_mutex_unlock(&card->lock);
	return q;
}

void local_counters(struct local *card, struct vtadev_counters *counters)
{
	pthread_mutex_lock(&card->lock);
	*counters = card->counters;
	pthread_mutex_unlock(&card->lock);
}

uint64_t local_clocks(struct local *card, enum vta_unit unit)
{
	uint64_t clocks;

	pthread_mutex_lock(&card->lock);
	clocks = card->clocks[unit];
	pthread_mutex_unlock(&card->lock);
	return clocks;
}
