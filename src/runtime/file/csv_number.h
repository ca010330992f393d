/* Numbers in text, fast and exact. */
#ifndef ROC_RUNTIME_FILE_CSV_NUMBER_H
#define ROC_RUNTIME_FILE_CSV_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct roc_csv_number {
  bool is_int;
  int64_t i; /* where is_int */
  double f;
} roc_csv_number;

/* Reads the decimal number (also inf, infinity, nan in any case) at `at`, and returns the place after
 * it; NULL: there is none.  Rounds to nearest even, whatever the locale. */
const char *roc_csv_scan_number(const char *at, const char *end, roc_csv_number *out);

enum { ROC_CSV_NUMBER_BYTES = 32 };

/* Writes the shortest decimal number that reads back as the same float32 (is_narrow) or float64,
 * an empty text for NaN; returns its length. */
int roc_csv_print_float(double value, bool is_narrow, char to[ROC_CSV_NUMBER_BYTES]);

#endif
