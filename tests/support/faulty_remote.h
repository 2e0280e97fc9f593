// A remote around another one in which things go wrong, by a script or at random from a seed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "remote/remote.h"

namespace wdelta {

enum class Fault {
  kNone,
  kFail,             // kTransient, and nothing was done
  kLoseAnswer,       // it was done, but the answer is kTransient
  kCutShort,         // a read brings half of the bytes; what it says of the object's size stays true
  kFlipBit,          // a read brings all bytes, one bit of them wrong
  kDelay,            // a moment later than others
  kIgnoreCondition,  // a write replaces, whatever its rule
};

// Decides about a call: "read", "write", "stat", "list" or "remove", and the key. Called from several threads.
using FaultScript = std::function<Fault(std::string_view method, const std::string& key)>;

// These, call by call, then none.
FaultScript InOrder(std::vector<Fault> faults);
// One of `which` in every `one_in` calls or so.
FaultScript AtRandom(uint64_t seed, std::vector<Fault> which, unsigned one_in);

std::unique_ptr<Remote> WithFaults(std::unique_ptr<Remote> inner, FaultScript script);
// With all faults that retries can mend, one in eight calls, and retries around it that do not wait.
std::unique_ptr<Remote> BehindFaults(std::unique_ptr<Remote> inner, uint64_t seed);
// The same, one in `one_in` calls, with flipped bits among them, which no retry can see.
std::unique_ptr<Remote> BehindDamage(std::unique_ptr<Remote> inner, uint64_t seed, unsigned one_in);

}  // namespace wdelta
