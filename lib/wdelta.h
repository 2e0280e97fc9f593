// The public face of libwdelta: what the `wdelta` program can do, as calls. Everything else in the library is private.
//
// Start here:  Diff (what changed?), Pack (make it shippable), Apply (rebuild), Verify (prove), Cat (look inside).
// Each takes a request and a Context and returns a report, or an Error; none writes to the terminal, and none throws.
// A path of "-" is standard input or output. A checkpoint is a .safetensors file, or a folder of them with its
// companions (config, tokenizer). The calls may run at the same time in different threads.
//
// Hexadecimal strings in reports are empty, and optional figures are absent, when they were not computed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"

namespace wdelta {

// ---- How a call runs, and what it says on the way -----------------------------------------------------------------

struct Progress {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;
};

struct Context {
  unsigned threads = 0;  // 0: one for each processor
  NoteSink note = [](const std::string&) {};
  // Called as work goes on, from any thread but never from two at a time.
  std::function<void(const Progress&)> progress = [](const Progress&) {};
};

// Makes the calls under way end soon with kInterrupted, leaving nothing half done. Safe in a signal handler.
WDELTA_EXPORT void RequestStop() noexcept;

// ---- The words that reports share -----------------------------------------------------------------------------------

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

// ---- The calls ------------------------------------------------------------------------------------------------------

struct DiffRequest {
  std::string base, next;
  std::string output;  // also write a plain delta here; empty: none, and no digests are computed
  FileChoice files;
};
struct DiffReport {
  Totals totals;
  Identity base, result;
  std::vector<TensorChange> tensors;  // every tensor of either side, by name
  std::vector<FileChange> files;      // only those that differ
  std::optional<uint64_t> delta_bytes;
  bool different() const {
    return totals.elements_changed || totals.tensors_changed || totals.tensors_added || totals.tensors_removed ||
           totals.files_changed;
  }
};
WDELTA_EXPORT Result<DiffReport> Diff(const DiffRequest& request, const Context& context);

// The tensors of a report summed up by layer, dtype or shard, in order of first appearance.
enum class GroupBy { kTensor, kLayer, kDtype, kShard };
struct GroupRow {
  std::string name;
  uint64_t tensors = 0, tensors_changed = 0, elements = 0, elements_changed = 0;
};
WDELTA_EXPORT std::vector<GroupRow> Group(const std::vector<TensorChange>& tensors, GroupBy by);

struct PackRequest {
  std::vector<std::string> inputs;  // BASE NEW; or deltas, with `base`; or one checkpoint, with `anchor`
  std::string base;
  bool anchor = false;
  std::string output;
  Level level = Level::kDefault;
  std::string codec;  // force one codec by name; empty: the best for each block
  bool check = true;  // decode every block again and compare
  FileChoice files;
};
struct PackReport {
  Totals totals;
  Identity base, result;
  uint64_t delta_bytes = 0;
  std::string sha256;  // of the pack
};
WDELTA_EXPORT Result<PackReport> Pack(const PackRequest& request, const Context& context);

struct ApplyRequest {
  std::string base;
  std::vector<std::string> deltas;
  std::string output;     // a new checkpoint
  bool in_place = false;  // or: patch `base` itself
  bool durable = true;    // fsync before the result gets its name
};
struct ApplyReport {
  Totals totals;
  Identity base, result;
  std::string path;  // the checkpoint that now has the result
  bool already_applied = false;
};
WDELTA_EXPORT Result<ApplyReport> Apply(const ApplyRequest& request, const Context& context);

struct VerifyRequest {
  std::string target;   // a checkpoint, a pack or a plain delta
  std::string against;  // checkpoint against its pack or another checkpoint; a delta against its base; may be empty
  bool quick = false;   // structure only: no tensor data are read
  FileChoice files;
};
struct VerifyReport {
  std::string kind;  // "checkpoint", "pack" or "plain delta"
  Identity identity;
  uint64_t tensors_total = 0, bytes_total = 0;
};
WDELTA_EXPORT Result<VerifyReport> Verify(const VerifyRequest& request, const Context& context);

struct CatRequest {
  std::string subject;  // a checkpoint, a pack or a plain delta
  std::string tensor;   // empty: the index
  std::string output;   // where a tensor's bytes go, "-" or a file
};
struct CatReport {
  std::string kind;
  Identity base, result;
  Totals totals;
  bool is_delta = false;
  std::vector<TensorChange> tensors;
  std::vector<FileChange> files;  // delta: files that it carries; checkpoint: its files
  uint64_t bytes = 0;             // size of the subject, or of the tensor written
};
WDELTA_EXPORT Result<CatReport> Cat(const CatRequest& request, const Context& context);

// ---- Small things that every front end needs
// --------------------------------------------------------------------------

// `text` as a JSON string literal with its quotes; bytes that are no UTF-8 become U+FFFD.
WDELTA_EXPORT std::string JsonString(std::string_view text);

// `text` safe for a terminal: control characters, bidirectional overrides and invalid UTF-8 become visible escapes.
WDELTA_EXPORT std::string TerminalText(std::string_view text);

// "0.1.0", the commit it was built from, and the libraries it runs on.
struct VersionInfo {
  std::string version, commit, libraries;
};
WDELTA_EXPORT VersionInfo Version();

}  // namespace wdelta
