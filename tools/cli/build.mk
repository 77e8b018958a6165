# SPDX-License-Identifier: GPL-2.0-only
#
# Command lines of vtactl, vtac and vta-emu: an object, and completion for shells.

CLI_CPPFLAGS := -Itools/cli
CLI_OBJ := build/tools/obj/cli/cli.o
# Of commands that take long.
PROGRESS_OBJ := build/tools/obj/cli/progress.o

$(call objects,build/tools/obj/cli,tools/cli,\
	-D_GNU_SOURCE $$(CPPFLAGS) -std=gnu11 -Wall -Wextra -Wshadow -Werror -O2 -g $$(CFLAGS))

ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions

# install-completion-PROGRAM: each program has its copies, as its package has.
install-completion-%:
	install -m 644 -D tools/cli/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/$*
	install -m 644 -D tools/cli/completion.zsh $(DESTDIR)$(ZSH_DIR)/_$*
