/* The kernel copies (process_vm_readv), which fails where there is nothing to read. */
#include "base/peek.h"

#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

bool roc_peek(const void *address, void *out, size_t nbytes) {
  struct iovec to = {out, nbytes}, from = {(void *)address, nbytes};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)nbytes;
}
