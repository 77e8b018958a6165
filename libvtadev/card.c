// SPDX-License-Identifier: Apache-2.0
/*
 * card.c - find cards through libudev
 *
 * Only sysfs is read, so this works without a udev daemon too (a container, an
 * initramfs).
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libudev.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dev.h"
#include "fd.h"
#include "local/local.h"
#include "vtadev.h"

#define SUBSYSTEM	"vta"

/* A decimal number and nothing else. */
static bool parse_index(const char *s, unsigned int *index)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	value = strtoul(s, &end, 10);
	if (*end || errno || value >= UINT_MAX)
		return false;
	*index = (unsigned int)value;
	return true;
}

/* Copy @src if it fits. */
static bool copy_name(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);

	if (len >= size)
		return false;
	memcpy(dst, src, len + 1);
	return true;
}

/* False if @dev is not a card, or is just going away. */
static bool describe(struct udev_device *dev, struct vtadev_card *card)
{
	const char *subsystem = udev_device_get_subsystem(dev);
	const char *number = udev_device_get_sysnum(dev);
	const char *node = udev_device_get_devnode(dev);
	struct udev_device *pci;

	memset(card, 0, sizeof(*card));
	if (!subsystem || strcmp(subsystem, SUBSYSTEM) != 0 || !number || !node)
		return false;
	if (!parse_index(number, &card->index) ||
	    !copy_name(card->node, sizeof(card->node), node))
		return false;

	pci = udev_device_get_parent_with_subsystem_devtype(dev, "pci", NULL);
	if (pci)
		copy_name(card->pci, sizeof(card->pci),
			  udev_device_get_sysname(pci));
	return true;
}

