// What the processor that this runs on can do.
#pragma once

namespace wdelta {

// AVX2, and the bit instructions that came with it. Where this is false, functions that are compiled for them must not
// be called.
inline bool HasAvx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has;
#else
  return false;
#endif
}

}  // namespace wdelta
