# SPDX-License-Identifier: Apache-2.0
#
# The RTL: models of the core by Verilator, one for each configuration of tests/emu and tests/rtl, the
# card in RTL, and reports by yosys. They are made only where the tools are installed, which `make rtl`
# does.
RTL_PACKAGES := g++ verilator yosys
RTL_HAVE := $(shell command -v verilator)
RTL_DIR := build/rtl
RTL_SOURCES := $(wildcard card/rtl/core/*.sv) $(addprefix card/rtl/,model.cpp model.sh verilate.sh) \
	card/core/core.h card/core/core_model.h uapi/vta.h
# The card around the core, with what it takes from there.
RTL_CARD_SOURCES := card/rtl/core/vta_isa_pkg.sv card/rtl/card/vta_card_pkg.sv \
	$(filter-out %_pkg.sv,$(wildcard card/rtl/card/*.sv)) $(addprefix card/rtl/core/vta_,ram.sv fifo.sv)
RTL_CONFIGS := $(basename $(notdir $(wildcard tests/emu/configs/*.json)))
# Short queues in the core, all weights that there can be, and what the cases of tests/emu ask for.
RTL_OTHERS := $(basename $(notdir $(wildcard tests/rtl/configs/*.json)))
# $(call rtl-models,CONFIGURATIONS)
rtl-models = $(1:%=$(RTL_DIR)/%.made)

define rtl-rule
$$(RTL_DIR)/%.made: $(1)/%.json $$(RTL_SOURCES)
	@mkdir -p $$(@D)
	card/rtl/model.sh $$< $$(RTL_DIR) > $$@.new
	mv $$@.new $$@
endef
$(foreach d,tests/emu/configs tests/rtl/configs,$(eval $(call rtl-rule,$(d))))

.PHONY: rtl rtl-deps rtl-report
rtl-report: rtl-deps  ## area of the core on two FPGA families, by yosys
	@card/rtl/report.sh $(SHAPES)

rtl-deps:
	@tools/vm/deps.sh need $(RTL_PACKAGES)

# A model takes some 40 seconds of a processor, once: it is kept in the cache by its content.
rtl: rtl-deps  ## models of the core's RTL, for vta-emu --core=rtl; CONFIG=FILE for one of one's own
	@echo 'building models of the RTL'
	+@$(if $(CONFIG),card/rtl/model.sh $(CONFIG) $(RTL_DIR),$(QUIETLY) $(call rtl-models,$(RTL_CONFIGS) $(RTL_OTHERS)))

# The emulated card whose card is RTL, and simulations of it by shape: queues, contexts, and log2 of the
# memory's bytes. The tests have one shape, vta-emu without options the other.
RTL_EMU := $(RTL_DIR)/vta-emu-rtl
RTL_TEST_SHAPE := 8-8-23
RTL_DEFAULT_SHAPE := 64-64-28
# $(call rtl-cards,SHAPES)
rtl-cards = $(RTL_EMU) $(1:%=$(RTL_DIR)/card-%.so)
$(RTL_DIR)/card-%.so: $(RTL_SOURCES) $(wildcard card/rtl/card/*.sv) \
		$(addprefix card/rtl/,card.sh sim.cpp sim.h) contract/vta_regs.h
	@rm -f $@ # and do not write to it: a program may have it loaded
	card/rtl/card.sh $(subst -, ,$*) $(RTL_DIR)
	@touch $@

.PHONY: rtl-card
rtl-card: rtl-deps  ## the emulated card on RTL, build/rtl/vta-emu-rtl; SHAPE=QUEUES-CONTEXTS-LOG_MEM
	@echo 'building the card in RTL'
	+@$(QUIETLY) $(call rtl-cards,$(or $(SHAPE),$(RTL_DEFAULT_SHAPE)))
