# SPDX-License-Identifier: Apache-2.0
#
# Not part of make all: it takes Open MPI, or another MPI with mpicc.

MPI_BIN := build/examples/mpi/digits-mpi
MPI_HAVE := $(shell command -v mpicc)

# MPI's headers are not made for this project's warnings.
$(MPI_BIN): $(addprefix examples/mpi/,mpi.c worker.c worker.h) \
		$(addprefix examples/digits/,reference.c testset.c) $(DIGITS_DATA) \
		$(LIB_HEADERS) $(OPS_HEADERS) $(PROG_A) $(OPS_A) $(LIB_A)
	@mkdir -p $(@D)
	mpicc $(LIB_CPPFLAGS) -Ilibvtadev/ops -Iexamples/digits $(LIB_WARNINGS) -O2 -g $(MPI_CFLAGS) \
		-o $@ $(filter %.c,$^) $(PROG_A) $(OPS_A) $(LIB_A) $(LIB_LIBS)
