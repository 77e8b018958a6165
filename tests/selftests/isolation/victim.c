// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../vta_insn.h"
#include "../vta_selftest.h"
#include "victim.h"

/* The upper half of each word of a secret; the lower is its place. */
#define SECRET		0x5ec2e75e00000000ull

/* Elements of a job's result. */
#define RESULT		4

struct purse {
	struct mem host, card;
};

/* The victim's own side. */
struct self {
	struct victim_view *view;
	int fd;
	struct core core;
	struct queue q;
	struct purse secrets, hoard;
	bool hoards;
	uint64_t *pinned;
	struct mem code, fodder, result, copies;
};

/* ---- secrets ---- */

static void secret_write(void *mem, size_t size, uint32_t kind)
{
	uint64_t *words = mem;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = SECRET | kind << 24 | i;
}

static bool secret_intact(const void *mem, size_t size, uint32_t kind)
{
	const volatile uint64_t *words = mem;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		if (words[i] != (SECRET | kind << 24 | i))
			return false;
	return true;
}

unsigned int secrets_in(const void *mem, size_t size)
{
	const volatile uint64_t *words = mem;
	unsigned int n = 0;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		n += (words[i] & ~0xffffffffull) == SECRET;
	return n;
}

size_t nonzero_in(const void *mem, size_t size)
{
	const volatile uint8_t *bytes = mem;
	size_t n = 0, i;

	for (i = 0; i < size; i++)
		n += bytes[i] != 0;
	return n;
}

/* ---- the victim ---- */

__attribute__((format(printf, 2, 3), noreturn))
static void complain(struct self *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(self->view->complaint, sizeof(self->view->complaint), format, args);
	va_end(args);
	_exit(1);
}

