// SPDX-License-Identifier: Apache-2.0
// Gives one channel of requests to writes, page walks and reads. A write is not interrupted.
//
// While `on` is 0, none begins.
module vta_link #(
	parameter int LOG_CLIENTS = 1,
	parameter int LOG_TAGS = 5,
	parameter int LOG_PIECES = 6
) (
	input logic clk,
	input logic reset,
	input logic on,
	// Writes: 16 bytes at a time
	input logic transfer,
	output logic transfer_ready,
	input logic [63:0] transfer_address,
	input logic [8:0] transfer_length,
	input logic transfer_last,
	input logic [127:0] transfer_data,
	input logic [LOG_CLIENTS - 1:0] transfer_client,
	input logic [LOG_PIECES:0] transfer_pieces,
	output logic written,			// one has been taken, for this client and
	output logic [LOG_CLIENTS - 1:0] written_client,
	output logic [LOG_PIECES:0] written_pieces,	// so many of its pieces
	// Reads
	input logic read,
	output logic read_ready,
	input logic [63:0] read_address,
	input logic [8:0] read_length,
	input logic [LOG_TAGS - 1:0] read_tag,
	// Reads of a page table's entry, of 8 bytes; their tag is the last
	input logic walk,
	output logic walk_ready,
	input logic [63:0] walk_address,
	// The channel
	output logic request,
	input logic request_ready,
	output logic request_write,
	output logic [63:0] request_address,
	output logic [8:0] request_length,
	output logic [LOG_TAGS:0] request_tag,
	output logic request_last,
	output logic [127:0] request_data
);
	logic writing, served;			// in a write; a write was the last

	wire free = ~request | request_ready;
	wire reads = (read | walk) & ~writing & on;
	wire write = transfer & (writing | (on & ~(reads & served)));
	assign transfer_ready = free & write;
	assign walk_ready = free & ~write & walk & reads;
	assign read_ready = free & ~write & ~walk & reads;

	assign written = request & request_ready & request_write & request_last;

	always_ff @(posedge clk) begin
		if (free) begin
			written_client <= transfer_client;
			written_pieces <= transfer_pieces;
			request_write <= write;
			request_address <= write ? transfer_address :
				walk ? walk_address : read_address;
			request_length <= write ? transfer_length : walk ? 9'd8 : read_length;
			request_tag <= {walk, read_tag};
			request_last <= write ? transfer_last : 1'b1;
			request_data <= transfer_data;
		end
		if (reset) begin
			request <= 1'b0;
			writing <= 1'b0;
			served <= 1'b0;
		end else begin
			if (free) request <= write | reads;
			if (transfer_ready) writing <= ~transfer_last;
			if (transfer_ready) served <= 1'b1;
			else if (walk_ready | read_ready) served <= 1'b0;
		end
	end
endmodule
