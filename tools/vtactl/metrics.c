// SPDX-License-Identifier: GPL-2.0-only
/*
 * metrics.c - metrics of cards
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "metrics.h"

/* The unit of a number in the status; metrics are in seconds and hertz. */
enum unit { PLAIN, NANOSECONDS, KILOHERTZ };

/* A number of a card's status; rows of one name follow each other and differ by a label. */
struct metric {
	const char *name;
	const char *type;
	const char *help;
	const char *group;	/* of the status, or NULL */
	const char *key;
	enum unit unit;
	const char *engine;	/* the value of this label, or NULL */
};

#define GAUGE(name, group, key, help) \
	{ name, "gauge", help, group, key, PLAIN, NULL }
#define COUNTER(name, group, key, help) \
	{ name, "counter", help, group, key, PLAIN, NULL }
#define BUSY(key, engine) \
	{ "vta_engine_busy_seconds_total", "counter", \
	  "Card time in which an engine has executed descriptors that have completed.", \
	  "usage", key, NANOSECONDS, engine }

static const struct metric metrics[] = {
	{ "vta_clock_hertz", "gauge", "Clock of the engines.", NULL, "clock_khz", KILOHERTZ, NULL },
	GAUGE("vta_temperature_celsius", NULL, "temperature",
	      "Temperature of the hottest place measured."),
	GAUGE("vta_power_watts", NULL, "power", "Power that the card takes."),
	GAUGE("vta_memory_size_bytes", "memory", "size", "Card memory."),
	GAUGE("vta_memory_free_bytes", "memory", "free",
	      "Card memory that neither buffers nor dma-bufs have."),
	GAUGE("vta_host_memory_bytes", "memory", "host",
	      "Host memory in buffers, rings and status pages."),
	GAUGE("vta_pinned_memory_bytes", "memory", "pinned",
	      "Memory of processes that is pinned for the card."),
	GAUGE("vta_page_table_bytes", "memory", "page_tables", "Host memory in page tables."),
	GAUGE("vta_queues", "queues", "total", "Queues that the card has."),
	GAUGE("vta_queues_used", "queues", "used", "Queues in use."),
	GAUGE("vta_contexts", "contexts", "total",
	      "Contexts that the card has: files that can be open."),
	GAUGE("vta_contexts_used", "contexts", "used", "Contexts in use."),
	BUSY("run_ns", "compute"),
	BUSY("copy_ns", "copy"),
	COUNTER("vta_descriptors_total", "usage", "descriptors", "Descriptors completed."),
	COUNTER("vta_launches_total", "usage", "runs", "RUN descriptors completed."),
	COUNTER("vta_copies_total", "usage", "copies", "COPY and FILL descriptors completed."),
	COUNTER("vta_compute_cycles_total", "usage", "cycles", "Compute cycles of completed RUNs."),
	COUNTER("vta_throttled_calls_total", NULL, "throttled",
		"Calls that had to wait because the queues of their user fault too often."),
	COUNTER("vta_faults_total", "counters", "faults",
		"Queues that the card has halted; unknown while the card sleeps."),
	COUNTER("vta_resets_total", NULL, "generation", "Resets since the driver took the card."),
	COUNTER("vta_queue_aborts_total", "recovery", "queue_aborts", "Queues that were aborted."),
	COUNTER("vta_soft_resets_total", "recovery", "soft_resets", "Soft resets."),
	COUNTER("vta_function_resets_total", "recovery", "function_resets",
		"Function Level Resets."),
	COUNTER("vta_given_up_total", "recovery", "given_up", "Times that the card was given up."),
	COUNTER("vta_lost_interrupts_total", "recovery", "lost_interrupts",
		"Completions that the watchdog found without an interrupt."),
	COUNTER("vta_interrupt_storms_total", "recovery", "interrupt_storms",
		"Vectors that were turned off because interrupts came without end."),
	COUNTER("vta_dma_read_bytes_total", "counters", "dma_read_bytes",
		"Host memory read by the card; unknown while the card sleeps."),
	COUNTER("vta_dma_written_bytes_total", "counters", "dma_write_bytes",
		"Host memory written by the card; unknown while the card sleeps."),
	COUNTER("vta_page_walks_total", "counters", "page_walks",
		"Translations that read a page table; unknown while the card sleeps."),
	COUNTER("vta_tlb_hits_total", "counters", "tlb_hits",
		"Translations that read no page table; unknown while the card sleeps."),
	COUNTER("vta_context_switches_total", "counters", "context_switches",
		"RUNs that found other state in the core; unknown while the card sleeps."),
};

#define METRICS	(sizeof(metrics) / sizeof(*metrics))

static struct json_object *get(struct json_object *parent, const char *name)
{
	struct json_object *value = NULL;

	if (parent)
		json_object_object_get_ex(parent, name, &value);
	return value;
}

/* Strings of json-c live as long as @parent; NULL if that is not known. */
static const char *text(struct json_object *parent, const char *name)
{
	struct json_object *value = get(parent, name);

	return value ? json_object_get_string(value) : NULL;
}

static const char *name_of(struct json_object *card, char name[32])
{
	snprintf(name, 32, "vta%" PRId64, json_object_get_int64(get(card, "index")));
	return name;
}

/* ---- Numbers ---- */

