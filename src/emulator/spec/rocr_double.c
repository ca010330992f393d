/* Stands for a ROCR of some release, for emulator_later_test.c: opens the driver's library, and
 * exports what that release does and the driver asks for.  ROCM is the release, 603 for 6.3. */
int double_open(int (*open_driver)(void));

/* The call is no jump: it returns to this library. */
int double_open(int (*open_driver)(void)) {
  volatile int status = open_driver();
  return status;
}

#define EXPORTED(name) \
  void name(void);     \
  void name(void) {}
#if ROCM >= 603
EXPORTED(hsa_amd_enable_logging)
#endif
#if ROCM >= 604
EXPORTED(hsa_amd_signal_wait_all)
#endif
#if ROCM >= 700
EXPORTED(hsa_amd_memory_get_preferred_copy_engine)
#endif
