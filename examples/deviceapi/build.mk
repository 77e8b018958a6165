# SPDX-License-Identifier: Apache-2.0
#
# The template of a TVM device. Its headers are DLPack's, from libdlpack-dev.

DEVICEAPI_SRC := examples/deviceapi/vta_device_api.c
DEVICEAPI_TEST := build/examples/deviceapi/deviceapi_test

$(DEVICEAPI_TEST): examples/deviceapi/deviceapi_test.c $(DEVICEAPI_SRC) \
		examples/deviceapi/vta_device_api.h $(LIB_HEADERS) $(OPS_HEADERS) $(OPS_A) $(LIB_A)
	@mkdir -p $(@D)
	$(CC) $(LIB_CPPFLAGS) -Ilibvtadev/ops $(LIB_WARNINGS) -O2 -g -pthread -o $@ \
		$(filter %.c,$^) $(OPS_A) $(LIB_A) $(LIB_LIBS) -lcmocka
