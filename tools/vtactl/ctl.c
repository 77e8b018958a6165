// SPDX-License-Identifier: GPL-2.0-only
/*
 * ctl.c - code that the verbs of vtactl share
 */
#include <errno.h>
#include <grp.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

int ctl_fail(const char *subject, const char *why)
{
	fprintf(stderr, "%s: %s%s%s\n", cli_name(), subject, *subject ? ": " : "", why);
	return CTL_ERROR;
}

int ctl_error(const char *subject, int err)
{
	ctl_fail(subject, vtadev_strerror(err));
	switch (-err) {
	case EACCES:
	case EPERM:
		return CTL_DENIED;
	case ENOENT:
		return CTL_NO_CARD;
	default:
		return CTL_ERROR;
	}
}

const char *ctl_why(struct vtadev *dev, int err, char text[VTADEV_LOST_TEXT_MAX])
{
	struct vtadev_lost lost;

	if (err != -ENODEV || vtadev_lost(dev, &lost) || lost.fate == VTA_FATE_NONE)
		return vtadev_strerror(err);
	vtadev_lost_text(&lost, text, VTADEV_LOST_TEXT_MAX);
	return text;
}

int64_t ctl_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void ctl_sleep_until(int64_t ns)
{
	const struct timespec ts = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

int ctl_set_seconds(const struct cli_option *option, char *text)
{
	double seconds;
	char *end;

	if (!text)
		return CTL_OK;
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= 0.1 && seconds <= 86400))
		return cli_usage("seconds are 0.1 to 86400, not %s", text);
	*(double *)option->to = seconds;
	return CTL_OK;
}

/* Prints that there is no card, or not @which, and what to do. */
static int report_no_card(const char *which)
{
	if (which)
		fprintf(stderr, "vtactl: there is no card %s; vtactl list shows all\n", which);
	else if (access("/sys/module/vta", F_OK))
		fprintf(stderr, "vtactl: no card: the driver is not loaded; as root: "
				"modprobe vta\n");
	else
		fprintf(stderr, "vtactl: no card: the driver is loaded but has found none; "
				"lspci -d 1234:5654 lists cards on the bus, dmesg says if the "
				"driver refused one\n");
	return CTL_NO_CARD;
}

static int find_all(struct vtadev_card **cards, size_t *count)
{
	int found = vtadev_list(cards);

	if (found < 0)
		return ctl_error("looking for cards", found);
	*count = (size_t)found;
	if (found)
		return CTL_OK;
	vtadev_list_free(*cards);
	return report_no_card(NULL);
}

int ctl_card(const char *which, struct vtadev_card *card)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	int err = vtadev_find(which, card);

	if (err == -ENOENT)
		return report_no_card(which);
	if (!err && card->index == UINT_MAX)
		return cli_usage("a device in a program's process, not a card of the driver: %s",
				 card->node);
	if (err == -EINVAL)
		return cli_usage("not a name of a card: %s", which);
	if (err) {
		vtadev_open_text(which, why, sizeof(why));
		return ctl_fail(which ? which : "the first card", why);
	}
	return CTL_OK;
}

int ctl_card_or_device(const char *which, struct vtadev_card *card)
{
	if (!vtadev_find(which, card) && card->index == UINT_MAX)
		return CTL_OK;
	return ctl_card(which, card);
}

int ctl_cards(const char *which, struct vtadev_card **cards, size_t *count)
{
	int ret;

	if (!which)
		return find_all(cards, count);
	*cards = calloc(1, sizeof(**cards));
	if (!*cards)
		return ctl_error("looking for cards", -ENOMEM);
	*count = 1;
	ret = ctl_card(which, *cards);
	if (ret)
		vtadev_list_free(*cards);
	return ret;
}

void ctl_print_access(const struct vtadev_card *card)
{
	struct group *group;
	struct stat st;

	if (!access(card->node, R_OK | W_OK))
		return;
	if (errno != EACCES) {
		fprintf(stderr, "vtactl: %s: %s; does udev run?\n", card->node,
			strerror(errno));
		return;
	}
	group = stat(card->node, &st) ? NULL : getgrgid(st.st_gid);
	if (group && (st.st_mode & 0060) == 0060)
		fprintf(stderr, "vtactl: you may not open %s: become a member of its group; "
				"as root: usermod -aG %s USER, then log in again\n",
			card->node, group->gr_name);
	else
		fprintf(stderr, "vtactl: you may not open %s: its mode and group are for an "
				"administrator to change, by a udev rule\n",
			card->node);
}

int ctl_open(const struct vtadev_card *card, struct vtadev **dev)
{
	int err = vtadev_open(card->node, dev);

	if (err == -EACCES) {
		ctl_print_access(card);
		return CTL_DENIED;
	}
	if (!err)
		return CTL_OK;
	ctl_error(card->node, err);
	return err == -ENODEV || err == -EPROTO ? CTL_BROKEN : CTL_ERROR;
}

int ctl_print_json(struct json_object *object, bool one_line)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE |
		    (one_line ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_PRETTY);
	int ret = puts(json_object_to_json_string_ext(object, flags)) < 0 ? CTL_ERROR : CTL_OK;

	json_object_put(object);
	return ret;
}
