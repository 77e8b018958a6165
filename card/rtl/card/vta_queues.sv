// SPDX-License-Identifier: Apache-2.0
// The queues' registers and state (docs/hardware.md, 6): what register writes, the front end and the
// engines change of them, one change at a time.
//
// A queue has one *owner* at a time that reads its ring, executes its descriptor or writes its
// records: the front end, also for the engines. Register writes note what is wanted of it.
module vta_queues #(
	parameter int QUEUES = 16,		// at most 256
	parameter int CONTEXTS = 16,
	parameter int RING_ORDER_MAX = 16,
	localparam int LogQueues = $clog2(QUEUES > 1 ? QUEUES : 2),
	localparam int LogContexts = $clog2(CONTEXTS > 1 ? CONTEXTS : 2)
) (
	input logic clk,
	input logic reset,			// for as many clocks as there are words: clears all
	output logic clearing,
	// Register accesses: 32 bits, of a queue below QUEUES
	input logic access,
	input logic access_write,
	input logic access_peek,		// a read without effects
	input logic access_doorbell,		// BAR2; else a register
	input logic [LogQueues - 1:0] access_queue,
	input logic [4:0] access_word,		// register, by its offset / 4
	input logic [31:0] access_data,
	output logic access_done,		// for one clock, with
	output logic [31:0] access_value,
	output logic access_bad,
	output logic count_doorbell, count_arm,
	output logic arm_interrupt,		// of vector
	output logic [31:0] arm_vector,
	input logic [CONTEXTS - 1:0] context_enabled,
	input logic serving,			// descriptors are begun
	input logic fatal,
	// The front end: queues that want it, and the one that it owns
	output logic [QUEUES - 1:0] wants,
	input logic [LogQueues - 1:0] front_queue,
	input logic front_completing,		// its next number may be visible to the host
	input logic [3:0] change,		// CHANGE_*: of the queue that it owns,
	output logic change_ready,		// in a clock with this
	input logic [1:0] change_unit,
	output logic change_interrupt,		// COMPLETED, and armed for it
	input logic [4:0] front_word,		// setting in the next clock
	output logic [31:0] front_setting,
	output logic [63:0] front_seq,
	output logic front_unwritten, front_faulting, front_overflow, front_stopping, front_live,
	output logic front_idle, front_ready, front_held, front_check, front_waiting, front_dropped,
	output logic front_offered,
	output logic [1:0] front_unit,
	// The engines' queues: whether their descriptors are given up; priorities
	input logic [2 * LogQueues - 1:0] engine_queue,
	output logic [1:0] engine_dropped,
	input logic [LogQueues - 1:0] look_queue,
	output logic [1:0] look_priority,
	output logic any_busy			// a descriptor is in hand
);
	// ---- Registers by offset / 4
	localparam logic [4:0] Ctrl = 5'd0;
	localparam logic [4:0] State = 5'd1;
	localparam logic [4:0] Context = 5'd2;
	localparam logic [4:0] RingOrder = 5'd3;
	localparam logic [4:0] RingAddr = 5'd4;
	localparam logic [4:0] Vector = 5'd5;
	localparam logic [4:0] StatusLow = 5'd6;
	localparam logic [4:0] StartLow = 5'd10;
	localparam logic [4:0] StartHigh = 5'd11;
	localparam logic [4:0] Arm = 5'd12;
	localparam logic [4:0] SeqLow = 5'd13;
	localparam logic [4:0] SeqHigh = 5'd14;
	localparam logic [4:0] Submitted = 5'd15;
	localparam logic [4:0] Group = 5'd18;
	localparam logic [4:0] LastWord = 5'd19;	// SAVE

	localparam logic [1:0] Disabled = 2'd0;
	localparam logic [1:0] Active = 2'd1;
	localparam logic [1:0] Halted = 2'd2;

	// ---- State of each queue
	logic [QUEUES - 1:0] enable, active, halted, unwritten, stopping, faulting, overflow, owned;
	logic [QUEUES - 1:0] ready, executing, held, compute, copy;	// the descriptor in hand
	logic [QUEUES - 1:0] waiting, check, dropped, offered, armed;
	logic [QUEUES - 1:0] context_ok, order_ok, ring_ok, status_ok, group_ok, latched;
	logic [2 * QUEUES - 1:0] priorities;

	// ---- An access: read, then done
	logic reading, acting;
	logic write, doorbell;
	logic [LogQueues - 1:0] q;
	logic [4:0] word;
	logic [31:0] data;
	assign access_done = acting;
	always_ff @(posedge clk) begin
		if (access & ~reading & ~acting) begin
			write <= access_write;
			doorbell <= access_doorbell;
			q <= access_queue;
			word <= access_doorbell ? Submitted : access_word;
			data <= access_data;
		end
		reading <= ~reset & ~clearing & access & ~reading & ~acting;
		acting <= ~reset & reading;
	end

	// ---- Settings, in copies for the two that read them
	logic [LogQueues + 4:0] clear_at;
	logic [4:0] setting_word;
	logic [31:0] setting;
	wire is_setting = (word >= Context & word <= StartHigh) | (word >= 5'd16 & word <= LastWord);
	wire busy = owned[q] | unwritten[q] | stopping[q] | faulting[q] | ready[q] | executing[q] |
		held[q] | (active[q] & waiting[q]);
	wire settable = ~active[q] & ~halted[q] & ~busy;
	wire set = acting & write & is_setting & settable;
	always_comb begin
		setting_word = word;
		if (word == Submitted) setting_word = RingOrder;
		if (word == Ctrl) setting_word = Context;
		if (word == Arm) setting_word = Vector;
	end
	for (genvar n = 0; n < 2; n++) begin : gen_settings
		logic [31:0] value;
		vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues + 5)) settings (
			.clk, .write(set | clearing), .write_address(clearing ? clear_at : {q, word}),
			.write_data(clearing ? '0 : data), .read(1'b1),
			.read_address(n == 0 ? {q, setting_word} : {front_queue, front_word}),
			.read_data(value)
		);
	end
	assign setting = gen_settings[0].value;
	assign front_setting = gen_settings[1].value;

	// START is read whole when a queue starts.
	logic [31:0] start_low, start_high;
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues)) starts_low (
		.clk, .write((set & word == StartLow) | clearing),
		.write_address(clearing ? clear_at[LogQueues - 1:0] : q),
		.write_data(clearing ? '0 : data), .read(1'b1), .read_address(q), .read_data(start_low)
	);
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues)) starts_high (
		.clk, .write((set & word == StartHigh) | clearing),
		.write_address(clearing ? clear_at[LogQueues - 1:0] : q),
		.write_data(clearing ? '0 : data), .read(1'b1), .read_address(q), .read_data(start_high)
	);

	// ---- Numbers: of descriptors completed and submitted, and armed
	logic seq_write;
	logic [LogQueues - 1:0] seq_at;
	logic [63:0] seq_new, seq, seq_of_front;
	vta_ram #(.WIDTH(64), .LOG_DEPTH(LogQueues)) seqs (
		.clk, .write(seq_write), .write_address(seq_at), .write_data(seq_new), .read(1'b1),
		.read_address(q), .read_data(seq)
	);
	vta_ram #(.WIDTH(64), .LOG_DEPTH(LogQueues)) seqs_of_front (
		.clk, .write(seq_write), .write_address(seq_at), .write_data(seq_new), .read(1'b1),
		.read_address(front_queue), .read_data(seq_of_front)
	);
	assign front_seq = seq_of_front;

	logic submit_write;
	logic [LogQueues - 1:0] submit_at;
	logic [31:0] submit_new, submitted, submitted_front;
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues)) submits (
		.clk, .write(submit_write), .write_address(submit_at), .write_data(submit_new),
		.read(1'b1), .read_address(q), .read_data(submitted)
	);
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues)) submits_of_front (
		.clk, .write(submit_write), .write_address(submit_at), .write_data(submit_new),
		.read(1'b1), .read_address(front_queue), .read_data(submitted_front)
	);

	logic [31:0] arm_front, latch;
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues)) arms (
		.clk, .write(acting & write & word == Arm), .write_address(q), .write_data(data),
		.read(1'b1), .read_address(front_queue), .read_data(arm_front)
	);
	vta_ram #(.WIDTH(32), .LOG_DEPTH(LogQueues)) latches (
		.clk, .write(acting & ~write & ~access_peek & word == SeqLow), .write_address(q),
		.write_data(seq[63:32]), .read(1'b1), .read_address(q), .read_data(latch)
	);

	// ---- What an access does
	wire live = active[q] & ~unwritten[q] & ~stopping[q] & ~faulting[q];
	wire can_start = context_ok[q] & order_ok[q] & ring_ok[q] & status_ok[q] & group_ok[q] &
		context_enabled[LogContexts'(setting)] & ~data[2];
	wire control = acting & write & word == Ctrl;
	wire abort = control & data[1];
	wire stop = control & (data[1] | ~data[0]);
	wire begin_it = control & ~stop & settable;
	wire starts = begin_it & can_start;
	wire submit = acting & write & word == Submitted & ~halted[q] & ~faulting[q];
	// A host that has seen the next number counts from there.
	wire next_seen = front_completing & q == front_queue;
	wire [31:0] ahead = data - seq[31:0] - 32'(next_seen);
	wire too_many = |(ahead[31:0] >> setting[4:0]) & ahead != 32'd1 << setting[4:0];
	wire overflows = submit & live & too_many;
	wire arms_it = acting & write & word == Arm & live;
	// A number has been reached (docs/hardware.md, 9).
	wire reached = ~|((seq[31:0] - data) >> 31);

	assign count_doorbell = submit & doorbell;
	assign count_arm = arms_it;
	assign arm_interrupt = arms_it & reached;
	assign arm_vector = setting;
	assign access_bad = (word > LastWord) | (begin_it & ~can_start) |
		(doorbell & (halted[q] | faulting[q]));

	logic [2:0] hand;
	always_comb begin
		hand = 3'd0;
		if (ready[q]) hand = compute[q] ? 3'd1 : copy[q] ? 3'd2 : 3'd5;
		if (executing[q]) hand = compute[q] ? 3'd3 : copy[q] ? 3'd4 : 3'd5;
		if (held[q]) hand = 3'd6;
		unique case (word)
			Ctrl: access_value = {22'd0, priorities[32'(q) * 2 +: 2], 7'd0, enable[q]};
			State: access_value = {21'd0, hand, 3'd0, busy,
				2'd0, unwritten[q] ? Disabled : halted[q] ? Halted : {1'b0, active[q]}};
			Arm: access_value = '0;
			SeqLow: access_value = seq[31:0];
			SeqHigh: access_value = latched[q] & ~access_peek ? latch : seq[63:32];
			Submitted: access_value = submitted;
			default: access_value = is_setting ? setting : '0;
		endcase
	end

	// ---- What the front end does
	wire changes = change_ready & |change;
	wire completed = changes & change == vta_card_pkg::CHANGE_COMPLETED;
	wire [31:0] front_ahead = submitted_front - seq_of_front[31:0];
	// The front end reads RING_ORDER when a queue starts.
	wire front_too_many = |(front_ahead >> front_setting[4:0]) &
		front_ahead != 32'd1 << front_setting[4:0];
	wire front_reached = ~|((seq_of_front[31:0] + 32'd1 - arm_front) >> 31);
	assign change_interrupt = completed & armed[front_queue] & front_reached;

	assign seq_write = clearing | starts | completed;
	assign seq_at = clearing ? clear_at[LogQueues - 1:0] : starts ? q : front_queue;
	assign seq_new = clearing ? '0 : starts ? {start_high, start_low} : seq_of_front + 64'd1;
	// A doorbell may have taken back the descriptor that completes.
	wire taken_back = completed & ~|front_ahead;
	assign submit_write = clearing | submit | taken_back;
	assign submit_at = clearing ? clear_at[LogQueues - 1:0] : submit ? q : front_queue;
	assign submit_new = clearing ? '0 : submit ? data : seq_of_front[31:0] + 32'd1;

	logic acted;				// the front end's numbers are read again
	always_ff @(posedge clk) begin
		acted <= acting | changes;
		if (reset) begin
			clearing <= 1'b1;
			clear_at <= '0;
		end else if (clearing) begin
			clear_at <= clear_at + 1'b1;
			if (&clear_at) clearing <= 1'b0;
		end
	end
	assign change_ready = ~reading & ~acting & ~acted & ~access & ~clearing;

	always_ff @(posedge clk) begin
		if (acting) begin
			if (control) priorities[32'(q) * 2 +: 2] <= data[9:8];
			if (stop) enable[q] <= 1'b0;
			if (stop & (active[q] | halted[q])) begin
				stopping[q] <= 1'b1;
				armed[q] <= 1'b0;
				if (abort) dropped[q] <= 1'b1;
			end
			if (starts) begin
				enable[q] <= 1'b1;
				active[q] <= 1'b1;
				unwritten[q] <= 1'b1;
				armed[q] <= 1'b0;
				check[q] <= 1'b0;
				waiting[q] <= 1'b0;
			end
			if (submit & live) begin
				waiting[q] <= |ahead;
				check[q] <= 1'b1;
			end
			if (overflows) begin
				faulting[q] <= 1'b1;
				overflow[q] <= 1'b1;
				dropped[q] <= 1'b1;
				armed[q] <= 1'b0;
			end
			if (arms_it) armed[q] <= ~reached;
			if (~write & ~access_peek & word == SeqLow) latched[q] <= 1'b1;
			if (~write & ~access_peek & word == SeqHigh) latched[q] <= 1'b0;
			if (set) begin
				unique case (word)
					Context: context_ok[q] <= data < 32'(CONTEXTS);
					RingOrder: order_ok[q] <= data <= 32'(RING_ORDER_MAX);
					RingAddr: ring_ok[q] <= ~|data[11:0];
					StatusLow: status_ok[q] <= ~|data[6:0];
					Group: group_ok[q] <= data < 32'(CONTEXTS);
					default: ;
				endcase
			end
		end
		if (changes) begin
			unique case (change)
				vta_card_pkg::CHANGE_OWN: owned[front_queue] <= 1'b1;
				vta_card_pkg::CHANGE_RELEASE: owned[front_queue] <= 1'b0;
				vta_card_pkg::CHANGE_STARTED: begin
					unwritten[front_queue] <= 1'b0;
					waiting[front_queue] <= |front_ahead;
					if (front_too_many) begin
						faulting[front_queue] <= 1'b1;
						overflow[front_queue] <= 1'b1;
						dropped[front_queue] <= 1'b1;
					end
				end
				vta_card_pkg::CHANGE_HALTED, vta_card_pkg::CHANGE_STOPPED: begin
					active[front_queue] <= 1'b0;
					halted[front_queue] <= change == vta_card_pkg::CHANGE_HALTED;
					if (change == vta_card_pkg::CHANGE_STOPPED)
						stopping[front_queue] <= 1'b0;
					faulting[front_queue] <= 1'b0;
					overflow[front_queue] <= 1'b0;
					// What was asked of a halted queue by an ABORT stays.
					dropped[front_queue] <= 1'b0;
					armed[front_queue] <= 1'b0;
					ready[front_queue] <= 1'b0;
					executing[front_queue] <= 1'b0;
					held[front_queue] <= 1'b0;
				end
				vta_card_pkg::CHANGE_FETCHED: begin
					ready[front_queue] <= 1'b1;
					compute[front_queue] <= change_unit == vta_card_pkg::UNIT_COMPUTE;
					copy[front_queue] <= change_unit == vta_card_pkg::UNIT_COPY;
				end
				vta_card_pkg::CHANGE_OFFERED: offered[front_queue] <= 1'b1;
				vta_card_pkg::CHANGE_WITHDRAWN: offered[front_queue] <= 1'b0;
				vta_card_pkg::CHANGE_BEGUN: begin
					ready[front_queue] <= 1'b0;
					executing[front_queue] <= 1'b1;
					offered[front_queue] <= 1'b0;
				end
				vta_card_pkg::CHANGE_CHECKING: check[front_queue] <= 1'b0;
				vta_card_pkg::CHANGE_HELD: begin
					executing[front_queue] <= 1'b0;
					held[front_queue] <= 1'b1;
				end
				vta_card_pkg::CHANGE_FAULT: begin
					if (~dropped[front_queue]) faulting[front_queue] <= 1'b1;
					armed[front_queue] <= 1'b0;
				end
				vta_card_pkg::CHANGE_COMPLETED, vta_card_pkg::CHANGE_IDLE: begin
					ready[front_queue] <= 1'b0;
					executing[front_queue] <= 1'b0;
					held[front_queue] <= 1'b0;
					if (completed & armed[front_queue])
						armed[front_queue] <= ~front_reached;
					if (completed)
						waiting[front_queue] <= ~taken_back & front_ahead != 32'd1;
				end
				vta_card_pkg::CHANGE_SIGNALLED: check <= check | held;
				default: ;
			endcase
		end
		if (reset) begin
			enable <= '0;
			active <= '0;
			halted <= '0;
			unwritten <= '0;
			stopping <= '0;
			faulting <= '0;
			overflow <= '0;
			owned <= '0;
			ready <= '0;
			executing <= '0;
			held <= '0;
			compute <= '0;
			copy <= '0;
			waiting <= '0;
			check <= '0;
			dropped <= '0;
			offered <= '0;
			armed <= '0;
			latched <= '0;
			priorities <= '0;
			context_ok <= '1;
			order_ok <= '1;
			ring_ok <= '1;
			status_ok <= '1;
			group_ok <= '1;
		end
	end

	// ---- Views
	assign wants = ~owned & (unwritten | faulting | stopping | (active &
		((~ready & ~executing & ~held & waiting & {QUEUES{serving}}) |
		(ready & ~compute & ~copy & {QUEUES{serving}}) |
		(held & check & {QUEUES{~fatal}}))));
	assign front_unwritten = unwritten[front_queue];
	assign front_faulting = faulting[front_queue];
	assign front_overflow = overflow[front_queue];
	assign front_stopping = stopping[front_queue];
	assign front_live = active[front_queue] & ~unwritten[front_queue] & ~stopping[front_queue] &
		~faulting[front_queue];
	assign front_ready = ready[front_queue];
	assign front_held = held[front_queue];
	assign front_idle = ~ready[front_queue] & ~executing[front_queue] & ~held[front_queue];
	assign front_check = check[front_queue];
	assign front_waiting = waiting[front_queue];
	assign front_dropped = dropped[front_queue];
	assign front_offered = offered[front_queue];
	assign front_unit = compute[front_queue] ? vta_card_pkg::UNIT_COMPUTE :
		copy[front_queue] ? vta_card_pkg::UNIT_COPY : vta_card_pkg::UNIT_FRONT;
	for (genvar n = 0; n < 2; n++) begin : gen_engine
		assign engine_dropped[n] = dropped[engine_queue[n * LogQueues +: LogQueues]];
	end
	assign look_priority = priorities[32'(look_queue) * 2 +: 2];
	assign any_busy = |(ready | executing | held);
endmodule
