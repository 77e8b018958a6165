// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_core_config.c - reading and checking of vta_config.json
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../frame.h"
#include "core/core.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const char *const names[] = {
	"LOG_INP_WIDTH", "LOG_WGT_WIDTH", "LOG_ACC_WIDTH", "LOG_BATCH", "LOG_BLOCK",
	"LOG_UOP_BUFF_SIZE", "LOG_INP_BUFF_SIZE", "LOG_WGT_BUFF_SIZE", "LOG_ACC_BUFF_SIZE",
	"HW_VER",
};

static const char *const defaults[] = {
	"3", "3", "5", "0", "4", "15", "15", "18", "17", "\"0.0.1\"",
};

static int load(struct core_config *cfg, const char *text, size_t len, char *err, size_t err_len)
{
	char path[] = "/tmp/vta-test-XXXXXX";
	int fd = mkstemp(path);
	int ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	close(fd);
	ret = core_config_load(cfg, path, err, err_len);
	unlink(path);
	return ret;
}

/* A file with the defaults but for @name, which is @value, or missing if NULL. */
static int load_with(struct core_config *cfg, const char *name, const char *value, char *err,
		     size_t err_len)
{
	char text[1024] = "{ \"TARGET\" : \"sim\"";
	const char *v;
	size_t i, at;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		v = strcmp(names[i], name) ? defaults[i] : value;
		at = strlen(text);
		if (v)
			snprintf(text + at, sizeof(text) - at, ",\n  \"%s\" : %s", names[i], v);
	}
	at = strlen(text);
	snprintf(text + at, sizeof(text) - at, ",\n  \"ACC_DEP_DISTANCE\" : [3]\n}\n");
	return load(cfg, text, strlen(text), err, err_len);
}

TEST(tvm_file_is_read)
{
	struct core_config cfg;
	char err[256] = "";

	if (load_with(&cfg, "", NULL, err, sizeof(err)))
		fail_msg("%s", err);
	assert_memory_equal(&cfg, &core_config_default, sizeof(cfg));
	assert_int_equal(load_with(&cfg, "HW_VER", "\"1.20.255\"", err, sizeof(err)), 0);
	assert_int_equal(cfg.hw_ver, 0x0114ff);
	assert_int_equal(load_with(&cfg, "LOG_WGT_WIDTH", "1", err, sizeof(err)), -1);
	assert_int_equal(load_with(&cfg, "LOG_WGT_BUFF_SIZE", "16", err, sizeof(err)), 0);
	assert_int_equal(cfg.log_wgt_buff_size, 16);
}

/* TVM's file does not have them. */
TEST(depths_of_queues_are_optional)
{
	static const char file[] =
		"{ \"HW_VER\": \"0.0.1\", \"LOG_INP_WIDTH\": 3, \"LOG_WGT_WIDTH\": 3, "
		"\"LOG_ACC_WIDTH\": 5, \"LOG_BATCH\": 0, \"LOG_BLOCK\": 4, "
		"\"LOG_UOP_BUFF_SIZE\": 15, \"LOG_INP_BUFF_SIZE\": 15, "
		"\"LOG_WGT_BUFF_SIZE\": 18, \"LOG_ACC_BUFF_SIZE\": 17, %s }";
	static const char *const faulty[] = {
		"\"LOG_TOKENS\": 2", "\"LOG_WAITING\": 17", "\"LOG_TOKENS\": 0",
		"\"LOG_WAITING\": \"9\"",
	};
	struct core_config cfg;
	char text[512], err[256];

	snprintf(text, sizeof(text), file, "\"LOG_TOKENS\": 8, \"LOG_WAITING\": 9");
	assert_int_equal(load(&cfg, text, strlen(text), err, sizeof(err)), 0);
	assert_int_equal(cfg.log_tokens, 8);
	assert_int_equal(cfg.log_waiting, 9);
	for (size_t i = 0; i < ARRAY_SIZE(faulty); i++) {
		snprintf(text, sizeof(text), file, faulty[i]);
		assert_int_equal(load(&cfg, text, strlen(text), err, sizeof(err)), -1);
		assert_non_null(strstr(err, i % 2 ? "LOG_WAITING" : "LOG_TOKENS"));
	}
}

TEST(faulty_fields_are_named)
{
	static const char *const ints[] = {
		NULL, "\"4\"", "4.0", "true", "null", "-1", "25", "[]",
	};
	static const char *const versions[] = {
		NULL, "1", "\"\"", "\"1.0\"", "\"1.0.0.0\"", "\"1.0.256\"", "\"1.0.\"", "\"1..0\"",
		"\"1.0.0 \"", "\"+1.0.0\"", "\"0001.0.0\"", "\"1.0.0\\u0000\"",
	};
	struct core_config cfg = core_config_default;
	char err[256];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(names) - 1; i++) {
		for (j = 0; j < ARRAY_SIZE(ints); j++) {
			assert_int_equal(load_with(&cfg, names[i], ints[j], err, sizeof(err)), -1);
			assert_non_null(strstr(err, names[i]));
		}
		/* json-c 0.18 refuses this number by itself, and knows no fields. */
		assert_int_equal(load_with(&cfg, names[i], "99999999999999999999", err,
					   sizeof(err)), -1);
		assert_true(strstr(err, names[i]) || strstr(err, "not JSON: "));
	}
	for (j = 0; j < ARRAY_SIZE(versions); j++) {
		assert_int_equal(load_with(&cfg, "HW_VER", versions[j], err, sizeof(err)), -1);
		assert_non_null(strstr(err, "HW_VER"));
	}
	/* The configuration is untouched. */
	assert_memory_equal(&cfg, &core_config_default, sizeof(cfg));
}

