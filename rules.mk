# SPDX-License-Identifier: GPL-2.0-only
#
# Rules to compile, archive and link C. Each part's build.mk names its sources and flags. The
# compiler writes the headers on which an object depends, so parts list only generated ones. Flags
# are given with $$: they are expanded when a command runs, so that a target can have its own.

# Objects and archives have variants: build/asan/X is build/X for AddressSanitizer and UBSan,
# build/tsan/X for ThreadSanitizer. tests/kernels/userspace.sh goes without the options.
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_tsan := -fsanitize=thread
# $(call variant,VARIANT,FILES), and $(call each,FILES) with all of their variants
variant = $(if $(1),$(2:build/%=build/$(1)/%),$(2))
each = $(1) $(call variant,asan,$(1)) $(call variant,tsan,$(1))

# Directories of objects. The Makefile includes their dependencies.
OBJECT_DIRS := build/asan build/tsan

# Said once, before anything is compiled.
have-compiler:
	@command -v $(firstword $(CC)) >/dev/null || { \
		echo 'no C compiler ($(firstword $(CC))): make user-deps installs what the build needs' >&2; \
		exit 1; }
	@$(if $(findstring s,$(firstword -$(MAKEFLAGS)))$(V),,echo 'building; V=1 prints the commands')

# $(call objects,DIR,SOURCE_DIR,FLAGS[,COMPILER]): DIR/%.o of SOURCE_DIR/%.c, or of sources
# named from the top of the tree if SOURCE_DIR is empty; and their variants.
objects = $(call objects-of,$(1),$(2),$(3),$(4))$(foreach v,asan tsan,$(eval \
	$(call objects-rule,$(call variant,$(v),$(1)),$(2:%=%/),$(3) $$(SANITIZE_$(v)),$(or $(4),$$(CC)))))
objects-of = $(eval OBJECT_DIRS += $(1))$(eval $(call objects-rule,$(1),$(2:%=%/),$(3),$(or $(4),$$(CC))))
define objects-rule
$(1)/%.o: $(2)%.c | have-compiler
	@mkdir -p $$(@D)
	$(4) $(3) -MMD -MP -c -o $$@ $$<
endef

# A source that has moved is still what objects of an existing build directory depended on.
%.c: ;

# $(call archive,FILE,OBJECTS): and its variants
archive = $(foreach v,- asan tsan,$(eval \
	$(call archive-rule,$(call variant,$(v:-=),$(1)),$(call variant,$(v:-=),$(2)))))
define archive-rule
$(1): $(2)
	@mkdir -p $$(@D)
	rm -f $$@
	$$(AR) rcs $$@ $$^
endef

# $(call closed-archive,OBJECTS,OPTIONS): the recipe of an archive of one object, in which all names
# are local but those that OPTIONS of objcopy keep, and code that compilers for 32-bit x86 put into
# every object, of which the linker keeps one
define closed-archive
@mkdir -p $(@D)/obj
$(LD) -r -o $(@D)/obj/$(@F:.a=.ro) $(1)
$(OBJCOPY) --wildcard $(2) --keep-global-symbol='__x86.get_pc_thunk.*' $(@D)/obj/$(@F:.a=.ro)
rm -f $@
$(AR) rcs $@ $(@D)/obj/$(@F:.a=.ro)
endef

# $(call program,FILE,SOURCES,FLAGS,OBJECTS,LIBRARIES[,COMPILER[,VARIANT]]): a program, or with
# -shared among the libraries a plugin. SOURCES are named from the top of the tree and
# compiled into FILE.obj for this program alone, OBJECTS are objects and archives of others.
# VARIANT is of both.
program = $(call objects-of,$(1).obj,,$(3) $(7:%=$$(SANITIZE_%)),$(6))$(eval $(call \
	program-rule,$(1),$(2),$(call variant,$(7),$(4)),$(5),$(or $(6),$$(CC)) $(7:%=$$(SANITIZE_%))))
define program-rule
$(1): $(patsubst %.c,$(1).obj/%.o,$(2)) $(3)
	@mkdir -p $$(@D)
	$(5) -pthread $$(LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) $(4)
endef

