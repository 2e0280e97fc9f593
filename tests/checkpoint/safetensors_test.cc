#include "checkpoint/safetensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "checkpoint/safetensors_cases.h"

namespace wdelta {
namespace {

Bytes WithLength(std::string_view header) {
  ByteWriter out;
  out.Fixed<uint64_t>(header.size());
  out.Raw(AsBytes(header));
  return out.Take();
}

Result<SafetensorsHeader> ParseHeader(std::string_view header, uint64_t data_bytes) {
  return SafetensorsHeader::Parse(WithLength(header), 8 + header.size() + data_bytes, "x.safetensors");
}

// A file that vanishes, with `length` as its length field, `header`, and then nothing up to `file_bytes`.
class TemporaryFile {
 public:
  TemporaryFile(uint64_t length, std::string_view header, uint64_t file_bytes) {
    path_ = std::filesystem::temp_directory_path() / ("safetensors-test-" + std::to_string(std::random_device()()));
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), 8);
    out << header;
    out.close();
    std::filesystem::resize_file(path_, file_bytes);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_; }
  Result<SafetensorsHeader> Read() const {
    WD_ASSIGN(const File file, File::OpenForRead(path_));
    return SafetensorsHeader::Read(file);
  }

 private:
  std::filesystem::path path_;
};

TEST_CASE("each case of the format is accepted, or refused with its reason, the path and nothing of the message lost") {
  for (const SafetensorsCase& each : SafetensorsCases()) {
    CAPTURE(each.name);
    const auto header = ParseHeader(each.header, each.data_bytes);
    if (each.complaint.empty()) {
      INFO((header.ok() ? "" : header.error().message));
      CHECK(header.ok());
      continue;
    }
    REQUIRE_FALSE(header.ok());
    const Error& error = header.error();
    CAPTURE(error.message);
    CHECK(error.kind == ErrorKind::kIntegrity);
    CHECK(error.path == "x.safetensors");
    CHECK(error.message.starts_with("'x.safetensors': "));
    CHECK(error.message.find(each.complaint) != std::string::npos);
    const size_t named = error.message.find("tensor '");
    if (named != std::string::npos) CHECK(error.message.substr(named + 8).starts_with(error.tensor + "'"));
  }
}

TEST_CASE("the cases are many and of both kinds") {
  size_t accepted = 0, refused = 0;
  for (const SafetensorsCase& each : SafetensorsCases()) ++(each.complaint.empty() ? accepted : refused);
  CHECK(accepted >= 40);
  CHECK(refused >= 120);
}

TEST_CASE("a file gives the same header as its bytes in memory") {
  for (const SafetensorsCase& each : SafetensorsCases()) {
    CAPTURE(each.name);
    const TemporaryFile file(each.header.size(), each.header, 8 + each.header.size() + each.data_bytes);
    const auto header = file.Read();
    CHECK(header.ok() == each.complaint.empty());
    if (!header.ok()) CHECK(header.error().message.starts_with("'" + file.path() + "': "));
  }
}

TEST_CASE("every dtype is read with its size") {
  for (unsigned i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const uint64_t bytes = DtypeBits(dtype);  // of eight elements
    const std::string text = "{\"w\":{\"dtype\":\"" + std::string(DtypeName(dtype)) +
                             "\",\"shape\":[2,4],\"data_offsets\":[0," + std::to_string(bytes) + "]}}";
    const auto header = ParseHeader(text, bytes);
    REQUIRE(header.ok());
    CHECK(header->tensor(0).dtype == dtype);
    CHECK(header->tensor(0).end == bytes);
  }
}

