// The words that the reports of the public face share.
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
