// What remote.h promises, as one suite for every store. A store's own test is then a few lines: how to open it.
#pragma once

#include <functional>
#include <memory>

#include "remote/remote.h"

namespace wdelta {

struct ContractTraits {
  bool writable = true;    // false: `open_writer` opens the same place for writing
  bool can_list = true;    // false: List must be kRefused
  bool etags = true;       // tells versions and minds them; false: Write(kIfEtag) must be kRefused
  bool large = false;      // also an object of 70 MiB
  unsigned listed = 1500;  // objects in the test of paging
  unsigned racers = 16;    // threads that create, or replace, the same object
};

using OpenForTest = std::function<std::unique_ptr<Remote>()>;

// To be called in a TEST_CASE. Each call of `open` gives a new handle on the same place; what is there already, below
// other names than "contract-...", is left alone. Everything that was created is removed again.
void CheckContract(const OpenForTest& open, const ContractTraits& traits = {}, const OpenForTest& open_writer = {});

// What the library makes of a store whose answers may be damaged: records, objects and the end of a history are right,
// or refused as kIntegrity, and never wrong. `open` and `open_writer` are handles on a place that is empty.
void CheckDamageIsFound(const OpenForTest& open, const OpenForTest& open_writer);

}  // namespace wdelta
