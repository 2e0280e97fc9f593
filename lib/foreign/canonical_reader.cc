// The delta folder that slime, miles, SGLang, Stitch and ModelExpress share: shards with a zstd frame for each changed
// tensor, their checksums in the metadata of the shard, and an index that says how to read them.
#include <algorithm>
#include <map>

#include "core/text.h"
#include "foreign/canonical_index.h"
#include "foreign/foreign_parts.h"

namespace wdelta {

namespace {

class Canonical final : public ForeignDelta {
 public:
  Canonical(const std::string& path, const Environment& environment)
      : ForeignDelta("canonical delta", path), environment_(environment) {}

  Result<> Read() {
    WD_ASSIGN(const Bytes text, ReadWholeFile(path_ + "/" + kIndexFile, kMaxHeaderBytes));
    bytes_ = text.size();
    WD_ASSIGN(const CanonicalIndex index, Named("", ReadCanonicalIndex(AsText(text))));
    WD_TRY(ReadMetadata(index));
    Found found;
    for (const std::string& shard : index.Shards()) {
      if (!IsPlainShardName(shard))
        return Refusal("shard '" + Shorten(shard) + "' is not a plain file name", "do not trust its sender");
      WD_TRY(ReadShard(shard, index.weight_map, found));
    }
    // A shard holds nothing that the index does not map to it, so only what is missing is left to look for.
    for (const auto& [name, shard] : index.weight_map) {
      const auto at = found.find(name);
      if (at == found.end()) return Wrong("tensor '" + Shorten(name) + "' is not in '" + shard + "'");
      tensors_.push_back(std::move(at->second.first));
      frames_.push_back(std::move(at->second.second));
    }
    return {};
  }

 private:
  using Found = std::map<std::string, std::pair<ForeignTensor, FileRange>>;  // by the name of the tensor

  Result<std::unique_ptr<ForeignStream>> OpenStream(size_t index, Dtype dtype,
                                                    std::span<const uint64_t> shape) const override {
    if (is_xor_) return XorFrame(frames_[index]);
    return OverwriteFrame(frames_[index], TensorBytes(dtype, shape).value_or(0), environment_);
  }

  Result<> ReadMetadata(const CanonicalIndex& index) {
    version_ = index.Value("version");
    base_version_ = index.Value("base_version");
    const std::string encoding = index.Value("delta_encoding"), compression = index.Value("compression_format");
    const std::string checksum = index.Value("checksum_format");
    if (version_.empty() || base_version_.empty()) return Wrong("it does not say its versions");
    if (encoding != "xor" && encoding != "overwrite")
      return Refusal("its delta_encoding is '" + Shorten(encoding) + "'", "known: xor, overwrite");
    is_xor_ = encoding == "xor";
    if (compression != "zstd")
      return Refusal("its compression_format is '" + Shorten(compression) + "'", "known: zstd");
    if (checksum == "xxh3-128") {
      checksum_ = ForeignChecksum::kXxh3_128;
    } else if (checksum == "adler32") {
      checksum_ = ForeignChecksum::kAdler32;
    } else if (checksum == "blake3" && Blake3Hasher::LibraryVersion().empty()) {
      return Refusal("its checksum_format is 'blake3', which this build is without",
                     "build wdelta where libblake3 is installed, or have it written with xxh3-128 or adler32");
    } else if (checksum == "blake3") {
      checksum_ = ForeignChecksum::kBlake3;
    } else {
      return Refusal("its checksum_format is '" + Shorten(checksum) + "'",
                     "known: xxh3-128, adler32, blake3; have it written with one of them");
    }
    return {};
  }

  Result<> ReadShard(const std::string& name, const std::map<std::string, std::string>& weight_map, Found& found) {
    WD_ASSIGN(File opened, File::OpenForRead(path_ + "/" + name));
    const auto file = std::make_shared<const File>(std::move(opened));
    WD_ASSIGN(const FileIdentity identity, file->Identify());
    bytes_ += identity.size;
    WD_ASSIGN(const SafetensorsHeader header, SafetensorsHeader::Read(*file));
    std::map<std::string, std::string> checksums;
    header.ForEachMetadata([&](std::string_view key, std::string_view value) {
      checksums.emplace(key, value);
      return true;
    });
    for (size_t i = 0; i < header.tensor_count(); ++i) {
      const TensorEntry entry = header.tensor(i);
      const std::string tensor(entry.name);
      const auto mapped = weight_map.find(tensor);
      if (mapped == weight_map.end() || mapped->second != name) {
        return Wrong("tensor '" + Shorten(tensor) + "' in '" + name + "' is not there by the index, or in two shards");
      }
      const auto checksum = checksums.find(tensor);
      if (entry.dtype != Dtype::kU8 || entry.shape.size() != 1 || checksum == checksums.end() ||
          !IsChecksum(checksum->second, checksum_)) {
        return Wrong("tensor '" + Shorten(tensor) + "' is not a frame with a checksum");
      }
      const FileRange frame{file, header.bytes().size() + entry.begin, header.bytes().size() + entry.end};
      found[tensor] = {{.name = tensor, .checksum_kind = checksum_, .checksum = checksum->second}, frame};
    }
    return {};
  }

  bool is_xor_ = true;
  ForeignChecksum checksum_ = ForeignChecksum::kXxh3_128;
  std::vector<FileRange> frames_;  // beside tensors_
  const Environment environment_;
};

}  // namespace

bool LooksLikeCanonical(const std::string& path) {
  const Result<Bytes> text = ReadWholeFile(path + "/" + kIndexFile, kMaxHeaderBytes);
  return text.ok() && Contains(*text, "\"delta_encoding\"");
}

Result<std::unique_ptr<ForeignDelta>> OpenCanonical(const std::string& path, const Environment& environment) {
  return OpenAs<Canonical>(path, environment);
}

}  // namespace wdelta
