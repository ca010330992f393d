/* A decoded instruction: what the disassembler printed, resolved to registers, bits and a function.
 *
 * Made once per kernel (decode.c), then read by every wavefront: immutable after decoding. What an
 * instruction is and does is a row of a table in exec/ (salu.def, valu_*.def, …), found by the name
 * of AMD's ISA manuals without its encoding suffix ("v_add_f32" for v_add_f32_e64). Operands stand
 * in the order of the assembler: destinations, then sources. What the text leaves out but other
 * code must know (the VCC that v_div_fmas reads) is a flag in the tables. */
#ifndef ROC_EMULATOR_ISA_INST_H
#define ROC_EMULATOR_ISA_INST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emu_wave emu_wave;
typedef struct emu_inst emu_inst;
typedef struct emu_op emu_op;

/* Executes the instruction for all lanes of the wavefront whose EXEC bit is set. wave->next points
 * to the next instruction already; a branch sets it again. Errors: emu_stop (wave.h). */
typedef void emu_run(emu_wave *wave, const emu_inst *inst);

/* How wide an operand is, and how the bits of a constant are made: an inline constant such as 0.5
 * is a half, float or double as the operand is; a 32-bit literal of an F64 operand is its high half
 * and of an I64 operand is sign-extended, of U64 and B64 zero-extended. */
typedef enum emu_type {
  EMU_NONE,
  EMU_B16, /* low half of a register; integers */
  EMU_F16,
  EMU_B32, /* integers and plain bits */
  EMU_F32,
  EMU_B64, /* two registers */
  EMU_I64,
  EMU_F64,
  EMU_V2B16, /* packed halves, integers */
  EMU_V2F16,
  EMU_V2F32, /* packed floats: two registers */
  EMU_V2B32,
  EMU_B96,
  EMU_B128,
  EMU_MASK,    /* a bit per lane: two scalar registers, or one in wave32 */
  EMU_ADDRESS, /* of a memory instruction: one or two registers, or none ("off") */
  EMU_DATA     /* of a memory instruction: as many registers as the text names */
} emu_type;

/* Whether it is one half of a register, which op_sel chooses. */
static inline bool emu_is_half(uint8_t type) {
  return type == EMU_B16 || type == EMU_F16;
}

typedef enum emu_operand_kind {
  EMU_OPERAND_NONE,  /* absent, or "off" */
  EMU_OPERAND_VGPR,  /* reg: row of emu_wave.v; accumulation registers follow from 256 */
  EMU_OPERAND_SGPR,  /* reg: the hardware's number, see EMU_SGPR_* */
  EMU_OPERAND_CONST, /* value: the bits, as the operand's type has them */
  EMU_OPERAND_SCC,   /* these three are 0 or 1 */
  EMU_OPERAND_VCCZ,
  EMU_OPERAND_EXECZ
} emu_operand_kind;

/* Scalar register numbers after the general ones (0 … 105). */
enum {
  EMU_SGPR_FLAT_SCRATCH = 102, /* and 103; gfx9 */
  EMU_SGPR_XNACK_MASK = 104,   /* and 105; gfx9 */
  EMU_SGPR_VCC = 106,          /* and 107 */
  EMU_SGPR_TTMP = 108,         /* 16 of them */
  EMU_SGPR_M0 = 124,
  EMU_SGPR_NULL = 125, /* gfx10: reads 0, writes are lost */
  EMU_SGPR_EXEC = 126, /* and 127 */
  EMU_SGPRS = 128
};

/* Applied to a source in this order: SDWA selection, sign extension (integers), |x|, -x. */
enum { EMU_NEG = 1, EMU_ABS = 2, EMU_SEXT = 4 };

typedef enum emu_sel { /* SDWA: the part of a register that is read or written */
                       EMU_SEL_DWORD,
                       EMU_SEL_BYTE_0,
                       EMU_SEL_BYTE_1,
                       EMU_SEL_BYTE_2,
                       EMU_SEL_BYTE_3,
                       EMU_SEL_WORD_0,
                       EMU_SEL_WORD_1
} emu_sel;

typedef enum emu_dst_unused { EMU_UNUSED_PAD, EMU_UNUSED_SEXT, EMU_UNUSED_PRESERVE } emu_dst_unused;

typedef struct emu_operand {
  uint8_t kind;  /* emu_operand_kind */
  uint8_t mods;  /* EMU_NEG … */
  uint8_t sel;   /* emu_sel */
  uint8_t nregs; /* registers it spans, as the text has it; of a constant 1 or 2 */
  uint16_t reg;
  uint64_t value; /* CONST */
} emu_operand;

typedef enum emu_encoding {
  EMU_ENC_PLAIN, /* everything that is not VOP1, VOP2 or VOPC, and those in 32 bits */
  EMU_ENC_E64,
  EMU_ENC_SDWA,
  EMU_ENC_DPP,
  EMU_ENC_DPP8
} emu_encoding;

typedef enum emu_dpp_kind {
  EMU_DPP_QUAD_PERM, /* arg: four lane numbers, 2 bits each */
  EMU_DPP_ROW_SHL,   /* arg: 1 … 15 */
  EMU_DPP_ROW_SHR,
  EMU_DPP_ROW_ROR,
  EMU_DPP_WAVE_SHL, /* gfx9 from here … */
  EMU_DPP_WAVE_ROL,
  EMU_DPP_WAVE_SHR,
  EMU_DPP_WAVE_ROR,
  EMU_DPP_ROW_BCAST_15,
  EMU_DPP_ROW_BCAST_31, /* … to here */
  EMU_DPP_ROW_MIRROR,
  EMU_DPP_ROW_HALF_MIRROR,
  EMU_DPP_ROW_SHARE, /* gfx10; arg: lane of the row */
  EMU_DPP_ROW_XMASK, /* gfx10; arg: mask */
  EMU_DPP_DPP8       /* gfx10; arg: eight lane numbers, 3 bits each */
} emu_dpp_kind;

