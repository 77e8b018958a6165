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

int cmd_core_of_card(struct vtaops_core *core, const char *card)
{
	char why[VTADEV_OPEN_TEXT_MAX];
	struct vtadev *dev;
	int err = vtadev_open(card, &dev);

	if (err) {
		vtadev_open_text(card, why, sizeof(why));
		return cmd_fail(CMD_NO_CARD, card, why);
	}
	err = vtaprog_core(dev, core);
	vtadev_close(dev);
	return err ? cmd_fail(CMD_NO_CARD, card, vtadev_strerror(err)) : CMD_OK;
}

/* ---- progress: on a terminal alone, ten times a second at most ---- */

static bool shown;

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

void cmd_progress(void *priv, const char *what, uint64_t done, uint64_t total)
{
	unsigned int part = total ? (unsigned int)(done * 30 / total) : 0;

	(void)priv;
	if (!isatty(STDERR_FILENO) || !is_due(done, total))
		return;
	fprintf(stderr, "\r%-12.12s [%.*s%*s] %3u%%\033[K", what, (int)part,
		"##############################", (int)(30 - part), "",
		total ? (unsigned int)(done * 100 / total) : 0);
	shown = true;
}

void cmd_progress_end(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
