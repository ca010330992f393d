/* Reading the limits of control groups; see quota.h. */
#include "device/cpu/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATH = 4096 };

/* A file's first line; false: there is none. */
static bool read_line(const char *path, char *out, int size) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  bool is_read = fgets(out, size, file) != NULL;
  fclose(file);
  return is_read;
}

static uint32_t cores_of(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return UINT32_MAX;
  long long cores = quota / period + (quota % period != 0);
  return cores < UINT32_MAX ? (uint32_t)cores : UINT32_MAX;
}

/* Of a folder of version 2: "max 100000", or "150000 100000". */
static uint32_t quota_2(const char *folder) {
  char path[MAX_PATH], line[64];
  long long quota, period;
  int len = snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (len >= MAX_PATH || !read_line(path, line, sizeof line)) return UINT32_MAX;
  return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cores_of(quota, period) : UINT32_MAX;
}

/* Of a folder of version 1: two files, the quota -1 where there is none. */
static uint32_t quota_1(const char *folder) {
  static const char *const names[2] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"};
  long long values[2];
  for (int i = 0; i < 2; i++) {
    char path[MAX_PATH], line[64];
    int len = snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (len >= MAX_PATH || !read_line(path, line, sizeof line)) return UINT32_MAX;
    values[i] = strtoll(line, NULL, 10);
  }
  return cores_of(values[0], values[1]);
}

/* The least of the group and those above it.  In a container the root may be the group itself, and
 * the path one that only the host has: folders that are missing count for nothing. */
static uint32_t least_quota(const char *root, const char *group,
                            uint32_t (*quota_of)(const char *folder)) {
  char folder[MAX_PATH];
  int len = snprintf(folder, sizeof folder, "%s%s", root, group);
  if (len >= MAX_PATH) return UINT32_MAX;
  size_t root_len = strlen(root);
  uint32_t least = UINT32_MAX;
  for (;;) {
    uint32_t quota = quota_of(folder);
    if (quota < least) least = quota;
    char *slash = strrchr(folder, '/');
    if (!slash || (size_t)(slash - folder) < root_len) return least;
    *slash = '\0';
  }
}

static bool has_cpu(const char *controllers) {
  for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',') {
    if (strcspn(at, ",") == 3 && strncmp(at, "cpu", 3) == 0) return true;
  }
  return false;
}

uint32_t roc_cpu_quota(const char *groups, const char *root) {
  FILE *file = fopen(groups, "re");
  if (!file) return UINT32_MAX;
  uint32_t least = UINT32_MAX;
  char line[MAX_PATH], mount[MAX_PATH];
  while (fgets(line, sizeof line, file)) { /* number:controllers:path */
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    controllers++;
    uint32_t quota = UINT32_MAX;
    if (*controllers == '\0') quota = least_quota(root, group, quota_2);
    int len = snprintf(mount, sizeof mount, "%s/cpu", root);
    if (len < MAX_PATH && has_cpu(controllers)) quota = least_quota(mount, group, quota_1);
    if (quota < least) least = quota;
  }
  fclose(file);
  return least;
}