# $(call test,PART,SOURCES,FLAGS,OBJECTS,LIBRARIES[,VARIANT]): a cmocka program that make check
# builds and runs as PART-NAME. It is build/NAME for the first source NAME.c, and
# build/tsan/NAME in the variant tsan.
test = $(call test-file,$(1),$(2),$(3),$(4),$(5),$(6),$(call test-name,$(6),$(firstword $(2))))
test-name = build/$(addsuffix /,$(filter tsan,$(1)))$(basename $(2))
test-file = $(call program,$(7),$(2),$(3),$(4),$(5) -lcmocka,,$(6))$(call \
	checked,$(7),"$(1)-$(notdir $(7))=$(7)")
# $(call checked,FILE,CHECK): FILE is built for make check, which runs CHECK
CHECK_PROGRAMS :=
CROSS_PROGRAMS :=
CROSS_PROGRAMS_64 :=
checked = $(eval CHECK_PROGRAMS += $(1))$(eval CHECKS += $(2))

# $(call wrap,FUNCTIONS): has calls go to wrappers, by the linker's --wrap
comma := ,
wrap = $(addprefix -Wl$(comma)--wrap=,$(1))

# $(call library,NAME,SONAME,OBJECTS,MAP,HEADERS,PC,LIBRARIES[,INCLUDE]): build/lib/NAME.a and
# NAME.so.VERSION, with the names that programs load and link by, and install-NAME. Both export
# the names that the version script MAP lists. PC is the template of pkg-config's file, INCLUDE the directory of the headers below vtadev.
library = $(eval $(call library-rule,$(1),$(2),$(3),$(4),$(5),$(6),$(7),$(8)))$(call filled,build/lib/pkgconfig/$(notdir $(6:.in=)),$(6))
define library-rule
build/lib/$(1).a: $(3) $(4)
	@mkdir -p $$(@D)/obj
	sed -n 's/^\t\([a-zA-Z].*\);$$$$/\1/p' $(4) > build/lib/obj/$(1).names
	$$(call closed-archive,$(3),--keep-global-symbols=build/lib/obj/$(1).names)

build/lib/$(1).so.$(VERSION): $(3) $(4) $(filter build/%,$(7)) | build/lib/pkgconfig/$(notdir $(6:.in=))
	$$(CC) -shared -Wl,-soname,$(2) -Wl,--version-script=$(4) -Wl,-z,defs,-z,relro,-z,now \
		$$(LDFLAGS) -o $$@ $(3) $(7) -pthread
	ln -sf $$(@F) build/lib/$(2)
	ln -sf $(2) build/lib/$(1).so

.PHONY: install-$(1)
install-$(1): build/lib/$(1).so.$(VERSION) build/lib/$(1).a build/lib/pkgconfig/$(notdir $(6:.in=))
	install -d $$(DESTDIR)$$(LIBDIR)/pkgconfig
	install -m 644 -Dt $$(DESTDIR)$$(PREFIX)/include/vtadev$(8) $(5)
	install -m 644 build/lib/$(1).so.$(VERSION) build/lib/$(1).a $$(DESTDIR)$$(LIBDIR)
	cp -P build/lib/$(2) build/lib/$(1).so $$(DESTDIR)$$(LIBDIR)
	install -m 644 build/lib/pkgconfig/$(notdir $(6:.in=)) $$(DESTDIR)$$(LIBDIR)/pkgconfig
endef

# $(call filled,FILE,TEMPLATE): TEMPLATE with the values of variables, so FILE is made anew
# each time and replaced if it differs.
filled = $(eval $(call filled-rule,$(1),$(2)))
define filled-rule
$(1): $(2) FORCE
	@mkdir -p $$(@D)
	@sed -e 's|@PREFIX@|$$(PREFIX)|' -e 's|@LIBDIR@|$$(LIBDIR)|' -e 's|@VERSION@|$$(VERSION)|' \
		-e 's|@BINDIR@|$$(PREFIX)/bin|' -e 's|@GROUP@|$$(UDEV_GROUP)|' $$< > $$@.new
	@if cmp -s $$@.new $$@; then rm $$@.new; else mv $$@.new $$@; fi
endef

.PHONY: FORCE
FORCE:
