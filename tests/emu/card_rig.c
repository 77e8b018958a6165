// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "card_rig.h"

#define ARGS_MAX	32

/* ---- The emulator ---- */

static void spawn(struct rig *r, const char *const *args)
{
	const char *path = getenv("VTA_EMU");
	const char *argv[ARGS_MAX] = {
		path ? path : "build/asan/vta-emu", "--socket", r->socket, "--control",
		r->control, "--log-level", "error",
	};
	unsigned int n = 0;

	while (argv[n])
		n++;
	for (; args && *args; args++) {
		assert_true(n + 1 < ARGS_MAX);
		argv[n++] = *args;
	}
	r->pid = fork();
	if (r->pid < 0)
		fail_msg("fork: %s", strerror(errno));
	if (!r->pid) {
		execv(argv[0], (char *const *)argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
}

bool rig_is_emulator(void)
{
	return !getenv("VTA_EMU");
}

void rig_start(struct rig *r, const char *const *args)
{
	memset(r, 0, sizeof(*r));
	strcpy(r->dir, "/tmp/vta-card-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->socket, sizeof(r->socket), "%s/card", r->dir);
	snprintf(r->control, sizeof(r->control), "%s/control", r->dir);
	spawn(r, args);
	vfc_open(&r->c, r->socket, RIG_RAM, RIG_RAM_SIZE);
	rig_ready(r);
	rig_clear_counters(r);
}

static int setup(void **state, const char *const *args)
{
	struct rig *r = malloc(sizeof(*r));

	if (!r)
		return -1;
	rig_start(r, args);
	*state = r;
	return 0;
}

int rig_setup(void **state)
{
	static const char *const args[] = { "--queues", "8", "--mem", "8M", NULL };

	return setup(state, args);
}

int rig_setup_msi(void **state)
{
	static const char *const args[] = {
		"--queues", "8", "--mem", "8M", "--msix", "0", "--msi", "4", NULL
	};

	return setup(state, args);
}

void rig_stop(struct rig *r)
{
	int status;

	vfc_close(&r->c);
	while (waitpid(r->pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* Empty, or it cannot be removed. */
	assert_int_equal(rmdir(r->dir), 0);
}

int rig_teardown(void **state)
{
	rig_stop(*state);
	free(*state);
	return 0;
}

/* ---- Registers ---- */

uint32_t rig_get(struct rig *r, uint32_t off)
{
	return vfc_bar_read32(&r->c, VTA_BAR_REGS, off);
}

uint64_t rig_get64(struct rig *r, uint32_t off)
{
	uint64_t low = rig_get(r, off);

	return low | (uint64_t)rig_get(r, off + 4) << 32;
}

void rig_set(struct rig *r, uint32_t off, uint32_t val)
{
	vfc_bar_write32(&r->c, VTA_BAR_REGS, off, val);
}

void rig_set64(struct rig *r, uint32_t off, uint64_t val)
{
	rig_set(r, off, (uint32_t)val);
	rig_set(r, off + 4, (uint32_t)(val >> 32));
}

void rig_doorbell(struct rig *r, unsigned int queue, uint32_t val)
{
	vfc_bar_write32(&r->c, VTA_BAR_DOORBELLS, (uint64_t)queue << RIG_DB_SHIFT, val);
}

uint64_t rig_counter(struct rig *r, enum vta_counter n)
{
	return vfc_bar_read64(&r->c, VTA_BAR_REGS, REG_COUNTER(n));
}

void rig_clear_counters(struct rig *r)
{
	rig_set(r, REG_COUNTER_CTRL, REG_COUNTER_CTRL_CLEAR);
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void pause_a_little(void)
{
	nanosleep(&(struct timespec) { .tv_nsec = 50000 }, NULL);
}

void rig_await(struct rig *r, uint32_t off, uint32_t mask, uint32_t val)
{
	uint64_t end = now_ms() + RIG_SOON;

	while ((rig_get(r, off) & mask) != val) {
		if (now_ms() > end)
			fail_msg("register %#x is %#x, not %#x in %#x", off, rig_get(r, off), val,
				 mask);
		pause_a_little();
	}
}

void rig_ready(struct rig *r)
{
	rig_await(r, REG_STATUS, REG_STATUS_READY, REG_STATUS_READY);
}

/* ---- Guest memory and page tables ---- */

uint64_t rig_pages(struct rig *r, unsigned int pages)
{
	uint64_t at = RIG_RAM + r->next;

	r->next += (uint64_t)pages * VTA_PAGE_SIZE;
	assert_true(r->next <= RIG_RAM_SIZE);
	return at;
}

uint64_t rig_block(struct rig *r)
{
	const uint64_t size = 1u << VTA_L1_SHIFT;

	r->next = (r->next + size - 1) & -size;
	return rig_pages(r, VTA_L2_ENTRIES);
}

void *rig_at(struct rig *r, uint64_t bus)
{
	return vfc_ptr(&r->c, bus, 1);
}

void rig_context(struct rig *r, unsigned int n)
{
	const uint64_t align = VTA_L1_ENTRIES * sizeof(uint64_t);

	r->next = (r->next + align - 1) & -align;
	r->root[n] = rig_pages(r, (unsigned int)(align / VTA_PAGE_SIZE));
	rig_set64(r, REG_CONTEXT_ROOT_LO(n), r->root[n]);
	rig_set(r, REG_CONTEXT_CTRL(n), REG_CONTEXT_CTRL_ENABLE);
}

uint64_t *rig_l1(struct rig *r, unsigned int n, uint32_t va)
{
	return (uint64_t *)rig_at(r, r->root[n]) + (va >> VTA_L1_SHIFT);
}

uint64_t *rig_l2(struct rig *r, unsigned int n, uint32_t va)
{
	uint64_t *entry = rig_l1(r, n, va);

	if (!*entry)
		*entry = rig_pages(r, 1) | VTA_PTE_VALID;
	return (uint64_t *)rig_at(r, *entry & VTA_PTE_ADDR) +
	       (va >> VTA_L2_SHIFT) % VTA_L2_ENTRIES;
}

void rig_map(struct rig *r, unsigned int n, uint32_t va, uint64_t addr, uint64_t flags)
{
	*rig_l2(r, n, va) = addr | flags;
}

void rig_map_block(struct rig *r, unsigned int n, uint32_t va, uint64_t addr, uint64_t flags)
{
	*rig_l1(r, n, va) = addr | flags | VTA_PTE_BLOCK;
}

void *rig_map_pages(struct rig *r, unsigned int n, uint32_t va, unsigned int pages)
{
	uint64_t at;

	/* The tables first, so that the pages follow each other. */
	for (unsigned int i = 0; i < pages; i++)
		rig_l2(r, n, va + i * VTA_PAGE_SIZE);
	at = rig_pages(r, pages);
	for (unsigned int i = 0; i < pages; i++)
		rig_map(r, n, va + i * VTA_PAGE_SIZE, at + i * VTA_PAGE_SIZE, RIG_RW);
	return rig_at(r, at);
}

void rig_invalidate(struct rig *r, uint32_t what)
{
	rig_set(r, REG_TLB_INVALIDATE, what);
	rig_await(r, REG_TLB_INVALIDATE, REG_TLB_INVALIDATE_BUSY, 0);
}

/* ---- Queues ---- */

void rig_queue(struct rig *r, struct rig_queue *q, unsigned int n, unsigned int context,
	       unsigned int order)
{
	const unsigned int bytes = sizeof(struct vta_desc) << order;
	unsigned int pages = (bytes + VTA_PAGE_SIZE - 1) / VTA_PAGE_SIZE;
	bool again = *rig_l2(r, context, RIG_RING(n));

	*q = (struct rig_queue) {
		.r = r,
		.n = n,
		.context = context,
		.order = order,
		.ring_addr = RIG_RING(n),
	};
	q->ring = rig_map_pages(r, context, q->ring_addr, pages);
	if (again)
		rig_invalidate(r, context);
	/* Not at the start of a page: it need not be. */
	q->status_bus = rig_pages(r, 1) + VTA_STATUS_ALIGN;
	q->page = rig_at(r, q->status_bus);
	rig_set(r, REG_QUEUE_CONTEXT(n), context);
	rig_set(r, REG_QUEUE_RING_ORDER(n), order);
	rig_set(r, REG_QUEUE_RING_ADDR(n), q->ring_addr);
	rig_set(r, REG_QUEUE_VECTOR(n), RIG_VECTOR(n));
	rig_set64(r, REG_QUEUE_STATUS_LO(n), q->status_bus);
	rig_set(r, REG_CONTROL, REG_CONTROL_ENABLE);
}

void rig_queue_start(struct rig_queue *q, uint64_t start)
{
	q->submitted = start;
	rig_set64(q->r, REG_QUEUE_START_LO(q->n), start);
	rig_set(q->r, REG_QUEUE_SUBMITTED(q->n), (uint32_t)start);
	rig_set(q->r, REG_QUEUE_CTRL(q->n), REG_QUEUE_CTRL_ENABLE);
	rig_await(q->r, REG_QUEUE_STATE(q->n), REG_QUEUE_STATE_STATE, VTA_QUEUE_ACTIVE);
	assert_int_equal(q->page->status.state, VTA_QUEUE_ACTIVE);
	assert_int_equal(rig_seq(q), start);
}

void rig_queue_stop(struct rig_queue *q, bool abort)
{
	rig_set(q->r, REG_QUEUE_CTRL(q->n), abort ? REG_QUEUE_CTRL_ABORT : 0);
	rig_await(q->r, REG_QUEUE_STATE(q->n), REG_QUEUE_STATE_STATE | REG_QUEUE_STATE_BUSY,
		  VTA_QUEUE_DISABLED);
	assert_int_equal(q->page->status.state, VTA_QUEUE_DISABLED);
}

uint32_t rig_state(struct rig_queue *q)
{
	return rig_get(q->r, REG_QUEUE_STATE(q->n)) & REG_QUEUE_STATE_STATE;
}

void rig_put(struct rig_queue *q, struct vta_desc desc)
{
	q->ring[q->submitted++ & ((1u << q->order) - 1)] = desc;
}

void rig_submit(struct rig_queue *q)
{
	rig_doorbell(q->r, q->n, (uint32_t)q->submitted);
}

uint64_t rig_seq(struct rig_queue *q)
{
	return __atomic_load_n(&q->page->status.seq, __ATOMIC_ACQUIRE);
}

/* Waits until the queue is at @seq, or halts: then false. */
static bool wait_seq(struct rig_queue *q, uint64_t seq)
{
	uint64_t end = now_ms() + RIG_SOON;

	while ((int64_t)(rig_seq(q) - seq) < 0) {
		if (q->page->status.state == VTA_QUEUE_HALTED)
			return false;
		if (now_ms() > end)
			fail_msg("queue %u is at %llu, not %llu", q->n,
				 (unsigned long long)rig_seq(q), (unsigned long long)seq);
		pause_a_little();
	}
	return true;
}

bool rig_completes(struct rig_queue *q)
{
	return wait_seq(q, q->submitted);
}

void rig_wait_seq(struct rig_queue *q, uint64_t seq)
{
	if (!wait_seq(q, seq))
		fail_msg("queue %u halted at %llu: reason %u, access %u at %#x, insn %d", q->n,
			 (unsigned long long)q->page->fault.seq, q->page->fault.reason,
			 q->page->fault.access, q->page->fault.addr,
			 (int)q->page->fault.insn_index);
}

void rig_settle(struct rig_queue *q)
{
	uint64_t end = now_ms() + RIG_SOON;
	uint64_t seq = rig_seq(q);

	while ((int64_t)(rig_get64(q->r, REG_QUEUE_SEQ_LO(q->n)) - seq) < 0) {
		if (now_ms() > end)
			fail_msg("register SEQ of queue %u is behind %llu", q->n,
				 (unsigned long long)seq);
		pause_a_little();
	}
}

void rig_do(struct rig_queue *q, struct vta_desc desc)
{
	rig_put(q, desc);
	rig_submit(q);
	rig_wait_seq(q, q->submitted);
}

struct vta_desc rig_stamped(struct vta_desc desc, uint32_t addr)
{
	vtadev_desc_stamp(&desc, addr);
	return desc;
}

/* ---- Faults ---- */

struct vta_fault rig_halted(struct rig_queue *q)
{
	struct vta_fault fault;

	rig_await(q->r, REG_QUEUE_STATE(q->n), REG_QUEUE_STATE_STATE, VTA_QUEUE_HALTED);
	assert_int_equal(rig_get(q->r, REG_QUEUE_STATE(q->n)), VTA_QUEUE_HALTED);
	assert_int_equal(q->page->status.state, VTA_QUEUE_HALTED);
	memcpy(&fault, (const void *)&q->page->fault, sizeof(fault));
	assert_int_equal(q->page->status.fault_reason, fault.reason);
	assert_int_equal(fault.seq, rig_seq(q) + 1);
	assert_int_equal(fault.queue, q->n);
	assert_int_equal(fault.context, q->context);
	assert_true(fault.time > 0);
	assert_int_equal(fault.reserved, 0);
	return fault;
}

struct vta_fault rig_fails(struct rig_queue *q, struct vta_desc desc,
			   enum vta_fault_reason reason, enum vta_access access, uint32_t addr)
{
	struct vta_fault fault;

	rig_put(q, desc);
	rig_submit(q);
	fault = rig_halted(q);
	assert_int_equal(fault.reason, reason);
	assert_int_equal(fault.access, access);
	assert_int_equal(fault.addr, addr);
	return fault;
}

/* ---- What the emulator costs ---- */

static FILE *open_account(pid_t pid, const char *task, const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, task, name);
	return fopen(path, "re");
}

static void add_task(struct rig_effort *sum, pid_t pid, const char *task)
{
	unsigned long long ns, n;
	char line[128], what;
	FILE *f = open_account(pid, task, "status");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "State: %c", &what) == 1 && what != 'S')
			sum->awake++;
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1)
			sum->switches += n;
	}
	fclose(f);
	f = open_account(pid, task, "schedstat");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &ns), 1);
	fclose(f);
	sum->ns += ns;
	sum->threads++;
}

struct rig_effort rig_effort(struct rig *r)
{
	struct rig_effort sum = { 0 };
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)r->pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			add_task(&sum, r->pid, entry->d_name);
	}
	closedir(dir);
	return sum;
}

static struct rig_effort effort_after(struct rig *r, unsigned int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000l }, NULL);
	return rig_effort(r);
}

void rig_is_idle(struct rig *r, unsigned int ms)
{
	struct rig_effort before = rig_effort(r), after = effort_after(r, RIG_NEVER);

	/* One that is to run and has no processor for it does not switch, either. */
	for (unsigned int i = 0; i < RIG_SOON / RIG_NEVER &&
	     (after.awake || after.switches != before.switches); i++) {
		before = after;
		after = effort_after(r, RIG_NEVER);
	}
	before = after;
	after = effort_after(r, ms);
	assert_true(after.threads > 1 && after.switches && after.ns);
	assert_int_equal(after.threads, before.threads);
	assert_int_equal(after.switches, before.switches);
	assert_int_equal(after.ns, before.ns);
}

/* ---- The control socket ---- */

void rig_control(struct rig *r, const char *request, char *answer, size_t size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t got = 0;

	assert_true(fd >= 0);
	strcpy(addr.sun_path, r->control);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	for (;;) {
		ssize_t n = recv(fd, answer + got, size - 1 - got, 0);

		assert_true(n >= 0);
		if (!n)
			break;
		got += (size_t)n;
		assert_true(got + 1 < size);
	}
	answer[got] = '\0';
	close(fd);
}