#define CHECK(self, err)							\
	do {									\
		int _err = (err);						\
										\
		if (_err)							\
			complain(self, "%s: %s", #err, strerror(-_err));	\
	} while (0)

/* Memory of the victim's own: none if this kernel does not pin. */
static void pin_secret(struct self *self)
{
	struct vta_buf_pin req = {
		.size = SECRET_BYTES,
		.addr = VICTIM_PINNED,
		.flags = VTA_BUF_FIXED,
	};
	int err;

	if (posix_memalign((void **)&self->pinned, 4096, SECRET_BYTES))
		complain(self, "no memory");
	req.user_addr = (uintptr_t)self->pinned;
	secret_write(self->pinned, SECRET_BYTES, 3);
	err = card_ioctl(self->fd, VTA_IOCTL_BUF_PIN, &req);
	if (err && err != -ENOTTY)
		complain(self, "cannot pin: %s", strerror(-err));
	self->view->has_pinned = !err;
}

/* A dma-buf of a secret, which it would give to trusted processes. */
static void export_secret(struct self *self)
{
	struct vta_buf_export req = {
		.handle = self->secrets.card.handle,
		.flags = O_RDWR | O_CLOEXEC,
	};
	int err = card_ioctl(self->fd, VTA_IOCTL_BUF_EXPORT, &req);

	if (err && err != -ENOTTY)
		complain(self, "cannot export: %s", strerror(-err));
	self->view->dma_buf = err ? -1 : req.fd;
}

static void set_up(struct self *self)
{
	struct victim_view *view = self->view;
	struct vta_info info;

	self->fd = card_open();
	if (self->fd < 0)
		complain(self, "cannot open the card: %s", strerror(-self->fd));
	CHECK(self, card_ioctl(self->fd, VTA_IOCTL_INFO, &info));
	self->core = core_of(&info);
	CHECK(self, queue_open(self->fd, &self->q, NULL));
	CHECK(self, mem_alloc(self->fd, &self->secrets.host, SECRET_BYTES, VTA_BUF_HOST,
			      VICTIM_HOST));
	CHECK(self, mem_alloc(self->fd, &self->secrets.card, SECRET_BYTES, VTA_BUF_CARD,
			      VICTIM_CARD));
	CHECK(self, mem_alloc(self->fd, &self->code, 4096, VTA_BUF_HOST, 0));
	CHECK(self, mem_alloc(self->fd, &self->fodder, 1u << info.log_wgt_buff_size,
			      VTA_BUF_HOST, 0));
	CHECK(self, mem_alloc(self->fd, &self->result, 4096, VTA_BUF_HOST, 0));
	CHECK(self, mem_alloc(self->fd, &self->copies, 3 * SECRET_BYTES, VTA_BUF_HOST, 0));
	secret_write(self->secrets.host.ptr, SECRET_BYTES, 1);
	secret_write(self->secrets.card.ptr, SECRET_BYTES, 2);
	memset(self->fodder.ptr, VICTIM_SCRATCH, self->fodder.size);
	pin_secret(self);
	export_secret(self);

	view->host_handle = self->secrets.host.handle;
	view->card_handle = self->secrets.card.handle;
	view->host_offset = self->secrets.host.offset;
	view->card_offset = self->secrets.card.offset;
	view->queue = self->q.id;
	view->ring_addr = self->q.create.ring_addr;
	view->ring_offset = self->q.create.ring_offset;
	view->status_offset = self->q.create.status_offset;
	view->doorbell_offset = self->q.create.doorbell_offset;
}

/* Fills all scratchpads, adds @imm to some accumulators and stores these. */
static unsigned int write_job(struct self *self, int imm)
{
	static const uint32_t word = VICTIM_SCRATCH * 0x01010101u;
	const struct core *c = &self->core;
	/* Micro-op 0 is fodder, too. */
	unsigned int at = word & ((1u << c->log.acc) - 1);
	struct vta_isa_loop loops = {
		.uop_end = 1, .iter_out = RESULT, .iter_in = 1, .dst_factor_out = 1,
	};
	uint32_t fodder = self->fodder.addr;
	struct insn *code = self->code.ptr;
	unsigned int n = 0;

	code[n++] = insn_load(VTA_ISA_UOP, 0, fodder / 4, 1, 1u << c->log.uop);
	code[n++] = insn_load(VTA_ISA_ACC, 0, fodder / c->acc_bytes, 1, 1u << c->log.acc);
	code[n++] = insn_load(VTA_ISA_INP, 0, fodder / c->inp_bytes, 1, 1u << c->log.inp);
	code[n++] = insn_load(VTA_ISA_WGT, 0, fodder / c->wgt_bytes, 1, 1u << c->log.wgt);
	code[n++] = insn_alu(c, VTA_ISA_PUSH_NEXT, VTA_ISA_ADD, imm, &loops);
	code[n++] = insn_move(VTA_ISA_STORE | VTA_ISA_POP_PREV | VTA_ISA_PUSH_PREV, VTA_ISA_OUT, at,
			      self->result.addr / c->inp_bytes, 1, RESULT);
	code[n++] = insn_finish(VTA_ISA_POP_NEXT);
	return n;
}

static void verify(struct self *self, uint8_t result)
{
	const uint8_t *copies = self->copies.ptr;
	const uint8_t *out = self->result.ptr;

	for (unsigned int i = 0; i < RESULT * self->core.inp_bytes; i++)
		if (out[i] != result)
			complain(self, "result %u is %#x, not %#x", i, out[i], result);
	if (!secret_intact(self->secrets.host.ptr, SECRET_BYTES, 1))
		complain(self, "the secret in host memory has changed");
	if (!secret_intact(self->secrets.card.ptr, SECRET_BYTES, 2))
		complain(self, "the secret in card memory has changed");
	if (!secret_intact(self->pinned, SECRET_BYTES, 3))
		complain(self, "the secret in pinned memory has changed");
	for (unsigned int i = 0; i < (self->view->has_pinned ? 3u : 2u); i++)
		if (!secret_intact(copies + i * SECRET_BYTES, SECRET_BYTES, i + 1))
			complain(self, "the card has read another secret %u", i + 1);
	if (self->hoards && (!secret_intact(self->hoard.host.ptr, HOARD_BYTES, 4) ||
			     !secret_intact(self->hoard.card.ptr, HOARD_BYTES, 5)))
		complain(self, "what was hoarded has changed");
}

static void compute(struct self *self)
{
	uint64_t job = self->view->jobs + 1;
	int imm = (int)(job % 64);
	uint32_t to = self->copies.addr;
	struct vta_desc descs[] = {
		desc_run(self->code.addr, write_job(self, imm), 0),
		desc_copy(to, VICTIM_HOST, SECRET_BYTES),
		desc_copy(to + SECRET_BYTES, VICTIM_CARD, SECRET_BYTES),
		desc_op(VTA_OP_NOP),
		desc_signal(self->result.addr + 2048, job),
		desc_wait(self->result.addr + 2048, job),
	};

	if (self->view->has_pinned)
		descs[3] = desc_copy(to + 2 * SECRET_BYTES, VICTIM_PINNED, SECRET_BYTES);
	memset(self->result.ptr, 0, RESULT * self->core.inp_bytes);
	memset(self->copies.ptr, 0, self->copies.size);
	self->view->begun = job;
	queue_submit(&self->q, descs, sizeof(descs) / sizeof(descs[0]));
	CHECK(self, queue_wait(&self->q, self->q.submitted, PATIENCE_MS, NULL));
	if (queue_seq(&self->q) != self->q.submitted)
		complain(self, "more has completed than was submitted");
	verify(self, (uint8_t)(VICTIM_SCRATCH + imm));
	self->view->jobs = job;
}

static void hoard(struct self *self)
{
	CHECK(self, mem_alloc(self->fd, &self->hoard.host, HOARD_BYTES, VTA_BUF_HOST, 0));
	CHECK(self, mem_alloc(self->fd, &self->hoard.card, HOARD_BYTES, VTA_BUF_CARD, 0));
	if (nonzero_in(self->hoard.host.ptr, HOARD_BYTES))
		complain(self, "new host memory is not zero");
	if (nonzero_in(self->hoard.card.ptr, HOARD_BYTES))
		complain(self, "new card memory is not zero");
	secret_write(self->hoard.host.ptr, HOARD_BYTES, 4);
	secret_write(self->hoard.card.ptr, HOARD_BYTES, 5);
	self->hoards = true;
}

static void drop(struct self *self)
{
	self->hoards = false;
	CHECK(self, mem_free(&self->hoard.host));
	CHECK(self, mem_free(&self->hoard.card));
}

__attribute__((noreturn))
static void live(struct victim_view *view)
{
	const pid_t parent = getppid();
	static struct self self;

	self.view = view;
	set_up(&self);
	/* It ends by itself, as the attacker's user may not kill it. */
	while (getppid() == parent) {
		enum victim_order order = view->order;

		if (order == VICTIM_REST)
			sleep_ms(1);
		else
			compute(&self);
		if (order == VICTIM_HOARD && view->done != order)
			hoard(&self);
		else if (order == VICTIM_DROP && view->done != order)
			drop(&self);
		else if (order == VICTIM_STOP)
			_exit(0);
		view->done = order;
	}
	_exit(1);
}

/* ---- the test's side ---- */

static int gone(const struct victim *v)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, v->pid, &info, WEXITED | WNOHANG | WNOWAIT))
		return -errno;
	return info.si_pid ? -ESRCH : 0;
}

