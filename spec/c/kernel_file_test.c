/* Kernels of a file that rocluac wrote, without a Lua state.  For spec/c/kernel_file_spec.lua.
 *
 * Usage: kernel_file_test TEST FILE; exit status 0 and "ok TEST", or a message and another status.
 * Without TEST it lists the tests.  The device is that of ROCLUA_DEVICE. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "embed_fixture.h"

enum { COUNT = 64 };

static const char *file;

static roclua_kernel *load(const char *name) {
  roclua_kernel *kernel = NULL;
  CHECK(roclua_kernel_load(file, name, &kernel) == ROCLUA_OK);
  CHECK(strcmp(roclua_kernel_name(kernel), name) == 0);
  return kernel;
}

static roclua_stream *make_stream(void) {
  roclua_stream *stream = NULL;
  CHECK(roclua_stream_create(getenv("ROCLUA_DEVICE"), &stream) == ROCLUA_OK);
  return stream;
}

/* first, first + 1, ... */
static roclua_array *make_array(int64_t first) {
  roclua_array *array;
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_create(getenv("ROCLUA_DEVICE"), "int64", 1, (int64_t[]){COUNT}, &array) ==
        ROCLUA_OK);
  CHECK(roclua_array_map(array, ROCLUA_WRITE, NULL, &view) == ROCLUA_OK);
  for (int i = 0; i < COUNT; i++) ((int64_t *)view.data)[i] = first + i;
  CHECK(roclua_array_unmap(&view) == ROCLUA_OK);
  return array;
}

static int64_t element(roclua_array *array, int i) {
  roclua_view view = {.size = sizeof view};
  CHECK(roclua_array_map(array, ROCLUA_READ, NULL, &view) == ROCLUA_OK);
  int64_t value = ((int64_t *)view.data)[(int64_t)i * view.strides[0]];
  CHECK(roclua_array_unmap(&view) == ROCLUA_OK);
  return value;
}

static int launch(roclua_kernel *kernel, roclua_stream *stream, const roclua_value *args,
                  int nargs) {
  roclua_launch shape = {.size = sizeof shape, .rank = 1, .grid = {COUNT}};
  return roclua_kernel_launch(kernel, stream, &shape, args, nargs);
}

/* mix: a[i] = b[i] * 4 + x */
static void test_arguments(void) {
  roclua_kernel *mix = load("mix");
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array(0), *b = make_array(100);
  roclua_value args[] = {roclua_of_array(a), roclua_of_array(b), roclua_integer(7)};
  CHECK(roclua_kernel_prepare(mix, stream, args, 3) == ROCLUA_OK);
  CHECK(launch(mix, stream, args, 3) == ROCLUA_OK);
  CHECK(element(a, 5) == 105 * 4 + 7);
  args[2] = roclua_integer(-(INT64_C(1) << 40)); /* not a small one */
  CHECK(launch(mix, stream, args, 3) == ROCLUA_OK);
  CHECK(element(a, 5) == 105 * 4 - (INT64_C(1) << 40));
  args[1] = args[0]; /* in place */
  args[2] = roclua_number(1.0);
  CHECK(launch(mix, stream, args, 3) == ROCLUA_OK);
  CHECK(element(a, 5) == (105 * 4 - (INT64_C(1) << 40)) * 4 + 1);
  args[2] = roclua_number(1.5);
  CHECK(launch(mix, stream, args, 3) == ROCLUA_INVALID && strstr(roclua_error(), "#3 to kernel"));
  args[2] = roclua_boolean(1);
  CHECK(launch(mix, stream, args, 3) == ROCLUA_INVALID);
  CHECK(launch(mix, stream, args, 2) == ROCLUA_INVALID);
  CHECK(roclua_kernel_set(mix, "n", roclua_integer(1)) == ROCLUA_INVALID);
  roclua_array_release(a);
  roclua_array_release(b);
  roclua_stream_release(stream);
  roclua_kernel_release(mix);
}

