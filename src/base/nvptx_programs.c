/* See nvptx_programs.h. */
#include "base/nvptx_programs.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- files that are gone with their descriptors --------------------------------------------- */

enum { PATH_BYTES = 64 };

/* An empty file without a name, and a path by which other programs open it; -1: no room. */
static int open_temporary(char path[PATH_BYTES]) {
  char name[] = "/tmp/roclua-ptx-XXXXXX";
  int fd = mkostemp(name, O_CLOEXEC);
  if (fd < 0) return -1;
  unlink(name);
  snprintf(path, PATH_BYTES, "/proc/%ld/fd/%d", (long)getpid(), fd);
  return fd;
}

static bool write_all(int fd, const char *bytes, size_t nbytes) {
  while (nbytes > 0) {
    ssize_t n = write(fd, bytes, nbytes);
    if (n <= 0) return false;
    bytes += n;
    nbytes -= (size_t)n;
  }
  return true;
}

static int open_filled(const void *bytes, size_t nbytes, char path[PATH_BYTES]) {
  int fd = open_temporary(path);
  if (fd < 0 || write_all(fd, bytes, nbytes)) return fd;
  close(fd);
  return -1;
}

static bool read_all(int fd, roc_str *out) {
  char block[4096];
  ssize_t n;
  while ((n = read(fd, block, sizeof block)) > 0) roc_str_add(out, block, (size_t)n);
  return n == 0;
}

/* ---- programs ------------------------------------------------------------------------------- */

typedef struct program {
  const char *name;
  const char *places[2];
} program;

static const program assembler = {"ptxas", {"ptxas", "/usr/local/cuda/bin/ptxas"}};
static const program disassembler = {"nvdisasm", {"nvdisasm", "/usr/local/cuda/bin/nvdisasm"}};

typedef enum outcome { IS_ABSENT, HAS_FAILED, HAS_WORKED } outcome;

/* Both streams go to `out`, or only what it prints, and what it complains of nowhere. */
static int spawn(const char *place, char *const args[], int out, bool takes_complaints,
                 pid_t *pid) {
  posix_spawn_file_actions_t actions;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure) return failure;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (takes_complaints) {
    posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  failure = posix_spawnp(pid, place, &actions, NULL, args, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

static outcome run_at(const char *place, char *const args[], bool takes_complaints,
                      roc_str *out_said) {
  int ends[2];
  pid_t pid;
  if (pipe2(ends, O_CLOEXEC)) return HAS_FAILED;
  int failure = spawn(place, args, ends[1], takes_complaints, &pid);
  close(ends[1]);
  if (!failure) read_all(ends[0], out_said);
  close(ends[0]);
  if (failure) return failure == ENOENT ? IS_ABSENT : HAS_FAILED;
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? HAS_WORKED : HAS_FAILED;
}

/* args[0] is the program's name.  What it says, complaints included unless it works without
 * `takes_complaints`, is added to the text. */
static outcome run(const program *p, char *const args[], bool takes_complaints, roc_str *out_said) {
  outcome result = IS_ABSENT;
  for (size_t i = 0; i < sizeof p->places / sizeof *p->places && result == IS_ABSENT; i++) {
    result = run_at(p->places[i], args, takes_complaints, out_said);
  }
  return result;
}

static outcome assemble(const char *target, const void *ptx, size_t nbytes, char *cubin,
                        roc_str *said) {
  char path[PATH_BYTES], arch[32];
  int fd = open_filled(ptx, nbytes, path);
  if (fd < 0) return HAS_FAILED;
  snprintf(arch, sizeof arch, "-arch=%s", target);
  char *const args[] = {"ptxas", "-v", arch, "-o", cubin, path, NULL};
  outcome result = run(&assembler, args, true, said);
  close(fd);
  return result;
}

bool roc_nvptx_describe(const char *target, const void *ptx, size_t nbytes,
                        char said[ROC_NVPTX_SAID_BYTES]) {
  roc_str text = ROC_STR_INIT;
  char nowhere[] = "/dev/null";
  bool has_worked = assemble(target, ptx, nbytes, nowhere, &text) == HAS_WORKED;
  snprintf(said, ROC_NVPTX_SAID_BYTES, "%s", roc_str_text(&text));
  roc_str_deinit(&text);
  return has_worked;
}

/* ---- forms of machine code ------------------------------------------------------------------ */

static roc_status fail_run(const program *p, outcome result, const char *target, const char *said,
                           roc_error *err) {
  if (result == IS_ABSENT) {
    return roc_fail(err, ROC_UNAVAILABLE,
                    "'%s' is not there, neither on the PATH nor as %s: it is a program of NVIDIA's "
                    "CUDA toolkit, and needed for machine code of '%s'",
                    p->name, p->places[1], target);
  }
  enum { MOST = 600 };
  int len = 0; /* without the line's end */
  while (len < MOST && said[len]) len++;
  while (len > 0 && said[len - 1] == '\n') len--;
  return roc_fail(err, ROC_INVALID, "'%s' failed for '%s': %.*s", p->name, target, len ? len : MOST,
                  len ? said : "it said nothing");
}

/* The cubin in a file of that path. */
static roc_status assemble_into(const char *target, const void *ptx, size_t nbytes, char *cubin,
                                roc_error *err) {
  roc_str said = ROC_STR_INIT;
  outcome result = assemble(target, ptx, nbytes, cubin, &said);
  roc_status status = result == HAS_WORKED
                          ? ROC_OK
                          : fail_run(&assembler, result, target, roc_str_text(&said), err);
  roc_str_deinit(&said);
  return status;
}

static roc_status fail_temporary(roc_error *err) {
  return roc_fail(err, ROC_INTERNAL, "cannot make a temporary file: %s", strerror(errno));
}

typedef roc_status take_cubin(const char *target, int fd, char *path, roc_str *out, roc_error *err);

/* Assembles into a temporary file, and adds what `take` makes of that to `out`. */
static roc_status make(const char *target, const void *ptx, size_t nbytes, take_cubin *take,
                       roc_str *out, roc_error *err) {
  char path[PATH_BYTES];
  int fd = open_temporary(path);
  if (fd < 0) return fail_temporary(err);
  roc_status status = assemble_into(target, ptx, nbytes, path, err);
  if (status == ROC_OK) status = take(target, fd, path, out, err);
  close(fd);
  if (status == ROC_OK && out->failed) {
    status = roc_fail(err, ROC_OOM, "out of memory: no room for machine code");
  }
  return status;
}

static roc_status read_cubin(const char *target, int fd, char *path, roc_str *out, roc_error *err) {
  (void)target, (void)path;
  return read_all(fd, out) ? ROC_OK : fail_temporary(err);
}

static roc_status disassemble(const char *target, int fd, char *path, roc_str *out,
                              roc_error *err) {
  (void)fd;
  char *const args[] = {"nvdisasm", "-c", path, NULL};
  outcome result = run(&disassembler, args, false, out);
  return result == HAS_WORKED ? ROC_OK : fail_run(&disassembler, result, target, "", err);
}

roc_status roc_nvptx_make_cubin(const char *target, const void *ptx, size_t nbytes, roc_str *out,
                                roc_error *err) {
  return make(target, ptx, nbytes, read_cubin, out, err);
}

roc_status roc_nvptx_make_sass(const char *target, const void *ptx, size_t nbytes, roc_str *out,
                               roc_error *err) {
  return make(target, ptx, nbytes, disassemble, out, err);
}
