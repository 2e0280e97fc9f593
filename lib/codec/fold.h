// Small steps in either direction as small numbers: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ... A step is new minus
// old, both taken as unsigned integers, and wraps.
#pragma once

namespace wdelta {

template <class T>
T Fold(T step) {
  const T sign = static_cast<T>(step >> (8 * sizeof(T) - 1));
  return static_cast<T>(static_cast<T>(step << 1) ^ static_cast<T>(0 - sign));
}

template <class T>
T Unfold(T folded) {
  return static_cast<T>(static_cast<T>(folded >> 1) ^ static_cast<T>(0 - (folded & 1)));
}

}  // namespace wdelta
