#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "core/json.h"
#include "stats/stats_view.h"
#include "support/made_stats.h"

namespace wdelta {

namespace {

// RFC 4180, read strictly.
std::vector<std::vector<std::string>> ReadCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& cell = rows.back().back();
    if (quoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      REQUIRE(cell.empty());
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\r') {
      REQUIRE(text[++i] == '\n');
      rows.push_back({""});
    } else {
      cell += c;
    }
  }
  REQUIRE_FALSE(quoted);
  rows.pop_back();
  return rows;
}

std::string Cell(const std::vector<std::vector<std::string>>& rows, size_t row, const std::string& column) {
  const auto at = std::find(rows[0].begin(), rows[0].end(), column);
  REQUIRE(at != rows[0].end());
  return rows[row][static_cast<size_t>(at - rows[0].begin())];
}

StatsView ViewOf(const StatsReport& report, const std::string& by) {
  StatsView view{report, by, {}, 1, {}, {}};  // the limit is for people
  if (by != "step") view.rows = Group(report.tensors, by == "layer" ? GroupBy::kLayer : GroupBy::kTensor);
  return view;
}

}  // namespace

TEST_CASE("CSV has a line of titles and one for each row, all of the same length") {
  for (const char* by : {"tensor", "layer"}) {
    const StatsReport report = MadeModel(3);
    const StatsView view = ViewOf(report, by);
    const auto rows = ReadCsv(StatsCsv(view));
    CHECK(rows.size() == 1 + view.rows.size());
    for (const auto& row : rows) CHECK(row.size() == rows[0].size());
    const std::vector<std::string> first = {"name",           "tensors_total",    "tensors_changed",
                                            "elements_total", "elements_changed", "sparsity"};
    CHECK(std::equal(first.begin(), first.end(), rows[0].begin()));
  }
  const auto records = ReadCsv(StatsCsv(ViewOf(MadeRecords(5), "step")));
  CHECK(records.size() == 6);
  CHECK(Cell(records, 1, "delta_bytes").empty());
  CHECK(Cell(records, 5, "delta_bytes") == "8005");
  CHECK(Cell(records, 5, "step") == "105");
  CHECK(ReadCsv(StatsCsv(ViewOf(MadeReport({}), "tensor"))).size() == 1);
}

TEST_CASE("figures of a tensor are bare numbers, and what is not known is empty") {
  StatsReport report = MadeReport({MadeTensor("w", {4, 4}, 2)});
  auto rows = ReadCsv(StatsCsv(ViewOf(report, "tensor")));
  CHECK(Cell(rows, 1, "sparsity") == "0.875");
  CHECK(Cell(rows, 1, "shape") == "[4,4]");
  CHECK(Cell(rows, 1, "rows_untouched") == "2");
  CHECK(Cell(rows, 1, "largest_change") == "0.25");
  CHECK(Cell(rows, 1, "change") == "changed");
  CHECK(Cell(rows, 1, "old_dtype").empty());
  report.subject = StatsSubject::kDelta;
  report.tensors[0].tally.reset();
  rows = ReadCsv(StatsCsv(ViewOf(report, "tensor")));
  for (const char* column : {"nan", "inf", "rows_total", "rows_untouched", "largest_change"}) {
    CHECK(Cell(rows, 1, column).empty());
  }
}

TEST_CASE("no text in CSV is a formula, a control or a second line; numbers stay numbers") {
  const std::vector<std::string> names = {"=1+1", "+1",  "-1",         "@SUM(A1)", "\t=1", "\r=1",
                                          "\n=1", "＝1", kHostileName, "a\"b",     "a,b",  "a b"};
  std::vector<TensorStats> tensors;
  for (const std::string& name : names) {
    tensors.push_back(MadeTensor(name, {4, 4}, 1));
    tensors.back().tally->largest_before = -0.5;
    tensors.back().shard = name;
  }
  const StatsReport report = MadeReport(tensors);
  StatsView view = ViewOf(report, "tensor");
  const std::string text = StatsCsv(view);
  const auto rows = ReadCsv(text);
  REQUIRE(rows.size() == 1 + names.size());
  CHECK(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == rows.size());
  for (size_t i = 1; i < rows.size(); ++i) {
    for (const char* column : {"name", "shard"}) {
      const std::string cell = Cell(rows, i, column);
      CAPTURE(cell);
      CHECK(std::string("=+-@\t\r\n").find(cell[0]) == std::string::npos);
      CHECK(std::none_of(cell.begin(), cell.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
    }
    CHECK(Cell(rows, i, "largest_before") == "-0.5");
  }
  CHECK(Cell(rows, 1, "name") == "'=1+1");
  CHECK(Cell(rows, 10, "name") == "a\"b");
  CHECK(Cell(rows, 12, "name") == "a b");
}

TEST_CASE("JSON Lines have the columns of CSV, an object for each row, and exact names") {
  const std::string name = "a|\"b\"\n\x1b@=\xe2\x80\xae";
  const StatsReport report = MadeReport({MadeTensor(name, {4, 4}, 2), MadeTensor("=w", {2}, 0)});
  const StatsView view = ViewOf(report, "tensor");
  const auto titles = ReadCsv(StatsCsv(view))[0];
  std::istringstream lines(StatsJsonLines(view));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    JsonReader json(line);
    REQUIRE(json.BeginObject().ok());
    std::vector<std::string> keys;
    for (;;) {
      const auto key = json.NextKey();
      REQUIRE(key.ok());
      if (!*key) break;
      keys.emplace_back(**key);
      if (keys.back() == "name") {
        names.emplace_back(*json.String());
      } else {
        REQUIRE(json.Skip().ok());
      }
    }
    CHECK(keys == titles);
  }
  CHECK(names == std::vector<std::string>{name, "=w"});
}

}  // namespace wdelta
