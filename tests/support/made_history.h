// Histories made for tests: records that hang together, without packs behind them.
#pragma once

#include <string>
#include <vector>

#include "history/record.h"

namespace wdelta {

// A digest that is told apart from others by a number.
inline Sha256Digest MadeDigest(std::string_view what, uint64_t number) {
  return Sha256().Update(what).Update(std::to_string(number)).Finish();
}

// Records 1 to `count`: an anchor of 1,000,000 bytes, then deltas of 1,000; each names its predecessor and repeats the
// earlier ones as it should. Element i is record i + 1; its entry has the digest of its bytes.
inline std::vector<Record> MadeHistory(uint64_t count) {
  std::vector<Record> records;
  for (uint64_t number = 1; number <= count; ++number) {
    Record record;
    record.history = std::string(32, 'a');
    record.writer = Hex(MadeDigest("writer", number)).substr(0, 32);
    record.layout = MadeDigest("layout", 0);
    RecordEntry& entry = record.entry;
    entry.number = number;
    entry.state = MadeDigest("state", number);
    entry.fingerprint = MadeDigest("fingerprint", number);
    entry.step = 100 + number;
    entry.created = 1'700'000'000 + number;
    entry.elements_total = 500'000;
    entry.elements_changed = number == 1 ? 500'000 : 5'000;
    entry.bytes_total = 1'000'000;
    record.totals.elements_total = entry.elements_total;
    record.totals.elements_changed = entry.elements_changed;
    record.totals.bytes_total = entry.bytes_total;
    const Way way{number - 1, {{MadeDigest("object", number), number == 1 ? 1'000'000U : 1'000U}}};
    (number == 1 ? entry.anchor : entry.delta) = way;
    if (number > 1) {
      record.previous = records.back().entry.record;
      record.base_state = records.back().entry.state;
      record.base_fingerprint = records.back().entry.fingerprint;
    }
    for (uint64_t i = FirstCovered(number); i < number; ++i) record.earlier.push_back(records[i - 1].entry);
    if (FirstCovered(number) > 1) record.before = records[FirstCovered(number) - 2].entry.record;
    entry.record = DigestSha256(AsBytes(RecordText(record)));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace wdelta
