/* Program flow: branches, barriers, messages, traps, and the hints that mean nothing here (SOPP,
 * and the instructions of other encodings that move the program counter).
 *
 * The results of an instruction are there when it has run, so that waits do nothing; the check of
 * core/waitcnt.c and the counts of --stats look at them. */
#include <sched.h>

#include "emulator/exec/ops.h"
#include "emulator/exec/stop.h"
#include "emulator/isa/program.h"
#include "emulator/isa/wave.h"
#include "emulator/support/clock.h"

/* ---- branches ------------------------------------------------------------------------------- */

static const emu_program *program_of(const emu_wave *wave) {
  return wave->group->dispatch->program;
}

static void jump(emu_wave *wave, const emu_inst *inst) {
  wave->next = emu_target(inst);
}

static void run_branch(emu_wave *wave, const emu_inst *inst) {
  jump(wave, inst);
}

#define BRANCH_IF(name, condition)                         \
  static void name(emu_wave *wave, const emu_inst *inst) { \
    if (condition) jump(wave, inst);                       \
  }
BRANCH_IF(run_cbranch_scc0, !wave->scc)
BRANCH_IF(run_cbranch_scc1, wave->scc)
BRANCH_IF(run_cbranch_vccz, emu_vcc(wave) == 0)
BRANCH_IF(run_cbranch_vccnz, emu_vcc(wave) != 0)
BRANCH_IF(run_cbranch_execz, emu_exec(wave) == 0)
BRANCH_IF(run_cbranch_execnz, emu_exec(wave) != 0)

/* The address after `inst`. */
static uint64_t address_after(const emu_wave *wave, const emu_inst *inst) {
  return emu_program_address(program_of(wave), inst) + inst->size;
}

/* To an address that a kernel computed. */
static void jump_to_address(emu_wave *wave, uint64_t address) {
  const emu_program *program = program_of(wave);
  wave->next = program->find(program, address);
}

static void run_getpc(emu_wave *wave, const emu_inst *inst) {
  emu_set_s64(wave, &inst->dst[0], address_after(wave, inst));
}

static void run_setpc(emu_wave *wave, const emu_inst *inst) {
  jump_to_address(wave, emu_s64(wave, &inst->src[0]));
}

static void run_swappc(emu_wave *wave, const emu_inst *inst) {
  uint64_t target = emu_s64(wave, &inst->src[0]);
  emu_set_s64(wave, &inst->dst[0], address_after(wave, inst));
  jump_to_address(wave, target);
}

static void run_call(emu_wave *wave, const emu_inst *inst) {
  emu_set_s64(wave, &inst->dst[0], address_after(wave, inst));
  jump(wave, inst);
}

/* ---- ends, barriers, messages --------------------------------------------------------------- */

static void run_endpgm(emu_wave *wave, const emu_inst *inst) {
  (void)inst;
  wave->state = EMU_ENDED;
}

/* A barrier has two parts: a wavefront signals that it has come, and waits until all have. */
static void signal_barrier(emu_wave *wave) {
  wave->has_signalled = true;
  wave->group->nsignalled++;
}

/* Goes on at once where all have come meanwhile. */
static void wait_at_barrier(emu_wave *wave) {
  if (wave->has_signalled) {
    wave->state = EMU_AT_BARRIER;
  } else {
    wave->may_pass = false;
  }
}

/* The only wavefront of a workgroup does not wait. */
static bool has_barrier(const emu_wave *wave) {
  return wave->group->nwaves > 1 || wave->watch;
}

static void run_barrier(emu_wave *wave, const emu_inst *inst) {
  (void)inst;
  if (!has_barrier(wave)) return;
  signal_barrier(wave);
  wait_at_barrier(wave);
}

enum { WORKGROUP_BARRIER = -1 };

static bool is_workgroup_barrier(emu_wave *wave, const emu_inst *inst, int32_t number) {
  if (number == WORKGROUP_BARRIER) return true;
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "%s names barrier %d; the emulated GPU knows the workgroup's (-1) alone", inst->op->name,
           number);
  return false;
}

static void run_barrier_signal(emu_wave *wave, const emu_inst *inst) {
  if (!is_workgroup_barrier(wave, inst, (int32_t)emu_s32(wave, &inst->src[0]))) return;
  if (!has_barrier(wave)) return;
  if (!wave->has_signalled && !wave->may_pass) {
    signal_barrier(wave);
    return;
  }
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "%s comes before the wavefront has waited at the barrier that it signalled last",
           inst->op->name);
}

static void run_barrier_signal_isfirst(emu_wave *wave, const emu_inst *inst) {
  wave->scc = wave->group->nsignalled == 0;
  run_barrier_signal(wave, inst);
}

static void run_barrier_wait(emu_wave *wave, const emu_inst *inst) {
  if (!is_workgroup_barrier(wave, inst, (int16_t)inst->imm) || !has_barrier(wave)) return;
  if (wave->has_signalled || wave->may_pass) {
    wait_at_barrier(wave);
    return;
  }
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "%s waits at a barrier that the wavefront has not signalled", inst->op->name);
}

