#include "canonical/whole_version.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "canonical/version.h"
#include "core/byte_source.h"
#include "core/json_object.h"
#include "core/parallel.h"
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
  JsonObject index;
  index.SetJson("metadata", "{}");
  index.SetJson("weight_map", JsonTexts(weight_map));
  return index.Text();
}

Result<> CheckBySums(const std::string& folder, std::string_view sums, const StopToken& stop) {
  for (const auto& [expected, name] : ParseSums(sums)) {
    WD_TRY(CheckCompanionPath(name));
    WD_ASSIGN(const Sha256Digest found, DigestFile(folder + "/" + name, stop));
    if (found == expected) continue;
    Error error{ErrorKind::kIntegrity, "'" + name + "' does not have the SHA-256 that came with it"};
    error.path = folder + "/" + name;
    error.expected = Hex(expected);
    error.found = Hex(found);
    return error;
  }
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
  CheckpointDigests digests;
  WD_TRY(RunOrdered<Sha256Digest>(
      layout.shards.size(), LimitsFor(context),
      [&](uint64_t shard, unsigned) {
        return DigestShard(checkpoint, shard, tensors_of(shard), tensors, passed, context.stop);
      },
      [&](uint64_t, const Sha256Digest& sha256) -> Result<> {
        digests.files.push_back(sha256);
        return {};
      }));
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
      WD_ASSIGN(const Bytes text, ReadWholeFile(PathOfFile(checkpoint, file), kMaxIndexFileBytes));
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
  std::vector<FileSum> sums;
  WD_TRY(RunOrdered<Sha256Digest>(
      files.size(), LimitsFor(context),
      [&](uint64_t i, unsigned) { return DigestFile(folder + "/" + files[i], context.stop); },
      [&](uint64_t i, const Sha256Digest& sha256) -> Result<> {
        sums.push_back({sha256, files[i]});
        return {};
      }));
  return sums;
}

Result<bool> CheckFetched(const std::string& folder, const StopToken& stop) {
  const std::string path = folder + "/" + kSumsFile;
  if (access(path.c_str(), F_OK) != 0) return false;
  WD_ASSIGN(const Bytes sums, ReadWholeFile(path, kMaxSumsBytes));
  WD_TRY(CheckBySums(folder, AsText(sums), stop));
  return true;
}

Result<> UnwrapWholeVersion(const std::string& folder, const Context& context) {
  WD_ASSIGN(const bool is_checked, CheckFetched(folder, context.stop));
  unlink((folder + "/" + kSumsFile).c_str());
  if (!is_checked) {
    context.note("nothing in the store proves the whole version in '" + folder + "', it is taken as it came");
  }
  WD_ASSIGN(const Bytes text, ReadWholeFile(folder + "/" + kIndexFile, kMaxIndexFileBytes));
  WD_ASSIGN(const std::string index, WithoutVersion(AsText(text)));
  WD_ASSIGN(const std::unique_ptr<ByteSink> sink, OpenSink(folder + "/" + kIndexFile));
  WD_TRY(sink->Write(AsBytes(index)));
  WD_TRY(sink->Commit());
  std::set<std::string> belongs;
  {
    WD_ASSIGN(const Checkpoint checkpoint, Checkpoint::Open(folder, {}, context.note));
    for (size_t file = 0; file < checkpoint.layout().file_count(); ++file) {
      belongs.insert(checkpoint.layout().file(file).path);
    }
  }
  std::vector<std::filesystem::path> others;
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    if (entry.is_regular_file(failed) && !belongs.contains(path)) others.push_back(entry.path());
  }
  for (const std::filesystem::path& path : others) unlink(path.c_str());
  return {};
}

}  // namespace wdelta
