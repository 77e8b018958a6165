# SPDX-License-Identifier: Apache-2.0

STREAM_BIN := build/examples/stream/stream

$(call program,$(STREAM_BIN),examples/stream/stream.c examples/stream/layer.c,\
	$$(LIB_CPPFLAGS) -Ilibvtadev/ops $$(LIB_WARNINGS) -O2 -g,$(OPS_A) $(LIB_A),$$(LIB_LIBS))