enum {
  MESSAGE_MASK = 0xf,
  MESSAGE_INTERRUPT = 1,
  MESSAGE_NO_REGISTERS = 3, /* gfx11: the kernel's end needs no vector registers any more */
  EVENT_MASK = 0xffffff
};

/* An interrupt raises the event whose number is in M0; other messages steer graphics and debugging
 * hardware. */
static void run_sendmsg(emu_wave *wave, const emu_inst *inst) {
  const emu_queue_view *view = wave->group->dispatch->view;
  uint32_t message = inst->imm & MESSAGE_MASK;
  if (message == MESSAGE_INTERRUPT) {
    if (view && view->raise_event) view->raise_event(view->ud, wave->s[EMU_SGPR_M0] & EVENT_MASK);
    return;
  }
  if (message == MESSAGE_NO_REGISTERS && !(inst->chip & EMU_BEFORE_GFX11)) return;
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
           "s_sendmsg sends message %u; the emulated GPU knows interrupts (1) alone", message);
}

enum { RETURNS_REALTIME = 131 };

/* Asks for the time of the constant clock; the other messages are for trap handlers. */
static void run_sendmsg_rtn(emu_wave *wave, const emu_inst *inst) {
  if (inst->imm != RETURNS_REALTIME) {
    emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1,
             "%s sends message %d; the emulated GPU answers the one for the time (131) alone",
             inst->op->name, inst->imm);
    return;
  }
  uint64_t ticks = emu_clock_ticks();
  if (inst->op->dst[0] == EMU_B64) {
    emu_set_s64(wave, &inst->dst[0], ticks);
  } else {
    emu_set_s32(wave, &inst->dst[0], (uint32_t)ticks);
  }
}

enum { TRAP_DEBUG = 3 };

/* LLVM writes trap 2 for code that must not be reached, and trap 3 for a breakpoint, which without
 * a debugger is passed. */
static void run_trap(emu_wave *wave, const emu_inst *inst) {
  if ((inst->imm & 0xff) == TRAP_DEBUG) return;
  emu_stop(wave, inst, EMU_FAULT_TRAP, -1, "the kernel ended itself by trap %d", inst->imm & 0xff);
}

static void run_sethalt(emu_wave *wave, const emu_inst *inst) {
  if (!(inst->imm & 1)) return;
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "s_sethalt would halt the wavefront for ever");
}

static void run_code_end(emu_wave *wave, const emu_inst *inst) {
  emu_stop(wave, inst, EMU_FAULT_ILLEGAL, -1, "the kernel ran past its end");
}

/* ---- hints ---------------------------------------------------------------------------------- */

static void run_nothing(emu_wave *wave, const emu_inst *inst) {
  (void)wave;
  (void)inst;
}

/* A wavefront that sleeps polls memory that another thread, perhaps of the host, will write. */
static void run_sleep(emu_wave *wave, const emu_inst *inst) {
  (void)wave;
  if (inst->imm) sched_yield();
}

