#include "foreign/import.h"

#include <unistd.h>

#include <algorithm>

#include "foreign/foreign_side.h"
#include "walk/outbound.h"

namespace wdelta {

namespace {

// A pack of what leads from `base` through `before` to the result of the deltas.
Result<std::unique_ptr<DeltaReader>> ImportDeltas(const Checkpoint& base, const Target& before,
                                                  const ForeignTarget::Deltas& deltas, std::optional<File>& made,
                                                  const Context& context) {
  const std::string path = TemporaryPath("import");
  ForeignTarget::Passed passed(before.tensors().size());
  for (;;) {
    WD_ASSIGN(const std::unique_ptr<ForeignTarget> side, ForeignTarget::Open(before, deltas, passed));
    WD_ASSIGN(Written written, WriteDelta(&base, *side, context, [&](const DeltaIndex& plan) {
                return CreatePack(path, plan, {Level::kFast, nullptr, false});
              }));
    WD_ASSIGN(const ForeignTarget::Passed found, side->Judge());
    if (found != passed) {  // those are not to be turned again
      passed = found;
      continue;
    }
    if (std::any_of(passed.begin(), passed.end(), [](size_t count) { return count > 0; })) {
      context.note("'" + base.path() + "' already has what '" + deltas.back()->path() + "' leads to, or a part of it");
    }
    WD_TRY(written.writer->Finish(written.index));
    Result<File> file = File::OpenForRead(path), again = File::OpenForRead(path);
    unlink(path.c_str());
    if (!file.ok()) return file.TakeError();
    if (!again.ok()) return again.TakeError();
    made.emplace(std::move(*again));
    return OpenPack(std::move(*file), deltas.back()->path(), Trust::kIndex);  // messages name what was given
  }
}

Result<> ExpectVersion(const ForeignDelta& delta, const std::string& version, const std::string& path_before) {
  if (version.empty() || delta.base_version().empty() || version == delta.base_version()) return {};
  Error error{ErrorKind::kConflict, "'" + delta.path() + "' is made for version '" + delta.base_version() + "', and '" +
                                        path_before + "' leads to '" + version + "'"};
  error.path = delta.path();
  error.expected = delta.base_version();
  error.found = version;
  error.hint = "give all deltas, in their order";
  return error;
}

void TellUnproved(const ForeignDelta& delta, const Context& context) {
  for (const ForeignTensor& tensor : delta.tensors()) {
    if (tensor.checksum_kind != ForeignChecksum::kNone) continue;
    context.note("'" + delta.path() + "' is a " + std::string(delta.kind()) +
                 ", which proves neither its base nor its result: whether they are right is up to you");
    return;
  }
}

// Puts foreign deltas behind `opened.deltas`: all of them become one pack.
Result<> AddForeign(const ForeignTarget::Deltas& deltas, DeltasOnBase& opened, const Context& context) {
  std::unique_ptr<Target> before;
  if (opened.deltas.empty()) {
    before = SelfTarget(*opened.base);
  } else {
    WD_ASSIGN(before, OpenChain(opened.base.get(), std::move(opened.deltas)));
  }
  opened.deltas.clear();
  WD_ASSIGN(opened.deltas.emplace_back(), ImportDeltas(*opened.base, *before, deltas, opened.imported, context));
  return {};
}

}  // namespace

Result<DeltasOnBase> OpenOnBase(const std::string& base, const std::vector<std::string>& paths, Trust trust,
                                const Context& context) {
  std::vector<std::string> own;  // of our formats; these say which files belong to the checkpoint
  for (const std::string& path : paths) {
    if (!LooksForeign(path)) own.push_back(path);
  }
  WD_ASSIGN(std::vector<std::unique_ptr<DeltaReader>> readers, OpenDeltas(own, trust, context));
  FileChoice choice;
  if (!readers.empty()) choice = {readers.back()->index().layout.include, readers.back()->index().layout.exclude};
  WD_ASSIGN(Checkpoint checkpoint, Checkpoint::Open(base, choice, context.note));
  DeltasOnBase opened{std::make_unique<Checkpoint>(std::move(checkpoint)), {}};
  for (const std::unique_ptr<DeltaReader>& reader : readers) opened.bytes += reader->bytes();
  if (own.size() == paths.size()) {
    opened.deltas = std::move(readers);
    return opened;
  }
  std::string version;  // that the foreign delta just before leads to
  ForeignTarget::Deltas waiting;
  size_t next_own = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    const bool is_own = next_own < own.size() && own[next_own] == paths[i];
    if (!waiting.empty() && (is_own || waiting.size() == kMostAtOnce)) {
      WD_TRY(AddForeign(waiting, opened, context));
      waiting.clear();
    }
    if (is_own) {
      opened.deltas.push_back(std::move(readers[next_own++]));
      version.clear();
      continue;
    }
    WD_ASSIGN(std::unique_ptr<ForeignDelta> delta, OpenForeign(paths[i]));
    if (i > 0) WD_TRY(ExpectVersion(*delta, version, paths[i - 1]));
    TellUnproved(*delta, context);
    opened.bytes += delta->bytes();
    version = delta->version();
    waiting.push_back(std::move(delta));
  }
  if (!waiting.empty()) WD_TRY(AddForeign(waiting, opened, context));
  return opened;
}

}  // namespace wdelta
