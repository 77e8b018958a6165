// SPDX-License-Identifier: Apache-2.0
/*
 * card_config.cc - print the configuration of a card or device as TVM's vta_config.json
 *
 * VTADEV_DEVICE says which one, as for vtadev_open(). build-runtime compiles and runs it.
 */
#include <vtadev.h>

#include <cstdio>

int main()
{
	struct vtadev *dev;
	int err = vtadev_open(nullptr, &dev);

	if (err) {
		char why[VTADEV_OPEN_TEXT_MAX];

		vtadev_open_text(nullptr, why, sizeof(why));
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	const struct vtadev_info *info = vtadev_info(dev);
	printf("{\n  \"TARGET\": \"sim\",\n  \"HW_VER\": \"%u.%u.%u\"", info->hw_ver_major,
	       info->hw_ver_minor, info->hw_ver_patch);
#define FIELD(name, field) printf(",\n  \"%s\": %u", name, info->field)
	FIELD("LOG_INP_WIDTH", log_inp_width);
	FIELD("LOG_WGT_WIDTH", log_wgt_width);
	FIELD("LOG_ACC_WIDTH", log_acc_width);
	FIELD("LOG_BATCH", log_batch);
	FIELD("LOG_BLOCK", log_block);
	FIELD("LOG_UOP_BUFF_SIZE", log_uop_buff_size);
	FIELD("LOG_INP_BUFF_SIZE", log_inp_buff_size);
	FIELD("LOG_WGT_BUFF_SIZE", log_wgt_buff_size);
	FIELD("LOG_ACC_BUFF_SIZE", log_acc_buff_size);
#undef FIELD
	printf("\n}\n");
	vtadev_close(dev);
	return 0;
}
