# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the RTL, on models by Verilator. Of the core: random streams, the cases of tests/emu, the
# layers of ResNet-18 and the compiler's random networks. Of parts of the card: a program for each. Of
# the card: the emulated card's tests.
RTL_TEST_DIR := build/tests/rtl
RTL_TEST_FLAGS = $(EMU_TEST_FLAGS) -Itests/emu -Itests/rtl

# $(call rtl-program,NAME,SOURCES)
rtl-program = $(call program,$(RTL_TEST_DIR)/$(1),$(2) tests/rtl/rtl.c,$$(RTL_TEST_FLAGS),\
	$(EMU_TEST_LIB) $(EMU_LIB),$$(EMU_LIBS) -lcmocka,,asan)$(eval \
	CHECK_PROGRAMS += $(RTL_TEST_DIR)/$(1))

RTL_CASES := test_isa test_isa_streams test_core_run test_depths
$(call rtl-program,test_rtl_streams,tests/rtl/test_rtl_streams.c)
$(foreach t,$(RTL_CASES),$(call rtl-program,$(t:test_%=test_rtl_%),tests/emu/$(t).c tests/rtl/isa_rtl.c))

$(call program,$(RTL_TEST_DIR)/test_rtl_layers,tests/rtl/test_rtl_layers.c tests/rtl/rtl.c,\
	$$(OPS_TEST_FLAGS) -Itests -Itests/rtl,$(OPS_TEST_LIB) $(OPS_A) $(EMU_LIB),\
	-lm $$(EMU_LIBS) -lcmocka,,asan)
$(call program,$(RTL_TEST_DIR)/test_rtl_graphs,tests/vtac/programs/test_graphs.c \
	tests/rtl/native_rtl.c tests/rtl/rtl.c,$$(VTAC_PROG_FLAGS) -Itests/vtac/programs -Itests/rtl,\
	$(VTAC_PROG_HELPERS) $(VTAC_A) $(OPS_A) $(EMU_LIB),$$(VTAC_LIBS) $$(EMU_LIBS) -lcmocka)
CHECK_PROGRAMS += $(addprefix $(RTL_TEST_DIR)/test_rtl_,layers $(if $(VTAC_HAVE),graphs))

# $(call rtl-part,TEST,MODULE,OPTIONS,OTHERS): a part of the card and its test in one program
define rtl-part
$(RTL_TEST_DIR)/$(1): tests/rtl/$(1).cpp $$(RTL_CARD_SOURCES) uapi/vta.h contract/vta_regs.h $(4)
	@mkdir -p $$(@D)
	verilator --cc --exe --build -j 2 -O3 --x-assign fast --x-initial unique \
		-Wno-fatal -Wno-lint --top-module $(2) $(3) --Mdir $$@.work -o ../$$(@F) -MAKEFLAGS -s \
		-CFLAGS '-std=gnu++17 -O2 -Wall -Wextra -Werror $$(addprefix -I$$(CURDIR)/,card contract uapi)' \
		$$(RTL_CARD_SOURCES) $$(CURDIR)/$$< $(addprefix $$(CURDIR)/,$(4)) > $$@.log 2>&1 || \
		{ cat $$@.log; exit 1; }
CHECK_PROGRAMS += $$(if $$(RTL_HAVE),$(RTL_TEST_DIR)/$(1))
endef
$(eval $(call rtl-part,test_rtl_copy,copier,,tests/rtl/copier.sv))
$(eval $(call rtl-part,test_rtl_arbiter,vta_arbiter,-GQUEUES=40 -GGROUPS=12,$(EMU_LIB)))
$(eval $(call rtl-part,test_rtl_descriptor,vta_descriptor))
RTL_PARTS := $(addprefix $(RTL_TEST_DIR)/test_rtl_,copy arbiter descriptor)

