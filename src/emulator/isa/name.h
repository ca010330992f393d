/* Names and source lines for addresses of code: of the kernel a fault stopped in.
 *
 * ROCR publishes what it has loaded as a debugger's link map, whose names are URIs of the code
 * objects ("memory://pid#offset=…&size=…", "file://…"). Both may be gone, or change while they are
 * read: they are read in such a way that at worst there is no answer, and kept from then on as long
 * as ROCR lists the object. Any thread. */
#ifndef ROC_EMULATOR_ISA_NAME_H
#define ROC_EMULATOR_ISA_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The link map's head, a struct r_debug of <link.h>; NULL: there is none any more. */
void emu_name_set_debug(const void *debug);

/* The name of the function that holds `address`, at most size - 1 characters. */
bool emu_name_find(uint64_t address, char *out, size_t size);

/* File and line (from 1) that the instruction at `address` was compiled from. */
bool emu_name_line(uint64_t address, char *file, size_t size, uint32_t *line);

/* Calls `visit` for each range of addresses within [begin, end) that was compiled from one line, in
 * the order of the line table; never without debug information. `visit` calls nothing of this file.
 */
void emu_name_lines(uint64_t begin, uint64_t end,
                    void (*visit)(void *ud, uint64_t begin, uint64_t end, uint32_t line), void *ud);

/* A row of the line table: what [begin, end) was compiled from.  The mark is DWARF's discriminator;
 * roclua's compiler gives 1 to atomic loads and stores, which are plain instructions. */
typedef struct emu_name_row {
  uint64_t begin, end;
  const char *file;
  uint32_t line, mark;
} emu_name_row;

/* Calls `visit` for each row that overlaps [begin, end), in the order of the table; the row lives
 * as long as the call. `visit` calls nothing of this file. */
void emu_name_rows(uint64_t begin, uint64_t end, void (*visit)(void *ud, const emu_name_row *row),
                   void *ud);

#endif
