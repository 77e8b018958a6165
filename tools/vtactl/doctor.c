// SPDX-License-Identifier: GPL-2.0-only
/*
 * doctor.c - vtactl doctor: check this machine's installation
 *
 * Each line is a finding: ok, a warning, or what is broken with the command that mends it. No card
 * is opened; devices in the process are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bar.h"
#include "ctl.h"
#include "files.h"
#include "gather.h"
#include "vta_regs.h"

/* Programs that pin less than this are rare. */
#define MEMLOCK_LEAST	(64ull << 20)
#define TEXT		320

static const char help[] =
	"Usage: vtactl doctor [--json] [--color=WHEN]\n"
	"\n"
	"Checks this machine's installation: kernel, module, cards on the bus, their nodes and\n"
	"permissions, links and states, IOMMU, limits, devices in the process and OpenCL. Each\n"
	"line is ok, a warning, or broken, with the command that mends it. A report of a bug has\n"
	"these lines (CONTRIBUTING.md).\n"
	"\n"
	"  -j, --json        print an array of objects: check, state (ok, warning, broken), text and\n"
	"                    command, which is null if there is none\n"
	"      --color=WHEN  colours, without NO_COLOR in the environment: auto, always or never\n"
	"  -h, --help        print this text\n"
	"\n"
	"The exit status is 0, also with warnings, and 1 if something is broken. No permission is\n"
	"needed; root sees more.\n";

enum state { OK, WARNING, BROKEN };
static const char *const states[] = { "ok", "warning", "broken" };
static const enum colour colours[] = { COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED };

struct doctor {
	struct json_object *findings;	/* NULL: text */
	bool broken;
	struct vtadev_card *cards;
	size_t count;
};

__attribute__((format(printf, 5, 6)))
static void find(struct doctor *d, const char *check, enum state state, const char *command,
		 const char *format, ...)
{
	struct json_object *finding;
	char text[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	files_make_printable(text);
	d->broken |= state == BROKEN;
	if (!d->findings) {
		printf("%s%-7s%s  %-10s %s\n", colour_begin(colours[state]), states[state],
		       colour_end(colours[state]), check, text);
		if (command)
			printf("%18s -> %s\n", "", command);
		return;
	}
	finding = json_object_new_object();
	json_object_object_add(finding, "check", json_object_new_string(check));
	json_object_object_add(finding, "state", json_object_new_string(states[state]));
	json_object_object_add(finding, "text", json_object_new_string(text));
	json_object_object_add(finding, "command",
			       command ? json_object_new_string(command) : NULL);
	json_object_array_add(d->findings, finding);
}

/* ---- Kernel and module ---- */

static void check_kernel(struct doctor *d)
{
	struct utsname name;

	uname(&name);
	find(d, "kernel", OK, NULL, "%s %s on %s", name.sysname, name.release, name.machine);
	find(d, "vtactl", OK, NULL, "version %s", vtadev_version());
}

/* Returns true if a module is installed for the kernel that runs. */
static bool is_installed(void)
{
	char path[384], line[1024];
	struct utsname name;
	bool found = false;
	FILE *file;

	uname(&name);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", name.release);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':'), *slash;

		if (!colon)
			continue;
		*colon = '\0';
		slash = strrchr(line, '/');
		slash = slash ? slash + 1 : line;
		found = !strncmp(slash, "vta.ko", 6);
	}
	if (file)
		fclose(file);
	return found;
}

static bool is_loaded(const struct doctor *d)
{
	return d->count || !access("/sys/module/vta", F_OK);
}

static void check_module(struct doctor *d, unsigned int on_bus)
{
	char version[FILES_LINE];

	if (is_loaded(d)) {
		if (!files_line(AT_FDCWD, "/sys/module/vta/version", version))
			find(d, "module", OK, NULL, "loaded");
		else if (!strcmp(version, vtadev_version()))
			find(d, "module", OK, NULL, "version %s is loaded", version);
		else
			find(d, "module", WARNING, "modprobe -r vta && modprobe vta",
			     "version %s is loaded, the tools are %s; those of one major "
			     "version work together", version, vtadev_version());
		return;
	}
	if (!on_bus)
		find(d, "module", OK, NULL, "not loaded, and no card needs it");
	else if (is_installed())
		find(d, "module", BROKEN, "modprobe vta", "installed, but not loaded");
	else
		find(d, "module", BROKEN,
		     "apt install vta-dkms linux-headers-$(uname -r) && modprobe vta",
		     "not installed for this kernel");
}

/* ---- The bus ---- */

static bool is_card(int device)
{
	uint64_t vendor, id;

	return files_number(device, "vendor", &vendor) && vendor == VTA_PCI_VENDOR &&
	       files_number(device, "device", &id) && id == VTA_PCI_DEVICE;
}

