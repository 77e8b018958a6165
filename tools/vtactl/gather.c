// SPDX-License-Identifier: GPL-2.0-only
/*
 * gather.c - gather a card's status from sysfs, as JSON
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "gather.h"
#include "holders.h"
#include "vtadev.h"

static struct json_object *text_of(int dir, const char *file)
{
	char text[FILES_LINE];

	return files_line(dir, file, text) ? json_object_new_string(text) : NULL;
}

static struct json_object *number_of(int dir, const char *file)
{
	uint64_t value;

	return files_number(dir, file, &value) ? json_object_new_uint64(value) : NULL;
}

/* All files of a directory: driver versions differ. */
static struct json_object *numbers_of(int parent, const char *name)
{
	struct json_object *group;
	struct dirent **files;
	int count, dir;

	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	count = scandirat(parent, name, &files, NULL, alphasort);
	group = count < 0 ? NULL : json_object_new_object();
	for (int i = 0; i < count; i++) {
		if (files[i]->d_name[0] != '.')
			json_object_object_add(group, files[i]->d_name,
					       number_of(dir, files[i]->d_name));
		free(files[i]);
	}
	if (count >= 0)
		free(files);
	close(dir);
	return group;
}

static struct json_object *pair(const char *a, struct json_object *value_a,
				const char *b, struct json_object *value_b)
{
	struct json_object *both = json_object_new_object();

	json_object_object_add(both, a, value_a);
	json_object_object_add(both, b, value_b);
	return both;
}

static struct json_object *speed_and_width(double speed, unsigned int width)
{
	struct json_object *known = NULL;
	char text[16];

	if (speed > 0) {
		snprintf(text, sizeof(text), "%.3g", speed);
		known = json_object_new_double_s(speed, text);
	}
	return pair("gts", known, "width", json_object_new_int((int)width));
}

static struct json_object *link_of(int dir, const char *address)
{
	struct link link;

	/* Configuration space is for root; the kernel's summary is for all. */
	if (!link_read(address, &link) && !link_read_sysfs(dir, &link))
		return NULL;
	return pair("now", speed_and_width(link.speed, link.width),
		    "max", speed_and_width(link.speed_max, link.width_max));
}

/* The registers of the link are in configuration space, and reading that wakes a card in D3cold. */
static bool is_asleep(int dir)
{
	char state[FILES_LINE];

	return files_line(dir, "state", state) && !strcmp(state, "asleep");
}

static struct json_object *pci_of(int dir, const struct vtadev_card *card)
{
	struct json_object *pci;

	if (!card->pci[0])
		return NULL;
	pci = json_object_new_object();
	json_object_object_add(pci, "address", json_object_new_string(card->pci));
	json_object_object_add(pci, "vendor", text_of(dir, "device/vendor"));
	json_object_object_add(pci, "device", text_of(dir, "device/device"));
	json_object_object_add(pci, "link", is_asleep(dir) ? NULL : link_of(dir, card->pci));
	return pci;
}

/* ---- Sensors ---- */

/* Reads a sensor in thousandths or millionths of the unit that is printed. */
static struct json_object *sensor_of(int dir, const char *file, double unit)
{
	struct json_object *value = NULL;
	struct dirent **found = NULL;
	char path[320], text[FILES_LINE];
	int count = scandirat(dir, "device/hwmon", &found, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "device/hwmon/%s/%s", found[i]->d_name, file);
		if (found[i]->d_name[0] != '.' && files_line(dir, path, text)) {
			double number = atof(text) / unit;

			snprintf(text, sizeof(text), "%.3f", number);
			value = json_object_new_double_s(number, text);
		}
		free(found[i]);
	}
	free(found);
	return value;
}

/* ---- Logs ---- */

/* "key=value ..." as members; "why" extends to the end of the line. */
static struct json_object *record_of(char *line)
{
	struct json_object *record = json_object_new_object();

	while (*line) {
		char *value, *end, *number;
		long long n;

		value = strchr(line, '=');
		if (!value)
			break;
		*value++ = '\0';
		end = strcmp(line, "why") ? strchr(value, ' ') : NULL;
		if (end)
			*end = '\0';
		n = strtoll(value, &number, 0);
		if (!strcmp(line, "time"))
			json_object_object_add(record, line,
					       json_object_new_double_s(atof(value), value));
		else if (*value && !*number && strcmp(line, "comm"))
			json_object_object_add(record, line, json_object_new_int64(n));
		else
			json_object_object_add(record, line, json_object_new_string(value));
		line = end ? end + 1 : "";
	}
	return record;
}

/* Null if this user may not read it. */
static struct json_object *log_of(int dir, const char *file)
{
	struct json_object *array;
	char text[8192], *line, *save;

	if (files_read(dir, file, text, sizeof(text)))
		return NULL;
	array = json_object_new_array();
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		json_object_array_add(array, record_of(line));
	return array;
}

/* ---- Holders ---- */

static struct json_object *numbers_in(const char *text)
{
	struct json_object *array = json_object_new_array();
	char *end;

	for (;;) {
		unsigned long n = strtoul(text, &end, 10);

		if (end == text)
			return array;
		json_object_array_add(array, json_object_new_uint64(n));
		text = end;
	}
}

