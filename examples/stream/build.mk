# SPDX-License-Identifier: Apache-2.0

STREAM_BIN := build/examples/stream/stream

$(STREAM_BIN): examples/stream/stream.c examples/stream/layer.c examples/stream/layer.h \
		$(LIB_HEADERS) $(OPS_HEADERS) $(OPS_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) -Ilibvtadev/ops $(LIB_WARNINGS) -O2 -g -o $@ $(filter %.c,$^) \
		$(OPS_A) $(LIB_A) $(LIB_LIBS)
