#include <algorithm>

#include "pack/pack_format.h"

namespace wdelta {

namespace {

Error Damaged(const std::string& path, std::string_view why) {
  return Error{ErrorKind::kIntegrity, "pack '" + path + "' is damaged: " + std::string(why)}.At(path);
}

// The head of a section: its type, and where its body lies.
struct Section {
  uint8_t type = 0;
  uint64_t body = 0, length = 0;
  uint64_t end() const { return body + length; }
};

class PackReader final : public DeltaReader {
 public:
  PackReader(File file, std::string path) : file_(std::move(file)) { path_ = std::move(path); }

  std::string_view kind() const override { return "pack"; }

  Result<> Open(Trust trust) {
    WD_ASSIGN(const FileIdentity identity, file_.Identify());
    bytes_ = identity.size;
    WD_TRY(ReadHeader());
    WD_TRY(ReadEnd());
    if (trust == Trust::kWhole) WD_TRY(CheckSha256());
    WD_TRY(ReadLayout());
    WD_TRY(ReadIndex());
    return trust == Trust::kWhole ? CheckSections() : Result<>();
  }

  Result<std::vector<BlockPlace>> TensorBlocks(size_t record) const override {
    const TensorRecord& tensor = index_.tensors[record];
    const uint64_t blocks = BlockCount(*TensorBytes(tensor.dtype, tensor.shape));
    return ListBlocks(record_places_[record], index_.layout.file_count() + tensor.ordinal, blocks, tensor.HasBase());
  }

  Result<> DecodeTensorBlock(size_t record, const BlockPlace& place, ByteSpan old_block,
                             BlockDelta& delta) const override {
    const TensorRecord& tensor = index_.tensors[record];
    const size_t new_bytes = BlockLength(*TensorBytes(tensor.dtype, tensor.shape), place.number);
    Result<> decoded = Decode(place, {place.has_old ? old_block : ByteSpan{}, new_bytes, tensor.dtype}, delta);
    if (decoded.ok()) return {};
    auto error = decoded.TakeError();
    error->message = "block " + std::to_string(place.number) + " of tensor '" + tensor.name + "': " + error->message;
    error->tensor = tensor.name;
    return error;
  }

  Result<Bytes> ReadFileBlock(size_t file, uint64_t number) const override {
    const uint64_t bytes = index_.layout.file(file).bytes;
    WD_ASSIGN(const auto places, ListBlocks(file_places_[file], file, BlockCount(bytes), false));
    BlockDelta delta;
    WD_TRY(Decode(places[number], {{}, BlockLength(bytes, number), Dtype::kU8}, delta));
    if (!delta.whole || ShortDigest(DigestBlock(delta.values)) != places[number].new_digest) {
      return Damaged(path_, "a block of '" + index_.layout.file(file).path + "' does not have its digest");
    }
    return std::move(delta.values);
  }

  Result<std::vector<uint64_t>> CutPoints(uint64_t most) const override {
    std::vector<uint64_t> cuts{0};
    if (bytes_ <= most) return cuts;
    for (uint64_t at = blocks_begin_; at < index_offset_;) {
      WD_ASSIGN(const Section section, ReadSection(at, index_offset_));
      if (section.end() - cuts.back() > most) cuts.push_back(at);
      at = section.end();
    }
    if (bytes_ - cuts.back() > most) cuts.push_back(index_offset_);
    return cuts;
  }

  Result<> CheckWhole() const override {
    BlockDelta delta;
    for (size_t record = 0; record < index_.tensors.size(); ++record) {
      const TensorRecord& tensor = index_.tensors[record];
      WD_ASSIGN(const std::vector<BlockPlace> places, TensorBlocks(record));
      for (const BlockPlace& place : places) {
        if (tensor.HasBase()) {  // its content needs the old block; its checksum and its codec do not
          WD_ASSIGN(const Bytes body, ReadBlockBody(place));
          if (!FindCodec(CodecOf(body))) return Named(DecodeBlock(CodecOf(body), {}, {}, delta));
          continue;
        }
        WD_TRY(DecodeTensorBlock(record, place, {}, delta));
        if (ShortDigest(DigestBlock(delta.values)) == place.new_digest) continue;
        return Damaged(path_, "block " + std::to_string(place.number) + " of tensor '" + tensor.name +
                                  "' does not have its digest");
      }
    }
    WD_ASSIGN(const std::string damaged, FindDamagedFile());
    if (!damaged.empty()) return Damaged(path_, "file '" + damaged + "' does not have its digest");
    return {};
  }

