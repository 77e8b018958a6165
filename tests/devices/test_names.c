// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_names.c - how devices of plugins are named, found and refused
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../frame.h"
#include "vtadev.h"
#include "vtadev_device.h"

static char self[PATH_MAX];	/* where this program and its plugin lie */

static int setup(void **state)
{
	(void)state;
	assert_non_null(realpath("/proc/self/exe", self));
	*strrchr(self, '/') = '\0';
	unsetenv("VTADEV_DEVICE");
	unsetenv("VTADEV_PLUGINS");
	return 0;
}

#define ENVIRONMENT void *unused, setup, NULL

static const char *why(const char *which)
{
	static char text[VTADEV_OPEN_TEXT_MAX];

	assert_true(vtadev_open_text(which, text, sizeof(text)) > 0);
	return text;
}

#define SAYS(which, words)	assert_non_null(strstr(why(which), words))

static void opens(const char *which)
{
	struct vtadev *dev = NULL;

	assert_int_equal(vtadev_open(which, &dev), 0);
	vtadev_close(dev);
}

static int refused(const char *which)
{
	struct vtadev *dev = NULL;
	int err = vtadev_open(which, &dev);

	assert_null(dev);
	return err;
}

TEST_F(ENVIRONMENT, a_plugin_lies_beside_the_library)
{
	struct vtadev_card card;
	struct vtadev *dev;

	assert_int_equal(vtadev_open("soft", &dev), 0);
	assert_string_equal(vtadev_info(dev)->card.node, "soft");
	assert_string_equal(vtadev_info(dev)->card.pci, "");
	assert_true(vtadev_info(dev)->card.index == UINT_MAX);
	assert_int_equal(vtadev_info(dev)->contract_major, 2);
	assert_int_equal(vtadev_info(dev)->block, 16);
	vtadev_close(dev);
	assert_int_equal(vtadev_find("soft", &card), 0);
	assert_string_equal(card.node, "soft");
	SAYS("soft", "it can be opened");
}

TEST_F(ENVIRONMENT, the_environment_chooses_if_the_program_does_not)
{
	struct vtadev_card card;

	setenv("VTADEV_DEVICE", "soft", 1);
	opens(NULL);
	opens("");
	assert_int_equal(vtadev_find(NULL, &card), 0);
	assert_string_equal(card.node, "soft");
	assert_int_equal(refused("vta4294967294"), -ENOENT);
	setenv("VTADEV_DEVICE", "no device", 1);
	assert_int_equal(refused(NULL), -EINVAL);
	SAYS(NULL, "VTADEV_DEVICE=no device: not the index");
	assert_null(strstr(why("nosuch"), "VTADEV_DEVICE"));
}

static void write_config(const char *path, const char *batch)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "{ \"TARGET\": \"sim\", \"HW_VER\": \"0.0.2\", \"LOG_INP_WIDTH\": 3,"
		"\"LOG_WGT_WIDTH\": 3, \"LOG_ACC_WIDTH\": 5, \"LOG_BATCH\": %s, \"LOG_BLOCK\": 3,"
		"\"LOG_UOP_BUFF_SIZE\": 12, \"LOG_INP_BUFF_SIZE\": 13,"
		"\"LOG_WGT_BUFF_SIZE\": 14, \"LOG_ACC_BUFF_SIZE\": 15 }\n", batch);
	assert_int_equal(fclose(file), 0);
}

TEST_F(ENVIRONMENT, a_configuration_is_an_argument)
{
	char path[] = "/tmp/vta-names.XXXXXX", which[64];
	const struct vtadev_info *info;
	struct vtadev *dev;

	assert_true(close(mkstemp(path)) == 0);
	snprintf(which, sizeof(which), "soft:%s", path);
	write_config(path, "1");
	assert_int_equal(vtadev_open(which, &dev), 0);
	info = vtadev_info(dev);
	assert_int_equal(info->batch, 2);
	assert_int_equal(info->block, 8);
	assert_string_equal(info->card.node, which);
	vtadev_close(dev);
	write_config(path, "12");
	assert_int_equal(refused(which), -EINVAL);
	SAYS(which, "LOG_BATCH is 12");
	unlink(path);
	assert_int_equal(refused(which), -EINVAL);
	SAYS(which, path);
}

