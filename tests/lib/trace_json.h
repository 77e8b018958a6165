/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace_json.h - read a trace's file and find events in it
 */
#ifndef TESTS_LIB_TRACE_JSON_H
#define TESTS_LIB_TRACE_JSON_H

#include <json-c/json.h>
#include <stdint.h>
#include <string.h>

static inline struct json_object *json_get(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return value;
}

static inline uint64_t json_num(struct json_object *object, const char *key)
{
	return json_object_get_uint64(json_get(object, key));
}

static inline const char *json_str(struct json_object *object, const char *key)
{
	const char *text = json_object_get_string(json_get(object, key));

	return text ? text : "";
}

static inline struct json_object *json_args(struct json_object *event)
{
	return json_get(event, "args");
}

/* The event of a descriptor; NULL if there is none or more than one. */
static inline struct json_object *json_descriptor(struct json_object *trace, uint64_t queue,
						  uint64_t seq)
{
	struct json_object *events = json_get(trace, "traceEvents"), *found = NULL;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		struct json_object *event = json_object_array_get_idx(events, i);
		struct json_object *args = json_args(event);

		if (!json_get(args, "completed") || json_num(args, "queue") != queue ||
		    json_num(args, "seq") != seq)
			continue;
		if (found)
			return NULL;
		found = event;
	}
	return found;
}

#endif /* TESTS_LIB_TRACE_JSON_H */
