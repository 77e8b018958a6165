// SPDX-License-Identifier: Apache-2.0
/* Messages, progress, and which core to compile for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "core/core.h"
#include "vtadev.h"
#include "vtaprog.h"

int cmd_fail(int status, const char *subject, const char *why)
{
	cmd_progress_end();
	if (subject)
		fprintf(stderr, "vtac: %s: %s\n", subject, why);
	else
		fprintf(stderr, "vtac: %s\n", why);
	return status;
}

int cmd_core_of_file(struct vtaops_core *core, const char *path)
{
	struct core_config c = core_config_default;
	char err[200] = "";

	if (path && core_config_load(&c, path, err, sizeof(err)))
		return cmd_fail(CMD_ERROR, path, err);
	*core = (struct vtaops_core){
		.log_inp_width = c.log_inp_width, .log_wgt_width = c.log_wgt_width,
		.log_acc_width = c.log_acc_width, .log_batch = c.log_batch,
		.log_block = c.log_block, .log_uop_buff_size = c.log_uop_buff_size,
		.log_inp_buff_size = c.log_inp_buff_size,
		.log_wgt_buff_size = c.log_wgt_buff_size,
		.log_acc_buff_size = c.log_acc_buff_size,
	};
	return vtaops_core_init(core) ? cmd_fail(CMD_ERROR, path, "no valid configuration") :
		CMD_OK;
}

int cmd_core_of_card(struct vtaops_core *core, const char *card, uint32_t *clock_khz)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	int err = vtadev_open(card, &dev);

	if (err) {
		vtadev_open_text(card, why, sizeof(why));
		return cmd_fail(CMD_NO_CARD, card, why);
	}
	err = vtaprog_core(dev, core);
	*clock_khz = vtadev_info(dev)->clock_khz;
	vtadev_close(dev);
	return err ? cmd_fail(CMD_NO_CARD, card, vtadev_strerror(err)) : CMD_OK;
}

/* ---- progress: one bar, on a terminal alone, ten times a second at most ---- */

/* Steps that take long, in their order, with the percents of the time that each takes. */
static const struct {
	const char *name;
	unsigned int percent;
} steps[] = {
	{ "partitioning", 5 }, { "calibrating", 35 }, { "choosing", 30 }, { "lowering", 15 },
	{ "measuring", 15 },
};

static bool shown;

/* A step that does not know its total comes nearer and nearer to its end. */
static double percent_of(const char *what, uint64_t done, uint64_t total)
{
	double sum = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (!strcmp(steps[i].name, what))
			return sum + steps[i].percent * (double)done /
			       (double)(total ? total : done + 8);
		sum += steps[i].percent;
	}
	return 0;
}

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

static bool is_due(uint64_t done, uint64_t total)
{
	static struct timespec last;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (done && done < total &&
	    (now.tv_sec - last.tv_sec) * 10 + (now.tv_nsec - last.tv_nsec) / 100000000 < 1)
		return false;
	last = now;
	return true;
}

int cmd_progress(void *priv, const char *what, uint64_t done, uint64_t total)
{
	static struct timespec begin;
	static double reached;
	double percent = percent_of(what, done, total);
	int part;

	(void)priv;
	if (!begin.tv_sec)
		clock_gettime(CLOCK_MONOTONIC, &begin);
	/* A step may be repeated for a part of the graph; the bar does not go back. */
	if (percent > reached)
		reached = percent;
	if (!isatty(STDERR_FILENO) || !is_due(done, total))
		return 0;
	part = (int)(reached * 30 / 100);
	fprintf(stderr, "\r%-14.14s [%.*s%*s] %3.0f%%", what, part,
		"##############################", 30 - part, "", reached);
	if (reached >= 5)
		fprintf(stderr, ", some %.0f s left",
			seconds_since(&begin) * (100 - reached) / reached);
	fputs("\033[K", stderr);
	shown = true;
	return 0;
}

void cmd_progress_end(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
