// SPDX-License-Identifier: Apache-2.0
// Joins pieces of writes that follow each other into transactions of at most one line.
//
// A transaction leaves when its line is full, another piece does not continue it, or none has come
// for some clocks.
module vta_gather #(
	parameter int LOG_CLIENTS = 1,
	parameter int LOG_PIECES = 6,		// of a client that can be under way
	parameter int LOG_WAIT = 3		// clocks without a piece after which it leaves
) (
	input logic clk,
	input logic reset,
	input logic short_lines,
	// Pieces: of 1 to 16 bytes, within a line
	input logic piece,
	output logic piece_ready,
	input logic [LOG_CLIENTS - 1:0] piece_client,
	input logic piece_card,
	input logic [63:0] piece_address,
	input logic [4:0] piece_length,
	input logic [127:0] piece_data,
	// Transactions: data by the address's 16 bytes, in as many transfers as it touches
	output logic transfer,
	input logic transfer_ready,
	output logic transfer_card,
	output logic [63:0] transfer_address,
	output logic [8:0] transfer_length,
	output logic transfer_last,
	output logic [127:0] transfer_data,
	output logic [LOG_CLIENTS - 1:0] transfer_client,
	output logic [LOG_PIECES:0] transfer_pieces,	// joined in it
	output logic empty
);
	localparam int LogBeats = 5;		// kept, of two lines
	localparam int LogHeads = 2;
	localparam int Head = LOG_CLIENTS + 1 + 64 + 9 + LOG_PIECES + 1;

	// ---- The transaction that is joined
	logic open, card;
	logic [LOG_CLIENTS - 1:0] client;
	logic [63:0] start, next;
	logic [LOG_PIECES:0] pieces;
	logic [127:0] partial;			// of the 16 bytes at next
	logic [LOG_WAIT:0] waited;

	logic [LogBeats:0] stored;		// beats that have not left
	logic [LogBeats - 1:0] tail, head;
	logic [LogHeads:0] heads;

	wire full = open & (short_lines ? ~|next[6:0] : ~|next[7:0]);
	wire continues = open & ~full & client == piece_client & card == piece_card &
		next == piece_address;
	wire room = stored < (LogBeats + 1)'((1 << LogBeats) - 1) & ~heads[LogHeads];
	wire close = open & room & (full | (piece ? ~continues : waited[LOG_WAIT]));
	assign piece_ready = room & (continues | ~open);
	wire take = piece & piece_ready;

	wire [3:0] lane = piece_address[3:0];
	wire [127:0] mask = ~({128{1'b1}} << {piece_length, 3'd0});
	wire [255:0] placed = {128'd0, piece_data & mask} << {lane, 3'd0};
	wire [127:0] merged = placed[127:0] | (open & |lane ? partial : 128'd0);
	wire overflow = {1'b0, lane} + piece_length >= 5'd16;
	wire push = (take & overflow) | (close & |next[3:0]);

	always_ff @(posedge clk) begin
		if (take) begin
			partial <= overflow ? placed[255:128] : merged;
			next <= piece_address + 64'(piece_length);
			pieces <= open ? pieces + 1'b1 : (LOG_PIECES + 1)'(1);
			if (~open) begin
				start <= piece_address;
				client <= piece_client;
				card <= piece_card;
			end
		end
		if (reset) open <= 1'b0;
		else open <= take | (open & ~close);
		if (take | ~open) waited <= '0;
		else if (~waited[LOG_WAIT]) waited <= waited + 1'b1;
	end

	// ---- Transactions that are complete
	logic head_valid, head_pop, head_card;
	logic [LOG_CLIENTS - 1:0] head_client;
	logic [63:0] head_address;
	logic [8:0] head_length;
	logic [LOG_PIECES:0] head_pieces;

	// It is passed on when its last 16 bytes can be read.
	logic closed;
	logic [Head - 1:0] closed_head;
	always_ff @(posedge clk) begin
		closed <= close & ~reset;
		closed_head <= {client, card, start, 9'(next - start), pieces};
	end
	vta_fifo #(.WIDTH(Head), .LOG_DEPTH(LogHeads)) complete (
		.clk, .clear(reset), .push(closed), .push_data(closed_head),
		.valid(head_valid),
		.data({head_client, head_card, head_address, head_length, head_pieces}),
		.pop(head_pop), .count(heads)
	);

	wire sent = transfer & transfer_ready;
	wire [LogBeats - 1:0] ahead = head + LogBeats'(sent);
	vta_ram #(.WIDTH(128), .LOG_DEPTH(LogBeats)) beats (
		.clk, .write(push), .write_address(tail), .write_data(close ? partial : merged),
		.read(1'b1), .read_address(ahead), .read_data(transfer_data)
	);

	logic [3:0] beat;			// 16 bytes of the line
	logic begun;
	wire [3:0] first_beat = head_address[7:4];
	wire [3:0] last_beat = 4'((head_address[7:0] + 8'(head_length - 9'd1)) >> 4);
	wire [3:0] this_beat = begun ? beat : first_beat;

	assign transfer = head_valid;
	assign transfer_card = head_card;
	assign transfer_address = head_address;
	assign transfer_length = head_length;
	assign transfer_last = this_beat == last_beat;
	assign head_pop = sent & transfer_last;
	assign transfer_client = head_client;
	assign transfer_pieces = head_pieces;
	assign empty = ~open & ~closed & ~|heads;

	always_ff @(posedge clk) begin
		beat <= this_beat + 4'(sent);
		if (reset) begin
			begun <= 1'b0;
			stored <= '0;
			head <= '0;
			tail <= '0;
		end else begin
			begun <= sent ? ~transfer_last : begun;
			stored <= stored + (LogBeats + 1)'(push) - (LogBeats + 1)'(sent);
			head <= ahead;
			if (push) tail <= tail + 1'b1;
		end
	end
endmodule