TEST_F(ENVIRONMENT, missing_plugin_is_named_with_its_package)
{
	setenv("VTADEV_PLUGINS", "/nowhere", 1);
	assert_int_equal(refused("soft"), -ELIBACC);
	SAYS("soft", "no libvtadev-soft.so in /nowhere: install the package libvtadev-soft");
	SAYS("opencl:0.0", "in /nowhere: install the package libvtadev-opencl");
	assert_non_null(strstr(vtadev_strerror(-ELIBACC), "libvtadev-soft"));
	/* A name that was never a device's is refused. */
	assert_int_equal(refused("sofa"), -EINVAL);
	assert_int_equal(refused("sofa:1"), -ENOENT);
	assert_int_equal(refused("../soft"), -ENOENT);
	assert_int_equal(refused("Soft"), -EINVAL);
}

TEST_F(ENVIRONMENT, a_plugin_of_another_version_is_not_used)
{
	char dir[PATH_MAX + 8], words[96];

	snprintf(dir, sizeof(dir), "%s/odd", self);
	setenv("VTADEV_PLUGINS", dir, 1);
	assert_int_equal(refused("newer"), -ELIBBAD);
	snprintf(words, sizeof(words),
		 "of version %u of vtadev_device.h, and this library of version %u",
		 VTADEV_DEVICE_VERSION + 1, VTADEV_DEVICE_VERSION);
	SAYS("newer", words);
	assert_int_equal(refused("other"), -ELIBBAD);
	SAYS("other", "it has no vtadev_device_plugin");
	assert_int_equal(refused("text"), -ELIBBAD);
	SAYS("text", "libvtadev-text.so");
}

static void copy_plugin(const char *to)
{
	char from[PATH_MAX + 32], bytes[65536];
	size_t n;
	FILE *in, *out;

	snprintf(from, sizeof(from), "%s/libvtadev-soft.so", self);
	in = fopen(from, "r");
	out = fopen(to, "w");
	assert_true(in && out);
	while ((n = fread(bytes, 1, sizeof(bytes), in)))
		assert_int_equal(fwrite(bytes, 1, n, out), n);
	assert_int_equal(fclose(in), 0);
	assert_int_equal(fclose(out), 0);
}

/* Beside a program in /tmp, where every user can put a file. */
TEST_F(ENVIRONMENT, a_plugin_of_another_user_is_not_used)
{
	char dir[] = "/tmp/vta-plugins.XXXXXX", path[64];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/libvtadev-soft.so", dir);
	copy_plugin(path);
	setenv("VTADEV_PLUGINS", dir, 1);
	opens("soft");
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(refused("soft"), -ELIBBAD);
	SAYS("soft", "it must belong to you or root");
	assert_int_equal(chmod(path, 0644), 0);
	if (!geteuid()) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(refused("soft"), -ELIBBAD);
	}
	unlink(path);
	rmdir(dir);
}

static unsigned int listed(const char *node)
{
	struct vtadev_card *cards;
	unsigned int n = 0;
	int count = vtadev_list_all(&cards);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++)
		n += !strcmp(cards[i].node, node);
	vtadev_list_free(cards);
	return n;
}

TEST_F(ENVIRONMENT, devices_are_listed_once)
{
	struct vtadev_card *cards;
	char dir[PATH_MAX + 8];
	int count;

	assert_int_equal(listed("soft"), 1);
	/* Without those of plugins that cannot be loaded, and not among the cards. */
	snprintf(dir, sizeof(dir), "%s/odd", self);
	setenv("VTADEV_PLUGINS", dir, 1);
	assert_int_equal(listed("newer"), 0);
	setenv("VTADEV_PLUGINS", "/nowhere", 1);
	assert_int_equal(listed("soft"), 0);
	unsetenv("VTADEV_PLUGINS");
	count = vtadev_list(&cards);
	assert_true(count >= 0);
	for (int i = 0; i < count; i++)
		assert_string_not_equal(cards[i].node, "soft");
	vtadev_list_free(cards);
}
