// Our safetensors reader against another one, safetensors-cpp: whatever both accept, they must understand alike. Built
// only where safetensors.hh is found and -DWDELTA_CROSSCHECK_SAFETENSORS_CPP=ON is given. The other reader accepts
// malformed files and refuses sound ones, so that acceptance itself is not compared.
#define SAFETENSORS_CPP_IMPLEMENTATION
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <safetensors.hh>

#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_cases.h"

namespace wdelta {
namespace {

class ScratchFile {
 public:
  ScratchFile(std::string_view header, uint64_t data_bytes) {
    path_ = std::filesystem::temp_directory_path() / ("crosscheck-" + std::to_string(std::random_device()()));
    const uint64_t length = header.size();
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), 8);
    out << header << std::string(data_bytes, '\x5a');
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// True if both readers accept the file; then all that they say about it is compared.
bool BothAcceptAndAgree(std::string_view header_text, uint64_t data_bytes) {
  const ScratchFile scratch(header_text, data_bytes);
  const auto file = File::OpenForRead(scratch.path());
  REQUIRE(file.ok());
  const auto ours = SafetensorsHeader::Read(*file);

  safetensors::safetensors_t theirs;
  std::string warning, error;
  const bool loaded = safetensors::load_from_file(scratch.path(), &theirs, &warning, &error);
  // It may return true and set an error all the same.
  if (!ours.ok() || !loaded || !error.empty() || !safetensors::validate_data_offsets(theirs, error)) return false;

  CHECK(theirs.header_size == ours->bytes().size() - 8);
  CHECK(theirs.tensors.size() == ours->tensor_count());
  for (size_t i = 0; i < ours->tensor_count(); ++i) {
    const TensorEntry entry = ours->tensor(i);
    safetensors::tensor_t tensor;
    REQUIRE(theirs.tensors.at(std::string(entry.name), &tensor));
    CHECK(safetensors::get_dtype_str(tensor.dtype) == DtypeName(entry.dtype));
    CHECK(std::equal(tensor.shape.begin(), tensor.shape.end(), entry.shape.begin(), entry.shape.end()));
    CHECK(tensor.data_offsets[0] == entry.begin);
    CHECK(tensor.data_offsets[1] == entry.end);
  }
  for (const std::string& key : theirs.metadata.keys()) {
    std::string value;
    REQUIRE(theirs.metadata.at(key, &value));
    CHECK(ours->Metadata(key) == value);
  }
  return true;
}

TEST_CASE("on the cases of the format that both readers accept they agree") {
  size_t both = 0;
  for (const SafetensorsCase& each : SafetensorsCases()) {
    if (each.header.size() > 50000) continue;  // the other reader overflows its stack on deep nesting
    CAPTURE(each.name);
    both += BothAcceptAndAgree(each.header, each.data_bytes);
  }
  CHECK(both >= 10);
}

TEST_CASE("on random small files that both readers accept they agree") {
  // The types that the other reader knows, and no zero-size tensor, which it refuses.
  const std::vector<Dtype> dtypes = {Dtype::kBool, Dtype::kU8,   Dtype::kI8,  Dtype::kI16, Dtype::kU16,
                                     Dtype::kF16,  Dtype::kBF16, Dtype::kI32, Dtype::kU32, Dtype::kF32,
                                     Dtype::kF64,  Dtype::kI64,  Dtype::kU64};
  std::mt19937_64 random(5);
  size_t both = 0;
  constexpr size_t kRounds = 300;
  for (size_t round = 0; round < kRounds; ++round) {
    std::vector<NewTensor> tensors(1 + random() % 5);
    uint64_t data_bytes = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].name = "layer." + std::to_string(random() % 100) + "." + std::to_string(i);
      tensors[i].dtype = dtypes[random() % dtypes.size()];
      tensors[i].shape.resize(random() % 5);
      for (uint64_t& dimension : tensors[i].shape) dimension = 1 + random() % 4;
      data_bytes += *TensorBytes(tensors[i].dtype, tensors[i].shape);
    }
    const auto bytes = EncodeSafetensorsHeader(
        tensors, std::vector<std::pair<std::string, std::string>>{{"round", std::to_string(round)}});
    REQUIRE(bytes.ok());
    both += BothAcceptAndAgree(AsText(*bytes).substr(8), data_bytes);
  }
  CHECK(both >= kRounds / 2);
}

}  // namespace
}  // namespace wdelta
