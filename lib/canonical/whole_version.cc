#include "canonical/whole_version.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "canonical/version.h"
#include "core/json_object.h"
#include "core/path.h"
#include "foreign/canonical_index.h"
#include "sync/object_transfer.h"

namespace wdelta {

namespace {

// A line of a list of checksums, as sha256sum writes it.
std::string SumLine(const Sha256Digest& sha256, const std::string& name) {
  return Hex(sha256) + "  " + name + "\n";
}

Result<Sha256Digest> DigestFile(const std::string& path, const StopToken& stop) {
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  return DigestSlice(file, 0, identity.size, stop);
}

// A checkpoint in one file has no index.
std::string MadeIndex(const Checkpoint& checkpoint) {
  std::vector<std::pair<std::string_view, std::string_view>> weight_map;
  for (const Tensor& tensor : checkpoint.tensors()) {
    weight_map.emplace_back(tensor.name, checkpoint.layout().shards[tensor.shard].path);
  }
  JsonObject index;
  index.SetJson("metadata", "{}");
  index.SetJson("weight_map", JsonTexts(weight_map));
  return index.Text();
}

Result<> CompareSum(const std::string& folder, const FileSum& sum, const Sha256Digest& found) {
  if (found == sum.sha256) return {};
  Error error{ErrorKind::kIntegrity, "'" + sum.name + "' does not have the SHA-256 that came with it"};
  error.path = folder + "/" + sum.name;
  error.expected = Hex(sum.sha256);
  error.found = Hex(found);
  return error;
}

Result<std::optional<std::vector<FileSum>>> ReadSums(const std::string& folder) {
  const std::string path = folder + "/" + kSumsFile;
  if (access(path.c_str(), F_OK) != 0) return std::optional<std::vector<FileSum>>();
  WD_ASSIGN(const Bytes text, ReadWholeFile(path, kMaxSumsBytes));
  std::vector<FileSum> sums = ParseSums(AsText(text));
  for (const FileSum& sum : sums) WD_TRY(CheckCompanionPath(sum.name));
  return std::optional(std::move(sums));
}

// Computes the SHA-256 of every file of a checkpoint on the walk that also computes its state.
class FileHashes final : public Sink {
 public:
  explicit FileHashes(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  const std::string& path() const override { return checkpoint_.path(); }
  Result<> Begin() override {
    hashes_ = std::vector<Sha256>(checkpoint_.layout().file_count());
    return {};
  }
  Result<> WriteFile(size_t file, uint64_t, ByteSpan content) override {
    hashes_[file].Update(content);
    return {};
  }
  Result<> Take(const Tensor&, const LoadedBlock& block, WalkScratch&, WalkedBlock& out) override {
    out.prepared.coded.assign(block.new_block.begin(), block.new_block.end());
    return {};
  }
  Result<> Put(const Tensor& tensor, const WalkedBlock& block) override {
    hashes_[tensor.shard].Update(block.prepared.coded);
    return {};
  }
  Result<> Commit(bool) override {
    for (size_t file = 0; file < hashes_.size(); ++file) {
      found_[checkpoint_.layout().file(file).path] = hashes_[file].Finish();
    }
    return {};
  }
  const std::map<std::string, Sha256Digest>& found() const { return found_; }

 private:
  const Checkpoint& checkpoint_;
  std::vector<Sha256> hashes_;
  std::map<std::string, Sha256Digest> found_;
};

// The index of a checkpoint does not say which version it is.
Result<> RestoreIndex(const std::string& folder, const std::vector<FileSum>& sums) {
  const std::string path = folder + "/" + kIndexFile;
  WD_ASSIGN(const Bytes text, ReadWholeFile(path, kMaxIndexFileBytes));
  for (const FileSum& sum : sums) {
    if (sum.name == kIndexFile) WD_TRY(CompareSum(folder, sum, DigestSha256(text)));
  }
  WD_ASSIGN(const std::string index, WithoutVersion(AsText(text)));
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(path));
  WD_TRY(sink->Write(AsBytes(index)));
  return sink->Commit();
}

Result<> RemoveOthers(const std::string& folder, const std::map<std::string, Sha256Digest>& belonging) {
  std::vector<std::string> others;
  WD_TRY(WalkTree(folder, [&](const std::string& path, EntryKind kind) -> Result<bool> {
    if (kind != EntryKind::kFolder && !belonging.contains(path)) others.push_back(folder + "/" + path);
    return true;
  }));
  for (const std::string& path : others) unlink(path.c_str());
  return {};
}

}  // namespace

std::vector<FileSum> ParseSums(std::string_view text) {
  std::vector<FileSum> sums;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    FileSum sum;
    if (line.size() < 67 || !FromHex(std::string(line.substr(0, 64)), sum.sha256)) continue;
    sum.name = line.substr(66);
    sums.push_back(std::move(sum));
  }
  return sums;
}

