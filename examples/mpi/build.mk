# SPDX-License-Identifier: Apache-2.0
#
# Not part of make all: it takes Open MPI, or another MPI with mpicc.

MPI_BIN := build/examples/mpi/digits-mpi
MPI_PACKAGES := openmpi-bin libopenmpi-dev
MPI_HAVE := $(shell command -v mpicc)

# MPI's headers are not made for this project's warnings.
$(call program,$(MPI_BIN),\
	$(addprefix examples/mpi/,mpi.c worker.c),\
	$$(LIB_CPPFLAGS) -Ilibvtadev/ops -Iexamples/digits $$(LIB_WARNINGS) -O2 -g $$(MPI_CFLAGS),\
	$(DIGITS_A) $(PROG_A) $(OPS_A) $(LIB_A),$$(MPI_CFLAGS) $$(LIB_LIBS),mpicc)

CHECKS += "mpi=tests/mpi/run.sh build/mpi"
