// SPDX-License-Identifier: Apache-2.0
// The card's way to memory: clients' accesses by device address become transactions on the bus and
// in card memory.
//
// A client has a port as vta_core's: reads of 1 to 256 bytes, writes of 1 to 16, from any address
// on, answered in order. Clients do not wait for each other's answers.
module vta_mmu #(
	parameter int CLIENTS = 2,		// at most 16
	parameter int LOG_CLIENTS = 1,
	parameter int LOG_PAGES = 5,		// entries of the TLB
	parameter int LOG_TABLES = 3,
	parameter int LOG_CONTEXTS = 8,
	parameter int LOG_MEM = 26,		// bytes of card memory; 0: none
	parameter int LOG_TAGS = 5,		// reads under way
	parameter int LOG_PIECES = 6		// accesses of a client under way
) (
	input logic clk,
	input logic reset,
	input logic short_lines,		// transactions have at most 128 bytes, not 256
	// Clients
	input logic [CLIENTS - 1:0] request,
	output logic [CLIENTS - 1:0] request_ready,
	input logic [CLIENTS - 1:0] request_write,
	input logic [CLIENTS - 1:0] request_begin,	// a new access; else the last goes on
	input logic [CLIENTS - 1:0] request_direct,	// by bus address
	input logic [CLIENTS * 8 - 1:0] request_context,
	input logic [CLIENTS * 64 - 1:0] request_address,
	input logic [CLIENTS * 9 - 1:0] request_length,
	input logic [CLIENTS * 128 - 1:0] request_data,
	output logic [CLIENTS - 1:0] acknowledge,	// of a write
	input logic [CLIENTS - 1:0] acknowledge_ready,
	output logic [CLIENTS - 1:0] response,	// of a read, or a fault
	input logic [CLIENTS - 1:0] response_ready,
	output logic response_last,
	output logic response_fault,
	output logic [3:0] response_reason,
	output logic [31:0] response_address,
	output logic [127:0] response_data,
	// The bus (docs/rtl.md)
	input logic bus_on,			// transactions may begin
	output logic bus_request,
	input logic bus_request_ready,
	output logic bus_request_write,
	output logic [63:0] bus_request_address,
	output logic [8:0] bus_request_length,
	output logic [LOG_TAGS:0] bus_request_tag,
	output logic bus_request_last,
	output logic [127:0] bus_request_data,
	input logic bus_response,
	input logic [LOG_TAGS:0] bus_response_tag,
	input logic bus_response_fault,
	input logic [127:0] bus_response_data,
	// Card memory, the same
	output logic mem_request,
	input logic mem_request_ready,
	output logic mem_request_write,
	output logic [63:0] mem_request_address,
	output logic [8:0] mem_request_length,
	output logic [LOG_TAGS - 1:0] mem_request_tag,
	output logic mem_request_last,
	output logic [127:0] mem_request_data,
	input logic mem_response,
	output logic mem_response_ready,
	input logic [LOG_TAGS - 1:0] mem_response_tag,
	input logic [127:0] mem_response_data,
	// Contexts' roots, and invalidation of the TLB
	input logic root_write,
	input logic [LOG_CONTEXTS - 1:0] root_context,
	input logic root_enable,
	input logic [63:14] root_address,
	input logic invalidate,
	input logic invalidate_all,
	input logic [7:0] invalidate_context,
	output logic invalidating,
	output logic idle,			// no transaction is under way or due
	// Counters
	output logic count_walk,
	output logic count_hit
);
	// ---- The next client that asks
	logic [LOG_CLIENTS - 1:0] last, next;
	logic taken;
	assign next = LOG_CLIENTS'(vta_card_pkg::choose(16'(request), 4'(last)));
	always_comb begin
		request_ready = '0;
		request_ready[next] = taken;
	end
	always_ff @(posedge clk) begin
		if (reset) last <= '0;
		else if (|request & taken) last <= next;
	end

	// ---- Pieces
	logic piece, piece_ready, piece_write, piece_first, piece_last, piece_fault, piece_card;
	logic [LOG_CLIENTS - 1:0] piece_client;
	logic [3:0] piece_reason;
	logic [31:0] piece_device;
	logic [63:0] piece_address;
	logic [8:0] piece_length, piece_left;
	logic [127:0] piece_data;
	logic busy, walk, walk_ready, walk_response;
	logic [63:0] walk_address;
	logic reads_idle, gather_empty, quiet;

	vta_translate #(
		.CLIENTS(CLIENTS), .LOG_CLIENTS(LOG_CLIENTS), .LOG_PAGES(LOG_PAGES),
		.LOG_TABLES(LOG_TABLES), .LOG_CONTEXTS(LOG_CONTEXTS), .LOG_MEM(LOG_MEM)
	) translate (
		.clk, .reset, .short_lines, .request(|request), .request_ready(taken),
		.request_client(next), .request_context(request_context[32'(next) * 8 +: 8]),
		.request_write(request_write[next]), .request_begin(request_begin[next]),
		.request_direct(request_direct[next]),
		.request_address(request_address[32'(next) * 64 +: 64]),
		.request_length(request_length[32'(next) * 9 +: 9]),
		.request_data(request_data[32'(next) * 128 +: 128]),
		.piece, .piece_ready, .piece_client, .piece_write, .piece_first, .piece_last,
		.piece_fault, .piece_reason, .piece_card, .piece_device, .piece_address,
		.piece_length, .piece_left, .piece_data, .walk, .walk_ready, .walk_address,
		.walk_response, .walk_fault(bus_response_fault),
		.walk_data(walk_address[3] ? bus_response_data[127:64] : bus_response_data[63:0]),
		.root_write, .root_context, .root_enable, .root_address, .invalidate,
		.invalidate_all, .invalidate_context, .invalidating,
		.finished(quiet), .busy, .count_walk, .count_hit
	);

	// ---- Reads
	logic tag_free, look_fault, release_tag, read_bus_ready, read_mem_ready;
	logic [LOG_TAGS - 1:0] tag, look_tag;
	logic [(1 << LOG_TAGS) - 1:0] complete;
	logic [3:0] look_first, look_last, read_beat;
	logic [127:0] read_data;
	logic [CLIENTS - 1:0] room;

	wire able = piece & room[piece_client];
	wire read = able & ~piece_write & ~piece_fault & tag_free;
	wire write = able & piece_write & ~piece_fault;
	logic gather_ready;
	wire read_ready = piece_card ? read_mem_ready : read_bus_ready;
	wire accepted = (read & read_ready) | (write & gather_ready) | (able & piece_fault);
	assign piece_ready = accepted;

	wire walk_tag = bus_response_tag[LOG_TAGS];
	assign walk_response = bus_response & walk_tag;

	vta_reads #(.LOG_TAGS(LOG_TAGS)) reads (
		.clk, .reset, .free(tag_free), .tag, .start(read & read_ready),
		.start_address(piece_address[7:0]), .start_length(piece_length),
		.bus(bus_response & ~walk_tag), .bus_tag(bus_response_tag[LOG_TAGS - 1:0]),
		.bus_fault(bus_response_fault), .bus_data(bus_response_data),
		.card(mem_response), .card_ready(mem_response_ready),
		.card_tag(mem_response_tag), .card_data(mem_response_data), .complete,
		.look_tag, .look_fault, .look_first, .look_last, .read_beat, .read_data,
		.release_tag, .idle(reads_idle)
	);

	// ---- Writes
	logic transfer, transfer_ready, transfer_card, transfer_last;
	logic [63:0] transfer_address;
	logic [8:0] transfer_length;
	logic [LOG_PIECES:0] transfer_pieces;
	logic [127:0] transfer_data;
	logic [LOG_CLIENTS - 1:0] transfer_client;
	logic [1:0] written;			// on the bus, and to card memory
	logic [2 * LOG_CLIENTS - 1:0] written_client;
	logic [2 * (LOG_PIECES + 1) - 1:0] written_pieces;
	vta_gather #(.LOG_CLIENTS(LOG_CLIENTS), .LOG_PIECES(LOG_PIECES)) gather (
		.clk, .reset, .short_lines, .piece(write), .piece_ready(gather_ready),
		.piece_client, .piece_card, .piece_address, .piece_length(piece_length[4:0]),
		.piece_data, .transfer, .transfer_ready, .transfer_card, .transfer_address,
		.transfer_length, .transfer_last, .transfer_data, .transfer_client,
		.transfer_pieces, .empty(gather_empty)
	);

	vta_deliver #(
		.CLIENTS(CLIENTS), .LOG_CLIENTS(LOG_CLIENTS), .LOG_TAGS(LOG_TAGS),
		.LOG_PIECES(LOG_PIECES)
	) deliver (
		.clk, .reset, .room, .piece(accepted), .piece_client, .piece_write, .piece_first,
		.piece_last, .piece_fault, .piece_reason, .piece_device, .piece_left,
		.piece_tag(tag), .written, .written_client, .written_pieces, .complete, .look_tag,
		.look_fault, .look_first, .look_last, .read_beat, .read_data, .release_tag,
		.acknowledge, .acknowledge_ready, .response, .response_ready, .response_last,
		.response_fault, .response_reason, .response_address, .response_data
	);

	// ---- Transactions
	logic write_bus_ready, write_mem_ready, unused_walk_ready;
	assign transfer_ready = transfer_card ? write_mem_ready : write_bus_ready;

	vta_link #(
		.LOG_CLIENTS(LOG_CLIENTS), .LOG_TAGS(LOG_TAGS), .LOG_PIECES(LOG_PIECES)
	) bus (
		.clk, .reset, .on(bus_on), .transfer(transfer & ~transfer_card),
		.transfer_ready(write_bus_ready), .transfer_address, .transfer_length,
		.transfer_last, .transfer_data, .transfer_client, .transfer_pieces,
		.written(written[0]),
		.written_client(written_client[0 * LOG_CLIENTS +: LOG_CLIENTS]),
		.written_pieces(written_pieces[0 * (LOG_PIECES + 1) +: LOG_PIECES + 1]),
		.read(read & ~piece_card),
		.read_ready(read_bus_ready), .read_address(piece_address),
		.read_length(piece_length), .read_tag(tag), .walk, .walk_ready, .walk_address,
		.request(bus_request), .request_ready(bus_request_ready),
		.request_write(bus_request_write), .request_address(bus_request_address),
		.request_length(bus_request_length), .request_tag(bus_request_tag),
		.request_last(bus_request_last), .request_data(bus_request_data)
	);

	logic unused_walk_tag;
	vta_link #(
		.LOG_CLIENTS(LOG_CLIENTS), .LOG_TAGS(LOG_TAGS), .LOG_PIECES(LOG_PIECES)
	) mem (
		.clk, .reset, .on(bus_on), .transfer(transfer & transfer_card),
		.transfer_ready(write_mem_ready), .transfer_address, .transfer_length,
		.transfer_last, .transfer_data, .transfer_client, .transfer_pieces,
		.written(written[1]),
		.written_client(written_client[1 * LOG_CLIENTS +: LOG_CLIENTS]),
		.written_pieces(written_pieces[1 * (LOG_PIECES + 1) +: LOG_PIECES + 1]),
		.read(read & piece_card),
		.read_ready(read_mem_ready), .read_address(piece_address),
		.read_length(piece_length), .read_tag(tag), .walk(1'b0),
		.walk_ready(unused_walk_ready), .walk_address(64'd0),
		.request(mem_request), .request_ready(mem_request_ready),
		.request_write(mem_request_write), .request_address(mem_request_address),
		.request_length(mem_request_length),
		.request_tag({unused_walk_tag, mem_request_tag}),
		.request_last(mem_request_last), .request_data(mem_request_data)
	);

	assign quiet = reads_idle & gather_empty & ~bus_request & ~mem_request;
	assign idle = quiet & ~piece & ~busy;
endmodule
