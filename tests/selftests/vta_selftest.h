/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_selftest.h - shared by all tests: /dev/vtaN by its bare ioctls
 *
 * Of libvtadev there is only the header of descriptors, so that the interface itself is tested.
 * Functions return 0 or a value on success and a negative errno on failure.
 */
#ifndef VTA_SELFTEST_H
#define VTA_SELFTEST_H

#include <endian.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "vta.h"
#include "vtadev_desc.h"

/*
 * The one factor of all time-outs: VTA_SLOWNESS of the environment, which run.sh sets for a card
 * that is simulated in gates; else 1.
 */
int slowness(void);
/* Longer than anything takes, also under emulation on a busy machine. */
#define PATIENCE_MS	(20000 * slowness())
/* Waits until @is_so is true, and returns its last value. */
#define SOON(is_so) ({								\
	int64_t _end = now_ns() + PATIENCE_MS * 1000000ll;			\
	bool _is_so = (is_so);							\
										\
	while (!_is_so && now_ns() < _end) {					\
		sleep_ms(1);							\
		_is_so = (is_so);						\
	}									\
	_is_so;									\
})

#define PARAMETERS	"/sys/module/vta/parameters/"
#define DRIVER		"/sys/bus/pci/drivers/vta/"

/* ---- the card ---- */

/* The node under test: /dev/vta0, or the last one that card_use() was given. */
const char *card_node(void);
void card_use(const char *node);
/* Its name in sysfs: vta0. */
const char *card_name(void);
/* Makes the card with that serial number the one under test, or /dev/vta@n. */
int card_choose(const char *serial);
void card_select(unsigned int n);
int card_open(void);
int card_ioctl(int fd, unsigned long request, void *arg);

/*
 * The events of poll(): POLLIN, POLLPRI, and those that cannot be masked. 0 also if it returned
 * after @ms: then the kernel has lost the wake-up, and found the event at the end.
 */
int card_poll(int fd, int ms);

/*
 * Why the file has lost its card, once it is known: LOST(VTA_FATE_RESET,
 * VTA_CAUSE_ADMIN); 0 if it has not.
 */
#define LOST(fate, cause)	((fate) << 8 | (cause))
int card_lost(int fd);

/* Its files in sysfs: the path, until the next call; the text of a file without the newline. */
const char *card_path(const char *name);
const char *card_text(const char *name, char *text, size_t size);
/* The last line of a file, with the newline. */
const char *card_last_line(const char *name);
/* Numbers from sysfs; UINT64_MAX if there is no such file. */
uint64_t card_attr(const char *name);
uint64_t card_serial(void);
uint64_t card_counter(const char *name);
/* Waits until it is @value at least, and returns what it is then or at the end. */
uint64_t card_counter_reaches(const char *name, uint64_t value);

/*
 * Counts the interrupts of each of the card's vectors by /proc/interrupts; the card's own vector
 * is 0. Returns the number of its vectors.
 */
enum { CARD_VECTORS = 257 };
unsigned int card_vectors(uint64_t counts[CARD_VECTORS]);

/* Resources of the card in use, to be the same before and after. */
struct usage {
	uint64_t queues;
	uint64_t contexts;
	uint64_t mem_free;
};

struct usage card_usage(void);
bool usage_equal(const struct usage *a, const struct usage *b);
bool usage_is(const struct usage *expected);
/* No file has a queue, a context or memory of the card. */
bool card_is_unused(void);

/* 0 if a new open of the card can make a queue and complete a descriptor. */
int card_try(void);
/* Resets it as an administrator does, or behind the driver's back as a PCI function. */
int card_reset(void);
int card_reset_function(void);

/* Address of the card under test, as 0000:01:00.0. */
int card_pci_address(char *address, size_t size);
int file_write(const char *path, const char *text);

/* Returns true if the kernel that runs is older. */
bool kernel_is_before(unsigned int major, unsigned int minor);

/* A file of /proc/PID, as text; whether that process is in a function of the kernel. */
int proc_read(pid_t pid, const char *file, char *text, size_t size);
bool proc_is_in(pid_t pid, const char *function);
/* Waits until it is. */
bool proc_gets_into(pid_t pid, const char *function);
/* A thread of this process sleeps. */
bool task_sleeps(pid_t tid);

/* Run @child in a process; its result, 0 to 255, or -EINTR if a signal ended it. */
int in_child(int (*child)(void *arg), void *arg);
pid_t child_start(int (*child)(void *arg), void *arg);
int child_end(pid_t pid);
/* Kill it; 0 if that ended it. */
int child_kill(pid_t pid);

int64_t now_ns(void);
void sleep_ms(unsigned int ms);

/* ---- buffers ---- */

struct mem {
	int fd;
	uint32_t handle;
	uint32_t addr;
	size_t size;
	uint64_t offset;
	void *ptr;
};

