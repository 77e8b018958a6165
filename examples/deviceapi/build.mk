# SPDX-License-Identifier: Apache-2.0
#
# The template of a TVM device. Its headers are DLPack's, from libdlpack-dev.

DEVICEAPI_SRC := examples/deviceapi/vta_device_api.c
DEVICEAPI_TEST := build/examples/deviceapi/deviceapi_test

$(call program,$(DEVICEAPI_TEST),examples/deviceapi/deviceapi_test.c $(DEVICEAPI_SRC),\
	$$(LIB_CPPFLAGS) -Ilibvtadev/ops $$(LIB_WARNINGS) -O2 -g,$(OPS_A) $(LIB_A),$$(LIB_LIBS) -lcmocka)