TEST(text_that_is_not_a_json_object)
{
	static const char *const texts[] = { "", "{", "[]", "null", "3", "{} x", "{\"a\":}" };
	static char big[70000];
	struct core_config cfg;
	char err[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		err[0] = '\0';
		assert_int_equal(load(&cfg, texts[i], strlen(texts[i]), err, sizeof(err)), -1);
		assert_non_null(strstr(err, "JSON"));
	}
	assert_int_equal(load(&cfg, "{}\0", 3, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "zero byte"));
	memset(big, ' ', sizeof(big));
	assert_int_equal(load(&cfg, big, sizeof(big), err, sizeof(err)), -1);
	assert_non_null(strstr(err, "larger"));
	memset(big, '[', 60000);
	assert_int_equal(load(&cfg, big, 60000, err, sizeof(err)), -1);
	assert_int_equal(core_config_load(&cfg, "/", err, sizeof(err)), -1);
	assert_int_equal(core_config_load(&cfg, "/nonexistent", err, sizeof(err)), -1);
	assert_string_equal(err, "No such file or directory");
}

/* Each is one step beyond a limit. */
TEST(limits_of_the_instructions)
{
	static const struct {
		struct core_config cfg;
		const char *says;
	} cases[] = {
		{ { 3, 3, 5, 0, 4, 16, 15, 18, 17, 1, 0, 0 }, "LOG_UOP_BUFF_SIZE" },
		{ { 3, 3, 5, 0, 4, 15, 15, 17, 18, 1, 0, 0 }, "word 1 of ALU" },
		{ { 3, 3, 5, 0, 4, 15, 14, 19, 17, 1, 0, 0 }, "micro-op" },
		{ { 3, 3, 5, 0, 4, 15, 15, 19, 17, 1, 0, 0 }, "word 1 of GEMM" },
		{ { 3, 3, 5, 0, 4, 15, 21, 8, 6, 1, 0, 0 },
		  "LOG_INP_BUFF_SIZE is 21, but must be 4 to 20" },
		{ { 3, 3, 5, 0, 4, 15, 3, 18, 17, 1, 0, 0 },
		  "LOG_INP_BUFF_SIZE is 3, but must be 4 to 20" },
		{ { 3, 3, 5, 0, 4, 15, 15, 7, 17, 1, 0, 0 },
		  "LOG_WGT_BUFF_SIZE is 7, but must be 8 to 24" },
		{ { 3, 3, 5, 0, 4, 15, 15, 25, 17, 1, 0, 0 },
		  "LOG_WGT_BUFF_SIZE is 25, but must be 0 to 24" },
		{ { 3, 3, 5, 2, 4, 15, 15, 18, 7, 1, 0, 0 },
		  "LOG_ACC_BUFF_SIZE is 7, but must be 8 to 24" },
		{ { 1, 3, 5, 0, 1, 15, 8, 8, 8, 1, 0, 0 },
		  "LOG_INP_WIDTH + LOG_BATCH + LOG_BLOCK is 2" },
		{ { 3, 3, 5, 0, 0, 15, 8, 8, 8, 1, 0, 0 },
		  "LOG_BLOCK is 0, but must be 1 to 8" },
		{ { 3, 3, 5, 0x7fffffff, 4, 15, 15, 18, 17, 1, 0, 0 },
		  "LOG_BATCH is 2147483647, but must be 0 to 8" },
		{ { 3, 3, 5, 0, 4, 0x80000000, 15, 18, 17, 1, 0, 0 },
		  "LOG_UOP_BUFF_SIZE is -2147483648, but must be 0 to 24" },
		{ { 3, 3, 4, 0, 4, 15, 15, 18, 17, 1, 0, 0 },
		  "LOG_ACC_WIDTH is 4, but must be 5" },
		{ { 3, 3, 5, 0, 4, 15, 15, 18, 17, 0x1000000, 0, 0 }, "HW_VER" },
		{ { 3, 3, 5, 0, 4, 15, 15, 18, 17, 1, 2, 0 },
		  "LOG_TOKENS is 2, but must be 3 to 16" },
		{ { 3, 3, 5, 0, 4, 15, 15, 18, 17, 1, 0, 17 },
		  "LOG_WAITING is 17, but must be 3 to 16" },
	};
	struct core_config least = { 3, 1, 5, 0, 1, 2, 1, 0, 3, 0, 0, 0 };
	char err[256];
	size_t i;

	assert_int_equal(core_config_check(&core_config_default, err, sizeof(err)), 0);
	assert_int_equal(core_config_check(&least, err, sizeof(err)), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		err[0] = '\0';
		assert_int_equal(core_config_check(&cases[i].cfg, err, sizeof(err)), -1);
		if (!strstr(err, cases[i].says))
			fail_msg("case %zu: %s", i, err);
	}
}