# Both cards, driven by the same host.
$(call program,$(RTL_TEST_DIR)/test_rtl_cards,$(addprefix tests/rtl/,test_rtl_cards.c cards_work.c cards_compare.c),$$(RTL_TEST_FLAGS),\
	$(EMU_TEST_LIB) $(EMU_LIB),$$(EMU_LIBS) -lcmocka,,asan)
$(RTL_TEST_DIR)/test_rtl_cards: $(EMU_ASAN_BIN)
CHECK_PROGRAMS += $(RTL_TEST_DIR)/test_rtl_cards

# Tests of the emulated card on the card in RTL. Some need a card of another shape.
RTL_CARD_TESTS := card $(addprefix card_,queue mmu sync fault stop reset runs counters chaos) inject
RTL_CARD_SHAPES := $(RTL_TEST_SHAPE) $(RTL_DEFAULT_SHAPE) 256-256-23
# Boots of the driver's tests, and what cards they have beside the default one.
RTL_BOOTS := main waits groups memory isolation
RTL_BOOT_SHAPES := 4-3-28 64-16-28 64-64-24
RTL_CARD_SKIP_card_sync := !all_queues
RTL_CARD_SKIP_card_fault := !refused_writes_that_are_posted
# Faults of the bus alone are injected there.
RTL_CARD_ONLY_inject := bus_*
rtl-card-test = env VTA_EMU=$(RTL_EMU) $(EMU_TEST_DIR)/test_$(1) $(RTL_CARD_ONLY_$(1))

# In make check: some streams and layers, and the numbers; make check-rtl has all.
RTL_CHECK_CONFIGS := tiny block4_wide_src default shallow
CHECK_PROGRAMS += $(if $(RTL_HAVE),$(call rtl-models,$(RTL_CHECK_CONFIGS)) $(call rtl-cards,$(RTL_TEST_SHAPE)))
CHECKS += "rtl-streams=tests/rtl/run.sh $(RTL_TEST_DIR)/test_rtl_streams" \
	"rtl-core-run=tests/rtl/run.sh $(RTL_TEST_DIR)/test_rtl_core_run" \
	"rtl-copy=tests/rtl/run.sh '$(RTL_TEST_DIR)/test_rtl_copy 100'" \
	"rtl-arbiter=tests/rtl/run.sh $(RTL_TEST_DIR)/test_rtl_arbiter" \
	"rtl-descriptor=tests/rtl/run.sh $(RTL_TEST_DIR)/test_rtl_descriptor" \
	"rtl-layers=tests/rtl/run.sh '$(RTL_TEST_DIR)/test_rtl_layers C3 C10 dense'" \
	"rtl-numbers=tests/rtl/numbers.py" "rtl-lint=tests/rtl/lint.sh" \
	"rtl-mutants=tests/rtl/run.sh 'tests/rtl/mutate.py --check'" \
	"rtl-cards=tests/rtl/run.sh 'env VTA_EMU=$(RTL_EMU) VTA_DESCRIPTORS=1500 $(RTL_TEST_DIR)/test_rtl_cards'" \
	$(foreach t,$(RTL_CARD_TESTS),"rtl-$(t)=tests/rtl/run.sh '$(call rtl-card-test,$(t)) $(RTL_CARD_SKIP_$(t))'")