 private:
  Result<> ReadHeader() {
    if (bytes_ < kPackHeaderBytes + kEndSectionBytes) return Damaged(path_, "ends too early");
    Bytes header(kPackHeaderBytes);
    WD_TRY(file_.ReadAt(0, header));
    ByteReader in(ByteSpan(header).subspan(kPackMagic.size()));
    WD_ASSIGN(const uint16_t version, in.Fixed<uint16_t>());
    WD_ASSIGN(const uint16_t zero, in.Fixed<uint16_t>());
    WD_ASSIGN(const uint32_t required, in.Fixed<uint32_t>());
    if (version != kPackVersion || zero != 0 || (required & ~kAnchorFlag) != 0) {
      return Error{ErrorKind::kRefused,
                   "pack '" + path_ + "' has version " + std::to_string(version) + ", required flags " +
                       std::to_string(required) + " and reserved bits " + std::to_string(zero) +
                       "; this wdelta reads version " + std::to_string(kPackVersion) + ", flags up to " +
                       std::to_string(kAnchorFlag) + " and no reserved bits",
                   "a newer wdelta may read it"}
          .At(path_);
    }
    index_.anchor = (required & kAnchorFlag) != 0;
    return {};
  }

  Result<> ReadEnd() {
    Bytes end(kEndSectionBytes);
    before_end_ = bytes_ - kEndSectionBytes;
    WD_TRY(file_.ReadAt(before_end_, end));
    ByteReader in(end);
    WD_ASSIGN(const uint8_t type, in.Fixed<uint8_t>());
    WD_ASSIGN(const uint8_t length, in.Fixed<uint8_t>());
    WD_ASSIGN(index_offset_, in.Fixed<uint64_t>());
    WD_ASSIGN(const uint64_t before_end, in.Fixed<uint64_t>());
    WD_ASSIGN(const ByteSpan sha256, in.Raw(digest_in_end_.size()));
    std::copy(sha256.begin(), sha256.end(), digest_in_end_.begin());
    WD_ASSIGN(const ByteSpan magic, in.Raw(kPackMagic.size()));
    if (type != kEndSection || length != kEndBodyBytes || !std::equal(magic.begin(), magic.end(), kPackMagic.begin())) {
      return Damaged(path_, "it has no end record, so it was cut off");
    }
    if (before_end != before_end_) {
      return Damaged(path_, "it has " + std::to_string(bytes_) + " bytes, its end record says " +
                                std::to_string(before_end + kEndSectionBytes));
    }
    if (index_offset_ < kPackHeaderBytes || index_offset_ >= before_end_) return Damaged(path_, "index out of place");
    return {};
  }

  // The end record has the digest of all bytes before it. Hashing goes on to the very end, because the digest of the
  // whole file is what a store calls it.
  Result<> CheckSha256() {
    Sha256 sha256;
    WD_TRY(ForEachPiece(FileSlice(file_, 0, before_end_), sha256.Taker()));
    if (sha256.Clone().Finish() != digest_in_end_)
      return Damaged(path_, "its SHA-256 is not the one in its end record");
    WD_TRY(ForEachPiece(FileSlice(file_, before_end_, bytes_ - before_end_), sha256.Taker()));
    sha256_ = sha256.Finish();
    return {};
  }

  // Between layout and index there are only blocks: of carried files by number, then of tensors; those of one stream
  // together, where the index says.
  Result<> CheckSections() const {
    const size_t files = index_.layout.file_count();
    size_t streams = 0;
    uint64_t at = blocks_begin_, previous = 0;
    while (at < index_offset_) {
      WD_ASSIGN(const Section section, ReadSection(at, index_offset_));
      if (section.type != kBlockSection) return Damaged(path_, "no block at byte " + std::to_string(at));
      Bytes head(std::min<uint64_t>(section.length, 16));
      WD_TRY(file_.ReadAt(section.body, head));
      ByteReader in(head);
      WD_TRY(Named(Result<>(in.Fixed<uint32_t>().TakeError())));
      auto stream = in.Varint();
      if (!stream.ok()) return Named(Result<>(stream.TakeError()));
      const StreamPlace* place = nullptr;
      if (*stream < files && index_.carried[*stream]) place = &file_places_[*stream];
      if (*stream >= files) {
        const auto record = std::ranges::lower_bound(index_.tensors, *stream - files, {}, &TensorRecord::ordinal);
        if (record != index_.tensors.end() && record->ordinal == *stream - files) {
          place = &record_places_[static_cast<size_t>(record - index_.tensors.begin())];
        }
      }
      const bool in_order = streams == 0 || *stream >= files || *stream > previous;
      const bool files_first = *stream >= files || previous < files;
      if (!place || place->offset != at || !in_order || !files_first) {
        return Damaged(path_, "the block at byte " + std::to_string(at) + " is not where it should be");
      }
      previous = *stream;
      ++streams;
      at += place->bytes;
    }
    const auto used = [](const StreamPlace& place) { return place.bytes > 0; };
    const auto expected = std::ranges::count_if(file_places_, used) + std::ranges::count_if(record_places_, used);
    if (streams != static_cast<size_t>(expected)) return Damaged(path_, "blocks are missing");
    return {};
  }

