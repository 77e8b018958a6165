# SPDX-License-Identifier: GPL-2.0-only
#
# Networks of PyTorch's libraries through the compiler: make check-zoo.

ZOO_NETWORK := build/tests/zoo/network
ZOO_FLAGS = $(VTAC_CPPFLAGS) $(LIB_CPPFLAGS) -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g

$(call program,$(ZOO_NETWORK),tests/zoo/network.c,$$(ZOO_FLAGS),\
	$(VTAC_A) $(PROG_A) $(LIB_A),$$(VTAC_LIBS) $$(LIB_LIBS))

CHECK_PROGRAMS += $(ZOO_NETWORK)
CHECKS += "zoo-page=tests/zoo/test_page.sh"
