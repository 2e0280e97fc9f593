#include "walk/in_place.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/file_users.h"
#include "core/free_space.h"
#include "walk/chain.h"
#include "walk/journal.h"

namespace wdelta {

namespace {

Error Refusal(const std::string& path, const std::string& why) {
  return Error{ErrorKind::kRefused, "'" + path + "' " + why, "write a new checkpoint with -o"}.At(path);
}

Result<> RefuseSharedFiles(const Checkpoint& base) {
  for (size_t shard = 0; shard < base.layout().shards.size(); ++shard) {
    const std::string path = base.ShardPath(shard);
    struct stat status;
    if (lstat(path.c_str(), &status) != 0) return SystemError("open", path, errno);
    const bool is_link = S_ISLNK(status.st_mode);
    if (!is_link && status.st_nlink == 1) continue;
    return Refusal(path, std::string(is_link ? "is a symbolic link" : "has more than one name") +
                             ", patching it in place would change other checkpoints too");
  }
  return {};
}

// A program that has the weights open or mapped would see them change under it. Asked before this process opens them.
Result<> RefuseFilesInUse(const std::string& path) {
  std::vector<std::string> files = {path};
  if (IsFolder(path)) {
    files.clear();
    const Result<FolderFiles> listed = ListCheckpointFolder(path, {}, [](const std::string&) {});
    if (!listed.ok()) return {};  // opening it tells what is wrong
    for (const std::string& shard : listed->shards) files.push_back(path + "/" + shard);
  }
  for (const std::string& file : files) {
    if (const std::optional<std::string> user = UserOfFile(file)) {
      return Refusal(file, "is in use by " + *user + ", which would see its weights change");
    }
  }
  return {};
}

// What becomes of the files of the base.
struct FilePlan {
  std::vector<bool> staged;  // by file of the result: it must be built anew
  std::vector<std::string> staged_paths, removed_paths;
};

FilePlan PlanFiles(const Layout& base, const Layout& result) {
  FilePlan plan;
  const auto has = [](const Layout& layout, const std::string& path) {
    const auto same_path = [&](const LayoutFile& file) { return file.path == path; };
    return std::any_of(layout.shards.begin(), layout.shards.end(), same_path) ||
           std::any_of(layout.companions.begin(), layout.companions.end(), same_path);
  };
  for (size_t file = 0; file < result.file_count(); ++file) {
    const bool is_shard = file < result.shards.size();
    const auto& same_kind = is_shard ? base.shards : base.companions;
    plan.staged.push_back(std::find(same_kind.begin(), same_kind.end(), result.file(file)) == same_kind.end());
    if (plan.staged.back()) plan.staged_paths.push_back(result.file(file).path);
  }
  for (size_t file = 0; file < base.file_count(); ++file) {
    if (!has(result, base.file(file).path)) plan.removed_paths.push_back(base.file(file).path);
  }
  return plan;
}

// Collects new values in the journal and new files beside it.
class JournalSink final : public Sink {
 public:
  JournalSink(Journal& journal, const Layout& base, const Layout& result, std::string path, uint64_t limit)
      : journal_(journal), layout_(result), plan_(PlanFiles(base, result)), path_(std::move(path)), limit_(limit) {}

  const std::string& path() const override { return path_; }
  bool patches_base() const override { return patches_at_once_; }

  Result<> Begin() override {
    WD_TRY(journal_.Clear());
    overflowed_ = false;
    for (size_t file = 0; file < layout_.file_count(); ++file) {
      const LayoutFile& entry = layout_.file(file);
      if (plan_.staged[file]) WD_TRY(journal_.Stage(entry.path, entry.bytes + entry.data_bytes));
    }
    return {};
  }
  Result<> WriteFile(size_t file, uint64_t number, ByteSpan content) override {
    if (!plan_.staged[file]) return {};
    WD_ASSIGN(const File staged, journal_.Reopen(layout_.file(file).path));
    return staged.WriteAt(number * kBlockBytes, content);
  }

  // What is staged is written in order, by Put. What is patched is listed here, where the block is in the cache.
  Result<> Take(const Tensor& tensor, const LoadedBlock& block, WalkScratch& scratch, WalkedBlock& out) override {
    if (plan_.staged[tensor.shard]) {
      out.prepared.coded.assign(block.new_block.begin(), block.new_block.end());
    } else if (block.rebuilt) {
      ListChanges(block.old_block, block.new_block, UnitBytes(tensor.dtype), scratch.delta);
      out.delta = std::move(scratch.delta);
    }
    return {};
  }

