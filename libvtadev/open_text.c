// SPDX-License-Identifier: Apache-2.0
/*
 * open_text.c - describe why a card or device cannot be opened, and the command that helps
 */
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dev.h"
#include "local/local.h"

static int describe_absence(bool any, char *text, size_t size)
{
	if (!card_has_sysfs())
		return snprintf(text, size, "no card found, as /sys is not mounted; as root: "
				"mount -t sysfs none /sys; a path such as /dev/vta0 needs no /sys");
	if (!any)
		return snprintf(text, size, "there is no such card; vtactl list --all shows cards "
				"and devices");
	if (access("/sys/module/vta", F_OK))
		return snprintf(text, size, "no card: the driver is not loaded; as root: modprobe "
				"vta; vtactl list --all shows devices that need no card, such as "
				"VTADEV_DEVICE=soft");
	return snprintf(text, size, "no card: the driver is loaded but has found none; lspci -d "
			"1234:5654 lists cards on the bus, dmesg says if the driver refused one; "
			"vtactl list --all shows devices that need no card, such as "
			"VTADEV_DEVICE=soft");
}

static int describe_denial(const char *node, char *text, size_t size)
{
	struct group group, *found = NULL;
	char names[4096];
	struct stat st;

	if (!stat(node, &st) && st.st_gid && (st.st_mode & 0060) == 0060)
		getgrgid_r(st.st_gid, &group, names, sizeof(names), &found);
	if (found)
		return snprintf(text, size, "you may not open %.64s: become a member of its group; "
				"as root: usermod -aG %.64s USER, then log in again",
				node, found->gr_name);
	return snprintf(text, size, "you may not open %.64s: its group and mode are not those of "
			"this project's udev rules; install them, then as root: udevadm trigger "
			"--subsystem-match=vta", node);
}

static int describe_error(const char *which, int err, char *text, size_t size)
{
	struct vtadev_card card;
	const char *node = which;

	if (!card_is_path(which)) {
		node = NULL;
		if (!vtadev_find(which, &card) && card_is_path(card.node))
			node = card.node;
	}
	if (err == -EINVAL)
		return snprintf(text, size, "not the index, name, path or PCI address of a card, "
				"nor the name of a device; vtactl list --all shows all of them");
	if (err == -ENOENT && node == which && which)
		return snprintf(text, size, "there is no card at this path; vtactl list --all "
				"shows cards and devices");
	if (err == -ENOENT && node)
		return snprintf(text, size, "the driver has the card, but there is no %.64s; "
				"does udev run?", node);
	if (err == -ENOENT)
		return describe_absence(!which, text, size);
	if (err == -EACCES && node)
		return describe_denial(node, text, size);
	if (err == -EPERM && node)
		return snprintf(text, size, "this container or job may not open %.64s: it has to "
				"be started with the card (podman run --device=%.64s)", node, node);
	return snprintf(text, size, "%s%s%s", node && node != which ? node : "",
			node && node != which ? ": " : "", vtadev_strerror(err));
}

int vtadev_open_text(const char *which, char *text, size_t size)
{
	const char *named = which && *which ? which : NULL, *used = card_or_default(which);
	char why[VTADEV_DEVICE_WHY_MAX] = "", reason[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	int err;

	err = dev_open(which, &dev, why, sizeof(why));
	if (err && !*why)
		describe_error(used && *used ? used : NULL, err, reason, sizeof(reason));
	else if (err)
		snprintf(reason, sizeof(reason), "%s", why);
	if (!err) {
		vtadev_close(dev);
		return snprintf(text, size, "it can be opened");
	}
	if (named || !used || !*used)
		return snprintf(text, size, "%s", reason);
	return snprintf(text, size, "VTADEV_DEVICE=%.64s: %s", used, reason);
}
