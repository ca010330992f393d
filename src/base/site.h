/* Sites: the places of a kernel that can report something, and the memory they report through.
 *
 * A site is made by the front end, carried by IR and code object, and turned into text by the
 * runtime when a work-item has left a record.  The layouts of roc_fault_record and roc_print_buffer
 * are read and written by generated code on every device: offsets are ABI (asserted in site.c). */
#ifndef ROC_BASE_SITE_H
#define ROC_BASE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/str.h"

typedef enum roc_site_kind {
  ROC_SITE_INDEX,         /* values: index, extent. "index 1025 out of range 1..1024 of 'y'" (with "
                          (dimension 2)" for rank > 1) */
  ROC_SITE_DIVIDE,        /* no values. "attempt to divide by zero", as Lua */
  ROC_SITE_MODULO,        /* "attempt to perform 'n%0'" */
  ROC_SITE_NO_INTEGER,    /* value: the float. "number 1e+300 has no integer representation" */
  ROC_SITE_ASSERT,        /* text pieces and values: the message, default "assertion failed!" */
  ROC_SITE_ERROR,         /* text pieces and values: the message */
  ROC_SITE_DIVERGENT,     /* "barrier in divergent control flow" */
  ROC_SITE_PRINT,         /* text pieces and values */
  ROC_SITE_DIVERGENT_WAVE /* "wave operation in divergent control flow" */
} roc_site_kind;

/* One piece of a message: literal text, or the next recorded value formatted as Lua's tostring
 * does.  A text that holds bytes 0 is several pieces, with one of its own for each of them. */
typedef struct roc_site_piece {
  const char *text;    /* NULL: a value of `type`, or for NONE a byte 0 */
  roc_value_type type; /* float32 prints as the double it is */
} roc_site_piece;

enum { ROC_SITE_MAX_VALUES = 8 };

typedef struct roc_site {
  uint8_t kind;     /* roc_site_kind */
  uint8_t nvalues;  /* recorded values, at most ROC_SITE_MAX_VALUES */
  uint8_t dim;      /* INDEX: dimension from 1, 0 when the array has one */
  const char *file; /* chunk name as shown */
  uint32_t line, column;
  const char *name; /* INDEX: the array's name in the source */
  const roc_site_piece *pieces;
  uint32_t npieces;
} roc_site;

/* Lives in memory the kernel can write.  Zeroed before a launch.  Every failing item adds 1 to
 * `count` and stores 1 to `state`; the one that found `count` at 0 fills the rest.  Over a link
 * that loses atomic operations the plain store still tells that something failed.  Values are raw
 * bits: integers and doubles in 64 bits, float32 widened to double, booleans 0 or 1. */
typedef struct roc_fault_record {
  uint32_t state;                       /*  0: 1 when an item failed */
  uint32_t count;                       /*  4: failing work-items */
  uint32_t site;                        /*  8: index into the code object's sites */
  uint32_t reserved;                    /* 12 */
  uint64_t item[3];                     /* 16: global ids from 1 */
  uint64_t values[ROC_SITE_MAX_VALUES]; /* 40 */
} roc_fault_record;                     /* 104 bytes */

/* Records follow the header back to back, each: u32 site, u32 nvalues, u64 values[nvalues].  An
 * item reserves its bytes by adding to `used`; when the sum passes `capacity` it adds 1 to `lost`
 * instead and writes nothing. A reservation past the capacity stays counted in `used`, so readers
 * stop at the first record that does not fit whole below `capacity`. */
typedef struct roc_print_buffer {
  uint32_t used;        /* 0: bytes reserved */
  uint32_t capacity;    /* 4: bytes of data */
  uint32_t lost;        /* 8 */
  uint32_t reserved;    /* 12 */
  unsigned char data[]; /* 16 */
} roc_print_buffer;

enum { ROC_PRINT_CAPACITY = 1 << 20 };

/* The message of a fault: "saxpy.lua:7: index 1025 out of range 1..1024 of 'y' (work-item {1025},
 * and 3 more)". `rank` is the launch's.  A byte 0 is shown as "\\0". */
void roc_site_format_fault(const roc_site *sites, uint32_t nsites, const roc_fault_record *record,
                           uint32_t rank, roc_str *out);
/* The text of one print record (no newline). */
void roc_site_format_values(const roc_site *site, const uint64_t *values, roc_str *out);

#endif
