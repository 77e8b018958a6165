// SPDX-License-Identifier: Apache-2.0
// The register map (docs/hardware.md, 2 to 6 and 12): one access of 32 bits at a time, in the order in
// which they arrive, across all BARs.
module vta_registers #(
	parameter int QUEUES = 16,
	parameter int CONTEXTS = 16,
	parameter int LOG_MEM = 26,
	parameter int DOORBELL_SHIFT = 16,
	parameter int RING_ORDER_MAX = 16,
	parameter int COUNTERS = 31,
	parameter logic [31:0] CONFIG0 = 32'd0,
	parameter logic [31:0] CONFIG1 = 32'd0,
	parameter logic [31:0] CONFIG2 = 32'd0,
	localparam int LogQueues = $clog2(QUEUES > 1 ? QUEUES : 2),
	localparam int LogContexts = $clog2(CONTEXTS > 1 ? CONTEXTS : 2)
) (
	input logic clk,
	input logic reset,			// of the card, by whatever
	input logic power_on,
	input logic [63:0] now,
	input logic [31:0] heartbeat,
	input logic [31:0] clock_khz,
	input logic [31:0] hardware_version,
	input logic [63:0] serial,
	// Accesses. A 64-bit one is two, which say so.
	input logic access,
	input logic access_write,
	input logic access_doorbell,		// BAR2
	input logic access_bad,			// of another width, or misaligned
	input logic access_first,		// the first of two: not counted
	input logic access_second,
	input logic access_peek,		// a read without effects: not counted, latches nothing
	input logic [27:0] access_offset,
	input logic [31:0] access_data,
	output logic access_done,
	output logic [31:0] access_value,
	output logic count_read, count_write, count_bad,
	// Queues (vta_queues)
	output logic queue_access,
	output logic queue_write,
	output logic queue_peek,
	output logic queue_doorbell,
	output logic [LogQueues - 1:0] queue_index,
	output logic [4:0] queue_word,
	output logic [31:0] queue_data,
	input logic queue_done,
	input logic [31:0] queue_value,
	input logic queue_bad,
	// Contexts
	output logic [CONTEXTS - 1:0] context_enabled,
	output logic root_write,
	output logic [7:0] root_context,
	output logic root_enable,
	output logic [63:14] root_address,
	output logic renewed,			// a context is enabled
	// Invalidation
	output logic invalidate,
	output logic invalidate_all,
	output logic [7:0] invalidate_context,
	input logic invalidating,
	// Weights of groups
	output logic weight,
	input logic weight_done,
	output logic [LogContexts - 1:0] weight_group,
	output logic [7:0] weight_value,
	// Engines
	input logic [61:0] engine_moves,
	input logic [2 * LogQueues - 1:0] engine_queue,
	input logic [127:0] engine_number, engine_since,
	// The card's state
	output logic enable,
	output logic reset_request,
	input logic ready,
	input logic busy,
	input logic halted,			// sets EVENT.FAULT
	output logic event_message,
	output logic [31:0] event_vector,
	// Counters
	output logic counters_clear,
	output logic [4:0] counter_index,
	input logic [63:0] counter_value,
	output logic clearing			// after a reset
);
	logic [31:0] generation;
	logic [1:0] event_now, event_enable;
	logic [30:0] invalidate_value;

	// ---- An access: taken, read, done
	localparam logic [2:0] Idle = 3'd0;
	localparam logic [2:0] Read = 3'd1;
	localparam logic [2:0] Act = 3'd2;
	localparam logic [2:0] Queue = 3'd3;	// vta_queues does it
	localparam logic [2:0] Weight = 3'd4;	// the arbiters do
	logic [2:0] state;
	logic write, doorbell, bad, first, second, peek, bad_before;
	logic [27:0] offset;
	logic [31:0] data;

	wire [27:0] doorbell_index = offset >> DOORBELL_SHIFT;
	wire rung = doorbell & write & ~|(offset & 28'((32'd1 << DOORBELL_SHIFT) - 32'd1)) &
		doorbell_index < 28'(QUEUES) & ready;
	wire of_queue = ~doorbell & offset[15] & 32'(offset[14:7]) < QUEUES;
	wire of_counter = ~doorbell & offset[15:12] == 4'h7;
	wire of_group = ~doorbell & offset[15:10] == 6'b001100 & 32'(offset[9:2]) < CONTEXTS;
	wire of_context = ~doorbell & offset[15:12] == 4'h1 & 32'(offset[11:4]) < CONTEXTS;
	wire of_engine = ~doorbell & offset[15:6] == 10'h008 & offset[4:2] < 3'd6;
	wire of_card = ~doorbell & ~|offset[15:9];
	wire [LogContexts - 1:0] context_at = LogContexts'(offset[11:4]);
	wire [LogContexts - 1:0] group_at = LogContexts'(offset[9:2]);
	wire enabled_at = context_enabled[context_at];
	wire acts = state == Act & write & ready & ~bad;

	assign queue_access = state == Queue;
	assign queue_write = write & ready;
	assign queue_peek = peek;
	assign queue_doorbell = doorbell;
	assign queue_index = doorbell ? LogQueues'(doorbell_index) : LogQueues'(offset[14:7]);
	assign queue_word = offset[6:2];
	assign queue_data = data;
	assign weight = state == Weight;
	assign weight_group = group_at;
	assign weight_value = data[7:0];

	always_ff @(posedge clk) begin
		if (state == Idle & access) begin
			write <= access_write;
			doorbell <= access_doorbell;
			bad <= access_bad;
			first <= access_first;
			second <= access_second;
			peek <= access_peek;
			offset <= access_offset;
			data <= access_data;
		end
		if (power_on) state <= Idle;
		else unique case (state)
			Idle: if (access) state <= Read;
			Read: begin
				if (~bad & (rung | of_queue)) state <= Queue;
				else if (~bad & of_group & write & ready) state <= Weight;
				else state <= Act;
			end
			Queue: if (queue_done) state <= Idle;
			Weight: if (weight_done | reset) state <= Act;
			default: state <= Idle;
		endcase
	end

	logic [LogContexts - 1:0] clear_at;

	// ---- Contexts, for software to read
	logic [31:0] root_low, root_high;
	wire root_change = acts & of_context & ~enabled_at;
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogContexts)) roots_low (
		.clk, .write((root_change & offset[3:2] == 2'd0) | clearing),
		.write_address(clearing ? clear_at : context_at),
		.write_data(clearing ? '0 : {data[31:14], 14'd0}), .read(1'b1),
		.read_address(context_at), .read_data(root_low)
	);
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogContexts)) roots_high (
		.clk, .write((root_change & offset[3:2] == 2'd1) | clearing),
		.write_address(clearing ? clear_at : context_at),
		.write_data(clearing ? '0 : data), .read(1'b1), .read_address(context_at),
		.read_data(root_high)
	);
	logic [7:0] group_weight;		// 0 after a reset: 1
	vta_ram #(.WIDTH(8), .LOG_DEPTH(LogContexts)) weights (
		.clk, .write((state == Weight & weight_done) | clearing),
		.write_address(clearing ? clear_at : group_at),
		.write_data(clearing ? 8'd0 : data[7:0]), .read(1'b1),
		.read_address(group_at), .read_data(group_weight)
	);
	always_ff @(posedge clk) begin
		if (reset) begin
			clearing <= 1'b1;
			clear_at <= '0;
		end else if (clearing) begin
			clear_at <= clear_at + 1'b1;
			if (&clear_at) clearing <= 1'b0;
		end
	end

	wire context_change = acts & of_context & offset[3:2] == 2'd2;
	assign root_write = context_change;
	assign root_context = offset[11:4];
	assign root_enable = data[0];
	assign root_address = {root_high, root_low[31:14]};
	assign renewed = context_change & data[0] & ~enabled_at;

	// ---- Values
	localparam logic [63:0] MemSize = LOG_MEM == 0 ? 64'd0 : 64'd1 << LOG_MEM;
	logic [31:0] value;
	logic known;
	logic [31:0] time_high;
	logic time_kept;
	logic [COUNTERS * 32 - 1:0] counter_high;
	logic [COUNTERS - 1:0] counter_kept;
	wire [8:0] counter_at = offset[11:3] - 9'd1;
	wire is_counter = of_counter & 32'(counter_at) < COUNTERS;
	assign counter_index = counter_at[4:0];
	wire engine_at = offset[5];
	always_comb begin
		value = '0;
		known = 1'b1;
		if (of_engine) begin
			unique case (offset[4:2])
				3'd0: value = {1'b0, engine_moves[31 * 32'(engine_at) +: 31]};
				3'd1: value = 32'(engine_queue[LogQueues * 32'(engine_at) +: LogQueues]);
				3'd2: value = engine_number[64 * 32'(engine_at) +: 32];
				3'd3: value = engine_number[64 * 32'(engine_at) + 32 +: 32];
				3'd4: value = engine_since[64 * 32'(engine_at) +: 32];
				default: value = engine_since[64 * 32'(engine_at) + 32 +: 32];
			endcase
		end else if (of_context) begin
			unique case (offset[3:2])
				2'd0: value = root_low;
				2'd1: value = root_high;
				2'd2: value = {31'd0, enabled_at};
				default: known = 1'b0;
			endcase
		end else if (of_group) begin
			value = |group_weight ? {24'd0, group_weight} : 32'd1;
		end else if (of_counter) begin
			known = is_counter | ~|offset[11:0];
			if (is_counter) value = ~offset[2] ? counter_value[31:0] :
				counter_kept[counter_index] & ~peek ? counter_high[32 * 32'(counter_index) +: 32] :
				counter_value[63:32];
		end else if (of_card) begin
			unique case (offset[8:0])
				9'h000: value = 32'h3141_5456;
				9'h004: value = 32'h0002_0001;
				9'h008: value = 32'd1;	// counters
				9'h00c: value = '0;
				9'h010: value = QUEUES;
				9'h014: value = CONTEXTS;
				9'h018: value = MemSize[31:0];
				9'h01c: value = MemSize[63:32];
				9'h020: value = DOORBELL_SHIFT;
				9'h024: value = RING_ORDER_MAX;
				9'h028: value = clock_khz;
				9'h02c: value = hardware_version;
				9'h030: value = CONFIG0;
				9'h034: value = CONFIG1;
				9'h038: value = serial[31:0];
				9'h03c: value = serial[63:32];
				9'h040: value = '0;	// SAVE_SIZE
				9'h044: value = CONFIG2;
				9'h100: value = {31'd0, enable};
				9'h104: value = {29'd0, busy, 1'b0, ready};
				9'h108: value = heartbeat;
				9'h10c: value = generation;
				9'h110: value = {30'd0, event_now};
				9'h114: value = {30'd0, event_enable};
				9'h118: value = event_vector;
				9'h120: value = now[31:0];
				9'h124: value = time_kept & ~peek ? time_high : now[63:32];
				9'h140: value = {invalidating, invalidate_value};
				default: known = 1'b0;
			endcase
		end else begin
			known = 1'b0;
		end
	end

	wire unwritten_counter = of_counter & write;
	wire act_bad = bad | (doorbell ? 1'b1 : ~known & ~unwritten_counter);
	wire ends = state == Act | (state == Queue & queue_done);
	wire bad_here = state == Act ? act_bad : queue_bad;
	assign access_done = ends;
	assign access_value = state == Queue ? (doorbell ? '0 : queue_value) :
		bad | doorbell ? '0 : value;
	wire counted = ends & ~first & ~peek & (doorbell | ~of_counter);
	assign count_read = counted & ~write;
	assign count_write = counted & write;
	assign count_bad = counted & (bad_here | (second & bad_before));

	// ---- Writes
	wire card_write = acts & of_card;
	wire event_write = card_write & offset[8:0] == 9'h110;
	wire enable_write = card_write & offset[8:0] == 9'h114;
	assign reset_request = card_write & offset[8:0] == 9'h100 & data[1];
	assign invalidate = card_write & offset[8:0] == 9'h140;
	assign invalidate_all = data[30];
	assign invalidate_context = data[7:0];
	assign counters_clear = acts & of_counter & ~|offset[11:0] & data[0];
	wire [1:0] event_next = (event_now & ~(event_write ? data[1:0] : 2'b00)) | {1'b0, halted};
	assign event_message = |(event_next & ~event_now & event_enable) |
		(enable_write & |(event_next & data[1:0]));

	always_ff @(posedge clk) begin
		if (ends & first) bad_before <= bad_here;
		if (state == Act & ~write & ~bad & ~peek) begin
			if (of_card & offset[8:0] == 9'h120) begin
				time_high <= now[63:32];
				time_kept <= 1'b1;
			end
			if (of_card & offset[8:0] == 9'h124) time_kept <= 1'b0;
			if (is_counter & ~offset[2]) begin
				counter_high[32 * 32'(counter_index) +: 32] <= counter_value[63:32];
				counter_kept[counter_index] <= 1'b1;
			end
			if (is_counter & offset[2]) counter_kept[counter_index] <= 1'b0;
		end
		if (power_on) begin
			counter_kept <= '0;
			generation <= '0;
			powering <= 1'b1;
		end else if (reset_before & ~reset) begin
			// The reset that comes with power is none since.
			powering <= 1'b0;
			if (~powering) generation <= generation + 32'd1;
		end
		if (reset) begin
			enable <= 1'b0;
			event_now <= '0;
			event_enable <= '0;
			event_vector <= '0;
			invalidate_value <= '0;
			context_enabled <= '0;
			time_kept <= 1'b0;
		end else begin
			event_now <= event_next;
			if (card_write & offset[8:0] == 9'h100 & ~data[1]) enable <= data[0];
			if (enable_write) event_enable <= data[1:0];
			if (card_write & offset[8:0] == 9'h118) event_vector <= data;
			if (invalidate) invalidate_value <= {data[30], 22'd0, data[7:0]};
			if (context_change) context_enabled[context_at] <= data[0];
		end
		reset_before <= reset;
	end
	logic reset_before, powering;
endmodule
