#include "canonical/whole_version.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "canonical/version.h"
#include "core/byte_source.h"
#include "core/json_object.h"
#include "core/parallel.h"
#include "core/path.h"
#include "foreign/canonical_index.h"

namespace wdelta {

namespace {

Result<Sha256Digest> DigestFile(const std::string& path, const StopToken& stop) {
  WD_ASSIGN(const File file, File::OpenForRead(path));
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  return DigestSource(FileSlice(file, 0, identity.size), stop);
}

// A checkpoint in one file has no index.
std::string MadeIndex(const Checkpoint& checkpoint) {
  std::vector<std::pair<std::string_view, std::string_view>> weight_map;
  for (const Tensor& tensor : checkpoint.tensors()) {
    weight_map.emplace_back(tensor.name, checkpoint.layout().shards[tensor.shard].path);
  }
  const JsonObject index = {{"metadata", JsonObject()}, {"weight_map", JsonValue::FromJson(JsonTexts(weight_map))}};
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

namespace {

// One shard, front to back: SHA-256 of the file, and on the way the digests of the tensors that lie in it, which are
// given in the order of their data.
Result<Sha256Digest> DigestShard(const Checkpoint& checkpoint, size_t shard, std::span<const uint32_t> tensors,
                                 std::vector<TensorDigest>& digests, const std::function<void(uint64_t)>& passed,
                                 const StopToken& stop) {
  WD_ASSIGN(const File file, File::OpenForRead(checkpoint.ShardPath(shard)));
  WD_ASSIGN(const FileIdentity identity, file.Identify());
  Sha256 sha256;
  Bytes block(kBlockBytes);
  uint64_t at = 0;
  const auto pass = [&](uint64_t end, TensorHasher* hasher) -> Result<> {
    while (at < end) {
      WD_TRY(stop.Check());
      const MutableByteSpan part = MutableByteSpan(block).first(std::min(kBlockBytes, end - at));
      WD_TRY(file.ReadAt(at, part));
      sha256.Update(part);
      if (hasher) hasher->Add(DigestBlock(part));
      if (hasher) passed(part.size());
      at += part.size();
    }
    return {};
  };
  for (const uint32_t number : tensors) {
    const Tensor& tensor = checkpoint.tensors()[number];
    TensorHasher hasher(tensor.name, tensor.dtype, tensor.shape);
    WD_TRY(pass(tensor.offset, nullptr));  // the header, before the first of them
    WD_TRY(pass(tensor.offset + tensor.bytes, &hasher));
    digests[number] = hasher.Finish();
  }
  WD_TRY(pass(identity.size, nullptr));
  return sha256.Finish();
}

}  // namespace

Result<CheckpointDigests> DigestFiles(const Checkpoint& checkpoint, const Context& context) {
  const Layout& layout = checkpoint.layout();
  const std::vector<uint32_t> order = FileOrder(checkpoint.tensors());
  const auto tensors_of = [&](uint64_t shard) {
    const auto in = [&](uint64_t s) {
      return std::partition_point(order.begin(), order.end(),
                                  [&](uint32_t tensor) { return checkpoint.tensors()[tensor].shard < s; });
    };
    return std::span(in(shard), in(shard + 1));
  };
  std::vector<TensorDigest> tensors(checkpoint.tensors().size());
  std::mutex mutex;
  Progress progress{0, checkpoint.data_bytes()};
  const auto passed = [&](uint64_t bytes) {
    const std::lock_guard lock(mutex);
    progress.done_bytes += bytes;
    context.progress(progress);
  };
  const auto digest_shard = [&](uint64_t shard) {
    return DigestShard(checkpoint, shard, tensors_of(shard), tensors, passed, context.stop);
  };
  CheckpointDigests digests;
  WD_ASSIGN(digests.files, CollectOrdered<Sha256Digest>(layout.shards.size(), LimitsFor(context), digest_shard));
  // Companions were hashed when the checkpoint was opened.
  for (size_t file = layout.shards.size(); file < layout.file_count(); ++file) {
    digests.files.push_back(layout.file(file).sha256);
  }
  WD_TRY(checkpoint.CheckUnchanged());
  digests.identity = CombineState(Fingerprint(tensors), layout.Digest());
  return digests;
}

Result<WholeVersion> WrapWholeVersion(const Checkpoint& checkpoint, const std::vector<Sha256Digest>& files,
                                      uint64_t version) {
  const Layout& layout = checkpoint.layout();
  std::string index = MadeIndex(checkpoint);
  std::vector<FileSum> sums;
  for (size_t file = 0; file < layout.file_count(); ++file) {
    const std::string& path = layout.file(file).path;
    if (path == kIndexFile) {
      WD_ASSIGN(const Bytes text, ReadWholeFile(checkpoint.path() + "/" + path, kMaxIndexFileBytes));
      index = AsText(text);
    } else if (path != kSumsFile) {
      sums.push_back({files[file], path});
    }
  }
  WholeVersion whole;
  WD_ASSIGN(whole.index, WithVersion(index, VersionName(version)));
  sums.push_back({DigestSha256(AsBytes(whole.index)), kIndexFile});
  whole.sums = SumsText(sums);
  return whole;
}

std::string SumsText(const std::vector<FileSum>& sums) {
  std::string text;
  for (const FileSum& sum : sums) text += Hex(sum.sha256) + "  " + sum.name + "\n";
  return text;
}

Result<std::vector<FileSum>> ListSums(const std::string& folder, const std::vector<std::string>& files,
                                      const Context& context) {
  return CollectOrdered<FileSum>(files.size(), LimitsFor(context), [&](uint64_t i) -> Result<FileSum> {
    WD_ASSIGN(const Sha256Digest sha256, DigestFile(folder + "/" + files[i], context.stop));
    return FileSum{sha256, files[i]};
  });
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
