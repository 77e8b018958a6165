// SPDX-License-Identifier: GPL-2.0-only
// Fetching: from a halt until the next run, nothing is requested and no instruction goes to a
// module. So a run that ended early leaves nothing behind that goes on.
module fetch_of (
	input logic clk,
	input logic stop, begin_it, request_ready, response_is, response_last, response_fault,
	input logic [31:0] address, insn_count,
	input logic [127:0] response_data,
	input logic [2:0] pop
);
	logic begun = 1'b0;
	logic dead = 1'b1;			// no run since the last halt
	logic request, idle, faulted;
	logic [2:0] push;
	logic [3:0] fault_reason;
	logic [8:0] request_length;
	logic [31:0] request_address, fault_address, fetched;
	logic [159:0] insn;
	wire halt = ~begun | stop;
	wire begin_run = begin_it & ~halt;

	// Memory responds to what is requested, and the port drops responses while halted.
	logic pending = 1'b0;
	wire response = response_is & pending & ~halt;
	always_ff @(posedge clk) begin
		begun <= 1'b1;
		if (halt) dead <= 1'b1;
		else if (begin_run) dead <= 1'b0;
		pending <= ~halt & ((request & request_ready) | (pending & ~(response & response_last)));
	end

	vta_fetch #(.LOG_WAITING(3)) dut (
		.clk, .halt, .begin_run, .address, .insn_count, .request, .request_ready,
		.request_address, .request_length, .response, .response_last, .response_fault,
		.response_reason(4'd1), .response_address(32'd0), .response_data, .push, .insn,
		.pop(pop & {3{~dead}}), .idle, .faulted, .fault_reason, .fault_address, .fetched
	);

	(* hierconn *) wire [31:0] \dut.left ;
	always_ff @(posedge clk) begin
		if (begun & dead) begin
			assert (~request & ~|push);
			assert (~|\dut.left & ~pending);
		end
	end
endmodule
