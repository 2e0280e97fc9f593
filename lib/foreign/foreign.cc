#include "foreign/foreign.h"

#include <algorithm>

namespace wdelta {

namespace {

// Puts values at positions, as the blocks of the tensor pass by.
class Overwrite final : public ForeignStream {
 public:
  Overwrite(std::unique_ptr<PositionSource> positions, std::unique_ptr<ByteFeed> values, unsigned unit, uint64_t units)
      : positions_(std::move(positions)), values_(std::move(values)), unit_(unit), units_(units) {}

  Result<> Apply(MutableByteSpan block) override {
    const uint64_t end = passed_ + block.size() / unit_;
    for (;;) {
      if (!looked_) WD_TRY(Look());
      if (!next_ || *next_ >= end) break;
      WD_TRY(values_->Read(block.subspan((*next_ - passed_) * unit_, unit_)));
      looked_ = false;
    }
    passed_ = end;
    return {};
  }
  Result<> End() override {
    if (!looked_) WD_TRY(Look());
    if (next_) return Error{ErrorKind::kIntegrity, "a position lies outside of the tensor"};
    if (values_->left() != 0) return Error{ErrorKind::kIntegrity, "there are more values than positions"};
    return {};
  }

 private:
  Result<> Look() {
    const std::optional<uint64_t> before = next_;
    WD_ASSIGN(next_, positions_->Next());
    if (next_ && before && *next_ <= *before) return Error{ErrorKind::kIntegrity, "positions do not rise"};
    if (next_ && *next_ >= units_) return Error{ErrorKind::kIntegrity, "a position lies outside of the tensor"};
    looked_ = true;
    return {};
  }

  std::unique_ptr<PositionSource> positions_;
  std::unique_ptr<ByteFeed> values_;
  unsigned unit_;
  uint64_t units_, passed_ = 0;
  std::optional<uint64_t> next_;
  bool looked_ = false;
};

class PartOfFile final : public ByteFeed {
 public:
  PartOfFile(std::shared_ptr<const File> file, uint64_t begin, uint64_t end)
      : file_(std::move(file)), at_(begin), end_(end) {}

  uint64_t left() const override { return end_ - at_ + (buffer_.size() - used_); }
  Result<> Read(MutableByteSpan out) override {
    if (out.size() > left()) return Error{ErrorKind::kIntegrity, "ends too early"};
    while (!out.empty()) {
      if (used_ == buffer_.size()) {
        buffer_.resize(std::min<uint64_t>(end_ - at_, kBuffer));
        WD_TRY(file_->ReadAt(at_, buffer_));
        at_ += buffer_.size();
        used_ = 0;
      }
      const size_t length = std::min(out.size(), buffer_.size() - used_);
      std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(used_), length, out.begin());
      used_ += length;
      out = out.subspan(length);
    }
    return {};
  }

 private:
  static constexpr uint64_t kBuffer = 64 << 10;
  std::shared_ptr<const File> file_;
  uint64_t at_, end_;
  Bytes buffer_;
  size_t used_ = 0;
};

}  // namespace

std::unique_ptr<ForeignStream> OverwriteStream(std::unique_ptr<PositionSource> positions,
                                               std::unique_ptr<ByteFeed> values, unsigned unit, uint64_t units) {
  return std::make_unique<Overwrite>(std::move(positions), std::move(values), unit, units);
}

std::unique_ptr<ByteFeed> FilePart(std::shared_ptr<const File> file, uint64_t begin, uint64_t end) {
  return std::make_unique<PartOfFile>(std::move(file), begin, end);
}

Error ForeignError(std::string_view kind, const std::string& path, const std::string& why) {
  Error error{ErrorKind::kIntegrity, "'" + path + "' is no good " + std::string(kind) + ": " + why};
  error.path = path;
  return error;
}

Error ForeignRefusal(std::string_view kind, const std::string& path, const std::string& why, const std::string& hint) {
  Error error{ErrorKind::kRefused, "'" + path + "' is a " + std::string(kind) + " that cannot be read: " + why, hint};
  error.path = path;
  return error;
}

}  // namespace wdelta
