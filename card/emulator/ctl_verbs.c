// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests of the control socket, each a function.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/counters.h"
#include "ctl.h"
#include "memcpy_time.h"

#define CFG_COMMAND	0x04

typedef struct json_object json;

static void put_str(json *to, const char *key, const char *val)
{
	json_object_object_add(to, key, json_object_new_string(val));
}

static void put_num(json *to, const char *key, uint64_t val)
{
	json_object_object_add(to, key, json_object_new_uint64(val));
}

static void put_bool(json *to, const char *key, bool val)
{
	json_object_object_add(to, key, json_object_new_boolean(val));
}

/* A queue's number, or null for none. */
static void put_queue(json *to, const char *key, int n)
{
	json_object_object_add(to, key, n < 0 ? NULL : json_object_new_int(n));
}

/* ---- Verbs: each adds to the reply; args end with NULL ---- */

static void do_counters(const struct ctl_target *target, char **args, json *reply)
{
	json *counters = json_object_new_object();

	(void)args;
	for (unsigned int i = 0; i < VTA_COUNTERS; i++)
		put_num(counters, counter_name(i), card_counter(target->card, i));
	json_object_object_add(reply, "counters", counters);
}

static void do_clear(const struct ctl_target *target, char **args, json *reply)
{
	(void)args;
	(void)reply;
	card_counters_clear(target->card);
}

static json *pci_state(struct pci_cfg *pci)
{
	json *to = json_object_new_object();
	uint8_t command[2];

	pci_cfg_read(pci, CFG_COMMAND, command, sizeof(command));
	put_num(to, "command", command[0] | command[1] << 8);
	put_str(to, "power", pci_power(pci) == PCI_D0 ? "D0" : "D3hot");
	put_bool(to, "may_dma", pci_may_dma(pci));
	put_bool(to, "msix", pci_msix_enabled(pci));
	put_num(to, "msi", pci_msi_granted(pci));
	return to;
}

static json *queue_state(struct card *card, unsigned int n)
{
	static const char *const states[] = {
		[VTA_QUEUE_DISABLED]	= "disabled",
		[VTA_QUEUE_ACTIVE]	= "active",
		[VTA_QUEUE_HALTED]	= "halted",
	};
	static const char *const phases[] = {
		[CARD_PHASE_IDLE]	= "idle",
		[CARD_PHASE_READY]	= "ready",
		[CARD_PHASE_EXECUTING]	= "executing",
		[CARD_PHASE_WAITING]	= "waiting",
	};
	struct card_queue_info info;
	json *to;

	card_queue_info(card, n, &info);
	if (info.state == VTA_QUEUE_DISABLED && !info.busy)
		return NULL;
	to = json_object_new_object();
	put_num(to, "queue", n);
	put_str(to, "state", states[info.state]);
	put_str(to, "phase", phases[info.phase]);
	put_bool(to, "busy", info.busy);
	put_bool(to, "armed", info.armed);
	put_num(to, "priority", info.priority);
	put_num(to, "context", info.context);
	put_num(to, "group", info.group);
	put_num(to, "vector", info.vector);
	put_num(to, "seq", info.seq);
	put_num(to, "submitted", info.submitted);
	put_num(to, "fault_reason", info.fault);
	return to;
}

static void do_state(const struct ctl_target *target, char **args, json *reply)
{
	json *queues = json_object_new_array(), *contexts = json_object_new_array();
	struct card_info info;

	(void)args;
	card_info(target->card, &info);
	put_bool(reply, "ready", info.ready);
	put_bool(reply, "fatal", info.fatal);
	put_bool(reply, "enabled", info.enabled);
	put_bool(reply, "bus", info.bus);
	put_num(reply, "generation", info.generation);
	put_num(reply, "event", info.event);
	put_num(reply, "time", info.time);
	put_queue(reply, "compute_queue", info.compute_queue);
	put_queue(reply, "copy_queue", info.copy_queue);
	json_object_object_add(reply, "pci", pci_state(target->pci));

	/* Those that are in use. */
	for (unsigned int i = 0; i < info.config.queues; i++) {
		json *queue = queue_state(target->card, i);

		if (queue)
			json_object_array_add(queues, queue);
	}
	json_object_object_add(reply, "queues", queues);
	for (unsigned int i = 0; i < info.config.contexts; i++) {
		uint64_t root;
		json *context;

		if (!card_context_info(target->card, i, &root))
			continue;
		context = json_object_new_object();
		put_num(context, "context", i);
		put_num(context, "root", root);
		json_object_array_add(contexts, context);
	}
	json_object_object_add(reply, "contexts", contexts);
}

