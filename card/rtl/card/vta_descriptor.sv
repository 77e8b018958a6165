// SPDX-License-Identifier: Apache-2.0
// Checks a descriptor (docs/hardware.md, 7 and 8): its fields, alignment, and the cycles of a copy.
//
// The results are valid some clocks after `start`, while the descriptor stays.
module vta_descriptor (
	input logic clk,
	input logic reset,
	input logic start,
	input logic [511:0] descriptor,
	input logic [63:0] limit,		// CYCLES of the queue; 0: none
	input logic keeps,			// the queue has a save area
	output logic done,			// for one clock
	output logic [3:0] reason,		// FAULT_NONE: it may be executed
	output logic [3:0] access,
	output logic [31:0] address,		// with FAULT_ALIGN
	output logic [1:0] unit,		// that executes it
	output logic [63:0] copy_cycles
);
	wire [7:0] operation = descriptor[7:0];
	wire [23:0] flags = descriptor[31:8];
	wire [31:0] stamp = descriptor[63:32];
	wire [31:0] first = descriptor[159:128];	// of the operands
	wire [31:0] width = descriptor[223:192];
	wire [31:0] rows = descriptor[255:224];

	// ---- The operation's rule: operands that may be other than 0, and its first address
	logic known;
	logic [11:0] words;
	logic [3:0] aligned;			// bits of the address that must be 0
	logic [3:0] aligned_access;
	logic [1:0] kind;
	always_comb begin
		known = 1'b1;
		words = 12'h000;
		aligned = 4'b0000;
		aligned_access = vta_isa_pkg::ACCESS_NONE;
		kind = vta_card_pkg::UNIT_FRONT;
		unique case (operation)
			vta_card_pkg::OP_NOP: ;
			vta_card_pkg::OP_RUN: begin
				words = 12'h00f;
				aligned = 4'b1111;
				aligned_access = vta_isa_pkg::ACCESS_INSN;
				kind = vta_card_pkg::UNIT_COMPUTE;
			end
			vta_card_pkg::OP_COPY: begin
				words = 12'h03f;
				kind = vta_card_pkg::UNIT_COPY;
			end
			vta_card_pkg::OP_FILL: begin
				words = 12'h01f;
				kind = vta_card_pkg::UNIT_COPY;
			end
			vta_card_pkg::OP_SIGNAL: begin
				words = 12'h00d;
				aligned = 4'b0111;
				aligned_access = vta_card_pkg::ACCESS_SIGNAL;
			end
			vta_card_pkg::OP_WAIT: begin
				words = 12'h00d;
				aligned = 4'b0111;
				aligned_access = vta_card_pkg::ACCESS_WAIT;
			end
			default: known = 1'b0;
		endcase
	end

	wire compute = kind == vta_card_pkg::UNIT_COMPUTE;
	wire copy = kind == vta_card_pkg::UNIT_COPY;
	wire stamped = flags[vta_card_pkg::DESC_STAMP - 8];
	logic stray;				// an operand that must be 0 is not
	always_comb begin
		stray = |descriptor[127:64] | (|stamp & ~stamped) | |flags[23:2] |
			(flags[vta_card_pkg::DESC_KEEP - 8] & ~(compute & keeps));
		for (int n = 0; n < 12; n++)
			if (~words[n] & |descriptor[128 + 32 * n +: 32]) stray = 1'b1;
	end

	// ---- Two products, in as many clocks
	logic [3:0] step;
	logic [63:0] bytes;
	logic [63:0] row_cycles;
	wire [28:0] row = 29'd1 + 29'(width[31:4]) + 29'(|width[3:0]);
	wire too_large = bytes > 64'h1_0000_0000;
	wire over = |limit & copy_cycles > limit;

	always_ff @(posedge clk) begin
		bytes <= 64'(width) * 64'(rows);
		row_cycles <= 64'(row) * 64'(rows);
		copy_cycles <= row_cycles + 64'(vta_card_pkg::COPY_LATENCY);
		unit <= compute & ~|descriptor[191:160] ? vta_card_pkg::UNIT_FRONT : kind;
		address <= '0;
		access <= vta_isa_pkg::ACCESS_NONE;
		if (~known | stray | (copy & too_large)) begin
			reason <= vta_card_pkg::FAULT_DESC;
		end else if (|stamp[2:0]) begin
			reason <= vta_isa_pkg::FAULT_ALIGN;
			access <= vta_card_pkg::ACCESS_STAMP;
			address <= stamp;
		end else if (|(first[3:0] & aligned)) begin
			reason <= vta_isa_pkg::FAULT_ALIGN;
			access <= aligned_access;
			address <= first;
		end else begin
			reason <= copy & over ? vta_isa_pkg::FAULT_CYCLES : vta_isa_pkg::FAULT_NONE;
		end
		step <= reset ? '0 : {step[2:0], start};
	end
	assign done = step[3];
endmodule
