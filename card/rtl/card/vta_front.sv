// SPDX-License-Identifier: Apache-2.0
// The front end (docs/hardware.md, 6 to 9): reads the queues' descriptors, executes those that need no
// engine, gives the others to the engines, and writes all records.
//
// It does one thing for one queue at a time: ends what an engine has executed, lets an idle engine
// choose, or serves the next queue that wants it. What it writes for a queue has been taken by memory
// before the queue changes.
module vta_front #(
	parameter int QUEUES = 16,
	parameter int GROUPS = 16,
	localparam int LogQueues = $clog2(QUEUES > 1 ? QUEUES : 2),
	localparam int LogGroups = $clog2(GROUPS > 1 ? GROUPS : 2)
) (
	input logic clk,
	input logic reset,
	input logic [63:0] now,			// TIME
	input logic serving,			// descriptors are begun
	input logic fatal,
	// Queues (vta_queues)
	input logic [QUEUES - 1:0] wants,
	output logic [LogQueues - 1:0] served,
	output logic [3:0] change,
	input logic change_ready,
	output logic [1:0] change_unit,
	input logic change_interrupt,
	output logic [4:0] setting_word,
	input logic [31:0] setting,
	input logic [63:0] seq,
	input logic unwritten, faulting, overflow, stopping, live, idle, ready, held, check, waiting,
	input logic dropped, offered,
	input logic [1:0] unit,
	// Arbiters of the engines
	output logic [1:0] arbiter_request,
	input logic [1:0] arbiter_ready,
	output logic [2:0] arbiter_kind,
	output logic [LogQueues - 1:0] arbiter_queue,
	output logic [LogGroups - 1:0] arbiter_group,
	output logic [63:0] arbiter_value,
	input logic [1:0] arbiter_chosen, arbiter_chosen_none,
	input logic [15:0] arbiter_chosen_queue,
	input logic [1:0] arbiter_any,
	// Engines: a descriptor begins, and has ended with its outcome
	output logic [1:0] engine_start,
	output logic [511:0] descriptor,
	output logic [7:0] context_of,
	output logic [63:0] cycle_limit, time_limit,
	input logic [1:0] engine_busy,		// from its start until it is closed
	input logic [1:0] engine_ended,
	input logic [2 * LogQueues - 1:0] engine_queue,
	input logic [127:0] engine_begin,
	input logic [7:0] engine_reason, engine_access,
	input logic [63:0] engine_address, engine_index,
	input logic [255:0] engine_insn,
	input logic [127:0] engine_cycles,
	output logic [1:0] engine_close,	// what it did has been recorded
	// A group's weight is set
	input logic weight,
	output logic weight_done,
	input logic [LogGroups - 1:0] weight_group,
	input logic [7:0] weight_value,
	// Memory (vta_mmu)
	output logic request,
	input logic request_ready,
	output logic request_write,
	output logic request_begin,		// of a record or word
	output logic request_direct,		// a bus address
	output logic [7:0] request_context,
	output logic [63:0] request_address,
	output logic [8:0] request_length,
	output logic [127:0] request_data,
	input logic acknowledge,
	input logic response,
	input logic response_last,
	input logic response_fault,
	input logic [3:0] response_reason,
	input logic [31:0] response_address,
	input logic [127:0] response_data,
	// Interrupts, events, counters
	output logic message,
	output logic [31:0] message_vector,
	output logic completing,		// the host may see the next number
	output logic halted,			// a queue has
	output logic completed,			// the descriptor
	output logic working			// it does something
);
	// ---- Settings (vta_queues, by offset / 4)
	localparam int Settings = 11;
	localparam logic [4:0] RingOrder = 5'd3;

	// ---- States
	localparam logic [5:0] Next = 6'd0;
	localparam logic [5:0] Weight = 6'd1;
	localparam logic [5:0] Idle = 6'd2;		// rounds of an engine without a queue
	localparam logic [5:0] Choose = 6'd3;
	localparam logic [5:0] Chosen = 6'd4;
	localparam logic [5:0] Own = 6'd5;
	localparam logic [5:0] Load = 6'd6;		// settings
	localparam logic [5:0] Settle = 6'd7;
	localparam logic [5:0] Start = 6'd8;		// records of a start,
	localparam logic [5:0] Started = 6'd9;
	localparam logic [5:0] Halt = 6'd10;		// of a fault,
	localparam logic [5:0] Halted = 6'd11;
	localparam logic [5:0] Stop = 6'd12;		// of a stop
	localparam logic [5:0] Stopped = 6'd13;
	localparam logic [5:0] Fetch = 6'd14;
	localparam logic [5:0] Fetched = 6'd15;
	localparam logic [5:0] Check = 6'd16;
	localparam logic [5:0] Keep = 6'd17;		// the descriptor
	localparam logic [5:0] Kept = 6'd18;
	localparam logic [5:0] Recall = 6'd19;
	localparam logic [5:0] Begin = 6'd20;
	localparam logic [5:0] Execute = 6'd21;
	localparam logic [5:0] Signal = 6'd22;
	localparam logic [5:0] Signalled = 6'd23;
	localparam logic [5:0] Wait = 6'd24;
	localparam logic [5:0] Waited = 6'd25;
	localparam logic [5:0] Hold = 6'd26;
	localparam logic [5:0] Dispatch = 6'd27;
	localparam logic [5:0] Return = 6'd28;		// not to be executed after all
	localparam logic [5:0] Stamp = 6'd29;
	localparam logic [5:0] Finish = 6'd30;
	localparam logic [5:0] Drop = 6'd31;
	localparam logic [5:0] Fault = 6'd32;
	localparam logic [5:0] Use = 6'd33;		// totals of the status record
	localparam logic [5:0] Used = 6'd34;
	localparam logic [5:0] Record = 6'd35;
	localparam logic [5:0] Number = 6'd36;
	localparam logic [5:0] Complete = 6'd37;
	localparam logic [5:0] Charge = 6'd38;
	localparam logic [5:0] Close = 6'd39;
	localparam logic [5:0] Offer = 6'd40;
	localparam logic [5:0] Offered = 6'd41;
	localparam logic [5:0] Withdraw = 6'd42;
	localparam logic [5:0] Withdrawn = 6'd43;
	localparam logic [5:0] Release = 6'd44;

	logic [5:0] state;
	logic [3:0] step;
	logic engine;				// 0 compute, 1 copy
	logic from_engine;			// what ends was executed by it
	logic to_engine;			// a queue that it has chosen
	logic once;				// nothing more is executed for this queue now

	// ---- Settings of the queue
	logic [31:0] context_setting, ring, vector;
	logic [LogGroups - 1:0] group;
	logic [4:0] order;
	logic [63:0] status;
	function automatic logic [4:0] setting_at(input logic [3:0] n);
		unique case (n)
			4'd0: setting_at = 5'd2;	// CONTEXT
			4'd1: setting_at = RingOrder;
			4'd2: setting_at = 5'd4;	// RING_ADDR
			4'd3: setting_at = 5'd5;	// VECTOR
			4'd4: setting_at = 5'd6;	// STATUS
			4'd5: setting_at = 5'd7;
			4'd6: setting_at = 5'd8;	// CYCLES
			4'd7: setting_at = 5'd9;
			4'd8: setting_at = 5'd16;	// TIME_LIMIT
			4'd9: setting_at = 5'd17;
			default: setting_at = 5'd18;	// GROUP
		endcase
	endfunction
	assign setting_word = state == Load ? setting_at(step) : RingOrder;
	assign context_of = context_setting[7:0];

	// ---- Kept of each queue: its descriptor, when it began, its totals
	logic [127:0] kept_word;
	logic [63:0] kept_begin, total;
	logic total_write;
	logic [63:0] total_new;
	logic [2:0] total_at;
	vta_ram #(.WIDTH(128), .LOG_DEPTH(LogQueues + 2)) descriptors (
		.clk, .write(state == Keep), .write_address({served, step[1:0]}),
		.write_data(descriptor[127:0]), .read(1'b1), .read_address({served, step[1:0]}),
		.read_data(kept_word)
	);
	vta_ram #(.WIDTH(64), .LOG_DEPTH(LogQueues)) begins (
		.clk, .write(state == Begin & change_ready), .write_address(served), .write_data(now),
		.read(1'b1), .read_address(served), .read_data(kept_begin)
	);
	vta_ram #(.WIDTH(64), .LOG_DEPTH(LogQueues + 3)) totals (
		.clk, .write(total_write), .write_address({served, total_at}),
		.write_data(total_new), .read(1'b1), .read_address({served, step[2:0]}),
		.read_data(total)
	);

	// ---- The descriptor, and its outcome
	logic [63:0] begin_time, took, fault_time, cycles;
	logic [3:0] reason, access;
	logic [31:0] address, index;
	logic [127:0] insn;
	wire [7:0] operation = descriptor[7:0];
	wire stamped = descriptor[vta_card_pkg::DESC_STAMP];
	wire run = operation == vta_card_pkg::OP_RUN;
	wire copy = operation == vta_card_pkg::OP_COPY | operation == vta_card_pkg::OP_FILL;
	wire is_signal = operation == vta_card_pkg::OP_SIGNAL;
	wire is_wait = operation == vta_card_pkg::OP_WAIT;

	logic checked;
	logic [3:0] check_reason, check_access;
	logic [31:0] check_address;
	logic [1:0] check_unit;
	logic [63:0] unused_copy_cycles;
	vta_descriptor rules (
		.clk, .reset, .start(state == Fetched), .descriptor, .limit(cycle_limit),
		.keeps(1'b0), .done(checked), .reason(check_reason), .access(check_access),
		.address(check_address), .unit(check_unit), .copy_cycles(unused_copy_cycles)
	);
	logic [1:0] kept_unit;
	assign change_unit = kept_unit;

	// ---- Totals: cycles, runs, copies, run_time, copy_time, kept here while they are written
	logic [63:0] sum_cycles, sum_runs, sum_copies, sum_run_time, sum_copy_time;

	logic [63:0] word;			// that a WAIT has read
	logic executed;				// what ends was executed by an engine, and is not charged

	// ---- Requests to memory: one record's writes, or one read
	logic [6:0] writes;			// without an answer
	logic bad;				// one has faulted
	wire putting = state == Start | state == Halt | state == Stop | state == Stamp |
		state == Record | state == Number | state == Signal;
	wire getting = state == Fetch | state == Wait;
	logic asked;				// a read, or all writes of this state
	logic [3:0] last_step;
	logic [63:0] offset;
	wire direct = ~(state == Stamp | state == Signal | getting);
	wire taken = request & request_ready;
	wire answered = acknowledge | (response & response_last & writing);
	logic writing;				// what is asked for are writes
	assign request = (putting | getting) & ~asked & ~reset;
	assign request_write = putting;
	assign request_begin = ~|step;
	assign request_direct = direct;
	assign request_context = context_of;
	wire all_written = putting & asked & ~|writes;
	wire [63:0] slot = (seq & ((64'd1 << order) - 64'd1)) << 6;

	always_comb begin
		last_step = '0;
		offset = '0;
		request_length = 9'd16;
		request_data = '0;
		unique case (state)
			// From the second word on; the first is written last.
			Start: begin
				last_step = 4'd8;
				offset = 64'(step) << 4;
				if (step == 4'd0) begin
					offset = 64'd8;
					request_length = 9'd8;
					request_data[31:0] = 32'd1;
				end
				if (step == 4'd1) request_data[63:0] = now;
				if (step == 4'd8) begin
					offset = '0;
					request_length = 9'd8;
					request_data[63:0] = seq;
				end
			end
			Halt: begin
				last_step = 4'd4;
				offset = 64'h40 + (64'(step) << 4);
				unique case (step)
					4'd0: request_data = {seq + 64'd1, 28'd0, access, 28'd0, reason};
					4'd1: request_data = {insn[63:0], index, address};
					4'd2: request_data = {context_setting, 32'(served), insn[127:64]};
					4'd3: request_data = {64'd0, fault_time};
					default: begin
						offset = 64'd8;
						request_length = 9'd8;
						request_data[63:0] = {28'd0, reason, 32'd2};
					end
				endcase
			end
			Stop: begin
				offset = 64'd8;
				request_length = 9'd8;
			end
			Stamp: begin
				last_step = 4'd1;
				offset = 64'(step) << 4;
				request_data = step[0] ? {seq + 64'd1, cycles} : {now, begin_time};
			end
			Record: begin
				last_step = 4'd2;
				offset = 64'h10 + (64'(step) << 4);
				unique case (step)
					4'd0: request_data = {sum_cycles, begin_time + took};
					4'd1: request_data = {sum_copies, sum_runs};
					default: request_data = {sum_copy_time, sum_run_time};
				endcase
			end
			Number: begin
				request_length = 9'd8;
				request_data[63:0] = seq + 64'd1;
			end
			Signal, Wait: begin
				request_length = 9'd8;
				request_data[63:0] = descriptor[255:192];
			end
			default: request_length = 9'd64;	// Fetch
		endcase
		unique case (state)
			Stamp: request_address = {32'd0, descriptor[63:32]} + offset;
			Signal, Wait: request_address = {32'd0, descriptor[159:128]};
			Fetch: request_address = 64'(ring) + slot;
			default: request_address = status + offset;
		endcase
	end

	always_ff @(posedge clk) begin
		if (reset) begin
			writes <= '0;
			asked <= 1'b0;
			bad <= 1'b0;
		end else begin
			writes <= writes + 7'(taken && putting) - 7'(answered);
			if (~(putting | getting)) asked <= 1'b0;
			else if (all_written | (getting & response & response_last)) asked <= 1'b0;
			else if (taken & (getting | step == last_step)) asked <= 1'b1;
			if (~(putting | getting)) bad <= 1'b0;
			else if (response & response_fault) bad <= 1'b1;
		end
		writing <= putting;
	end

	// ---- The next thing to do
	logic [1:0] idle_engine;		// it has nothing to choose from,
	logic [127:0] idle_since;		// since then
	wire [1:0] choosing = ~engine_busy & arbiter_any & {2{serving}};
	logic [LogQueues - 1:0] last_queue, next_queue;
	always_comb begin
		next_queue = '0;
		for (int n = QUEUES - 1; n >= 0; n--)
			if (wants[n]) next_queue = LogQueues'(n);
		for (int n = QUEUES - 1; n >= 0; n--)
			if (wants[n] & LogQueues'(n) > last_queue) next_queue = LogQueues'(n);
	end
	wire [63:0] idle_time = now - idle_since[64 * 32'(engine) +: 64];

	assign arbiter_queue = served;
	assign arbiter_group = state == Weight ? weight_group : group;
	wire unit_of_copy = unit == vta_card_pkg::UNIT_COPY;
	always_comb begin
		arbiter_request = '0;
		arbiter_kind = vta_card_pkg::ARBITER_CHOOSE;
		arbiter_value = '0;
		unique case (state)
			Weight: begin
				arbiter_request[step[0]] = 1'b1;
				arbiter_kind = vta_card_pkg::ARBITER_WEIGHT;
				arbiter_value = 64'(weight_value);
			end
			Idle: begin
				arbiter_request[engine] = idle_engine[engine];
				arbiter_kind = vta_card_pkg::ARBITER_IDLE;
				arbiter_value = idle_time >> 20;
			end
			Choose: arbiter_request[engine] = 1'b1;
			Charge: begin
				arbiter_request[engine] = 1'b1;
				arbiter_kind = vta_card_pkg::ARBITER_CHARGE;
				arbiter_value = took;
			end
			Offer: begin
				arbiter_request[unit_of_copy] = 1'b1;
				arbiter_kind = vta_card_pkg::ARBITER_OFFER;
			end
			Withdraw: begin
				arbiter_request[unit_of_copy] = 1'b1;
				arbiter_kind = vta_card_pkg::ARBITER_WITHDRAW;
			end
			default: ;
		endcase
	end
	wire given = |(arbiter_request & arbiter_ready);
	assign weight_done = state == Weight & given & step[0];
	assign engine_start = state == Dispatch & change_ready ? 2'b01 << engine : 2'b00;
	assign engine_close = state == Close ? 2'b01 << engine : 2'b00;

	// ---- Changes of the queue
	always_comb begin
		unique case (state)
			Own: change = vta_card_pkg::CHANGE_OWN;
			Started: change = vta_card_pkg::CHANGE_STARTED;
			Halted: change = vta_card_pkg::CHANGE_HALTED;
			Stopped: change = vta_card_pkg::CHANGE_STOPPED;
			Kept: change = vta_card_pkg::CHANGE_FETCHED;
			Begin: change = vta_card_pkg::CHANGE_BEGUN;
			Execute: change = is_wait ? vta_card_pkg::CHANGE_CHECKING : vta_card_pkg::CHANGE_NONE;
			Signalled: change = vta_card_pkg::CHANGE_SIGNALLED;
			Hold: change = vta_card_pkg::CHANGE_HELD;
			Dispatch: change = vta_card_pkg::CHANGE_BEGUN;
			Return, Withdrawn: change = vta_card_pkg::CHANGE_WITHDRAWN;
			Drop: change = vta_card_pkg::CHANGE_IDLE;
			Fault: change = vta_card_pkg::CHANGE_FAULT;
			Complete: change = vta_card_pkg::CHANGE_COMPLETED;
			Offered: change = vta_card_pkg::CHANGE_OFFERED;
			Release: change = vta_card_pkg::CHANGE_RELEASE;
			default: change = vta_card_pkg::CHANGE_NONE;
		endcase
	end
	assign message = state == Complete & change_ready & change_interrupt;
	assign message_vector = vector;
	assign halted = state == Halted & change_ready;
	assign completing = state == Number | state == Complete;
	assign completed = state == Complete & change_ready;
	assign working = state != Next;

	// ---- Totals
	assign total_at = step[2:0] - 3'd1;
	always_comb begin
		total_write = state == Used & step != 4'd0;
		unique case (step)
			4'd1: total_new = sum_cycles;
			4'd2: total_new = sum_runs;
			4'd3: total_new = sum_copies;
			4'd4: total_new = sum_run_time;
			default: total_new = sum_copy_time;
		endcase
	end

	// ---- The way through the states
	logic starting;				// totals become 0
	wire executable = live & ((ready & unit == vta_card_pkg::UNIT_FRONT & serving) |
		(held & check & ~fatal));
	wire fetchable = live & idle & waiting & serving;
	wire offers = live & ready & unit != vta_card_pkg::UNIT_FRONT & ~offered;
	wire answer_here = response & response_last;
	wire done_reading = getting & asked & answer_here;

	always_ff @(posedge clk) begin
		if (reset) state <= Next;
		else unique case (state)
			Next: begin
				if (weight) state <= Weight;
				else if (|engine_ended) state <= Load;
				else if (|choosing) state <= Idle;
				else if (|wants) state <= Own;
			end
			Weight: if (given & step[0]) state <= Next;
			Idle: if (given | ~idle_engine[engine]) state <= Choose;
			Choose: if (given) state <= Chosen;
			Chosen: if (arbiter_chosen[engine])
				state <= arbiter_chosen_none[engine] ? Next : Own;
			Own: if (change_ready) state <= Load;
			Load: if (step == 4'(Settings)) begin
				if (from_engine) state <= Recall;
				else if (~to_engine) state <= Settle;
				else state <= live & ready & offered ? Recall : Return;
			end
			Settle: begin
				if (unwritten) state <= Start;
				else if ((faulting | stopping) & offered) state <= Withdraw;
				else if (faulting) state <= Halt;
				else if (stopping) state <= Stop;
				else if (executed) state <= Charge;
				else if (fetchable & (~once | from_engine)) state <= Fetch;
				else if (executable & ~once & ~from_engine) state <= Recall;
				else if (offers) state <= Offer;
				else state <= Release;
			end
			Start: if (all_written) state <= Used;
			Started: if (change_ready) state <= Settle;
			Halt: if (all_written) state <= Halted;
			Halted: if (change_ready) state <= Settle;
			Stop: if (all_written) state <= Stopped;
			Stopped: if (change_ready) state <= Settle;
			Fetch: if (done_reading) begin
				if (dropped) state <= Release;
				else state <= response_fault ? Fault : Fetched;
			end
			Fetched: state <= Check;
			Check: if (checked) begin
				if (dropped) state <= Release;
				else state <= |check_reason ? Fault : Keep;
			end
			Keep: if (step[1:0] == 2'd3) state <= Kept;
			Kept: if (change_ready) state <= Settle;
			Recall: if (step == 4'd5) begin
				if (from_engine) state <= stamped & ~|reason & ~dropped ? Stamp : Finish;
				else if (to_engine) state <= Dispatch;
				else state <= held ? Execute : Begin;
			end
			Begin: if (change_ready) state <= Execute;
			Execute: if (~is_wait | change_ready) begin
				if (is_signal) state <= Signal;
				else if (is_wait) state <= Wait;
				else state <= stamped ? Stamp : Finish;
			end
			Signal: if (all_written) state <= bad ? Finish : Signalled;
			Signalled: if (change_ready) state <= stamped ? Stamp : Finish;
			Wait: if (done_reading) begin
				if (response_fault) state <= Finish;
				else state <= Waited;
			end
			Waited: begin
				if (word < descriptor[255:192] & ~dropped) state <= Hold;
				else state <= stamped & ~dropped ? Stamp : Finish;
			end
			Hold: if (change_ready) state <= Release;
			Dispatch: if (change_ready) state <= Next;
			Return: if (change_ready) state <= Settle;
			Stamp: if (all_written) state <= Finish;
			Finish: begin
				if (dropped) state <= Drop;
				else state <= |reason ? Fault : Use;
			end
			Drop: if (change_ready) state <= Settle;
			Fault: if (change_ready) state <= Settle;
			Use: if (step == 4'd5) state <= Used;
			Used: if (step == 4'd5) state <= starting ? Started : Record;
			Record: if (all_written) state <= Number;
			Number: if (all_written) state <= Complete;
			Complete: if (change_ready) state <= Settle;
			Charge: if (given) state <= Close;
			Close: state <= Settle;
			Offer: if (given) state <= Offered;
			Offered: if (change_ready) state <= Release;
			Withdraw: if (given) state <= Withdrawn;
			Withdrawn: if (change_ready) state <= Settle;
			default: if (change_ready) state <= Next;
		endcase
	end

	always_ff @(posedge clk) begin
		// A step is a word of a table or a transfer; it begins with 0 in each state.
		if (putting) begin
			if (all_written) step <= '0;
			else if (taken & step != last_step) step <= step + 4'd1;
		end else if (state == Load | state == Recall | state == Keep | state == Use |
			     state == Used | (state == Weight & given)) begin
			step <= step + 4'd1;
			if ((state == Load & step == 4'(Settings)) | (state == Recall & step == 4'd5) |
			    (state == Keep & step == 4'd3) | (state == Use & step == 4'd5) |
			    (state == Used & step == 4'd5) | (state == Weight & step[0])) step <= '0;
		end else if (state != Weight) begin
			step <= '0;
		end

		unique case (state)
			Next: begin
				once <= 1'b0;
				to_engine <= 1'b0;
				from_engine <= 1'b0;
				executed <= 1'b0;
				if (|engine_ended) begin
					engine <= ~engine_ended[0];
					served <= engine_queue[engine_ended[0] ? 0 : LogQueues +: LogQueues];
					if (~weight) from_engine <= 1'b1;
					if (~weight) executed <= 1'b1;
				end else if (|choosing) begin
					engine <= ~choosing[0];
				end else if (|wants) begin
					served <= next_queue;
					if (~weight) last_queue <= next_queue;
				end
			end
			Chosen: if (arbiter_chosen[engine]) begin
				served <= LogQueues'(arbiter_chosen_queue[8 * 32'(engine) +: 8]);
				to_engine <= 1'b1;
			end
			Load: unique case (step)
				// A setting is there in the clock after the one in which it is asked for.
				4'd1: context_setting <= setting;
				4'd2: order <= setting[4:0];
				4'd3: ring <= setting;
				4'd4: vector <= setting;
				4'd5: status[31:0] <= setting;
				4'd6: status[63:32] <= setting;
				4'd7: cycle_limit[31:0] <= setting;
				4'd8: cycle_limit[63:32] <= setting;
				4'd9: time_limit[31:0] <= setting;
				4'd10: time_limit[63:32] <= setting;
				4'd11: group <= LogGroups'(setting);
				default: ;
			endcase
			Settle: begin
				starting <= unwritten;
				// Of what is found between descriptors
				if (overflow) begin
					reason <= vta_card_pkg::FAULT_DOORBELL;
					access <= vta_isa_pkg::ACCESS_NONE;
					address <= '0;
					index <= '1;
					insn <= '0;
				end
				fault_time <= now;
			end
			Start: if (all_written) begin
				sum_cycles <= '0;
				sum_runs <= '0;
				sum_copies <= '0;
				sum_run_time <= '0;
				sum_copy_time <= '0;
			end
			Fetch: begin
				if (response) descriptor <= {response_data, descriptor[511:128]};
				reason <= response_reason;
				access <= vta_card_pkg::ACCESS_RING;
				address <= response_address;
				index <= '1;
				insn <= '0;
			end
			Check: if (checked) begin
				reason <= check_reason;
				access <= check_access;
				address <= check_address;
				kept_unit <= check_unit;
			end
			Keep: descriptor <= {descriptor[127:0], descriptor[511:128]};
			Recall: if (step != 4'd0 & step != 4'd5)
				descriptor <= {kept_word, descriptor[511:128]};
			Begin: if (change_ready) begin_time <= now;
			Execute: begin
				once <= 1'b1;
				reason <= vta_isa_pkg::FAULT_NONE;
				index <= '1;
				insn <= '0;
				cycles <= '0;
				if (held) begin_time <= kept_begin;
			end
			Wait: begin
				word <= response_data[63:0];
				if (response & response_fault) begin
					reason <= response_reason;
					access <= vta_card_pkg::ACCESS_WAIT;
					address <= response_address;
				end
			end
			Signal, Stamp: if (response & response_fault & ~bad) begin
				reason <= response_reason;
				access <= state == Signal ? vta_card_pkg::ACCESS_SIGNAL :
					vta_card_pkg::ACCESS_STAMP;
				address <= response_address;
				index <= '1;
				insn <= '0;
			end
			Finish: took <= now - begin_time;
			Use: unique case (step)
				4'd1: sum_cycles <= total + (run ? cycles : 64'd0);
				4'd2: sum_runs <= total + 64'(run);
				4'd3: sum_copies <= total + 64'(copy);
				4'd4: sum_run_time <= total + (executed & ~engine ? took : 64'd0);
				4'd5: sum_copy_time <= total + (executed & engine ? took : 64'd0);
				default: ;
			endcase
			Close: executed <= 1'b0;
			default: ;
		endcase
		if (state == Load & from_engine & step == 4'd0) begin
			begin_time <= engine_begin[64 * 32'(engine) +: 64];
			cycles <= engine_cycles[64 * 32'(engine) +: 64];
			reason <= engine_reason[4 * 32'(engine) +: 4];
			access <= engine_access[4 * 32'(engine) +: 4];
			address <= engine_address[32 * 32'(engine) +: 32];
			index <= engine_index[32 * 32'(engine) +: 32];
			insn <= engine_insn[128 * 32'(engine) +: 128];
		end
		if (reset) begin
			step <= '0;
			last_queue <= '1;
		end
	end

	// ---- Engines without anything to choose from
	always_ff @(posedge clk) begin
		for (int n = 0; n < 2; n++) begin
			if (reset) idle_engine[n] <= 1'b0;
			else if (state == Idle & given & engine == 1'(n)) idle_engine[n] <= 1'b0;
			else if (~engine_busy[n] & (~serving | ~arbiter_any[n]) & ~idle_engine[n]) begin
				idle_engine[n] <= 1'b1;
				idle_since[n * 64 +: 64] <= now;
			end
		end
	end
endmodule
