// SPDX-License-Identifier: Apache-2.0
// Fetches a stream's instructions, each once and in order, and sends each to its module's queue.
//
// A request is for instructions of one block of 256 bytes, so none crosses a page. A fault is kept
// until no module can move, since the instructions before it are executed first.
module vta_fetch #(
	parameter int LOG_WAITING = 8	// fetched instructions that wait to begin, at most
) (
	input logic clk,
	input logic halt,
	input logic begin_run,
	input logic [31:0] address,
	input logic [31:0] insn_count,
	// Memory
	output logic request,
	input logic request_ready,
	output logic [31:0] request_address,
	output logic [8:0] request_length,
	input logic response,
	input logic response_last,
	input logic response_fault,
	input logic [3:0] response_reason,
	input logic [31:0] response_address,
	input logic [127:0] response_data,
	// The modules' queues
	output logic [2:0] push,	// load, compute, store
	output logic [159:0] insn,	// its index, words 1 and 0
	input logic [2:0] pop,		// an instruction of that module begins
	// State
	output logic idle,		// nothing is on its way, and nothing more can be fetched
	output logic faulted,
	output logic [3:0] fault_reason,
	output logic [31:0] fault_address,
	output logic [31:0] fetched
);
	localparam logic [LOG_WAITING:0] Waiting = (LOG_WAITING + 1)'(1) << LOG_WAITING;

	logic [31:0] left;			// instructions that are not requested
	logic [32:0] next_address;		// bit 32: beyond the address space
	logic [LOG_WAITING:0] room;		// of instructions that wait
	logic outstanding;

	wire [4:0] in_block = 5'd16 - {1'b0, next_address[7:4]};
	wire [4:0] some = left < 32'(in_block) ? left[4:0] : in_block;
	wire more = |left & ~faulted;
	wire accepted = request & request_ready;

	// A request is measured in the clock before it.
	logic measured;
	logic [4:0] count;
	always_ff @(posedge clk) begin
		measured <= more & |room & ~outstanding & ~accepted & ~begin_run;
		count <= 17'(room) < 17'(some) ? 5'(room) : some;
	end
	wire beyond = more & next_address[32] & ~outstanding;

	assign request = measured & more & ~next_address[32] & ~halt;
	assign request_address = next_address[31:0];
	assign request_length = {count, 4'd0};
	assign idle = ~outstanding & ~(more & |room);

	// Where an instruction goes
	wire [2:0] opcode = response_data[2:0];
	wire [2:0] memory = response_data[vta_isa_pkg::HEAD_BITS +: 3];
	wire load = opcode == vta_isa_pkg::OPCODE_LOAD &
		(memory == vta_isa_pkg::MEMORY_INP | memory == vta_isa_pkg::MEMORY_WGT);
	wire store = opcode == vta_isa_pkg::OPCODE_STORE;
	wire arrived = response & ~response_fault & ~halt;

	assign insn = {fetched, response_data};
	assign push = {3{arrived}} & {store, ~load & ~store, load};

	wire [1:0] begun = 2'(pop[0]) + 2'(pop[1]) + 2'(pop[2]);

	always_ff @(posedge clk) begin
		if (begin_run) begin
			left <= insn_count;
			next_address <= {1'b0, address};
			room <= Waiting;
			outstanding <= 1'b0;
			fetched <= '0;
			faulted <= 1'b0;
			fault_reason <= vta_isa_pkg::FAULT_NONE;
			fault_address <= '0;
		end else begin
			room <= room + (LOG_WAITING + 1)'(begun) -
				(accepted ? (LOG_WAITING + 1)'(count) : '0);
			if (accepted) begin
				left <= left - 32'(count);
				next_address <= next_address + 33'(request_length);
				outstanding <= 1'b1;
			end else if (response & response_last) begin
				outstanding <= 1'b0;
			end
			if (arrived) fetched <= fetched + 32'd1;
			if (response & response_fault) begin
				faulted <= 1'b1;
				fault_reason <= response_reason;
				fault_address <= response_address;
			end else if (beyond) begin
				faulted <= 1'b1;
				fault_reason <= vta_isa_pkg::FAULT_PAGE;
				fault_address <= next_address[31:0];
			end
			if (halt) left <= '0;	// until the next run, nothing is fetched
		end
	end
endmodule
