/* What the driver makes of a kernel's PTX, kept from one process to the next.
 *
 * The driver's linker gives the image out that it compiles PTX to.  Kept where the process keeps
 * code (device.h), it is loaded the next time without a compile.  It is found again by all that it
 * depends on: the driver library's file and version, the GPU's target, the PTX.  An image that is
 * not taken, and a linker that fails, leave the PTX itself to be loaded, whose error is told. */
#include "base/file.h"
#include "base/library.h"
#include "device/cuda/driver.h"

static bool describe_image(const roc_cuda_device *device, const roc_codeobj *object, roc_str *key) {
  char path[PATH_MAX], identity[ROC_FILE_IDENTITY_BYTES];
  int version = 0;
  if (roc_cuda.cuDriverGetVersion(&version) != CUDA_SUCCESS) return false;
  if (!roc_library_path_of((const void *)(uintptr_t)roc_cuda.cuInit, path)) return false;
  roc_file_identity(path, identity);
  roc_str_printf(key, "image by NVIDIA's driver %d, %s %s, for %s of\n", version, path, identity,
                 device->base.props.arch);
  roc_str_add(key, (const char *)object->bytes, object->nbytes);
  return !key->failed;
}

static CUresult load(const void *image, CUmodule *out_module) {
  return roc_cuda.cuModuleLoadDataEx(out_module, image, 0, NULL, NULL);
}

static CUresult load_kept(const roc_code_store *store, const roc_str *key, CUmodule *out_module) {
  roc_str image = ROC_STR_INIT;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (store->recall(roc_str_text(key), key->len, &image))
    result = load(roc_str_text(&image), out_module);
  roc_str_deinit(&image);
  return result;
}

/* The image is the linker's, until it is destroyed.  A byte 0 ends the PTX, and counts. */
static CUresult link_image(CUlinkState linker, const roc_codeobj *object, void **out_image,
                           size_t *out_bytes) {
  CUresult result = roc_cuda.cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)object->bytes,
                                           object->nbytes + 1, object->entry, 0, NULL, NULL);
  if (result != CUDA_SUCCESS) return result;
  return roc_cuda.cuLinkComplete(linker, out_image, out_bytes);
}

static CUresult load_linked(const roc_code_store *store, const roc_str *key,
                            const roc_codeobj *object, CUmodule *out_module) {
  CUlinkState linker;
  void *image;
  size_t nbytes;
  CUresult result = roc_cuda.cuLinkCreate(0, NULL, NULL, &linker);
  if (result != CUDA_SUCCESS) return result;
  result = link_image(linker, object, &image, &nbytes);
  if (result == CUDA_SUCCESS) result = load(image, out_module);
  if (result == CUDA_SUCCESS) store->keep(roc_str_text(key), key->len, image, nbytes);
  roc_cuda.cuLinkDestroy(linker);
  return result;
}

CUresult roc_cuda_load_image(const roc_cuda_device *device, const roc_codeobj *object,
                             CUmodule *out_module) {
  const roc_code_store *store = roc_device_code_store();
  roc_str key = ROC_STR_INIT;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (store && !object->is_foreign && describe_image(device, object, &key)) {
    result = load_kept(store, &key, out_module);
    if (result != CUDA_SUCCESS && !roc_cuda_is_loss(result)) {
      result = load_linked(store, &key, object, out_module);
    }
  }
  roc_str_deinit(&key);
  return result;
}
