// SPDX-License-Identifier: Apache-2.0
// Takes a module's next instruction from its queue, and finds what is known of it before it begins:
// its cost in cycles (docs/isa.md, 9), the elements that it touches, and the largest offsets of a
// loop's indices. One multiplier does so in up to 12 clocks. Results stay in registers while the
// instruction executes; meanwhile the next one is prepared.
module vta_prepare #(
	parameter int LOG_INP_BYTES = 4,	// bytes of an element
	parameter int LOG_WGT_BYTES = 8,
	parameter int LOG_ACC_BYTES = 6,
	parameter int LOG_UOP_DEPTH = 13,
	parameter int LOG_INP_DEPTH = 11,
	parameter int LOG_WGT_DEPTH = 10,
	parameter int LOG_ACC_DEPTH = 11
) (
	input logic clk,
	input logic clear,
	// The module's queue
	input logic queue_valid,
	input logic [159:0] queue_data,		// index, words 1 and 0
	output logic queue_pop,
	// The instruction
	output logic idle,			// there is none, and none is prepared
	output logic valid,			// the following is known
	input logic take,			// it has been executed
	output logic [127:0] insn,
	output logic [31:0] index,
	output logic legal,
	output logic nothing,			// it moves tokens alone
	output logic fits,			// a move stays within its scratchpad
	output logic [47:0] cost,
	output logic [33:0] elements,		// of a move, in its scratchpad
	output logic [31:0] dst_most, src_most, wgt_most	// offsets in a loop's last round
);
	logic [2:0] memory;
	logic [15:0] sram_base, y_size, x_size;
	logic [3:0] y_pad_0, y_pad_1, x_pad_0, x_pad_1;
	logic [15:0] uop_bgn;
	logic [16:0] uop_end;
	logic [13:0] iter_out, iter_in;
	logic [15:0] dst_factor_out, dst_factor_in, src_factor_out, src_factor_in;
	logic [15:0] wgt_factor_out, wgt_factor_in;
	logic move, loop, alu, use_imm;
	logic [127:0] next;			// the instruction that is prepared
	logic [31:0] next_index;
	logic next_legal;
	logic [47:0] next_cost;
	logic [33:0] next_elements;
	logic [31:0] next_dst, next_src, next_wgt;	// its dst_most, src_most, wgt_most

	/* verilator lint_off PINCONNECTEMPTY */
	vta_decode #(
		.LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LOG_INP_DEPTH),
		.LOG_WGT_DEPTH(LOG_WGT_DEPTH), .LOG_ACC_DEPTH(LOG_ACC_DEPTH)
	) decode (
		.insn(next), .opcode(), .pop_prev(), .pop_next(), .push_prev(), .push_next(),
		.move, .loop, .alu, .legal(next_legal), .memory, .sram_base, .dram_base(), .y_size, .x_size,
		.x_stride(), .y_pad_0, .y_pad_1, .x_pad_0, .x_pad_1, .reset(), .uop_bgn, .uop_end,
		.iter_out, .iter_in, .dst_factor_out, .dst_factor_in, .src_factor_out,
		.src_factor_in, .wgt_factor_out, .wgt_factor_in, .alu_opcode(), .use_imm, .imm()
	);
	/* verilator lint_on PINCONNECTEMPTY */

	// ---- Quantities of a move
	logic [4:0] log_bytes;			// of an element in memory
	logic [4:0] log_depth;
	always_comb begin
		unique case (memory)
			vta_isa_pkg::MEMORY_UOP: begin
				log_bytes = 5'd2;
				log_depth = 5'(LOG_UOP_DEPTH);
			end
			vta_isa_pkg::MEMORY_WGT: begin
				log_bytes = 5'(LOG_WGT_BYTES);
				log_depth = 5'(LOG_WGT_DEPTH);
			end
			vta_isa_pkg::MEMORY_INP: begin
				log_bytes = 5'(LOG_INP_BYTES);
				log_depth = 5'(LOG_INP_DEPTH);
			end
			vta_isa_pkg::MEMORY_OUT: begin
				log_bytes = 5'(LOG_INP_BYTES);
				log_depth = 5'(LOG_ACC_DEPTH);
			end
			vta_isa_pkg::MEMORY_ACC_8BIT: begin
				log_bytes = 5'(LOG_ACC_BYTES - 2);
				log_depth = 5'(LOG_ACC_DEPTH);
			end
			default: begin
				log_bytes = 5'(LOG_ACC_BYTES);
				log_depth = 5'(LOG_ACC_DEPTH);
			end
		endcase
	end
	logic [31:0] row_bytes, row_cycles;	// from steps 2 and 3 on
	logic [34:0] first_beyond;
	always_ff @(posedge clk) begin
		row_bytes <= 32'(x_size) << log_bytes;
		row_cycles <= 32'(vta_isa_pkg::MEM_ROW) + {4'd0, row_bytes[31:4]} +
			32'(|row_bytes[3:0]);
		first_beyond <= 35'(sram_base) + 35'(next_elements);
	end
	wire [16:0] width = 17'(x_pad_0) + 17'(x_size) + 17'(x_pad_1);
	wire [16:0] height = 17'(y_pad_0) + 17'(y_size) + 17'(y_pad_1);

	// ---- Quantities of a loop
	wire [16:0] uops = uop_end > 17'(uop_bgn) ? uop_end - 17'(uop_bgn) : 17'd0;
	wire [13:0] last_out = iter_out - 14'd1;
	wire [13:0] last_in = iter_in - 14'd1;
	wire unused = product[48];
	wire empty_loop = ~|uops | ~|iter_out | ~|iter_in;

	// ---- The multiplier: operands of step n, their product in step n + 3
	logic [3:0] step;
	logic [31:0] multiplicand;
	logic [16:0] multiplier;
	logic [32:0] low, high;			// products of the multiplicand's halves
	logic [48:0] product;
	logic [47:0] factors;			// of the loop's step
	always_comb begin
		unique case (step)
			4'd2: factors = {18'd0, last_out, dst_factor_out};
			4'd3: factors = {18'd0, last_in, dst_factor_in};
			4'd5: factors = {18'd0, last_out, src_factor_out};
			4'd6: factors = {18'd0, last_in, src_factor_in};
			4'd7: factors = {18'd0, last_out, wgt_factor_out};
			default: factors = {18'd0, last_in, wgt_factor_in};
		endcase
	end
	always_ff @(posedge clk) begin
		low <= multiplicand[15:0] * multiplier;
		high <= multiplicand[31:16] * multiplier;
		product <= 49'(low) + {high, 16'd0};
		if (loop) begin
			multiplicand <= factors[47:16];
			multiplier <= {1'b0, factors[15:0]};
			if (step == 4'd1) begin
				multiplicand <= 32'(iter_out);
				multiplier <= 17'(iter_in);
			end else if (step == 4'd4) begin
				multiplicand <= product[31:0];
				multiplier <= uops;
			end
		end else begin
			multiplicand <= step == 4'd1 ? 32'(width) : step == 4'd2 ? 32'(x_size) : row_cycles;
			multiplier <= step == 4'd1 ? height : 17'(y_size);
		end
	end

	// ---- The instruction that is prepared, and the one before
	localparam logic [3:0] Idle = 4'd0;
	localparam logic [3:0] MoveEnd = 4'd7;
	localparam logic [3:0] LoopEnd = 4'd12;

	wire trivial = ~next_legal | ~(move | loop) | (move & ~|x_size);
	logic known;
	wire at_end = trivial | (move ? step == MoveEnd - 4'd1 : step == LoopEnd - 4'd1);
	wire next_nothing = loop ? empty_loop : trivial | ~|height;
	wire hand_over = known & (~valid | take);

	assign idle = step == Idle & ~valid;
	assign queue_pop = step == Idle & queue_valid;

	always_ff @(posedge clk) begin
		if (queue_pop) {next_index, next} <= queue_data;
		if (clear | hand_over) known <= 1'b0;
		else if (step != Idle & at_end) known <= 1'b1;
		if (clear | hand_over) step <= Idle;
		else if (queue_pop | (step != Idle & ~known)) step <= step + 4'd1;

		if (loop) begin
			if (step == 4'd7)
				next_cost <= 48'(vta_isa_pkg::LOOP_LATENCY) +
					(alu & ~use_imm ? {product[46:0], 1'b0} : product[47:0]);
			if (step == 4'd5 | step == 4'd6)
				next_dst <= product[31:0] + (step == 4'd6 ? next_dst : 32'd0);
			if (step == 4'd8 | step == 4'd9)
				next_src <= product[31:0] + (step == 4'd9 ? next_src : 32'd0);
			if (step == 4'd10 | step == 4'd11)
				next_wgt <= product[31:0] + (step == 4'd11 ? next_wgt : 32'd0);
		end else begin
			if (step == 4'd4) next_cost <= 48'(vta_isa_pkg::MEM_LATENCY) + product[47:0];
			if (step == 4'd5) next_cost <= next_cost - product[47:0];
			if (step == 4'd6) next_cost <= next_cost + product[47:0];
			if (step == 4'd4) next_elements <= product[33:0];
		end

		if (clear) valid <= 1'b0;
		else if (hand_over) valid <= 1'b1;
		else if (take) valid <= 1'b0;
		if (hand_over) begin
			insn <= next;
			index <= next_index;
			legal <= next_legal;
			nothing <= next_nothing;
			fits <= next_nothing | ~move | first_beyond <= 35'd1 << log_depth;
			cost <= trivial ? 48'd1 : next_cost;
			elements <= next_elements;
			dst_most <= next_dst;
			src_most <= next_src;
			wgt_most <= next_wgt;
		end
	end
endmodule
