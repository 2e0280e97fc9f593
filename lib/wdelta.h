// The public face of libwdelta: what the `wdelta` program can do, as calls. Everything else in the library is private.
//
// Start here:  Diff (what changed?), Pack (make it shippable), Apply (rebuild), Verify (prove), Cat (look inside).
// reports.h has what requests and reports share, stats_report.h has Stats (how sparse? within limits?).
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

#include "core/context.h"
#include "core/json_object.h"
#include "reports.h"
#include "stats_report.h"

namespace wdelta {

// ---- The calls ------------------------------------------------------------------------------------------------------

// What changed between two checkpoints, each a path or a record of a remote (URL@REV). Records are rebuilt in a
// temporary folder under `work`, from the other side where its state is one of the history. With `by_digests`, where a
// side has to be a record, nothing is fetched but indexes: the report tells which tensors differ, and not how much.
struct DiffRequest {
  std::string base{}, next{};  // `next` may also be a delta that starts from `base`
  std::string output{};        // also write a plain delta here; empty: none, and no digests are computed
  bool by_digests = false;
  std::string work{};  // empty: the current folder
  TransferOptions transfer{};
  FileChoice files{};
};
struct DiffReport {
  Totals totals;  // by digests: of tensors only
  Identity base, result;
  std::vector<TensorChange> tensors;  // every tensor of either side, by name; by digests: names of those that differ
  std::vector<FileChange> files;      // only those that differ; by digests: not known
  bool layout_differs = false;        // by digests: the tensors are the same, a header or a companion file is not
  std::optional<uint64_t> delta_bytes;
  std::optional<RecordInfo> base_record, next_record;  // of the sides that are records
  uint64_t wire_bytes = 0;                             // that it took to rebuild them
  bool different() const {
    return totals.elements_changed || totals.tensors_changed || totals.tensors_added || totals.tensors_removed ||
           totals.files_changed || layout_differs;
  }
};
WDELTA_EXPORT Result<DiffReport> Diff(const DiffRequest& request, const Context& context);

struct PackRequest {
  std::vector<std::string> inputs;  // BASE NEW; or deltas, with `base`; or one checkpoint, with `anchor`
  std::string base;
  bool anchor = false;
  std::string output;
  Level level = Level::kDefault;
  std::string codec;                  // force one codec by name; empty: the best for each block
  bool check = true;                  // decode every block again and compare
  std::string format = "wdp";         // or "plain", or of others: "canonical", "skyrl" (folders), "trl"
  std::string encoding;               // canonical: "xor" or "overwrite"; trl: "indices" or "raw"; empty: the first
  std::string checksum;               // canonical: "xxh3-128" or "adler32"; empty: the first
  std::string version, base_version;  // what others call result and base; empty: 1 and 0, as each writes them
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
  std::string target;   // a checkpoint, a pack, a plain delta, or a folder that a pull keeps
  std::string against;  // checkpoint against its pack or another checkpoint; a delta against its base; may be empty
  bool quick = false;   // structure only: no tensor data are read
  FileChoice files;
};
struct VerifyReport {
  std::string kind;  // "checkpoint", "pack", "plain delta" or "pulled folder"
  Identity identity;
  uint64_t tensors_total = 0, bytes_total = 0;
};
WDELTA_EXPORT Result<VerifyReport> Verify(const VerifyRequest& request, const Context& context);

// ---- The calls that speak with a remote --------------------------------------------------------------------------
//
// A remote is a URL: file:///mnt/share/run7, s3://bucket/run7, hf://buckets/ORG/NAME/run7, or, to read only,
// https://host/run7. It holds the history of one model: numbered records, each with the packs that lead to it. Where a
// record is wanted, URL@REV names one: HEAD, HEAD~3, 17, step:95, a tag, or digits of a state.

struct PushRequest : PushOptions {
  std::string remote;
  std::string format = "wdp";  // or "canonical": versions as SGLang and Stitch read them, instead of a history
  TransferOptions transfer;
};
WDELTA_EXPORT Result<PushReport> Push(const PushRequest& request, const Context& context);

struct PullReport : PullFigures {
  RecordInfo record;  // that the folder is at now
  std::string path;   // of its version
  uint64_t retries = 0;
};
struct PullRequest {
  std::string remote;  // URL or URL@REV
  std::string folder;
  bool in_place = false;             // patch the one version there is
  std::string marker;                // and keep this program's marker in it: "sglang"
  unsigned keep = 2;                 // versions
  std::string base;                  // a checkpoint to begin with instead of an anchor
  bool check = false, plan = false;  // only say whether, or how
  bool allow_rollback = false;
  double max_age = 0;    // seconds: refuse a newest record that is older; 0: any
  double lock_wait = 0;  // seconds
  TransferOptions transfer;
  // Called after the switch; again at the next pull if it failed.
  std::function<Result<>(const PullReport& report)> hook;
};
WDELTA_EXPORT Result<PullReport> Pull(const PullRequest& request, const Context& context);

// Runs `command` by /bin/sh, with `variables` added to the environment of `context` and credentials taken out of it,
// and `input` on its standard input. kHook if it fails.
WDELTA_EXPORT Result<> RunHook(const std::string& command,
                               const std::vector<std::pair<std::string, std::string>>& variables,
                               const std::string& input, const Context& context);

struct LogRequest {
  std::string remote;  // URL, URL@REV or URL@A..B
  uint64_t most = 0;   // only so many, the newest; 0: all
  TransferOptions transfer;
};
WDELTA_EXPORT Result<std::vector<RecordInfo>> Log(const LogRequest& request, const Context& context);  // newest first

struct TagRequest {
  std::string remote;  // URL@REV
  std::string name;
  bool force = false, remove = false;
  TransferOptions transfer;
};
WDELTA_EXPORT Result<RecordInfo> TagRecord(const TagRequest& request, const Context& context);

// Appends a record with the state of an older one. Rebuilds both ends in a temporary folder under `work`.
struct RevertRequest {
  std::string remote, to;
  std::optional<uint64_t> step;  // absent: the older record's
  std::string work;
  TransferOptions transfer;
};
WDELTA_EXPORT Result<PushReport> Revert(const RevertRequest& request, const Context& context);

struct GcRequest : GcOptions {
  std::string remote;
  TransferOptions transfer;
};
WDELTA_EXPORT Result<GcReport> Gc(const GcRequest& request, const Context& context);

struct IdRequest {
  std::string checkpoint;
  std::string remote;  // where to look for it; may be empty
  TransferOptions transfer;
  FileChoice files;
};
struct IdReport {
  Identity identity;
  std::optional<RecordInfo> record;    // with this very state, or with these tensors
  bool same_layout = false;            // false: the tensors are the record's, some header or companion is not
  std::optional<RecordInfo> nearest;   // the record with the fewest other tensors, if none has all of these
  std::vector<std::string> differing;  // those tensors
};
WDELTA_EXPORT Result<IdReport> Id(const IdRequest& request, const Context& context);

// Is everything there that a history needs, and is it what it should be? Fetches every object, unless `quick`.
struct VerifyRemoteRequest {
  std::string remote;  // URL or URL@REV: the record that is rebuilt
  bool quick = false;  // only look whether the objects are there
  TransferOptions transfer;
};
WDELTA_EXPORT Result<VerifyRemoteReport> VerifyRemote(const VerifyRemoteRequest& request, const Context& context);

struct DoctorRequest {
  std::string remote, folder;  // either may be empty
  TransferOptions transfer;
};
struct Finding {
  std::string name, text;
  bool problem = false;
};
WDELTA_EXPORT Result<std::vector<Finding>> Doctor(const DoctorRequest& request, const Context& context);

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

// ---- Small things that every front end needs ----------------------------------------------------------------------

// `text` as a JSON string literal with its quotes; bytes that are no UTF-8 become U+FFFD.
WDELTA_EXPORT std::string JsonString(std::string_view text);

// `text` safe for a terminal: control characters, bidirectional overrides and invalid UTF-8 become visible escapes.
WDELTA_EXPORT std::string TerminalText(std::string_view text);

// Whether `text` is the URL of a remote, with or without a revision: its scheme is one that wdelta knows.
WDELTA_EXPORT bool IsRemoteName(std::string_view text);

// "0.1.0", the commit it was built from, and the libraries it runs on.
struct VersionInfo {
  std::string version, commit, libraries;
};
WDELTA_EXPORT VersionInfo Version();

}  // namespace wdelta
