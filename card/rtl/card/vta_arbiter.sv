// SPDX-License-Identifier: Apache-2.0
// Shares an engine between groups of queues (docs/hardware.md, 6, "Scheduling"): credits of groups,
// turns, and the queues of a group in a round by priority.
//
// It does one thing at a time. Rounds in which no group would be chosen are added up, so a choice
// takes some 20 clocks for each group with a ready queue and 4 for each group, whatever they owe.
module vta_arbiter #(
	parameter int QUEUES = 16,		// at most 256
	parameter int GROUPS = 16,		// the same
	parameter int LOG_QUANTUM = 20,		// ns (docs/hardware.md, 6)
	localparam int LogQueues = $clog2(QUEUES > 1 ? QUEUES : 2),
	localparam int LogGroups = $clog2(GROUPS > 1 ? GROUPS : 2)
) (
	input logic clk,
	input logic reset,
	// What to do: taken in a clock with both
	input logic request,
	output logic request_ready,
	input logic [2:0] request_kind,		// of those below
	input logic [LogQueues - 1:0] request_queue,	// OFFER, WITHDRAW
	input logic [LogGroups - 1:0] request_group,	// OFFER, WEIGHT, CHARGE
	input logic [63:0] request_value,	// WEIGHT; CHARGE: ns; IDLE: rounds
	// The end of a CHOOSE, for one clock
	output logic chosen,
	output logic chosen_none,
	output logic [7:0] chosen_queue,
	// Priority of a queue, in the next clock
	output logic [7:0] look_queue,
	input logic [1:0] look_priority,
	output logic any			// a queue is ready
);
	localparam logic signed [43:0] Least = -(44'sd1 << 34);	// credit
	// After so many rounds none owes anything.
	localparam logic [14:0] MostRounds = 15'(1 << (34 - LOG_QUANTUM));

	// ---- States; those that end with Read have a group's or a queue's data in the next clock
	localparam logic [4:0] Clear = 5'd0;
	localparam logic [4:0] Idle = 5'd1;
	localparam logic [4:0] Begin = 5'd2;
	localparam logic [4:0] ChangeRead = 5'd3;	// one group
	localparam logic [4:0] Change = 5'd4;
	localparam logic [4:0] CountRead = 5'd5;	// each ready group: rounds until it is chosen
	localparam logic [4:0] Count = 5'd6;
	localparam logic [4:0] Divide = 5'd7;
	localparam logic [4:0] Compare = 5'd8;
	localparam logic [4:0] AddRead = 5'd9;		// each group: so many rounds
	localparam logic [4:0] Add = 5'd10;
	localparam logic [4:0] TurnRead = 5'd11;	// the next group
	localparam logic [4:0] Turn = 5'd12;
	localparam logic [4:0] TakeRead = 5'd13;	// the chosen group
	localparam logic [4:0] Take = 5'd14;
	localparam logic [4:0] SearchRead = 5'd15;	// its next queue
	localparam logic [4:0] Search = 5'd16;
	localparam logic [4:0] Served = 5'd17;

	logic [4:0] state;
	logic [2:0] kind;
	logic [7:0] queue;
	logic [63:0] value;
	logic [LogGroups - 1:0] group, turn;
	logic [14:0] rounds;			// the least of all, and to be added

	wire offer = kind == vta_card_pkg::ARBITER_OFFER;
	wire withdraw = kind == vta_card_pkg::ARBITER_WITHDRAW;
	wire change_weight = kind == vta_card_pkg::ARBITER_WEIGHT;
	wire charge = kind == vta_card_pkg::ARBITER_CHARGE;
	wire pass = kind == vta_card_pkg::ARBITER_IDLE;
	wire choose = kind == vta_card_pkg::ARBITER_CHOOSE;

	// ---- Ready queues, and the group of each
	logic [QUEUES - 1:0] queue_ready;
	logic [GROUPS - 1:0] group_ready;
	logic [LogGroups - 1:0] group_of;
	wire [LogQueues - 1:0] queue_at = LogQueues'(queue);
	wire known = queue_ready[queue_at];
	wire is_ready = group_ready[group];
	wire member = known & group_of == group;
	assign any = |group_ready;

	vta_ram #(.WIDTH(LogGroups), .LOG_DEPTH(LogQueues)) members (
		.clk, .write(state == Change & offer), .write_address(queue_at),
		.write_data(group), .read(1'b1),
		.read_address(state == Idle ? request_queue : queue_at),
		.read_data(group_of)
	);

	// ---- Groups
	logic write;
	logic [7:0] weight, new_weight;
	logic [35:0] credit, new_credit;	// ns, signed
	logic [7:0] next, new_next;		// queue whose turn it is,
	logic [3:0] left, new_left;		// and descriptors that it may still have
	logic [8:0] count, new_count;		// ready queues
	wire reading = state == ChangeRead | state == CountRead | state == AddRead |
		state == TurnRead | state == TakeRead;
	vta_ram #(.WIDTH(8 + 36 + 8 + 4 + 9), .LOG_DEPTH(LogGroups)) groups (
		.clk, .write, .write_address(group),
		.write_data({new_weight, new_credit, new_next, new_left, new_count}),
		.read(reading), .read_address(group), .read_data({weight, credit, next, left, count})
	);

	wire signed [43:0] owned = 44'(signed'(credit));
	wire signed [43:0] grown = owned + signed'(44'(rounds) * 44'(weight) << LOG_QUANTUM);
	wire owned_above = owned > 44'sd0;
	wire grown_above = grown > 44'sd0;
	wire [63:0] most = {20'd0, owned - Least};	// that can be taken from it
	logic [3:0] taken_left;

	always_comb begin
		write = 1'b0;
		new_weight = weight;
		new_credit = credit;
		new_next = next;
		new_left = left;
		new_count = count;
		unique case (state)
			Clear: begin
				write = 1'b1;
				new_weight = 8'd1;
				new_credit = '0;
				new_next = 8'd255;
				new_left = '0;
				new_count = '0;
			end
			Change: begin
				write = 1'b1;
				if (offer) new_count = count + 9'd1;
				if (withdraw) new_count = count - 9'd1;
				if (change_weight) new_weight = |value[7:0] ? value[7:0] : 8'd1;
				if (change_weight | (choose & owned_above & ~is_ready)) new_credit = '0;
				if (charge) new_credit = value < most ? credit - value[35:0] : Least[35:0];
			end
			Add, Turn: begin
				write = 1'b1;
				new_credit = grown_above & (pass | ~is_ready) ? '0 : grown[35:0];
			end
			Served: begin
				write = 1'b1;
				new_next = queue;
				new_left = taken_left - 4'd1;
				new_count = count - 9'd1;
			end
			default: ;
		endcase
	end

	// ---- Rounds until a credit is above 0, less one: its debt by weight and quantum, bit by bit
	logic [14:0] dividend, quotient;
	logic [7:0] remainder;
	logic [3:0] bits;
	wire [14:0] debt = 15'(-owned >> LOG_QUANTUM);
	wire [8:0] shifted = {remainder, dividend[14]};
	wire fits = shifted >= {1'b0, weight};

	// ---- Results
	logic first;				// the queue had its turn before
	wire none = state == Begin & choose & ~any;
	assign look_queue = queue;
	assign request_ready = state == Idle;
	assign chosen = state == Served | none;
	assign chosen_none = none;
	assign chosen_queue = queue;

	wire last = 32'(group) == GROUPS - 1;
	wire [LogGroups - 1:0] after = last ? '0 : group + 1'b1;
	wire [LogGroups - 1:0] after_turn = 32'(turn) == GROUPS - 1 ? '0 : turn + 1'b1;
	wire [7:0] from = state == Take ? next : queue;
	wire [7:0] after_queue = 32'(from) + 32'd1 >= QUEUES ? 8'd0 : from + 8'd1;

	always_ff @(posedge clk) begin
		unique case (state)
			Clear: group <= after;
			Idle: begin
				kind <= request_kind;
				queue <= 8'(request_queue);
				value <= request_value;
				group <= request_group;
				rounds <= request_value > 64'(MostRounds) ? MostRounds :
					request_value[14:0];
			end
			Begin: begin
				if (withdraw) group <= group_of;
				if (choose) group <= turn;
				if (pass) group <= '0;
			end
			Change: if (choose & ~(is_ready & owned_above)) begin
				group <= '0;
				rounds <= '1;
			end
			CountRead: if (~is_ready) group <= after;
			Count: begin
				dividend <= owned_above ? '0 : debt;
				remainder <= '0;
				quotient <= '0;
				bits <= 4'd14;
			end
			Divide: begin
				remainder <= fits ? 8'(shifted - {1'b0, weight}) : shifted[7:0];
				quotient <= {quotient[13:0], fits};
				dividend <= dividend << 1;
				bits <= bits - 4'd1;
			end
			Compare: begin
				if (quotient < rounds) rounds <= quotient;
				group <= after;
			end
			Add: begin
				group <= last ? after_turn : after;
				if (last) rounds <= 15'd1;
			end
			Turn: begin
				turn <= group;
				if (~(is_ready & grown_above)) group <= after;
			end
			Take: begin
				queue <= |left ? next : after_queue;
				first <= |left;
			end
			Search: begin
				taken_left <= first ? left : 4'd1 << look_priority;
				first <= 1'b0;
				if (~member) queue <= after_queue;
			end
			default: ;
		endcase
		if (reset) begin
			group <= '0;
			turn <= '0;
		end
	end

	always_ff @(posedge clk) begin
		if (reset) begin
			queue_ready <= '0;
			group_ready <= '0;
		end else begin
			if (state == Change & offer) queue_ready[queue_at] <= 1'b1;
			if (state == Change & withdraw | state == Served) queue_ready[queue_at] <= 1'b0;
			if (state == Change & offer) group_ready[group] <= 1'b1;
			if ((state == Change & withdraw | state == Served) & count == 9'd1)
				group_ready[group] <= 1'b0;
		end
	end

	always_ff @(posedge clk) begin
		if (reset) state <= Clear;
		else unique case (state)
			Clear: if (last) state <= Idle;
			Idle: if (request) state <= Begin;
			Begin: begin
				if (pass & |value) state <= AddRead;
				else if (pass | none | (offer & known) | (withdraw & ~known)) state <= Idle;
				else state <= ChangeRead;
			end
			ChangeRead: state <= Change;
			Change: begin
				if (~choose) state <= Idle;
				else state <= is_ready & owned_above ? TakeRead : CountRead;
			end
			CountRead: begin
				if (is_ready) state <= Count;
				else if (last) state <= AddRead;
			end
			Count: state <= Divide;
			Divide: if (~|bits) state <= Compare;
			Compare: state <= last ? AddRead : CountRead;
			AddRead: state <= Add;
			Add: begin
				if (~last) state <= AddRead;
				else state <= pass ? Idle : TurnRead;
			end
			TurnRead: state <= Turn;
			Turn: state <= is_ready & grown_above ? TakeRead : TurnRead;
			TakeRead: state <= Take;
			Take: state <= SearchRead;
			SearchRead: state <= Search;
			Search: state <= member ? Served : SearchRead;
			default: state <= Idle;
		endcase
	end
endmodule