static bool has_card(const struct doctor *d, const char *address)
{
	for (size_t i = 0; i < d->count; i++)
		if (!strcmp(d->cards[i].pci, address))
			return true;
	return false;
}

/* A card that no driver has, or another. */
static void check_driver(struct doctor *d, int device, const char *address)
{
	char link[PATH_MAX], command[160];
	ssize_t len = readlinkat(device, "driver", link, sizeof(link) - 1);
	const char *driver;

	link[len > 0 ? len : 0] = '\0';
	driver = strrchr(link, '/');
	driver = driver ? driver + 1 : link;
	if (has_card(d, address) || !is_loaded(d))
		return;
	snprintf(command, sizeof(command), *driver ? "echo %s > /sys/bus/pci/drivers/%s/unbind; "
		 "echo %s > /sys/bus/pci/drivers/vta/bind" : "dmesg | grep vta", address, driver,
		 address);
	find(d, "card", BROKEN, command, *driver ? "%s has the driver %s, not vta" :
	     "%s has no driver: the kernel's log says why vta refused it", address, driver);
}

/* Returns the number of cards on the bus, with a driver or without. */
static unsigned int check_bus(struct doctor *d)
{
	DIR *bus = opendir("/sys/bus/pci/devices");
	unsigned int found = 0;
	struct dirent *entry;

	while (bus && (entry = readdir(bus))) {
		int device;

		if (entry->d_name[0] == '.')
			continue;
		device = openat(dirfd(bus), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (device < 0)
			continue;
		if (is_card(device)) {
			found++;
			check_driver(d, device, entry->d_name);
		}
		close(device);
	}
	if (bus)
		closedir(bus);
	if (!found && !d->count)
		find(d, "card", WARNING, NULL, "none on the bus (%04x:%04x); programs can use a "
		     "device in the process: VTADEV_DEVICE=soft", VTA_PCI_VENDOR, VTA_PCI_DEVICE);
	return found;
}

/* ---- Cards ---- */

static void check_node(struct doctor *d, const struct vtadev_card *card, const char *name)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	struct stat st;

	if (stat(card->node, &st)) {
		find(d, name, BROKEN, "udevadm trigger --subsystem-match=vta",
		     "the driver has the card, but there is no %s", card->node);
		return;
	}
	if (!access(card->node, R_OK | W_OK)) {
		find(d, name, OK, NULL, "%s: you may open it (mode %04o)", card->node,
		     (unsigned int)st.st_mode & 07777);
		return;
	}
	/* Its text has the command. */
	vtadev_open_text(card->node, why, sizeof(why));
	find(d, name, BROKEN, NULL, "%s", why);
}

static void check_state(struct doctor *d, int dir, const char *name)
{
	char state[FILES_LINE], command[64];

	if (!files_line(dir, "state", state))
		return;
	snprintf(command, sizeof(command), "vtactl reset %s", name);
	if (!strcmp(state, "given up"))
		find(d, name, BROKEN, command, "given up: resets did not help, or were too many");
	else
		find(d, name, !strcmp(state, "resetting") ? WARNING : OK, NULL, "state: %s", state);
}

/* A card that sleeps is left asleep: reading its configuration space would wake it. */
static bool read_link(int dir, const char *address, struct link *link)
{
	char state[FILES_LINE];

	if (files_line(dir, "state", state) && !strcmp(state, "asleep"))
		return link_read_sysfs(dir, link);
	return link_read(address, link) || link_read_sysfs(dir, link);
}

static void check_link(struct doctor *d, int dir, const char *address, const char *name)
{
	struct link link;
	bool slow;

	if (!read_link(dir, address, &link)) {
		find(d, name, WARNING, NULL, "link: unknown; root may read it");
		return;
	}
	slow = link.speed < link.speed_max || link.width < link.width_max;
	find(d, name, slow ? WARNING : OK, NULL, "link: %.3g GT/s x%u of at most %.3g GT/s x%u%s",
	     link.speed, link.width, link.speed_max, link.width_max,
	     slow ? "; is the slot slower, or the card not seated well?" : "");
}

static void check_iommu(struct doctor *d, int dir, const char *name)
{
	char group[PATH_MAX];
	ssize_t len = readlinkat(dir, "device/iommu_group", group, sizeof(group) - 1);

	if (len > 0) {
		group[len] = '\0';
		find(d, name, OK, NULL, "IOMMU: group %s", strrchr(group, '/') ?
		     strrchr(group, '/') + 1 : group);
		return;
	}
	find(d, name, WARNING, NULL, "no IOMMU: a broken card reaches all memory; boot "
	     "with intel_iommu=on or amd_iommu=on (docs/security.md)");
}

