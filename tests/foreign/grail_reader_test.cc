// grail's deltas: rows, columns and values are read to the last bit, and nothing wrong in one gets through.
#include "support/expect.h"
#include "support/foreign_patch.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

const Bytes kOld = {0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f};
const Bytes kNew = {0x80, 0x3f, 0x81, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0xbf, 0x80, 0x3f};
const std::vector<uint64_t> kShape = {2, 4};
const Bytes kExample = {0, 1, 1, 0, 2, 0, 0x81, 0x3f, 0x80, 0xbf};  // rows, columns, values

// An entry of the header; the words may be replaced one by one.
struct Entry {
  std::string name = "w", shape = "[2,4]", changed = "2", values = "bfloat16", rows = "uint8", columns = "uint16";
  uint64_t at = 0, rows_size = 2, columns_size = 4, values_at = 6, values_size = 4;

  std::string Text() const {
    return R"({"name":")" + name + R"(","shape":)" + shape + R"(,"num_nonzero":)" + changed + R"(,"value_dtype":")" +
           values + R"(","row_dtype":")" + rows + R"(","col_dtype":")" + columns + R"(","indices_offset":)" +
           std::to_string(at) + R"(,"indices_size":)" + std::to_string(rows_size + columns_size) + R"(,"rows_size":)" +
           std::to_string(rows_size) + R"(,"cols_size":)" + std::to_string(columns_size) + R"(,"values_offset":)" +
           std::to_string(values_at) + R"(,"values_size":)" + std::to_string(values_size) + "}";
  }
};

std::string Header(const std::vector<Entry>& entries, const std::string& version = "31") {
  std::string tensors;
  for (const Entry& entry : entries) tensors += (tensors.empty() ? "" : ",") + entry.Text();
  return R"({"version":)" + version + R"(,"tensors":[)" + tensors + "]}";
}

std::string Content(const std::string& header, ByteSpan data) {
  ByteWriter out;
  out.Fixed(static_cast<uint32_t>(header.size()));
  out.Raw(AsBytes(header));
  out.Raw(data);
  return std::string(AsText(out.bytes()));
}

std::string Frame(std::string_view content) {
  Bytes frame;
  ZstdCompress(AsBytes(content), 1, frame);
  return std::string(AsText(frame));
}

struct GrailFolder {
  Result<std::unique_ptr<ForeignDelta>> OpenFile(std::string_view file) const {
    folder.Write("d/delta_sparse.bin.zst", file);
    return OpenGrail(folder / "d", {});
  }
  Result<std::unique_ptr<ForeignDelta>> Open(const std::vector<Entry>& entries, ByteSpan data = kExample) const {
    return OpenFile(Frame(Content(Header(entries), data)));
  }
  // What a delta makes of the example.
  Result<Bytes> Apply(const Entry& entry, ByteSpan data, size_t block = 16) const {
    WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, Open({entry}, data));
    return PatchTensor(*delta, 0, Dtype::kBF16, kShape, kOld, block);
  }
  ScratchFolder folder;
};

TEST_CASE("the worked example of a grail delta turns the old tensor into the new one, in blocks of any size") {
  const GrailFolder grail;
  for (const size_t block : {2, 4, 6, 10, 14, 16}) {
    const auto turned = grail.Apply({}, kExample, block);
    REQUIRE_OK(turned);
    CHECK(*turned == kNew);
  }
}

TEST_CASE("a grail delta says its tensors with their forms, and is known by its content or as a folder") {
  const GrailFolder grail;
  const auto delta = grail.Open({{}});
  REQUIRE_OK(delta);
  CHECK((*delta)->kind() == "grail delta");
  CHECK((*delta)->version().empty());
  CHECK((*delta)->base_version().empty());
  REQUIRE((*delta)->tensors().size() == 1);
  CHECK((*delta)->tensors()[0].name == "w");
  CHECK((*delta)->tensors()[0].dtype == Dtype::kBF16);
  CHECK((*delta)->tensors()[0].shape == kShape);
  const std::string file = grail.folder.Read("d/delta_sparse.bin.zst");
  CHECK((*delta)->bytes() == file.size());
  CHECK(LooksLikeGrail(grail.folder / "d"));
  grail.folder.Write("lone", file);
  CHECK(LooksLikeGrail(grail.folder / "lone"));
  const auto lone = OpenGrail(grail.folder / "lone", {});
  REQUIRE_OK(lone);
  CHECK(*PatchTensor(**lone, 0, Dtype::kBF16, kShape, kOld, 16) == kNew);

  for (const std::string& text : {std::string(), std::string("{\"tensors\""), file.substr(0, 8), Frame("abcdefgh"),
                                  Frame(Content("[\"tensors\"]", {}))}) {
    grail.folder.Write("other", text);
    CHECK_FALSE(LooksLikeGrail(grail.folder / "other"));
  }
  CHECK_FALSE(LooksLikeGrail(grail.folder.path()));
  CHECK_FALSE(LooksLikeGrail(grail.folder / "nothing"));
}

