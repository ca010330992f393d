/* The functions that ROCR does not know: the text of the last fault, the statistics, the check of
 * the settings.
 *
 * The fault's text outlives the queue and the runtime that met it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "emulator/core/interrupt.h"
#include "emulator/include/emulator.h"
#include "emulator/report/check.h"
#include "emulator/report/tally.h"
#include "emulator/support/settings.h"
#include "emulator/thunk/thunk.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char fault_text[512];

void emu_fault_remember(const char *text) {
  pthread_mutex_lock(&lock);
  snprintf(fault_text, sizeof fault_text, "%s", text);
  pthread_mutex_unlock(&lock);
}

ROC_EMULATOR_API size_t roc_emulator_fault(char *out, size_t size) {
  pthread_mutex_lock(&lock);
  size_t length = strlen(fault_text);
  if (size > 0) snprintf(out, size, "%s", fault_text);
  pthread_mutex_unlock(&lock);
  return length;
}

ROC_EMULATOR_API void roc_emulator_clear_fault(void) {
  emu_fault_remember("");
}

ROC_EMULATOR_API void roc_emulator_interrupt(void) {
  emu_dispatch_interrupt();
}

ROC_EMULATOR_API bool roc_emulator_understands(char *why, size_t size) {
  roc_error err = ROC_ERROR_INIT;
  bool is_understood = emu_settings_check(&err) == ROC_OK;
  if (size > 0) snprintf(why, size, "%s", err.message);
  return is_understood;
}

ROC_EMULATOR_API bool roc_emulator_conclude(char *why, size_t size) {
  roc_error err = ROC_ERROR_INIT;
  bool is_written = emu_tally_conclude(&err) == ROC_OK;
  if (size > 0) snprintf(why, size, "%s", err.message);
  return is_written;
}

ROC_EMULATOR_API unsigned long long roc_emulator_findings(void) {
  return emu_check_findings();
}

ROC_EMULATOR_API unsigned long long roc_emulator_executed(void) {
  return emu_nodes_executed();
}

ROC_EMULATOR_API unsigned long long roc_emulator_live(void) {
  return emu_memory_live();
}

ROC_EMULATOR_API const char *roc_emulator_chip(unsigned index) {
  const emu_chip *chip = emu_chip_at(index);
  return chip ? chip->name : NULL;
}
