# SPDX-License-Identifier: GPL-2.0-only
#
# vtactl, linked to the static library so that it can be copied about.

VTACTL_DIR := build/tools/obj/vtactl
VTACTL_BIN := build/tools/vtactl
VTACTL_OBJS := $(addprefix $(VTACTL_DIR)/, bar.o bench.o busy.o bundle.o cdi.o ctl.o dataset.o doctor.o dump.o export.o files.o gather.o gather_device.o \
	holders.o labels.o link.o list.o main.o merge.o metrics.o metrics_users.o monitor.o print.o \
	program.o program_bench.o program_boxes.o program_evaluate.o program_layers.o program_pool.o program_profile.o program_run.o program_trace.o \
	program_verb.o prom.o reset.o status.o tally.o test.o test_core.o top.o trace.o tracefs.o values.o)
VTACTL_LIBS := -lpci -ljson-c -lncurses -ltinfo $(PICTURE_LIBS) $(LIB_LIBS)

$(call objects,$(VTACTL_DIR),tools/vtactl,\
	$$(LIB_CPPFLAGS) $(PROG_CPPFLAGS) $(CLI_CPPFLAGS) -Ilibvtadev/picture $$(CPPFLAGS) $$(LIB_WARNINGS) -O2 -g $$(CFLAGS))

$(call program,$(VTACTL_BIN),,,$(VTACTL_OBJS) $(CLI_OBJ) $(PROGRESS_OBJ) $(OUTPUT_OBJ) $(PICTURE_OBJS) $(PROG_A) $(LIB_A),$$(VTACTL_LIBS))

# Not enabled: docs/operating.md.
SYSTEMD_DIR ?= $(PREFIX)/lib/systemd/system

$(call filled,build/tools/systemd/%.service,tools/vtactl/systemd/%.service.in)

.PHONY: install-monitoring
install-monitoring: build/tools/systemd/vta-export.service
	install -m 644 -Dt $(DESTDIR)$(SYSTEMD_DIR) $< tools/vtactl/systemd/vta-export.timer
	install -m 644 -Dt $(DESTDIR)$(PREFIX)/share/vtadev/monitoring \
		examples/monitoring/vta-rules.yml examples/monitoring/vta-dashboard.json

# Nothing of it is turned on: docs/scale.md.
.PHONY: install-slurm
install-slurm:
	install -m 755 -Dt $(DESTDIR)$(PREFIX)/share/vtadev/slurm $(addprefix tools/slurm/vta-,gres check task)
