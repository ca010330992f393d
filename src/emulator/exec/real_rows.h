/* The frames around kernels of 32 and of 64 bits: included by float.c once for each EMU_SIZE.
 * MODE(what) is the field of emu_mode that belongs to the size; F(name) the frame's full name. */
#define ROW EMU_SIZED(emu_row)
#define KERNEL EMU_SIZED(emu_kernel)
#define F(name) EMU_PASTE(name, EMU_SIZED(f))
#define MODE(what) wave->mode.EMU_SIZED(what)

static void EMU_SIZED(flush_row)(const emu_wave *wave, ROW *out, const ROW *in) {
  EMU_FOR_LANES(wave) out->u[lane] = EMU_SIZED(emu_flush)(in->u[lane]);
}

const ROW *F(emu_src_)(emu_wave *wave, const emu_inst *inst, unsigned n, ROW *room) {
  const ROW *row = EMU_SIZED(emu_src)(wave, inst, n, room);
  if (MODE(denorm) & EMU_KEEPS_SOURCES) return row;
  EMU_SIZED(flush_row)(wave, room, row);
  return room;
}

void F(emu_round_as_)(const emu_wave *wave, KERNEL *kernel, ROW *out, const ROW *a, const ROW *b,
                      const ROW *c) {
  if (MODE(round) == 0) {
    kernel(wave, out, a, b, c);
    return;
  }
  int before = emu_enter_rounding(MODE(round));
  kernel(wave, out, a, b, c);
  emu_leave_rounding(before);
}

void F(emu_finish_)(const emu_wave *wave, const emu_inst *inst, ROW *out) {
  if (!(MODE(denorm) & EMU_KEEPS_RESULTS)) {
    EMU_SIZED(emu_real) factor = (EMU_SIZED(emu_real))find_factor(wave, inst);
    if (factor != 1) EMU_FOR_LANES(wave) out->f[lane] *= factor;
    EMU_SIZED(flush_row)(wave, out, out);
    if (factor != 1) EMU_FOR_LANES(wave) out->f[lane] += 0;
  }
  if (!inst->mod.clamp) return;
  bool dx10_clamp = wave->mode.dx10_clamp;
  EMU_FOR_LANES(wave) out->f[lane] = EMU_SIZED(emu_clamp)(out->f[lane], dx10_clamp);
}

static void EMU_SIZED(run_rows)(emu_wave *wave, const emu_inst *inst, KERNEL *kernel,
                                const ROW *const src[3]) {
  ROW room;
  ROW *out = EMU_SIZED(find_target)(wave, inst, &room);
  F(emu_round_as_)(wave, kernel, out, src[0], src[1], src[2]);
  if (!wave->mode.is_plain || inst->mod.clamp) F(emu_finish_)(wave, inst, out);
  EMU_SIZED(emu_put)(wave, inst, 0, out);
}

void F(emu_run_)(emu_wave *wave, const emu_inst *inst, unsigned nsrc, KERNEL *kernel) {
  ROW rooms[3];
  const ROW *src[3] = {NULL, NULL, NULL};
  for (unsigned n = 0; n < nsrc; n++) src[n] = F(emu_src_)(wave, inst, n, &rooms[n]);
  EMU_SIZED(run_rows)(wave, inst, kernel, src);
}

void F(emu_accumulate_)(emu_wave *wave, const emu_inst *inst, KERNEL *kernel) {
  ROW rooms[3];
  const ROW *src[3] = {F(emu_src_)(wave, inst, 0, &rooms[0]), F(emu_src_)(wave, inst, 1, &rooms[1]),
                       EMU_SIZED(find_old)(wave, inst, &rooms[2])};
  if (!(MODE(denorm) & EMU_KEEPS_SOURCES)) {
    EMU_SIZED(flush_row)(wave, &rooms[2], src[2]);
    src[2] = &rooms[2];
  }
  EMU_SIZED(run_rows)(wave, inst, kernel, src);
}

void F(emu_compare_)(emu_wave *wave, const emu_inst *inst, EMU_SIZED(emu_test) * test) {
  ROW rooms[2];
  emu_row out;
  const ROW *a = F(emu_src_)(wave, inst, 0, &rooms[0]);
  const ROW *b = F(emu_src_)(wave, inst, 1, &rooms[1]);
  test(wave, &out, a, b, NULL);
  emu_put_mask(wave, inst, 0, &out);
}

#undef ROW
#undef KERNEL
#undef F
#undef MODE
