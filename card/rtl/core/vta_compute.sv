// SPDX-License-Identifier: Apache-2.0
// Executes GEMM and ALU (docs/isa.md, 5 to 7), and has the accumulators.
//
// A micro-op takes a clock for each word of its accumulators, and ALU with two sources takes two.
// Its stages: the loop's counters (0), the micro-op (1 and 2), its indices (3), inputs and weights
// (4), then the dot product; the accumulators are read at stage Read, held at Hold, computed at
// Compute and Middle, and written at Result. A save of the state reads accumulators through the
// same stages, while no loop is executed.
module vta_compute #(
	parameter int LOG_BATCH = 0,
	parameter int LOG_BLOCK = 4,
	parameter int LOG_LANES = 4,
	parameter int INP_BITS = 8,
	parameter int WGT_BITS = 8,
	parameter int LOG_ACC_DEPTH = 11
) (
	input logic clk,
	input logic halt,
	// The instruction: it is there in the clock before its start, and stays until `done`
	input logic start,
	output logic done,
	input logic alu, reset, use_imm,
	input logic [2:0] alu_opcode,
	input logic [15:0] imm,
	input logic [15:0] uop_bgn,
	input logic [16:0] uop_end,
	input logic [13:0] iter_out, iter_in,
	input logic [15:0] dst_factor_out, dst_factor_in,
	input logic [15:0] src_factor_out, src_factor_in,
	input logic [15:0] wgt_factor_out, wgt_factor_in,
	output logic uop_executed,		// one more micro-op is in hand
	// Scratchpads: data comes in the clock after the read
	output logic uop_read,
	output logic [15:0] uop_index,
	input logic [15:0] uop_dst, uop_src, uop_wgt,
	output logic inp_read,
	output logic [23:0] inp_word,
	input logic [(INP_BITS << LOG_BLOCK) - 1:0] inp,
	output logic wgt_read,
	output logic [23:0] wgt_word,
	input logic [(WGT_BITS << (LOG_BLOCK + LOG_LANES)) - 1:0] wgt,
	// LOAD of accumulators
	input logic fill,
	input logic fill_zero,
	input logic fill_8bit,
	input logic [23:0] fill_word,
	input logic [9:0] fill_part,
	input logic [127:0] fill_data,
	// STORE: data comes in the clock after the read
	input logic store_read,
	input logic [23:0] store_word,
	output logic [(INP_BITS << LOG_LANES) - 1:0] store_data,
	// A save of the state, between runs: data comes some clocks later, in order
	input logic save_read,
	input logic [23:0] save_word,
	output logic save_valid,
	output logic [(32 << LOG_LANES) - 1:0] save_data
);
	localparam int Lanes = 1 << LOG_LANES;
	localparam int LogGroups = LOG_BLOCK - LOG_LANES;	// words of a row of accumulators
	localparam int LogSteps = LOG_BATCH + LogGroups;	// and of an element
	localparam int StepBits = vta_isa_pkg::max(LogSteps, 1);
	localparam int LogAccWords = LOG_ACC_DEPTH + LogSteps;
	localparam int AccBits = vta_isa_pkg::max(LogAccWords, 1);
	localparam int SumBits = INP_BITS + WGT_BITS + LOG_BLOCK;
	localparam int TreeClocks = (LOG_BLOCK + 1) / 2;
	localparam int Wait = TreeClocks + 1;			// stages from indices to Read
	localparam logic [StepBits - 1:0] LastStep = StepBits'((1 << LogSteps) - 1);

	// ---- Fields of the instruction, in registers since they are there before its start
	logic is_alu, is_reset, has_imm;
	logic two, late, waits;			// ALU with two sources; SHR or MUL
	logic [2:0] opcode;
	logic [31:0] immediate;
	logic [16:0] last_uop, before_uop;	// the last one, and the one before
	logic [13:0] last_out, last_in, before_out, before_in;
	logic one_u, one_j, one_i;		// the first one is the last one
	always_ff @(posedge clk) begin
		is_alu <= alu;
		is_reset <= reset;
		has_imm <= use_imm;
		two <= alu & ~use_imm;
		late <= alu & (alu_opcode == vta_isa_pkg::ALU_SHR | alu_opcode == vta_isa_pkg::ALU_MUL);
		waits <= late;
		opcode <= alu_opcode;
		immediate <= {{16{imm[15]}}, imm};
		last_uop <= uop_end - 17'd1;
		last_out <= iter_out - 14'd1;
		last_in <= iter_in - 14'd1;
		before_uop <= uop_end - 17'd2;
		before_out <= iter_out - 14'd2;
		before_in <= iter_in - 14'd2;
		one_u <= 17'(uop_bgn) == last_uop;
		one_j <= ~|last_in;
		one_i <= ~|last_out;
	end

	// ---- Stage 0: the loops
	logic run, second;			// second: the read of dst, of ALU with two sources
	logic [13:0] i, j;
	logic [16:0] u;
	logic [StepBits - 1:0] step;
	logic [15:0] dst_out, dst_in, src_out, src_in, wgt_out, wgt_in;

	logic stall;
	wire issue = run & ~stall;
	wire word_end = issue & (~two | second);
	wire uop_done = word_end & step == LastStep;
	logic last_u, last_j, last_i;		// each is at its last value

	assign uop_executed = uop_done;
	assign uop_read = ~stall;
	assign uop_index = u[15:0];

	always_ff @(posedge clk) begin
		if (start) begin
			u <= 17'(uop_bgn);
			step <= '0;
			second <= 1'b0;
			{i, j} <= '0;
			{dst_out, dst_in, src_out, src_in, wgt_out, wgt_in} <= '0;
			{last_u, last_j, last_i} <= {one_u, one_j, one_i};
		end else if (issue) begin
			second <= two & ~second;
			if (word_end) step <= step == LastStep ? '0 : step + 1'b1;
			if (uop_done) begin
				u <= last_u ? 17'(uop_bgn) : u + 17'd1;
				last_u <= last_u ? one_u : u == before_uop;
			end
			if (uop_done & last_u) begin
				last_j <= last_j ? one_j : j == before_in;
				j <= last_j ? '0 : j + 14'd1;
				dst_in <= last_j ? '0 : dst_in + dst_factor_in;
				src_in <= last_j ? '0 : src_in + src_factor_in;
				wgt_in <= last_j ? '0 : wgt_in + wgt_factor_in;
			end
			if (uop_done & last_u & last_j) begin
				i <= i + 14'd1;
				last_i <= i == before_out;
				dst_out <= dst_out + dst_factor_out;
				src_out <= src_out + src_factor_out;
				wgt_out <= wgt_out + wgt_factor_out;
			end
		end
		if (halt) run <= 1'b0;
		else if (start) run <= 1'b1;
		else if (uop_done & last_u & last_j & last_i) run <= 1'b0;
	end

	// ---- Stage 1: the micro-op, and the loops' offsets
	logic valid_1, save_1, second_1;
	logic [StepBits - 1:0] step_1;
	logic [15:0] dst_1, src_1, wgt_1;
	logic [AccBits - 1:0] save_word_1;
	always_ff @(posedge clk) begin
		if (halt) begin
			valid_1 <= 1'b0;
			save_1 <= 1'b0;
		end else if (~stall) begin
			valid_1 <= issue;
			save_1 <= save_read;
		end
		if (~stall) begin
			second_1 <= second;
			step_1 <= step;
			dst_1 <= dst_out + dst_in;
			src_1 <= src_out + src_in;
			wgt_1 <= wgt_out + wgt_in;
			save_word_1 <= save_word[AccBits - 1:0];
		end
	end

	// ---- Stage 2: both in registers
	logic valid_2, save_2, writes_2;
	logic [StepBits - 1:0] step_2;
	logic [15:0] dst_2, src_2, wgt_2, uop_dst_2, uop_src_2, uop_wgt_2;
	logic [AccBits - 1:0] save_word_2;
	always_ff @(posedge clk) begin
		if (halt) begin
			valid_2 <= 1'b0;
			save_2 <= 1'b0;
		end else if (~stall) begin
			valid_2 <= valid_1;
			save_2 <= save_1;
		end
		if (~stall) begin
			writes_2 <= ~two | second_1;
			step_2 <= step_1;
			dst_2 <= dst_1;
			src_2 <= src_1;
			wgt_2 <= wgt_1;
			uop_dst_2 <= uop_dst;
			uop_src_2 <= uop_src;
			uop_wgt_2 <= uop_wgt;
			save_word_2 <= save_word_1;
		end
	end

	// ---- Stage 3: indices; vta_scan has checked them
	logic valid_3, save_3, writes_3;
	logic [15:0] src_3, wgt_3;
	logic [StepBits - 1:0] step_3;
	logic [AccBits - 1:0] acc_3;
	wire [15:0] dst_index = dst_2 + uop_dst_2;
	wire [15:0] src_index = src_2 + uop_src_2;
	wire [23:0] acc_word_2 = {8'd0, writes_2 ? dst_index : src_index} << LogSteps |
		(LogSteps == 0 ? 24'd0 : 24'(step_2));
	always_ff @(posedge clk) begin
		if (halt) begin
			valid_3 <= 1'b0;
			save_3 <= 1'b0;
		end else if (~stall) begin
			valid_3 <= valid_2;
			save_3 <= save_2;
		end
		if (~stall) begin
			writes_3 <= writes_2;
			step_3 <= step_2;
			src_3 <= src_index;
			wgt_3 <= wgt_2 + uop_wgt_2;
			acc_3 <= save_2 ? save_word_2 : acc_word_2[AccBits - 1:0];
		end
	end

	wire unused = &{1'b0, fill_word, store_word, save_word, acc_word_2};

	// ---- Stage 4 and the next ones: inputs and weights
	wire gemm = valid_3 & ~is_alu & ~is_reset;
	wire [23:0] row = LogSteps == 0 ? 24'd0 : 24'(step_3) >> LogGroups;
	wire [23:0] group = LogGroups == 0 ? 24'd0 : 24'(step_3) & 24'((1 << LogGroups) - 1);
	logic multiply;

	assign inp_read = gemm;
	assign inp_word = 24'(src_3) << LOG_BATCH | row;
	assign wgt_read = gemm;
	assign wgt_word = 24'(wgt_3) << LogGroups | group;

	always_ff @(posedge clk) multiply <= gemm;

	// ---- Stages up to Read: kinds and addresses of accumulators
	logic [Wait - 1:0] valid_wait, save_wait, writes_wait;
	logic [Wait * AccBits - 1:0] acc_wait;
	wire [AccBits - 1:0] acc_read = acc_wait[(Wait - 1) * AccBits +: AccBits];
	wire meet = acc_wait[(Wait - 2) * AccBits +: AccBits] == acc_read;
	logic again;				// at Read: it has the word that was there before
	always_ff @(posedge clk) begin
		if (halt) begin
			valid_wait <= '0;
			save_wait <= '0;
		end else if (~stall) begin
			valid_wait <= Wait'({valid_wait, valid_3});
			save_wait <= Wait'({save_wait, save_3});
		end
		if (~stall) begin
			writes_wait <= Wait'({writes_wait, writes_3});
			acc_wait <= (Wait * AccBits)'({acc_wait, acc_3});
			again <= meet;
		end
	end
	wire valid_read = valid_wait[Wait - 1];
	wire save_at_read = save_wait[Wait - 1];
	wire writes_read = writes_wait[Wait - 1];

	// ---- Hold, Compute, Middle, Result
	logic valid_hold, writes_hold, save_hold, write_compute, write_middle, write_result;
	logic [AccBits - 1:0] acc_hold, acc_compute, acc_middle, acc_result;
	logic from_compute, from_middle, from_result, from_written;

	// The reader at Read sees the results of writers before it.
	wire after_hold = valid_hold & writes_hold & again;
	wire after_compute = write_compute & acc_read == acc_compute;

	// SHR and MUL have theirs at Middle, so the next reader waits for it. That it will is known in the
	// clock before: valid_read & after_hold are then true.
	always_ff @(posedge clk) begin
		stall <= waits & ~stall & ~halt & valid_wait[Wait - 2] & valid_read & writes_read & meet;
		valid_hold <= valid_read & ~stall & ~halt;
		save_hold <= save_at_read & ~halt;
		writes_hold <= writes_read;
		write_compute <= valid_hold & writes_hold & ~halt;
		write_middle <= write_compute & ~halt;
		write_result <= write_middle & ~halt;
		acc_hold <= acc_read;
		acc_compute <= acc_hold;
		acc_middle <= acc_compute;
		acc_result <= acc_middle;
		from_compute <= after_hold;
		from_middle <= after_compute;
		from_result <= write_middle & acc_read == acc_middle;
		from_written <= write_result & acc_read == acc_result;
	end

	wire in_hand = valid_1 | valid_2 | valid_3 | |valid_wait | valid_hold | write_compute |
		write_middle | write_result;
	logic started;
	always_ff @(posedge clk) begin
		done <= started & ~run & ~in_hand & ~done & ~halt;
		if (halt) started <= 1'b0;
		else if (start) started <= 1'b1;
		else if (done) started <= 1'b0;
	end
	assign save_valid = save_hold;

	// ---- Lanes
	for (genvar n = 0; n < Lanes; n++) begin : gen_lane
		logic signed [SumBits - 1:0] sum;
		logic [31:0] fill_value;
		logic fill_lane;

		vta_dot #(
			.LOG_BLOCK(LOG_BLOCK), .INP_BITS(INP_BITS), .WGT_BITS(WGT_BITS)
		) dot (
			.clk, .enable(multiply), .inp,
			.wgt(wgt[n * (WGT_BITS << LOG_BLOCK) +: WGT_BITS << LOG_BLOCK]), .sum
		);

		// 16 bytes have 4 values, or 16 of ACC_8BIT, of a word with as many or fewer
		wire [1:0] first_32 = LOG_LANES < 2 ? 2'(fill_part << LOG_LANES) : '0;
		wire [3:0] first_8 = LOG_LANES < 4 ? 4'(fill_part << LOG_LANES) : '0;
		wire [1:0] at_32 = first_32 + 2'(n);
		wire [3:0] at_8 = first_8 + 4'(n);
		wire part_32 = LOG_LANES <= 2 | fill_part == 10'(n / 4);
		wire part_8 = LOG_LANES <= 4 | fill_part == 10'(n / 16);
		wire [31:0] value_32 = fill_data[32 * at_32 +: 32];
		wire [7:0] value_8 = fill_data[8 * at_8 +: 8];
		assign fill_value = fill_zero ? '0 : fill_8bit ? {{24{value_8[7]}}, value_8} : value_32;
		assign fill_lane = fill & (fill_zero | (fill_8bit ? part_8 : part_32));

		vta_acc #(
			.LOG_WORDS(LogAccWords), .SUM_BITS(SumBits), .OUT_BITS(INP_BITS)
		) acc (
			.clk, .fill(fill_lane), .fill_address(fill_word[AccBits - 1:0]),
			.fill_data(fill_value), .store_read, .store_address(store_word[AccBits - 1:0]),
			.store_value(store_data[INP_BITS * n +: INP_BITS]),
			.read((valid_read & ~stall) | save_at_read), .read_address(acc_read),
			.from_compute, .from_middle, .from_result, .from_written,
			.hold_src(valid_hold & ~writes_hold),
			.alu(is_alu), .late, .reset(is_reset), .use_imm(has_imm), .opcode, .imm(immediate),
			.sum, .write(write_result), .write_address(acc_result),
			.memory_value(save_data[32 * n +: 32])
		);
	end
endmodule
