// SPDX-License-Identifier: GPL-2.0-only
// A module's sequencer with the compute unit: the accumulators are written only while a loop that
// has passed its checks is executed, and no more from the clock after the core halts. So a loop that
// faults BOUNDS or CYCLES writes nothing.
module bounds (
	input logic clk,
	input logic stop, begin_more, insn_legal, insn_nothing, insn_fits, insn_loop, insn_more,
	input logic check_done, check_outside, fill_done, alu, reset_acc, use_imm, store_read,
	input logic save_read,
	input logic [15:0] uop_bgn, imm, uop,
	input logic [16:0] uop_end,
	input logic [13:0] iter_out, iter_in,
	input logic [63:0] limit,
	input logic [47:0] insn_cost
);
	logic begun = 1'b0;
	logic faulted = 1'b0;
	logic begin_insn, take, check, start, fault, finished, stuck, empty, done, loop_done;
	logic take_prev, take_next, give_prev, give_next, uop_executed, uop_read, inp_read, wgt_read;
	logic save_valid;
	logic [1:0] store_data;
	logic [3:0] fault_reason;
	logic [15:0] uop_index;
	logic [23:0] inp_word, wgt_word;
	logic [31:0] save_data;
	logic [63:0] end_cycle, cycle, busy_cycles;
	always_ff @(posedge clk) begun <= 1'b1;
	wire halt = ~begun | stop | faulted;	// the core halts in the clock after a fault
	always_ff @(posedge clk) faulted <= fault & begun;

	// ---- The unit starts in the clock after its instruction has passed the checks
	logic loop_start = 1'b0;
	always_ff @(posedge clk) loop_start <= start & insn_loop & ~halt;

	// ---- The instruction stays until it is taken
	logic valid = 1'b0;
	logic held = 1'b0;
	logic [3:0] kept;
	wire [3:0] kind = {insn_legal, insn_nothing, insn_fits, insn_loop};
	always_ff @(posedge clk) begin
		valid <= ~halt & (insn_more | (valid & ~take));
		held <= valid & ~take & ~halt;
		kept <= kind;
	end
	always_comb if (held) assume (kept == kind);

	vta_sequence sequencer (
		.clk, .halt, .begin_run(~begun), .cycle_limit(limit), .insn_idle(~valid),
		.insn_valid(valid), .insn_legal, .insn_nothing, .insn_fits, .insn_loop,
		.insn_index(32'd0), .insn_cost, .pop_prev(1'b0), .pop_next(1'b0), .push_prev(1'b0),
		.push_next(1'b0), .insn_take(take), .prev_valid(1'b0), .next_valid(1'b0),
		.prev_empty(1'b0), .next_empty(1'b0), .prev_room(1'b0), .next_room(1'b0),
		.prev_cycle(64'd0), .next_cycle(64'd0), .take_prev, .take_next, .give_prev,
		.give_next, .check, .check_done, .check_outside, .start, .done,
		.begun(begin_insn), .stuck, .empty, .fault, .fault_reason, .finished, .end_cycle,
		.cycle, .busy_cycles
	);
	assign done = insn_loop ? loop_done : fill_done;
	vta_compute #(
		.LOG_BATCH(0), .LOG_BLOCK(1), .LOG_LANES(0), .INP_BITS(2), .WGT_BITS(2),
		.LOG_ACC_DEPTH(1)
	) unit (
		.clk, .halt, .start(loop_start), .done(loop_done), .alu, .reset(reset_acc),
		.use_imm, .alu_opcode(3'd2), .imm, .uop_bgn, .uop_end, .iter_out, .iter_in,
		.dst_factor_out(16'd0), .dst_factor_in(16'd0), .src_factor_out(16'd0),
		.src_factor_in(16'd0), .wgt_factor_out(16'd0), .wgt_factor_in(16'd0),
		.uop_executed, .uop_read, .uop_index, .uop_dst(uop), .uop_src(16'd0),
		.uop_wgt(16'd0), .inp_read, .inp_word, .inp(4'd0), .wgt_read, .wgt_word, .wgt(4'd0),
		.fill(1'b0), .fill_zero(1'b0), .fill_8bit(1'b0), .fill_word(24'd0),
		.fill_part(10'd0), .fill_data(128'd0), .store_read,
		.store_word(24'd0), .store_data, .save_read, .save_word(24'd0), .save_valid,
		.save_data
	);

	(* hierconn *) wire [2:0] \sequencer.state ;
	(* hierconn *) wire \unit.started ;
	(* hierconn *) wire \unit.run ;
	(* hierconn *) wire \unit.in_hand ;
	(* hierconn *) wire \unit.write_result ;
	localparam logic [2:0] Run = 3'd4;
	logic halted = 1'b1;			// in the clock before
	logic passed = 1'b0;			// the loop in hand has passed its checks
	always_ff @(posedge clk) begin
		halted <= halt;
		if (halt | take) passed <= 1'b0;
		else if (start & insn_loop) passed <= 1'b1;
	end
	always_ff @(posedge clk) begin
		if (begun & ~halted) begin
			if (\unit.write_result ) assert (passed);
			if (fault) assert (~\unit.write_result & ~\unit.in_hand & ~\unit.run );
			if (start & insn_loop) assert (~check_outside & check_done);
			// The unit's own account of the same
			assert (\unit.started == (passed & ~loop_start));
			assert (~loop_start | passed);
			assert (~passed | (valid & insn_loop & \sequencer.state == Run));
			assert (valid | ~|\sequencer.state );
			assert (\unit.started | (~\unit.run & ~\unit.in_hand ));
		end
		if (begun & halted) assert (~\unit.write_result );
	end
endmodule
