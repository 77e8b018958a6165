// SPDX-License-Identifier: Apache-2.0
// Gives the memory port to one unit after the other, and responses to the unit that asked.
//
// Memory responds in the order of the requests. While `halt`, no unit gets the port and responses
// are dropped; `idle` says that none is to come.
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
	localparam int LogClients = $clog2(CLIENTS);

	logic [LogClients - 1:0] last;			// unit that had the port last
	logic [LogClients * Depth - 1:0] owners;	// of requests without response
	logic [LOG_OUTSTANDING - 1:0] head, tail;
	logic [LOG_OUTSTANDING:0] outstanding;

	// ---- The next unit: the first that asks after the last one
	logic [LogClients - 1:0] next;
	always_comb begin
		next = '0;
		for (int n = CLIENTS - 1; n >= 0; n--)
			if (request[n]) next = LogClients'(n);
		for (int n = CLIENTS - 1; n >= 0; n--)
			if (request[n] & LogClients'(n) > last) next = LogClients'(n);
	end
	wire free = ~memory_request | memory_request_ready;
	wire grant = |request & free & ~outstanding[LOG_OUTSTANDING] & ~halt & ~reset;
	always_comb begin
		request_ready = '0;
		request_ready[next] = grant;
	end

	// ---- Responses
	wire [LogClients - 1:0] owner = owners[head * LogClients +: LogClients];
	assign memory_response_ready = halt | response_ready[owner];
	always_comb begin
		response = '0;
		response[owner] = memory_response & ~halt;
	end
	wire complete = memory_response & memory_response_ready & memory_response_last;

	assign idle = ~memory_request & ~|outstanding;

	always_ff @(posedge clk) begin
		if (grant) begin
			memory_request_write <= request_write[next];
			memory_request_address <= request_address[next * 32 +: 32];
			memory_request_length <= request_length[next * 9 +: 9];
			memory_request_access <= request_access[next * 4 +: 4];
			memory_request_data <= request_data;
			owners[tail * LogClients +: LogClients] <= next;
			last <= next;
		end
		if (reset) begin
			memory_request <= 1'b0;
			outstanding <= '0;
			head <= '0;
			tail <= '0;
			last <= '0;
		end else begin
			memory_request <= grant | (memory_request & ~memory_request_ready);
			outstanding <= outstanding + (LOG_OUTSTANDING + 1)'(grant) -
				(LOG_OUTSTANDING + 1)'(complete);
			if (grant) tail <= tail + 1'b1;
			if (complete) head <= head + 1'b1;
		end
	end
endmodule