TEST_CASE("the windows of a grail delta come from the files beside it") {
  const GrailFolder grail;
  const std::string file = Frame(Content(Header({}), {}));
  grail.folder.Write("d/delta_metadata.json", R"({"format":"v3.1","threshold":0.0,"prev_window":90})");
  const auto half = grail.OpenFile(file);
  REQUIRE_OK(half);
  CHECK((*half)->version().empty());
  CHECK((*half)->base_version() == "90");
  CHECK((*half)->tensors().empty());
  grail.folder.Write("d/metadata.json",
                     R"({"window": 120, "prev_window": 100, "created_at": 1.5, "a": {"window": 1}})");
  const auto both = grail.OpenFile(file);
  REQUIRE_OK(both);
  CHECK((*both)->version() == "120");
  CHECK((*both)->base_version() == "100");
  CHECK((*both)->bytes() > file.size());
  grail.folder.Write("d/metadata.json", R"({"window": 120, "prev_window": null})");
  CHECK((*grail.OpenFile(file))->base_version() == "90");
  for (const char* text : {R"({"window": "120"})", R"({"window": 1.5})", "{", "", "\xff"}) {
    grail.folder.Write("d/metadata.json", text);
    CHECK_FAILS(grail.OpenFile(file), ErrorKind::kIntegrity, "metadata.json: ");
  }
}

TEST_CASE("rows and columns of every width and tensors of every rank and type are read") {
  const GrailFolder grail;
  const auto turn = [&](Entry entry, const Bytes& data, Dtype dtype, const std::vector<uint64_t>& shape, Bytes old) {
    entry.values_at = entry.rows_size + entry.columns_size;
    entry.values_size = data.size() - entry.values_at;
    const auto delta = grail.Open({entry}, data);
    REQUIRE_OK(delta);
    const auto turned = PatchTensor(**delta, 0, dtype, shape, std::move(old), 3 * UnitBytes(dtype));
    REQUIRE_OK(turned);
    return *turned;
  };
  const Bytes wide = {0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x81, 0x3f, 0x80, 0xbf};
  CHECK(turn({.rows = "int32", .columns = "int32", .rows_size = 8, .columns_size = 8}, wide, Dtype::kBF16, kShape,
             kOld) == kNew);
  CHECK(turn({.rows = "uint16", .columns = "uint8", .rows_size = 4, .columns_size = 2},
             {0, 0, 1, 0, 1, 2, 0x81, 0x3f, 0x80, 0xbf}, Dtype::kBF16, kShape, kOld) == kNew);
  // Two in one row: the second column is a step. Three dimensions are one row for each of the first.
  CHECK(turn({.shape = "[2,2,2]", .values = "float16"}, {1, 0, 1, 0, 2, 0, 1, 2, 3, 4}, Dtype::kF16, {2, 2, 2},
             Bytes(16)) == Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4});
  CHECK(turn({.shape = "[3]", .values = "float32"}, {0, 2, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, Dtype::kF32, {3},
             Bytes(12)) == Bytes{1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8});
  CHECK(turn({.shape = "[]", .changed = "1", .rows_size = 1, .columns_size = 2}, {0, 0, 0, 7, 7}, Dtype::kBF16, {},
             Bytes(2)) == Bytes{7, 7});
  CHECK(turn({.shape = "[0,5]", .changed = "0", .rows_size = 0, .columns_size = 0}, {}, Dtype::kBF16, {0, 5}, {})
            .empty());
}

