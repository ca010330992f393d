/* See nvptx_ptx.h. */
#include "base/nvptx_ptx.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nvptx_target.h"
#include "base/target.h"

extern char **environ;

roc_status roc_ptx_read_kernel(const roc_codeobj *object, roc_ptx_kernel *out, roc_error *err) {
  *out = (roc_ptx_kernel){.max_workgroup = ROC_NVPTX_MAX_WORKGROUP,
                          .registers = ROC_TARGET_UNKNOWN,
                          .private_bytes = ROC_TARGET_UNKNOWN,
                          .spills = ROC_TARGET_UNKNOWN};
  const char *text = (const char *)object->bytes;
  size_t len = strlen(object->entry);
  const char *entry = strstr(text, ".entry ");
  while (entry && (strncmp(entry + 7, object->entry, len) || entry[7 + len] != '(')) {
    entry = strstr(entry + 1, ".entry ");
  }
  if (!entry) return roc_fail(err, ROC_INVALID, "no kernel '%s' in the code object", object->entry);
  const char *body = strchr(entry, '{'), *bound = strstr(entry, ".maxntid ");
  unsigned items;
  bool is_bound = bound && body && bound < body && sscanf(bound, ".maxntid %u", &items) == 1;
  if (is_bound) out->max_workgroup = items;
  return ROC_OK;
}

/* ---- the assembler ----------------------------------------------------------------------- */

enum { SAID_BYTES = 8192 };

/* The file is unlinked already; its path is that of the descriptor. */
static int write_text(const roc_codeobj *object, char *path, size_t size) {
  char name[] = "/tmp/roclua-ptx-XXXXXX";
  int fd = mkostemp(name, O_CLOEXEC);
  if (fd < 0) return -1;
  unlink(name);
  size_t left = object->nbytes;
  const unsigned char *at = object->bytes;
  while (left > 0) {
    ssize_t n = write(fd, at, left);
    if (n <= 0) {
      close(fd);
      return -1;
    }
    at += n;
    left -= (size_t)n;
  }
  snprintf(path, size, "/proc/%ld/fd/%d", (long)getpid(), fd);
  return fd;
}

static bool spawn(const char *program, char *const args[], int out, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions)) return false;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  bool is_started = posix_spawnp(pid, program, &actions, NULL, args, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  return is_started;
}

/* Runs it and keeps the begin of what it says.  False: it is not there, or fails. */
static bool run(const char *program, char *const args[], char said[SAID_BYTES]) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return false;
  pid_t pid;
  bool is_started = spawn(program, args, ends[1], &pid);
  close(ends[1]);
  size_t len = 0;
  char rest[256];
  while (is_started) {
    bool is_full = len + 1 == SAID_BYTES;
    ssize_t n = is_full ? read(ends[0], rest, sizeof rest)
                        : read(ends[0], said + len, SAID_BYTES - 1 - len);
    if (n <= 0) break;
    if (!is_full) len += (size_t)n;
  }
  said[len] = '\0';
  close(ends[0]);
  int status = -1;
  return is_started && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/* "ptxas info : Compiling entry function 'roc_k' for 'sm_90'", then lines on that one. */
static void read_said(const char *said, const char *entry, roc_ptx_kernel *kernel) {
  char head[256];
  snprintf(head, sizeof head, "entry function '%s'", entry);
  const char *at = strstr(said, head);
  const char *frame = at ? strstr(at, "bytes stack frame") : NULL;
  const char *used = at ? strstr(at, "Used ") : NULL;
  while (frame && frame > at && frame[-1] != '\n') frame--;
  uint64_t registers, stack, stores;
  if (!frame || !used || sscanf(used, "Used %" SCNu64, &registers) != 1) return;
  if (sscanf(frame, "%" SCNu64 " bytes stack frame, %" SCNu64, &stack, &stores) != 2) return;
  kernel->is_assembled = true;
  kernel->registers = registers;
  kernel->private_bytes = stack;
  kernel->spills = stores;
}

void roc_ptx_assemble(const roc_codeobj *object, roc_ptx_kernel *kernel) {
  static const char *const programs[] = {"ptxas", "/usr/local/cuda/bin/ptxas"};
  char path[64], arch[32], said[SAID_BYTES];
  int fd = write_text(object, path, sizeof path);
  if (fd < 0) return;
  snprintf(arch, sizeof arch, "-arch=%s", object->target);
  bool is_done = false;
  for (size_t i = 0; i < sizeof programs / sizeof *programs && !is_done; i++) {
    char *const args[] = {
        (char *)(uintptr_t)programs[i], "-v", arch, "-o", "/dev/null", path, NULL};
    is_done = run(programs[i], args, said);
  }
  close(fd);
  if (is_done) read_said(said, object->entry, kernel);
}
