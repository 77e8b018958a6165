// SPDX-License-Identifier: GPL-2.0-only
/*
 * labels.c - the names of a network's classes, and the classes that it finds likely
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "labels.h"
#include "values.h"

#define LABELS_MAX	100000
#define FILE_MAX	((size_t)64 << 20)

/* Names are printable, so that a file cannot control the terminal. */
static void put_name(const char *name)
{
	for (; *name; name++)
		putchar((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

static bool add_name(struct labels *l, size_t i, const char *name, size_t bytes)
{
	if (i >= LABELS_MAX)
		return false;
	if (i >= l->count) {
		char **more = realloc(l->name, (i + 1) * sizeof(*more));

		if (!more)
			return false;
		l->name = more;
		memset(more + l->count, 0, (i + 1 - l->count) * sizeof(*more));
		l->count = i + 1;
	}
	free(l->name[i]);
	l->name[i] = strndup(name, bytes);
	return l->name[i];
}

int labels_from_text(struct labels *l, const char *text, size_t bytes)
{
	const char *end = text + bytes;

	*l = (struct labels) { .name = NULL };
	for (size_t i = 0; text < end; i++) {
		const char *line = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((line ? line : end) - text);

		if (!add_name(l, i, text, length && text[length - 1] == '\r' ? length - 1 : length))
			return ctl_fail("labels", "more than 100,000 of them, or no memory");
		text += length + 1;
	}
	return CTL_OK;
}

/* A name, or an array that ends in one; NULL if it is neither. */
static const char *name_of(struct json_object *value)
{
	size_t count;

	if (json_object_is_type(value, json_type_array)) {
		count = json_object_array_length(value);
		value = count ? json_object_array_get_idx(value, count - 1) : NULL;
	}
	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static bool from_array(struct labels *l, struct json_object *array)
{
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		const char *name = name_of(json_object_array_get_idx(array, i));

		if (!name || !add_name(l, i, name, strlen(name)))
			return false;
	}
	return true;
}

static bool from_object(struct labels *l, struct json_object *object)
{
	json_object_object_foreach(object, key, value) {
		const char *name = name_of(value);
		char *end;
		unsigned long i;

		errno = 0;
		i = strtoul(key, &end, 10);
		if (!name || end == key || *end || errno || !add_name(l, i, name, strlen(name)))
			return false;
	}
	return true;
}

static bool from_json(struct labels *l, const char *text, size_t bytes)
{
	struct json_tokener *tokener = json_tokener_new_ex(8);
	struct json_object *json = tokener ? json_tokener_parse_ex(tokener, text, (int)bytes) :
				   NULL;
	bool good = false;

	if (json_object_is_type(json, json_type_array))
		good = from_array(l, json);
	else if (json_object_is_type(json, json_type_object))
		good = from_object(l, json);
	json_object_put(json);
	if (tokener)
		json_tokener_free(tokener);
	return good;
}

int labels_load(struct labels *l, const char *path)
{
	size_t size, blanks = 0;
	char *data = (char *)values_read_file(path, &size);
	int ret = CTL_OK;

	*l = (struct labels) { .name = NULL };
	if (!data)
		return ctl_fail(path, strerror(errno));
	while (blanks < size && strchr(" \t\r\n", data[blanks]) && data[blanks])
		blanks++;
	if (size > FILE_MAX)
		ret = ctl_fail(path, "larger than 64 MiB");
	else if (blanks == size || (data[blanks] != '[' && data[blanks] != '{'))
		ret = labels_from_text(l, data, size);
	else if (!from_json(l, data, size))
		ret = ctl_fail(path, "no JSON array of names, or object from numbers to names");
	free(data);
	return ret;
}

void labels_free(struct labels *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->name[i]);
	free(l->name);
	*l = (struct labels) { .name = NULL };
}

/* The class after @last by value, or the first; of equal ones, the first comes first. */
static size_t next_class(const struct vtaimage_tensor *t, const void *values, size_t last)
{
	size_t count = (size_t)values_count(t), best = count;

	for (size_t i = 0; i < count; i++) {
		double v = values_at(t, values, i);

		if (last < count && (v > values_at(t, values, last) ||
				     (v == values_at(t, values, last) && i <= last)))
			continue;
		if (best == count || v > values_at(t, values, best))
			best = i;
	}
	return best;
}

const char *labels_name(const struct labels *l, size_t i)
{
	return i < l->count && l->name[i] && *l->name[i] ? l->name[i] : NULL;
}

void labels_print_word(const struct labels *l, size_t i)
{
	if (labels_name(l, i))
		put_name(labels_name(l, i));
	else
		printf("class %zu", i);
}

void labels_print_name(const struct labels *l, size_t i)
{
	labels_print_word(l, i);
	putchar('\n');
}

void labels_print(const struct labels *l, const struct vtaimage_tensor *t, const void *values,
		  uint32_t top)
{
	size_t count = (size_t)values_count(t), at = count;

	for (uint32_t rank = 0; rank < top && (at = next_class(t, values, at)) < count; rank++) {
		printf("%2u  %10.4f  ", rank + 1, values_at(t, values, at));
		labels_print_name(l, at);
	}
}

struct json_object *labels_json(const struct labels *l, const struct vtaimage_tensor *t,
				const void *values, uint32_t top)
{
	struct json_object *array = json_object_new_array();
	size_t count = (size_t)values_count(t), at = count;

	for (uint32_t rank = 0; rank < top && (at = next_class(t, values, at)) < count; rank++) {
		struct json_object *object = json_object_new_object();

		json_object_object_add(object, "class", json_object_new_int64((int64_t)at));
		json_object_object_add(object, "name", labels_name(l, at) ?
				       json_object_new_string(labels_name(l, at)) : NULL);
		json_object_object_add(object, "value",
				       json_object_new_double(values_at(t, values, at)));
		json_object_array_add(array, object);
	}
	return array;
}