TEST_CASE("tensors come in the order of their data, ties in the order of the header") {
  const auto header = ParseHeader(R"({"late":{"dtype":"F32","shape":[2,1],"data_offsets":[1,9]},)"
                                  R"("z":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                  R"("e\u0073c":{"dtype":"I8","shape":[],"data_offsets":[0,1]},)"
                                  R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                                  9);
  REQUIRE(header.ok());
  REQUIRE(header->tensor_count() == 4);
  CHECK(header->tensor(0).name == "z");
  CHECK(header->tensor(1).name == "a");
  CHECK(header->tensor(2).name == "esc");
  CHECK(header->tensor(2).shape.empty());
  CHECK(header->tensor(3).name == "late");
  CHECK(header->tensor(3).dtype == Dtype::kF32);
  CHECK(std::vector<uint64_t>(header->tensor(3).shape.begin(), header->tensor(3).shape.end()) ==
        std::vector<uint64_t>{2, 1});
  CHECK(header->tensor(3).begin == 1);
  CHECK(header->tensor(3).end == 9);
}

TEST_CASE("metadata are found by key, unescaped, and visited in order") {
  const auto header = ParseHeader(R"({"__metadata__":{"a":"1","k\u0065y":"v\n\ud83d\ude00","":"empty"}})", 0);
  REQUIRE(header.ok());
  CHECK(header->Metadata("a") == "1");
  CHECK(header->Metadata("key") == "v\n\xf0\x9f\x98\x80");
  CHECK(header->Metadata("") == "empty");
  CHECK_FALSE(header->Metadata("b").has_value());
  std::string seen;
  header->ForEachMetadata([&](std::string_view key, std::string_view) {
    seen += std::string(key) + ";";
    return key != "key";
  });
  CHECK(seen == "a;key;");
  CHECK_FALSE(ParseHeader("{}", 0)->Metadata("a").has_value());
  CHECK_FALSE(ParseHeader(R"({"__metadata__":null})", 0)->Metadata("a").has_value());
}

TEST_CASE("names and shapes stay where they are when a header is moved") {
  std::string text = "{";
  const std::string long_name(5000, 'n');
  const std::vector<std::string> names = {"plain",           "tab\\t", long_name + "\\n", "q\\u0022", "",
                                          long_name + "\\r", "\\/"};
  for (const std::string& name : names) {
    text += (text.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":"U8","shape":[0,7],"data_offsets":[0,0]})";
  }
  auto first = ParseHeader(text + "}", 0);
  REQUIRE(first.ok());
  const std::string_view before = first->tensor(2).name;
  std::vector<SafetensorsHeader> headers;
  headers.push_back(std::move(*first));
  for (int i = 0; i < 20; ++i) headers.push_back(std::move(*ParseHeader("{}", 0)));
  const SafetensorsHeader& header = headers[0];
  CHECK(header.tensor(2).name.data() == before.data());
  CHECK(header.tensor(0).name == "plain");
  CHECK(header.tensor(1).name == "tab\t");
  CHECK(header.tensor(2).name == long_name + "\n");
  CHECK(header.tensor(3).name == "q\"");
  CHECK(header.tensor(4).name.empty());
  CHECK(header.tensor(5).name == long_name + "\r");
  CHECK(header.tensor(6).name == "/");
  CHECK(header.tensor(6).shape[1] == 7);
}

TEST_CASE("a message names the first letters of a very long name") {
  const auto header = ParseHeader("{\"" + std::string(1000000, 'x') + "\":[]}", 0);
  REQUIRE_FALSE(header.ok());
  CHECK(header.error().message.size() < 400);
  CHECK(header.error().tensor.starts_with("xxx"));
}

TEST_CASE("what was expected and what was found are told apart from the message") {
  const auto header = ParseHeader(R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}})", 12);
  REQUIRE_FALSE(header.ok());
  CHECK(header.error().message == "'x.safetensors': tensor 'w': shape needs 16 bytes, data_offsets span 12");
  CHECK(header.error().tensor == "w");
  CHECK(header.error().expected == "16");
  CHECK(header.error().found == "12");
}

TEST_CASE("a header of exactly 100,000,000 bytes is accepted and one byte more is refused") {
  // White space, which costs the sanitizers' slow build the least.
  std::string text(kMaxHeaderBytes, ' ');
  text[0] = '{';
  text[text.size() - 1] = '}';
  CHECK(TemporaryFile(text.size(), text, 8 + text.size()).Read().ok());
  const auto refused = TemporaryFile(kMaxHeaderBytes + 1, "{}", 8 + kMaxHeaderBytes + 1).Read();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("header of 100000001 bytes, at most 100000000 are allowed") != std::string::npos);
}

