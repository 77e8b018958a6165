// SPDX-License-Identifier: GPL-2.0-only
/*
 * vta_ctl - vtactl list and status agree with the card (tools/vtactl)
 */
#include <json-c/json.h>

#include "vta_harness.h"

/* The output of a command, to be freed; its exit status goes to @status. */
static char *output_of(const char *command, int *status)
{
	FILE *pipe = popen(command, "r");
	char *text = calloc(1, 65536);

	if (fread(text, 1, 65535, pipe) == 65535)
		text[0] = '\0';
	*status = WEXITSTATUS(pclose(pipe));
	return text;
}

static struct json_object *status_of_card_0(void)
{
	struct json_object *cards;
	int status;
	char *text = output_of("vtactl status --json 0", &status);

	cards = json_tokener_parse(text);
	free(text);
	if (status || json_object_array_length(cards) != 1)
		return NULL;
	return json_object_array_get_idx(cards, 0);
}

static uint64_t number(struct json_object *object, const char *group, const char *name)
{
	struct json_object *value = object;

	if (group && !json_object_object_get_ex(object, group, &object))
		return UINT64_MAX;
	if (!json_object_object_get_ex(object, name, &value))
		return UINT64_MAX;
	return (uint64_t)json_object_get_int64(value);
}

TEST(list_has_every_card)
{
	int status;
	char *text = output_of("vtactl list", &status);

	EXPECT_EQ(0, status);
	EXPECT_EQ(0, strncmp(text, "vta0  /dev/vta0  0000:", 22));
	if (!access("/dev/vta1", F_OK))
		EXPECT_NE(NULL, strstr(text, "vta1  /dev/vta1  0000:"));
	free(text);
}

TEST(status_text_is_readable)
{
	int status;
	char *text = output_of("vtactl status --all", &status);

	EXPECT_EQ(0, status);
	EXPECT_NE(NULL, strstr(text, "vta0"));
	EXPECT_NE(NULL, strstr(text, "LOG_BLOCK"));
	free(text);
}

TEST(status_agrees_with_the_card)
{
	struct json_object *object;
	struct vta_info info;
	struct queue q;
	struct mem mem;
	int fd = card_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, queue_open(fd, &q, NULL));
	ASSERT_EQ(0, mem_alloc(fd, &mem, 1 << 20, VTA_BUF_CARD, 0));
	ASSERT_EQ(0, queue_do(&q, desc_op(VTA_OP_NOP)));
	ASSERT_EQ(0, card_ioctl(fd, VTA_IOCTL_INFO, &info));
	object = status_of_card_0();
	ASSERT_NE(NULL, object);
	EXPECT_EQ(0, number(object, NULL, "index"));
	EXPECT_EQ(info.mem_size, number(object, "memory", "size"));
	EXPECT_EQ(info.mem_size - (1 << 20), number(object, "memory", "free"));
	EXPECT_EQ(info.queues, number(object, "queues", "total"));
	EXPECT_EQ(1, number(object, "queues", "used"));
	EXPECT_EQ(info.contexts, number(object, "contexts", "total"));
	EXPECT_EQ(1, number(object, "contexts", "used"));
	EXPECT_EQ(info.clock_khz, number(object, NULL, "clock_khz"));
	EXPECT_EQ(info.vectors, number(object, NULL, "vectors"));
	EXPECT_EQ(info.log_block, number(object, "config", "LOG_BLOCK"));
	EXPECT_EQ(info.log_acc_buff_size, number(object, "config", "LOG_ACC_BUFF_SIZE"));
	EXPECT_EQ(card_counter("descriptors"), number(object, "counters", "descriptors"));
	close(fd);
}

TEST(unknown_card_is_an_error)
{
	int status;

	free(output_of("vtactl status 77 2>&1", &status));
	EXPECT_NE(0, status);
}

TEST_HARNESS_MAIN
