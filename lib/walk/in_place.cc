#include "walk/in_place.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "walk/journal.h"

namespace wdelta {

namespace {

Result<> RefuseSharedFiles(const Checkpoint& base) {
  for (size_t shard = 0; shard < base.layout().shards.size(); ++shard) {
    const std::string path = base.ShardPath(shard);
    struct stat status;
    if (lstat(path.c_str(), &status) != 0) return SystemError("open", path, errno);
    const bool is_link = S_ISLNK(status.st_mode);
    if (!is_link && status.st_nlink == 1) continue;
    Error error{ErrorKind::kRefused, "'" + path + "' " + (is_link ? "is a symbolic link" : "has more than one name") +
                                         ", patching it in place would change other checkpoints too"};
    error.path = path;
    error.hint = "write a new checkpoint with -o";
    return error;
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

}  // namespace

Result<std::string> RecoverInPlace(const std::string& path, bool durable) {
  if (!Journal::Exists(path)) return std::string();
  WD_ASSIGN(Journal journal, Journal::Open(path, durable));
  return journal.Recover();
}

Result<> DropJournal(const std::string& path, bool durable) {
  if (!Journal::Exists(path)) return {};
  WD_ASSIGN(const Journal journal, Journal::Open(path, durable));
  journal.Drop();
  return {};
}

Result<> ApplyInPlace(const Checkpoint& base, const ChainTarget& chain, const File* only_copy, bool durable,
                      const Context& context) {
  const Layout& layout = chain.layout();
  WD_TRY(RefuseSharedFiles(base));
  if (base.layout().lone_file && (layout.file_count() != 1 || layout.shards[0].path != kLoneShard)) {
    Error error{ErrorKind::kRefused, "'" + base.path() + "' is one file, the result is a folder of " +
                                         std::to_string(layout.file_count()) + " with '" + layout.shards[0].path + "'"};
    error.hint = "write a new folder with -o";
    return error;
  }
  WD_ASSIGN(Journal journal, Journal::Open(base.path(), durable));
  if (only_copy) WD_TRY(journal.KeepPack(*only_copy));
  const FilePlan plan = PlanFiles(base.layout(), layout);
  for (size_t file = 0; file < layout.file_count(); ++file) {
    if (!plan.staged[file]) continue;
    WD_ASSIGN(const File staged,
              journal.Stage(layout.file(file).path, layout.file(file).bytes + layout.file(file).data_bytes));
    WD_TRY(ReadFile(chain, file,
                    [&](uint64_t number, ByteSpan content) { return staged.WriteAt(number * kBlockBytes, content); }));
  }
  // One more walk over the blocks. Each is still what it was or already what it becomes, whichever file it lies in, so
  // files can be built anew from files that are being patched.
  std::optional<File> staged;
  const auto take = [&](uint32_t tensor, const LoadedBlock& block, WalkScratch& scratch,
                        WalkedBlock& walked) -> Result<> {
    const Tensor& entry = chain.tensors()[tensor];
    if (plan.staged[entry.shard]) {
      walked.prepared.coded.assign(block.new_block.begin(), block.new_block.end());
    } else if (block.rebuilt) {
      ListChanges(block.old_block, block.new_block, UnitBytes(entry.dtype), scratch.delta);
      walked.delta = std::move(scratch.delta);
    }
    return {};
  };
  const auto put = [&](uint32_t tensor, const WalkedBlock& block) -> Result<> {
    const Tensor& entry = chain.tensors()[tensor];
    const std::string& path = layout.shards[entry.shard].path;
    const uint64_t offset = entry.offset + block.prepared.place.number * kBlockBytes;
    if (!plan.staged[entry.shard]) {
      if (!block.rebuilt) return {};
      const size_t length = BlockLength(entry.bytes, block.prepared.place.number);
      return journal.Add(path, offset, static_cast<uint32_t>(length), UnitBytes(entry.dtype), block.delta);
    }
    if (!staged || !staged->path().ends_with("/" + path)) {
      WD_ASSIGN(staged, journal.Reopen(path));
    }
    return staged->WriteAt(offset, block.prepared.coded);
  };
  WD_ASSIGN(const WalkDigests digests, Walk(chain, context, take, put));
  WD_TRY(ExpectResult(digests, chain));
  return journal.Commit(plan.staged_paths, plan.removed_paths);
}

}  // namespace wdelta
