#include "foreign/foreign.h"

#include "core/text.h"

namespace wdelta {

namespace {

struct ForeignFormat {
  bool (*looks_like)(const std::string& path);
  Result<std::unique_ptr<ForeignDelta>> (*open)(const std::string& path, const Environment& environment);
};

constexpr ForeignFormat kFormats[] = {
    {LooksLikeCanonical, OpenCanonical}, {LooksLikeSkyrl, OpenSkyrl}, {LooksLikePrime, OpenPrime},
    {LooksLikeGrail, OpenGrail},         {LooksLikeTrl, OpenTrl},
};

const ForeignFormat* FindFormat(const std::string& path) {
  const auto* found = std::ranges::find_if(kFormats, [&](const ForeignFormat& f) { return f.looks_like(path); });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string FormText(Dtype dtype, std::span<const uint64_t> shape) {
  std::string text(DtypeName(dtype));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return text + ']';
}

}  // namespace

// A stream whose failures name the delta and the tensor.
class ForeignDelta::NamedStream final : public ForeignStream {
 public:
  NamedStream(std::unique_ptr<ForeignStream> stream, const ForeignDelta& delta, const ForeignTensor& tensor)
      : stream_(std::move(stream)), delta_(delta), tensor_(tensor) {}

  Result<> Apply(MutableByteSpan block) override { return WithName(stream_->Apply(block), delta_, tensor_); }
  Result<> End() override { return WithName(stream_->End(), delta_, tensor_); }

  template <class T>
  static Result<T> WithName(Result<T> result, const ForeignDelta& delta, const ForeignTensor& tensor) {
    if (result.ok() || result.error().kind != ErrorKind::kIntegrity || !result.error().path.empty()) return result;
    return delta.Wrong(tensor.name, result.error().message);
  }

 private:
  std::unique_ptr<ForeignStream> stream_;
  const ForeignDelta& delta_;
  const ForeignTensor& tensor_;
};

Result<std::unique_ptr<ForeignStream>> ForeignDelta::Open(size_t index, Dtype dtype,
                                                          std::span<const uint64_t> shape) const {
  const ForeignTensor& tensor = tensors_[index];
  WD_TRY(CheckForm(tensor, dtype, shape));
  WD_ASSIGN(auto stream, NamedStream::WithName(OpenStream(index, dtype, shape), *this, tensor));
  return std::unique_ptr<ForeignStream>(std::make_unique<NamedStream>(std::move(stream), *this, tensor));
}

Result<> ForeignDelta::CheckForm(const ForeignTensor& tensor, Dtype dtype, std::span<const uint64_t> shape) const {
  const Dtype said_dtype = tensor.dtype.value_or(dtype);
  const std::span<const uint64_t> said_shape = tensor.shape ? std::span<const uint64_t>(*tensor.shape) : shape;
  if (said_dtype == dtype && std::ranges::equal(said_shape, shape)) return {};
  const std::string said = FormText(said_dtype, said_shape), found = FormText(dtype, shape);
  return Error{ErrorKind::kConflict, kind_ + " '" + path_ + "': tensor '" + Shorten(tensor.name) + "' is " + said +
                                         ", but the base has it as " + found}
      .At(path_)
      .OfTensor(tensor.name)
      .Compared(said, found);
}

Error ForeignDelta::Wrong(const std::string& why) const {
  return Error{ErrorKind::kIntegrity, "'" + path_ + "' is a malformed " + kind_ + ": " + why}.At(path_);
}

Error ForeignDelta::Wrong(std::string_view tensor, const std::string& why) const {
  return Wrong("tensor '" + Shorten(tensor) + "': " + why).OfTensor(tensor);
}

Error ForeignDelta::Refusal(const std::string& why, const std::string& hint) const {
  return Error{ErrorKind::kRefused, "'" + path_ + "' is a " + kind_ + " that cannot be read: " + why, hint}.At(path_);
}

bool LooksForeign(const std::string& path) {
  return path != "-" && FindFormat(path);
}

Result<std::unique_ptr<ForeignDelta>> OpenForeign(const std::string& path, const Environment& environment) {
  const ForeignFormat* format = FindFormat(path);
  if (!format) return Error{ErrorKind::kIntegrity, "'" + path + "' is not a delta of a known format"};
  return format->open(path, environment);
}

Result<bool> LooksLikeAnyDelta(const std::string& path) {
  if (path == "-" || LooksForeign(path)) return true;
  return LooksLikeDelta(path);
}

Result<std::unique_ptr<DeltaReader>> OpenOwnDelta(const std::string& path, Trust trust, const Context& context) {
  if (!LooksForeign(path)) return OpenDelta(path, trust, context);
  return Error{ErrorKind::kUsage, "'" + path + "' is a delta of another system, which can only be read with its base",
               "'wdelta pack --base CKPT " + path + " -o FILE' makes a pack of it"}
      .At(path);
}

}  // namespace wdelta
