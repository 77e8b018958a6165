# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the compiler that need no VM.

VTAC_TEST_DIR := build/tests/vtac
VTAC_TEST_CFLAGS := -std=gnu11 -Wall -Wextra -Wshadow -Werror -O1 -g
VTAC_LIBS := -lprotobuf-c -lm
VTAC_ARCHIVES := $(VTAC_A) $(OPS_A)
# Where libonnx-testdata has its tests of operators.
ONNX_NODES_DATA := /usr/share/libonnx-testdata/data/node
ONNX_NODES := $(VTAC_TEST_DIR)/onnx_nodes
VTAC_FLOATS := $(VTAC_TEST_DIR)/floats

VTAC_TESTS := $(patsubst tests/vtac/%.c,$(VTAC_TEST_DIR)/%,$(wildcard tests/vtac/test_*.c))
VTAC_TEST_BINS := $(VTAC_BIN) $(ONNX_NODES) $(VTAC_FLOATS) $(VTAC_TESTS)

$(VTAC_TEST_DIR)/%.o: tests/vtac/%.c
	@mkdir -p $(@D)
	$(CC) $(VTAC_CPPFLAGS) $(VTAC_TEST_CFLAGS) -MMD -MP -c -o $@ $<

$(VTAC_TEST_DIR)/%.o: $(VTAC_DIR)/onnx.pb-c.h

$(VTAC_TESTS): $(VTAC_TEST_DIR)/%: $(VTAC_TEST_DIR)/%.o $(VTAC_TEST_DIR)/net.o $(VTAC_ARCHIVES)
	$(CC) -o $@ $^ -lcmocka $(VTAC_LIBS)

$(VTAC_FLOATS): $(VTAC_TEST_DIR)/floats.o $(VTAC_ARCHIVES)
	$(CC) -o $@ $^ $(VTAC_LIBS)

$(ONNX_NODES): $(VTAC_TEST_DIR)/onnx_nodes.o $(VTAC_ARCHIVES)
	$(CC) -o $@ $^ $(VTAC_LIBS)

-include $(wildcard $(VTAC_TEST_DIR)/*.d)
