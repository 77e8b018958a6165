# SPDX-License-Identifier: GPL-2.0-only
#
# The kernel's tests: programs for the guest, run by run.sh in VMs. The
# kselftest harness comes from the distribution's kernel sources (vm source).

SELFTEST_DIR := build/tests/selftests
SELFTEST_HARNESS = $$($(VM) source)/tools/testing/selftests

SELFTEST_NAMES := vta_basic vta_open vta_buf vta_queue vta_run vta_kept vta_wait vta_fault \
	vta_fences vta_eventfd vta_cost vta_share vta_group \
	vta_close vta_stress vta_uapi vta_trace vta_lib vta_pipeline vta_ctl vta_cards vta_unbind \
	vta_pin vta_dmabuf vta_sync vta_limits vta_memcg vta_bounce vta_large \
	vta_fragment vta_crowd vta_recover vta_probe vta_hang vta_watch vta_state vta_sleep vta_aer vta_bus vta_plug vta_pool vta_kexec vta_paused \
	vta_failnth
# Attacks, each with a victim: tests/selftests/isolation.
ISOLATION_NAMES := iso_address iso_stale iso_residue iso_mapping iso_doorbell iso_call \
	iso_stream iso_race iso_share iso_flood
ISOLATION_TESTS := $(ISOLATION_NAMES:%=$(SELFTEST_DIR)/%)
SELFTESTS := $(SELFTEST_NAMES:%=$(SELFTEST_DIR)/%) $(ISOLATION_TESTS)

SELFTEST_SHARED := $(patsubst %,$(SELFTEST_DIR)/obj/%.o,vta_selftest vta_emu vta_foreign vta_gates vta_holder vta_starving)
ISOLATION_SHARED := $(patsubst %,$(SELFTEST_DIR)/obj/isolation/%.o,wall victim writer)
SELFTEST_CFLAGS := -std=gnu11 -Wall -Wextra -Werror -O2 -g

$(call objects,$(SELFTEST_DIR)/obj,tests/selftests,\
	$$(LIB_CPPFLAGS) -isystem $$(SELFTEST_HARNESS) $$(SELFTEST_CFLAGS))

$(foreach t,$(SELFTEST_NAMES),$(call program,$(SELFTEST_DIR)/$(t),,,\
	$(SELFTEST_DIR)/obj/$(t).o $(SELFTEST_SHARED),$$(SELFTEST_LIBS)))
$(foreach t,$(ISOLATION_NAMES),$(call program,$(SELFTEST_DIR)/$(t),,,\
	$(SELFTEST_DIR)/obj/isolation/$(t).o $(ISOLATION_SHARED) $(SELFTEST_SHARED)))

# The library is tested as a user would have it, the rest goes without it.
SELFTEST_OF_LIB := $(addprefix $(SELFTEST_DIR)/, vta_lib vta_pipeline vta_pool vta_cost vta_sync)
$(SELFTEST_OF_LIB): $(LIB_A)
$(SELFTEST_OF_LIB): SELFTEST_LIBS := $(LIB_LIBS)
# And pools with a program that tests of devices have, too.
$(call objects,$(SELFTEST_DIR)/obj,tests/devices,\
	$$(LIB_CPPFLAGS) $(PROG_CPPFLAGS) $$(SELFTEST_CFLAGS))
$(SELFTEST_DIR)/obj/vta_pool.o: SELFTEST_CFLAGS += $(PROG_CPPFLAGS) -Itests/devices
$(SELFTEST_DIR)/vta_pool: $(SELFTEST_DIR)/obj/pool_image.o $(PROG_A)
$(SELFTEST_DIR)/vta_pool: SELFTEST_LIBS += -Wl,--wrap=poll
$(SELFTEST_DIR)/vta_ctl: SELFTEST_LIBS := -ljson-c

# The boots of the module's tests.
BOOTS = $(shell tests/selftests/run.sh --boots)
CROSS_PROGRAMS += $(filter-out $(ISOLATION_TESTS),$(SELFTESTS))
# The attacks know addresses of 64 bits.
CROSS_PROGRAMS_64 += $(ISOLATION_TESTS)
CHECK_PROGRAMS += $(SELFTESTS)
CHECKS += $(foreach b,$(BOOTS),"@selftests-$(b)=tests/selftests/run.sh $(VM_MODULE) $(b)")