static void run_sleep_var(emu_wave *wave, const emu_inst *inst) {
  if (emu_s32(wave, &inst->src[0])) sched_yield();
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Without operands, and with a destination and a source. */
#define FLOW(name, run, generations, class, flags) \
  EMU_ROW(name, run, generations, class, flags, EMU_NONE, EMU_NONE),
#define FLOW_WITH(name, run, class, to, from) EMU_ROW(name, run, EMU_ALL, class, 0, to, from),
#define BRANCH(name, run, flags) FLOW(name, run, EMU_ALL, EMU_CLASS_BRANCH, flags)
#define HINT(name, generations) FLOW(name, run_nothing, generations, EMU_CLASS_NOTHING, 0)
#define WAIT(name, generations) FLOW(name, run_nothing, generations, EMU_CLASS_WAIT, 0)

/* clang-format off */
const emu_op emu_flow_ops[] = {
  BRANCH("s_branch", run_branch, 0)
  BRANCH("s_cbranch_scc0", run_cbranch_scc0, 0)
  BRANCH("s_cbranch_scc1", run_cbranch_scc1, 0)
  BRANCH("s_cbranch_vccz", run_cbranch_vccz, EMU_READS_VCC)
  BRANCH("s_cbranch_vccnz", run_cbranch_vccnz, EMU_READS_VCC)
  BRANCH("s_cbranch_execz", run_cbranch_execz, 0)
  BRANCH("s_cbranch_execnz", run_cbranch_execnz, 0)
  /* Debuggers set these conditions; there is none. */
  BRANCH("s_cbranch_cdbgsys", run_nothing, 0)
  BRANCH("s_cbranch_cdbguser", run_nothing, 0)
  BRANCH("s_cbranch_cdbgsys_or_user", run_nothing, 0)
  BRANCH("s_cbranch_cdbgsys_and_user", run_nothing, 0)
  FLOW_WITH("s_getpc_b64", run_getpc, EMU_CLASS_SALU, EMU_B64, EMU_NONE)
  FLOW_WITH("s_setpc_b64", run_setpc, EMU_CLASS_BRANCH, EMU_NONE, EMU_B64)
  FLOW_WITH("s_swappc_b64", run_swappc, EMU_CLASS_BRANCH, EMU_B64, EMU_B64)
  FLOW_WITH("s_call_b64", run_call, EMU_CLASS_BRANCH, EMU_B64, EMU_NONE)

  FLOW("s_endpgm", run_endpgm, EMU_ALL, EMU_CLASS_BRANCH, 0)
  FLOW("s_endpgm_saved", run_endpgm, EMU_ALL, EMU_CLASS_BRANCH, 0)
  FLOW("s_endpgm_ordered_ps_done", run_endpgm, EMU_ALL, EMU_CLASS_BRANCH, 0)
  FLOW("s_barrier", run_barrier, EMU_ALL, EMU_CLASS_BARRIER, 0)
  FLOW("s_sendmsg", run_sendmsg, EMU_ALL, EMU_CLASS_MESSAGE, EMU_READS_M0)
  EMU_ROW("s_sendmsg_rtn_b32", run_sendmsg_rtn, EMU_GFX11_ON, EMU_CLASS_SMEM, 0, EMU_B32, EMU_NONE),
  EMU_ROW("s_sendmsg_rtn_b64", run_sendmsg_rtn, EMU_GFX11_ON, EMU_CLASS_SMEM, 0, EMU_B64, EMU_NONE),
  FLOW("s_trap", run_trap, EMU_ALL, EMU_CLASS_MESSAGE, 0)
  FLOW("s_sethalt", run_sethalt, EMU_ALL, EMU_CLASS_MESSAGE, 0)
  FLOW("s_code_end", run_code_end, EMU_GFX10_ON, EMU_CLASS_NOTHING, 0)

  EMU_ROW("s_barrier_signal", run_barrier_signal, EMU_GFX12, EMU_CLASS_NOTHING, 0, EMU_NONE, EMU_B32),
  EMU_ROW("s_barrier_signal_isfirst", run_barrier_signal_isfirst, EMU_GFX12, EMU_CLASS_NOTHING, 0,
          EMU_NONE, EMU_B32),
  FLOW("s_barrier_wait", run_barrier_wait, EMU_GFX12, EMU_CLASS_BARRIER, 0)

  WAIT("s_waitcnt", EMU_ALL)
  WAIT("s_wait_loadcnt", EMU_GFX12)
  WAIT("s_wait_storecnt", EMU_GFX12)
  WAIT("s_wait_samplecnt", EMU_GFX12)
  WAIT("s_wait_bvhcnt", EMU_GFX12)
  WAIT("s_wait_expcnt", EMU_GFX12)
  WAIT("s_wait_dscnt", EMU_GFX12)
  WAIT("s_wait_kmcnt", EMU_GFX12)
  WAIT("s_wait_loadcnt_dscnt", EMU_GFX12)
  WAIT("s_wait_storecnt_dscnt", EMU_GFX12)
  WAIT("s_wait_alu", EMU_GFX12)
  WAIT("s_waitcnt_vscnt", EMU_GFX10_ON)
  WAIT("s_waitcnt_vmcnt", EMU_GFX10_ON)
  WAIT("s_waitcnt_expcnt", EMU_GFX10_ON)
  WAIT("s_waitcnt_lgkmcnt", EMU_GFX10_ON)
  WAIT("s_waitcnt_depctr", EMU_GFX10_ON)
  WAIT("s_wait_idle", EMU_GFX10_ON)
  HINT("s_wait_event", EMU_GFX11_ON)
  HINT("s_delay_alu", EMU_GFX11_ON)
  FLOW("s_sleep", run_sleep, EMU_ALL, EMU_CLASS_NOTHING, 0)
  HINT("s_nop", EMU_ALL)
  HINT("s_setprio", EMU_ALL)
  EMU_ROW("s_sleep_var", run_sleep_var, EMU_GFX12, EMU_CLASS_NOTHING, 0, EMU_NONE, EMU_B32),
  HINT("s_wakeup", EMU_ALL)
  HINT("s_incperflevel", EMU_ALL)
  HINT("s_decperflevel", EMU_ALL)
  HINT("s_ttracedata", EMU_ALL)
  HINT("s_ttracedata_imm", EMU_GFX10_ON)
  HINT("s_inst_prefetch", EMU_GFX10_ON)
  HINT("s_clause", EMU_GFX10_ON)
  HINT("s_version", EMU_GFX10_ON)
  FLOW("s_icache_inv", run_nothing, EMU_ALL, EMU_CLASS_CACHE, 0)
  {.name = NULL},
};