static void fail(json *reply, const char *text)
{
	put_bool(reply, "ok", false);
	put_str(reply, "error", text);
}

static void put_times(json *reply, double least, double median)
{
	json_object_object_add(reply, "least_ns", json_object_new_double(least));
	json_object_object_add(reply, "median_ns", json_object_new_double(median));
}

/* Keeps the server's thread, and with it register accesses, waiting. */
static void do_memcpy(const struct ctl_target *target, char **args, json *reply)
{
	unsigned long bytes;
	double least, median;
	char *end;

	(void)target;
	bytes = strtoul(args[0], &end, 10);
	if (*args[0] < '0' || *args[0] > '9' || *end || !bytes || bytes > MEMCPY_TIME_MAX)
		fail(reply, "memcpy needs a number of bytes from 1 to 67108864");
	else if (memcpy_time(bytes, &least, &median))
		fail(reply, "no memory");
	else
		put_times(reply, least, median);
}

/* The same with the very bytes that a COPY moves. */
static void do_memcpy_of(const struct ctl_target *target, char **args, json *reply)
{
	/* Rows of pages that begin in the midst of one, on both sides. */
	const size_t max = 2 * (MEMCPY_TIME_MAX / VTA_PAGE_SIZE + 1);
	struct mmu_piece *pieces;
	struct card_copy copy;
	double least, median;
	int missing = 0;
	size_t count;
	char more;

	if (sscanf(args[0], "%" SCNu32 ",%" SCNx32 ",%" SCNx32 ",%" SCNu32 "%c", &copy.context,
		   &copy.dst, &copy.src, &copy.bytes, &more) != 4 ||
	    copy.context >= VTA_CONTEXTS_MAX || !copy.bytes || copy.bytes > MEMCPY_TIME_MAX) {
		fail(reply, "memcpy-of needs CONTEXT,DST,SRC,BYTES, bytes from 1 to 67108864");
		return;
	}
	pieces = calloc(max, sizeof(*pieces));
	if (!pieces) {
		fail(reply, "no memory");
		return;
	}
	count = card_copy_pieces(target->card, &copy, pieces, max);
	if (count) {
		vfu_dma_begin(vfu_get_dma(target->srv));
		memcpy_pieces_time(pieces, count, copy.bytes, &least, &median);
		missing = vfu_dma_end(vfu_get_dma(target->srv));
	}
	if (count && !missing) {
		put_times(reply, least, median);
		put_num(reply, "pieces", count);
	} else {
		fail(reply, "such a copy would fault, or bus mastering is off");
	}
	free(pieces);
}

static void put_injected(json *injected, const struct inject *inject, enum inject_kind kind)
{
	const uint64_t count = atomic_load(&inject->kinds[kind].count);
	json *to;

	if (!inject_on(inject, kind) && !count)
		return;
	to = json_object_new_object();
	put_bool(to, "on", inject_on(inject, kind));
	put_num(to, "count", count);
	json_object_object_add(injected, inject_name(kind), to);
}

static void do_injected(const struct ctl_target *target, char **args, json *reply)
{
	json *injected = json_object_new_object();

	(void)args;
	for (unsigned int i = 0; i < INJECT_KINDS; i++)
		put_injected(injected, card_inject(target->card), i);
	json_object_object_add(reply, "injected", injected);
}

