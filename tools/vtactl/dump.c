// SPDX-License-Identifier: GPL-2.0-only
/*
 * dump.c - vtactl dump: a bundle for a bug report
 *
 * The bundle may be published: it has no contents of users' memory, and no names of users, programs
 * or the machine. Its README lists files that could not be read.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bundle.h"
#include "ctl.h"
#include "files.h"
#include "gather.h"
#include "holders.h"
#include "output.h"

#define FILE_MAX	(256 * 1024)
#define DEPTH_MAX	2
#define WORDS		"\n "

static const char help[] =
	"Usage: vtactl dump [--output=FILE] [CARD]\n"
	"\n"
	"Makes a tar file for a bug report: versions, status, sysfs, fdinfo, counters, the last\n"
	"faults and resets, the state of card and driver before the last reset or, without one\n"
	"in the last minutes, at present, configuration space, the module's lines of the kernel's\n"
	"log. The file contains no memory of users, and no names of users, programs or the\n"
	"machine. Run it as root if you can: other users cannot read everything, and the file\n"
	"lists what is missing. Without CARD, includes all cards; without any card, information\n"
	"on the machine.\n"
	"\n"
	"  -o, --output=FILE  write to FILE, - for standard output (vta-dump.tar)\n"
	"  -h, --help         print this text\n";

struct dump {
	struct bundle bundle;
	FILE *readme;
	int err;		/* of the first file that is not whole */
};

static FILE *begin_file(struct dump *dump, const char *name)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "files/%s", name);
	file = bundle_file(&dump->bundle, path);
	if (!file && !dump->err)
		dump->err = -errno;
	return file;
}

static void end_file(struct dump *dump, FILE *file)
{
	bool bad = ferror(file);

	errno = EIO;
	if ((fclose(file) || bad) && !dump->err)
		dump->err = -errno;
}

static void note_missing(struct dump *dump, const char *what, int err)
{
	fprintf(dump->readme, "not there: %s: %s\n", what, strerror(-err));
}

/* ---- Names ---- */

/* Drops " uid=.. comm=..", the last words of a line. */
static void drop_owner(char *line)
{
	char *at = strstr(line, " uid=");

	if (at)
		*at = '\0';
}

/* "queue 3 of NAME[17] halted" of the kernel's log: without NAME. */
static void drop_name(char *line)
{
	char *of = strstr(line, "queue "), *bracket;

	of = of ? strstr(of, " of ") : NULL;
	bracket = of ? strstr(of, "] halted") : NULL;
	while (bracket && bracket > of && *bracket != '[')
		bracket--;
	if (bracket && bracket > of + 4)
		memmove(of + 4, bracket, strlen(bracket) + 1);
}

static void put_lines(FILE *file, char *text, void (*drop)(char *line))
{
	char *line, *save;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		drop(line);
		fprintf(file, "%s\n", line);
	}
}

/* ---- Files of the kernel ---- */

/* Copies a file; @drop edits each line, or is NULL. */
static void copy_file(struct dump *dump, int dir, const char *from, const char *to,
		      void (*drop)(char *line))
{
	char *text = malloc(FILE_MAX);
	FILE *file;
	int err = text ? files_read(dir, from, text, FILE_MAX) : -ENOMEM;

	if (err) {
		note_missing(dump, to, err);
	} else {
		file = begin_file(dump, to);
		if (file && drop)
			put_lines(file, text, drop);
		else if (file)
			fputs(text, file);
		if (file)
			end_file(dump, file);
	}
	free(text);
}

/* Writes "1" to a file of the kernel; -errno. */
static int write_byte(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return err;
}

static bool is_wanted(const char *name)
{
	static const char *const not[] = { "uevent", "reset", "remove", "rescan", "subsystem",
					   "device", "driver", "power" };

	if (name[0] == '.')
		return false;
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		if (!strcmp(name, not[i]))
			return false;
	return true;
}

