// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vta_selftest.h"

/* ---- the card ---- */

static char node_path[64] = "/dev/vta0";

const char *card_node(void)
{
	return node_path;
}

void card_use(const char *node)
{
	snprintf(node_path, sizeof(node_path), "%s", node);
}

const char *card_name(void)
{
	return strrchr(card_node(), '/') + 1;
}

int card_open(void)
{
	int fd = open(card_node(), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int card_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

int card_lost(int fd)
{
	struct vta_lost lost;
	int err;

	SOON((err = card_ioctl(fd, VTA_IOCTL_LOST, &lost)) || lost.fate != VTA_FATE_PENDING);
	return err ? err : (int)LOST(lost.fate, lost.cause);
}

int card_poll(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN | POLLPRI };
	int64_t end = now_ns() + ms * 1000000ll;

	if (poll(&pfd, 1, ms) != 1 || (ms && now_ns() >= end))
		return 0;
	return pfd.revents;
}

const char *card_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/class/vta/%s/%s", card_name(), name);
	return path;
}

const char *card_text(const char *name, char *text, size_t size)
{
	int fd = open(card_path(name), O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

const char *card_last_line(const char *name)
{
	static char line[512];
	FILE *file = fopen(card_path(name), "re");

	line[0] = '\0';
	while (file && fgets(line, sizeof(line), file))
		;
	if (file)
		fclose(file);
	return line;
}

static uint64_t card_number(const char *name, int base)
{
	char text[32];

	return *card_text(name, text, sizeof(text)) ? strtoull(text, NULL, base) : UINT64_MAX;
}

uint64_t card_attr(const char *name)
{
	return card_number(name, 10);
}

uint64_t card_serial(void)
{
	return card_number("serial", 16);
}

int card_choose(const char *serial)
{
	int err = -ENOENT;
	glob_t nodes;

	if (glob("/dev/vta*", 0, NULL, &nodes))
		return err;
	for (size_t i = 0; i < nodes.gl_pathc && err; i++) {
		card_use(nodes.gl_pathv[i]);
		if (card_serial() == strtoull(serial, NULL, 0))
			err = 0;
	}
	globfree(&nodes);
	return err;
}

void card_select(unsigned int n)
{
	snprintf(node_path, sizeof(node_path), "/dev/vta%u", n);
}

uint64_t card_counter(const char *name)
{
	char attr[64];

	snprintf(attr, sizeof(attr), "counters/%s", name);
	return card_attr(attr);
}

uint64_t card_counter_reaches(const char *name, uint64_t value)
{
	uint64_t is;

	SOON((is = card_counter(name)) >= value);
	return is;
}

unsigned int card_vectors(uint64_t counts[CARD_VECTORS])
{
	const char *name = card_name();
	unsigned int found = 0;
	static char line[4096];
	FILE *f = fopen("/proc/interrupts", "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		char *at = strrchr(line, ' ') + 1, *word;
		unsigned long nr;

		if (strncmp(at, name, strlen(name)) || at[strlen(name)] != '-')
			continue;
		at += strlen(name) + 1;
		nr = strncmp(at, "card", 4) ? strtoul(at, NULL, 10) : 0;
		if (nr >= CARD_VECTORS)
			continue;
		counts[nr] = 0;
		word = strchr(line, ':') + 1;
		for (;;) {
			char *end;
			uint64_t count = strtoull(word, &end, 10);

			if (end == word)
				break;
			counts[nr] += count;
			word = end;
		}
		found++;
	}
	fclose(f);
	return found;
}

struct usage card_usage(void)
{
	return (struct usage) {
		.queues = card_attr("queues_used"),
		.contexts = card_attr("contexts_used"),
		.mem_free = card_attr("mem_free"),
	};
}

bool usage_equal(const struct usage *a, const struct usage *b)
{
	return a->queues == b->queues && a->contexts == b->contexts &&
	       a->mem_free == b->mem_free;
}

bool usage_is(const struct usage *expected)
{
	struct usage now = card_usage();

	return usage_equal(expected, &now);
}

bool card_is_unused(void)
{
	return usage_is(&(struct usage) { .mem_free = card_attr("mem_size") });
}

int card_try(void)
{
	struct queue q;
	int fd, err;

	fd = card_open();
	if (fd < 0)
		return fd;
	err = queue_open(fd, &q, NULL);
	if (!err)
		err = queue_do(&q, desc_op(VTA_OP_NOP));
	queue_unmap(&q);	/* it may be lost halfway */
	close(fd);
	return err;
}

int card_reset(void)
{
	return file_write(card_path("reset"), "1");
}

int card_reset_function(void)
{
	return file_write(card_path("device/reset"), "1");
}

int card_pci_address(char *address, size_t size)
{
	char path[256];
	ssize_t len = readlink(card_path("device"), path, sizeof(path) - 1);

	if (len < 0)
		return -errno;
	path[len] = '\0';
	snprintf(address, size, "%s", strrchr(path, '/') + 1);
	return 0;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : write(fd, text, strlen(text));
	int err = len < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

bool kernel_is_before(unsigned int major, unsigned int minor)
{
	unsigned int is_major = 0, is_minor = 0;
	struct utsname name;

	if (!uname(&name))
		sscanf(name.release, "%u.%u", &is_major, &is_minor);
	return is_major < major || (is_major == major && is_minor < minor);
}

int proc_read(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return len < 0 ? -errno : 0;
}

bool proc_is_in(pid_t pid, const char *function)
{
	char stack[4096];

	return !proc_read(pid, "stack", stack, sizeof(stack)) && strstr(stack, function);
}

bool proc_gets_into(pid_t pid, const char *function)
{
	return SOON(proc_is_in(pid, function));
}

bool task_sleeps(pid_t tid)
{
	char file[64], text[512];

	snprintf(file, sizeof(file), "task/%d/stat", tid);
	return !proc_read(getpid(), file, text, sizeof(text)) && strstr(text, ") S ");
}

pid_t child_start(int (*child)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(child(arg));
	return pid < 0 ? -errno : pid;
}

int child_end(pid_t pid)
{
	int status;

	if (pid < 0)
		return pid;
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int child_kill(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -EIO;
}

int in_child(int (*child)(void *arg), void *arg)
{
	return child_end(child_start(child, arg));
}

int slowness(void)
{
	const char *factor = getenv("VTA_SLOWNESS");

	return factor ? atoi(factor) : 1;
}

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

void sleep_ms(unsigned int ms)
{
	usleep(ms * 1000);
}

/* ---- buffers ---- */

int mem_alloc(int fd, struct mem *mem, size_t size, uint32_t flags, uint32_t addr)
{
	struct vta_buf_alloc req = {
		.size = size,
		.addr = addr,
		.flags = flags | (addr ? VTA_BUF_FIXED : 0),
	};
	int err = card_ioctl(fd, VTA_IOCTL_BUF_ALLOC, &req);

	if (err)
		return err;
	*mem = (struct mem) {
		.fd = fd,
		.handle = req.handle,
		.addr = (uint32_t)req.addr,
		.size = req.size,
		.offset = req.mmap_offset,
	};
	mem->ptr = mmap(NULL, mem->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			(off_t)req.mmap_offset);
	return mem->ptr == MAP_FAILED ? -errno : 0;
}

int mem_free(struct mem *mem)
{
	struct vta_buf_free req = { .handle = mem->handle };
	int err = card_ioctl(mem->fd, VTA_IOCTL_BUF_FREE, &req);

	munmap(mem->ptr, mem->size);
	mem->ptr = NULL;
	return err;
}

/* ---- queues ---- */

static size_t ring_size(const struct queue *q)
{
	return q->entries * sizeof(struct vta_desc);
}

int queue_open(int fd, struct queue *q, const struct vta_queue_create *create)
{
	int err;

	memset(q, 0, sizeof(*q));
	q->fd = fd;
	if (create)
		q->create = *create;
	else
		q->create.ring_order = 6;
	err = card_ioctl(fd, VTA_IOCTL_QUEUE_CREATE, &q->create);
	if (err)
		return err;
	q->id = q->create.queue;
	q->entries = 1u << q->create.ring_order;
	q->page = q->create.doorbell_size;
	q->ring = mmap(NULL, ring_size(q), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)q->create.ring_offset);
	q->status = mmap(NULL, q->page, PROT_READ, MAP_SHARED, fd, (off_t)q->create.status_offset);
	q->doorbell = mmap(NULL, q->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   (off_t)q->create.doorbell_offset);
	if (q->ring == MAP_FAILED || (void *)q->status == MAP_FAILED ||
	    (void *)q->doorbell == MAP_FAILED)
		return -errno;
	return 0;
}

void queue_unmap(struct queue *q)
{
	munmap(q->ring, ring_size(q));
	munmap((void *)q->status, q->page);
	munmap((void *)q->doorbell, q->page);
}

int queue_destroy(int fd, uint32_t id)
{
	struct vta_queue_destroy req = { .queue = id };

	return card_ioctl(fd, VTA_IOCTL_QUEUE_DESTROY, &req);
}

int queue_close(struct queue *q)
{
	int err = queue_destroy(q->fd, q->id);

	queue_unmap(q);
	return err;
}

void queue_ring(struct queue *q, uint32_t value)
{
	/* Also drains what was written to card memory, write-combined. */
	__sync_synchronize();
	*q->doorbell = htole32(value);
}

void queue_kick(struct queue *q)
{
	queue_ring(q, (uint32_t)q->submitted);
}

uint64_t queue_submit(struct queue *q, const struct vta_desc *descs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		q->ring[(q->submitted + i) & (q->entries - 1)] = descs[i];
	q->submitted += n;
	queue_kick(q);
	return q->submitted;
}

uint64_t queue_put(struct queue *q, struct vta_desc desc)
{
	return queue_submit(q, &desc, 1);
}

uint64_t queue_hold(struct queue *q, const struct mem *mem, uint64_t value)
{
	return queue_put(q, desc_wait(mem->addr, value));
}

void queue_release(struct queue *q, const struct mem *mem, uint64_t value)
{
	*(volatile uint64_t *)mem->ptr = htole64(value);
	queue_kick(q);
}

uint64_t queue_seq(const struct queue *q)
{
	return le64toh(q->status->status.seq);
}

int queue_wait(const struct queue *q, uint64_t seq, int ms, uint64_t *done)
{
	struct vta_wait req = {
		.queue = q->id,
		.seq = seq,
		.deadline_ns = ms < 0 ? VTA_WAIT_FOREVER : now_ns() + ms * 1000000ll,
	};
	int err = card_ioctl(q->fd, VTA_IOCTL_WAIT, &req);

	if (done)
		*done = req.done;
	if (!err && ms >= 1000 && now_ns() >= req.deadline_ns)
		return -ETIME;
	return err;
}

int queue_do(struct queue *q, struct vta_desc desc)
{
	return queue_wait(q, queue_put(q, desc), PATIENCE_MS, NULL);
}

int queue_fault(const struct queue *q, struct vta_queue_fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	fault->queue = q->id;
	return card_ioctl(q->fd, VTA_IOCTL_FAULT, fault);
}

int queue_recover(struct queue *q)
{
	struct vta_queue_recover arg = { .queue = q->id };
	int err = card_ioctl(q->fd, VTA_IOCTL_QUEUE_RECOVER, &arg);

	if (!err)
		q->submitted = arg.seq;
	return err;
}

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	w->ret = queue_wait(w->q, w->seq, w->ms, &w->done);
	return NULL;
}

int waiter_start(struct waiter *w, const struct queue *q, uint64_t seq, int ms)
{
	w->q = q;
	w->seq = seq;
	w->ms = ms;
	return -pthread_create(&w->thread, NULL, waiter_run, w);
}

int waiter_arm(struct waiter *w, const struct queue *q, uint64_t seq, int ms)
{
	uint64_t armed = card_counter("arms") + 1;
	int err = waiter_start(w, q, seq, ms);

	return err ? err : card_counter_reaches("arms", armed) >= armed ? 0 : -ETIME;
}

int waiter_join(struct waiter *w)
{
	int err = pthread_join(w->thread, NULL);

	return err ? -err : w->ret;
}

/* ---- a file of a process ---- */

int client_open(struct client *c)
{
	int err;

	c->fd = card_open();
	err = c->fd < 0 ? c->fd : queue_open(c->fd, &c->q, NULL);
	return err ? err : mem_alloc(c->fd, &c->mem, 4096, VTA_BUF_HOST, 0);
}

void client_close(struct client *c)
{
	munmap(c->mem.ptr, c->mem.size);
	queue_unmap(&c->q);
	close(c->fd);
}

/* ---- kinds of buffers, counts in /proc, and users ---- */

bool child_holds(bool good, const char *what, const char *file, int line)
{
	if (!good) {
		printf("# %s:%d: does not hold: %s\n", file, line, what);
		fflush(stdout);
	}
	return good;
}

int buf_pin(int fd, void *ptr, uint64_t size, uint32_t flags, struct vta_buf_pin *req)
{
	*req = (struct vta_buf_pin) {
		.user_addr = (uintptr_t)ptr, .size = size, .flags = flags,
	};
	return card_ioctl(fd, VTA_IOCTL_BUF_PIN, req);
}

int buf_export(int fd, uint32_t handle, uint32_t flags)
{
	struct vta_buf_export req = { .handle = handle, .flags = flags, .fd = -1 };
	int err = card_ioctl(fd, VTA_IOCTL_BUF_EXPORT, &req);

	return err ? err : req.fd;
}

int buf_import(int fd, int dmabuf, uint32_t flags, struct vta_buf_import *req)
{
	*req = (struct vta_buf_import) { .fd = dmabuf, .flags = flags };
	return card_ioctl(fd, VTA_IOCTL_BUF_IMPORT, req);
}

int buf_release(int fd, uint32_t handle)
{
	struct vta_buf_free req = { .handle = handle };

	return card_ioctl(fd, VTA_IOCTL_BUF_FREE, &req);
}

/* The number after "NAME:" in a file. */
static uint64_t number_in(const char *path, const char *name)
{
	size_t len = strlen(name);
	FILE *file = fopen(path, "re");
	uint64_t number = UINT64_MAX;
	char line[256];

	if (!file)
		return number;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && line[len] == ':')
			number = strtoull(line + len + 1, NULL, 10);
	fclose(file);
	return number;
}

uint64_t ctx_number(int fd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return number_in(path, name);
}

uint64_t proc_number(const char *file, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/%s", file);
	return number_in(path, name);
}

int become(unsigned int uid)
{
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid) ||
	    prctl(PR_SET_DUMPABLE, 1))	/* or /proc/self would be root's */
		return -errno;
	return 0;
}

union fd_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

int fd_send(int sock, int fd)
{
	union fd_message control = {};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int fd_receive(int sock)
{
	union fd_message control = {};
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -errno;
	if (control.header.cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}
