// SPDX-License-Identifier: GPL-2.0-only
// No transaction begins but while the card is ready and the bus is on, or in the clock after; one
// that was asked for before a reset is finished, answered or taken back before the card is ready.
// That is so on the bus and of card memory, whose two links are those of vta_mmu.
module ready_of (
	input logic clk,
	input logic function_reset, reset_request, bus_on, cleared,
	input logic [1:0] transfer, transfer_last, read, walk, request_ready, answered
);
	logic reset, reset_mmu, ready;
	logic [1:0] asks, request, request_write, request_last, taken;
	logic [1:0] transfer_ready, read_ready, walk_ready;

	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;

	vta_reset dut (
		.clk, .power_on(~begun), .function_reset, .reset_request(reset_request & ready),
		.bus_on, .reset, .reset_mmu, .cleared, .ready, .asks, .request, .request_ready,
		.request_write, .request_last, .taken, .answered
	);
	(* hierconn *) wire [6:0] \dut.reads ;
	(* hierconn *) wire [1:0] \dut.writing ;
	(* hierconn *) wire \gen_link[0].link.writing ;
	(* hierconn *) wire \gen_link[1].link.writing ;
	wire [1:0] link_writing = {\gen_link[1].link.writing , \gen_link[0].link.writing };

	logic [1:0] writes = '0;		// a write has begun and not ended
	logic [1:0] asked = '0;			// waits since the clock before
	logic [1:0] was_able = '0;		// it might begin then
	logic [5:0] reads [1:0];		// that have been taken and not answered
	initial reads[0] = '0;
	initial reads[1] = '0;
	for (genvar n = 0; n < 2; n++) begin : gen_link
		logic unused_written, unused_client;
		logic [6:0] unused_pieces;
		logic [63:0] unused_address;
		logic [8:0] unused_length;
		logic [5:0] unused_tag;
		logic [127:0] unused_data;
		vta_link link (
			.clk, .reset(reset_mmu | ~begun), .on(bus_on & ready),
			.transfer(transfer[n]), .transfer_ready(transfer_ready[n]), .transfer_address(64'd0),
			.transfer_length(9'd0), .transfer_last(transfer_last[n]),
			.transfer_data(128'd0), .transfer_client(1'b0), .transfer_pieces(7'd0),
			.written(unused_written), .written_client(unused_client),
			.written_pieces(unused_pieces), .read(read[n]), .read_ready(read_ready[n]),
			.read_address(64'd0), .read_length(9'd0), .read_tag(5'd0), .walk(walk[n]),
			.walk_ready(walk_ready[n]), .walk_address(64'd0), .request(asks[n]),
			.request_ready(request[n] & request_ready[n]),
			.request_write(request_write[n]), .request_address(unused_address),
			.request_length(unused_length), .request_tag(unused_tag),
			.request_last(request_last[n]), .request_data(unused_data)
		);
		// Tags are 2^5, and one of page walks.
		wire reads_here = taken[n] & ~request_write[n];
		always_comb begin
			if (answered[n]) assume (|reads[n]);
			if (reads[n] == 6'd33) assume (~asks[n] | request_write[n]);
		end
		always_ff @(posedge clk) begin
			if (begun) begin
				reads[n] <= reads[n] + 6'(reads_here) - 6'(answered[n]);
				if (taken[n] & request_write[n]) writes[n] <= ~request_last[n];
				asked[n] <= request[n] & ~taken[n];
				was_able[n] <= (bus_on & ready) | link_writing[n];
			end
			// Invariants
			assert (begun | ~|{writes[n], asked[n], was_able[n], reads[n]});
			if (begun) begin
				assert (reads[n] <= 6'd33);
				assert (\dut.writing [n] == writes[n]);
				assert (link_writing[n] == (asks[n] ?
					request_write[n] & ~request_last[n] : writes[n]));
				assert (~(asks[n] & writes[n]) | request_write[n]);
				assert (~asked[n] | asks[n]);
			end
			// No transaction is asked for, but by what could begin in the clock before.
			if (begun & request[n] & ~asked[n]) assert (was_able[n]);
			if (begun & request[n] & writes[n]) assert (request_write[n]);
		end
	end

	logic was_ready = 1'b0;
	always_ff @(posedge clk) begin
		was_ready <= ready & begun;
		if (begun) assert (\dut.reads == 7'(reads[0]) + 7'(reads[1]));
		if (begun & ((~was_ready & ready) | ~(ready | reset)))
			assert (~|reads[0] & ~|reads[1] & ~|writes & ~|asks);
		if (begun & reset_mmu) assert (~|reads[0] & ~|reads[1] & ~|writes & ~|taken);
	end
endmodule
