# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the compiler that need no VM.

VTAC_TEST_DIR := build/tests/vtac
VTAC_TEST_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O1 -g
VTAC_ARCHIVES := $(VTAC_INPUT_OBJS) $(VTAC_A) $(OPS_A)
# libonnx-testdata's tests of operators
ONNX_NODES_DATA := /usr/share/libonnx-testdata/data/node
ONNX_NODES := $(VTAC_TEST_DIR)/onnx_nodes
VTAC_FLOATS := $(VTAC_TEST_DIR)/floats

VTAC_TESTS := $(patsubst tests/vtac/%.c,$(VTAC_TEST_DIR)/%,$(wildcard tests/vtac/test_*.c))
VTAC_TEST_BINS := $(VTAC_BIN) $(ONNX_NODES) $(VTAC_FLOATS) $(VTAC_TESTS)

$(call objects,$(VTAC_TEST_DIR),tests/vtac,$$(VTAC_CPPFLAGS) $$(VTAC_TEST_CFLAGS))

$(VTAC_TEST_DIR)/%.o: $(VTAC_DIR)/onnx.pb-c.h

$(filter-out %/test_libvtac,$(VTAC_TESTS)): $(VTAC_TEST_DIR)/%: $(VTAC_TEST_DIR)/%.o $(VTAC_TEST_DIR)/net.o \
		$(VTAC_ARCHIVES)
	$(CC) -o $@ $^ -lcmocka $(VTAC_LIBS)

# The library as others link it; the test makes a model by the schema itself.
$(VTAC_TEST_DIR)/test_libvtac: $(VTAC_TEST_DIR)/test_libvtac.o $(VTAC_DIR)/onnx.pb-c.o $(VTAC_LIB) $(OPS_A)
	$(CC) -o $@ $^ -lcmocka $(VTAC_LIBS)

$(VTAC_FLOATS): $(VTAC_TEST_DIR)/floats.o $(VTAC_ARCHIVES)
	$(CC) -o $@ $^ $(VTAC_LIBS)

$(ONNX_NODES): $(VTAC_TEST_DIR)/onnx_nodes.o $(VTAC_ARCHIVES)
	$(CC) -o $@ $^ $(VTAC_LIBS)

CHECKS += \
	$(foreach t,$(VTAC_TESTS),"vtac-$(notdir $(t))=$(t)") \
	"vtac-completion=tests/cli/completion.sh $(VTAC_BIN)" \
	"vtac-compile=tests/vtac/compile.sh $(CURDIR)/$(VTAC_BIN)" \
	"vtac-converted=$(ONNX_NODES) $(dir $(ONNX_NODES_DATA))pytorch-converted tests/vtac/onnx_converted.list" \
	"vtac-nodes=$(ONNX_NODES) $(ONNX_NODES_DATA) tests/vtac/onnx_nodes.list" \
	"vtac-opsets=tests/vtac/opsets.sh $(ONNX_NODES) $(ONNX_NODES_DATA) tests/vtac/onnx_nodes.list" \
	"vtac-symbols=tests/vtac/symbols.sh $(VTAC_LIB)" \
	"@vtac-page=tests/vtac/page.sh"
