// SPDX-License-Identifier: GPL-2.0-only
// No transaction begins while bus mastering is off, but a write that has begun is finished; a
// request stays as it is until it is taken; a write's transfers follow each other.
module link (
	input logic clk,
	input logic on, transfer, transfer_last, read, walk, request_ready,
	input logic [63:0] transfer_address, read_address,
	input logic [8:0] transfer_length, read_length,
	input logic [127:0] transfer_data,
	input logic transfer_client,
	input logic [6:0] transfer_pieces,
	input logic [2:0] read_tag,
	input logic [63:0] walk_address
);
	logic transfer_ready, written, written_client, read_ready, walk_ready;
	logic request, request_write, request_last;
	logic [6:0] written_pieces;
	logic [63:0] request_address;
	logic [8:0] request_length;
	logic [3:0] request_tag;
	logic [127:0] request_data;

	(* hierconn *) wire \dut.writing ;

	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;

	vta_link #(.LOG_TAGS(3)) dut (
		.clk, .reset(~begun), .on, .transfer, .transfer_ready, .transfer_address,
		.transfer_length, .transfer_last, .transfer_data, .transfer_client,
		.transfer_pieces, .written, .written_client, .written_pieces, .read, .read_ready,
		.read_address, .read_length, .read_tag, .walk, .walk_ready, .walk_address,
		.request, .request_ready, .request_write, .request_address, .request_length,
		.request_tag, .request_last, .request_data
	);

	// ---- The clock before: what was put into the channel then
	logic was_on = 1'b0, was_writing = 1'b0, put = 1'b0, waits = 1'b0;
	logic [205:0] kept;
	wire [205:0] now = {request_write, request_address, request_length, request_tag, request_last,
		request_data[126:0]};
	logic writes = 1'b0;			// a write has begun and not ended
	always_ff @(posedge clk) begin
		was_on <= on;
		was_writing <= writes;
		put <= begun & (transfer_ready | read_ready | walk_ready);
		waits <= request & ~request_ready & begun;
		kept <= now;
		if (begun & transfer_ready) writes <= ~transfer_last;
	end

	always_ff @(posedge clk) begin
		if (begun) begin
			assert (\dut.writing == writes);
			if (put) assert (request & (was_on | (was_writing & request_write)));
			if (put & was_writing) assert (request_write);
			if (waits) assert (request & now == kept);
			assert (2'(transfer_ready) + 2'(read_ready) + 2'(walk_ready) <= 2'd1);
			assert (~transfer_ready | transfer);
			assert (~read_ready | read);
			assert (~walk_ready | walk);
			assert (~request | put | waits);
			assert (written == (request & request_ready & request_write & request_last));
		end
	end
endmodule
