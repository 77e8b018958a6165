// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wall.h"

#define ATTACKER_UID	4001
#define VICTIM_UID	4002

/* A node that anyone may open, for as long as the test lasts. */
static int make_node(struct wall *w)
{
	const char *name = strrchr(card_node(), '/');
	struct stat st;
	char path[64];

	strcpy(w->dir, "/tmp/vta-wall.XXXXXX");
	if (stat(card_node(), &st) || !mkdtemp(w->dir))
		return -errno;
	snprintf(path, sizeof(path), "%s%s", w->dir, name);
	if (mknod(path, S_IFCHR | 0600, st.st_rdev) || chmod(path, 0666) || chmod(w->dir, 0755) ||
	    chown(w->dir, ATTACKER_UID, ATTACKER_UID))
		return -errno;
	card_use(path);
	return 0;
}

/* The default limit since Linux 5.16. */
#define MEMLOCK_BYTES	(8u << 20)

static int drop_privileges(void)
{
	const struct rlimit limit = { MEMLOCK_BYTES, MEMLOCK_BYTES };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) ||
	    setresgid(ATTACKER_UID, ATTACKER_UID, ATTACKER_UID) ||
	    setresuid(ATTACKER_UID, ATTACKER_UID, ATTACKER_UID) ||
	    prctl(PR_SET_DUMPABLE, 1))	/* or /proc/self would be root's */
		return -errno;
	return 0;
}

int wall_up(struct wall *w)
{
	int err = 0;

	memset(w, 0, sizeof(*w));
	if (!geteuid())
		err = make_node(w);
	if (err)
		return err;
	w->resets = card_counter("resets");
	err = victim_start(&w->victim, VICTIM_UID);
	if (!err && !geteuid())
		err = drop_privileges();
	if (err)
		return err;

	w->fd = card_open();
	if (w->fd < 0)
		return w->fd;
	err = card_ioctl(w->fd, VTA_IOCTL_INFO, &w->info);
	w->core = core_of(&w->info);
	err = err ?: queue_open(w->fd, &w->q, NULL);
	err = err ?: mem_alloc(w->fd, &w->rw, OWN_SIZE, VTA_BUF_HOST, OWN_RW);
	err = err ?: mem_alloc(w->fd, &w->ro, OWN_SIZE, VTA_BUF_READONLY, OWN_RO);
	err = err ?: mem_alloc(w->fd, &w->code, OWN_SIZE, VTA_BUF_HOST, OWN_CODE);
	wall_note(w);
	return err;
}

const char *wall_down(struct wall *w)
{
	int progress = victim_progress(&w->victim, 2);
	const char *verdict = victim_stop(&w->victim);
	const char *secret = "intact";

	if (w->rw.ptr && (secrets_in(w->rw.ptr, w->rw.size) ||
			  secrets_in(w->code.ptr, w->code.size)))
		secret = "the attacker has a secret";
	if (w->dir[0]) {
		unlink(card_node());
		rmdir(w->dir);
	}
	if (progress || strcmp(verdict, "intact"))
		return verdict;
	if (card_counter("resets") != w->resets)
		return "the card was reset";
	return secret;
}

int wall_new_queue(struct wall *w)
{
	return queue_close(&w->q) ?: queue_open(w->fd, &w->q, NULL);
}

struct holding holding_of(int fd)
{
	return (struct holding) {
		.context = ctx_number(fd, "vta-context"),
		.host_bytes = ctx_number(fd, "vta-host-bytes"),
		.card_bytes = ctx_number(fd, "vta-card-bytes"),
		.pinned_bytes = ctx_number(fd, "vta-pinned-bytes"),
		.imported_bytes = ctx_number(fd, "vta-imported-bytes"),
		.queues = ctx_number(fd, "vta-queues"),
	};
}

void wall_note(struct wall *w)
{
	w->before = holding_of(w->fd);
	w->usage = card_usage();
}

bool wall_nothing_taken(const struct wall *w)
{
	struct holding now = holding_of(w->fd);

	return !memcmp(&now, &w->before, sizeof(now)) && usage_is(&w->usage);
}

struct vta_desc wall_stream(struct wall *w, struct insn insn)
{
	*(struct insn *)w->code.ptr = insn;
	return desc_run(w->code.addr, 1, 0);
}

/* ---- the fault record ---- */

struct entry {
	const char *name;
	uint64_t is, should;
};

static const char *first_difference(const struct entry *entries, size_t n)
{
	static char text[96];

	for (size_t i = 0; i < n; i++) {
		if (entries[i].is == entries[i].should)
			continue;
		snprintf(text, sizeof(text), "%s is %#llx, not %#llx", entries[i].name,
			 (unsigned long long)entries[i].is, (unsigned long long)entries[i].should);
		return text;
	}
	return "blamed";
}

const char *wall_attack(int fd, struct queue *q, struct vta_desc desc, const struct blame *blame)
{
	const volatile struct vta_fault *card = &q->status->fault;
	uint32_t index = blame->in_stream ? 0 : VTA_FAULT_NO_INSN;
	struct vta_queue_fault fault;
	int ret = queue_do(q, desc);
	int err = queue_fault(q, &fault);
	const struct entry entries[] = {
		{ "result of the wait", -ret, EIO },
		{ "result of FAULT", -err, 0 },
		{ "reason", fault.reason, blame->reason },
		{ "access", fault.access, blame->access },
		{ "address", fault.addr, blame->addr },
		{ "number", fault.seq, q->submitted },
		{ "instruction", fault.insn_index, index },
		{ "queue", fault.queue, q->id },
		{ "state", le32toh(q->status->status.state), VTA_QUEUE_HALTED },
		{ "card's reason", le32toh(card->reason), blame->reason },
		{ "card's access", le32toh(card->access), blame->access },
		{ "card's address", le32toh(card->addr), blame->addr },
		{ "card's number", le64toh(card->seq), q->submitted },
		{ "card's instruction", le32toh(card->insn_index), index },
		{ "card's queue", le32toh(card->queue), q->id },
		{ "card's context", le32toh(card->context), holding_of(fd).context },
	};

	return first_difference(entries, sizeof(entries) / sizeof(entries[0]));
}
