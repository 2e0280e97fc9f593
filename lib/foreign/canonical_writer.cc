// The delta folders of canonical and SkyRL form: the same frames, described in two ways.
#include <fmt/format.h>

#include "core/json_object.h"
#include "core/text.h"
#include "foreign/canonical_index.h"
#include "foreign/foreign_writer.h"

namespace wdelta {

namespace {

constexpr uint64_t kShardBytes = uint64_t{1} << 30;

// A folder of frames that appears whole: it is filled under another name.
class FrameFolder : public ForeignWriter {
 public:
  FrameFolder(std::string path, bool overwrite, ForeignChecksum checksum, const Environment& environment)
      : path_(std::move(path)), spool_(overwrite, checksum, environment) {}
  ~FrameFolder() override {
    if (!pending_.empty()) RemoveTree(pending_);
  }

  Result<> Begin(const Tensor& tensor) override { return spool_.Begin(tensor); }
  Result<> Add(ByteSpan old_block, ByteSpan new_block) override { return spool_.Add(old_block, new_block); }
  Result<> End() override { return spool_.End(); }
  Result<> Finish(const Totals&) override {
    pending_ = TemporaryNameBeside(path_);
    WD_TRY(CreateFolder(pending_));
    WD_TRY(Fill(pending_));
    WD_TRY(SyncFolder(pending_));
    WD_TRY(Rename(pending_, path_, true));
    pending_.clear();
    return {};
  }

 protected:
  virtual Result<> Fill(const std::string& folder) = 0;
  const FrameSpool& spool() const { return spool_; }
  Result<> WriteText(const std::string& path, const std::string& text) {
    written_ += text.size();
    return WriteWholeFile(path, AsBytes(text), true);
  }

 private:
  std::string path_, pending_;
  FrameSpool spool_;
};

class CanonicalWriter final : public FrameFolder {
 public:
  CanonicalWriter(const std::string& path, const ForeignOptions& options)
      : FrameFolder(path, options.overwrite, options.checksum, options.environment), options_(options) {}

  Result<> Check(const Tensor& tensor) const override {
    if (!options_.overwrite || tensor.bytes <= UINT32_MAX) return {};
    return Error{ErrorKind::kRefused, "tensor '" + Shorten(tensor.name) + "' has 4 GiB or more, and positions 32 bits",
                 "use '--encoding xor'"}
        .OfTensor(tensor.name);
  }

 private:
  Result<> Fill(const std::string& folder) override {
    const std::vector<SpooledFrame>& frames = spool().frames();
    std::vector<size_t> ends;
    for (size_t first = 0; first < frames.size(); first = ends.back()) {
      ends.push_back(first + spool().FramesIn(first, kShardBytes));
    }
    std::vector<std::string> names(ends.size());
    std::vector<std::pair<std::string_view, std::string_view>> weight_map;
    for (size_t shard = 0; shard < ends.size(); ++shard) {
      const std::string& name = names[shard] = fmt::format("model-{:05}-of-{:05}.safetensors", shard, ends.size());
      const size_t first = shard == 0 ? 0 : ends[shard - 1];
      WD_ASSIGN(const uint64_t bytes, spool().WriteShard(folder + "/" + name, first, ends[shard], true));
      written_ += bytes;
      for (size_t i = first; i < ends[shard]; ++i) weight_map.emplace_back(frames[i].name, name);
    }
    const JsonObject metadata = {
        {"version", options_.version},
        {"base_version", options_.base_version},
        {"delta_encoding", options_.overwrite ? "overwrite" : "xor"},
        {"compression_format", "zstd"},
        {"checksum_format", options_.checksum == ForeignChecksum::kAdler32 ? "adler32" : "xxh3-128"}};
    const JsonObject index = {{"metadata", metadata}, {"weight_map", JsonValue::FromJson(JsonTexts(weight_map))}};
    return WriteText(folder + "/" + kIndexFile, index.Text());
  }

  ForeignOptions options_;
};

class SkyrlWriter final : public FrameFolder {
 public:
  SkyrlWriter(const std::string& path, const ForeignOptions& options)
      : FrameFolder(path, false, ForeignChecksum::kXxh3_128, options.environment), options_(options) {}

  Result<> Check(const Tensor& tensor) const override {
    if (!TorchName(tensor.dtype).empty()) return {};
    return Error{ErrorKind::kRefused,
                 "tensor '" + Shorten(tensor.name) + "' is of type " + std::string(DtypeName(tensor.dtype)) +
                     ", which SkyRL has no name for",
                 "'--format canonical' takes any type"}
        .OfTensor(tensor.name);
  }

 private:
  Result<> Fill(const std::string& folder) override {
    const std::vector<SpooledFrame>& frames = spool().frames();
    std::vector<std::string> files;
    std::vector<JsonObject> tensors;
    uint64_t uncompressed = 0, compressed = 0;
    for (size_t first = 0; first < frames.size();) {
      const size_t last = first + spool().FramesIn(first, kShardBytes);
      const std::string name = fmt::format("delta-rank00000-file{:06}.safetensors", files.size());
      WD_ASSIGN(const uint64_t bytes, spool().WriteShard(folder + "/" + name, first, last, false));
      written_ += bytes;
      files.push_back(name);
      for (; first < last; ++first) {
        tensors.push_back(Described(frames[first], name));
        uncompressed += frames[first].tensor_bytes;
        compressed += frames[first].end - frames[first].begin;
      }
    }
    const JsonObject manifest = {{"version", JsonValue::FromJson(options_.version)},
                                 {"base_version", JsonValue::FromJson(options_.base_version)},
                                 {"tensors", tensors},
                                 {"total_uncompressed_num_bytes", uncompressed},
                                 {"total_compressed_num_bytes", compressed},
                                 {"payload_files", files}};
    return WriteText(folder + "/manifest.json", manifest.Text());
  }

  // No other keys: SkyRL refuses them.
  static JsonObject Described(const SpooledFrame& frame, const std::string& file) {
    return {{"name", frame.name},
            {"dtype", TorchName(frame.dtype)},
            {"shape", frame.shape},
            {"uncompressed_num_bytes", frame.tensor_bytes},
            {"compressed_num_bytes", frame.end - frame.begin},
            {"payload_file", file},
            {"payload_key", frame.name},
            {"checksum", frame.checksum},
            {"checksum_algorithm", "xxh3-128"}};
  }

  ForeignOptions options_;
};

}  // namespace

std::unique_ptr<ForeignWriter> CreateCanonical(const std::string& path, const ForeignOptions& options) {
  return std::make_unique<CanonicalWriter>(path, options);
}
std::unique_ptr<ForeignWriter> CreateSkyrl(const std::string& path, const ForeignOptions& options) {
  return std::make_unique<SkyrlWriter>(path, options);
}

}  // namespace wdelta
