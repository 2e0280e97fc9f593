#include "checkpoint/safetensors.h"
#include "core/json.h"
#include "core/text.h"

namespace wdelta {

namespace {

Error Unwritable(const std::string& tensor, const std::string& why) {
  return Error{ErrorKind::kUsage, "cannot write tensor '" + Shorten(tensor) + "': " + why}.OfTensor(Shorten(tensor));
}

Result<> AppendTensor(const NewTensor& tensor, uint64_t* offset, std::string* json) {
  if (!ValidUtf8(AsBytes(tensor.name))) return Unwritable(tensor.name, "name is not valid UTF-8");
  if (tensor.name == "__metadata__") return Unwritable(tensor.name, "name is reserved by the format");
  const std::optional<uint64_t> bytes = TensorBytes(tensor.dtype, tensor.shape);
  if (!bytes) return Unwritable(tensor.name, "size overflows 64 bits or does not end on a byte");
  const uint64_t begin = *offset;
  if (!CheckedAdd(begin, *bytes, offset)) return Unwritable(tensor.name, "data end beyond 64 bits");

  AppendJsonString(tensor.name, json);
  *json += ":{\"dtype\":\"" + std::string(DtypeName(tensor.dtype)) + "\",\"shape\":[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) *json += (i ? "," : "") + std::to_string(tensor.shape[i]);
  *json += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(*offset) + "]},";
  return {};
}

Result<> AppendMetadata(std::span<const std::pair<std::string, std::string>> metadata, std::string* json) {
  DuplicateKeys keys;
  *json += "\"__metadata__\":{";
  for (const auto& [key, value] : metadata) {
    if (!ValidUtf8(AsBytes(key)) || !ValidUtf8(AsBytes(value))) {
      return Error{ErrorKind::kUsage, "cannot write metadata '" + Shorten(key) + "': text is not valid UTF-8"};
    }
    keys.Add(key);
    AppendJsonString(key, json);
    *json += ':';
    AppendJsonString(value, json);
    *json += ',';
  }
  json->back() = '}';
  *json += ',';
  if (keys.Any()) return Error{ErrorKind::kUsage, "cannot write metadata: a key occurs twice"};
  return {};
}

}  // namespace

Result<Bytes> EncodeSafetensorsHeader(std::span<const NewTensor> tensors,
                                      std::span<const std::pair<std::string, std::string>> metadata) {
  std::string json = "{";
  if (!metadata.empty()) WD_TRY(AppendMetadata(metadata, &json));
  uint64_t offset = 0;
  DuplicateKeys names;
  for (const NewTensor& tensor : tensors) {
    WD_TRY(AppendTensor(tensor, &offset, &json));
    names.Add(tensor.name);
  }
  if (names.Any()) return Error{ErrorKind::kUsage, "cannot write tensors: a name occurs twice"};
  if (json.size() > 1) json.pop_back();  // the last comma
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > kMaxHeaderBytes) {
    return Error{ErrorKind::kUsage, "header of " + std::to_string(json.size()) + " bytes, at most " +
                                        std::to_string(kMaxHeaderBytes) + " are allowed"}
        .Compared(std::to_string(kMaxHeaderBytes), std::to_string(json.size()));
  }
  ByteWriter out;
  out.Fixed<uint64_t>(json.size());
  out.Raw(AsBytes(json));
  return out.Take();
}

}  // namespace wdelta
