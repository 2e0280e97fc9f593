#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <mutex>

#include "core/byte_source.h"

namespace wdelta {

// Shards are opened when they are first read, and at most kMaxOpen stay open: a checkpoint may have 1,500 of them, and
// a process often may open no more than 1,024 files.
struct Checkpoint::OpenFiles {
  static constexpr size_t kMaxOpen = 200;

  std::vector<FileIdentity> shard_identity;
  std::vector<std::pair<std::string, FileIdentity>> companion_identity;

  std::mutex mutex;
  std::vector<std::shared_ptr<const File>> shard_file;
  size_t open = 0;

  Result<std::shared_ptr<const File>> Get(size_t shard, const std::string& path) {
    const std::lock_guard lock(mutex);
    if (!shard_file[shard]) {
      if (open >= kMaxOpen) {
        for (auto& file : shard_file) file.reset();  // those in use are kept by their readers
        open = 0;
      }
      WD_ASSIGN(File file, File::OpenForRead(path));
      WD_ASSIGN(FileIdentity now, file.Identify());
      now.modified_ns = shard_identity[shard].modified_ns;  // patching in place moves it on
      if (now != shard_identity[shard]) return Changed(path);
      shard_file[shard] = std::make_shared<const File>(std::move(file));
      ++open;
    }
    return shard_file[shard];
  }

  static Result<> ExpectSame(const File& file, const FileIdentity& expected) {
    WD_ASSIGN(const FileIdentity now, file.Identify());
    if (now == expected) return {};
    return Changed(file.path());
  }

