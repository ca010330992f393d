/* The copy engine: packets of SDMA queues, as ROCRs write them for gfx9 to gfx12.
 *
 * Both pointers count bytes and never wrap; the end of the ring is padded with zeros, each a packet
 * of one dword that does nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emulator/report/watch.h"
#include "emulator/thunk/queue.h"

enum { ATOMIC_ADD64 = 47, POLL_EQUAL = 3, COPY_COUNT_MASK = 0x3fffffff };

/* Processes the packet; false when it is not done. */
typedef bool sdma_handler(emu_queue *queue, const uint32_t *dwords);

static uint64_t address_of(const uint32_t *dwords) {
  return dwords[0] | (uint64_t)dwords[1] << 32;
}

static bool do_nothing(emu_queue *queue, const uint32_t *dwords) {
  (void)queue, (void)dwords;
  return true;
}

static bool copy_bytes(emu_queue *queue, uint64_t to, uint64_t from, uint64_t nbytes) {
  if (!emu_queue_reaches(queue, from, nbytes, EMU_PAGE_READ)) return false;
  if (!emu_queue_reaches(queue, to, nbytes, EMU_PAGE_WRITE)) return false;
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, nbytes);
  emu_watch_copied(to, nbytes);
  return true;
}

static bool copy_linear(emu_queue *queue, const uint32_t *dwords) {
  uint64_t nbytes = (uint64_t)(dwords[1] & COPY_COUNT_MASK) + 1;
  return copy_bytes(queue, address_of(dwords + 5), address_of(dwords + 3), nbytes);
}

/* One side of a rectangular copy; lengths in elements. */
typedef struct sdma_box {
  uint64_t base, x, y, z, pitch, slice;
} sdma_box;

/* Where a packet has them: gfx12's fields are wider. */
typedef struct rect_fields {
  uint32_t xy, z, slice; /* masks; y's field is in the upper half */
  unsigned pitch;        /* first bit */
} rect_fields;

static rect_fields fields_of(const emu_queue *queue) {
  if (queue->node->chip->generation == EMU_GFX12) {
    return (rect_fields){.xy = 0xffff, .z = 0x3fff, .slice = UINT32_MAX, .pitch = 16};
  }
  return (rect_fields){.xy = 0x3fff, .z = 0x7ff, .slice = 0xfffffff, .pitch = 13};
}

static sdma_box read_box(const rect_fields *fields, const uint32_t *dwords) {
  return (sdma_box){
      .base = address_of(dwords),
      .x = dwords[2] & fields->xy,
      .y = dwords[2] >> 16 & fields->xy,
      .z = dwords[3] & fields->z,
      .pitch = (uint64_t)(dwords[3] >> fields->pitch) + 1,
      .slice = (uint64_t)(dwords[4] & fields->slice) + 1,
  };
}

static uint64_t row_of(const sdma_box *box, uint64_t y, uint64_t z, unsigned shift) {
  return box->base + ((box->x + (box->y + y) * box->pitch + (box->z + z) * box->slice) << shift);
}

static bool copy_rect(emu_queue *queue, const uint32_t *dwords) {
  unsigned shift = dwords[0] >> 29;
  const rect_fields fields = fields_of(queue);
  sdma_box from = read_box(&fields, dwords + 1), to = read_box(&fields, dwords + 6);
  uint64_t width = (dwords[11] & fields.xy) + 1, height = (dwords[11] >> 16 & fields.xy) + 1;
  uint64_t depth = (dwords[12] & fields.z) + 1;
  for (uint64_t z = 0; z < depth; z++) {
    for (uint64_t y = 0; y < height; y++) {
      if (!copy_bytes(queue, row_of(&to, y, z, shift), row_of(&from, y, z, shift),
                      width << shift)) {
        return false;
      }
    }
  }
  return true;
}

static bool store_fence(emu_queue *queue, const uint32_t *dwords) {
  uint64_t address = address_of(dwords + 1);
  if (!emu_queue_reaches(queue, address, 4, EMU_PAGE_WRITE)) return false;
  emu_store32((void *)(uintptr_t)address, dwords[3]);
  return true;
}