/* All files that can be read of a directory of sysfs, and those below. */
static void copy_dir(struct dump *dump, int parent, const char *from, const char *to, int depth)
{
	struct dirent **found = NULL;
	char path[256];
	struct stat st;
	int dir, count;

	dir = openat(parent, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	count = dir < 0 ? -1 : scandirat(parent, from, &found, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *name = found[i]->d_name;

		snprintf(path, sizeof(path), "%s/%.64s", to, name);
		if (is_wanted(name) && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
			if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
				copy_dir(dump, dir, name, path, depth + 1);
			else if (S_ISREG(st.st_mode) && st.st_mode & 0444)
				copy_file(dump, dir, name, path,
					  strcmp(name, "fault_log") ? NULL : drop_owner);
		}
		free(found[i]);
	}
	free(found);
	if (dir >= 0)
		close(dir);
}

/* As lspci -x: for lspci -F. */
static void put_config_space(struct dump *dump, int card, const char *address, const char *to)
{
	uint8_t bytes[4096];
	FILE *file;
	ssize_t len;
	int fd = openat(card, "device/config", O_RDONLY | O_CLOEXEC);

	len = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	if (len < 0)
		note_missing(dump, to, -errno);
	file = len < 0 ? NULL : begin_file(dump, to);
	if (file) {
		fprintf(file, "%s VTA card", address);
		for (ssize_t i = 0; i < len; i++) {
			if (i % 16 == 0)
				fprintf(file, "\n%02zx:", (size_t)i);
			fprintf(file, " %02x", bytes[i]);
		}
		fprintf(file, "\n");
		end_file(dump, file);
	}
	if (fd >= 0)
		close(fd);
}

/* Copies the devcoredumps of this card, and returns how many there are; @state: asked for here. */
static unsigned int copy_coredumps(struct dump *dump, const struct vtadev_card *card, bool state)
{
	static const char root[] = "/sys/class/devcoredump";
	struct dirent **found = NULL;
	int count = scandir(root, &found, NULL, alphasort);
	char path[320], link[256], name[192];
	unsigned int copied = 0;
	const char *last;
	ssize_t len;

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%.64s/failing_device", root, found[i]->d_name);
		len = readlink(path, link, sizeof(link) - 1);
		link[len < 0 ? 0 : len] = '\0';
		last = strrchr(link, '/');
		if (last && !strcmp(last + 1, card->pci)) {
			snprintf(path, sizeof(path), "%s/%.64s/data", root, found[i]->d_name);
			if (state)
				snprintf(name, sizeof(name), "vta%u/state.txt", card->index);
			else
				snprintf(name, sizeof(name), "vta%u/devcoredump/%.64s",
					 card->index, found[i]->d_name);
			copy_file(dump, AT_FDCWD, path, name, NULL);
			copied++;
			/* The kernel keeps one of a card: the next reset's is to have its place. */
			if (state)
				write_byte(AT_FDCWD, path);
		}
		free(found[i]);
	}
	free(found);
	return copied;
}

/* A card that was not reset lately writes one of its present state, if root asks for it. */
static void put_state(struct dump *dump, const struct vtadev_card *card, int dir)
{
	char name[96];
	int err;

	if (copy_coredumps(dump, card, false))
		return;
	err = write_byte(dir, "coredump");
	if (!err && !copy_coredumps(dump, card, true))
		err = -ENOENT;
	if (err) {
		snprintf(name, sizeof(name), "vta%u/state.txt", card->index);
		note_missing(dump, name, err);
	}
}

/* ---- A card ---- */

/* Its status without names. */
static void put_status(struct dump *dump, const struct vtadev_card *card, const char *to)
{
	struct json_object *status = gather(card), *array = NULL;
	FILE *file = status ? begin_file(dump, to) : NULL;

	if (file) {
		static const char *const lists[] = { "holders", "faults" };

		for (size_t k = 0; k < 2; k++) {
			json_object_object_get_ex(status, lists[k], &array);
			for (size_t i = 0; array && i < json_object_array_length(array); i++) {
				struct json_object *one = json_object_array_get_idx(array, i);

				json_object_object_del(one, "user");
				json_object_object_del(one, "uid");
				json_object_object_del(one, "command");
				json_object_object_del(one, "comm");
			}
		}
		fputs(json_object_to_json_string_ext(status, JSON_C_TO_STRING_PRETTY |
						     JSON_C_TO_STRING_NOSLASHESCAPE), file);
		fputc('\n', file);
		end_file(dump, file);
	}
	json_object_put(status);
}

static void put_card(struct dump *dump, const struct vtadev_card *card)
{
	char name[96], path[96];
	int dir = files_card(card->index);

	if (dir < 0) {
		note_missing(dump, card->node, dir);
		return;
	}
	snprintf(name, sizeof(name), "vta%u/status.json", card->index);
	put_status(dump, card, name);
	snprintf(path, sizeof(path), "/sys/class/vta/vta%u/", card->index);
	snprintf(name, sizeof(name), "vta%u/sysfs", card->index);
	copy_dir(dump, AT_FDCWD, path, name, 0);
	if (card->pci[0]) {
		snprintf(name, sizeof(name), "vta%u/config-space.txt", card->index);
		put_config_space(dump, dir, card->pci, name);
		put_state(dump, card, dir);
	}
	close(dir);
}

/* ---- The machine ---- */

/* Only the PCI options of the kernel's command line: others may be private. */
static void put_parameters(struct dump *dump)
{
	static const char *const starts[] = { "pci", "iommu", "intel_iommu", "amd_iommu",
					      "swiotlb", "vta", "mem" };
	FILE *file = begin_file(dump, "kernel-parameters.txt");
	char text[4096], *word, *save;

	if (!file)
		return;
	if (!files_read(AT_FDCWD, "/proc/cmdline", text, sizeof(text))) {
		for (word = strtok_r(text, WORDS, &save); word; word = strtok_r(NULL, WORDS, &save))
			for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
				if (!strncmp(word, starts[i], strlen(starts[i]))) {
					fprintf(file, "%s\n", word);
					break;
				}
	}
	end_file(dump, file);
}

