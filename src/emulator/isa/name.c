/* The code objects in ROCR's link map, read with libelf and libdw.
 *
 * ROCR's list, its strings and the code objects are memory that may be freed at any time:
 * everything is copied with care (base/peek.h). A copy is believed only when its code is what lies in memory at the place it is said to be loaded
 * at. Copies are kept, the most recently used ones, for the time when the original is gone. One
 * lock, as libdw wants it. */
#include "emulator/isa/name.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/peek.h"

enum { MAX_OBJECTS = 64, MAX_LISTED = 1 << 16, MAX_URI = 4096 };
static const uint64_t max_object_bytes = 1ull << 30;

/* A code object: our copy of its file, and where it is loaded. */
typedef struct object {
  uint64_t base; /* added to the file's addresses */
  uint8_t *bytes;
  size_t size;
  Elf *elf;
  Dwarf *dwarf;        /* NULL: no debug information */
  struct object *next; /* used longer ago */
} object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void *debug_head;
static object *objects;

void emu_name_set_debug(const void *debug) {
  pthread_mutex_lock(&lock);
  debug_head = debug;
  pthread_mutex_unlock(&lock);
}

/* ---- careful reading ------------------------------------------------------------------------ */

static bool read_memory(uint64_t address, void *out, size_t nbytes) {
  return roc_peek((const void *)(uintptr_t)address, out, nbytes);
}

/* A string of the size's characters at most, the last of them 0. */
static bool read_string(uint64_t address, char *out, size_t size) {
  for (size_t n = 0; n < size; n++) {
    if (!read_memory(address + n, out + n, 1)) return false;
    if (!out[n]) return true;
  }
  return false;
}

static bool read_file(const char *path, uint64_t offset, void *out, size_t nbytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool is_read = pread(fd, out, nbytes, (off_t)offset) == (ssize_t)nbytes;
  close(fd);
  return is_read;
}

/* ---- URIs ----------------------------------------------------------------------------------- */

/* The number after `key` in the part of the URI after '#'; `otherwise` when there is none. */
static uint64_t uri_number(const char *uri, const char *key, uint64_t otherwise) {
  const char *at = strchr(uri, '#');
  at = at ? strstr(at, key) : NULL;
  return at ? strtoull(at + strlen(key), NULL, 0) : otherwise;
}

/* Percent signs and two digits become characters; ends at '#'. */
static void decode_path(const char *from, char *out) {
  for (; *from && *from != '#'; from++) {
    char digits[3] = {0};
    if (*from == '%' && from[1] && from[2]) {
      memcpy(digits, from + 1, 2);
      *out++ = (char)strtoul(digits, NULL, 16);
      from += 2;
    } else {
      *out++ = *from;
    }
  }
  *out = 0;
}

/* The bytes that a URI names; false when they cannot be read. */
static bool read_uri(const char *uri, uint8_t **bytes, size_t *size) {
  uint64_t offset = uri_number(uri, "offset=", 0), nbytes = uri_number(uri, "size=", 0);
  bool is_memory = strncmp(uri, "memory://", 9) == 0;
  if ((!is_memory && strncmp(uri, "file://", 7) != 0) || !nbytes || nbytes > max_object_bytes) {
    return false;
  }
  char path[MAX_URI];
  uint8_t *copy = roc_alloc(nbytes);
  if (!copy) return false;
  if (!is_memory) decode_path(uri + 7, path);
  if (is_memory ? read_memory(offset, copy, nbytes) : read_file(path, offset, copy, nbytes)) {
    *bytes = copy;
    *size = nbytes;
    return true;
  }
  roc_free(copy);
  return false;
}

/* ---- objects -------------------------------------------------------------------------------- */

static void free_object(object *o) {
  if (!o) return;
  if (o->dwarf) dwarf_end(o->dwarf);
  if (o->elf) elf_end(o->elf);
  roc_free(o->bytes);
  roc_free(o);
}

/* Whether [vaddr, +nbytes) of the loaded object is equal to `file`. */
static bool is_in_memory(uint64_t address, const uint8_t *file, size_t nbytes) {
  uint8_t piece[4096];
  for (size_t done = 0; done < nbytes;) {
    size_t n = nbytes - done < sizeof piece ? nbytes - done : sizeof piece;
    if (!read_memory(address + done, piece, n) || memcmp(piece, file + done, n) != 0) return false;
    done += n;
  }
  return true;
}

