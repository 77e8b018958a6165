// SPDX-License-Identifier: Apache-2.0
// Answers each client's requests in the order in which it made them: reads with 16 bytes at a time
// from their first byte on, and writes when they have left for memory.
//
// Reads and faults are answered one request after the other, of the next client whose first one can
// be answered; writes by an acknowledgement to each client.
module vta_deliver #(
	parameter int CLIENTS = 2,
	parameter int LOG_CLIENTS = 1,
	parameter int LOG_TAGS = 5,
	parameter int LOG_PIECES = 6		// of a client that can be under way
) (
	input logic clk,
	input logic reset,
	// Pieces that are under way
	output logic [CLIENTS - 1:0] room,	// for one more of the client
	input logic piece,
	input logic [LOG_CLIENTS - 1:0] piece_client,
	input logic piece_write,
	input logic piece_first,
	input logic piece_last,
	input logic piece_fault,
	input logic [3:0] piece_reason,
	input logic [31:0] piece_device,
	input logic [8:0] piece_left,
	input logic [LOG_TAGS - 1:0] piece_tag,
	// Writes that have left, and reads (vta_link, vta_reads)
	input logic [1:0] written,		// on the bus, and to card memory
	input logic [2 * LOG_CLIENTS - 1:0] written_client,
	input logic [2 * (LOG_PIECES + 1) - 1:0] written_pieces,
	input logic [(1 << LOG_TAGS) - 1:0] complete,
	output logic [LOG_TAGS - 1:0] look_tag,
	input logic look_fault,
	input logic [3:0] look_first, look_last,
	output logic [3:0] read_beat,
	input logic [127:0] read_data,
	output logic release_tag,
	// Responses
	output logic [CLIENTS - 1:0] acknowledge,	// of a write
	input logic [CLIENTS - 1:0] acknowledge_ready,
	output logic [CLIENTS - 1:0] response,
	input logic [CLIENTS - 1:0] response_ready,
	output logic response_last,
	output logic response_fault,
	output logic [3:0] response_reason,
	output logic [31:0] response_address,
	output logic [127:0] response_data
);
	localparam int Entry = 4 + 4 + 32 + 9 + LOG_TAGS;

	localparam int Write = Entry - 1;
	localparam int Last = Entry - 3;
	localparam int Fault = Entry - 4;

	// ---- Each client's pieces
	logic [CLIENTS - 1:0] heads, pop;
	logic [CLIENTS * Entry - 1:0] entries;
	logic [15:0] able;			// the first is a read or fault that can be answered

	for (genvar n = 0; n < CLIENTS; n++) begin : gen_client
		logic [LOG_PIECES:0] arrived;	// writes that have left and are not answered
		logic [Entry - 1:0] entry;
		wire push = piece & piece_client == LOG_CLIENTS'(n);
		wire left = heads[n] & entry[Write] & ~entry[Fault] & |arrived & ~response[n];
		wire acknowledged = left & (acknowledge_ready[n] | ~entry[Last]);

		vta_order #(.WIDTH(Entry), .LOG_DEPTH(LOG_PIECES)) pieces (
			.clk, .clear(reset), .room(room[n]), .push,
			.push_data({piece_write, piece_first, piece_last, piece_fault, piece_reason,
				piece_device, piece_left, piece_tag}),
			.valid(heads[n]), .data(entry), .pop(pop[n] | acknowledged)
		);
		assign acknowledge[n] = left & entry[Last];
		assign entries[n * Entry +: Entry] = entry;
		assign able[n] = heads[n] & (entry[Fault] |
			(~entry[Write] & complete[entry[LOG_TAGS - 1:0]]));

		logic [LOG_PIECES:0] more;
		always_comb begin
			more = '0;
			for (int k = 0; k < 2; k++)
				if (written[k] & written_client[k * LOG_CLIENTS +: LOG_CLIENTS] ==
				    LOG_CLIENTS'(n))
					more = more + written_pieces[k * (LOG_PIECES + 1) +: LOG_PIECES + 1];
		end
		always_ff @(posedge clk) begin
			if (reset) arrived <= '0;
			else arrived <= arrived + more - (LOG_PIECES + 1)'(acknowledged);
		end
	end
	assign able[15:CLIENTS] = '0;

	logic busy;
	logic tail;				// what is left is all in prior
	logic discard;				// a piece of the request has faulted
	logic [LOG_CLIENTS - 1:0] client;	// that is answered
	logic first, last, fault, unused_write;
	logic [3:0] reason;
	logic [31:0] device;
	logic [8:0] whole;
	assign {unused_write, first, last, fault, reason, device, whole, look_tag} =
		entries[32'(client) * Entry +: Entry];
	wire ready = able[4'(client)] & busy & ~tail;
	wire read = ready & ~fault;
	wire bad = ready & (fault | look_fault | discard);
	wire useful = read & ~bad;

	// ---- 16 bytes of a line after the other
	logic started, loaded;			// loaded: read_data is of this beat
	logic [3:0] next_beat;
	wire [3:0] beat = started ? next_beat : look_first;
	wire free = ~|response | |(response & response_ready);
	wire step = useful & loaded & free;
	wire line_end = step & beat == look_last;
	assign read_beat = step ? beat + 4'd1 : beat;

	// ---- Bytes of the request from its first one on
	logic joined;				// prior has bytes that have not been given
	logic [127:0] prior;
	logic [3:0] kept_shift;
	logic [8:0] kept_left;
	logic [31:0] kept_device;		// that the bus refused
	wire fresh = first & ~started;
	wire [3:0] shift = fresh ? device[3:0] : kept_shift;
	wire [8:0] left = fresh ? whole : kept_left;
	wire held = ~fresh & joined;
	wire enough = 9'(shift) + left <= 9'd16;	// in one beat
	wire [127:0] pair = 128'({read_data, held ? prior : read_data} >> {shift, 3'd0});
	wire give = step & (held | enough | ~|shift);
	wire give_last = held ? left <= 9'd16 : enough;
	wire give_tail = tail & free;
	wire more = step & held & left > 9'd16 & 9'(shift) + left <= 9'd32;

	// ---- Answers
	// A fault is the answer when all of the request is complete.
	wire answer_fault = bad & last & free;
	wire skip = bad & ~last;
	wire next = line_end | answer_fault | skip;	// piece
	always_comb begin
		pop = '0;
		pop[client] = next;
	end
	assign release_tag = next & ~fault;
	wire finish = (next & last & ~more) | give_tail;

	always_ff @(posedge clk) begin
		if (free) begin
			response_last <= give ? give_last : 1'b1;
			response_fault <= answer_fault;
			response_reason <= discard | ~fault ? vta_card_pkg::FAULT_DMA : reason;
			response_address <= discard ? kept_device : device;
			response_data <= tail ? prior >> {kept_shift, 3'd0} : pair;
		end
		if (skip & ~discard) kept_device <= device;
		if (step) begin
			prior <= read_data;
			next_beat <= beat + 4'd1;
			kept_shift <= shift;
			kept_left <= give ? left - 9'd16 : left;
			joined <= |shift;
		end
		if (~busy) client <= LOG_CLIENTS'(vta_card_pkg::choose(able, 4'(client)));
		if (reset) begin
			response <= '0;
			busy <= 1'b0;
			tail <= 1'b0;
			discard <= 1'b0;
			started <= 1'b0;
			loaded <= 1'b0;
		end else begin
			if (free) begin
				response <= '0;
				response[client] <= give | give_tail | answer_fault;
			end
			busy <= busy ? ~finish : |able;
			tail <= more | (tail & ~free);
			discard <= (discard | skip) & ~answer_fault;
			started <= step ? ~line_end : started & ~next;
			loaded <= useful & ~next;
		end
	end
endmodule