static void check_card(struct doctor *d, const struct vtadev_card *card)
{
	int dir = files_card(card->index);
	char name[16];

	snprintf(name, sizeof(name), "vta%u", card->index);
	check_node(d, card, name);
	if (dir < 0)
		return;
	check_state(d, dir, name);
	if (card->pci[0]) {
		check_link(d, dir, card->pci, name);
		check_iommu(d, dir, name);
	}
	close(dir);
}

/* ---- Limits ---- */

static void check_memlock(struct doctor *d)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		find(d, "memlock", OK, NULL, "no limit for pinned memory");
	else if (limit.rlim_cur >= MEMLOCK_LEAST || !d->count)
		find(d, "memlock", OK, NULL, "%" PRIu64 " KiB of pinned memory",
		     (uint64_t)limit.rlim_cur / 1024);
	else
		find(d, "memlock", WARNING, "ulimit -l unlimited",
		     "%" PRIu64 " KiB of pinned memory; for all logins: memlock in "
		     "/etc/security/limits.conf", (uint64_t)limit.rlim_cur / 1024);
}

static void check_files(struct doctor *d)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	find(d, "files", limit.rlim_cur < 256 ? WARNING : OK,
	     limit.rlim_cur < 256 ? "ulimit -n 1024" : NULL, "%" PRIu64 " open files",
	     (uint64_t)limit.rlim_cur);
}

/* ---- Devices in the process ---- */

/* Those that a plugin lists, with blanks between. */
static void list_devices(const char *plugin, char *text, size_t size)
{
	struct vtadev_card *all;
	int count = vtadev_list_all(&all);
	size_t len = strlen(plugin), at = 0;

	text[0] = '\0';
	for (int i = 0; i < count; i++) {
		const char *node = all[i].node;

		if (all[i].index == UINT_MAX && !strncmp(node, plugin, len) &&
		    (!node[len] || node[len] == ':') && at + strlen(node) + 2 < size)
			at += (size_t)sprintf(text + at, "%s%s", at ? " " : "", node);
	}
	if (count >= 0)
		vtadev_list_free(all);
}

static void check_plugin(struct doctor *d, const char *plugin, const char *command)
{
	char why[VTADEV_OPEN_TEXT_MAX], devices[TEXT];
	struct vtadev *dev;
	int err;

	list_devices(plugin, devices, sizeof(devices));
	if (*devices) {
		find(d, plugin, OK, NULL, "%s", devices);
		return;
	}
	err = vtadev_open(plugin, &dev);
	if (!err) {
		vtadev_close(dev);
		find(d, plugin, OK, NULL, "%s", plugin);
		return;
	}
	vtadev_open_text(plugin, why, sizeof(why));
	find(d, plugin, WARNING, err == -ELIBACC ? NULL : command, "%s", why);
}

static void check_default(struct doctor *d)
{
	const char *device = getenv("VTADEV_DEVICE");
	char why[VTADEV_OPEN_TEXT_MAX];
	struct vtadev_card card;

	if (!device || !*device)
		return;
	if (!vtadev_find(NULL, &card)) {
		find(d, "device", OK, NULL, "VTADEV_DEVICE=%s", device);
		return;
	}
	vtadev_open_text(NULL, why, sizeof(why));
	find(d, "device", BROKEN, "unset VTADEV_DEVICE", "%s", why);
}

/* ---- The verb ---- */

static void check_all(struct doctor *d)
{
	struct vtadev_card *cards;
	int count = vtadev_list(&cards);
	unsigned int on_bus;

	d->cards = count > 0 ? cards : NULL;
	d->count = count > 0 ? (size_t)count : 0;
	check_kernel(d);
	if (count == -ENOENT)
		find(d, "sysfs", BROKEN, "mount -t sysfs none /sys", "/sys is not mounted");
	on_bus = check_bus(d);
	check_module(d, on_bus);
	for (size_t i = 0; i < d->count; i++)
		check_card(d, &d->cards[i]);
	check_memlock(d);
	check_files(d);
	check_plugin(d, "soft", "apt install libvtadev-soft");
	check_plugin(d, "opencl", count == -ENOENT ? "mount -t sysfs none /sys" :
				  "apt install pocl-opencl-icd");
	check_default(d);
	if (count >= 0)
		vtadev_list_free(cards);
}

int doctor_main(int argc, char **argv)
{
	uint32_t colour = COLOUR_AUTO;
	bool json = false;
	const struct cli_option options[] = {
		{ CLI_FLAG("json", &json) }, { CLI_WORD("color", &colour) }, { 0 },
	};
	int ret = cli_options(help, options, 0, &argc, &argv);
	struct doctor d = { 0 };

	if (ret != CLI_GO)
		return ret;
	colour_choose(colour);
	if (json)
		d.findings = json_object_new_array();
	check_all(&d);
	ret = json ? ctl_print_json(d.findings, false) : CTL_OK;
	return ret ? ret : d.broken ? CTL_ERROR : CTL_OK;
}