static void add_number(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static struct json_object *holder_of(const struct holder *h)
{
	struct json_object *object = json_object_new_object();

	add_number(object, "pid", (uint64_t)h->pid);
	add_number(object, "processes", h->processes);
	add_number(object, "uid", h->uid);
	json_object_object_add(object, "user", json_object_new_string(h->user));
	json_object_object_add(object, "command", json_object_new_string(h->command));
	add_number(object, "client", h->client);
	json_object_object_add(object, "queues", numbers_in(h->queues));
	if (*h->lost)
		json_object_object_add(object, "lost", json_object_new_string(h->lost));
	add_number(object, "host_bytes", h->host_bytes);
	add_number(object, "card_bytes", h->card_bytes);
	add_number(object, "pinned_bytes", h->pinned_bytes);
	add_number(object, "imported_bytes", h->imported_bytes);
	add_number(object, "descriptors", h->descriptors);
	if (h->has_usage) {
		add_number(object, "runs", h->runs);
		add_number(object, "copies", h->copies);
		add_number(object, "compute_ns", h->compute_ns);
		add_number(object, "copy_ns", h->copy_ns);
	}
	return object;
}

static struct json_object *holders_of(unsigned int card)
{
	struct json_object *array = json_object_new_array();
	struct holder *holders = NULL;
	int count = holders_find(&holders);

	for (int i = 0; i < count; i++)
		if (holders[i].card == card)
			json_object_array_add(array, holder_of(&holders[i]));
	free(holders);
	return array;
}

/* ---- The core ---- */

static int config_of(struct json_object *config, const char *name)
{
	struct json_object *value = NULL;

	if (config)
		json_object_object_get_ex(config, name, &value);
	return value ? json_object_get_int(value) : -1;
}

/* True if VTA's runtime can use the core (docs/isa.md, 10); NULL if unknown. */
static struct json_object *tvm_of(struct json_object *config)
{
	int batch = config_of(config, "LOG_BATCH"), block = config_of(config, "LOG_BLOCK");
	int width = config_of(config, "LOG_ACC_WIDTH");
	int uop_depth = config_of(config, "LOG_UOP_BUFF_SIZE") - 2;
	int acc_depth = config_of(config, "LOG_ACC_BUFF_SIZE") - batch - block - width + 3;

	if (batch < 0 || block < 0 || width < 0 || uop_depth < 0 || acc_depth < 0)
		return NULL;
	return json_object_new_boolean(vtadev_tvm_fields((unsigned int)uop_depth,
							 (unsigned int)acc_depth));
}

/* ---- The status ---- */

static struct json_object *memory_of(int dir)
{
	struct json_object *memory = pair("size", number_of(dir, "mem_size"),
					  "free", number_of(dir, "mem_free"));

	json_object_object_add(memory, "host", number_of(dir, "host_bytes"));
	json_object_object_add(memory, "pinned", number_of(dir, "pinned_bytes"));
	json_object_object_add(memory, "page_tables", number_of(dir, "page_table_bytes"));
	return memory;
}

struct json_object *gather(const struct vtadev_card *card)
{
	struct json_object *s, *config;
	int dir = files_card(card->index);

	if (dir < 0)
		return NULL;
	s = json_object_new_object();
	json_object_object_add(s, "index", json_object_new_int64(card->index));
	json_object_object_add(s, "node", json_object_new_string(card->node));
	json_object_object_add(s, "accessible",
			       json_object_new_boolean(!access(card->node, R_OK | W_OK)));
	json_object_object_add(s, "pci", pci_of(dir, card));
	json_object_object_add(s, "contract", text_of(dir, "contract"));
	json_object_object_add(s, "hw_ver", text_of(dir, "hw_ver"));
	json_object_object_add(s, "serial", text_of(dir, "serial"));
	json_object_object_add(s, "state", text_of(dir, "state"));
	json_object_object_add(s, "generation", number_of(dir, "generation"));
	json_object_object_add(s, "clock_khz", number_of(dir, "clock_khz"));
	json_object_object_add(s, "vectors", number_of(dir, "vectors"));
	json_object_object_add(s, "temperature", sensor_of(dir, "temp1_input", 1e3));
	json_object_object_add(s, "power", sensor_of(dir, "power1_input", 1e6));
	json_object_object_add(s, "memory", memory_of(dir));
	json_object_object_add(s, "queues",
			       pair("total", number_of(dir, "queues"),
				    "used", number_of(dir, "queues_used")));
	json_object_object_add(s, "contexts",
			       pair("total", number_of(dir, "contexts"),
				    "used", number_of(dir, "contexts_used")));
	json_object_object_add(s, "throttled", number_of(dir, "throttled"));
	json_object_object_add(s, "holders", holders_of(card->index));
	config = numbers_of(dir, "config");
	json_object_object_add(s, "config", config);
	json_object_object_add(s, "tvm", tvm_of(config));
	json_object_object_add(s, "usage", numbers_of(dir, "usage"));
	json_object_object_add(s, "recovery", numbers_of(dir, "recovery"));
	json_object_object_add(s, "counters", numbers_of(dir, "counters"));
	json_object_object_add(s, "faults", log_of(dir, "fault_log"));
	json_object_object_add(s, "resets", log_of(dir, "reset_log"));
	close(dir);
	return s;
}
