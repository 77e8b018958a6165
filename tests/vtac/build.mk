# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the compiler that need no VM.

VTAC_TEST_DIR := build/tests/vtac
VTAC_TEST_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O1 -g
VTAC_ARCHIVES := $(VTAC_A) $(OPS_A)
# libonnx-testdata's tests of operators
ONNX_NODES_DATA := /usr/share/libonnx-testdata/data/node
ONNX_NODES := $(VTAC_TEST_DIR)/onnx_nodes
VTAC_FLOATS := $(VTAC_TEST_DIR)/floats

$(call objects,$(VTAC_TEST_DIR)/obj,tests/vtac,$$(VTAC_CPPFLAGS) $$(VTAC_TEST_CFLAGS))

# $(call vtac-test,SOURCE,OBJECTS)
vtac-test = $(call test,vtac,$(1),$$(VTAC_CPPFLAGS) $$(VTAC_TEST_CFLAGS),$(2),$$(VTAC_LIBS))
$(foreach t,$(filter-out %/test_libvtac.c %/test_scales.c,$(wildcard tests/vtac/test_*.c)),\
	$(call vtac-test,$(t),$(VTAC_TEST_DIR)/obj/net.o $(VTAC_ARCHIVES)))
$(foreach t,share threads,$(call test,vtac-tsan,tests/vtac/test_$(t).c,\
	$$(VTAC_CPPFLAGS) $$(VTAC_TEST_CFLAGS),$(VTAC_A) $(OPS_A),$$(VTAC_LIBS),tsan))
# It counts ranges that are asked for.
$(call test,vtac,tests/vtac/test_scales.c,$$(VTAC_CPPFLAGS) $$(VTAC_TEST_CFLAGS),\
	$(VTAC_TEST_DIR)/obj/net.o $(VTAC_ARCHIVES),-Wl$$(comma)--wrap=vtac_stats_range $$(VTAC_LIBS))
# The library as others link it; the test makes a model by the schema itself.
$(call vtac-test,tests/vtac/test_libvtac.c,$(VTAC_DIR)/onnx.pb-c.o $(VTAC_LIB) $(OPS_A))
$(foreach t,reader libvtac,$(eval $(VTAC_TEST_DIR)/test_$(t).obj/tests/vtac/test_$(t).o: $(VTAC_DIR)/onnx.pb-c.h))

$(foreach p,$(VTAC_FLOATS) $(ONNX_NODES),$(call program,$(p),$(p:build/%=%.c),\
	$$(VTAC_CPPFLAGS) $$(VTAC_TEST_CFLAGS),$(VTAC_ARCHIVES),$$(VTAC_LIBS)))

CHECK_PROGRAMS += $(VTAC_BIN) $(ONNX_NODES) $(VTAC_FLOATS)
CHECKS += \
	"vtac-completion=tests/cli/completion.sh $(VTAC_BIN)" \
	"vtac-borders=tests/vtac/borders.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-broadcast=tests/vtac/broadcast.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-compile=tests/vtac/compile.sh $(CURDIR)/$(VTAC_BIN)" \
	"vtac-channels=tests/vtac/channels.py $(VTAC_BIN)" \
	"vtac-attention=tests/vtac/attention.py $(VTAC_BIN)" \
	"vtac-precision=tests/vtac/precision.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-functions=tests/vtac/functions.py $(VTAC_BIN)" \
	"vtac-integers=tests/vtac/integers.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-linear=tests/vtac/linear.py $(VTAC_BIN)" \
	"vtac-control=tests/vtac/control.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-converted=$(ONNX_NODES) $(dir $(ONNX_NODES_DATA))pytorch-converted tests/vtac/onnx_converted.list" \
	"vtac-microsoft=$(ONNX_NODES) tests/vtac/microsoft tests/vtac/microsoft.list" \
	"vtac-nodes=$(ONNX_NODES) $(ONNX_NODES_DATA) tests/vtac/onnx_nodes.list" \
	"vtac-opsets=tests/vtac/opsets.sh $(ONNX_NODES) $(ONNX_NODES_DATA) tests/vtac/onnx_nodes.list" \
	"vtac-hostile=tests/vtac/hostile.py $(VTAC_BIN)" \
	"vtac-sizes=tests/vtac/sizes.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-report=tests/vtac/report.py $(VTAC_BIN)" \
	"vtac-table=tests/vtac/table.sh $(ONNX_NODES) $(ONNX_NODES_DATA) tests/vtac/onnx_nodes.list" \
	"vtac-variants=tests/vtac/variants.py $(VTAC_BIN) $(VTACTL_BIN)" \
	"vtac-symbols=tests/vtac/symbols.sh $(VTAC_LIB)" \
	"@vtac-page=tests/vtac/page.sh"