  // The section at `at`, which must end by `limit`.
  Result<Section> ReadSection(uint64_t at, uint64_t limit) const {
    Bytes head(std::min<uint64_t>(11, limit - at));
    WD_TRY(file_.ReadAt(at, head));
    ByteReader in(head);
    const auto damaged = [&] { return Damaged(path_, "no section at byte " + std::to_string(at)); };
    const auto type = in.Fixed<uint8_t>();
    const auto length = in.Varint();
    if (!type.ok() || !length.ok()) return damaged();
    const Section section{*type, at + head.size() - in.left(), *length};
    if (section.length > limit - section.body) return damaged();
    return section;
  }

  Result<Bytes> ReadBody(const Section& section, uint64_t most, const char* too_long) const {
    if (section.length > most) return Damaged(path_, too_long);
    Bytes body(section.length);
    WD_TRY(file_.ReadAt(section.body, body));
    return body;
  }

  Result<> ReadLayout() {
    WD_ASSIGN(const Section section, ReadSection(kPackHeaderBytes, index_offset_));
    blocks_begin_ = section.end();
    if (section.type != kLayoutSection) return Damaged(path_, "no layout");
    WD_ASSIGN(const Bytes body, ReadBody(section, kMaxIndexBytes, "layout too long"));
    return Named([&]() -> Result<> {
      ByteReader in(body);
      WD_ASSIGN(const Bytes layout, TakeByteStream(in, MaxUnpacked(body.size())));
      WD_TRY(in.ExpectEnd());
      return DecodeLayout(layout, index_);
    }());
  }

  Result<> ReadIndex() {
    WD_ASSIGN(const Section section, ReadSection(index_offset_, before_end_));
    if (section.type != kIndexSection || section.end() != before_end_) return Damaged(path_, "no index");
    WD_ASSIGN(const Bytes body, ReadBody(section, kMaxIndexBytes, "index too long"));
    return Named([&]() -> Result<> {
      ByteReader in(body);
      WD_ASSIGN(const uint64_t check, in.Fixed<uint64_t>());
      if (check != ShortDigest(DigestBlock(ByteSpan(body).subspan(8)))) {
        return Error{ErrorKind::kIntegrity, "index does not have its checksum"};
      }
      WD_ASSIGN(const Bytes index, TakeByteStream(in, MaxUnpacked(body.size())));
      WD_ASSIGN(const Bytes places, TakeByteStream(in, MaxUnpacked(body.size())));
      WD_TRY(in.ExpectEnd());
      WD_TRY(DecodeIndex(index, index_));
      return DecodePlaces(places);
    }());
  }

  Result<> DecodePlaces(ByteSpan bytes) {
    ByteReader in(bytes);
    uint64_t previous_end = 0;
    const auto take = [&](StreamPlace& place) -> Result<> {
      WD_ASSIGN(place.bytes, in.Varint());
      if (place.bytes == 0) return {};
      WD_ASSIGN(const uint64_t step, in.Varint());
      place.offset = previous_end + Unfold<uint64_t>(step);
      if (place.offset < blocks_begin_ || place.offset > index_offset_ || place.bytes > index_offset_ - place.offset) {
        return Error{ErrorKind::kIntegrity, "blocks out of place"};
      }
      previous_end = place.offset + place.bytes;
      return {};
    };
    file_places_.resize(index_.layout.file_count());
    for (size_t file = 0; file < file_places_.size(); ++file) {
      if (index_.carried[file]) WD_TRY(take(file_places_[file]));
    }
    record_places_.resize(index_.tensors.size());
    for (StreamPlace& place : record_places_) WD_TRY(take(place));
    return in.ExpectEnd();
  }

