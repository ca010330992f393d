/* See layout.h. */
#include "emulator/thunk/layout.h"

#include <dlfcn.h>
#include <hsakmt.h>
#include <stddef.h>
#include <string.h>

enum { WORD_BYTES = 4 };

/* ROCm 7.0; longer caches came later, and nothing exported tells of them. */
static const char seven[] = "hsa_amd_memory_get_preferred_copy_engine";

/* A word before the field at `offset`, which a ROCR has that exports the function. In the order of
 * the offsets. */
static const struct {
  emu_layout layout;
  size_t offset;
  const char *function;
} words[] = {
    {EMU_LAYOUT_NODE, offsetof(HsaNodeProperties, NumMemoryBanks),
     "hsa_amd_signal_wait_all" /* ROCm 6.4: NumNeuralCores */},
    {EMU_LAYOUT_NODE, offsetof(HsaNodeProperties, MaxWavesPerSIMD), seven /* Capability2 */},
    {EMU_LAYOUT_NODE, offsetof(HsaNodeProperties, VendorId),
     "hsa_amd_enable_logging" /* ROCm 6.3: OverrideEngineId */},
    {EMU_LAYOUT_LINK, offsetof(HsaIoLinkProperties, Flags),
     "hsa_amd_enable_logging" /* RecSdmaEngIdMask */},
};
enum { NWORDS = sizeof words / sizeof *words };

static const size_t sizes[EMU_LAYOUTS] = {
    [EMU_LAYOUT_NODE] = sizeof(HsaNodeProperties), [EMU_LAYOUT_LINK] = sizeof(HsaIoLinkProperties)};

static bool has_word[NWORDS], has_long_caches;

void emu_layout_choose(const void *code) {
  Dl_info info;
  void *library = dladdr(code, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  for (size_t i = 0; i < NWORDS; i++) {
    has_word[i] = library && dlsym(library, words[i].function);
  }
  has_long_caches = library && dlsym(library, seven);
  if (library) dlclose(library);
}

static bool is_word(emu_layout layout, size_t i) {
  return words[i].layout == layout && has_word[i];
}

static size_t size_of(emu_layout layout) {
  size_t size = sizes[layout];
  for (size_t i = 0; i < NWORDS; i++) size += is_word(layout, i) ? WORD_BYTES : 0;
  return size;
}

void emu_layout_give(emu_layout layout, const void *properties, uint32_t index, void *array) {
  char *to = (char *)array + index * size_of(layout);
  const char *from = properties;
  size_t done = 0;
  for (size_t i = 0; i < NWORDS; i++) {
    if (!is_word(layout, i)) continue;
    memcpy(to, from + done, words[i].offset - done);
    to += words[i].offset - done;
    done = words[i].offset;
    memset(to, 0, WORD_BYTES);
    to += WORD_BYTES;
  }
  memcpy(to, from + done, sizes[layout] - done);
}

bool emu_layout_has_long_caches(void) {
  return has_long_caches;
}
