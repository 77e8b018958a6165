// SPDX-License-Identifier: Apache-2.0
// Translates accesses by device address (docs/hardware.md, 5): cuts them into pieces of one line of
// memory, and finds each piece's page in the client's last translation, the TLB or the page tables.
//
// A line is the most that a transaction may have, so no piece crosses a page. A piece that cannot
// be accessed is the last of its request. An invalidation waits until what was translated is finished.
module vta_translate #(
	parameter int CLIENTS = 2,
	parameter int LOG_CLIENTS = 1,
	parameter int LOG_PAGES = 5,		// entries of the TLB: pages,
	parameter int LOG_TABLES = 3,		// and entries of first-level tables
	parameter int LOG_CONTEXTS = 8,
	parameter int LOG_MEM = 26		// bytes of card memory; 0: none
) (
	input logic clk,
	input logic reset,
	input logic short_lines,		// a line has 128 bytes, not 256
	// Requests
	input logic request,
	output logic request_ready,
	input logic [LOG_CLIENTS - 1:0] request_client,
	input logic [7:0] request_context,
	input logic request_write,
	input logic request_begin,		// a new access; else it goes on
	input logic request_direct,		// by bus address: not translated
	input logic [63:0] request_address,
	input logic [8:0] request_length,
	input logic [127:0] request_data,
	// Pieces
	output logic piece,
	input logic piece_ready,
	output logic [LOG_CLIENTS - 1:0] piece_client,
	output logic piece_write,
	output logic piece_first,
	output logic piece_last,
	output logic piece_fault,
	output logic [3:0] piece_reason,
	output logic piece_card,
	output logic [31:0] piece_device,	// device address
	output logic [63:0] piece_address,	// of the bus, or an offset in card memory
	output logic [8:0] piece_length,
	output logic [8:0] piece_left,		// bytes of the request, with this piece's
	output logic [127:0] piece_data,	// from the piece's first byte on
	// Reads of entries
	output logic walk,
	input logic walk_ready,
	output logic [63:0] walk_address,	// until the response
	input logic walk_response,
	input logic walk_fault,
	input logic [63:0] walk_data,
	// Contexts' roots
	input logic root_write,
	input logic [LOG_CONTEXTS - 1:0] root_context,
	input logic root_enable,
	input logic [63:14] root_address,
	// Invalidation
	input logic invalidate,
	input logic invalidate_all,
	input logic [7:0] invalidate_context,
	output logic invalidating,
	input logic finished,			// all that was translated
	output logic busy,			// with a request
	// Counters
	output logic count_walk,
	output logic count_hit
);
	localparam int Leaf = 42;		// WRITE, CARD, address 51:12
	localparam int Entries = 1 << LOG_PAGES;
	localparam int Tables = 1 << LOG_TABLES;

	localparam logic [2:0] Ready = 3'd0;
	localparam logic [2:0] Judge = 3'd1;	// by the TLB
	localparam logic [2:0] WalkTable = 3'd2;
	localparam logic [2:0] WaitTable = 3'd3;
	localparam logic [2:0] WalkPage = 3'd4;
	localparam logic [2:0] WaitPage = 3'd5;
	localparam logic [2:0] Hold = 3'd6;	// until what was translated is finished
	localparam logic [2:0] Scan = 3'd7;

	logic [2:0] state;

	// ---- The request in hand
	logic [LOG_CLIENTS - 1:0] client;
	logic [7:0] context_of;
	logic write, direct, first;
	logic fresh;				// its first piece, of a new access
	logic [63:0] address;
	logic [8:0] left;
	logic [127:0] data;

	wire [8:0] line = short_lines ? 9'd128 : 9'd256;
	wire [8:0] room = line - {1'b0, short_lines ? {1'b0, address[6:0]} : address[7:0]};
	wire [8:0] length = left < room ? left : room;
	wire last = left == length;
	wire [19:0] page = address[31:12];

	// ---- The last translation of each client
	logic [CLIENTS - 1:0] near_valid;
	logic [CLIENTS * 28 - 1:0] near_tags;	// context, page
	logic [CLIENTS * Leaf - 1:0] near_leaves;
	wire [Leaf - 1:0] leaf = near_leaves[32'(client) * Leaf +: Leaf];
	wire near = ~direct & near_valid[client] & near_tags[32'(client) * 28 +: 28] == {context_of, page};
	wire denied = write & ~leaf[41];

	// ---- TLB
	function automatic logic [LOG_PAGES - 1:0] spread_page(input logic [27:0] tag);
		spread_page = '0;
		for (int n = 0; n < 28; n++)
			spread_page[n % LOG_PAGES] = spread_page[n % LOG_PAGES] ^ tag[n];
	endfunction
	function automatic logic [LOG_TABLES - 1:0] spread_table(input logic [18:0] tag);
		spread_table = '0;
		for (int n = 0; n < 19; n++)
			spread_table[n % LOG_TABLES] = spread_table[n % LOG_TABLES] ^ tag[n];
	endfunction

	logic [Entries - 1:0] page_valid;
	logic [Tables - 1:0] table_valid;
	logic [LOG_PAGES - 1:0] scan, scanned;	// entry that a scan reads, and has read
	logic scan_read, scan_end;
	logic [27 + Leaf:0] page_entry;
	logic [19 + Leaf:0] table_entry;	// with BLOCK
	logic [63:14] root;

	wire scanning = state == Scan;
	wire [LOG_PAGES - 1:0] page_index = scanning ? scan : spread_page({context_of, page});
	wire [LOG_TABLES - 1:0] table_index =
		scanning ? LOG_TABLES'(scan) : spread_table({context_of, page[19:9]});
	wire page_hit = page_valid[page_index] & page_entry[Leaf +: 28] == {context_of, page};
	wire table_hit = table_valid[table_index] &
		table_entry[Leaf + 1 +: 19] == {context_of, page[19:9]};

	// ---- Entries that a walk has read
	wire malformed = |walk_data[11:4] | |walk_data[63:52];
	wire beyond = LOG_MEM == 0 | |(walk_data[51:0] >> LOG_MEM);
	wire block = walk_data[vta_card_pkg::PTE_BLOCK];
	wire on_card = walk_data[vta_card_pkg::PTE_CARD];
	wire bad_page = malformed | block | (on_card & beyond);
	wire bad_table = malformed | (block ?
		|walk_data[20:12] | (on_card & (beyond | LOG_MEM < 21)) :
		walk_data[vta_card_pkg::PTE_WRITE] | on_card);
	wire bad = state == WaitTable ? bad_table : bad_page;
	wire valid = walk_data[vta_card_pkg::PTE_VALID];
	wire [3:0] walk_reason = walk_fault ? vta_card_pkg::FAULT_DMA :
		~valid ? vta_isa_pkg::FAULT_PAGE :
		bad ? vta_card_pkg::FAULT_ENTRY : vta_isa_pkg::FAULT_NONE;
	wire found = walk_response & ~|walk_reason;
	wire fill_table = found & state == WaitTable;
	wire fill_page = found & state == WaitPage;
	wire [Leaf - 1:0] walk_leaf = {walk_data[vta_card_pkg::PTE_WRITE], on_card, walk_data[51:12]};

	vta_ram #(.WIDTH(28 + Leaf), .LOG_DEPTH(LOG_PAGES)) pages (
		.clk, .write(fill_page), .write_address(page_index),
		.write_data({context_of, page, walk_leaf}), .read(1'b1),
		.read_address(page_index), .read_data(page_entry)
	);
	vta_ram #(.WIDTH(20 + Leaf), .LOG_DEPTH(LOG_TABLES)) tables (
		.clk, .write(fill_table), .write_address(table_index),
		.write_data({context_of, page[19:9], block, walk_leaf}), .read(1'b1),
		.read_address(table_index), .read_data(table_entry)
	);
	vta_ram #(.WIDTH(50), .LOG_DEPTH(LOG_CONTEXTS)) roots (
		.clk, .write(root_write), .write_address(root_context),
		.write_data(root_address), .read(1'b1),
		.read_address(LOG_CONTEXTS'(context_of)), .read_data(root)
	);
	logic [(1 << LOG_CONTEXTS) - 1:0] enabled;
	always_ff @(posedge clk) begin
		if (reset) enabled <= '0;
		else if (root_write) enabled[root_context] <= root_enable;
	end

	wire judged_page = state == Judge & page_hit;
	wire judged_block = state == Judge & ~page_hit & table_hit & table_entry[Leaf];
	wire judged_table = state == Judge & ~page_hit & table_hit & ~table_entry[Leaf];
	wire judged_root = state == Judge & ~page_hit & ~table_hit;
	wire walk_faulted = walk_response & |walk_reason;
	wire rootless = judged_root & ~enabled[LOG_CONTEXTS'(context_of)];
	wire near_write = judged_page | judged_block | fill_page | (fill_table & block);
	logic [Leaf - 1:0] near_leaf;
	always_comb begin
		near_leaf = walk_leaf;
		if (judged_page) near_leaf = page_entry[Leaf - 1:0];
		if (judged_block) near_leaf = {table_entry[Leaf - 1:9], page[8:0]};
		if (fill_table) near_leaf = {walk_leaf[Leaf - 1:9], page[8:0]};
	end

	// ---- Pieces
	wire free = ~piece | piece_ready;
	wire low = ~direct & ~|page;		// below 4,096
	wire step = state == Ready & busy & free & ~invalidating;
	wire emit_fault = (step & (low | (near & denied))) | rootless | walk_faulted;
	wire emit = step & (direct | (~low & near & ~denied));
	logic [3:0] fault_reason;
	always_comb begin
		fault_reason = walk_reason;
		if (state == Ready) fault_reason =
			low ? vta_isa_pkg::FAULT_PAGE : vta_card_pkg::FAULT_PERM;
		if (state == Judge) fault_reason = vta_isa_pkg::FAULT_PAGE;
	end
	assign count_hit = judged_page | judged_block | (step & near & fresh);
	assign count_walk = walk_response & (state == WaitPage | walk_faulted | block);
	assign request_ready = ~busy | (emit & last);

	always_ff @(posedge clk) begin
		if (emit | emit_fault) begin
			piece_client <= client;
			piece_write <= write;
			piece_first <= first;
			piece_last <= last | emit_fault;
			piece_fault <= emit_fault;
			piece_reason <= fault_reason;
			piece_card <= leaf[40] & ~direct;
			piece_device <= address[31:0];
			piece_address <= direct ? address : {12'd0, leaf[39:0], address[11:0]};
			piece_length <= length;
			piece_left <= left;
			piece_data <= data;
		end
		if (request & request_ready) begin
			client <= request_client;
			context_of <= request_context;
			write <= request_write;
			direct <= request_direct;
			address <= request_address;
			left <= request_length;
			data <= request_data;
			first <= 1'b1;
			fresh <= request_begin;
		end else begin
			if (emit) begin
				address <= address + 64'(length);
				left <= left - length;
				data <= data >> {length[3:0], 3'd0};
				first <= 1'b0;
			end
			if (emit | near_write) fresh <= 1'b0;
		end
		if (near_write) begin
			near_tags[32'(client) * 28 +: 28] <= {context_of, page};
			near_leaves[32'(client) * Leaf +: Leaf] <= near_leaf;
		end
		if (reset) begin
			busy <= 1'b0;
			piece <= 1'b0;
		end else begin
			busy <= request & request_ready | (busy & ~(emit & last) & ~emit_fault);
			piece <= emit | emit_fault | (piece & ~piece_ready);
		end
	end

	// ---- Walks
	logic [39:0] table_page;
	assign walk = state == WalkTable | state == WalkPage;
	wire of_table = state == WalkTable | state == WaitTable;
	assign walk_address = of_table ? {root, page[19:9], 3'd0} :
		{12'd0, table_page, page[8:0], 3'd0};

	always_ff @(posedge clk) begin
		if (judged_table) table_page <= table_entry[39:0];
		else if (fill_table) table_page <= walk_data[51:12];
	end

	// ---- Invalidation
	logic forget_all;
	logic [7:0] forget;
	wire begin_scan = state == Hold & finished & ~piece;
	always_ff @(posedge clk) begin
		scan_read <= scanning & ~scan_end;
		scanned <= scan;
		if (~scanning) scan <= '0;
		else scan <= scan + 1'b1;
		if (~scanning) scan_end <= 1'b0;
		else if (&scan) scan_end <= 1'b1;

		// Another one while one is in progress begins a scan again, for all contexts.
		if (invalidate) begin
			forget <= invalidate_context;
			forget_all <= invalidate_all | invalidating;
		end
		if (reset) invalidating <= 1'b0;
		else if (invalidate) invalidating <= 1'b1;
		else if (scanning & scan_end & ~scan_read) invalidating <= 1'b0;

		if (reset) begin
			page_valid <= '0;
			table_valid <= '0;
			near_valid <= '0;
		end else begin
			if (fill_page) page_valid[page_index] <= 1'b1;
			if (fill_table) table_valid[table_index] <= 1'b1;
			if (near_write) near_valid[client] <= 1'b1;
			if (scanning) near_valid <= '0;
			if (scan_read & (forget_all | page_entry[Leaf + 20 +: 8] == forget))
				page_valid[scanned] <= 1'b0;
			if (scan_read & (forget_all | table_entry[Leaf + 12 +: 8] == forget))
				table_valid[LOG_TABLES'(scanned)] <= 1'b0;
		end
	end

	// ---- States
	always_ff @(posedge clk) begin
		if (reset) state <= Ready;
		else unique case (state)
			Ready: begin
				if (invalidating) state <= Hold;
				else if (step & ~direct & ~low & ~near) state <= Judge;
			end
			Judge: begin
				if (judged_table) state <= WalkPage;
				else if (judged_root & ~rootless) state <= WalkTable;
				else state <= Ready;
			end
			WalkTable: if (walk_ready) state <= WaitTable;
			WalkPage: if (walk_ready) state <= WaitPage;
			WaitTable: if (walk_response) state <= found & ~block ? WalkPage : Ready;
			WaitPage: if (walk_response) state <= Ready;
			Hold: if (begin_scan) state <= Scan;
			default: begin
				if (invalidate) state <= Hold;
				else if (scan_end & ~scan_read) state <= Ready;
			end
		endcase
	end
endmodule