/* Whether `address` lies in the object, and its code is what is loaded. */
static bool holds(const object *o, uint64_t address) {
  size_t count;
  bool is_inside = false;
  if (elf_getphdrnum(o->elf, &count) != 0) return false;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(o->elf, (int)i, &segment) || segment.p_type != PT_LOAD) continue;
    is_inside |= address - o->base - segment.p_vaddr < segment.p_memsz;
    if (!(segment.p_flags & PF_X)) continue;
    if (segment.p_offset > o->size || segment.p_filesz > o->size - segment.p_offset) return false;
    if (!is_in_memory(o->base + segment.p_vaddr, o->bytes + segment.p_offset, segment.p_filesz)) {
      return false;
    }
  }
  return is_inside;
}

/* Takes the bytes. */
static object *make_object(uint64_t base, uint8_t *bytes, size_t size) {
  object *o = roc_zalloc(sizeof *o);
  if (!o) {
    roc_free(bytes);
    return NULL;
  }
  elf_version(EV_CURRENT);
  *o = (object){.base = base, .bytes = bytes, .size = size};
  o->elf = elf_memory((char *)bytes, size);
  if (o->elf && elf_kind(o->elf) == ELF_K_ELF) {
    o->dwarf = dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
    return o;
  }
  free_object(o);
  return NULL;
}

static void drop_oldest(void) {
  object **link = &objects;
  for (unsigned n = 0; *link && n < MAX_OBJECTS; n++) link = &(*link)->next;
  while (*link) {
    object *gone = *link;
    *link = gone->next;
    free_object(gone);
  }
}

static void push_object(object *o) {
  o->next = objects;
  objects = o;
  drop_oldest();
}

/* Unlinks the object of that base. */
static object *pull_object(uint64_t base) {
  for (object **link = &objects; *link; link = &(*link)->next) {
    object *o = *link;
    if (o->base != base) continue;
    *link = o->next;
    return o;
  }
  return NULL;
}

/* The entry of ROCR's list that is loaded last before `address`. */
static bool find_listed(uint64_t address, struct link_map *out) {
  struct r_debug head;
  struct link_map node;
  bool is_found = false;
  if (!debug_head || !read_memory((uintptr_t)debug_head, &head, sizeof head)) return false;
  uint64_t at = (uintptr_t)head.r_map;
  for (unsigned n = 0; at && n < MAX_LISTED; n++, at = (uintptr_t)node.l_next) {
    if (!read_memory(at, &node, offsetof(struct link_map, l_prev))) return is_found;
    if (node.l_addr > address || (is_found && node.l_addr <= out->l_addr)) continue;
    *out = node;
    is_found = true;
  }
  return is_found;
}

static object *read_object(const struct link_map *listed) {
  char uri[MAX_URI];
  uint8_t *bytes;
  size_t size;
  if (!read_string((uintptr_t)listed->l_name, uri, sizeof uri)) return NULL;
  return read_uri(uri, &bytes, &size) ? make_object(listed->l_addr, bytes, size) : NULL;
}

/* The object that holds `address`; NULL when none is known.  Lock held. */
static object *find_object(uint64_t address) {
  struct link_map listed;
  if (!find_listed(address, &listed)) return NULL;
  object *kept = pull_object(listed.l_addr), *fresh = read_object(&listed);
  bool is_same = kept && fresh && kept->size == fresh->size &&
                 memcmp(kept->bytes, fresh->bytes, kept->size) == 0;
  object *best = is_same || !fresh || !holds(fresh, address) ? kept : fresh;
  free_object(best == kept ? fresh : kept);
  if (!best) return NULL;
  if (!holds(best, address)) {
    free_object(best);
    return NULL;
  }
  push_object(best);
  return best;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static bool find_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t vaddr,
                        char *out, size_t size) {
  Elf_Data *data = elf_getdata(section, NULL);
  size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
  for (size_t i = 0; data && i < count; i++) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    uint64_t extent = symbol.st_size ? symbol.st_size : 1;
    if (vaddr - symbol.st_value >= extent) continue;
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    if (!name || !*name) continue;
    snprintf(out, size, "%s", name);
    return true;
  }
  return false;
}

static bool find_name(const object *o, uint64_t address, char *out, size_t size) {
  Elf_Scn *section = NULL;
  GElf_Shdr header;
  while ((section = elf_nextscn(o->elf, section))) {
    if (!gelf_getshdr(section, &header)) continue;
    if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) continue;
    if (find_symbol(o->elf, section, &header, address - o->base, out, size)) return true;
  }
  return false;
}

