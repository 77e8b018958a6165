// SPDX-License-Identifier: GPL-2.0-only
/*
 * reset.c - vtactl reset: reset a card, which revokes it from all its users
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl.h"
#include "holders.h"

static const char help[] =
	"Usage: vtactl reset [--force] CARD\n"
	"\n"
	"Resets the card by a soft reset or, if that does not help, by a Function Level Reset.\n"
	"This also brings back a card that was given up. Programs that have the card open lose\n"
	"it and the contents of its memory, and must open it again. reset returns when the card\n"
	"works. Only root may reset a card. At a terminal, vtactl asks before the reset.\n"
	"\n"
	"  -f, --force  reset even if the card is in use, and without asking\n"
	"  -h, --help   print this text\n";

static int open_attr(const struct vtadev_card *card, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/vta/vta%u/%s", card->index, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The number of contexts in use; 0 if it cannot be read. */
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

/* Users in namespaces that are not visible here are only counted. */
static int report_users(const struct vtadev_card *card, unsigned long users)
{
	struct holder *holders;
	int count = holders_find(&holders);

	ctl_fail(card->node,
		 "is in use: a reset would take it from these programs; --force resets anyway");
	for (int i = 0; i < count; i++) {
		const struct holder *h = &holders[i];

		if (h->card != card->index)
			continue;
		fprintf(stderr, "  process %d (%s) of %s\n", (int)h->pid, h->command, h->user);
		users -= users > 0;
	}
	if (users)
		fprintf(stderr, "  and %lu not visible here\n", users);
	if (count >= 0)
		free(holders);
	return CTL_BUSY;
}

static bool confirm(const struct vtadev_card *card)
{
	char answer[16];

	if (!isatty(STDIN_FILENO))
		return true;
	fprintf(stderr, "Reset %s (%s)? [y/N] ", card->node, card->pci);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

static int reset(const struct vtadev_card *card, int fd)
{
	int err, now;

	if (write(fd, "1", 1) == 1)
		return 0;
	err = -errno;
	/* Does the card not come back, or was it removed, with its file? */
	now = open_attr(card, "reset", O_WRONLY);
	if (now >= 0)
		close(now);
	return err == -ENODEV && now == -ENOENT ? now : err;
}

static int report_error(const char *node, int err)
{
	switch (-err) {
	case EACCES:
	case EPERM:
		ctl_fail(node, "only root may reset a card: a reset affects all its users");
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

static int ask_and_reset(const struct vtadev_card *card, int fd, bool force)
{
	unsigned long users = users_of(card);
	int err;

	if (!force && !users) {
		if (!confirm(card))
			return ctl_fail(card->node, "has not been reset");
		/* The card may have been opened meanwhile. */
		users = users_of(card);
	}
	if (!force && users)
		return report_users(card, users);
	err = reset(card, fd);
	return err ? report_error(card->node, err) : CTL_OK;
}

int reset_main(int argc, char **argv)
{
	bool force = false;
	const struct cli_option options[] = { { CLI_FLAG("force", &force) }, { 0 } };
	struct vtadev_card card = { 0 };
	int ret = cli_options(help, options, 1, &argc, &argv), fd;

	if (ret != CLI_GO)
		return ret;
	ret = argc ? ctl_card(argv[0], &card) : cli_usage("which card");
	if (ret)
		return ret;
	/*
	 * Open first: a user without permission is refused before the question. And the open file
	 * names this card, not a later one with the same number.
	 */
	fd = open_attr(&card, "reset", O_WRONLY);
	if (fd < 0)
		return report_error(card.node, fd);
	ret = ask_and_reset(&card, fd, force);
	close(fd);
	return ret;
}
