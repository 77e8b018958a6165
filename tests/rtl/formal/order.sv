// SPDX-License-Identifier: GPL-2.0-only
// The front end: the number of a status page (`seq`) is asked for when every other write for its
// descriptor is done, or after all others of a start's record; after it nothing is, until it is
// written; then come the interrupt and what counts the descriptor. A change of a queue is made when
// its state has been read.
//
// Arbiters, engines, queues, memory, descriptors and their check do anything.
module vta_descriptor (
	input logic clk, reset, start, keeps,
	input logic [511:0] descriptor,
	input logic [63:0] limit,
	output logic done,
	output logic [3:0] reason, access,
	output logic [31:0] address,
	output logic [1:0] unit,
	output logic [63:0] copy_cycles
);
	(* anyseq *) logic [105:0] any;
	assign {done, reason, access, address, unit, copy_cycles} = any;
endmodule

module order (
	input logic clk,
	input logic [63:0] now,
	input logic serving,
	input logic [1:0] wants,
	input logic change_ready, change_interrupt,
	input logic [31:0] setting,
	input logic [63:0] seq,
	input logic unwritten, faulting, overflow, stopping, live, idle, ready, held, check,
	input logic waiting,
	input logic dropped, offered,
	input logic [1:0] unit, arbiter_ready, arbiter_chosen, arbiter_chosen_none, arbiter_any,
	input logic [15:0] arbiter_chosen_queue,
	input logic [1:0] engine_busy, engine_ended, engine_queue,
	input logic [127:0] engine_begin, engine_cycles,
	input logic [7:0] engine_reason, engine_access, weight_value,
	input logic [63:0] engine_address, engine_index,
	input logic [255:0] engine_insn,
	input logic weight, weight_group,
	input logic request_ready, acknowledge, response, response_last, response_fault,
	input logic [3:0] response_reason,
	input logic [31:0] response_address,
	input logic [127:0] response_data
);
	logic served, weight_done, request, request_write, request_begin, request_direct, message;
	logic completing, halted, completed, working, arbiter_queue, arbiter_group;
	logic [1:0] change_unit, arbiter_request, engine_start, engine_close;
	logic [2:0] arbiter_kind;
	logic [3:0] change;
	logic [4:0] setting_word;
	logic [7:0] request_context, context_of;
	logic [8:0] request_length;
	logic [31:0] message_vector;
	logic [63:0] request_address, arbiter_value, cycle_limit, time_limit;
	logic [127:0] request_data;
	logic [511:0] descriptor;

	(* hierconn *) wire [5:0] \dut.state ;
	(* hierconn *) wire [3:0] \dut.step ;
	(* hierconn *) wire [3:0] \dut.last_step ;
	(* hierconn *) wire [6:0] \dut.writes ;
	(* hierconn *) wire \dut.asked ;
	(* hierconn *) wire \dut.putting ;
	(* hierconn *) wire \dut.getting ;
	(* hierconn *) wire [63:0] \dut.offset ;

	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;

	vta_front #(.QUEUES(2), .GROUPS(2)) dut (
		.clk, .reset(~begun), .now, .serving, .fatal(1'b0), .wants, .served, .change,
		.change_ready, .change_unit, .change_interrupt, .setting_word, .setting, .seq,
		.unwritten, .faulting, .overflow, .stopping, .live, .idle, .ready, .held, .check,
		.waiting, .dropped, .offered, .unit, .arbiter_request, .arbiter_ready,
		.arbiter_kind, .arbiter_queue, .arbiter_group, .arbiter_value, .arbiter_chosen,
		.arbiter_chosen_none, .arbiter_chosen_queue, .arbiter_any, .engine_start,
		.descriptor, .context_of, .cycle_limit, .time_limit, .engine_busy, .engine_ended,
		.engine_queue, .engine_begin, .engine_reason, .engine_access, .engine_address,
		.engine_index, .engine_insn, .engine_cycles, .engine_close, .weight, .weight_done,
		.weight_group, .weight_value, .request, .request_ready, .request_write,
		.request_begin, .request_direct, .request_context, .request_address,
		.request_length, .request_data, .acknowledge, .response, .response_last,
		.response_fault, .response_reason, .response_address, .response_data, .message,
		.message_vector, .completing, .halted, .completed, .working
	);

	// ---- Memory: an answer for each write that it has taken, and the last of a read's
	logic [4:0] writes = '0;
	logic reading = 1'b0;
	wire taken = request & request_ready & begun;
	wire answered = acknowledge | (response & response_last & |writes);
	always_comb begin
		assume (~(acknowledge & response));
		if (acknowledge) assume (|writes);
		if (response) assume (reading | (|writes & response_last));
	end
	always_ff @(posedge clk) begin
		writes <= writes + 5'(taken & request_write) - 5'(answered);
		if (taken & ~request_write) reading <= 1'b1;
		else if (response & response_last) reading <= 1'b0;
	end

	// ---- Numbers: an address of the status page without an offset, and what is done before
	wire number = taken & request_write & request_direct & ~|\dut.offset ;
	wire of_start = \dut.state == 6'd8;
	logic recorded = 1'b0;		// times and totals have been asked for since then
	logic numbered = 1'b0;		// a number is being written
	logic done = 1'b0;		// it was, and nothing has been done with it
	always_ff @(posedge clk) begin
		if (number) recorded <= 1'b0;
		else if (taken & request_write & \dut.state == 6'd35 & \dut.step == 4'd2)
			recorded <= 1'b1;
		if (number) numbered <= ~of_start;
		else if (answered) numbered <= 1'b0;
		if (numbered & answered) done <= 1'b1;
		else if (completed) done <= 1'b0;
	end

	logic was_served;
	logic stable = 1'b0;
	always_ff @(posedge clk) begin
		was_served <= served;
		stable <= begun;
		if (~begun) assert (~|{writes, reading, recorded, numbered, done, stable});
		if (begun) begin
			// Invariants of the monitor and the front end
			assert (\dut.writes == 7'(writes));
			assert (\dut.putting | ~|writes);
			assert (~reading | (\dut.getting & \dut.asked ));
			assert (~\dut.putting | ~reading);
			assert (~\dut.putting | \dut.step <= \dut.last_step );
			assert (~(\dut.putting & \dut.asked ) | \dut.step == \dut.last_step );
			assert (writes <= 5'(\dut.step ) + 5'(\dut.asked ));
			assert (numbered == (\dut.state == 6'd36 & \dut.asked & |writes));
			assert (~numbered | writes == 5'd1);
			assert (done == (\dut.state == 6'd37 |
				(\dut.state == 6'd36 & \dut.asked & ~|writes)));
			assert (recorded == ((\dut.state == 6'd35 & \dut.asked ) |
				(\dut.state == 6'd36 & ~\dut.asked & ~numbered & ~done)));

			if (number & ~of_start) assert (recorded & ~|writes);
			if (number & of_start) assert (\dut.step == \dut.last_step );
			if (numbered) assert (~taken);
			if (message | completed) assert (done & ~|writes);
			if (|change & change != 4'd1 & stable) assert (served == was_served);
		end
	end
endmodule
