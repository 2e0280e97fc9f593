// Opens what deltas of any format, ours and those of other systems, lead to.
#include "foreign/foreign_target.h"

namespace wdelta {

namespace {

Result<> CheckVersion(const ForeignDelta& delta, const std::string& version, const std::string& path_before) {
  if (version.empty() || delta.base_version().empty() || version == delta.base_version()) return {};
  return Error{ErrorKind::kConflict,
               "the base of '" + delta.path() + "' is version '" + delta.base_version() + "', and '" + path_before +
                   "' produces version '" + version + "'",
               "give all deltas, in their order"}
      .At(delta.path())
      .Compared(delta.base_version(), version);
}

void NoteMissingChecksums(const ForeignDelta& delta, const Context& context) {
  for (const ForeignTensor& tensor : delta.tensors()) {
    if (tensor.checksum_kind != ForeignChecksum::kNone) continue;
    context.note("'" + delta.path() + "' is a " + std::string(delta.kind()) +
                 ", which has no checksums: neither its base nor its result can be verified");
    return;
  }
}

// Stacks runs of deltas of one kind on what is below: our own become a chain, foreign ones a foreign target.
class Stack {
 public:
  Stack(OpenedTarget& opened, const Context& context) : opened_(opened), context_(context) {}

  Result<> Add(std::unique_ptr<DeltaReader> delta) {
    WD_TRY(CloseForeign());
    opened_.delta_bytes += delta->bytes();
    version_.clear();
    own_.push_back(std::move(delta));
    return {};
  }
  Result<> Add(std::unique_ptr<ForeignDelta> delta, const std::string& path_before) {
    WD_TRY(CloseOwn());
    WD_TRY(CheckVersion(*delta, version_, path_before));
    NoteMissingChecksums(*delta, context_);
    opened_.delta_bytes += delta->bytes();
    version_ = delta->version();
    foreign_.push_back(std::move(delta));
    return {};
  }
  Result<> CloseOwn() {
    if (own_.empty()) return {};
    WD_ASSIGN(opened_.target, OpenChain(std::move(opened_.target), std::move(own_)));
    own_.clear();
    return {};
  }
  Result<> CloseForeign() {
    if (foreign_.empty()) return {};
    WD_ASSIGN(opened_.target, ForeignTarget::Open(std::move(opened_.target), std::move(foreign_), context_.note));
    foreign_.clear();
    return {};
  }

 private:
  OpenedTarget& opened_;
  const Context& context_;
  std::vector<std::unique_ptr<DeltaReader>> own_;
  ForeignTarget::Deltas foreign_;
  std::string version_;  // that the foreign delta just before leads to
};

}  // namespace

Result<OpenedTarget> OpenTarget(const std::string& base, const std::vector<std::string>& deltas,
                                const FileChoice& files, Trust trust, const Context& context) {
  bool from_anchor = base == "-";
  if (!from_anchor && IsRegularFile(base)) {
    WD_ASSIGN(from_anchor, LooksLikeDelta(base));
  }
  std::vector<std::string> paths = deltas;
  if (from_anchor) paths.insert(paths.begin(), base);
  if (paths.empty()) {
    return Error{ErrorKind::kUsage, "no delta to apply",
                 "only an anchor is rebuilt without one: 'wdelta pack --anchor'"};
  }
  std::vector<std::string> own;
  for (const std::string& path : paths) {
    if (!LooksForeign(path)) own.push_back(path);
  }
  // All of ours are opened before the base, because the last of them knows the companions.
  WD_ASSIGN(std::vector<std::unique_ptr<DeltaReader>> readers, OpenDeltas(own, trust, context));
  OpenedTarget opened;
  if (!from_anchor) {
    WD_ASSIGN(opened, OpenBase(base, readers, files, context));
  }
  Stack stack(opened, context);
  size_t next_own = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (next_own < own.size() && own[next_own] == paths[i]) {
      WD_TRY(stack.Add(std::move(readers[next_own++])));
      continue;
    }
    if (!opened.target && i == 0) return Error{ErrorKind::kUsage, "'" + paths[i] + "' needs a base"};
    WD_ASSIGN(std::unique_ptr<ForeignDelta> delta, OpenForeign(paths[i], context.environment));
    WD_TRY(stack.Add(std::move(delta), i > 0 ? paths[i - 1] : base));
  }
  WD_TRY(stack.CloseOwn());
  WD_TRY(stack.CloseForeign());
  return opened;
}

}  // namespace wdelta
