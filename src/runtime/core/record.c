/* Fault records and print buffers of launches, and rooms for what the host reads: device-visible
 * memory that a device keeps for the next ones.  Under the runtime's lock. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/core/internal.h"

enum { RECORDS_PER_BLOCK = 64, RECORD_BYTES = ROC_RT_ROOM_BYTES };

/* Device-visible memory; the list itself lives on the heap, where no kernel writes. */
struct roc_rt_record_block {
  roc_rt_record_block *next;
  void *memory;
};

struct roc_rt_print_slot {
  roc_rt_print_slot *next;
  roc_print_buffer *buffer;
};

static roc_status add_record_block(roc_rt_device *device, roc_error *err) {
  roc_device *driver = device->driver;
  roc_rt_record_block *block = roc_alloc(sizeof *block);
  if (!block) return roc_fail(err, ROC_OOM, "out of memory: no room for fault records");
  size_t nbytes = (size_t)RECORDS_PER_BLOCK * RECORD_BYTES;
  roc_status status = driver->ops->alloc_host(driver, nbytes, &block->memory, err);
  if (status != ROC_OK) {
    roc_free(block);
    return status;
  }
  memset(block->memory, 0, nbytes);
  block->next = device->record_blocks;
  device->record_blocks = block;
  for (uint32_t i = 0; i < RECORDS_PER_BLOCK; i++) {
    void *record = (char *)block->memory + (size_t)i * RECORD_BYTES;
    memcpy(record, &device->free_records, sizeof(void *));
    device->free_records = record;
  }
  return ROC_OK;
}

static roc_status take_record(roc_rt_device *device, roc_fault_record **out_record,
                              roc_error *err) {
  if (!device->free_records) ROC_TRY(add_record_block(device, err));
  roc_fault_record *record = device->free_records;
  memcpy(&device->free_records, record, sizeof(void *));
  *record = (roc_fault_record){0};
  *out_record = record;
  return ROC_OK;
}

static void give_back_record(roc_rt_device *device, roc_fault_record *record) {
  if (record->state || record->count) memset(record, 0, sizeof *record);
  memcpy(record, &device->free_records, sizeof(void *));
  device->free_records = record;
}

roc_status roc_rt_room_take(roc_rt_device *device, void **out_room, roc_error *err) {
  roc_fault_record *record;
  ROC_TRY(take_record(device, &record, err));
  *out_room = record;
  return ROC_OK;
}

void roc_rt_room_give_back(roc_rt_device *device, void *room) {
  memset(room, 0, RECORD_BYTES);
  give_back_record(device, room);
}

static roc_status take_print(roc_rt_device *device, roc_print_buffer **out_print, roc_error *err) {
  roc_rt_print_slot *slot = device->free_prints;
  if (slot) {
    device->free_prints = slot->next;
    *out_print = slot->buffer;
    roc_free(slot);
    return ROC_OK;
  }
  void *memory = NULL;
  size_t nbytes = sizeof(roc_print_buffer) + ROC_PRINT_CAPACITY;
  ROC_TRY(device->driver->ops->alloc_host(device->driver, nbytes, &memory, err));
  *out_print = memory;
  **out_print = (roc_print_buffer){.capacity = ROC_PRINT_CAPACITY};
  return ROC_OK;
}

static void give_back_print(roc_rt_device *device, roc_print_buffer *print) {
  roc_rt_print_slot *slot = roc_alloc(sizeof *slot);
  if (!slot) {
    device->driver->ops->free_host(device->driver, print);
    return;
  }
  print->used = print->lost = 0;
  *slot = (roc_rt_print_slot){device->free_prints, print};
  device->free_prints = slot;
}

roc_status roc_rt_records_take(roc_rt_device *device, const roc_codeobj *object,
                               roc_rt_pending *pending, roc_error *err) {
  if (object->has_fault) ROC_TRY(take_record(device, &pending->record, err));
  if (!object->has_print) return ROC_OK;
  roc_status status = take_print(device, &pending->print, err);
  if (status != ROC_OK) roc_rt_records_give_back(device, pending);
  return status;
}

void roc_rt_records_give_back(roc_rt_device *device, roc_rt_pending *pending) {
  if (pending->record) give_back_record(device, pending->record);
  if (pending->print) give_back_print(device, pending->print);
  pending->record = NULL;
  pending->print = NULL;
}

void roc_rt_records_deinit(roc_rt_device *device) {
  const roc_device_ops *ops = device->driver->ops;
  while (device->record_blocks) {
    roc_rt_record_block *block = device->record_blocks;
    device->record_blocks = block->next;
    ops->free_host(device->driver, block->memory);
    roc_free(block);
  }
  while (device->free_prints) {
    roc_rt_print_slot *slot = device->free_prints;
    device->free_prints = slot->next;
    ops->free_host(device->driver, slot->buffer);
    roc_free(slot);
  }
  device->free_records = NULL;
}
