// SPDX-License-Identifier: Apache-2.0
// The numbers of the instruction set (docs/isa.md) and of fault records (docs/hardware.md, 8);
// tests/rtl/numbers.py compares them with contract/vta_isa.h and uapi/vta.h.
package vta_isa_pkg;
	// Opcodes: word 0, bits 2:0
	localparam logic [2:0] OPCODE_LOAD = 3'd0;
	localparam logic [2:0] OPCODE_STORE = 3'd1;
	localparam logic [2:0] OPCODE_GEMM = 3'd2;
	localparam logic [2:0] OPCODE_FINISH = 3'd3;
	localparam logic [2:0] OPCODE_ALU = 3'd4;

	// Flags: bits of word 0; fields follow them
	localparam int BIT_POP_PREV = 3;
	localparam int BIT_POP_NEXT = 4;
	localparam int BIT_PUSH_PREV = 5;
	localparam int BIT_PUSH_NEXT = 6;
	localparam int HEAD_BITS = 7;

	// The field memory_type
	localparam logic [2:0] MEMORY_UOP = 3'd0;
	localparam logic [2:0] MEMORY_WGT = 3'd1;
	localparam logic [2:0] MEMORY_INP = 3'd2;
	localparam logic [2:0] MEMORY_ACC = 3'd3;
	localparam logic [2:0] MEMORY_OUT = 3'd4;
	localparam logic [2:0] MEMORY_ACC_8BIT = 3'd5;

	// The field alu_opcode
	localparam logic [2:0] ALU_MIN = 3'd0;
	localparam logic [2:0] ALU_MAX = 3'd1;
	localparam logic [2:0] ALU_ADD = 3'd2;
	localparam logic [2:0] ALU_SHR = 3'd3;
	localparam logic [2:0] ALU_MUL = 3'd4;

	// Cycles (docs/isa.md, 9)
	localparam int MEM_LATENCY = 32;
	localparam int MEM_ROW = 2;
	localparam int MEM_PORT = 16;
	localparam int LOOP_LATENCY = 8;

	// Reasons of faults, and purposes of accesses
	localparam logic [3:0] FAULT_NONE = 4'd0;
	localparam logic [3:0] FAULT_PAGE = 4'd1;
	localparam logic [3:0] FAULT_ALIGN = 4'd6;
	localparam logic [3:0] FAULT_INSN = 4'd7;
	localparam logic [3:0] FAULT_BOUNDS = 4'd8;
	localparam logic [3:0] FAULT_CYCLES = 4'd9;
	localparam logic [3:0] FAULT_DEADLOCK = 4'd10;
	localparam logic [3:0] ACCESS_NONE = 4'd0;
	localparam logic [3:0] ACCESS_INSN = 4'd2;
	localparam logic [3:0] ACCESS_UOP = 4'd3;
	localparam logic [3:0] ACCESS_LOAD = 4'd4;
	localparam logic [3:0] ACCESS_STORE = 4'd5;
	localparam logic [3:0] ACCESS_STATE = 4'd11;
	localparam logic [31:0] NO_INSN = 32'hffff_ffff;

	// Commands of vta_core
	localparam logic [1:0] COMMAND_RUN = 2'd0;
	localparam logic [1:0] COMMAND_CLEAR = 2'd1;
	localparam logic [1:0] COMMAND_SAVE = 2'd2;
	localparam logic [1:0] COMMAND_RESTORE = 2'd3;

	function automatic int max(input int a, input int b);
		max = a > b ? a : b;
	endfunction

	// A field of at most 17 bits; its width may be 0
	function automatic logic [16:0] field(input logic [63:0] word, input int at, input int bits);
		field = 17'(word >> at) & 17'((18'd1 << bits) - 18'd1);
	endfunction
endpackage
