// SPDX-License-Identifier: GPL-2.0-only
/*
 * ctl.c - code that the verbs of vtactl share
 */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "progress.h"

int ctl_fail(const char *subject, const char *why)
{
	progress_clear();
	fprintf(stderr, "%s: %s%s%s\n", cli_name(), subject, *subject ? ": " : "", why);
	return CTL_ERROR;
}

static int status_of(int err)
{
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

int ctl_error(const char *subject, int err)
{
	ctl_fail(subject, vtadev_strerror(err));
	return status_of(err);
}

int ctl_refused(const char *subject, const char *why, int err)
{
	ctl_fail(subject, why);
	if (err == -ENODEV || err == -EPROTO)
		return CTL_BROKEN;
	return err == -EINVAL ? CLI_USAGE : status_of(err);
}

int ctl_not_open(const char *which, int err)
{
	char why[VTADEV_OPEN_TEXT_MAX];

	vtadev_open_text(which, why, sizeof(why));
	return ctl_refused(which ? which : "", why, err);
}

int ctl_written(const char *path, int err)
{
	if (!err)
		return CTL_OK;
	ctl_fail(path, strerror(-err));
	return err == -EACCES || err == -EPERM ? CTL_DENIED : CTL_ERROR;
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

int ctl_not_listed(int err)
{
	if (err != -ENOENT)
		return ctl_error("looking for cards", err);
	/* A device that it names is no card of the driver's. */
	unsetenv("VTADEV_DEVICE");
	return ctl_not_open(NULL, err);
}

bool ctl_is_device(const struct vtadev_card *card)
{
	return card->index == UINT_MAX;
}

/*
 * Appends the device that VTADEV_DEVICE names, if it is one in the process. Prints the reason if
 * there is none of the name; returns the exit status.
 */
static int add_device(struct vtadev_card **cards, int *count)
{
	const char *name = getenv("VTADEV_DEVICE");
	struct vtadev_card *more, card;
	int err;

	if (!name || !*name)
		return CTL_OK;
	err = vtadev_find(NULL, &card);
	if (err)
		return ctl_not_open(NULL, err);
	if (!ctl_is_device(&card))
		return CTL_OK;
	more = reallocarray(*count > 0 ? *cards : NULL, *count > 0 ? (size_t)*count + 1 : 1,
			    sizeof(*more));
	if (!more)
		return ctl_error(name, -ENOMEM);
	*cards = more;
	*count = *count > 0 ? *count + 1 : 1;
	more[*count - 1] = card;
	return CTL_OK;
}

static int find_all(struct vtadev_card **cards, size_t *count, bool devices)
{
	int found = vtadev_list(cards), ret = CTL_OK;

	if (!found && devices)
		vtadev_list_free(*cards);
	if (devices)
		ret = add_device(cards, &found);
	if (found <= 0 && ret)
		return ret;
	if (found <= 0)
		return ctl_not_listed(found ? found : -ENOENT);
	*count = (size_t)found;
	return CTL_OK;
}

static int find_one(const char *which, struct vtadev_card *card, bool devices)
{
	int err = vtadev_find(which, card);

	if (!err && ctl_is_device(card) && !devices)
		return cli_usage("a device in a program's process, not a card of the driver: %s",
				 card->node);
	if (err == -ENOTTY)
		return ctl_fail(which ? which : "VTADEV_DEVICE", "not a card of the driver's, or "
				"/sys is not mounted, which has its state");
	return err ? ctl_not_open(which, err) : CTL_OK;
}

int ctl_card(const char *which, struct vtadev_card *card)
{
	return find_one(which, card, false);
}

static int find_cards(const char *which, struct vtadev_card **cards, size_t *count, bool devices)
{
	int ret;

	if (!which)
		return find_all(cards, count, devices);
	*cards = calloc(1, sizeof(**cards));
	if (!*cards)
		return ctl_error("looking for cards", -ENOMEM);
	*count = 1;
	ret = find_one(which, *cards, devices);
	if (ret)
		vtadev_list_free(*cards);
	return ret;
}

int ctl_cards(const char *which, struct vtadev_card **cards, size_t *count)
{
	return find_cards(which, cards, count, false);
}

int ctl_cards_or_devices(const char *which, struct vtadev_card **cards, size_t *count)
{
	return find_cards(which, cards, count, true);
}

void ctl_print_access(const struct vtadev_card *card)
{
	if (access(card->node, R_OK | W_OK))
		ctl_not_open(card->node, -errno);
}

int ctl_open(const char *which, struct vtadev **dev)
{
	int err = vtadev_open(which, dev);

	return err ? ctl_not_open(which, err) : CTL_OK;
}

int ctl_print_json(struct json_object *object, bool one_line)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE |
		    (one_line ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_PRETTY);
	int ret = puts(json_object_to_json_string_ext(object, flags)) < 0 ? CTL_ERROR : CTL_OK;

	json_object_put(object);
	return ret;
}