  Result<> Put(const Tensor& tensor, const WalkedBlock& block) override {
    const std::string& path = layout_.shards[tensor.shard].path;
    const uint64_t offset = tensor.offset + block.prepared.place.number * kBlockBytes;
    if (plan_.staged[tensor.shard]) {
      if (!staged_ || !staged_->path().ends_with("/" + path)) {
        WD_ASSIGN(staged_, journal_.Reopen(path));
      }
      return staged_->WriteAt(offset, block.prepared.coded);
    }
    if (!block.rebuilt || overflowed_) return {};
    const size_t length = BlockLength(tensor.bytes, block.prepared.place.number);
    WD_TRY(journal_.Add(path, offset, static_cast<uint32_t>(length), UnitBytes(tensor.dtype), block.delta));
    if (patches_at_once_) return journal_.bytes() >= kSegmentBytes ? journal_.Flush() : Result<>();
    overflowed_ = journal_.bytes() > limit_;
    return overflowed_ ? journal_.Clear() : Result<>();
  }

  Result<> Commit(bool changed) override {
    if (overflowed_) return {};
    if (changed) return journal_.Commit(plan_.staged_paths, plan_.removed_paths);
    journal_.Drop();
    return {};
  }

  bool overflowed() const { return overflowed_; }
  // From now on each part of the journal is carried out when it is full.
  void PatchAtOnce() { patches_at_once_ = true; }

 private:
  static constexpr uint64_t kSegmentBytes = uint64_t{128} << 20;

  Journal& journal_;
  const Layout& layout_;
  const FilePlan plan_;
  const std::string path_;
  const uint64_t limit_;
  bool overflowed_ = false, patches_at_once_ = false;
  std::optional<File> staged_;
};

}  // namespace

Result<> PrepareInPlace(const std::string& path, bool durable, const Context& context) {
  WD_TRY(RefuseFilesInUse(path));
  if (!Journal::Exists(path)) return {};
  std::string pack;
  {
    WD_ASSIGN(Journal journal, Journal::Open(path, durable));
    WD_ASSIGN(pack, journal.Recover());
  }
  if (pack.empty()) return {};
  // Earlier versions of wdelta kept the pack of a foreign delta and patched with a bounded journal: the rest is
  // applied.
  WD_ASSIGN(const OpenedTarget opened, OpenPacks(path, {pack}, {}, Trust::kWhole, context));
  WD_TRY(PatchInPlace(opened, path, durable, context));
  context.note("an interrupted run on '" + path + "' was finished");
  return {};
}

Result<Rebuilt> PatchInPlace(const OpenedTarget& opened, const std::string& path, bool durable, const Context& context,
                             std::optional<uint64_t> journal_limit) {
  if (!opened.base) {
    return Error{ErrorKind::kUsage, "'" + path + "' is not a checkpoint; only a checkpoint can be patched in place"};
  }
  const Layout &base = opened.base->layout(), &result = opened.target->layout();
  WD_TRY(RefuseSharedFiles(*opened.base));
  if (base.lone_file && (result.file_count() != 1 || result.shards[0].path != kLoneShard)) {
    return Error{ErrorKind::kRefused,
                 "'" + path + "' is one file, the result is a folder of " + std::to_string(result.file_count()) +
                     " with '" + result.shards[0].path + "'",
                 "write a new folder with -o"};
  }
  // The lock of the journal comes before the walk: what the walk finds must not change before it is used.
  WD_ASSIGN(Journal journal, Journal::Open(path, durable));
  if (!journal_limit) {
    WD_ASSIGN(const uint64_t free_bytes, FreeBytes(ParentFolder(opened.base->ShardPath(0))));
    journal_limit = free_bytes / 2;
  }
  JournalSink sink(journal, base, result, path, opened.target->resumable() ? *journal_limit : UINT64_MAX);
  Result<Rebuilt> rebuilt = Rebuild(opened, sink, context);
  if (rebuilt.ok() && sink.overflowed()) {
    sink.PatchAtOnce();
    return Rebuild(opened, sink, context);  // an error leaves the journal: the checkpoint may be half patched
  }
  if (!rebuilt.ok()) journal.Abandon();
  return rebuilt;
}

}  // namespace wdelta