static int by_index(const void *a, const void *b)
{
	const struct vtadev_card *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Append one card. */
static int add_card(struct vtadev_card **cards, size_t *count,
		    const struct vtadev_card *card)
{
	struct vtadev_card *more;

	more = realloc(*cards, (*count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	more[(*count)++] = *card;
	*cards = more;
	return 0;
}

/*
 * A container's /dev has the nodes of its own cards, and sysfs all cards of the machine: leave out
 * the others. All can be listed if none has a node, as in a service with a private /dev.
 */
static size_t drop_hidden(struct vtadev_card *cards, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!access(cards[i].node, F_OK))
			cards[kept++] = cards[i];
	return kept ? kept : count;
}

bool card_has_sysfs(void)
{
	return !access("/sys/class", F_OK);
}

int vtadev_list(struct vtadev_card **cards)
{
	struct udev_list_entry *entry;
	struct vtadev_card *found = NULL;
	struct udev_enumerate *scan;
	size_t count = 0;
	struct udev *udev;
	int err = -ENOMEM;

	if (!card_has_sysfs())
		return -ENOENT;
	udev = udev_new();
	if (!udev)
		return -ENOMEM;
	scan = udev_enumerate_new(udev);
	if (!scan)
		goto unref_udev;
	if (udev_enumerate_add_match_subsystem(scan, SUBSYSTEM) < 0 ||
	    udev_enumerate_scan_devices(scan) < 0)
		goto unref_scan;

	udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(scan)) {
		const char *path = udev_list_entry_get_name(entry);
		struct udev_device *dev;
		struct vtadev_card card;
		bool good;

		dev = udev_device_new_from_syspath(udev, path);
		if (!dev)
			continue;	/* gone since the scan */
		good = describe(dev, &card);
		udev_device_unref(dev);
		if (good && add_card(&found, &count, &card))
			goto unref_scan;
	}

	if (count) {
		count = drop_hidden(found, count);
		qsort(found, count, sizeof(*found), by_index);
	}
	*cards = found;
	found = NULL;
	err = (int)count;

unref_scan:
	free(found);
	udev_enumerate_unref(scan);
unref_udev:
	udev_unref(udev);
	return err;
}

void vtadev_list_free(struct vtadev_card *cards)
{
	free(cards);
}

/* The meanings of a name that is not a path. */
struct choice {
	bool any;
	const char *pci;	/* else by index */
	unsigned int index;
};

static int parse_choice(const char *which, struct choice *choice)
{
	memset(choice, 0, sizeof(*choice));
	if (!which || !*which) {
		choice->any = true;
		return 0;
	}
	if (strchr(which, ':')) {
		choice->pci = which;
		return 0;
	}
	if (!strncmp(which, SUBSYSTEM, strlen(SUBSYSTEM)))
		which += strlen(SUBSYSTEM);
	return parse_index(which, &choice->index) ? 0 : -EINVAL;
}

/* As lspci does, a domain of 0 may be left out. */
static bool same_pci(const char *a, const char *b)
{
	static const char domain[] = "0000:";

	if (!strncmp(a, domain, strlen(domain)))
		a += strlen(domain);
	if (!strncmp(b, domain, strlen(domain)))
		b += strlen(domain);
	return !strcasecmp(a, b);
}

static bool chosen(const struct choice *choice, const struct vtadev_card *card)
{
	if (choice->any)
		return true;
	if (choice->pci)
		return same_pci(choice->pci, card->pci);
	return choice->index == card->index;
}

const char *card_or_default(const char *which)
{
	return which && *which ? which : secure_getenv("VTADEV_DEVICE");
}

bool card_is_path(const char *which)
{
	return which && strchr(which, '/');
}

/*
 * sysfs has all cards of the machine, for all users. A container's /dev has those of the
 * container; in a cluster's job it has all, and the job's cgroup lets some be opened.
 */
static int reach(const struct vtadev_card *card)
{
	if (!access(card->node, R_OK | W_OK))
		return 2;
	return !access(card->node, F_OK);
}

static int find_choice(const char *which, struct vtadev_card *card)
{
	struct vtadev_card *cards;
	struct choice choice;
	int count, err;

	err = parse_choice(which, &choice);
	if (err)
		return err;
	count = vtadev_list(&cards);
	if (count < 0)
		return count;
	err = -ENOENT;
	for (int i = 0; i < count; i++) {
		if (!chosen(&choice, &cards[i]))
			continue;
		if (err || reach(&cards[i]) > reach(card))
			*card = cards[i];
		err = 0;
	}
	vtadev_list_free(cards);
	return err;
}

/*
 * The card behind a node. Returns 0 and, if @dir is given, opens its sysfs
 * directory there; or -ENOTTY if sysfs has no such card.
 */
static int find_node(const struct stat *st, struct vtadev_card *card, int *dir)
{
	struct vtadev_card found;
	struct udev_device *dev;
	struct udev *udev;
	int err = -ENOTTY;

	if (!S_ISCHR(st->st_mode))
		return -ENOTTY;
	udev = udev_new();
	if (!udev)
		return -ENOMEM;
	dev = udev_device_new_from_devnum(udev, 'c', st->st_rdev);
	if (dev && describe(dev, &found)) {
		*card = found;
		err = 0;
		if (dir)
			*dir = fd_above_streams(open(udev_device_get_syspath(dev),
						     O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	}
	if (dev)
		udev_device_unref(dev);
	udev_unref(udev);
	return err;
}

static struct vtadev_card device_card(const char *name, const char *args)
{
	struct vtadev_card card = { .index = UINT_MAX };

	if (snprintf(card.node, sizeof(card.node), "%s%s%s", name, *args ? ":" : "", args) < 0)
		card.node[0] = '\0';
	return card;
}

/* A device of a plugin's has no place but its name. */
static int find_device(const char *which, struct vtadev_card *card)
{
	const struct vtadev_device_ops *ops;
	char why[VTADEV_DEVICE_WHY_MAX];
	const char *args;
	int err;

	err = plugin_load(which, &ops, &args, why, sizeof(why));
	if (!err)
		*card = device_card(ops->name, args);
	return err;
}

struct devices {
	struct vtadev_card **cards;
	size_t count;
};

/* Devices of a plugin that cannot be loaded are left out. */
static int add_devices(const char *name, void *priv)
{
	const struct vtadev_device_ops *ops;
	char text[VTADEV_DEVICE_WHY_MAX];
	struct devices *devices = priv;
	struct vtadev_card card;
	const char *args;

	if (plugin_load(name, &ops, &args, text, sizeof(text)))
		return 0;
	for (unsigned int i = 0; !ops->list(i, text, sizeof(text)); i++) {
		card = device_card(ops->name, text);
		if (add_card(devices->cards, &devices->count, &card))
			return -ENOMEM;
	}
	return 0;
}

int vtadev_list_all(struct vtadev_card **out)
{
	struct vtadev_card *cards = NULL;
	struct devices devices = { .cards = &cards };
	int err = vtadev_list(&cards);

	if (err < 0 && err != -ENOENT)
		return err;
	devices.count = err < 0 ? 0 : (size_t)err;
	err = plugin_each(add_devices, &devices);
	if (err) {
		free(cards);
		return err;
	}
	*out = cards;
	return (int)devices.count;
}

int vtadev_find(const char *which, struct vtadev_card *card)
{
	struct stat st;

	which = card_or_default(which);
	if (plugin_is_name(which))
		return find_device(which, card);
	if (!card_is_path(which))
		return find_choice(which, card);
	if (stat(which, &st))
		return -errno;
	return find_node(&st, card, NULL);
}

int card_of_fd(int fd, struct vtadev_card *card)
{
	struct stat st;
	int dir = -1;

	if (fstat(fd, &st) || find_node(&st, card, &dir))
		return -ENODEV;
	return dir < 0 ? -ENODEV : dir;
}
