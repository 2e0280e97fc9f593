// The records of a history, as values. A record says that the model is now in this state, and how to get there: by a
// delta from the record before, or by an anchor, the whole checkpoint. Records are numbered from 1 on without gaps, and
// each is made by create-if-absent at a key that follows from its number, so that one write is both the commit and the
// check for a conflict. They are never changed and never deleted. wdelta-remote(5) has the bytes.
//
// A record repeats what matters of some records before it (FirstCovered), so that a reader that is hundreds of records
// behind needs few reads: from any record a walk over 500 earlier ones takes six reads at most.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/digest.h"
#include "core/words.h"

namespace wdelta {

// No object is larger. Packs are cut into objects at the borders of their blocks.
inline constexpr uint64_t kMaxObjectBytes = uint64_t{512} << 20;
inline constexpr uint64_t kMaxRecordBytes = uint64_t{16} << 20;
inline constexpr uint64_t kMaxRecordNumber = 999'999'999'999;

// Part of a pack in the store, under a key that is its SHA-256.
struct ObjectRef {
  Sha256Digest sha256{};
  uint64_t bytes = 0;
  bool operator==(const ObjectRef&) const = default;
};

// How a record's state can be reached: a pack, in one or more objects one after the other.
struct Way {
  uint64_t from = 0;  // the record whose state it begins with; 0: none, an anchor
  std::vector<ObjectRef> objects;

  bool anchor() const { return from == 0; }
  uint64_t bytes() const;
  bool operator==(const Way&) const = default;
};

// What later records repeat of a record.
struct RecordEntry {
  uint64_t number = 0;
  Sha256Digest record{};  // SHA-256 of the record's bytes
  Sha256Digest state{}, fingerprint{};
  std::optional<uint64_t> step;
  uint64_t created = 0;  // seconds since 1970 by the clock of its writer
  std::optional<Way> delta, anchor;
  uint64_t elements_total = 0, elements_changed = 0, bytes_total = 0;
  bool operator==(const RecordEntry&) const = default;
};

struct Record {
  std::string history;      // 32 random hex digits: which history it belongs to
  std::string writer;       // 32 random hex digits: which push made it
  Sha256Digest previous{};  // SHA-256 of the bytes of the record before; all zero for the first
  RecordEntry entry;        // its own `record` is filled in by ParseRecord
  Sha256Digest layout{};
  Sha256Digest base_state{}, base_fingerprint{};  // of the delta's base; all zero without one
  Totals totals;
  std::vector<RecordEntry> earlier;  // FirstCovered(number) to number - 1
  Sha256Digest before{};  // SHA-256 of the bytes of record FirstCovered(number) - 1, which a walk back reads next
};

// The lowest number that record `number` repeats; `number` itself if it repeats none.
uint64_t FirstCovered(uint64_t number);

// The last field, "check", is the beginning of the SHA-256 of all bytes before it: a bit that flips on the way to a
// reader must not get into the records that this reader writes.
std::string RecordText(const Record& record);
// How the text of a record ends, given all before.
std::string RecordCheck(std::string_view text);
// Checks all that can be checked without another record. kIntegrity; kRefused for a version that is too new.
Result<Record> ParseRecord(ByteSpan bytes, uint64_t expected_number);

// An anchor or a jump that was made after its record.
struct AddedWay {
  std::string history;
  uint64_t number = 0;  // the record that it leads to
  Sha256Digest state{};
  Way way;
};
std::string AddedWayText(const AddedWay& added);
Result<AddedWay> ParseAddedWay(ByteSpan bytes);

// A hint where the end of the history is, and which ways were added. It may be old or lost: it is only where to begin.
struct TipHint {
  uint64_t number = 0;
  std::vector<uint64_t> anchors;                     // records that got an anchor afterwards, rising
  std::vector<std::pair<uint64_t, uint64_t>> jumps;  // from, to
};
std::string TipHintText(const TipHint& hint);
Result<TipHint> ParseTipHint(ByteSpan bytes);

// A name for a record. gc keeps the objects that lead to it.
struct Tag {
  uint64_t number = 0;
  Sha256Digest state{};
};
std::string TagText(const Tag& tag);
Result<Tag> ParseTag(ByteSpan bytes);

// Keys below the remote's URL.
std::string RecordKey(uint64_t number);
std::optional<uint64_t> RecordNumberOf(std::string_view key);
std::string ObjectKey(const Sha256Digest& sha256);
std::string AddedWayKey(uint64_t number, uint64_t from);
std::string TagKey(std::string_view name);
inline constexpr const char* kTipKey = "tip.json";
inline constexpr const char* kRecordPrefix = "records/";
inline constexpr const char* kObjectPrefix = "objects/";
inline constexpr const char* kWayPrefix = "ways/";
inline constexpr const char* kTagPrefix = "tags/";
// The pointer of a store of versions for other systems (canonical/): a history never begins beside one.
inline constexpr const char* kLatestKey = "latest";

}  // namespace wdelta
