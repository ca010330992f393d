/* See processor.h.  LLVM tells the features of a processor by name only in C++. */
#include "codegen/llvm/processor.h"

#include <llvm-c/Target.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using Subtarget = std::unique_ptr<llvm::MCSubtargetInfo>;

/* NULL where LLVM has no code for this machine. */
Subtarget subtarget_of(llvm::StringRef cpu) {
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  return target ? Subtarget(target->createMCSubtargetInfo(triple, cpu, "")) : nullptr;
}

void write(const std::vector<std::string> &names, char *out, size_t size) {
  std::string text;
  for (const std::string &name : names) text += (text.empty() ? "" : ",") + name;
  if (size == 0) return;
  size_t len = std::min(text.size(), size - 1);
  memcpy(out, text.data(), len);
  out[len] = 0;
}

}  // namespace

bool roc_processor_is_known(const char *name) {
  Subtarget any = subtarget_of("");
  if (!any || !*name || !any->isCPUStringValid(name)) return false;
  Subtarget named = subtarget_of(name);
  return named && named->checkFeatures("+64bit");
}

bool roc_processor_has(LLVMTargetMachineRef machine, const char *feature) {
  const auto *tm = reinterpret_cast<llvm::TargetMachine *>(machine);
  return tm->getMCSubtargetInfo()->checkFeatures(std::string("+") + feature);
}

/* Among the features that LLVM finds on the machine are all those of instructions, and none of
 * those that say what is fast. */
void roc_processor_missing(const char *name, char *out, size_t size) {
  Subtarget named = subtarget_of(name);
  std::vector<std::string> missing;
  for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
    if (feature.getValue()) continue;
    std::string key = feature.getKey().str();
    if (named && named->checkFeatures("+" + key)) missing.push_back(key);
  }
  std::sort(missing.begin(), missing.end());
  write(missing, out, size);
}
