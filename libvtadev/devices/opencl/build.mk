# SPDX-License-Identifier: Apache-2.0
#
# The device "opencl": vta.cl, and the plugin of libvtadev that runs it. The emulator's
# reader of vta_config.json is part of it.

OPENCL_SO := $(LIB_DIR)/libvtadev-opencl.so
OPENCL_DIR := build/devices/opencl
OPENCL_CL := $(OPENCL_DIR)/vta.cl

OPENCL_SRCS := $(addprefix libvtadev/devices/,opencl/opencl.c opencl/rack.c kernels.c config.c) \
	card/core/core_config.c
# Two of them as soft has them.
OPENCL_OBJS := $(addprefix $(OPENCL_DIR)/,opencl.o rack.o kernels.o) \
	$(addprefix $(SOFT_DIR)/,config.o core_config.o)
OPENCL_CPPFLAGS := $(SOFT_CPPFLAGS) -DVTA_CL='"$(OPENCL_CL)"'
OPENCL_LIBS := -lOpenCL $(EMU_LIBS)

# One file for the OpenCL compiler, which finds no others.
OPENCL_CL_PARTS := state.h moves.cl loops.cl plan.cl jobs.cl
$(OPENCL_CL): $(addprefix libvtadev/devices/opencl/,vta.cl $(OPENCL_CL_PARTS)) contract/vta_isa.h
	@mkdir -p $(@D)
	sed $(foreach p,$(OPENCL_CL_PARTS),-e '/^#include "$(p)"/{r $(<D)/$(p)' -e 'd}') $< | \
		sed -e '/^#include "vta_isa.h"/{r contract/vta_isa.h' -e 'd}' > $@

$(call each,$(OPENCL_DIR)/kernels.o): $(OPENCL_CL)

$(call objects,$(OPENCL_DIR),libvtadev/devices/opencl,\
	$$(OPENCL_CPPFLAGS) $$(CPPFLAGS) $$(SOFT_CFLAGS) $$(CFLAGS))

$(call objects,$(OPENCL_DIR),libvtadev/devices,\
	$$(OPENCL_CPPFLAGS) $$(CPPFLAGS) $$(SOFT_CFLAGS) $$(CFLAGS))

$(call program,$(OPENCL_SO),,,$(OPENCL_OBJS),$$(PLUGIN_LDFLAGS) $$(OPENCL_LIBS))
