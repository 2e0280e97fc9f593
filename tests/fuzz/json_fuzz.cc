// Any bytes as JSON. Skipping a document and walking it token by token must agree on whether it is sound.
#include <cstdlib>

#include "core/json.h"

namespace {

using wdelta::JsonReader;
using wdelta::Result;

Result<> Walk(JsonReader& json) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  switch (type) {
    case JsonReader::Type::kObject: {
      WD_TRY(json.BeginObject());
      for (;;) {
        WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
        if (!key) return {};
        if (!wdelta::ValidUtf8(wdelta::AsBytes(*key))) std::abort();
        WD_TRY(Walk(json));
      }
    }
    case JsonReader::Type::kArray: {
      WD_TRY(json.BeginArray());
      for (;;) {
        WD_ASSIGN(const bool more, json.NextElement());
        if (!more) return {};
        WD_TRY(Walk(json));
      }
    }
    case JsonReader::Type::kString: {
      WD_ASSIGN(const std::string_view value, json.String());
      if (!wdelta::ValidUtf8(wdelta::AsBytes(value))) std::abort();
      return {};
    }
    case JsonReader::Type::kNull:
      return json.Null();
    default:
      return json.Skip();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wdelta::ByteSpan bytes(data, size);
  if (!wdelta::ValidUtf8(bytes)) return 0;
  JsonReader skipper(wdelta::AsText(bytes)), walker(wdelta::AsText(bytes));
  const bool skipped = skipper.Skip().ok() && skipper.End().ok();
  const bool walked = Walk(walker).ok() && walker.End().ok();
  if (skipped != walked) std::abort();
  JsonReader number(wdelta::AsText(bytes));
  (void)number.UnsignedInteger().ok();
  return 0;
}
