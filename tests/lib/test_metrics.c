// SPDX-License-Identifier: GPL-2.0-only
/*
 * Metrics of users in vtactl export, from simulated open files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../frame.h"
#include "ctl.h"
#include "holders.h"
#include "metrics.h"

static struct holder files[4];
static int count;

/* In place of vtactl's, which asks /proc. */
int holders_find(struct holder **holders)
{
	if (count < 0)
		return count;
	*holders = malloc(sizeof(files));
	assert_non_null(*holders);
	memcpy(*holders, files, sizeof(files));
	return count;
}

int ctl_error(const char *subject, int err)
{
	assert_string_equal(subject, "looking for users");
	return err == -ENOMEM ? CTL_ERROR : CTL_OK;
}

/* The printed text without the lines that begin with #; to be freed. */
static char *printed(int wanted)
{
	char *text = NULL, *samples = NULL, *line, *save;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	assert_int_equal(metrics_users(file), wanted);
	assert_int_equal(fclose(file), 0);
	file = open_memstream(&samples, &size);
	assert_non_null(file);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (*line != '#')
			fprintf(file, "%s\n", line);
	assert_int_equal(fclose(file), 0);
	free(text);
	return samples;
}

TEST(no_processes_is_no_error)
{
	char *text;

	count = 0;
	text = printed(CTL_OK);
	assert_string_equal(text, "");
	free(text);
}

TEST(no_memory_is_an_error)
{
	count = -ENOMEM;
	free(printed(CTL_ERROR));
}

TEST(files_of_a_user_are_added_up)
{
	char *text;

	files[0] = (struct holder) { .card = 1, .client = 9, .uid = 5, .user = "eve\"\\",
				     .nr_queues = 1, .card_bytes = 10 };
	files[1] = (struct holder) { .card = 0, .client = 8, .uid = 5, .user = "eve\"\\",
				     .nr_queues = 2, .card_bytes = 1, .host_bytes = 2,
				     .pinned_bytes = 3, .imported_bytes = 4, .has_usage = true,
				     .compute_ns = 1500000000, .copy_ns = 1 };
	files[2] = files[1];
	files[2].client = 7;
	files[3] = (struct holder) { .card = 0, .client = 6, .uid = 0, .user = "root" };
	count = 4;
	text = printed(CTL_OK);
#define EVE(card) "card=\"vta" card "\",uid=\"5\",user=\"eve\\\"\\\\\""
#define ROOT "card=\"vta0\",uid=\"0\",user=\"root\""
	assert_non_null(strstr(text, "vta_user_contexts{" ROOT "} 1\n"
				     "vta_user_contexts{" EVE("0") "} 2\n"
				     "vta_user_contexts{" EVE("1") "} 1\n"
				     "vta_user_queues{" ROOT "} 0\n"
				     "vta_user_queues{" EVE("0") "} 4\n"
				     "vta_user_queues{" EVE("1") "} 1\n"));
	assert_non_null(strstr(text, "vta_user_memory_bytes{" EVE("0") ",kind=\"card\"} 2\n"
				     "vta_user_memory_bytes{" EVE("0") ",kind=\"host\"} 4\n"
				     "vta_user_memory_bytes{" EVE("0") ",kind=\"pinned\"} 6\n"
				     "vta_user_memory_bytes{" EVE("0") ",kind=\"imported\"} 8\n"));
	free(text);
}

/* A sum of them would fall when one is closed. */
TEST(engine_time_is_of_each_file)
{
	char *text, *at;
	size_t lines = 0;

	text = printed(CTL_OK);
	at = strstr(text, "vta_client_busy_seconds_total{card=\"vta0\",client=\"7\",uid=\"5\","
			  "user=\"eve\\\"\\\\\",engine=\"compute\"} 1.500000000\n"
			  "vta_client_busy_seconds_total{card=\"vta0\",client=\"7\",uid=\"5\","
			  "user=\"eve\\\"\\\\\",engine=\"copy\"} 0.000000001\n");
	assert_non_null(at);
	for (; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 4);
	free(text);
}
