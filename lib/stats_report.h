// What `stats` finds out: how sparse an update is, where its changes sit, what it costs to send, and whether that is
// within limits. A part of the public face, kept apart from wdelta.h for its length.
//
// Figures are of one of three depths. A history or several deltas are told from records and indexes alone: totals only.
// One delta is told from its index: totals, and the tensors that it touches. Two checkpoints, or a delta with its base,
// are read in full: then each tensor has a tally, and exponents, steps and movers are filled.
#pragma once

#include <map>

#include "reports.h"

namespace wdelta {

// Where a tensor sits in its model, read off its name.
//
//   model.layers.12.mlp.experts.7.up_proj.weight    stack model.layers, layer 12, module mlp.experts.up_proj, expert 7
//   model.embed_tokens.weight                       no stack, module model.embed_tokens
struct TensorPlace {
  std::string stack;              // what stands before the number of the layer; empty: outside all layers
  std::optional<uint64_t> layer;  // its number
  std::string layer_name;         // stack and number, or the module
  std::string module;             // without the number of an expert, and without "weight" or "bias" at the end
  std::optional<uint64_t> expert;
};
WDELTA_EXPORT TensorPlace PlaceOf(std::string_view tensor_name);

// What reading both sides of a tensor, or of a part of one, tells about its elements as numbers.
struct NumberTally {
  uint64_t nan = 0, inf = 0;  // in the new tensor
  uint64_t base_nan = 0, base_inf = 0;
  // The element whose number changed most, among finite ones; zero if none did.
  double largest_change = 0, largest_before = 0, largest_after = 0;
  uint64_t largest_at = 0;    // its index in the tensor
  double squared_change = 0;  // sum of (new - old)^2 over finite elements
};

// What it tells beside the number of changed elements. A row is a run of the last dimension.
struct TensorTally : NumberTally {
  uint64_t rows_total = 0, rows_touched = 0;
  std::vector<bool> expert_touched;  // of a tensor that stacks all experts of a layer: one for each
};

struct TensorStats : TensorChange {
  TensorPlace place;
  std::optional<TensorTally> tally;
};

// As for a diff, and with what the tallies say.
WDELTA_EXPORT std::vector<GroupRow> Group(const std::vector<TensorStats>& tensors, GroupBy by);

// Changed share by magnitude: weights with 2^exponent <= |w| < 2^(exponent + 1) in the base.
struct ExponentRow {
  int exponent = 0;
  uint64_t elements = 0, elements_changed = 0;
};
struct ExponentTable {
  std::string dtype;
  std::vector<ExponentRow> rows;  // rising; from the first that occurs to the last
  ExponentRow tiny;               // zeros and subnormals
  ExponentRow special;            // infinities and NaN
};

// How far the bit patterns of changed elements moved, in steps from one representable number to the next.
struct StepRow {
  uint64_t least = 0, most = 0;  // of this row: 1, 2, 3-4, 5-8, ...
  uint64_t down = 0, up = 0;     // elements that became smaller, or larger
};

struct EncodingSize {
  std::string name;   // "wdelta default", "XOR, zstd -1"
  std::string users;  // who sends this; empty for wdelta and for bounds
  uint64_t bytes = 0;
  bool is_bound = false;  // an entropy, which no encoding of its kind can go below
};

// One record of a history, or one of several deltas.
struct StatsRecord {
  std::string name;  // the number of the record, or the path of the delta
  RecordInfo info;
};

enum class StatsSubject { kCheckpoints, kDelta, kDeltaAndBase, kDeltas, kHistory };

struct StatsReport {
  StatsSubject subject = StatsSubject::kCheckpoints;
  std::vector<std::string> names;  // of the subjects, as they were given
  Totals totals;                   // kDeltas, kHistory: summed over the records
  Identity base, result;           // as far as they were computed
  std::optional<uint64_t> delta_bytes;
  std::vector<TensorStats> tensors;  // by name; kDelta: only those that are not simply the base's
  GroupRow whole;                    // all of them in one row
  std::vector<FileChange> files;     // only those that differ
  std::vector<ExponentTable> exponents;
  std::vector<StepRow> steps;
  uint64_t nan = 0, inf = 0, base_nan = 0, base_inf = 0;
  std::vector<size_t> movers;           // of `tensors`, by the largest change of one element, at most ten
  std::vector<EncodingSize> encodings;  // only when asked for
  std::vector<StatsRecord> records;     // oldest first
  std::vector<std::string> findings;    // a sentence for each thing that is unusual

  bool has_tensors() const { return subject <= StatsSubject::kDeltaAndBase; }
  bool has_tallies() const { return subject == StatsSubject::kCheckpoints || subject == StatsSubject::kDeltaAndBase; }
};

struct StatsRequest {
  std::vector<std::string> subjects;  // BASE NEW; deltas; or one REMOTE, REMOTE@REV or REMOTE@A..B
  std::string base;                   // of one delta
  bool delta_size = false;            // of checkpoints: also find out how many bytes a pack takes
  bool encodings = false;             // also the sizes at every level and in the encodings of others
  FileChoice files;
  TransferOptions transfer;
};
WDELTA_EXPORT Result<StatsReport> Stats(const StatsRequest& request, const Context& context);

// ---- Gates: is a report within limits?
// -------------------------------------------------------------------------------

// A condition that must not be true: "sparsity<0.97", "delta_bytes>200MB", "changed(model.embed_tokens.*)>0".
struct Gate {
  // A bit for each of less, equal and more: which of them fulfil it.
  enum class Relation { kLess = 1, kEqual = 2, kLessOrEqual = 3, kMore = 4, kNotEqual = 5, kMoreOrEqual = 6 };
  std::string text;     // as it was given
  std::string figure;   // "sparsity"
  std::string pattern;  // shell pattern on names of tensors; empty: the whole model
  Relation relation = Relation::kLess;
  double limit = 0;
};
WDELTA_EXPORT Result<Gate> ParseGate(std::string_view text);
// Whether it asks for what only packing tells.
WDELTA_EXPORT bool NeedsDeltaSize(const Gate& gate);

struct GateAnswer {
  Gate gate;
  double measured = 0;
  std::string where;  // the record that was measured, if there are several
  bool failed = false;
};
// kUsage if this report does not have the figure, kNotFound if the pattern matches no tensor. Of several records the
// one that is furthest over the limit is measured.
WDELTA_EXPORT Result<GateAnswer> CheckGate(const Gate& gate, const StatsReport& report);

// ---- Comparing with an earlier report
// ---------------------------------------------------------------------------------

// What a report that --json or --report wrote says of itself: the figures that are compared, as far as it has them.
using EarlierFigures = std::map<std::string, double, std::less<>>;
WDELTA_EXPORT Result<EarlierFigures> ReadEarlierReport(const std::string& path);

struct FigureChange {
  std::string name;
  std::optional<double> before, now;
  bool is_share = false;  // a part of one; else a count
  bool failed = false;    // changed by more than was tolerated
};
// `tolerance`: by how much sparsity, and the delta's share of the model, may differ (0.005: half a percentage point);
// NaN and Inf may not become more. Absent: nothing fails.
WDELTA_EXPORT std::vector<FigureChange> CompareWithEarlier(const StatsReport& report, const EarlierFigures& earlier,
                                                           const std::optional<double>& tolerance);

}  // namespace wdelta
