// SPDX-License-Identifier: GPL-2.0-only
/*
 * monitor.c - vtactl monitor: print events of cards
 *
 * The driver sends uevents (docs/operating.md), which come from the kernel itself: they need no
 * daemon and no permission.
 */
#include <errno.h>
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

/* Holds a burst of events while this program is not scheduled. */
#define BUFFER	(1 << 20)

struct request {
	char name[16];		/* of the card; empty: all */
	bool json;
	unsigned long count;	/* of events; 0: without end */
	unsigned int timeout_s;	/* 0: without end */
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
	"monitor needs no permission. vtactl status --all shows root whose queues halted.\n";

/* ---- An event ---- */

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

/* The name of an event, or NULL if it is none of a card. */
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

/* Prints an event of the card; false if it is none. */
static bool print_event(struct udev_device *device, const struct request *r)
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

/* ---- Events ---- */

static int follow(struct udev_monitor *monitor, int signals, const struct request *r)
{
	struct pollfd fds[2] = {
		{ .fd = udev_monitor_get_fd(monitor), .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	unsigned long printed = 0;

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		struct udev_device *device = udev_monitor_receive_device(monitor);

		if (device) {
			printed += print_event(device, r);
			udev_device_unref(device);
		} else if (errno == ENOBUFS) {
			ctl_fail("events", "some were lost: too many came at once");
		}
		if (ferror(stdout) || (r->count && printed >= r->count))
			break;
	}
	return CTL_OK;
}

/* A signal ends it, and SIGALRM after the time. */
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
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals >= 0) {
		alarm(r->timeout_s);
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

static int parse(int argc, char **argv, struct request *r)
{
	const struct cli_option options[] = {
		{ CLI_NUMBER("count", &r->count, 1, 1000000000) },
		{ CLI_FLAG("json", &r->json) },
		{ CLI_NUMBER("timeout", &r->timeout_s, 1, 1000000) },
		{ 0 },
	};
	struct vtadev_card card;
	int ret = cli_options(help, options, 1, &argc, &argv);

	if (ret != CLI_GO || !argc)
		return ret;
	ret = ctl_card(argv[0], &card);
	if (ret)
		return ret;
	snprintf(r->name, sizeof(r->name), "vta%u", card.index);
	return CLI_GO;
}

int monitor_main(int argc, char **argv)
{
	struct request r = { 0 };
	int ret = parse(argc, argv, &r);
	struct udev *udev;

	if (ret != CLI_GO)
		return ret;
	udev = udev_new();
	if (!udev)
		return ctl_error("monitor", -ENOMEM);
	ret = listen_to(udev, &r);
	udev_unref(udev);
	return ret;
}
