#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checkpoint/safetensors.h"

namespace wdelta {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

std::string Encode(const std::vector<NewTensor>& tensors, const Metadata& metadata = {}) {
  const auto bytes = EncodeSafetensorsHeader(tensors, metadata);
  return bytes.ok() ? std::string(AsText(*bytes).substr(8)) : bytes.error().message;
}

TEST_CASE("a new header has metadata first, tensors in the given order and spaces up to a multiple of eight") {
  CHECK(Encode({{"b", Dtype::kBF16, {2, 3}}, {"a", Dtype::kU8, {}}}, {{"format", "pt"}}) ==
        R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
        R"("a":{"dtype":"U8","shape":[],"data_offsets":[12,13]}})"
        "  ");
  CHECK(Encode({}) == "{}      ");
  CHECK(Encode({}, {{"", ""}}) == R"({"__metadata__":{"":""}})");
  for (size_t length = 0; length < 20; ++length) {
    const auto bytes = EncodeSafetensorsHeader(std::vector<NewTensor>{{std::string(length, 'x'), Dtype::kU8, {0}}}, {});
    REQUIRE(bytes.ok());
    CHECK(bytes->size() % 8 == 0);
    CHECK(Load<uint64_t>(bytes->data()) + 8 == bytes->size());
  }
}

TEST_CASE("names and metadata with quotes, controls and other scripts come back as they were") {
  const std::string odd = "q\" b\\ n\n t\t nul\x01\x1f\x7f \xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80 </script>";
  const std::vector<NewTensor> tensors = {{odd, Dtype::kU8, {1}}, {"", Dtype::kU8, {1}}};
  auto bytes = EncodeSafetensorsHeader(tensors, Metadata{{odd, odd}, {"x", std::string(1, '\0')}});
  REQUIRE(bytes.ok());
  const uint64_t file_bytes = bytes->size() + 2;
  const auto header = SafetensorsHeader::Parse(std::move(*bytes), file_bytes, "x");
  REQUIRE(header.ok());
  CHECK(header->tensor(0).name == odd);
  CHECK(header->tensor(1).name.empty());
  CHECK(header->Metadata(odd) == odd);
  CHECK(header->Metadata("x") == std::string(1, '\0'));
}

TEST_CASE("what our reader would refuse is not written") {
  CHECK(Encode({{"w", Dtype::kF4, {3}}}).find("'w': size overflows 64 bits or does not end on a byte") !=
        std::string::npos);
  CHECK(Encode({{"w", Dtype::kF32, {uint64_t{1} << 62}}}).find("overflows") != std::string::npos);
  CHECK(Encode({{"w", Dtype::kU8, {UINT64_MAX, 2, 0}}}).find("overflows") != std::string::npos);
  CHECK(Encode({{"a", Dtype::kU8, {0}}, {"a", Dtype::kU8, {0}}}).find("a name occurs twice") != std::string::npos);
  CHECK(Encode({{"__metadata__", Dtype::kU8, {0}}}).find("reserved") != std::string::npos);
  CHECK(Encode({{"\xff", Dtype::kU8, {0}}}).find("not valid UTF-8") != std::string::npos);
  CHECK(Encode({}, {{"a", "\xff"}}).find("not valid UTF-8") != std::string::npos);
  CHECK(Encode({}, {{"a", "1"}, {"a", "2"}}).find("a key occurs twice") != std::string::npos);
  const auto long_header = EncodeSafetensorsHeader({}, Metadata{{"a", std::string(kMaxHeaderBytes, 'x')}});
  REQUIRE_FALSE(long_header.ok());
  CHECK(long_header.error().kind == ErrorKind::kUsage);
  CHECK(long_header.error().message.find("at most 100000000 are allowed") != std::string::npos);
}

TEST_CASE("any list of tensors that is written is read back the same") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<NewTensor> tensors(random() % 6);
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].name = "t" + std::to_string(i) + std::string(random() % 3, static_cast<char>(random() % 128));
      tensors[i].dtype = static_cast<Dtype>(random() % kDtypeCount);
      tensors[i].shape.resize(random() % 5);
      for (uint64_t& dimension : tensors[i].shape) dimension = random() % 5;
      tensors[i].shape.push_back(8);  // so that sub-byte types end on a byte
    }
    auto bytes = EncodeSafetensorsHeader(tensors, Metadata{{"round", std::to_string(round)}});
    REQUIRE(bytes.ok());
    uint64_t file_bytes = bytes->size();
    for (const NewTensor& tensor : tensors) file_bytes += *TensorBytes(tensor.dtype, tensor.shape);
    const auto header = SafetensorsHeader::Parse(std::move(*bytes), file_bytes, "x");
    REQUIRE(header.ok());
    REQUIRE(header->tensor_count() == tensors.size());
    for (const NewTensor& tensor : tensors) {
      size_t matches = 0;
      for (size_t i = 0; i < header->tensor_count(); ++i) {
        const TensorEntry entry = header->tensor(i);
        matches += entry.name == tensor.name && entry.dtype == tensor.dtype &&
                   std::equal(entry.shape.begin(), entry.shape.end(), tensor.shape.begin(), tensor.shape.end());
      }
      CHECK(matches == 1);
    }
    CHECK(header->Metadata("round") == std::to_string(round));
  }
}

TEST_CASE("the bytes of a tensor are counted in bits, from left to right, with overflow noticed before a zero") {
  using Shape = std::vector<uint64_t>;
  CHECK(TensorBytes(Dtype::kF32, Shape{}) == 4);
  CHECK(TensorBytes(Dtype::kBF16, Shape{3, 5}) == 30);
  CHECK(TensorBytes(Dtype::kF4, Shape{6}) == 3);
  CHECK(TensorBytes(Dtype::kF6E2M3, Shape{4}) == 3);
  CHECK_FALSE(TensorBytes(Dtype::kF4, Shape{5}).has_value());
  CHECK(TensorBytes(Dtype::kU8, Shape{0, UINT64_MAX, 2}) == 0);
  CHECK_FALSE(TensorBytes(Dtype::kU8, Shape{UINT64_MAX, 2, 0}).has_value());
  CHECK(TensorBytes(Dtype::kU8, Shape{(uint64_t{1} << 61) - 1}) == (uint64_t{1} << 61) - 1);
  CHECK_FALSE(TensorBytes(Dtype::kU8, Shape{uint64_t{1} << 61}).has_value());
}

}  // namespace
}  // namespace wdelta