RTL_STREAMS := 2400
# Of the random work for both cards, with 25,000 descriptors each
RTL_CARD_SEEDS := 1 2 3 4
RTL_GRAPHS := 60
.PHONY: check-rtl
check-rtl: test-deps rtl-deps  ## the RTL: all configurations of the core, many streams, all cases, parts of the card
	@echo 'building the models and the tests'
	+@$(QUIETLY) $(call rtl-models,$(RTL_CONFIGS) $(RTL_OTHERS)) \
		$(addprefix $(RTL_TEST_DIR)/test_rtl_,streams isa isa_streams core_run depths layers cards) \
		$(if $(VTAC_HAVE),$(RTL_TEST_DIR)/test_rtl_graphs $(VTAC_BIN)) $(RTL_PARTS) \
		$(call rtl-cards,$(RTL_CARD_SHAPES) $(RTL_BOOT_SHAPES)) \
		$(addprefix $(EMU_TEST_DIR)/test_,$(RTL_CARD_TESTS) card_streams) vm-module userspace $(SELFTESTS)
	@$(TESTS_RUN) -o build/check-rtl "numbers=tests/rtl/numbers.py" \
		"lint=tests/rtl/lint.sh" "formal=tests/rtl/formal/run.sh" \
		$(foreach c,$(RTL_CONFIGS),"streams-$(c)=VTA_RTL_ONLY=$(c) VTA_STREAMS=$$(( $(RTL_STREAMS) \
			/ $(words $(RTL_CONFIGS)) )) $(RTL_TEST_DIR)/test_rtl_streams") \
		"streams-deep=VTA_CONFIGS=tests/rtl/configs/deep.json VTA_STREAMS=9 $(RTL_TEST_DIR)/test_rtl_streams" \
		"streams-board=VTA_CONFIGS=tests/rtl/configs/board.json VTA_STREAMS=200 $(RTL_TEST_DIR)/test_rtl_streams" \
		$(foreach t,isa isa_streams core_run depths,"$(t)=$(RTL_TEST_DIR)/test_rtl_$(t)") \
		"layers=$(RTL_TEST_DIR)/test_rtl_layers" "coverage=tests/rtl/coverage.sh" "copy=$(RTL_TEST_DIR)/test_rtl_copy 2000" \
		"arbiter=$(RTL_TEST_DIR)/test_rtl_arbiter 200000" \
		"descriptor=$(RTL_TEST_DIR)/test_rtl_descriptor 5000000" \
		$(foreach t,$(RTL_CARD_TESTS),"$(t)=$(call rtl-card-test,$(t))") \
		"card_streams=VTA_CONFIGS=tests/emu/configs/default.json VTA_STREAMS=100 $(call rtl-card-test,card_streams)" \
		"digits=examples/digits/demo.sh $(VM_MODULE) $(DEMO_RTL) --emu $(RTL_EMU) && echo ok 1 digits" \
		$(if $(VTAC_HAVE),"mnist=tests/rtl/mnist.sh $(VM_MODULE)") \
		$(foreach b,$(RTL_BOOTS),"boot-$(b)=CARD=rtl tests/selftests/run.sh $(VM_MODULE) $(b)") \
		$(foreach s,$(RTL_CARD_SEEDS),"cards-$(s)=VTA_EMU=$(RTL_EMU) VTA_SEED=$(s) VTA_DESCRIPTORS=25000 \
			VTA_RTL_STALLS=$(s) $(RTL_TEST_DIR)/test_rtl_cards") \
		$(if $(VTAC_HAVE),"graphs=$(RTL_TEST_DIR)/test_rtl_graphs $(RTL_GRAPHS)")

# The tables come after a failure, too.
.PHONY: rtl-all
rtl-all:  ## all that the RTL has to show: the digits on the core, check-rtl, and tables of clocks and area
	+@$(MAKE) --no-print-directory demo CORE=rtl
	+@status=0; $(MAKE) --no-print-directory check-rtl || status=1; \
		grep '^|' build/check-rtl/layers.log || status=1; \
		$(MAKE) --no-print-directory rtl-report || status=1; \
		exit $$status

.PHONY: rtl-coverage
rtl-coverage: test-deps rtl-deps $(RTL_TEST_DIR)/test_rtl_streams  ## lines and bits of the core's RTL that tests reach; KINDS=line: lines alone
	@tests/rtl/coverage.sh $(KINDS)

# Changes of the RTL that the tests must find: a model of seven configurations, and some 200 runs.
.PHONY: check-rtl-mutants
check-rtl-mutants: test-deps rtl-deps $(addprefix $(RTL_TEST_DIR)/test_rtl_,streams isa_streams depths)  ## whether tests find changes of the core's RTL
	@tests/rtl/mutate.py