/* -ESRCH if the victim has ended, -ETIMEDOUT after a time. */
static int wait_for(const struct victim *v, bool (*reached)(const struct victim *v, uint64_t goal),
		    uint64_t goal)
{
	int64_t end = now_ns() + PATIENCE_MS * 1000000ll;

	while (!reached(v, goal)) {
		int err = gone(v);

		if (err)
			return err;
		if (now_ns() > end)
			return -ETIMEDOUT;
		sleep_ms(1);
	}
	return 0;
}

static bool has_finished(const struct victim *v, uint64_t jobs)
{
	return v->view->jobs >= jobs;
}

static bool has_obeyed(const struct victim *v, uint64_t order)
{
	return v->view->done == order;
}

int victim_progress(struct victim *v, unsigned int jobs)
{
	uint64_t begun = v->view->begun;
	int err = 0;

	/* One by one: each has its own time. */
	for (unsigned int i = 1; i <= jobs && !err; i++)
		err = wait_for(v, has_finished, begun + i);
	return err;
}

int victim_start(struct victim *v, uid_t uid)
{
	v->view = mmap(NULL, sizeof(*v->view), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (v->view == MAP_FAILED)
		return -errno;
	v->pid = fork();
	if (v->pid < 0)
		return -errno;
	if (!v->pid) {
		if (!geteuid() && (setgroups(0, NULL) || setresgid(uid, uid, uid) ||
				   setresuid(uid, uid, uid)))
			_exit(2);
		live(v->view);
	}
	return victim_progress(v, 1);
}

int victim_order(struct victim *v, enum victim_order order)
{
	int err;

	/* One after the other: the same order again is a new one. */
	v->view->order = VICTIM_COMPUTE;
	err = wait_for(v, has_obeyed, VICTIM_COMPUTE);
	if (err)
		return err;
	v->view->order = order;
	return wait_for(v, has_obeyed, order);
}

const char *victim_stop(struct victim *v)
{
	/* Longer than it takes to find that itself. */
	int64_t end = now_ns() + (PATIENCE_MS + 5000) * 1000000ll;
	int status;

	v->view->order = VICTIM_STOP;
	while (!gone(v)) {
		if (now_ns() > end)
			return "the victim is stuck";
		sleep_ms(1);
	}
	if (waitpid(v->pid, &status, 0) != v->pid)
		return "the victim is lost";
	if (v->view->complaint[0])
		return v->view->complaint;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? "intact" : "the victim was killed";
}
