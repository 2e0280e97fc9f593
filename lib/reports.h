// The words that the requests and reports of the public face share, and those that the inside of the library uses, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/context.h"
#include "core/words.h"

namespace wdelta {

// Who a checkpoint is, as SHA-256 in hex. `fingerprint`: its tensors, in whatever files they lie. `layout`: file
// names, headers, companions. `state`: both, this very checkpoint.
struct Identity {
  std::string fingerprint, layout, state;
};

WDELTA_EXPORT std::string_view ChangeName(ChangeKind kind);  // "same", "changed", ...

struct TensorChange {
  std::string name;
  ChangeKind kind = ChangeKind::kSame;
  std::string dtype, old_dtype;  // old_: of the base, where it differs
  std::vector<uint64_t> shape, old_shape;
  std::string shard;  // file that holds it in the new checkpoint (removed: in the base)
  uint64_t elements = 0, elements_changed = 0;
  uint64_t bytes = 0;
};

struct FileChange {
  std::string path;
  ChangeKind kind = ChangeKind::kChanged;
  bool is_header = false;  // the header of a shard: its metadata, order or padding; else a companion
};

// What a record says.
struct RecordInfo {
  uint64_t number = 0;
  std::optional<uint64_t> step;
  uint64_t created = 0;  // seconds since 1970
  std::string state, fingerprint;
  Totals totals;  // of listed records only elements_total, elements_changed and bytes_total are known
  std::optional<uint64_t> delta_bytes, anchor_bytes;
  std::vector<std::string> tags;
};

// How the checkpoint of a push is kept as the base of the next one.
enum class KeepBase { kLink, kCopy, kOff };

// How a push is to be done, whichever kind of store it goes to.
struct PushOptions {
  std::string source{};  // a checkpoint, a pack, or "-"
  FileChoice files{};    // of the source, and of a base that the user names
  std::optional<uint64_t> step{};
  std::string tag{};
  std::string base{}, mirror{};  // paths; at most one is given; neither: the checkpoint of the last push
  KeepBase keep_base = KeepBase::kLink;
  bool anchor = false;              // if there is no base, send the whole checkpoint
  bool rebase = false;              // compute against the newest record, also if another pusher made it
  bool single_writer = false;       // no other process pushes: a store without create-if-absent will do
  uint64_t anchor_every = 0;        // after the commit, add an anchor if the last one is this many records back
  std::string ready{}, released{};  // markers: wait for the one, create the other when the source may be overwritten
  Level level = Level::kDefault;
  double lock_wait = 0;                // seconds
  std::string encoding{}, checksum{};  // canonical: as in PackRequest
  std::string run{};                   // canonical: the run that the pointer names; empty: the last part of the URL
};

// What a push did.
struct PushReport {
  RecordInfo record;
  std::string base_state, base_fingerprint;
  bool already_there = false;  // the newest record has this very state and step
  uint64_t wire_bytes = 0, retries = 0;
  std::optional<uint64_t> new_anchor_bytes;  // of the anchor that was added
  double pack_seconds = 0, upload_seconds = 0, commit_seconds = 0;
};

// A pack on the way to a record.
struct PlanStep {
  uint64_t from = 0, to = 0;  // records; from 0: an anchor, which needs no base
  uint64_t bytes = 0, missing_bytes = 0;
};

// What a pull did.
struct PullFigures {
  std::optional<uint64_t> previous;  // the record before this pull
  bool up_to_date = false;           // nothing had to be done
  bool update_exists = false;        // with `check` or `plan`: something would be
  std::vector<PlanStep> plan;
  uint64_t wire_bytes = 0, lag_records = 0;
  double download_seconds = 0, apply_seconds = 0;
};

// What gc keeps, and what it removed.
struct GcOptions {
  uint64_t keep = 50;    // the newest records, at least 1
  double keep_for = 0;   // and those younger than so many seconds
  double grace = 86400;  // objects younger than that are left alone, by the store's clock
  bool remove = false;   // else only say what would be
};
struct GcReport {
  uint64_t records = 0, first_kept = 0;
  uint64_t objects_total = 0, bytes_total = 0;
  uint64_t objects_removed = 0, bytes_removed = 0;
  uint64_t objects_too_young = 0;
};

// What was found in a whole history.
struct VerifyRemoteReport {
  uint64_t records = 0, objects = 0, bytes = 0;
  uint64_t collected = 0;  // records whose own objects are gone, but which none of the others needs
  RecordInfo head;
};

// The tensors of a report summed up by layer, module, dtype or shard, or all in one row, in order of first appearance.
// A tensor of one expert belongs to the module of all experts.
enum class GroupBy { kTensor, kLayer, kModule, kDtype, kShard, kWhole };
struct GroupRow {
  std::string name;
  uint64_t tensors = 0, tensors_changed = 0, elements = 0, elements_changed = 0;
  // Only where both sides were read (Stats).
  uint64_t rows_total = 0, rows_touched = 0, nan = 0, inf = 0;
  uint64_t experts_total = 0, experts_touched = 0;  // counted once for each layer, however many tensors one has
};
WDELTA_EXPORT std::vector<GroupRow> Group(const std::vector<TensorChange>& tensors, GroupBy by);

}  // namespace wdelta
