// SPDX-License-Identifier: Apache-2.0
// Executes the core's commands: begins a run, and ends it when its instructions are executed, at
// the first fault, or at `stop`; has vta_state clear, save and restore.
//
// A run has come to its end when no module can move and nothing more can be fetched. Before `done`
// all requests have been responded to, so nothing of the command is left in the core.
module vta_control (
	input logic clk,
	input logic reset,
	// Commands
	input logic command,			// with ready only
	input logic [1:0] command_kind,
	input logic [31:0] command_address,	// of the stream, or of the state in memory
	input logic command_keep,		// RUN: begin with the tokens that there are
	output logic ready,
	input logic stop,			// end the command
	output logic done,			// for one clock; the following is valid until the next
	output logic stopped,
	output logic faulted,
	output logic [3:0] fault_reason,
	output logic [3:0] fault_access,
	output logic [31:0] fault_address,
	output logic [31:0] fault_index,
	output logic [127:0] fault_insn,
	// The core
	output logic halt,			// everything in hand is given up
	output logic quiet,			// from a halt to the next command
	output logic begin_run,
	output logic keep,
	output logic clear, save, restore,
	output logic [31:0] address,
	output logic running,
	input logic port_idle,
	input logic state_done,
	input logic state_fault,
	input logic [3:0] state_reason,
	input logic [31:0] state_address,
	// Fetching
	input logic fetch_idle,
	input logic fetch_faulted,
	input logic [3:0] fetch_reason,
	input logic [31:0] fetch_address,
	input logic [31:0] fetched,
	// Modules: load, compute, store
	input logic [2:0] module_stuck,
	input logic [2:0] module_empty,
	input logic [2:0] module_fault,		// by the check of an instruction
	input logic [3 * 4 - 1:0] module_reason,
	input logic [3 * 32 - 1:0] module_index,
	input logic [3 * 128 - 1:0] module_insn,
	input logic [2:0] unit_fault,		// by an access
	input logic [3 * 4 - 1:0] unit_reason,
	input logic [3 * 4 - 1:0] unit_access,
	input logic [3 * 32 - 1:0] unit_address
);
	localparam logic [2:0] Idle = 3'd0;
	localparam logic [2:0] Begin = 3'd1;
	localparam logic [2:0] Run = 3'd2;
	localparam logic [2:0] State = 3'd3;
	localparam logic [2:0] Halt = 3'd4;
	localparam logic [2:0] Done = 3'd5;

	logic [2:0] state;
	logic [1:0] kind;
	logic [2:0] rested;			// no module could move in the clocks before

	assign ready = state == Idle;
	assign done = state == Done;
	assign running = state == Run;

	wire misaligned = command_kind == vta_isa_pkg::COMMAND_RUN & |command_address[3:0];
	wire accepted = ready & command & ~misaligned & ~reset;

	// ---- The end of a run: for some clocks nothing has moved, and what is in registers is so, too
	logic [2:0] stuck;			// modules, in the clock before
	wire at_rest = fetch_idle & &(module_stuck | module_empty) & state == Run;
	wire ended = state == Run & &rested;
	wire deadlock = ended & ~fetch_faulted & |stuck;

	// ---- The module that a fault is about: the oldest that is stuck, or the first that faults
	logic older_01, older_02, older_12;	// the first's instruction is before the second's
	wire [31:0] index_0 = module_index[0 +: 32];
	wire [31:0] index_1 = module_index[32 +: 32];
	wire [31:0] index_2 = module_index[64 +: 32];
	wire oldest_0 = stuck[0] & (~stuck[1] | older_01) & (~stuck[2] | older_02);
	wire oldest_1 = stuck[1] & ~oldest_0 & (~stuck[2] | older_12);
	always_ff @(posedge clk) begin
		stuck <= module_stuck;
		older_01 <= index_0 < index_1;
		older_02 <= index_0 < index_2;
		older_12 <= index_1 < index_2;
	end
	wire [2:0] fault = (module_fault | unit_fault) & {3{state == Run}};
	wire any_fault = |fault;
	wire [1:0] at_fault = fault[0] ? 2'd0 : fault[1] ? 2'd1 : 2'd2;
	wire [1:0] at_deadlock = oldest_0 ? 2'd0 : oldest_1 ? 2'd1 : 2'd2;
	wire [1:0] at = any_fault ? at_fault : at_deadlock;

	// The instruction stays where it is for two clocks, and is recorded in the second one, as is what
	// its unit or vta_state had said in the first one.
	logic record, record_state, record_fetch, record_deadlock;
	logic [1:0] recorded;
	logic [2:0] unit_faulted;
	logic [3 * 4 - 1:0] unit_said, unit_accessed;
	logic [3 * 32 - 1:0] unit_place;
	logic [3:0] state_said;
	logic [31:0] state_place;

	wire halts = (state == Run & (any_fault | ended | stop)) |
		(state == State & (state_fault | stop)) | (state == Halt & ~port_idle);

	always_ff @(posedge clk) begin
		rested <= at_rest & ~|fault ? {rested[1:0], 1'b1} : '0;
		record <= any_fault | deadlock;
		record_deadlock <= ~any_fault;
		record_state <= state == State & state_fault;
		record_fetch <= ended & fetch_faulted & ~any_fault;
		recorded <= at;
		unit_faulted <= unit_fault;
		{unit_said, unit_accessed, unit_place} <= {unit_reason, unit_access, unit_address};
		{state_said, state_place} <= {state_reason, state_address};

		// What is true in states Halt and Begin, in registers
		halt <= reset | halts;
		quiet <= reset | halts | (quiet & ~accepted);
		begin_run <= accepted & command_kind == vta_isa_pkg::COMMAND_RUN;
		clear <= accepted & command_kind == vta_isa_pkg::COMMAND_CLEAR;
		save <= accepted & command_kind == vta_isa_pkg::COMMAND_SAVE;
		restore <= accepted & command_kind == vta_isa_pkg::COMMAND_RESTORE;
		if (reset) begin
			state <= Idle;
		end else begin
			unique case (state)
				Idle: if (command) state <= misaligned ? Done : Begin;
				Begin: state <= kind == vta_isa_pkg::COMMAND_RUN ? Run : State;
				Run: if (any_fault | ended | stop) state <= Halt;
				State: if (state_fault | stop) state <= Halt;
					else if (state_done) state <= Done;
				Halt: if (port_idle) state <= Done;
				default: state <= Idle;
			endcase
		end

		if (ready & command) begin
			kind <= command_kind;
			address <= command_address;
			keep <= command_keep;
			stopped <= 1'b0;
			faulted <= misaligned;
			fault_reason <= misaligned ? vta_isa_pkg::FAULT_ALIGN : vta_isa_pkg::FAULT_NONE;
			fault_access <= misaligned ? vta_isa_pkg::ACCESS_INSN : vta_isa_pkg::ACCESS_NONE;
			fault_address <= misaligned ? command_address : '0;
			fault_index <= vta_isa_pkg::NO_INSN;
			fault_insn <= '0;
		end else if (any_fault | ended & (fetch_faulted | |stuck) | (state == State & state_fault)) begin
			faulted <= 1'b1;
		end else if (stop & ~ended & (state == Run | state == State)) begin
			stopped <= 1'b1;
		end
		if (record_state) begin
			fault_reason <= state_said;
			fault_access <= vta_isa_pkg::ACCESS_STATE;
			fault_address <= state_place;
		end
		if (record_fetch) begin
			fault_reason <= fetch_reason;
			fault_access <= vta_isa_pkg::ACCESS_INSN;
			fault_address <= fetch_address;
			fault_index <= fetched;
		end
		if (record) begin
			fault_reason <= record_deadlock ? vta_isa_pkg::FAULT_DEADLOCK :
				unit_faulted[recorded] ? unit_said[4 * recorded +: 4] :
				module_reason[4 * recorded +: 4];
			fault_access <= unit_faulted[recorded] & ~record_deadlock ?
				unit_accessed[4 * recorded +: 4] : vta_isa_pkg::ACCESS_NONE;
			fault_address <= unit_faulted[recorded] & ~record_deadlock ?
				unit_place[32 * recorded +: 32] : '0;
			fault_index <= module_index[32 * recorded +: 32];
			fault_insn <= module_insn[128 * recorded +: 128];
		end
	end
endmodule