/* Every third element of the program's memory, on devices that reach it. */
static void test_strides(void) {
  static int64_t data[3 * COUNT];
  roclua_kernel *mix = load("mix");
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array(0), *b;
  for (int i = 0; i < 3 * COUNT; i++) data[i] = i;
  roclua_memory memory = {.size = sizeof memory,
                          .dtype = "int64",
                          .rank = 1,
                          .shape = (int64_t[]){COUNT},
                          .strides = (int64_t[]){3},
                          .data = data};
  CHECK(roclua_array_wrap(&memory, &b) == ROCLUA_OK);
  roclua_value args[] = {roclua_of_array(a), roclua_of_array(b), roclua_integer(1)};
  int code = launch(mix, stream, args, 3);
  if (strcmp(getenv("ROCLUA_DEVICE"), "cpu") == 0) {
    CHECK(code == ROCLUA_OK && element(a, 10) == 30 * 4 + 1);
  } else {
    CHECK(code == ROCLUA_INVALID && strstr(roclua_error(), "host memory"));
  }
  roclua_array_release(a);
  roclua_array_release(b);
  roclua_stream_release(stream);
  roclua_kernel_release(mix);
}

static char heard[100];

static void hear(void *ud, const char *line, size_t nbytes) {
  (void)ud, (void)nbytes;
  snprintf(heard, sizeof heard, "%s", line);
}

/* say(x, is) prints x; fail(a, i) stores at a[i]. */
static void test_prints_and_faults(void) {
  roclua_kernel *say = load("say"), *fail = load("fail");
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array(0);
  roclua_value words[] = {roclua_number(2.5), roclua_boolean(1)};
  roclua_value args[] = {roclua_of_array(a), roclua_integer(COUNT + 1)};
  roclua_launch one = {.size = sizeof one, .rank = 1, .grid = {1}, .file = "here.c", .line = 3};
  CHECK(roclua_set_print(hear, NULL) == ROCLUA_OK);
  CHECK(roclua_kernel_launch(say, stream, &one, words, 2) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_OK);
  CHECK(strcmp(heard, "x is\t2.5") == 0);
  CHECK(roclua_kernel_launch(fail, stream, &one, args, 2) == ROCLUA_OK);
  CHECK(roclua_stream_synchronize(stream) == ROCLUA_FAULT);
  CHECK(strstr(roclua_error(), "index 65") && strstr(roclua_error(), "here.c:3"));
  roclua_array_release(a);
  roclua_stream_release(stream);
  roclua_kernel_release(say);
  roclua_kernel_release(fail);
}

static roclua_kernel *shared;

static void *launch_many(void *ud) {
  (void)ud;
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array(0), *b = make_array(1);
  roclua_value args[] = {roclua_of_array(a), roclua_of_array(b), roclua_integer(1)};
  for (int i = 0; i < 100; i++) {
    args[2].as.integer = i % 2 ? i : -i;
    CHECK(launch(shared, stream, args, 3) == ROCLUA_OK);
  }
  CHECK(element(a, 1) == 2 * 4 + 99);
  roclua_array_release(a);
  roclua_array_release(b);
  roclua_stream_release(stream);
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[4];
  shared = load("mix");
  for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, launch_many, NULL) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  roclua_kernel_release(shared);
}

static void refused(int code, const char *text) {
  if (code == ROCLUA_INVALID && strstr(roclua_error(), text)) return;
  fprintf(stderr, "code %d, '%s', not '%s'\n", code, roclua_error(), text);
  exit(1);
}

static void test_names(void) {
  roclua_kernel *kernel = NULL;
  refused(roclua_kernel_load(file, NULL, &kernel), "name one of them: 'mix', 'say', 'fail'");
  refused(roclua_kernel_load(file, "moon", &kernel),
          "no kernel 'moon'; it has 'mix', 'say', 'fail'");
  refused(roclua_kernel_load(NULL, "mix", &kernel), "path is NULL");
  refused(roclua_kernel_load(file, "mix", NULL), "out_kernel is NULL");
  CHECK(roclua_kernel_load("/nowhere/x", NULL, &kernel) == ROCLUA_IO);
  CHECK(roclua_kernel_load("/", NULL, &kernel) == ROCLUA_IO);
  CHECK(!kernel);
}

