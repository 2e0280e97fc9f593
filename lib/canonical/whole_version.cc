#include "canonical/whole_version.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "canonical/version.h"
#include "core/json_object.h"
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

Result<> ProveBySums(const std::string& folder, std::string_view sums, const StopToken& stop) {
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

Result<bool> ProveFetched(const std::string& folder, const StopToken& stop) {
  const std::string path = folder + "/" + kSumsFile;
  if (access(path.c_str(), F_OK) != 0) return false;
  WD_ASSIGN(const Bytes sums, ReadWholeFile(path, kMaxSumsBytes));
  WD_TRY(ProveBySums(folder, AsText(sums), stop));
  return true;
}

Result<> UnwrapWholeVersion(const std::string& folder, const Context& context) {
  WD_ASSIGN(const bool is_proved, ProveFetched(folder, context.stop));
  unlink((folder + "/" + kSumsFile).c_str());
  if (!is_proved) {
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
  std::vector<std::string> others;
  WD_TRY(WalkTree(folder, [&](const std::string& path, EntryKind kind) -> Result<bool> {
    if (kind == EntryKind::kFile && !belongs.contains(path)) others.push_back(folder + "/" + path);
    return true;
  }));
  for (const std::string& path : others) unlink(path.c_str());
  return {};
}

}  // namespace wdelta
