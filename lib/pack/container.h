// A container holds one delta: our pack, the plain safetensors form, and whatever else the table in open_delta.cc
// knows. Both directions have one interface each, so that the walks do not care which container it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/byte_source.h"
#include "core/context.h"
#include "pack/delta_index.h"

namespace wdelta {

// One block that a container holds, and what proves that the right bytes went in and came out: the short digests of the
// block before (if it had a base) and after. What came out is proved again by the fingerprint of the whole result.
struct BlockPlace {
  uint64_t number = 0;  // of the block in its tensor or file
  bool has_old = false;
  uint32_t old_digest = 0;  // the low half of its ShortDigest
  uint64_t new_digest = 0;
  uint64_t at = 0, length = 0;  // the container's own business
};

// Reading. All calls may be made from several threads at once.
class DeltaReader {
 public:
  virtual ~DeltaReader() = default;

  const DeltaIndex& index() const { return index_; }
  const std::string& path() const { return path_; }  // for messages
  uint64_t bytes() const { return bytes_; }
  virtual std::string_view kind() const = 0;  // "pack", "plain delta"

  // The blocks that are there for index().tensors[record], ascending; all blocks unless record.HasBase().
  virtual Result<std::vector<BlockPlace>> TensorBlocks(size_t record) const = 0;
  // What changed in that block, given its old bytes (empty if it has none).
  virtual Result<> DecodeTensorBlock(size_t record, const BlockPlace& place, ByteSpan old_block,
                                     BlockDelta& delta) const = 0;
  // Block `number` of a carried file, index().file(file).
  virtual Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const = 0;

  // Where the container may be cut so that no part is longer than `most` bytes: rising, from 0 on, never inside a
  // block. kRefused for a container that does not travel in parts.
  virtual Result<std::vector<uint64_t>> CutPoints(uint64_t most) const;

  // The SHA-256 of all its bytes; nullopt if it was opened without reading all of it.
  const std::optional<Sha256Digest>& sha256() const { return sha256_; }

  // Reads all of the container and checks every checksum that needs no base. Fails with kIntegrity.
  virtual Result<> CheckWhole() const = 0;

  // The record of a tensor, or nullopt if it is the base's.
  std::optional<size_t> FindRecord(std::string_view name) const;

 protected:
  // Says which container it is in an error that does not.
  Result<> Named(Result<> result) const;
  // The path of a carried file that does not have its digest; empty: all have.
  Result<std::string> FindDamagedFile() const;

  DeltaIndex index_;
  std::string path_;
  uint64_t bytes_ = 0;
  std::optional<Sha256Digest> sha256_;
};

// A block on its way into a container: what Prepare made of it.
struct PreparedBlock {
  BlockPlace place;  // number and digests
  uint8_t codec = 0;
  Bytes coded;
};

// A part of a container as a store keeps it, an object of its own. Parts follow one another without gaps.
struct ContainerPart {
  Sha256Digest sha256{};
  uint64_t bytes = 0;
  bool operator==(const ContainerPart&) const = default;
};
inline constexpr uint64_t kMaxPartBytes = uint64_t{512} << 20;

// Writing, in this order: the blocks of the carried files, file by file; the blocks of the tensors, tensor by tensor,
// as they lie in the result's files; the index. Nothing appears before Finish.
class DeltaWriter {
 public:
  virtual ~DeltaWriter() = default;

  virtual Result<> AddFileBlock(size_t file, uint64_t number, ByteSpan content) = 0;
  // Codes a block; may be called from several threads at once.
  virtual Result<Bytes> Prepare(const BlockChange& change, uint8_t* codec) const = 0;
  virtual Result<> AddTensorBlock(const Tensor& tensor, uint64_t ordinal, const PreparedBlock& block) = 0;
  virtual Result<> Finish(const DeltaIndex& index) = 0;

  uint64_t written() const { return written_; }
  const Sha256Digest& sha256() const { return sha256_; }  // of the container, after Finish
  // After Finish: the parts that DeltaReader::CutPoints would cut the container into, hashed while they were written.
  // Empty for a container that does not travel in parts.
  const std::vector<ContainerPart>& parts() const { return parts_; }

 protected:
  uint64_t written_ = 0;
  Sha256Digest sha256_{};
  std::vector<ContainerPart> parts_;
};

// How native packs are coded.
struct PackOptions {
  Level level = Level::kDefault;
  const Codec* codec = nullptr;  // forced
  bool check = true;             // decode every block again and compare
  uint64_t max_part_bytes = kMaxPartBytes;
};

// Both take of `plan` what is known beforehand: anchor, layout, carried. The plain form is put together in temporary
// files of `environment`.
Result<std::unique_ptr<DeltaWriter>> CreatePack(const std::string& path, const DeltaIndex& plan,
                                                const PackOptions& options);
Result<std::unique_ptr<DeltaWriter>> CreatePlainDelta(const std::string& path, const DeltaIndex& plan,
                                                      const Environment& environment);

// Opens a delta of any known container, told by its content; "-" is spooled first. kWhole checks the digest of the
// whole container before anything of it is used; kIndex reads the index only.
enum class Trust { kWhole, kIndex };
Result<std::unique_ptr<DeltaReader>> OpenDelta(const std::string& path, Trust trust, const Context& context);

// Whether the file looks like a delta of a known container. Anything else, a malformed file too, does not.
Result<bool> LooksLikeDelta(const std::string& path);

// The rows of that table: each opens its container from an open file.
bool LooksLikePack(ByteSpan first_bytes);
Result<std::unique_ptr<DeltaReader>> OpenPack(File file, std::string path, Trust trust);
Result<std::unique_ptr<DeltaReader>> OpenPlainDelta(File file, std::string path);

}  // namespace wdelta