TEST_CASE("the third version of grail's codec is read, and others are refused by number") {
  const GrailFolder grail;
  const std::string entry =
      R"({"name":"w","shape":[2,4],"num_nonzero":1,"value_dtype":"bfloat16","indices_offset":0,"indices_size":8,)"
      R"("rows_size":4,"cols_size":4,"values_offset":8,"values_size":2})";
  const auto third = grail.OpenFile(
      Frame(Content(R"({"tensors":[)" + entry + R"(],"version":3})", Bytes{1, 0, 0, 0, 2, 0, 0, 0, 9, 9})));
  REQUIRE_OK(third);
  CHECK(*PatchTensor(**third, 0, Dtype::kBF16, kShape, Bytes(16), 16) ==
        Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0});
  const std::string second = R"({"version":2,"tensors":[{"name":"w","indices_offset":0}]})";
  CHECK_FAILS(grail.OpenFile(Frame(Content(second, {}))), ErrorKind::kRefused, "its version is 2");
  CHECK_FAILS(grail.OpenFile(Frame(Content(Header({}, "32"), {}))), ErrorKind::kRefused, "its version is 32");
  CHECK_FAILS(grail.OpenFile(Frame(Content(R"({"tensors":[]})", {}))), ErrorKind::kIntegrity, "no version");
}

TEST_CASE("a grail delta is not taken for a tensor of another type or shape") {
  const GrailFolder grail;
  const auto delta = grail.Open({{}});
  REQUIRE_OK(delta);
  CHECK_FAILS((*delta)->Open(0, Dtype::kF32, kShape), ErrorKind::kConflict,
              "tensor 'w' is BF16[2,4], but the base has it as F32[2,4]");
  CHECK_FAILS((*delta)->Open(0, Dtype::kF16, kShape), ErrorKind::kConflict, "F16[2,4]");
  CHECK_FAILS((*delta)->Open(0, Dtype::kBF16, std::vector<uint64_t>{4, 2}), ErrorKind::kConflict, "BF16[4,2]");
}

