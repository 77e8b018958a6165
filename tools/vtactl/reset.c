// SPDX-License-Identifier: GPL-2.0-only
/*
 * reset.c - vtactl reset: take a card from everybody and start it anew
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl.h"

static const char help[] =
	"Usage: vtactl reset [--force] CARD\n"
	"\n"
	"Take the card from all who use it and start it anew: by a soft reset or, if that does\n"
	"not help, by a Function Level Reset. Brings back a card that was given up. Every file\n"
	"that is open has lost the card then, and what was in its memory; programs must open it\n"
	"again. Returns when the card works. For root only.\n"
	"\n"
	"  -f, --force  also if somebody uses it\n"
	"  -h, --help   this text\n";

static int open_attr(const struct vtadev_card *card, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/vta/vta%u/%s", card->index, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* How many have it open; none, if nobody can tell. */
static unsigned long users_of(const struct vtadev_card *card)
{
	int fd = open_attr(card, "contexts_used", O_RDONLY);
	char text[24] = "";

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtoul(text, NULL, 10);
}

static int reset(const struct vtadev_card *card)
{
	int fd = open_attr(card, "reset", O_WRONLY);
	int err = 0;

	if (fd < 0)
		return fd;
	if (write(fd, "1", 1) != 1)
		err = -errno;
	close(fd);
	return err;
}

static int say_error(const char *node, int err)
{
	switch (-err) {
	case EACCES:
	case EPERM:
		ctl_fail(node, "only root may reset a card, for it is taken from all who use it");
		return CTL_DENIED;
	case ENOENT:
		ctl_fail(node,
			 "the card was removed just now, or the driver is older than this tool");
		return CTL_NO_CARD;
	default:
		ctl_fail(node,
			 "the card did not come back and was given up: power it off and on");
		return CTL_BROKEN;
	}
}

int reset_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct vtadev_card card;
	bool force = false;
	int option, err;

	while ((option = getopt_long(argc, argv, "fh", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			force = true;
			break;
		case 'h':
			return ctl_help(help);
		default:
			return CTL_USAGE;	/* getopt has said why */
		}
	}
	if (optind == argc)
		return ctl_usage("which card", "");
	err = ctl_card(argc - optind, argv + optind, &card);
	if (err)
		return err;
	if (!force && users_of(&card)) {
		ctl_fail(card.node,
			 "is in use, and would be lost to who has it open; --force does it");
		return CTL_BUSY;
	}
	err = reset(&card);
	return err ? say_error(card.node, err) : CTL_OK;
}
