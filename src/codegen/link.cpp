/* lld has no C interface.  See link.h.
 *
 * lld is not re-entrant, takes its input and output by path, resets LLVM's global options, and its
 * first run installs signal handlers for the whole process.  So: nothing of LLVM runs beside it
 * (running.h), the object is in a memfd, the output in a temporary directory (in memory where there
 * is /dev/shm), and handlers and options are put back before others go on. */
extern "C" {
#include "codegen/link.h"
}

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Plugins/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

extern "C" {
#include "base/alloc.h"
#include "codegen/machine.h"
#include "codegen/running.h"
}

LLD_HAS_DRIVER(elf)

namespace {

bool is_broken = false;  // lld said that it cannot be run again; for who is alone

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
    close(fd);
    return -1;
  }
  return fd;
}

// A new directory of ours; false with errno set.
bool make_directory(char *path, size_t size) {
  const char *chosen = getenv("TMPDIR");
  const char *const parents[] = {"/dev/shm", chosen, "/tmp"};
  for (const char *parent : parents) {
    if (!parent || !*parent) continue;
    int len = snprintf(path, size, "%s/roclua-link-%d-XXXXXX", parent, static_cast<int>(getpid()));
    if (len > 0 && static_cast<size_t>(len) < size && mkdtemp(path)) return true;
  }
  return false;
}

roc_status read_output(const char *path, unsigned char **out, size_t *out_nbytes, roc_error *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    roc_status status =
        roc_fail(err, ROC_IO, "cannot read the linked code object: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return status;
  }
  size_t nbytes = static_cast<size_t>(info.st_size), have = 0;
  unsigned char *bytes = static_cast<unsigned char *>(roc_alloc(nbytes));
  while (bytes && have < nbytes) {
    ssize_t n = read(fd, bytes + have, nbytes - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    have += static_cast<size_t>(n);
  }
  close(fd);
  if (!bytes) return roc_fail(err, ROC_OOM, "out of memory for a linked code object");
  if (have < nbytes) {
    roc_free(bytes);
    return roc_fail(err, ROC_IO, "the linked code object cannot be read whole");
  }
  *out = bytes;
  *out_nbytes = nbytes;
  return ROC_OK;
}

// lld, with what it prints as the message when it fails.
roc_status run_lld(const char *input, const char *output, roc_error *err) {
  if (is_broken) return roc_fail(err, ROC_UNAVAILABLE, "the linker failed before; restart");
  const char *args[] = {
      "ld.lld", "-shared", "--no-undefined", "--threads=1", "--build-id=none", input, "-o", output};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}});
  is_broken = !result.canRunAgain;
  llvm::cl::ResetAllOptionOccurrences();  // as lld did, but for what it set itself
  roc_machine_set_options();
  if (result.retCode == 0) return ROC_OK;
  return roc_fail(err, ROC_COMPILE, "linking failed: %s", stream.str().c_str());
}

roc_status link_alone(int input_fd, unsigned char **out, size_t *out_nbytes, roc_error *err) {
  char directory[512], input[64];
  if (!make_directory(directory, sizeof directory)) {
    return roc_fail(err, ROC_IO, "cannot make a temporary directory to link in: %s",
                    strerror(errno));
  }
  snprintf(input, sizeof input, "/proc/self/fd/%d", input_fd);
  std::string output = std::string(directory) + "/code";
  roc_status status;
  {
    SignalSnapshot restored_at_end;
    status = run_lld(input, output.c_str(), err);
  }
  if (status == ROC_OK) status = read_output(output.c_str(), out, out_nbytes, err);
  unlink(output.c_str());
  rmdir(directory);
  return status;
}

}  // namespace

void roc_link_give_up(void) {
  is_broken = true;
}

roc_status roc_link_elf(const unsigned char *object, size_t nbytes, unsigned char **out_bytes,
                        size_t *out_nbytes, roc_error *err) {
  int fd = make_input(object, nbytes);
  if (fd < 0) {
    return roc_fail(err, ROC_IO, "cannot hold an object in memory to link it: %s", strerror(errno));
  }
  roc_running_alone_begin();
  roc_status status = link_alone(fd, out_bytes, out_nbytes, err);
  roc_running_alone_end();
  close(fd);
  return status;
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
