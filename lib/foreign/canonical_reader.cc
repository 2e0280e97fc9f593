// The delta folder that slime, miles, SGLang, Stitch and ModelExpress share: shards with a zstd frame for each changed
// tensor, their checksums in the metadata of the shard, and an index that says how to read them.
#include <algorithm>
#include <map>
#include <numeric>

#include "core/text.h"
#include "foreign/canonical_index.h"
#include "foreign/foreign_frame.h"
#include "foreign/sparse_parts.h"

namespace wdelta {

namespace {

constexpr std::string_view kKind = "canonical delta";
class Canonical final : public ForeignDelta {
 public:
  explicit Canonical(const Environment& environment) : environment_(environment) {}
  std::string_view kind() const override { return kKind; }

  Result<> Read(const std::string& path) {
    path_ = path;
    WD_ASSIGN(const Bytes text, ReadWholeFile(path + "/" + kIndexFile, kMaxHeaderBytes));
    bytes_ = text.size();
    Result<CanonicalIndex> index = ReadCanonicalIndex(AsText(text));
    if (!index.ok()) return ForeignError(kKind, path_, index.error().message);
    WD_TRY(ReadMetadata(*index));
    for (const auto& [name, shard] : index->weight_map) {
      if (!IsPlainShardName(shard)) {
        return ForeignRefusal(kKind, path_, "shard '" + Shorten(shard) + "' is no plain file name",
                              "do not trust who sent it");
      }
      if (!shards_.contains(shard)) WD_TRY(ReadShard(shard, index->weight_map));
    }
    Sort();
    // A shard holds nothing that the index does not map to it, so only what is missing is left to look for.
    auto found = tensors_.begin();
    for (const auto& [name, shard] : index->weight_map) {
      if (found == tensors_.end() || found->name != name) {
        return ForeignError(kKind, path_, "tensor '" + Shorten(name) + "' is not in '" + shard + "'");
      }
      ++found;
    }
    return {};
  }

  Result<std::unique_ptr<ForeignStream>> Open(size_t index, Dtype dtype,
                                              std::span<const uint64_t> shape) const override {
    const Frame& frame = frames_[index];
    if (is_xor_) return NamedStream(XorFrame(frame.file, frame.begin, frame.end), *this, tensors_[index]);
    const uint64_t bytes = TensorBytes(dtype, shape).value_or(0);
    Result<std::unique_ptr<ForeignStream>> stream =
        OverwriteFrame(frame.file, frame.begin, frame.end, bytes, environment_);
    if (!stream.ok()) return ForeignTensorError(kKind, path_, tensors_[index].name, stream.error().message);
    return NamedStream(std::move(*stream), *this, tensors_[index]);
  }

 private:
  struct Frame {
    std::shared_ptr<const File> file;
    uint64_t begin = 0, end = 0;
  };

  Result<> ReadMetadata(const CanonicalIndex& index) {
    version_ = index.Value("version");
    base_version_ = index.Value("base_version");
    const std::string encoding = index.Value("delta_encoding"), compression = index.Value("compression_format");
    const std::string checksum = index.Value("checksum_format");
    if (version_.empty() || base_version_.empty()) return ForeignError(kKind, path_, "it does not say its versions");
    if (encoding != "xor" && encoding != "overwrite") {
      return ForeignRefusal(kKind, path_, "its delta_encoding is '" + Shorten(encoding) + "'", "known: xor, overwrite");
    }
    is_xor_ = encoding == "xor";
    if (compression != "zstd") {
      return ForeignRefusal(kKind, path_, "its compression_format is '" + Shorten(compression) + "'", "known: zstd");
    }
    if (checksum == "xxh3-128") {
      checksum_ = ForeignChecksum::kXxh3_128;
    } else if (checksum == "adler32") {
      checksum_ = ForeignChecksum::kAdler32;
    } else if (checksum == "blake3" && Blake3Hasher::LibraryVersion().empty()) {
      return ForeignRefusal(kKind, path_, "its checksum_format is 'blake3', which this build is without",
                            "build wdelta where libblake3 is installed, or have it written with xxh3-128 or adler32");
    } else if (checksum == "blake3") {
      checksum_ = ForeignChecksum::kBlake3;
    } else {
      return ForeignRefusal(kKind, path_, "its checksum_format is '" + Shorten(checksum) + "'",
                            "known: xxh3-128, adler32, blake3; have it written with one of them");
    }
    return {};
  }

  Result<> ReadShard(const std::string& name, const std::map<std::string, std::string>& weight_map) {
    WD_ASSIGN(File opened, File::OpenForRead(path_ + "/" + name));
    const auto file = std::make_shared<const File>(std::move(opened));
    WD_ASSIGN(const FileIdentity identity, file->Identify());
    bytes_ += identity.size;
    WD_ASSIGN(const SafetensorsHeader header, SafetensorsHeader::Read(*file));
    shards_.emplace(name, file);
    std::map<std::string, std::string> checksums;
    header.ForEachMetadata([&](std::string_view key, std::string_view value) {
      checksums.emplace(key, value);
      return true;
    });
    for (size_t i = 0; i < header.tensor_count(); ++i) {
      const TensorEntry entry = header.tensor(i);
      ForeignTensor tensor;
      tensor.name = entry.name;
      const auto mapped = weight_map.find(tensor.name);
      if (mapped == weight_map.end() || mapped->second != name) {
        return ForeignError(
            kKind, path_,
            "tensor '" + Shorten(tensor.name) + "' in '" + name + "' is not there by the index, or in two shards");
      }
      const auto checksum = checksums.find(tensor.name);
      if (entry.dtype != Dtype::kU8 || entry.shape.size() != 1 || checksum == checksums.end() ||
          !IsChecksum(checksum->second, checksum_)) {
        return ForeignError(kKind, path_, "tensor '" + Shorten(tensor.name) + "' is no frame with a checksum");
      }
      tensor.checksum_kind = checksum_;
      tensor.checksum = checksum->second;
      tensors_.push_back(std::move(tensor));
      frames_.push_back({file, header.bytes().size() + entry.begin, header.bytes().size() + entry.end});
    }
    return {};
  }

  void Sort() {
    std::vector<size_t> order(tensors_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return tensors_[a].name < tensors_[b].name; });
    std::vector<ForeignTensor> tensors;
    std::vector<Frame> frames;
    for (const size_t i : order) {
      tensors.push_back(std::move(tensors_[i]));
      frames.push_back(std::move(frames_[i]));
    }
    tensors_ = std::move(tensors);
    frames_ = std::move(frames);
  }

  bool is_xor_ = true;
  ForeignChecksum checksum_ = ForeignChecksum::kXxh3_128;
  std::map<std::string, std::shared_ptr<const File>> shards_;
  std::vector<Frame> frames_;
  const Environment environment_;
};

}  // namespace

bool LooksLikeCanonical(const std::string& path) {
  const Result<Bytes> text = ReadWholeFile(path + "/" + kIndexFile, kMaxHeaderBytes);
  return text.ok() && Contains(*text, "\"delta_encoding\"");
}

Result<std::unique_ptr<ForeignDelta>> OpenCanonical(const std::string& path, const Environment& environment) {
  auto delta = std::make_unique<Canonical>(environment);
  WD_TRY(delta->Read(path));
  return std::unique_ptr<ForeignDelta>(std::move(delta));
}

}  // namespace wdelta