static bool raise_trap(emu_queue *queue, const uint32_t *dwords) {
  (void)queue;
  emu_event_raise_id(dwords[1] & 0xfffffff);
  return true;
}

/* Ends the queue's work at a packet; false. */
static bool stop(emu_queue *queue, const uint32_t *dwords, const char *problem) {
  char text[160];
  snprintf(text, sizeof text, "the copy engine %s the packet 0x%08" PRIx32, problem, dwords[0]);
  emu_fault_remember(text);
  fprintf(stderr, "roclua's emulator: %s\n", text); /* ROCR takes no errors of this kind of queue */
  atomic_store(&queue->halt, true);
  return false;
}

static bool refuse(emu_queue *queue, const uint32_t *dwords) {
  return stop(queue, dwords, "does not know");
}

/* Waits until a masked word has the value, or (HDP flush) does nothing. */
static bool poll_memory(emu_queue *queue, const uint32_t *dwords) {
  if (!(dwords[0] >> 31)) return true;
  if ((dwords[0] >> 28 & 7) != POLL_EQUAL) return refuse(queue, dwords);
  uint64_t address = address_of(dwords + 1);
  if (!emu_queue_reaches(queue, address, 4, EMU_PAGE_READ)) return false;
  for (unsigned looks = 0; (emu_load32((void *)(uintptr_t)address) & dwords[4]) != dwords[3];) {
    if (!emu_queue_pause(queue, &looks)) return false;
  }
  return true;
}

static bool add_atomically(emu_queue *queue, const uint32_t *dwords) {
  if ((dwords[0] >> 25 & 0x7f) != ATOMIC_ADD64) return refuse(queue, dwords);
  uint64_t address = address_of(dwords + 1);
  if (!emu_queue_reaches(queue, address, 8, EMU_PAGE_WRITE)) return false;
  if (emu_fails(ROC_EMULATOR_LOST_COPY)) return true;
  emu_add64((void *)(uintptr_t)address, address_of(dwords + 3));
  return true;
}

static bool store_timestamp(emu_queue *queue, const uint32_t *dwords) {
  uint64_t address = address_of(dwords + 1);
  if (!emu_queue_reaches(queue, address, 8, EMU_PAGE_WRITE)) return false;
  emu_store64((void *)(uintptr_t)address, emu_clock_ticks());
  return true;
}

/* Operation and suboperation: the two low bytes of the first dword. */
static const struct {
  uint8_t op, subop, ndwords;
  sdma_handler *handle;
} packets[] = {
    {0, 0, 1, do_nothing},      {1, 0, 7, copy_linear},      {1, 4, 13, copy_rect},
    {5, 0, 4, store_fence},     {6, 0, 2, raise_trap},       {8, 0, 6, poll_memory},
    {10, 0, 8, add_atomically}, {13, 2, 3, store_timestamp}, {17, 1, 5, do_nothing},
};

static bool is_sdma_pending(const emu_queue *queue) {
  return emu_load64(queue->read_ptr) != emu_load64(queue->write_ptr);
}

/* Bytes in a row that the ring has of what was written. */
static uint64_t count_readable(const emu_queue *queue, uint64_t read) {
  uint64_t in_ring = queue->ring_bytes - (read & (queue->ring_bytes - 1));
  uint64_t written = emu_load64(queue->write_ptr) - read;
  return written < in_ring ? written : in_ring;
}

static void step_sdma(emu_queue *queue) {
  uint64_t read = emu_load64(queue->read_ptr);
  const uint32_t *dwords = (const uint32_t *)(queue->ring + (read & (queue->ring_bytes - 1)));
  uint32_t first = dwords[0];
  for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
    if (packets[i].op != (first & 0xff) || packets[i].subop != (first >> 8 & 0xff)) continue;
    uint32_t nbytes = 4u * packets[i].ndwords;
    if (nbytes > count_readable(queue, read)) {
      stop(queue, dwords, "does not have the end of");
    } else if (packets[i].handle(queue, dwords)) {
      emu_store64(queue->read_ptr, read + nbytes);
    }
    return;
  }
  refuse(queue, dwords);
}

const emu_queue_kind emu_sdma_kind = {is_sdma_pending, step_sdma};