TEST_CASE("a length that does not fit the file is refused before anything is read") {
  for (const uint64_t length : {uint64_t{3}, uint64_t{100}, kMaxHeaderBytes}) {
    const auto header = TemporaryFile(length, "{}", 10).Read();
    REQUIRE_FALSE(header.ok());
    CHECK(header.error().message.find("ends beyond the file, which has 10 bytes") != std::string::npos);
  }
  for (const uint64_t length : {kMaxHeaderBytes + 1, UINT64_MAX - 7, UINT64_MAX - 8, UINT64_MAX, uint64_t{1} << 63}) {
    const auto header = TemporaryFile(length, "{}", 10).Read();
    REQUIRE_FALSE(header.ok());
    CHECK(header.error().message.find("at most 100000000 are allowed") != std::string::npos);
  }
}

TEST_CASE("a file of less than eight bytes is refused, and so is one of eight zeros") {
  for (uint64_t bytes = 0; bytes < 8; ++bytes) {
    const auto header = TemporaryFile(0, "", bytes).Read();
    REQUIRE_FALSE(header.ok());
    CHECK(header.error().message.find("no room for the length") != std::string::npos);
  }
  CHECK_FALSE(TemporaryFile(0, "", 8).Read().ok());
}

TEST_CASE("a header that is cut anywhere is refused") {
  const std::string text =
      R"( {"__metadata__":{"a":"b\n"},"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":[1.5e3]}})";
  REQUIRE(ParseHeader(text, 4).ok());
  for (size_t length = 0; length < text.size(); ++length) CHECK_FALSE(ParseHeader(text.substr(0, length), 4).ok());
}

TEST_CASE("shapes of more dimensions than the memory bound allows are refused") {
  std::string text = R"({"w":{"dtype":"U8","data_offsets":[0,1],"shape":[1)" + Repeat(",1", 3000000) + "]}}";
  const auto header = ParseHeader(text, 1);
  REQUIRE_FALSE(header.ok());
  CHECK(header.error().message.find("dimensions together") != std::string::npos);
}

TEST_CASE("140,000 tensors are read right, in any order") {
  constexpr size_t kTensors = 140000;
  std::vector<size_t> order(kTensors);
  for (size_t i = 0; i < kTensors; ++i) order[i] = i;
  for (const bool shuffled : {false, true}) {
    if (shuffled) std::shuffle(order.begin(), order.end(), std::mt19937(7));
    std::string text = "{";
    for (const size_t i : order) {
      const uint64_t begin = i * 6;
      text += (text.size() > 1 ? ",\"" : "\"") + ("model.layers." + std::to_string(i)) +
              ".mlp.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[" + (i % 2 ? "2,3" : "3,2") + "],\"data_offsets\":[" +
              std::to_string(begin) + "," + std::to_string(begin + 6) + "]}";
    }
    const auto header = ParseHeader(text + "}", kTensors * 6);
    REQUIRE(header.ok());
    REQUIRE(header->tensor_count() == kTensors);
    size_t right = 0;
    for (size_t i = 0; i < kTensors; ++i) {
      const TensorEntry tensor = header->tensor(i);
      right += tensor.name == "model.layers." + std::to_string(i) + ".mlp.weight" && tensor.begin == i * 6 &&
               tensor.end == i * 6 + 6 && tensor.shape.size() == 2 && tensor.shape[0] == (i % 2 ? 2 : 3) &&
               tensor.dtype == Dtype::kF8E4M3;
    }
    CHECK(right == kTensors);
    const std::string again = R"(,"model.layers.777.mlp.weight":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
    const auto twice = ParseHeader(text + again, kTensors * 6);
    REQUIRE_FALSE(twice.ok());
    CHECK(twice.error().tensor == "model.layers.777.mlp.weight");
  }
}

}  // namespace
}  // namespace wdelta