/* Allocates and maps. @addr: where, or 0 for anywhere. */
int mem_alloc(int fd, struct mem *mem, size_t size, uint32_t flags, uint32_t addr);
int mem_free(struct mem *mem);

/* ---- queues ---- */

struct queue {
	int fd;
	uint32_t id;
	uint32_t entries;
	uint32_t page;
	uint64_t submitted;
	struct vta_queue_create create;
	struct vta_desc *ring;
	const volatile struct vta_status_page *status;
	volatile uint32_t *doorbell;
};

/* Creates a queue by @create (NULL: 64 descriptors) and maps all of it. */
int queue_open(int fd, struct queue *q, const struct vta_queue_create *create);
void queue_unmap(struct queue *q);
int queue_close(struct queue *q);
int queue_destroy(int fd, uint32_t id);		/* without unmapping it */

/* Puts descriptors into the ring, which must have room; rings the doorbell. */
uint64_t queue_submit(struct queue *q, const struct vta_desc *descs, unsigned int n);
uint64_t queue_put(struct queue *q, struct vta_desc desc);	/* one descriptor */
void queue_kick(struct queue *q);
void queue_ring(struct queue *q, uint32_t value);
/* Submit a WAIT until the first word of @mem is at least @value; set the word. */
uint64_t queue_hold(struct queue *q, const struct mem *mem, uint64_t value);
void queue_release(struct queue *q, const struct mem *mem, uint64_t value);
uint64_t queue_seq(const struct queue *q);

/*
 * @ms from now; negative: as long as it takes. @done may be NULL. -ETIME if
 * the wait succeeded only after @ms, which were a second or more: the kernel has lost its wake-up.
 */
int queue_wait(const struct queue *q, uint64_t seq, int ms, uint64_t *done);
/* Submits one and waits. */
int queue_do(struct queue *q, struct vta_desc desc);
int queue_fault(const struct queue *q, struct vta_queue_fault *fault);
/* Continues after the fault; descriptors submitted after it are dropped. */
int queue_recover(struct queue *q);

/* A wait in a thread of its own. */
struct waiter {
	pthread_t thread;
	const struct queue *q;
	uint64_t seq;
	int ms;
	int ret;
	uint64_t done;
};

int waiter_start(struct waiter *w, const struct queue *q, uint64_t seq, int ms);
/* Return when the card has been armed for it, too; -ETIME if it is not. */
int waiter_arm(struct waiter *w, const struct queue *q, uint64_t seq, int ms);
/* Returns what the wait did. */
int waiter_join(struct waiter *w);

/* ---- a file of a process ---- */

/* An open card with a queue, and a page of host memory. */
struct client {
	int fd;
	struct queue q;
	struct mem mem;
};

int client_open(struct client *c);
void client_close(struct client *c);

/* ---- kinds of buffers, counts in /proc, and users ---- */

#define MIB		(1ull << 20)

/* For a child process: prints a condition that does not hold, and its place. */
#define HOLDS(what)	child_holds(what, #what, __FILE__, __LINE__)
/* The same; it ends the process, with 1. */
#define MUST(what)	do { if (!HOLDS(what)) _exit(1); } while (0)
bool child_holds(bool good, const char *what, const char *file, int line);

/* An unprivileged user without resources. */
#define NOBODY		65534

/* Buffers by their bare ioctls. */
int buf_pin(int fd, void *ptr, uint64_t size, uint32_t flags, struct vta_buf_pin *req);
int buf_export(int fd, uint32_t handle, uint32_t flags);
int buf_import(int fd, int dmabuf, uint32_t flags, struct vta_buf_import *req);
int buf_release(int fd, uint32_t handle);

/* A number of /proc/self/fdinfo; UINT64_MAX if it is not there. */
uint64_t ctx_number(int fd, const char *name);
/* A number of a file in /proc/self, often in kB. */
uint64_t proc_number(const char *file, const char *name);

/* Becomes @uid for good, without capabilities. */
int become(unsigned int uid);

/* Hands a descriptor to another process, and takes one. */
int fd_send(int sock, int fd);
int fd_receive(int sock);

/* ---- descriptors (vtadev_desc.h) ---- */

#define desc_op		vtadev_desc_op
#define desc_run	vtadev_desc_run
#define desc_copy	vtadev_desc_copy
#define desc_copy2d	vtadev_desc_copy2d
#define desc_fill	vtadev_desc_fill
#define desc_fill2d	vtadev_desc_fill2d
#define desc_signal	vtadev_desc_signal
#define desc_wait	vtadev_desc_wait

static inline struct vta_desc desc_stamp(struct vta_desc desc, uint32_t addr)
{
	vtadev_desc_stamp(&desc, addr);
	return desc;
}

#endif /* VTA_SELFTEST_H */
