/* What a compile target is like: a struct of facts for each family of targets.
 *
 * This is all that the layers above know of a target. A family fills its struct in a file of its
 * own (base/FAMILY_facts.c) and has a row in base/targets.def. Everything here is constant and may
 * be used by any thread. The facts of a name are looked up once for a specialisation of a kernel,
 * not at a launch. */
#ifndef ROC_BASE_TARGET_H
#define ROC_BASE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/codeobj.h"
#include "base/status.h"
#include "base/str.h"

struct roc_module;

/* The target of code that runs in this process. */
#define ROC_TARGET_HOST "cpu"

enum {
  /* No workgroup of a SIMT target has more work-items; proofs about the IR rely on it. */
  ROC_SIMT_MAX_WORKGROUP = 1024,
  ROC_TARGET_MAX_NUMBERS = 16
};

/* A number that a family reports of a kernel, or a limit of its occupancy. */
typedef struct roc_target_label {
  const char *name;  /* key of k:resources(), or value of its occupancy.limit */
  const char *title; /* for `rocluac --resources`; a number without one is not printed there */
} roc_target_label;

/* A number that cannot be told here. */
#define ROC_TARGET_UNKNOWN UINT64_MAX

/* What a kernel takes of a processor, and how many of its wavefronts that keeps. */
typedef struct roc_target_resources {
  uint64_t numbers[ROC_TARGET_MAX_NUMBERS]; /* in the order of facts->numbers */
  uint32_t workgroup;                       /* work-items; the occupancy is for that many */
  uint32_t waves, max_waves;
  unsigned limit; /* of facts->limits */
} roc_target_resources;

/* What decides the best workgroup of a kernel. */
typedef struct roc_target_footprint {
  const void *model; /* the processor: a struct of the family's */
  uint32_t vector_registers, scalar_registers;
  uint32_t shared_bytes; /* static; a launch adds its own */
  uint32_t items_per_thread;
} roc_target_footprint;

/* What programs of a family's vendor make of a code object's bytes. */
typedef struct roc_target_form {
  const char *name; /* also the ending of such a file's name */
  bool is_text;
  /* Added to `out`.  UNAVAILABLE: there is no such program; INVALID: it fails, with what it says. */
  roc_status (*make)(const char *target, const void *bytes, size_t nbytes, roc_str *out,
                     roc_error *err);
} roc_target_form;

typedef struct roc_target_facts {
  const char *family; /* the name in targets.def */

  /* Whether `name` is a target of this family. */
  bool (*accepts)(const char *name);
  /* Whether a device whose processor has the name `arch` runs code for `target`, another name of
   * the family, as far as names tell.  NULL: it does not. */
  bool (*serves)(const char *target, const char *arch);
  /* The names that lists show, in their order; NULL after the last. */
  const char *(*name_at)(unsigned index);
  const char *name_note; /* what a list of names leaves out */
  /* accepts() takes names that only LLVM knows to be right or wrong. */
  bool has_open_names;

  /* A work-item is a lane of a wavefront. A branch that only some lanes take is expensive, so loops
   * are versioned; a launch has less than 2^32 work-items in each dimension and at most
   * ROC_SIMT_MAX_WORKGROUP in a workgroup, so bounds checks are eliminated and group ids narrowed
   * with that. */
  bool is_simt;
  /* A check in a loop costs several instructions, for the masks of lanes; so checks that can wait
   * until the loop has ended do. */
  bool defers_checks;
  /* So does each of several in straight code, and a condition that all lanes share does not: checks
   * are combined. */
  bool combines_checks;
  /* Memory instructions add a constant to an offset, which LLVM does not find for indices that its
   * own unrolling makes: short loops are unrolled before (ir/unroll.h). */
  bool unrolls_loops;
  /* The size of a workgroup is read from memory; so code is made for the one that a kernel
   * promises, where a launch has it. */
  bool reads_workgroup_size;
  /* A workgroup is loops over its work-items.  Where these meet at barriers the loops are many and
   * short; so code is made for the workgroup that a launch has. */
  bool loops_over_items;
  /* The wavefront of code that is compiled without a launch, where the wavefront is an option of
   * the compile; 0: each name has its own. */
  uint32_t default_wavefront;

  /* A code object is an image that a runtime loads; false: an object file for a linker. */
  bool is_image;
  const char *object_ending; /* of such a file's name: ".o" */
  /* The compiler loads the code object, so it is opened even if the code object was cached. */
  bool is_loaded_by_compiler;
  /* Directives of assembly text, besides LLVM's common ones, that end a section; NULL-terminated,
   * may be NULL. */
  const char *const *section_directives;
  const char *asm_comment;      /* what begins a comment there; NULL: ";" */
  const roc_target_form *forms; /* other forms of a code object */
  uint32_t nforms;

  /* What resources() reports. Without it there is nothing to report. */
  const roc_target_label *numbers;
  uint32_t nnumbers;
  const roc_target_label *limits;
  uint32_t nlimits;
  const char *occupancy_title; /* of waves and max_waves */
  /* `workgroup`: work-items, 0 for as many as roclua would choose. INVALID: the kernel takes no
   * workgroup that large, or the object is damaged. */
  roc_status (*resources)(const roc_codeobj *object, uint32_t workgroup, roc_target_resources *out,
                          roc_error *err);

  /* False: the object does not tell. May be NULL, as pick_workgroup then is. */
  bool (*read_footprint)(const roc_codeobj *object, roc_target_footprint *out);
  /* Reads a module's bytes (base/module.h).  NULL: the family's devices take none. */
  roc_status (*read_module)(struct roc_module *module, roc_error *err);
  /* Work-items of a workgroup in one dimension, at most `most`, that keep the processor busiest. */
  uint32_t (*pick_workgroup)(const roc_target_footprint *footprint, uint32_t most);
} roc_target_facts;

#define ROC_TARGET(family, llvm) extern const roc_target_facts roc_target_facts_##family;
#include "base/targets.def"
#undef ROC_TARGET

/* The families in the order of the table; NULL after the last. */
const roc_target_facts *roc_target_facts_at(unsigned index);

/* The family of a target's name; NULL when there is none. */
const roc_target_facts *roc_target_facts_of(const char *name);

/* A code object's bytes for the target in another form of its family, added to `out`, as make of
 * that form.  INVALID, too: the family has no such form; the error names those that it has. */
roc_status roc_target_convert(const char *target, const char *form, const void *bytes,
                              size_t nbytes, roc_str *out, roc_error *err);

#endif
