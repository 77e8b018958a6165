// SPDX-License-Identifier: Apache-2.0
// Shares the memory port between the units: a unit has its turn until another one asks and the unit
// asks no more, or its request is taken; turns go round. Requests are registered.
//
// Memory responds in the order of the requests. While `halt`, no unit gets the port and responses
// are taken at once, for units that are halted as well; `idle` says that none is to come.
module vta_port #(
	parameter int CLIENTS = 5,
	parameter int LOG_OUTSTANDING = 4
) (
	input logic clk,
	input logic reset,
	input logic halt,
	// Units
	input logic [CLIENTS - 1:0] request,
	output logic [CLIENTS - 1:0] request_ready,
	input logic [CLIENTS - 1:0] request_write,
	input logic [CLIENTS * 32 - 1:0] request_address,
	input logic [CLIENTS * 9 - 1:0] request_length,
	input logic [CLIENTS * 4 - 1:0] request_access,
	input logic [127:0] request_data,	// of the unit that writes
	output logic [CLIENTS - 1:0] response,
	input logic [CLIENTS - 1:0] response_ready,
	// Memory
	output logic memory_request,
	input logic memory_request_ready,
	output logic memory_request_write,
	output logic [31:0] memory_request_address,
	output logic [8:0] memory_request_length,
	output logic [3:0] memory_request_access,
	output logic [127:0] memory_request_data,
	input logic memory_response,
	output logic memory_response_ready,
	input logic memory_response_last,
	output logic idle
);
	localparam int Depth = 1 << LOG_OUTSTANDING;

	logic [CLIENTS - 1:0] turn;		// one unit
	logic [Depth * CLIENTS - 1:0] owners;	// units of the requests without response, oldest first
	logic [Depth:0] count;			// of these: bit n is set if there are n

	// ---- Requests
	wire free = ~memory_request | memory_request_ready;
	wire allowed = free & ~count[Depth] & ~halt & ~reset;
	wire grant = |(request & turn) & allowed;
	assign request_ready = turn & {CLIENTS{allowed}};

	// The next turn: the first unit that asks after the one that has it
	logic [CLIENTS - 1:0] after, next;
	wire [CLIENTS - 1:0] others = request & ~turn;
	wire [CLIENTS - 1:0] later = others & after;
	wire [CLIENTS - 1:0] chosen = |later ? later : others;
	always_comb begin
		after = ~(turn | (turn - 1'b1));
		next = chosen & -chosen;
	end

	// The request of the unit that has its turn
	logic write;
	logic [31:0] address;
	logic [8:0] length;
	logic [3:0] access;
	always_comb begin
		write = |(request_write & turn);
		address = '0;
		length = '0;
		access = '0;
		for (int n = 0; n < CLIENTS; n++) begin
			address |= request_address[n * 32 +: 32] & {32{turn[n]}};
			length |= request_length[n * 9 +: 9] & {9{turn[n]}};
			access |= request_access[n * 4 +: 4] & {4{turn[n]}};
		end
	end

	// ---- Responses
	wire [CLIENTS - 1:0] owner = owners[CLIENTS - 1:0];
	assign memory_response_ready = halt | |(response_ready & owner);
	assign response = owner & {CLIENTS{memory_response}};
	wire complete = memory_response & memory_response_ready & memory_response_last;

	assign idle = ~memory_request & count[0];

	always_ff @(posedge clk) begin
		if (grant) begin
			memory_request_write <= write;
			memory_request_address <= address;
			memory_request_length <= length;
			memory_request_access <= access;
			memory_request_data <= request_data;
		end
		for (int n = 0; n < Depth; n++) begin
			if (grant & (complete ? count[n + 1] : count[n]))
				owners[n * CLIENTS +: CLIENTS] <= turn;
			else if (complete & n < Depth - 1)
				owners[n * CLIENTS +: CLIENTS] <= owners[(n + 1) % Depth * CLIENTS +: CLIENTS];
		end
		if (reset) begin
			memory_request <= 1'b0;
			count <= (Depth + 1)'(1);
			turn <= CLIENTS'(1);
		end else begin
			memory_request <= grant | (memory_request & ~memory_request_ready);
			if (grant & ~complete) count <= count << 1;
			else if (complete & ~grant) count <= count >> 1;
			if (|others & (grant | ~|(request & turn))) turn <= next;
		end
	end
endmodule
