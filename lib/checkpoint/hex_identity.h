// Digests as the hexadecimal strings of a report.
#pragma once

#include "checkpoint/identity.h"
#include "reports.h"

namespace wdelta {

inline Identity HexIdentity(const StateDigests& digests) {
  if (digests == StateDigests{}) return {};  // the base of an anchor
  return {Hex(digests.fingerprint), Hex(digests.layout), Hex(digests.state)};
}

}  // namespace wdelta