static void put_versions(struct dump *dump)
{
	FILE *file = begin_file(dump, "versions.txt");
	struct utsname u;

	if (!file)
		return;
	uname(&u);
	fprintf(file, "vtactl %s\nLinux %s %s %s\n", vtadev_version(), u.release, u.version,
		u.machine);
	end_file(dump, file);
	put_parameters(dump);
	copy_file(dump, AT_FDCWD, "/etc/os-release", "os-release.txt", NULL);
	copy_dir(dump, AT_FDCWD, "/sys/module/vta", "module", 0);
}

/* Finds lines of the module and its functions in traces, not of programs with its name. */
static bool is_of_module(const char *line)
{
	return !strncmp(line, "vta ", 4) || !strncmp(line, "vta:", 4) || strstr(line, "[vta]");
}

/* The module's lines of the kernel's log. */
static void put_log(struct dump *dump)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file;
	char record[8192], *text;
	ssize_t len;

	if (fd < 0) {
		note_missing(dump, "kernel-log.txt", -errno);
		return;
	}
	file = begin_file(dump, "kernel-log.txt");
	while (file && ((len = read(fd, record, sizeof(record) - 1)) > 0 || errno == EPIPE)) {
		if (len <= 0)
			continue;
		record[len] = '\0';
		text = strchr(record, ';');
		if (!text)
			continue;
		text[1 + strcspn(text + 1, "\n")] = '\0';
		if (!is_of_module(text + 1))
			continue;
		drop_name(text);
		fprintf(file, "[%s] %s\n", strtok(record, ";"), text + 1);
	}
	if (file)
		end_file(dump, file);
	close(fd);
}

/* Resources of open files, without their owners. */
static void put_holders(struct dump *dump)
{
	struct holder *holders = NULL;
	int count = holders_find(&holders);
	FILE *file = begin_file(dump, "open-files.txt");

	for (int i = 0; file && i < count; i++) {
		const struct holder *h = &holders[i];

		fprintf(file, "client=%" PRIu64 " card=vta%u pid=%d processes=%u queues=%s",
			h->client, h->card, (int)h->pid, h->processes, h->queues);
		fprintf(file, " host_bytes=%" PRIu64 " card_bytes=%" PRIu64,
			h->host_bytes, h->card_bytes);
		fprintf(file, " pinned_bytes=%" PRIu64 " imported_bytes=%" PRIu64,
			h->pinned_bytes, h->imported_bytes);
		fprintf(file, " descriptors=%" PRIu64 " runs=%" PRIu64 " copies=%" PRIu64,
			h->descriptors, h->runs, h->copies);
		fprintf(file, " compute_ns=%" PRIu64 " copy_ns=%" PRIu64 " lost=%s\n",
			h->compute_ns, h->copy_ns, h->lost);
	}
	if (file)
		end_file(dump, file);
	free(holders);
}

static int fill(struct dump *dump, const char *which)
{
	struct vtadev_card *cards;
	size_t count;
	int ret;

	dump->readme = begin_file(dump, "README.txt");
	if (!dump->readme)
		return ctl_fail(dump->bundle.dir, strerror(-dump->err));
	fputs("Made by vtactl dump. Nothing of users' memory is in here, and no names of\n"
	      "users, programs or of the machine.\n\n", dump->readme);
	put_versions(dump);
	put_log(dump);
	put_holders(dump);
	ret = ctl_cards(which, &cards, &count);
	if (!ret) {
		for (size_t i = 0; i < count; i++)
			put_card(dump, &cards[i]);
		vtadev_list_free(cards);
	}
	end_file(dump, dump->readme);
	if (dump->err)
		return ctl_fail(dump->bundle.dir, strerror(-dump->err));
	/* Without a card, the bundle describes the machine. */
	return ret == CTL_NO_CARD && !which ? CTL_OK : ret;
}

static int pack(struct dump *dump, const char *path)
{
	struct output out;
	int err;

	/* The archive is only the caller's. */
	err = output_open(&out, path, 0600);
	if (err)
		return ctl_written(path, err);
	err = bundle_pack(&dump->bundle, "vta-dump", out.fd);
	if (!err)
		return ctl_written(path, output_close(&out));
	output_cancel(&out);
	if (err == -ENOENT)
		return ctl_fail("tar", "not installed");
	return ctl_fail("tar", strerror(-err));
}

int dump_main(int argc, char **argv)
{
	const char *output = "vta-dump.tar";
	const struct cli_option options[] = { { CLI_TEXT("output", &output) }, { 0 } };
	struct dump dump = { .readme = NULL };
	int ret = cli_options(help, options, 1, &argc, &argv), err;

	if (ret != CLI_GO)
		return ret;
	err = bundle_begin(&dump.bundle);
	if (err)
		return ctl_fail("a directory for the bundle", strerror(-err));
	ret = fill(&dump, argv[0]);
	if (!ret)
		ret = pack(&dump, output);
	if (!ret)
		fprintf(output_is_stdout(output) ? stderr : stdout,
			"%s: have a look, then attach it to the bug report\n", output);
	bundle_end(&dump.bundle);
	return ret;
}