typedef struct emu_dpp {
  uint8_t kind;
  uint8_t row_mask, bank_mask;
  bool bound_ctrl; /* lanes without a source read 0; else they are not written */
  bool fi;         /* gfx10: inactive lanes may be read */
  uint32_t arg;
} emu_dpp;

/* Modifiers, which the text has after the operands. */
typedef struct emu_modifiers {
  bool clamp, glc, slc, dlc, offen, idxen, scc;
  uint8_t omod;                              /* 0 none, 1 times 2, 2 times 4, 3 divided by 2 */
  uint8_t op_sel, op_sel_hi, neg_lo, neg_hi; /* bit n: source n; bit 3 of op_sel: destination */
  uint8_t dst_sel, dst_unused;
  uint8_t cbsz, abid, blgp, index_key; /* of products of matrices */
  uint8_t truth_table;                 /* of v_bitop3 */
  int32_t offset;                      /* offset:, or offset0: */
  int32_t offset1;                     /* offset1: */
} emu_modifiers;

enum { EMU_MAX_DST = 2, EMU_MAX_SRC = 5 };

struct emu_inst {
  emu_run *run;
  const emu_op *op;
  emu_operand dst[EMU_MAX_DST], src[EMU_MAX_SRC];
  emu_modifiers mod;
  emu_dpp dpp;
  uint8_t encoding; /* emu_encoding */
  uint8_t size;     /* bytes */
  uint8_t chip;     /* emu_generation the text was decoded for */
  uint32_t offset;  /* bytes from the start of the program's code */
  uint32_t index;   /* of emu_program.insts */
  int32_t
      imm; /* SOPP/SOPK immediate: sleep time, message, counters of s_waitcnt packed as encoded … */
  uint32_t target; /* branches: index of the target instruction */
  uint32_t line;   /* of the Lua source, 0 unknown */
};

/* What an instruction counts as, for --stats and for the s_waitcnt check. */
typedef enum emu_class {
  EMU_CLASS_SALU,
  EMU_CLASS_SMEM,
  EMU_CLASS_VALU,
  EMU_CLASS_TRANS, /* v_rcp, v_exp, … */
  EMU_CLASS_CROSS, /* readlane, permlane, swizzles through LDS hardware */
  EMU_CLASS_LDS_LOAD,
  EMU_CLASS_LDS_STORE,
  EMU_CLASS_LDS_ATOMIC,
  EMU_CLASS_LOAD, /* global, flat, buffer, scratch */
  EMU_CLASS_STORE,
  EMU_CLASS_ATOMIC,
  EMU_CLASS_CACHE, /* invalidate, write back */
  EMU_CLASS_BRANCH,
  EMU_CLASS_WAIT,
  EMU_CLASS_BARRIER,
  EMU_CLASS_MESSAGE,
  EMU_CLASS_NOTHING, /* s_nop, hints, padding */
  EMU_CLASSES
} emu_class;

typedef enum emu_generation {
  EMU_GFX9 = 1,
  EMU_GFX10 = 2,
  EMU_GFX11 = 4,
  EMU_GFX12 = 8
} emu_generation;
enum { /* sets of them */
       EMU_GFX11_ON = EMU_GFX11 | EMU_GFX12,
       EMU_GFX10_ON = EMU_GFX10 | EMU_GFX11_ON,
       EMU_ALL = EMU_GFX9 | EMU_GFX10_ON,
       EMU_BEFORE_GFX11 = EMU_GFX9 | EMU_GFX10,
       EMU_BEFORE_GFX12 = EMU_BEFORE_GFX11 | EMU_GFX11
};

enum { /* emu_op.flags */
       EMU_READS_VCC = 1,
       EMU_READS_M0 = 2,
       EMU_WRITES_EXEC = 4,  /* v_cmpx, beside its destination or instead of one */
       EMU_OPTIONAL_DST = 8, /* an atomic returns the old value only with glc (or _rtn) */
       EMU_KEEPS_HIGH = 16,  /* 16-bit result: the high half of the register is kept on gfx9, too */
       EMU_CLAMPS = 32,      /* clamp holds a result that is no plain float in its range, too */
       EMU_SELECTS = 64,     /* op_sel has a meaning of the instruction's own */
       EMU_BROADCASTS_A = 128, /* a product of matrices has cbsz and abid, */
       EMU_BROADCASTS_B = 256, /* and blgp */
       EMU_SIGNS = 512,        /* neg_lo says which sources are signed */
       EMU_NEGATES = 1024,     /* neg_lo and neg_hi have an effect, though no source is packed */
       EMU_SELECTS_C = 2048,   /* the third bit of op_sel has a meaning of the instruction's own */
       EMU_SELECTS_DST = 4096  /* op_sel names a half of the destination, or by two bits a byte */
};

/* The end of the name of a buffer load that the assembler writes with the modifier lds. */
#define EMU_TO_LDS "_lds"

struct emu_op {
  const char *name;
  emu_run *run;
  uint8_t generations; /* EMU_GFX9 … */
  uint8_t class;       /* emu_class */
  uint16_t flags;
  uint8_t dst[EMU_MAX_DST], src[EMU_MAX_SRC]; /* emu_type; EMU_NONE after the last */
};

#endif
