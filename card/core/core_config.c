// SPDX-License-Identifier: Apache-2.0
/*
 * core_config.c - a VTA core's configuration: vta_config.json
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_impl.h"

/* A real file has some 300 bytes. */
#define FILE_MAX	65536

const struct core_config core_config_default = {
	.log_inp_width = 3,
	.log_wgt_width = 3,
	.log_acc_width = 5,
	.log_batch = 0,
	.log_block = 4,
	.log_uop_buff_size = 15,
	.log_inp_buff_size = 15,
	.log_wgt_buff_size = 18,
	.log_acc_buff_size = 17,
	.hw_ver = 0x000001,
};

/* The integers, with what a single one may be; core_config_check() has the rest. */
static const struct field {
	const char *name;
	size_t offset;
	unsigned int min;
	unsigned int max;
	bool optional;		/* 0 if it is missing */
} fields[] = {
#define FIELD(name, member, min, max) \
	{ #name, offsetof(struct core_config, member), min, max, false },
	VTA_ISA_CONFIG(FIELD)
#undef FIELD
#define FIELD(name, member) \
	{ #name, offsetof(struct core_config, member), VTA_ISA_LOG_QUEUE_MIN, \
	  VTA_ISA_LOG_QUEUE_MAX, true },
	VTA_ISA_QUEUES(FIELD)
#undef FIELD
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A macro, so that the compiler checks the format. */
#define fail(err, err_len, ...)	(snprintf(err, err_len, __VA_ARGS__), -1)

static int fail_range(const struct field *f, const char *value, char *err, size_t err_len)
{
	if (f->min == f->max)
		return fail(err, err_len, "%s is %s, but must be %u", f->name, value, f->min);
	return fail(err, err_len, "%s is %s, but must be %u to %u", f->name, value, f->min, f->max);
}

static unsigned int *field_of(struct core_config *cfg, const struct field *f)
{
	return (unsigned int *)((char *)cfg + f->offset);
}

struct vta_isa_shape core_config_shape(const struct core_config *cfg)
{
	struct vta_isa_config c = VTA_ISA_CONFIG_OF(cfg);

	return vta_isa_shape(&c);
}

int core_config_check(const struct core_config *cfg, char *err, size_t err_len)
{
	struct vta_isa_config c = VTA_ISA_CONFIG_OF(cfg);
	struct vta_isa_limit limit;

	if (!vta_isa_config_valid(&c, &limit) ||
	    !vta_isa_queue_valid(&limit, "LOG_TOKENS", (int)cfg->log_tokens) ||
	    !vta_isa_queue_valid(&limit, "LOG_WAITING", (int)cfg->log_waiting)) {
		if (limit.least == limit.most)
			return fail(err, err_len, "%s is %d, but must be %d", limit.name,
				    limit.value, limit.least);
		return fail(err, err_len, "%s is %d, but must be %d to %d", limit.name,
			    limit.value, limit.least, limit.most);
	}
	if (cfg->hw_ver > 0xffffff)
		return fail(err, err_len,
			    "HW_VER is 0x%x, but has three numbers of 8 bits", cfg->hw_ver);
	return 0;
}

/* "1.2.3" as major << 16 | minor << 8 | patch */
static int parse_version(const char *text, unsigned int *version)
{
	unsigned int parts = 0, value = 0, digits = 0;

	*version = 0;
	for (;; text++) {
		if (*text >= '0' && *text <= '9') {
			value = value * 10 + (unsigned int)(*text - '0');
			if (++digits > 3 || value > 255)
				return -1;
			continue;
		}
		if (!digits || ++parts > 3)
			return -1;
		*version = *version << 8 | value;
		if (!*text)
			return parts == 3 ? 0 : -1;
		if (*text != '.')
			return -1;
		value = 0;
		digits = 0;
	}
}

static int read_fields(json_object *root, struct core_config *cfg, char *err, size_t err_len)
{
	json_object *value;
	size_t i;

	if (!json_object_is_type(root, json_type_object))
		return fail(err, err_len, "not a JSON object");
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];
		int64_t number;

		if (!json_object_object_get_ex(root, f->name, &value)) {
			if (f->optional)
				continue;
			return fail(err, err_len, "%s is missing", f->name);
		}
		if (!json_object_is_type(value, json_type_int))
			return fail(err, err_len, "%s is not an integer", f->name);
		/* Out of the range of 64 bits it comes as the nearest in it. */
		number = json_object_get_int64(value);
		if (number < f->min || number > f->max)
			return fail_range(f, json_object_to_json_string(value), err, err_len);
		*field_of(cfg, f) = (unsigned int)number;
	}
	if (!json_object_object_get_ex(root, "HW_VER", &value))
		return fail(err, err_len, "HW_VER is missing");
	if (!json_object_is_type(value, json_type_string) ||
	    strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value) ||
	    parse_version(json_object_get_string(value), &cfg->hw_ver))
		return fail(err, err_len,
			    "HW_VER is not a string like \"0.0.1\" with numbers up to 255");
	return 0;
}

static json_object *parse_text(const char *text, size_t len, char *err, size_t err_len)
{
	json_tokener *tok = json_tokener_new();
	json_object *root;

	if (!tok) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	/* Strict also refuses text after the object. */
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	root = json_tokener_parse_ex(tok, text, (int)len);
	if (json_tokener_get_error(tok) != json_tokener_success) {
		snprintf(err, err_len, "not JSON: %s at byte %zu",
			 json_tokener_error_desc(json_tokener_get_error(tok)),
			 json_tokener_get_parse_end(tok));
		json_object_put(root);
		root = NULL;
	} else if (!root) {
		snprintf(err, err_len, "not a JSON object");
	}
	json_tokener_free(tok);
	return root;
}

int core_config_load(struct core_config *cfg, const char *path, char *err, size_t err_len)
{
	struct core_config read = { 0 };
	char *text;
	json_object *root;
	size_t len;
	FILE *file;
	int ret = -1;

	text = malloc(FILE_MAX + 1);
	if (!text)
		return fail(err, err_len, "out of memory");
	file = fopen(path, "re");
	if (!file) {
		snprintf(err, err_len, "%s", strerror(errno));
		goto out_text;
	}
	len = fread(text, 1, FILE_MAX + 1, file);
	if (ferror(file)) {
		snprintf(err, err_len, "%s", strerror(errno));
		goto out_file;
	}
	if (len > FILE_MAX) {
		snprintf(err, err_len, "larger than %d bytes: not a vta_config.json", FILE_MAX);
		goto out_file;
	}
	/* The tokener takes the first zero byte for the end of the text. */
	if (memchr(text, '\0', len)) {
		snprintf(err, err_len, "not JSON: it has a zero byte");
		goto out_file;
	}
	text[len] = '\0';
	root = parse_text(text, len + 1, err, err_len);
	if (!root)
		goto out_file;
	ret = read_fields(root, &read, err, err_len);
	json_object_put(root);
	if (!ret)
		ret = core_config_check(&read, err, err_len);
	if (!ret)
		*cfg = read;
out_file:
	fclose(file);
out_text:
	free(text);
	return ret;
}