/* NULL if @value is no number. */
static const char *value_text(struct json_object *value, enum unit unit, char buffer[32])
{
	if (!json_object_is_type(value, json_type_int) &&
	    !json_object_is_type(value, json_type_double))
		return NULL;
	switch (unit) {
	case NANOSECONDS:
		return prom_seconds(json_object_get_uint64(value), buffer);
	case KILOHERTZ:
		snprintf(buffer, 32, "%" PRIu64 "000", json_object_get_uint64(value));
		return buffer;
	default:
		return json_object_get_string(value);
	}
}

static void put_number(FILE *file, const struct metric *m, struct json_object *card)
{
	struct json_object *parent = m->group ? get(card, m->group) : card;
	char name[32], buffer[32];
	const char *value = value_text(get(parent, m->key), m->unit, buffer);
	const struct prom_label labels[] = {
		{ "card", name_of(card, name) },
		{ m->engine ? "engine" : NULL, m->engine },
		{ NULL, NULL },
	};

	if (value)
		prom_sample(file, m->name, value, labels);
}

static void put_numbers(FILE *file, struct json_object *cards)
{
	for (size_t i = 0; i < METRICS; i++) {
		if (!i || strcmp(metrics[i].name, metrics[i - 1].name))
			prom_metric(file, metrics[i].name, metrics[i].type, metrics[i].help);
		for (size_t k = 0; k < json_object_array_length(cards); k++)
			put_number(file, &metrics[i], json_object_array_get_idx(cards, k));
	}
}

/* ---- What is no number ---- */

static void put_info(FILE *file, struct json_object *card)
{
	struct json_object *pci = get(card, "pci");
	char name[32];
	const struct prom_label labels[] = {
		{ "card", name_of(card, name) },
		{ "pci", text(pci, "address") },
		{ "serial", text(card, "serial") },
		{ "contract", text(card, "contract") },
		{ "hw_version", text(card, "hw_ver") },
		{ NULL, NULL },
	};

	prom_sample(file, "vta_card_info", "1", labels);
}

static void put_state(FILE *file, struct json_object *card)
{
	static const char *const states[] = {
		"working", "asleep", "resetting", "lent", "given up", "removed",
	};
	const char *state = text(card, "state");
	char name[32];

	for (size_t i = 0; state && i < sizeof(states) / sizeof(*states); i++) {
		const struct prom_label labels[] = {
			{ "card", name_of(card, name) }, { "state", states[i] }, { NULL, NULL },
		};

		prom_sample(file, "vta_card_state", strcmp(state, states[i]) ? "0" : "1", labels);
	}
}

/* ---- What has happened last ---- */

/*
 * Logs are in seconds since the machine was booted; in whole seconds that are over, as clocks
 * drift, and nothing is to be in the future.
 */
static const char *when_text(struct json_object *record, char when[32])
{
	struct timespec now, up;
	double at = json_object_get_double(get(record, "time"));

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	at += (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
	snprintf(when, 32, "%lld", at > 0 && at < 1e15 ? (long long)at : 0);
	return when;
}

/* True if a later record of the log has the same reason. */
static bool has_later(struct json_object *log, size_t at, const char *reason)
{
	for (size_t i = at + 1; i < json_object_array_length(log); i++) {
		const char *later = text(json_object_array_get_idx(log, i), "reason");

		if (later && !strcmp(later, reason))
			return true;
	}
	return false;
}

static void put_last_faults(FILE *file, struct json_object *card)
{
	struct json_object *log = get(card, "faults");
	char name[32], when[32];

	for (size_t i = 0; log && i < json_object_array_length(log); i++) {
		struct json_object *record = json_object_array_get_idx(log, i);
		const char *reason = text(record, "reason");
		const struct prom_label labels[] = {
			{ "card", name_of(card, name) }, { "reason", reason }, { NULL, NULL },
		};

		if (reason && !has_later(log, i, reason))
			prom_sample(file, "vta_last_fault_timestamp_seconds",
				    when_text(record, when), labels);
	}
}

static void put_last_reset(FILE *file, struct json_object *card)
{
	struct json_object *log = get(card, "resets");
	size_t count = log ? json_object_array_length(log) : 0;
	char name[32], when[32];
	const struct prom_label labels[] = { { "card", name_of(card, name) }, { NULL, NULL } };

	if (count)
		prom_sample(file, "vta_last_reset_timestamp_seconds",
			    when_text(json_object_array_get_idx(log, count - 1), when), labels);
}

/* ---- All of it ---- */

typedef void put_fn(FILE *file, struct json_object *card);

static void put_each(FILE *file, struct json_object *cards, put_fn *put)
{
	for (size_t i = 0; i < json_object_array_length(cards); i++)
		put(file, json_object_array_get_idx(cards, i));
}

void metrics_cards(FILE *file, struct json_object *cards)
{
	const struct prom_label none = { NULL, NULL };
	char count[32];

	prom_metric(file, "vta_cards", "gauge", "Cards that the driver has.");
	snprintf(count, sizeof(count), "%zu", json_object_array_length(cards));
	prom_sample(file, "vta_cards", count, &none);
	prom_metric(file, "vta_card_info", "gauge", "What a card is; always 1.");
	put_each(file, cards, put_info);
	prom_metric(file, "vta_card_state", "gauge", "1 for the state that the card is in.");
	put_each(file, cards, put_state);
	put_numbers(file, cards);
	prom_metric(file, "vta_last_fault_timestamp_seconds", "gauge",
		    "When a queue last halted for this reason.");
	put_each(file, cards, put_last_faults);
	prom_metric(file, "vta_last_reset_timestamp_seconds", "gauge",
		    "When the card was last reset.");
	put_each(file, cards, put_last_reset);
}