  // The blocks of one stream: numbers rise and are below `blocks`; all are there unless the stream has a base.
  Result<std::vector<BlockPlace>> ListBlocks(const StreamPlace& stream, uint64_t id, uint64_t blocks,
                                             bool has_base) const {
    std::vector<BlockPlace> places;
    const uint64_t end = stream.offset + stream.bytes;
    for (uint64_t at = stream.offset; at < end;) {
      WD_ASSIGN(const Section section, ReadSection(at, end));
      if (section.type != kBlockSection) return Damaged(path_, "no block at byte " + std::to_string(at));
      Bytes head(std::min<uint64_t>(section.length, 48));
      WD_TRY(file_.ReadAt(section.body, head));
      ByteReader in(head);
      WD_TRY(Named([&]() -> Result<> {
        WD_TRY(in.Fixed<uint32_t>());
        uint64_t stream_id = 0;
        uint8_t codec = 0;
        WD_ASSIGN(BlockPlace place, TakeBlockHead(in, stream_id, codec));
        const bool in_order = places.empty() ? has_base || place.number == 0
                                             : place.number > places.back().number &&
                                                   (has_base || place.number == places.back().number + 1);
        if (stream_id != id || place.number >= blocks || place.has_old != has_base || !in_order) {
          return Error{ErrorKind::kIntegrity, "block out of place at byte " + std::to_string(at)};
        }
        place.at = section.body;
        place.length = section.length;
        places.push_back(place);
        return {};
      }()));
      at = section.end();
    }
    if (has_base ? places.empty() : places.size() != blocks) return Damaged(path_, "blocks are missing");
    return places;
  }

  static Result<BlockPlace> TakeBlockHead(ByteReader& in, uint64_t& stream, uint8_t& codec) {
    BlockPlace place;
    WD_ASSIGN(stream, in.Varint());
    WD_ASSIGN(place.number, in.Varint());
    WD_ASSIGN(const uint8_t byte, in.Fixed<uint8_t>());
    codec = static_cast<uint8_t>(byte & ~kHasOldFlag);
    place.has_old = (byte & kHasOldFlag) != 0;
    if (place.has_old) {
      WD_ASSIGN(place.old_digest, in.Fixed<uint32_t>());
    }
    WD_ASSIGN(place.new_digest, in.Fixed<uint64_t>());
    return place;
  }

  // Of a body whose checksum was right.
  static uint8_t CodecOf(ByteSpan body) {
    ByteReader in(body.subspan(4));
    uint64_t stream = 0;
    uint8_t codec = 0;
    return TakeBlockHead(in, stream, codec).ok() ? codec : uint8_t{0xff};
  }

  Result<Bytes> ReadBlockBody(const BlockPlace& place) const {
    // No honest block is much longer: a codec that does not shrink a block gives way to raw bytes.
    WD_ASSIGN(Bytes body, ReadBody({kBlockSection, place.at, place.length}, kBlockBytes + 4096, "no block"));
    if (body.size() < 4 ||
        Load<uint32_t>(body.data()) != static_cast<uint32_t>(ShortDigest(DigestBlock(ByteSpan(body).subspan(4))))) {
      return Damaged(path_, "block at byte " + std::to_string(place.at) + " does not have its checksum");
    }
    return body;
  }

  Result<> Decode(const BlockPlace& place, const BlockFrame& frame, BlockDelta& delta) const {
    WD_ASSIGN(const Bytes body, ReadBlockBody(place));
    ByteReader in(ByteSpan(body).subspan(4));
    uint64_t stream = 0;
    uint8_t codec = 0;
    return Named([&]() -> Result<> {
      WD_TRY(TakeBlockHead(in, stream, codec));
      WD_ASSIGN(const ByteSpan coded, in.Raw(in.left()));
      return DecodeBlock(codec, coded, frame, delta);
    }());
  }

  File file_;
  uint64_t before_end_ = 0, index_offset_ = 0, blocks_begin_ = 0;
  Sha256Digest digest_in_end_{};
  std::vector<StreamPlace> file_places_, record_places_;
};

}  // namespace

bool LooksLikePack(ByteSpan first_bytes) {
  return first_bytes.size() >= kPackMagic.size() &&
         std::equal(kPackMagic.begin(), kPackMagic.end(), first_bytes.begin());
}

Result<std::unique_ptr<DeltaReader>> OpenPack(File file, std::string path, Trust trust) {
  auto reader = std::make_unique<PackReader>(std::move(file), std::move(path));
  WD_TRY(reader->Open(trust));
  return std::unique_ptr<DeltaReader>(std::move(reader));
}

}  // namespace wdelta
