// SPDX-License-Identifier: Apache-2.0
/*
 * info.c - derive element sizes and scratchpad depths from the configuration
 */
#include <errno.h>

#include "dev.h"
#include "vta_isa.h"
#include "vtadev.h"

int info_derive(const struct vta_info *raw, struct vtadev_info *info)
{
	struct vta_isa_config config = VTA_ISA_CONFIG_OF(raw);
	struct vta_isa_limit limit;
	struct vta_isa_shape s;
	uint32_t largest;

	if (!vta_isa_config_valid(&config, &limit) || raw->ring_order_max > 16 ||
	    !vta_isa_queue_valid(&limit, "LOG_TOKENS", raw->log_tokens) ||
	    !vta_isa_queue_valid(&limit, "LOG_WAITING", raw->log_waiting))
		return -EPROTO;
	s = vta_isa_shape(&config);

	info->contract_major = VTA_CONTRACT_MAJOR(raw->contract);
	info->contract_minor = VTA_CONTRACT_MINOR(raw->contract);
	info->features = raw->features;
	info->serial = raw->serial;
	info->mem_size = raw->mem_size;
	info->queues = raw->queues;
	info->contexts = raw->contexts;
	info->ring_entries_max = 1u << raw->ring_order_max;
	info->clock_khz = raw->clock_khz;
	info->vectors = raw->vectors;
	info->hw_ver_major = (uint8_t)(raw->hw_ver >> 16);
	info->hw_ver_minor = (uint8_t)(raw->hw_ver >> 8);
	info->hw_ver_patch = (uint8_t)raw->hw_ver;

	info->log_inp_width = raw->log_inp_width;
	info->log_wgt_width = raw->log_wgt_width;
	info->log_acc_width = raw->log_acc_width;
	info->log_batch = raw->log_batch;
	info->log_block = raw->log_block;
	info->log_uop_buff_size = raw->log_uop_buff_size;
	info->log_inp_buff_size = raw->log_inp_buff_size;
	info->log_wgt_buff_size = raw->log_wgt_buff_size;
	info->log_acc_buff_size = raw->log_acc_buff_size;

	info->log_uop_depth = (uint8_t)s.uop;
	info->log_inp_depth = (uint8_t)s.inp;
	info->log_wgt_depth = (uint8_t)s.wgt;
	info->log_acc_depth = (uint8_t)s.acc;
	info->uop_depth = 1u << s.uop;
	info->inp_depth = 1u << s.inp;
	info->wgt_depth = 1u << s.wgt;
	info->acc_depth = 1u << s.acc;

	info->batch = 1u << raw->log_batch;
	info->block = 1u << raw->log_block;
	info->inp_bytes = 1u << s.inp_bytes;
	info->wgt_bytes = 1u << s.wgt_bytes;
	info->acc_bytes = 1u << s.acc_bytes;
	info->out_bytes = info->inp_bytes;	/* OUT has the width of INP */

	largest = info->inp_bytes;
	if (largest < info->wgt_bytes)
		largest = info->wgt_bytes;
	if (largest < info->acc_bytes)
		largest = info->acc_bytes;
	info->elem_bytes_max = largest;
	info->save_size = raw->save_size;
	info->log_tokens = (uint8_t)vta_isa_log_queue(raw->log_tokens);
	info->log_waiting = (uint8_t)vta_isa_log_queue(raw->log_waiting);
	info->cores = raw->cores ? raw->cores : 1;
	return 0;
}
