// SPDX-License-Identifier: GPL-2.0-only
/*
 * monitor.c - vtactl monitor: what happens to cards, as it happens
 *
 * The driver tells by uevents (docs/operating.md), which come from the kernel itself:
 * no daemon is needed, and no permission.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <libudev.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"

/* Enough for a burst while this is not scheduled. */
#define BUFFER	(1 << 20)

struct request {
	char name[16];		/* of the card; empty: all */
	bool json;
	unsigned long count;	/* of events; 0: without end */
	int timeout_ms;		/* -1: without end */
};

static const char help[] =
	"Usage: vtactl monitor [--json] [--count=N] [--timeout=SECONDS] [CARD]\n"
	"\n"
	"Prints a line for each event of a card, as it happens:\n"
	"\n"
	"  added     the driver was bound to a card\n"
	"  removed   the card was removed, or the driver unbound\n"
	"  fault     a queue has halted: queue, reason, left_out (number of earlier faults\n"
	"            that were not reported, because there were too many)\n"
	"  reset     the card was reset: reason, generation, error (0)\n"
	"  given-up  the driver gave the card up: reason, generation, error\n"
	"\n"
	"  -j, --json             print each event as an object on a line\n"
	"  -n, --count=N          end after N events\n"
	"  -t, --timeout=SECONDS  end after SECONDS\n"
	"  -h, --help             print this text\n"
	"\n"
	"monitor needs no permission. vtactl status shows root the owner of a queue that halted.\n";

/* ---- One event ---- */

static struct json_object *value_of(const char *text)
{
	char *end;
	long long number = strtoll(text, &end, 10);

	return *text && !*end ? json_object_new_int64(number) : json_object_new_string(text);
}

static void add_properties(struct udev_device *device, struct json_object *event)
{
	static const struct {
		const char *property, *key;
	} all[] = {
		{ "VTA_QUEUE", "queue" },
		{ "VTA_REASON", "reason" },
		{ "VTA_LEFT_OUT", "left_out" },
		{ "VTA_GENERATION", "generation" },
		{ "VTA_ERROR", "error" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const char *value = udev_device_get_property_value(device, all[i].property);

		if (value)
			json_object_object_add(event, all[i].key, value_of(value));
	}
}

/* NULL if it is of no interest. */
static const char *event_of(struct udev_device *device)
{
	const char *action = udev_device_get_action(device);

	if (!action)
		return NULL;
	if (!strcmp(action, "add"))
		return "added";
	if (!strcmp(action, "remove"))
		return "removed";
	if (!strcmp(action, "change"))
		return udev_device_get_property_value(device, "VTA_EVENT");
	return NULL;
}

static void print_text(struct json_object *event)
{
	const char *separator = "";

	json_object_object_foreach(event, key, value) {
		bool bare = !strcmp(key, "time") || !strcmp(key, "card") || !strcmp(key, "event");

		printf("%s%s%s%s", separator, bare ? "" : key, bare ? "" : "=",
		       json_object_get_string(value));
		separator = " ";
	}
	printf("\n");
}

/* Whether it counts. */
static bool tell(struct udev_device *device, const struct request *r)
{
	const char *name = udev_device_get_sysname(device), *what = event_of(device);
	struct json_object *event;
	struct timespec now;
	char text[40], at[64];
	struct tm tm;

	if (!what || !name || (r->name[0] && strcmp(r->name, name)))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(at, sizeof(at), "%s.%03ldZ", text, now.tv_nsec / 1000000);
	event = json_object_new_object();
	json_object_object_add(event, "time", json_object_new_string(at));
	json_object_object_add(event, "card", json_object_new_string(name));
	json_object_object_add(event, "event", json_object_new_string(what));
	add_properties(device, event);
	if (r->json) {
		ctl_print_json(event, true);
	} else {
		print_text(event);
		json_object_put(event);
	}
	fflush(stdout);
	return true;
}

/* ---- Until the end ---- */

static int follow(struct udev_monitor *monitor, int signals, const struct request *r)
{
	struct pollfd fds[2] = {
		{ .fd = udev_monitor_get_fd(monitor), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	unsigned long told = 0;
	struct timespec start, now;
	int left = r->timeout_ms;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (poll(fds, 2, left) > 0 && !fds[1].revents) {
		struct udev_device *device = udev_monitor_receive_device(monitor);

		if (device) {
			told += tell(device, r);
			udev_device_unref(device);
		} else if (errno == ENOBUFS) {
			ctl_fail("events", "some were lost: too many came at once");
		}
		if (ferror(stdout) || (r->count && told >= r->count))
			break;
		if (r->timeout_ms < 0)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &now);
		left = r->timeout_ms - (int)((now.tv_sec - start.tv_sec) * 1000 +
					     (now.tv_nsec - start.tv_nsec) / 1000000);
		if (left <= 0)
			break;
	}
	return CTL_OK;
}

static int listen_to(struct udev *udev, const struct request *r)
{
	struct udev_monitor *monitor = udev_monitor_new_from_netlink(udev, "kernel");
	int ret = CTL_ERROR, signals;
	sigset_t set;

	if (!monitor ||
	    udev_monitor_filter_add_match_subsystem_devtype(monitor, "vta", NULL) < 0 ||
	    udev_monitor_enable_receiving(monitor) < 0) {
		ctl_fail("the kernel's events",
			 "cannot be listened to; in a container, listen on the host");
		udev_monitor_unref(monitor);
		return CTL_ERROR;
	}
	udev_monitor_set_receive_buffer_size(monitor, BUFFER);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals >= 0) {
		fprintf(stderr, "vtactl: monitor: listening\n");
		ret = follow(monitor, signals, r);
		close(signals);
	} else {
		ctl_fail("signals", strerror(errno));
	}
	udev_monitor_unref(monitor);
	return ret;
}

/* ---- The verb ---- */

/* -1 to continue, otherwise the exit status. */
static int parse(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "timeout", required_argument, NULL, 't' },
		{ 0 },
	};
	struct vtadev_card card;
	unsigned long seconds;
	int option, ret;

	while ((option = getopt_long(argc, argv, "hjn:t:", options, NULL)) != -1) {
		switch (option) {
		case 'h':
			return ctl_help(help);
		case 'j':
			r->json = true;
			break;
		case 'n':
			if (!ctl_number(optarg, 1, 1000000000, &r->count))
				return ctl_usage("not a number of events: ", optarg);
			break;
		case 't':
			if (!ctl_number(optarg, 1, 1000000, &seconds))
				return ctl_usage("not a number of seconds: ", optarg);
			r->timeout_ms = (int)seconds * 1000;
			break;
		default:
			return CTL_USAGE;	/* getopt has said why */
		}
	}
	if (optind == argc)
		return -1;
	ret = ctl_card(argc - optind, argv + optind, &card);
	if (ret)
		return ret;
	snprintf(r->name, sizeof(r->name), "vta%u", card.index);
	return -1;
}

int monitor_main(int argc, char **argv)
{
	struct request r = { .timeout_ms = -1 };
	int ret = parse(argc, argv, &r);
	struct udev *udev;

	if (ret >= 0)
		return ret;
	udev = udev_new();
	if (!udev)
		return ctl_error("monitor", -ENOMEM);
	ret = listen_to(udev, &r);
	udev_unref(udev);
	return ret;
}