static unsigned char *read_all(size_t *out_nbytes) {
  FILE *f = fopen(file, "rb");
  struct stat about;
  CHECK(f && stat(file, &about) == 0);
  unsigned char *bytes = malloc((size_t)about.st_size);
  CHECK(bytes && fread(bytes, 1, (size_t)about.st_size, f) == (size_t)about.st_size);
  fclose(f);
  *out_nbytes = (size_t)about.st_size;
  return bytes;
}

/* Bytes that are missing or changed, anywhere. */
static void test_damage(void) {
  size_t nbytes;
  unsigned char *bytes = read_all(&nbytes);
  roclua_kernel *kernel = NULL;
  for (size_t n = 0; n < nbytes; n += 1 + nbytes / 199) {
    unsigned char *part = malloc(n + 1); /* for tools that see a read beyond it */
    memcpy(part, bytes, n);
    refused(roclua_kernel_read(part, n, "mix", &kernel), "file of kernels");
    free(part);
    bytes[n] ^= 64;
    refused(roclua_kernel_read(bytes, nbytes, "mix", &kernel), "file of kernels");
    bytes[n] ^= 64;
  }
  refused(roclua_kernel_read(NULL, 4, "mix", &kernel), "bytes is NULL");
  CHECK(!kernel && roclua_kernel_read(bytes, nbytes, "mix", &kernel) == ROCLUA_OK);
  free(bytes);
  CHECK(roclua_kernel_nargs(kernel) == 3);
  roclua_kernel_release(kernel);
}

static void test_no_memory(void) {
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array(0), *b = make_array(1);
  for (int n = 1; n <= 60; n++) {
    roclua_kernel *mix = NULL;
    roclua_value args[] = {roclua_of_array(a), roclua_of_array(b), roclua_integer(n)};
    roc_alloc_fail_at((uint64_t)n);
    int code = roclua_kernel_load(file, "mix", &mix);
    CHECK(code == ROCLUA_OK || (code == ROCLUA_OOM && !mix));
    if (code == ROCLUA_OK) {
      code = launch(mix, stream, args, 3);
      CHECK(code == ROCLUA_OK || code == ROCLUA_OOM);
      roc_alloc_fail_at(0);
      CHECK(launch(mix, stream, args, 3) == ROCLUA_OK && element(a, 1) == 8 + n);
    }
    roc_alloc_fail_at(0);
    roclua_kernel_release(mix);
  }
  roclua_array_release(a);
  roclua_array_release(b);
  roclua_stream_release(stream);
}

/* The file has no code for this device. */
static void test_unsupported(void) {
  roclua_kernel *mix = load("mix");
  roclua_stream *stream = make_stream();
  roclua_array *a = make_array(0), *b = make_array(1);
  roclua_value args[] = {roclua_of_array(a), roclua_of_array(b), roclua_integer(1)};
  CHECK(launch(mix, stream, args, 3) == ROCLUA_UNSUPPORTED);
  printf("%s\n", roclua_error());
  roclua_array_release(a);
  roclua_array_release(b);
  roclua_stream_release(stream);
  roclua_kernel_release(mix);
}

static const named_test tests[] = {
    {"arguments", test_arguments},
    {"strides", test_strides},
    {"prints_and_faults", test_prints_and_faults},
    {"threads", test_threads},
    {"names", test_names},
    {"damage", test_damage},
    {"no_memory", test_no_memory},
    {"unsupported", test_unsupported},
};

int main(int argc, char **argv) {
  file = argc > 2 ? argv[2] : "";
  return run_named(tests, sizeof tests / sizeof *tests, argc, argv);
}