  static Error Changed(const std::string& path) {
    return Error{ErrorKind::kConflict, "'" + path + "' changed while it was read",
                 "wait until the writer is done, then run the same command again"}
        .At(path);
  }
};

Checkpoint::Checkpoint() : files_(std::make_unique<OpenFiles>()) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Result<Checkpoint> Checkpoint::Open(const std::string& path, const FileChoice& choice, const NoteSink& note) {
  if (std::max(choice.include.size(), choice.exclude.size()) > kMaxPatterns) {
    return Error{ErrorKind::kUsage, "more than " + std::to_string(kMaxPatterns) + " patterns"};
  }
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  if (IsFolder(path)) {
    WD_ASSIGN(const FolderFiles files, ListCheckpointFolder(path, choice, note));
    checkpoint.layout_.include = choice.include;
    checkpoint.layout_.exclude = choice.exclude;
    WD_TRY(checkpoint.OpenShards(files.shards));
    WD_TRY(checkpoint.OpenCompanions(files.companions));
    if (!files.index.empty()) WD_TRY(checkpoint.CheckIndex(files.index, note));
  } else {
    checkpoint.layout_.lone_file = true;
    WD_TRY(checkpoint.OpenShards({std::string(kLoneShard)}));
  }
  return checkpoint;
}

std::string Checkpoint::ShardPath(size_t shard) const {
  return layout_.lone_file ? path_ : path_ + "/" + layout_.shards[shard].path;
}

Result<> Checkpoint::OpenShards(const std::vector<std::string>& names) {
  for (const std::string& name : names) layout_.shards.push_back({name, 0, {}, 0});
  files_->shard_file.resize(names.size());
  for (uint32_t shard = 0; shard < names.size(); ++shard) {
    WD_ASSIGN(const File file, File::OpenForRead(ShardPath(shard)));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    files_->shard_identity.push_back(identity);
    WD_ASSIGN(SafetensorsHeader header, SafetensorsHeader::Read(file));
    layout_.shards[shard].bytes = header.bytes().size();
    layout_.shards[shard].sha256 = DigestSha256(header.bytes());
    layout_.shards[shard].data_bytes = identity.size - header.bytes().size();
    if (Contains(header.bytes(), "DCP_SHARDING_INFO") && header.Metadata("DCP_SHARDING_INFO")) {
      return Error{
          ErrorKind::kRefused,
          "'" + ShardPath(shard) + "' is an unconsolidated shard of a torch distributed checkpoint",
          "consolidate the shards first, e.g. with torch.distributed.checkpoint's consolidate_safetensors_files"}
          .At(ShardPath(shard));
    }
    headers_.push_back(std::move(header));
  }
  WD_ASSIGN(tensors_, CollectTensors(headers_, layout_));
  return {};
}

Result<> Checkpoint::OpenCompanions(const std::vector<std::string>& paths) {
  for (const std::string& relative : paths) {
    WD_ASSIGN(const File file, File::OpenForRead(path_ + "/" + relative));
    WD_ASSIGN(const FileIdentity identity, file.Identify());
    WD_ASSIGN(const Sha256Digest sha256, DigestSource(FileSlice(file, 0, identity.size), {}));
    layout_.companions.push_back({relative, identity.size, sha256, 0});
    files_->companion_identity.emplace_back(file.path(), identity);
  }
  return {};
}

// Every tensor of the index must be in the shard that it names. The reverse is only worth a note.
Result<> Checkpoint::CheckIndex(const std::string& index, const NoteSink& note) const {
  size_t listed = 0;
  WD_TRY(VisitWeightMap(path_ + "/" + index, [&](std::string_view name, std::string_view shard) -> Result<> {
    const Tensor* tensor = Find(name);
    if (!tensor || layout_.shards[tensor->shard].path != shard)
      return Error{ErrorKind::kIntegrity, "tensor '" + std::string(name) + "' is not in '" + std::string(shard) + "'"}
          .OfTensor(name);
    ++listed;
    return {};
  }));
  if (listed < tensors_.size()) {
    note(std::to_string(tensors_.size() - listed) + " tensors in the shards of '" + path_ + "' are not in '" + index +
         "'");
  }
  return {};
}

uint64_t Checkpoint::data_bytes() const {
  uint64_t sum = 0;
  for (const Tensor& tensor : tensors_) sum += tensor.bytes;
  return sum;
}

Result<Bytes> Checkpoint::ReadFileBlock(size_t file, uint64_t number) const {
  const size_t shards = layout_.shards.size();
  if (file < shards) {
    const ByteSpan part = ByteSpan(headers_[file].bytes()).subspan(number * kBlockBytes);
    return Bytes(part.begin(), part.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(part.size(), kBlockBytes)));
  }
  const LayoutFile& companion = layout_.companions[file - shards];
  WD_ASSIGN(const File opened, File::OpenForRead(path_ + "/" + companion.path));
  WD_TRY(OpenFiles::ExpectSame(opened, files_->companion_identity[file - shards].second));
  Bytes content(BlockLength(companion.bytes, number));
  WD_TRY(opened.ReadAt(number * kBlockBytes, content));
  return content;
}

Result<> Checkpoint::Read(const Tensor& tensor, uint64_t at, MutableByteSpan out) const {
  WD_ASSIGN(const auto file, files_->Get(tensor.shard, ShardPath(tensor.shard)));
  Result<> read = file->ReadAt(tensor.offset + at, out);
  if (read.ok()) return {};
  // A file that ends early was whole when its header was checked: say that it changed, not that it is malformed.
  if (read.error().kind == ErrorKind::kIntegrity)
    WD_TRY(OpenFiles::ExpectSame(*file, files_->shard_identity[tensor.shard]));
  return read;
}

Result<> Checkpoint::CheckUnchanged() const {
  for (size_t shard = 0; shard < headers_.size(); ++shard) {
    WD_ASSIGN(const File file, File::OpenForRead(ShardPath(shard)));
    WD_TRY(OpenFiles::ExpectSame(file, files_->shard_identity[shard]));
  }
  for (const auto& [path, identity] : files_->companion_identity) {
    WD_ASSIGN(const File file, File::OpenForRead(path));
    WD_TRY(OpenFiles::ExpectSame(file, identity));
  }
  return {};
}

}  // namespace wdelta
