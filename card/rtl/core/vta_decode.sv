// SPDX-License-Identifier: Apache-2.0
// Takes an instruction apart (docs/isa.md, 2 to 6); fields have the width of the widest
// configuration, and are zero above their own.
module vta_decode #(
	parameter int LOG_UOP_DEPTH = 13,
	parameter int LOG_INP_DEPTH = 11,
	parameter int LOG_WGT_DEPTH = 10,
	parameter int LOG_ACC_DEPTH = 11
) (
	input logic [127:0] insn,
	output logic [2:0] opcode,
	output logic pop_prev, pop_next, push_prev, push_next,
	output logic move, loop, alu,	// LOAD or STORE; GEMM or ALU; ALU
	output logic legal,
	// LOAD and STORE
	output logic [2:0] memory,
	output logic [15:0] sram_base,
	output logic [31:0] dram_base,
	output logic [15:0] y_size, x_size, x_stride,
	output logic [3:0] y_pad_0, y_pad_1, x_pad_0, x_pad_1,
	// GEMM and ALU
	output logic reset,
	output logic [15:0] uop_bgn,
	output logic [16:0] uop_end,
	output logic [13:0] iter_out, iter_in,
	output logic [15:0] dst_factor_out, dst_factor_in,
	output logic [15:0] src_factor_out, src_factor_in,
	output logic [15:0] wgt_factor_out, wgt_factor_in,
	output logic [2:0] alu_opcode,
	output logic use_imm,
	output logic [15:0] imm
);
	// Places of the fields whose widths are depths
	localparam int UopBgn = vta_isa_pkg::HEAD_BITS + 1;
	localparam int UopEnd = UopBgn + LOG_UOP_DEPTH;
	localparam int IterOut = UopEnd + LOG_UOP_DEPTH + 1;
	localparam int IterIn = IterOut + 14;
	localparam int Src = 2 * LOG_ACC_DEPTH;
	localparam int Wgt = Src + 2 * LOG_INP_DEPTH;
	localparam int AluOpcode = 4 * LOG_ACC_DEPTH;

	wire [63:0] word_0 = insn[63:0];
	wire [63:0] word_1 = insn[127:64];

	assign opcode = insn[2:0];
	assign pop_prev = insn[vta_isa_pkg::BIT_POP_PREV];
	assign pop_next = insn[vta_isa_pkg::BIT_POP_NEXT];
	assign push_prev = insn[vta_isa_pkg::BIT_PUSH_PREV];
	assign push_next = insn[vta_isa_pkg::BIT_PUSH_NEXT];

	wire store = opcode == vta_isa_pkg::OPCODE_STORE;
	assign move = opcode == vta_isa_pkg::OPCODE_LOAD | store;
	assign alu = opcode == vta_isa_pkg::OPCODE_ALU;
	assign loop = opcode == vta_isa_pkg::OPCODE_GEMM | alu;

	assign memory = word_0[7 +: 3];
	assign sram_base = word_0[10 +: 16];
	assign dram_base = word_0[26 +: 32];
	assign y_size = word_1[0 +: 16];
	assign x_size = word_1[16 +: 16];
	assign x_stride = word_1[32 +: 16];
	assign y_pad_0 = word_1[48 +: 4];
	assign y_pad_1 = word_1[52 +: 4];
	assign x_pad_0 = word_1[56 +: 4];
	assign x_pad_1 = word_1[60 +: 4];

	assign reset = word_0[vta_isa_pkg::HEAD_BITS];
	assign uop_bgn = 16'(vta_isa_pkg::field(word_0, UopBgn, LOG_UOP_DEPTH));
	assign uop_end = vta_isa_pkg::field(word_0, UopEnd, LOG_UOP_DEPTH + 1);
	assign iter_out = word_0[IterOut +: 14];
	assign iter_in = word_0[IterIn +: 14];
	assign dst_factor_out = 16'(vta_isa_pkg::field(word_1, 0, LOG_ACC_DEPTH));
	assign dst_factor_in = 16'(vta_isa_pkg::field(word_1, LOG_ACC_DEPTH, LOG_ACC_DEPTH));
	assign src_factor_out = alu ? 16'(vta_isa_pkg::field(word_1, Src, LOG_ACC_DEPTH)) :
		16'(vta_isa_pkg::field(word_1, Src, LOG_INP_DEPTH));
	assign src_factor_in = alu ?
		16'(vta_isa_pkg::field(word_1, Src + LOG_ACC_DEPTH, LOG_ACC_DEPTH)) :
		16'(vta_isa_pkg::field(word_1, Src + LOG_INP_DEPTH, LOG_INP_DEPTH));
	assign wgt_factor_out = 16'(vta_isa_pkg::field(word_1, Wgt, LOG_WGT_DEPTH));
	assign wgt_factor_in = 16'(vta_isa_pkg::field(word_1, Wgt + LOG_WGT_DEPTH, LOG_WGT_DEPTH));
	assign alu_opcode = word_1[AluOpcode +: 3];
	assign use_imm = word_1[AluOpcode + 3];
	assign imm = word_1[AluOpcode + 4 +: 16];

	// A move of no columns does nothing, so its other fields do not matter.
	wire any_pad = |{y_pad_0, y_pad_1, x_pad_0, x_pad_1};
	wire move_legal = ~|x_size |
		(store ? memory == vta_isa_pkg::MEMORY_OUT & ~any_pad :
			 memory <= vta_isa_pkg::MEMORY_ACC | memory == vta_isa_pkg::MEMORY_ACC_8BIT);

	always_comb begin
		unique case (opcode)
			vta_isa_pkg::OPCODE_LOAD, vta_isa_pkg::OPCODE_STORE: legal = move_legal;
			vta_isa_pkg::OPCODE_GEMM, vta_isa_pkg::OPCODE_FINISH: legal = 1'b1;
			vta_isa_pkg::OPCODE_ALU: legal = alu_opcode <= vta_isa_pkg::ALU_MUL;
			default: legal = 1'b0;
		endcase
	end
endmodule
