#include "core/state_file.h"

#include <charconv>

#include "core/file.h"
#include "core/json.h"
#include "core/json_object.h"

namespace wdelta {

namespace {

constexpr std::string_view kFormatKey = "format";

Result<> CheckFormat(std::string_view text) {
  uint64_t format = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), format);
  const bool is_number = end == text.data() + text.size() && error != std::errc::invalid_argument;
  const bool is_huge = error == std::errc::result_out_of_range;  // and `format` is still 0
  if (!is_number || (format == 0 && !is_huge))
    return Error{ErrorKind::kIntegrity, "its format is not a version number"};
  if (error == std::errc{} && format <= StateFile::kFormat) return {};
  return Error{ErrorKind::kRefused, "format " + std::string(text)};
}

}  // namespace

Result<StateFile> StateFile::Read(const std::string& path) {
  StateFile state;
  Result<Bytes> read = ReadWholeFile(path, 1 << 20);
  if (!read.ok() && read.error().kind == ErrorKind::kNotFound) return state;
  if (!read.ok()) return read.TakeError();
  const Bytes& bytes = *read;
  const auto parse = [&]() -> Result<> {
    if (!ValidUtf8(bytes)) return Error{ErrorKind::kIntegrity, "not UTF-8"};
    JsonReader json(AsText(bytes));
    WD_TRY(json.Object([&](std::string_view key) -> Result<> {
      const std::string name(key);
      WD_ASSIGN(const std::string_view value, json.String());
      if (name == kFormatKey) return CheckFormat(value);
      state.values_[name] = value;
      return {};
    }));
    return json.End();
  };
  Result<> parsed = parse();
  if (parsed.ok()) return state;
  auto error = parsed.TakeError();
  error->path = path;
  if (error->kind == ErrorKind::kRefused) {
    error->expected = "format " + std::to_string(kFormat);
    error->found = error->message;
    error->message = "'" + path + "' was written by a newer wdelta: it has " + error->found + ", and this one reads " +
                     error->expected;
    error->hint = "use a wdelta at least as new as the one that wrote it; nothing was changed";
    return error;
  }
  error->message = "'" + path + "' is damaged: " + error->message;
  error->hint = "if nothing else works on that folder, remove this file and run the command again";
  return error;
}

Result<> StateFile::Write(const std::string& path, bool durable) const {
  JsonObject out;
  out.Set(kFormatKey, std::to_string(kFormat));
  for (const auto& [key, value] : values_) out.Set(key, value);
  const std::string text = out.Text() + '\n';
  return WriteWholeFile(path, AsBytes(text), durable);
}

std::string StateFile::Text(const std::string& key) const {
  const auto at = values_.find(key);
  return at == values_.end() ? "" : at->second;
}

uint64_t StateFile::Number(const std::string& key) const {
  const std::string text = Text(key);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Sha256Digest StateFile::Digest(const std::string& key) const {
  Sha256Digest digest{};
  return FromHex(Text(key), digest) ? digest : Sha256Digest{};
}

}  // namespace wdelta