static void do_kinds(const struct ctl_target *target, char **args, json *reply)
{
	json *to = json_object_new_object();

	(void)target;
	(void)args;
	for (unsigned int i = 0; i < INJECT_KINDS; i++)
		if (inject_can(i))
			put_str(to, inject_name(i), inject_help(i));
	json_object_object_add(reply, "kinds", to);
}

static void do_inject(const struct ctl_target *target, char **args, json *reply)
{
	struct inject_order order;
	const char *error;

	if (!strcmp(args[0], "clear") && !args[1]) {
		inject_clear(target->card);
		vfu_set_absence(target->srv, PCI_PRESENT);
		return;
	}
	error = inject_parse(&order, args[0], args[1]);
	if (error) {
		fail(reply, error);
		return;
	}
	inject_start(target->card, &order);
	if (order.kind == INJECT_GONE)
		vfu_set_absence(target->srv, PCI_ABSENT);
	else if (order.kind == INJECT_CONFIG_GONE)
		vfu_set_absence(target->srv, PCI_NO_CONFIG);
}

static void do_help(const struct ctl_target *target, char **args, json *reply);

#define ARGS_MAX	2

static const struct verb {
	const char *name;
	const char *help;
	void (*fn)(const struct ctl_target *target, char **args, json *reply);
	unsigned int args_min;
	unsigned int args_max;
} verbs[] = {
	{ "counters",	"all debug counters, by name", do_counters, 0, 0 },
	{ "clear",	"set them all to zero", do_clear, 0, 0 },
	{ "state",	"the card, its engines, the queues and contexts in use", do_state, 0, 0 },
	{ "memcpy",	"BYTES: how many ns such a memcpy takes the emulator", do_memcpy, 1, 1 },
	{ "memcpy-of",	"CONTEXT,DST,SRC,BYTES: the same of the bytes that a COPY would move",
	  do_memcpy_of, 1, 1 },
	{ "inject",	"KIND[=VALUE][@QUEUE][+SKIP] [TIMES]: break the contract so; or clear",
	  do_inject, 1, 2 },
	{ "kinds",	"what can be injected", do_kinds, 0, 0 },
	{ "injected",	"what is on, and how often it has happened", do_injected, 0, 0 },
	{ "help",	"this", do_help, 0, 0 },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static void do_help(const struct ctl_target *target, char **args, json *reply)
{
	json *help = json_object_new_object();

	(void)target;
	(void)args;
	for (unsigned int i = 0; i < VERBS; i++)
		put_str(help, verbs[i].name, verbs[i].help);
	json_object_object_add(reply, "verbs", help);
}

/* ---- Requests ---- */

json *ctl_error(const char *text)
{
	json *reply = json_object_new_object();

	put_bool(reply, "ok", false);
	put_str(reply, "error", text);
	return reply;
}

/* Splits a line into words. Returns their number; ARGS_MAX + 1 means too many. */
static unsigned int split_words(char **args, char **save)
{
	unsigned int n = 0;

	while (n <= ARGS_MAX) {
		args[n] = strtok_r(NULL, " \t\r", save);
		if (!args[n])
			break;
		n++;
	}
	return n;
}

static const char *check_args(const struct verb *verb, unsigned int n)
{
	if (n < verb->args_min)
		return "this request takes an argument";
	if (n <= verb->args_max)
		return NULL;
	if (verb->args_max > 1)
		return "this request takes fewer arguments";
	return verb->args_max ? "this request takes one argument" :
				"this request takes no arguments";
}

json *ctl_answer(const struct ctl_target *target, char *line)
{
	char *save, *name = strtok_r(line, " \t\r", &save);
	char *args[ARGS_MAX + 2] = { NULL };
	const char *error;
	json *reply;

	for (unsigned int i = 0; name && i < VERBS; i++) {
		if (strcmp(name, verbs[i].name))
			continue;
		error = check_args(&verbs[i], split_words(args, &save));
		if (error)
			return ctl_error(error);
		reply = json_object_new_object();
		put_bool(reply, "ok", true);
		verbs[i].fn(target, args, reply);
		return reply;
	}
	return ctl_error("no such request, try help");
}
