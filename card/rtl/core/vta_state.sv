// SPDX-License-Identifier: Apache-2.0
// The core's state between runs: clears, saves and restores scratchpads and counts of tokens.
//
// In memory it is a header of 64 bytes (the counts of the four token queues, then the elements in
// use of the scratchpads, 32 bits each), then the four scratchpads, each as LOAD of all of it finds
// it. Elements beyond those in use are zero, and are not moved. Clearing and restoring go through
// the load units, as LOADs of elements that are zero or come from memory.
module vta_state #(
	parameter int LOG_UOP_WORD = 5,		// bits of a scratchpad's word
	parameter int LOG_INP_WORD = 7,
	parameter int LOG_WGT_WORD = 11,
	parameter int LOG_ACC_WORD = 9,
	parameter int LOG_INP_BYTES = 4,	// bytes of an element
	parameter int LOG_WGT_BYTES = 8,
	parameter int LOG_ACC_BYTES = 6,
	parameter int LOG_UOP_DEPTH = 13,
	parameter int LOG_INP_DEPTH = 11,
	parameter int LOG_WGT_DEPTH = 10,
	parameter int LOG_ACC_DEPTH = 11
) (
	input logic clk,
	input logic reset,
	input logic halt,
	// Commands
	input logic clear, save, restore,
	input logic [31:0] address,
	output logic active,
	output logic done,
	output logic fault,
	output logic [3:0] fault_reason,
	output logic [31:0] fault_address,
	// Instructions that put elements into use
	input logic load_start,			// of INP or WGT
	input logic fill_start,			// of UOP or ACC
	input logic loop_start,
	input logic [2:0] load_memory, fill_memory,
	input logic [16:0] load_end, fill_end,	// first element beyond those written
	// Counts of tokens
	input logic [127:0] tokens,
	output logic tokens_restore,
	output logic [127:0] tokens_restored,
	// The load units
	output logic unit_zero,
	output logic [2:0] unit_memory,
	output logic [16:0] unit_elements,
	output logic [32:0] unit_address,
	output logic load_go, fill_go,
	input logic unit_done,
	input logic unit_fault,
	input logic [3:0] unit_reason,
	input logic [31:0] unit_fault_address,
	// Scratchpads
	output logic pad_read,
	output logic [23:0] pad_word,
	input logic [(1 << LOG_UOP_WORD) - 1:0] uop_data,
	input logic [(1 << LOG_INP_WORD) - 1:0] inp_data,
	input logic [(1 << LOG_WGT_WORD) - 1:0] wgt_data,
	output logic acc_read,
	input logic acc_valid,
	input logic [(1 << LOG_ACC_WORD) - 1:0] acc_data,
	// Memory, to read the header
	output logic header_request,
	input logic header_request_ready,
	output logic [31:0] header_address,
	input logic header_response,
	input logic header_last,
	input logic response_fault,
	input logic [3:0] response_reason,
	input logic [31:0] response_address,
	input logic [127:0] response_data,
	// and to write
	output logic write_request,
	input logic write_request_ready,
	output logic [31:0] write_address,
	output logic [8:0] write_length,
	output logic [127:0] write_data,
	input logic write_response
);
	localparam int LogBeat = 7;
	localparam logic [32:0] HeaderBytes = 33'd64;

	localparam logic [3:0] Idle = 4'd0;
	localparam logic [3:0] Clear = 4'd1;
	localparam logic [3:0] ClearWait = 4'd2;
	localparam logic [3:0] Header = 4'd3;
	localparam logic [3:0] HeaderWait = 4'd4;
	localparam logic [3:0] Fill = 4'd5;
	localparam logic [3:0] FillWait = 4'd6;
	localparam logic [3:0] SaveTokens = 4'd7;
	localparam logic [3:0] SaveUsed = 4'd8;
	localparam logic [3:0] Save = 4'd9;
	localparam logic [3:0] SaveRead = 4'd10;
	localparam logic [3:0] SaveData = 4'd11;
	localparam logic [3:0] SaveWrite = 4'd12;
	localparam logic [3:0] SaveEnd = 4'd13;

	logic [3:0] step;
	logic restoring;
	logic [1:0] pad;			// UOP, INP, WGT, ACC
	logic [16:0] used_uop, used_inp, used_wgt, used_acc;	// elements beyond are zero

	// ---- The scratchpad in hand
	function automatic logic [9:0] last_part_of(input int log_word_of);
		last_part_of = 10'((11'd1 << (log_word_of < LogBeat ? LogBeat - log_word_of :
			log_word_of - LogBeat)) - 11'd1);
	endfunction

	// In registers: a step that depends on it looks in its first clock, and acts in the second.
	logic [1:0] chosen;			// `pad` of the clock before
	logic [2:0] memory;
	logic [16:0] used;
	logic [23:0] used_words;
	logic [32:0] pad_bytes;
	logic any_used, looked, narrow;
	logic [9:0] last_part;			// of a word, or of 16 bytes
	logic [4:0] log_word;
	always_ff @(posedge clk) begin
		chosen <= pad;
		looked <= (step == Clear | step == Fill | step == Save) & ~looked;
		unique case (pad)
			2'd0: begin
				memory <= vta_isa_pkg::MEMORY_UOP;
				used <= used_uop;
				used_words <= 24'(used_uop) << (2 + 3 - LOG_UOP_WORD);
				any_used <= |used_uop;
				pad_bytes <= 33'd1 << (2 + LOG_UOP_DEPTH);
				narrow <= LOG_UOP_WORD < LogBeat;
				last_part <= last_part_of(LOG_UOP_WORD);
				log_word <= 5'(LOG_UOP_WORD);
			end
			2'd1: begin
				memory <= vta_isa_pkg::MEMORY_INP;
				used <= used_inp;
				used_words <= 24'(used_inp) << (LOG_INP_BYTES + 3 - LOG_INP_WORD);
				any_used <= |used_inp;
				pad_bytes <= 33'd1 << (LOG_INP_BYTES + LOG_INP_DEPTH);
				narrow <= LOG_INP_WORD < LogBeat;
				last_part <= last_part_of(LOG_INP_WORD);
				log_word <= 5'(LOG_INP_WORD);
			end
			2'd2: begin
				memory <= vta_isa_pkg::MEMORY_WGT;
				used <= used_wgt;
				used_words <= 24'(used_wgt) << (LOG_WGT_BYTES + 3 - LOG_WGT_WORD);
				any_used <= |used_wgt;
				pad_bytes <= 33'd1 << (LOG_WGT_BYTES + LOG_WGT_DEPTH);
				narrow <= LOG_WGT_WORD < LogBeat;
				last_part <= last_part_of(LOG_WGT_WORD);
				log_word <= 5'(LOG_WGT_WORD);
			end
			default: begin
				memory <= vta_isa_pkg::MEMORY_ACC;
				used <= used_acc;
				used_words <= 24'(used_acc) << (LOG_ACC_BYTES + 3 - LOG_ACC_WORD);
				any_used <= |used_acc;
				pad_bytes <= 33'd1 << (LOG_ACC_BYTES + LOG_ACC_DEPTH);
				narrow <= LOG_ACC_WORD < LogBeat;
				last_part <= last_part_of(LOG_ACC_WORD);
				log_word <= 5'(LOG_ACC_WORD);
			end
		endcase
	end
	wire is_load = pad == 2'd1 | pad == 2'd2;	// the load module's
	wire last_pad = &pad;

	// ---- Clearing, restoring
	logic [32:0] place;			// in memory, of the scratchpad or of the next 16 bytes
	wire [32:0] next_pad = place + pad_bytes;
	wire go = (step == Clear | step == Fill) & looked & any_used & ~halt;

	assign unit_zero = step == Clear | step == ClearWait;
	assign unit_memory = memory;
	assign unit_elements = used;
	assign unit_address = place;
	assign load_go = go & is_load;
	assign fill_go = go & ~is_load;

	logic header_second;
	assign header_request = step == Header;
	assign header_address = address;
	wire header_done = step == HeaderWait & header_response & header_last & ~response_fault;
	assign tokens_restored = response_data;
	assign tokens_restore = step == HeaderWait & header_response & ~header_second &
		~response_fault & ~halt;

	function automatic logic [16:0] at_most(input logic [31:0] count, input int log_depth_of);
		at_most = count > 32'd1 << log_depth_of ? 17'd1 << log_depth_of : count[16:0];
	endfunction

	// ---- Saving: word by word
	logic [23:0] words, word;		// of the scratchpad: left, and in hand
	logic [9:0] part;
	logic [127:0] beat, beat_uop, beat_inp, beat_wgt, beat_acc, beat_next;
	logic [4:0] outstanding;
	logic [32:0] beat_place;

	vta_chunk #(.LOG_WORD(LOG_UOP_WORD)) chunk_uop (
		.word(uop_data), .part, .earlier(beat), .beat(beat_uop));
	vta_chunk #(.LOG_WORD(LOG_INP_WORD)) chunk_inp (
		.word(inp_data), .part, .earlier(beat), .beat(beat_inp));
	vta_chunk #(.LOG_WORD(LOG_WGT_WORD)) chunk_wgt (
		.word(wgt_data), .part, .earlier(beat), .beat(beat_wgt));
	vta_chunk #(.LOG_WORD(LOG_ACC_WORD)) chunk_acc (
		.word(acc_data), .part, .earlier(beat), .beat(beat_acc));
	always_comb begin
		unique case (chosen)
			2'd0: beat_next = beat_uop;
			2'd1: beat_next = beat_inp;
			2'd2: beat_next = beat_wgt;
			default: beat_next = beat_acc;
		endcase
	end

	wire at_last = part == last_part;
	wire last_word = words == 24'd1;
	wire last_beat = ~|words;		// the last word has gone into `beat`
	wire arrived = step == SaveData & (~&chosen | acc_valid | (~narrow & |part));
	wire beat_full = ~narrow | at_last | last_word;
	wire unused = &{1'b0, narrow_bits[2:0]};
	wire [7:0] narrow_bits = 8'(part + 10'd1) << log_word;
	logic [4:0] beat_bytes;

	assign pad_read = step == SaveRead & ~&pad;
	assign pad_word = word;
	assign acc_read = step == SaveRead & &pad;

	wire writing = step == SaveTokens | step == SaveUsed | step == SaveWrite;
	logic few;				// of the outstanding ones, also with one more
	assign write_request = writing & few;
	assign write_address = beat_place[31:0];
	assign write_length = step == SaveWrite ? 9'(beat_bytes) : 9'd16;
	assign write_data = step == SaveTokens ? tokens : step == SaveUsed ?
		{32'(used_acc), 32'(used_wgt), 32'(used_inp), 32'(used_uop)} : beat;
	wire written = write_request & write_request_ready;

	// ---- The command
	wire none = looked & ~any_used;
	assign done = (cleared & last_pad & ~restoring) | (filled & last_pad) |
		(step == SaveEnd & ~|outstanding);
	wire header_fault = header_response & response_fault;
	wire write_fault = write_response & response_fault;
	assign fault = active & ~halt & (unit_fault | header_fault | write_fault);
	assign fault_reason = unit_fault ? unit_reason : response_reason;
	assign fault_address = unit_fault ? unit_fault_address : response_address;

	wire cleared = (step == Clear & none) | (step == ClearWait & unit_done);
	wire filled = (step == Fill & none) | (step == FillWait & unit_done);

	always_ff @(posedge clk) begin
		active <= ~reset & ~halt & (active ? ~done : clear | save | restore);
		few <= outstanding < 5'd30;
		if (reset | halt) begin
			step <= Idle;
			outstanding <= '0;
		end else begin
			outstanding <= outstanding + 5'(written) - 5'(write_response);
			unique case (step)
				Idle: if (clear | restore) step <= Clear;
					else if (save) step <= SaveTokens;
				Clear, ClearWait:
					if (cleared) step <= ~last_pad ? Clear : restoring ? Header : Idle;
					else if (looked) step <= ClearWait;
				Header: if (header_request_ready) step <= HeaderWait;
				HeaderWait: if (header_done) step <= Fill;
				Fill, FillWait:
					if (filled) step <= last_pad ? Idle : Fill;
					else if (looked) step <= FillWait;
				SaveTokens: if (written) step <= SaveUsed;
				SaveUsed: if (written) step <= Save;
				Save: if (looked & any_used) step <= SaveRead;
					else if (none & last_pad) step <= SaveEnd;
				SaveRead: step <= SaveData;
				SaveData: if (arrived) step <= beat_full ? SaveWrite : SaveRead;
				SaveWrite: if (written) begin
					if (~narrow & ~at_last) step <= SaveData;
					else if (~last_beat) step <= SaveRead;
					else step <= last_pad ? SaveEnd : Save;
				end
				default: if (~|outstanding) step <= Idle;
			endcase
		end
	end

	always_ff @(posedge clk) begin
		if (step == Idle) begin
			restoring <= restore;
			pad <= '0;
			place <= 33'(address) + HeaderBytes;
			beat_place <= 33'(address);
			header_second <= 1'b0;
		end
		if (cleared) pad <= pad + 2'd1;
		if (filled) begin
			pad <= pad + 2'd1;
			place <= next_pad;
		end
		if (step == HeaderWait & header_response) header_second <= 1'b1;

		if (step == Save) begin
			word <= '0;
			words <= used_words;
			part <= '0;
			beat_place <= place;
			if (none) begin
				pad <= pad + 2'd1;
				place <= next_pad;
			end
		end
		if (arrived) begin
			beat <= beat_next;
			beat_bytes <= narrow ? narrow_bits[7:3] : 5'd16;
			if (narrow) part <= beat_full ? '0 : part + 10'd1;
			if (narrow | at_last) begin
				word <= word + 24'd1;
				words <= words - 24'd1;
			end
		end
		if (written) begin
			beat_place <= beat_place + 33'd16;
			if (step == SaveWrite) begin
				if (~narrow) part <= at_last ? '0 : part + 10'd1;
				if (last_beat & (narrow | at_last)) begin
					pad <= pad + 2'd1;
					place <= next_pad;
				end
			end
		end
	end

	// ---- Elements in use
	always_ff @(posedge clk) begin
		if (reset) begin
			used_uop <= 17'd1 << LOG_UOP_DEPTH;
			used_inp <= 17'd1 << LOG_INP_DEPTH;
			used_wgt <= 17'd1 << LOG_WGT_DEPTH;
			used_acc <= 17'd1 << LOG_ACC_DEPTH;
		end else if (cleared) begin
			unique case (pad)
				2'd0: used_uop <= '0;
				2'd1: used_inp <= '0;
				2'd2: used_wgt <= '0;
				default: used_acc <= '0;
			endcase
		end else if (header_done & ~halt) begin
			used_uop <= at_most(response_data[31:0], LOG_UOP_DEPTH);
			used_inp <= at_most(response_data[63:32], LOG_INP_DEPTH);
			used_wgt <= at_most(response_data[95:64], LOG_WGT_DEPTH);
			used_acc <= at_most(response_data[127:96], LOG_ACC_DEPTH);
		end else begin
			if (load_start & load_memory == vta_isa_pkg::MEMORY_INP & load_end > used_inp)
				used_inp <= load_end;
			if (load_start & load_memory == vta_isa_pkg::MEMORY_WGT & load_end > used_wgt)
				used_wgt <= load_end;
			if (fill_start & fill_memory == vta_isa_pkg::MEMORY_UOP & fill_end > used_uop)
				used_uop <= fill_end;
			if (fill_start & fill_memory != vta_isa_pkg::MEMORY_UOP & fill_end > used_acc)
				used_acc <= fill_end;
			if (loop_start) used_acc <= 17'd1 << LOG_ACC_DEPTH;
		end
	end
endmodule
