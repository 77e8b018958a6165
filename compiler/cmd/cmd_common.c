// SPDX-License-Identifier: Apache-2.0
/* Messages, and which core to compile for. */
#include <stdio.h>

#include "cmd.h"
#include "core/core.h"
#include "progress.h"
#include "vtadev.h"
#include "vtaprog.h"

int cmd_fail(int status, const char *subject, const char *why)
{
	progress_clear();
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