bool emu_name_find(uint64_t address, char *out, size_t size) {
  pthread_mutex_lock(&lock);
  object *o = find_object(address);
  bool is_found = o && find_name(o, address, out, size);
  pthread_mutex_unlock(&lock);
  return is_found;
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef emu_name_row line_row; /* with loaded addresses */

/* libdw appends a relative name to the unit's folder, which roclua leaves empty: "/x.lua" is x.lua,
 * unless there is such a file. */
static const char *plain_name(Dwarf_Die *unit, const char *name) {
  Dwarf_Files *files;
  size_t count;
  const char *const *folders;
  if (!name || name[0] != '/' || dwarf_getsrcfiles(unit, &files, &count) != 0) return name;
  if (dwarf_getsrcdirs(files, &folders, &count) != 0 || !count) return name;
  bool is_joined = (!folders[0] || !*folders[0]) && access(name, F_OK) != 0;
  return is_joined ? name + 1 : name;
}

/* The rows of one unit, upward.  Code that the compiler gave no line has that of the row before. */
static bool visit_unit(const object *o, Dwarf_Die *unit,
                       bool (*visit)(void *ud, const line_row *row), void *ud) {
  Dwarf_Lines *lines;
  size_t count;
  line_row row = {0};
  if (dwarf_getsrclines(unit, &lines, &count) != 0) return true;
  for (size_t i = 0; i + 1 < count; i++) {
    Dwarf_Line *this = dwarf_onesrcline(lines, i), *next = dwarf_onesrcline(lines, i + 1);
    Dwarf_Addr begin, end;
    bool ends;
    int number;
    if (dwarf_lineaddr(this, &begin) || dwarf_lineaddr(next, &end)) continue;
    if (dwarf_lineendsequence(this, &ends) || dwarf_lineno(this, &number)) continue;
    if (ends) row.line = 0;
    if (!ends && number > 0) {
      row.line = (uint32_t)number;
      row.file = plain_name(unit, dwarf_linesrc(this, NULL, NULL));
    }
    row.mark = 0;
    if (number > 0) dwarf_linediscriminator(this, &row.mark);
    row.begin = begin + o->base;
    row.end = end + o->base;
    if (!ends && row.line && row.file && begin < end && !visit(ud, &row)) return false;
  }
  return true;
}

static void visit_rows(const object *o, bool (*visit)(void *ud, const line_row *row), void *ud) {
  Dwarf_Off offset = 0, next;
  size_t header_size;
  while (o->dwarf && dwarf_nextcu(o->dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0) {
    Dwarf_Die unit;
    if (dwarf_offdie(o->dwarf, offset + header_size, &unit) && !visit_unit(o, &unit, visit, ud)) {
      return;
    }
    offset = next;
  }
}

typedef struct line_query {
  uint64_t address;
  char *file;
  size_t size;
  uint32_t line;
} line_query;

static bool match_row(void *ud, const line_row *row) {
  line_query *query = ud;
  if (query->address < row->begin || query->address >= row->end) return true;
  snprintf(query->file, query->size, "%s", row->file);
  query->line = row->line;
  return false;
}

bool emu_name_line(uint64_t address, char *file, size_t size, uint32_t *line) {
  line_query query = {.address = address, .file = file, .size = size};
  pthread_mutex_lock(&lock);
  object *o = find_object(address);
  if (o) visit_rows(o, match_row, &query);
  pthread_mutex_unlock(&lock);
  *line = query.line;
  return query.line != 0;
}

typedef struct range_query {
  uint64_t begin, end;
  void (*visit)(void *ud, uint64_t begin, uint64_t end, uint32_t line);
  void *ud;
} range_query;

static bool report_row(void *ud, const line_row *row) {
  range_query *query = ud;
  if (row->end <= query->begin || row->begin >= query->end) return true;
  query->visit(query->ud, row->begin > query->begin ? row->begin : query->begin,
               row->end < query->end ? row->end : query->end, row->line);
  return true;
}

void emu_name_lines(uint64_t begin, uint64_t end,
                    void (*visit)(void *ud, uint64_t begin, uint64_t end, uint32_t line),
                    void *ud) {
  range_query query = {begin, end, visit, ud};
  pthread_mutex_lock(&lock);
  object *o = find_object(begin);
  if (o) visit_rows(o, report_row, &query);
  pthread_mutex_unlock(&lock);
}

typedef struct row_query {
  uint64_t begin, end;
  void (*visit)(void *ud, const emu_name_row *row);
  void *ud;
} row_query;

static bool hand_row(void *ud, const line_row *row) {
  const row_query *query = ud;
  if (row->end > query->begin && row->begin < query->end) query->visit(query->ud, row);
  return true;
}

void emu_name_rows(uint64_t begin, uint64_t end, void (*visit)(void *ud, const emu_name_row *row),
                   void *ud) {
  row_query query = {begin, end, visit, ud};
  pthread_mutex_lock(&lock);
  object *o = find_object(begin);
  if (o) visit_rows(o, hand_row, &query);
  pthread_mutex_unlock(&lock);
}