std::string PathOfFile(const Checkpoint& checkpoint, size_t number) {
  const size_t shards = checkpoint.layout().shards.size();
  return number < shards ? checkpoint.ShardPath(number)
                         : checkpoint.path() + "/" + checkpoint.layout().file(number).path;
}

Result<WholeVersion> WrapWholeVersion(const Checkpoint& checkpoint, uint64_t version, const StopToken& stop) {
  const Layout& layout = checkpoint.layout();
  WholeVersion whole;
  std::string index = MadeIndex(checkpoint);
  for (size_t file = 0; file < layout.file_count(); ++file) {
    const std::string& path = layout.file(file).path;
    if (path == kIndexFile) {
      WD_ASSIGN(const Bytes text, ReadWholeFile(PathOfFile(checkpoint, file), kMaxIndexFileBytes));
      index = AsText(text);
    } else if (path != kSumsFile) {
      WD_ASSIGN(const Sha256Digest sha256, DigestFile(PathOfFile(checkpoint, file), stop));
      whole.sums += SumLine(sha256, path);
    }
  }
  WD_ASSIGN(whole.index, WithVersion(index, VersionName(version)));
  whole.sums += SumLine(DigestSha256(AsBytes(whole.index)), kIndexFile);
  return whole;
}

Result<std::string> ListSums(const std::string& folder, const std::vector<std::string>& files, const StopToken& stop) {
  std::string sums;
  for (const std::string& name : files) {
    WD_ASSIGN(const Sha256Digest sha256, DigestFile(folder + "/" + name, stop));
    sums += SumLine(sha256, name);
  }
  return sums;
}

Result<> CheckSums(const std::string& folder, const StopToken& stop) {
  WD_ASSIGN(const std::optional<std::vector<FileSum>> sums, ReadSums(folder));
  for (const FileSum& sum : sums.value_or(std::vector<FileSum>())) {
    WD_ASSIGN(const Sha256Digest found, DigestFile(folder + "/" + sum.name, stop));
    WD_TRY(CompareSum(folder, sum, found));
  }
  return {};
}

Result<Proof> UnwrapWholeVersion(const std::string& folder, const Context& context) {
  WD_ASSIGN(const std::optional<std::vector<FileSum>> listed, ReadSums(folder));
  if (!listed) {
    context.note("the store has no checksums for the whole version in '" + folder + "': it was not verified");
  }
  const std::vector<FileSum> sums = listed.value_or(std::vector<FileSum>());
  WD_TRY(RestoreIndex(folder, sums));
  OpenedTarget opened;
  WD_ASSIGN(Checkpoint checkpoint, Checkpoint::Open(folder, {}, [](const std::string&) {}));
  opened.base = std::make_unique<Checkpoint>(std::move(checkpoint));
  opened.target = SelfTarget(*opened.base);
  FileHashes hashes(*opened.base);
  WD_ASSIGN(const Rebuilt read, Rebuild(opened, hashes, context));
  for (const FileSum& sum : sums) {
    if (sum.name == kIndexFile) continue;
    const auto at = hashes.found().find(sum.name);
    WD_ASSIGN(const Sha256Digest found, at == hashes.found().end() ? DigestFile(folder + "/" + sum.name, context.stop)
                                                                   : Result<Sha256Digest>(at->second));
    WD_TRY(CompareSum(folder, sum, found));
  }
  WD_TRY(RemoveOthers(folder, hashes.found()));
  return read.proof;
}

}  // namespace wdelta
