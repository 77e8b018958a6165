// SPDX-License-Identifier: GPL-2.0-only
// Control and memory port: from the clock after a fault on, the core is halted until the command is
// done, and no unit gets the memory port. So nothing is written to memory that the port had not
// taken before. At the end of a run no request is without its response.
module halt_of (
	input logic clk,
	// The user of the core
	input logic command, command_keep, stop,
	input logic [1:0] command_kind,
	input logic [31:0] command_address,
	// The core
	input logic state_done, state_fault, fetch_idle, fetch_faulted,
	input logic [2:0] module_stuck, module_empty, module_fault, unit_fault,
	input logic [4:0] request, request_write, response_ready_of,
	// Memory
	input logic memory_request_ready, memory_response_is, memory_response_last
);
	logic ready, done, stopped, faulted, halt, quiet, begin_run, keep, clear, save, restore, running;
	logic port_idle, memory_request, memory_request_write, memory_response_ready;
	logic [3:0] fault_reason, fault_access, memory_request_access;
	logic [31:0] fault_address, fault_index, address, memory_request_address;
	logic [127:0] fault_insn, memory_request_data;
	logic [8:0] memory_request_length;
	logic [4:0] request_ready, response;

	logic begun = 1'b0;
	wire reset = ~begun;
	always_ff @(posedge clk) begun <= 1'b1;

	vta_control control (
		.clk, .reset, .command(command & ready), .command_kind, .command_address,
		.command_keep, .ready, .stop, .done, .stopped, .faulted, .fault_reason,
		.fault_access, .fault_address, .fault_index, .fault_insn, .halt, .quiet, .begin_run, .keep,
		.clear, .save, .restore, .address, .running, .port_idle, .state_done, .state_fault,
		.state_reason(4'd1), .state_address(32'd0), .fetch_idle, .fetch_faulted,
		.fetch_reason(4'd1), .fetch_address(32'd0), .fetched(32'd0), .module_stuck,
		.module_empty, .module_fault, .module_reason(12'd0), .module_index(96'd0),
		.module_insn(384'd0), .unit_fault, .unit_reason(12'd0), .unit_access(12'd0),
		.unit_address(96'd0)
	);
	vta_port #(.CLIENTS(5)) port (
		.clk, .reset, .halt(quiet), .request, .request_ready, .request_write,
		.request_address(160'd0), .request_length(45'd0), .request_access(20'd0),
		.request_data(128'd0), .response, .response_ready(response_ready_of), .memory_request,
		.memory_request_ready, .memory_request_write, .memory_request_address,
		.memory_request_length, .memory_request_access, .memory_request_data,
		.memory_response, .memory_response_ready, .memory_response_last, .idle(port_idle)
	);

	// ---- Memory responds to what it has accepted, and to nothing else
	logic [4:0] pending = '0;
	wire memory_response = memory_response_is & |pending;
	always_ff @(posedge clk) begin
		if (begun) pending <= pending + 5'(memory_request & memory_request_ready) -
			5'(memory_response & memory_response_ready & memory_response_last);
	end

	// ---- A fault that was raised, until the next command
	(* hierconn *) wire [2:0] \control.state ;
	(* hierconn *) wire [16:0] \port.count ;
	(* hierconn *) wire [4:0] \port.turn ;
	localparam logic [2:0] State = 3'd3;
	logic raised = 1'b0;
	logic halted = 1'b0;			// in the clock before
	logic was_pending = 1'b0;
	logic was_write = 1'b0;
	wire raise = (running & |{module_fault, unit_fault}) | (\control.state == State & state_fault);
	always_ff @(posedge clk) begin
		if (raise) raised <= 1'b1;
		else if (ready) raised <= 1'b0;
		halted <= halt & begun;
		was_pending <= begun & memory_request & ~memory_request_ready;
		was_write <= memory_request_write;
	end

	always_ff @(posedge clk) begin
		if (begun) begin
			if (raised & ~ready) begin
				assert (halt | done);
				assert (faulted);
			end
			if (halt) assert (~|request_ready);
			if (halted & memory_request) begin
				assert (was_pending);
				assert (was_write == memory_request_write);
			end
			if (halted & done) assert (~memory_request & ~|pending);
			assert (\port.count == 17'd1 << (6'(pending) + 6'(memory_request)));
			assert (6'(pending) + 6'(memory_request) <= 6'd16);
			assert (|\port.turn & ~|(\port.turn & (\port.turn - 5'd1)));
			assert (~|(request_ready & (request_ready - 5'd1)));
		end
	end
endmodule
