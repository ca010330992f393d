/* The end of a timeline: its file, and the table of --profile. */
#include <pthread.h>

#include "base/env.h"
#include "base/file.h"
#include "runtime/trace/trace.h"

static bool is_of_environment; /* the timeline is what ROCLUA_TRACE or ROCLUA_PROFILE asks for */

static roc_status write_timeline(const char *path, roc_error *err) {
  roc_str text = ROC_STR_INIT;
  roc_rt_trace_write_json(&text);
  roc_status status = text.failed
                          ? roc_fail(err, ROC_OOM, "out of memory: no room for a timeline's text")
                          : roc_file_write(path, roc_str_text(&text), text.len, err);
  roc_str_deinit(&text);
  return status;
}

roc_status roc_rt_trace_stop(const char *path, roc_error *err) {
  roc_rt_lock(); /* no work is being queued */
  atomic_store(&roc_rt_trace_flag, false);
  roc_rt_unlock();
  return path ? write_timeline(path, err) : ROC_OK;
}

/* ---- those of the environment ---------------------------------------------------------------- */

static bool wants_profile(void) {
  bool is_wanted = false;
  roc_env_switch("ROCLUA_PROFILE", &is_wanted, NULL);
  return is_wanted;
}

roc_status roc_rt_trace_check_environment(roc_error *err) {
  bool is_wanted = false;
  return roc_env_switch("ROCLUA_PROFILE", &is_wanted, err);
}

static void open_once(void) {
  if (!roc_env_text("ROCLUA_TRACE") && !wants_profile()) return;
  is_of_environment = roc_rt_trace_start(NULL) == ROC_OK;
}

void roc_rt_trace_open(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_once);
}

roc_status roc_rt_trace_conclude(roc_error *err) {
  if (!is_of_environment) return ROC_OK;
  is_of_environment = false;
  roc_status status = roc_rt_trace_stop(roc_env_text("ROCLUA_TRACE"), err);
  if (!wants_profile()) return status;
  roc_str table = ROC_STR_INIT;
  roc_rt_trace_summarise(&table);
  roc_status printed =
      roc_file_write("/dev/stderr", roc_str_text(&table), table.len, status == ROC_OK ? err : NULL);
  roc_str_deinit(&table);
  return status == ROC_OK ? printed : status;
}
