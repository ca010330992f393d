/* lld has no C interface. See link.h.
 *
 * lld is not re-entrant, takes its input by path, writes its output through a mapped file, resets
 * LLVM's global options, and its first run installs signal handlers for the whole process. So:
 * nothing of LLVM runs beside it (llvm_lock.h), the object is in a memfd, and the buffer that lld
 * asks for its output is ours, in plain memory, in place of LLVM's: no folder is needed, and no
 * file system that is full ends the process with SIGBUS. Handlers and options are put back before
 * others go on. */
extern "C" {
#include "codegen/llvm/link.h"
}

#include <lld/Common/Driver.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/FileOutputBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

extern "C" {
#include "base/alloc.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/llvm_lock.h"
#include "codegen/llvm/memory.h"
}

LLD_HAS_DRIVER(elf)

namespace {

// What a run of lld takes: by measurement, and as much again.
constexpr size_t bytes_of_run = 2 << 20, bytes_per_byte = 8;

bool is_broken = false;  // lld said that it cannot be run again; guarded by the lock

// What the current run of lld has made; guarded by the lock.
struct Result {
  unsigned char *bytes;  // roc_free
  size_t nbytes;
  bool lacks_memory;
} result;

// Where lld writes.  Zero at first, as a new file is.
class Output : public llvm::FileOutputBuffer {
 public:
  Output(unsigned char *bytes, size_t nbytes)
      : FileOutputBuffer(""), bytes_(bytes), nbytes_(nbytes) {}
  ~Output() override { roc_free(bytes_); }
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  uint8_t *getBufferStart() const override { return bytes_; }
  uint8_t *getBufferEnd() const override { return bytes_ + nbytes_; }
  size_t getBufferSize() const override { return nbytes_; }
  llvm::Error commit() override {
    roc_free(result.bytes);
    result.bytes = bytes_;
    result.nbytes = nbytes_;
    bytes_ = nullptr;
    return llvm::Error::success();
  }

 private:
  unsigned char *bytes_;
  size_t nbytes_;
};

// All handlers and this thread's alternate stack, as they were when it was made; put back at its
// end.
class SignalSnapshot {
 public:
  SignalSnapshot() {
    for (int n = 1; n < NSIG; n++) is_known_[n] = sigaction(n, nullptr, &actions_[n]) == 0;
    has_stack_ = sigaltstack(nullptr, &stack_) == 0;
  }
  ~SignalSnapshot() {
    for (int n = 1; n < NSIG; n++) {
      if (is_known_[n]) sigaction(n, &actions_[n], nullptr);
    }
    if (has_stack_) sigaltstack(&stack_, nullptr);
  }
  SignalSnapshot(const SignalSnapshot &) = delete;
  SignalSnapshot &operator=(const SignalSnapshot &) = delete;

 private:
  struct sigaction actions_[NSIG];
  bool is_known_[NSIG] = {};
  stack_t stack_;
  bool has_stack_;
};

bool write_all(int fd, const unsigned char *bytes, size_t nbytes) {
  while (nbytes > 0) {
    ssize_t n = write(fd, bytes, nbytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    nbytes -= static_cast<size_t>(n);
  }
  return true;
}

// The object as a file without a name; -1 with errno set.
int make_input(const unsigned char *object, size_t nbytes) {
  int fd = memfd_create("roclua-object", MFD_CLOEXEC);
  if (fd >= 0 && !write_all(fd, object, nbytes)) {
    int code = errno;
    close(fd);
    errno = code;
    return -1;
  }
  return fd;
}

// lld, with what it prints as the message when it fails.  It looks at the output's path before it
// asks for the buffer, and would remove a file of that name.
roc_status run_lld(const char *input, roc_error *err) {
  if (is_broken) return roc_fail(err, ROC_UNAVAILABLE, "the linker failed before; restart");
  const char *args[] = {"ld.lld", "-shared", "--no-undefined", "--threads=1", "--build-id=none",
                        input,    "-o",      "/dev/null"};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result outcome = lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}});
  is_broken = !outcome.canRunAgain;
  llvm::cl::ResetAllOptionOccurrences();  // as lld did, but for what it set itself
  roc_machine_set_options();
  if (outcome.retCode == 0 && result.bytes) return ROC_OK;
  if (result.lacks_memory) return roc_fail(err, ROC_OOM, "out of memory for a linked code object");
  bool lacks_memory = messages.find(strerror(ENOMEM)) != std::string::npos;
  return roc_fail(err, lacks_memory ? ROC_OOM : ROC_COMPILE, "linking failed: %s",
                  messages.c_str());
}

roc_status link_alone(int input_fd, unsigned char **out, size_t *out_nbytes, roc_error *err) {
  char input[64];
  snprintf(input, sizeof input, "/proc/self/fd/%d", input_fd);
  result = {};
  SignalSnapshot restored_at_end;
  roc_status status = run_lld(input, err);
  if (status != ROC_OK) {
    roc_free(result.bytes);
    return status;
  }
  *out = result.bytes;
  *out_nbytes = result.nbytes;
  return ROC_OK;
}

}  // namespace

void roc_link_give_up(void) {
  is_broken = true;
}

roc_status roc_link_elf(const unsigned char *object, size_t nbytes, unsigned char **out_bytes,
                        size_t *out_nbytes, roc_error *err) {
  if (!roc_memory_has(bytes_of_run + nbytes * bytes_per_byte)) {
    return roc_fail(err, ROC_OOM, "out of memory for linking a code object");
  }
  int fd = make_input(object, nbytes);
  if (fd < 0) {
    bool lacks_memory = errno == ENOMEM || errno == ENOSPC;
    return roc_fail(err, lacks_memory ? ROC_OOM : ROC_IO,
                    "cannot hold an object in memory to link it: %s", strerror(errno));
  }
  roc_memory_hold();  // lld would not run again if it were left
  roc_llvm_lock_exclusive();
  roc_status status = link_alone(fd, out_bytes, out_nbytes, err);
  roc_llvm_unlock_exclusive();
  roc_memory_release();
  if (status == ROC_OK) roc_memory_adopt(*out_bytes);
  close(fd);
  return status;
}

// In place of LLVM's own, which maps a file beside the path; lld alone calls it.
llvm::Expected<std::unique_ptr<llvm::FileOutputBuffer>> llvm::FileOutputBuffer::create(
    llvm::StringRef, size_t size, unsigned) {
  auto *bytes = static_cast<unsigned char *>(roc_zalloc(size));
  if (bytes) return std::make_unique<Output>(bytes, size);
  result.lacks_memory = true;
  return llvm::errorCodeToError(std::make_error_code(std::errc::not_enough_memory));
}

// What lld refers to, but for our objects never needs, and so is not linked: LLVM's other targets,
// which it would make known, and a plugin of the link-time optimiser.
#define ABSENT(target)                                    \
  extern "C" void LLVMInitialize##target##Target() {}     \
  extern "C" void LLVMInitialize##target##TargetInfo() {} \
  extern "C" void LLVMInitialize##target##TargetMC() {}   \
  extern "C" void LLVMInitialize##target##AsmPrinter() {} \
  extern "C" void LLVMInitialize##target##AsmParser() {}
#include "absent_targets.def"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "polly", "absent", nullptr};
}