TEST_CASE("rows and columns of a grail delta outside of the tensor or out of order are refused by name") {
  const GrailFolder grail;
  const auto fails = [&](const Entry& entry, Bytes indices, const std::string& words) {
    indices.insert(indices.end(), {0x81, 0x3f, 0x80, 0xbf});
    for (const size_t block : {2, 6, 16}) {
      const auto turned = grail.Apply(entry, indices, block);
      CHECK_FAILS(turned, ErrorKind::kIntegrity, "is a malformed grail delta: tensor 'w': " + words);
      CHECK(turned.error().tensor == "w");
    }
  };
  fails({}, {0, 2, 1, 0, 2, 0}, "a row lies outside of the tensor");
  fails({}, {1, 1, 1, 0, 2, 0}, "a row lies outside of the tensor");
  fails({}, {0, 1, 1, 0, 4, 0}, "a column lies outside of the tensor");
  fails({}, {0, 0, 2, 0, 2, 0}, "a column lies outside of the tensor");
  fails({}, {0, 0, 1, 0, 0, 0}, "positions do not rise");
  const Entry wide{.rows = "int32", .columns = "int32", .rows_size = 8, .columns_size = 8, .values_at = 16};
  fails(wide, {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}, "an index is negative");
  fails(wide, {0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, "an index is negative");
}

TEST_CASE("a grail header that does not fit itself or its data is refused when it is opened") {
  const GrailFolder grail;
  const auto fails = [&](const std::vector<Entry>& entries, const std::string& words) {
    CHECK_FAILS(grail.Open(entries), ErrorKind::kIntegrity, words);
  };
  fails({{.changed = "3"}}, "tensor 'w': the sizes of its parts do not go with 3 changes");
  fails({{.changed = "9"}}, "tensor 'w': it has more changes than elements");
  fails({{.rows_size = 1, .columns_size = 5}}, "the sizes of its parts");
  fails({{.values_size = 2}}, "the sizes of its parts");
  fails({{.values = "float32"}}, "the sizes of its parts");
  fails({{.rows = "uint16"}}, "the sizes of its parts");
  fails({{.values = "float64"}}, "its values are 'float64'");
  fails({{.rows = "int8"}}, "its rows are 'int8'");
  fails({{.columns = "int64"}}, "its columns are 'int64'");
  fails({{.shape = "[4294967296,4294967296]"}}, "its shape is too large");
  fails({{.shape = "[18446744073709551616]"}}, "header: byte");
  fails({{.shape = "[-1]"}}, "header: byte");
  fails({{.changed = "2.0"}}, "header: byte");
  fails({{.at = 1, .values_at = 7}}, "tensor 'w': its parts do not lie where they should");
  fails({{.values_at = 4}}, "its parts do not lie where they should");
  fails({{.values_at = UINT64_MAX}}, "its parts do not lie where they should");
  fails({{}, {}}, "its parts do not lie where they should");
  fails({{}, {.at = 10, .values_at = 16}}, "tensor 'w': it is there twice");
  fails({{}, {.name = "x", .at = 10, .values_at = 16}}, "ends too early");
  fails({}, "the frame is longer than it should be");
  const std::string huge = std::to_string((uint64_t{1} << 60) - 1);
  fails({{.shape = "[" + huge + "]", .changed = huge}}, "the sizes of its parts do not go with " + huge + " changes");
  const auto header = [&](const std::string& text, const std::string& words) {
    CHECK_FAILS(grail.OpenFile(Frame(Content(text, {}))), ErrorKind::kIntegrity, words);
  };
  header(R"({"version":31,"tensors":[{"shape":[1]}]})", "a tensor has no name");
  header(R"({"version":31,"tensors":[{"name":"w","shape":[1]}]})", "tensor 'w': its entry is not complete");
  header(R"({"version":31,"tensors":[{"name":"w","name":"w"}]})", "key 'name' occurs twice");
  header(R"({"version":31,"tensors":{}})", "header: byte");
  header("{\"version\":31}x", "byte");
  header("\xff", "not UTF-8");
  header("", "byte 0");
}

TEST_CASE("a grail file that is no whole frame, or claims a header that cannot be, is refused") {
  const GrailFolder grail;
  const std::string good = Frame(Content(Header({{}}), kExample));
  for (size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(grail.OpenFile(std::string_view(good).substr(0, length)).ok());
  CHECK_FAILS(grail.OpenFile(good + "x"), ErrorKind::kIntegrity, "something follows the frame");
  CHECK_FAILS(grail.OpenFile(good + good), ErrorKind::kIntegrity, "something follows the frame");
  CHECK_FAILS(grail.OpenFile(Frame("\xff\xff\xff\xff")), ErrorKind::kIntegrity, "its header is too long");
  CHECK_FAILS(grail.OpenFile(Frame(std::string("\x00\x00\x00\x04", 4))), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(grail.OpenFile(Frame("{")), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(OpenGrail(grail.folder / "nothing", {}), ErrorKind::kNotFound, "nothing");
}

TEST_CASE("a random change comes through a grail delta as it was") {
  Dice dice(31);
  for (int round = 0; round < 50; ++round) {
    const uint64_t rows = 1 + dice.Below(300), columns = 1 + dice.Below(40);
    const Bytes old = RandomBytes(dice, rows * columns * 2);
    Bytes next = old, row_steps, column_steps, values;
    uint64_t row = 0, column = 0;
    const bool wide = dice.OneIn(2) || rows > 256;
    const auto put = [&](Bytes& out, uint64_t number, unsigned width) {
      for (unsigned i = 0; i < width; ++i) out.push_back(static_cast<uint8_t>(number >> 8 * i));
    };
    uint64_t changed = 0;
    for (uint64_t at = 0; at < rows * columns; ++at) {
      if (!dice.OneIn(5)) continue;
      const uint64_t new_row = at / columns, new_column = at % columns;
      put(row_steps, new_row - row, wide ? 4 : 1);
      put(column_steps, new_row == row && changed > 0 ? new_column - column : new_column, 2);
      row = new_row, column = new_column;
      ++changed;
      for (size_t i = 2 * at; i < 2 * at + 2; ++i) values.push_back(next[i] = static_cast<uint8_t>(dice.Bits()));
    }
    Entry entry{.shape = "[" + std::to_string(rows) + "," + std::to_string(columns) + "]",
                .changed = std::to_string(changed),
                .rows = wide ? "int32" : "uint8",
                .rows_size = row_steps.size(),
                .columns_size = column_steps.size(),
                .values_size = values.size()};
    entry.values_at = entry.rows_size + entry.columns_size;
    Bytes data = row_steps;
    data.insert(data.end(), column_steps.begin(), column_steps.end());
    data.insert(data.end(), values.begin(), values.end());
    const GrailFolder grail;
    const auto delta = grail.Open({entry}, data);
    REQUIRE_OK(delta);
    const auto turned = PatchTensor(**delta, 0, Dtype::kBF16, {rows, columns}, old, 2 * (1 + dice.Below(500)));
    REQUIRE_OK(turned);
    CHECK((*turned == next));
  }
}

}  // namespace
}  // namespace wdelta
