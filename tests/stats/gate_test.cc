#include <doctest/doctest.h>

#include "wdelta.h"

namespace wdelta {
namespace {

Gate Parsed(std::string_view text) {
  Result<Gate> gate = ParseGate(text);
  REQUIRE_MESSAGE(gate.ok(), text);
  return *gate;
}

TensorStats MadeTensor(const std::string& name, uint64_t elements, uint64_t changed, uint64_t nan = 0) {
  TensorStats tensor;
  tensor.name = name;
  tensor.elements = elements;
  tensor.elements_changed = changed;
  tensor.kind = changed ? ChangeKind::kChanged : ChangeKind::kSame;
  tensor.place = PlaceOf(name);
  tensor.tally.emplace().nan = nan;
  return tensor;
}

StatsReport MadeReport() {
  StatsReport report;
  report.tensors = {MadeTensor("embed.weight", 100, 0), MadeTensor("layers.0.up.weight", 300, 30, 2)};
  report.totals.elements_total = 400;
  report.totals.elements_changed = 30;
  report.totals.tensors_total = 2;
  report.totals.tensors_changed = 1;
  report.totals.bytes_total = 800;
  report.nan = 2;
  report.whole = Group(report.tensors, GroupBy::kWhole).at(0);
  return report;
}

bool Fails(std::string_view text, const StatsReport& report) {
  Result<GateAnswer> answer = CheckGate(Parsed(text), report);
  REQUIRE_MESSAGE(answer.ok(), text);
  return answer->failed;
}

TEST_CASE("a gate is a figure, perhaps a pattern, a relation and a number with a unit") {
  CHECK(Parsed("sparsity<0.97").limit == 0.97);
  CHECK(Parsed("sparsity<97%").limit == doctest::Approx(0.97));
  CHECK(Parsed("delta_bytes>200MB").limit == 200e6);
  CHECK(Parsed("delta_bytes>=1.5GiB").limit == 1.5 * 1024 * 1024 * 1024);
  CHECK(Parsed("delta_bytes>2k").limit == 2000);
  CHECK(Parsed("  nan > 0 ").figure == "nan");
  const Gate gate = Parsed("changed(model.embed_tokens.*)>0");
  CHECK(gate.pattern == "model.embed_tokens.*");
  CHECK(gate.relation == Gate::Relation::kMore);
  CHECK(Parsed("changed(a(b)c<d)!=1").pattern == "a(b)c<d");
  CHECK(Parsed("tensors_added==3").relation == Gate::Relation::kEqual);
  CHECK(Parsed("tensors_added=3").relation == Gate::Relation::kEqual);
}

TEST_CASE("what is no gate is a usage error that says why") {
  for (const char* text : {"", "sparsity", "sparsity<", "sparsity<x", "sparsity<1e999", "sparsity<nan", "sparsity<inf",
                           "sparsity<1 apples", "spars<1", "<1", "changed()>0", "changed(a>0", "delta_bytes(a)>1",
                           "sparsity!0.5", "sparsity(a)0.5", "sparsity<0.5<0.6", "sparsity<0.5MBB"}) {
    CAPTURE(text);
    const Result<Gate> gate = ParseGate(text);
    REQUIRE_FALSE(gate.ok());
    CHECK(gate.error().kind == ErrorKind::kUsage);
    CHECK_FALSE(gate.error().hint.empty());
  }
}

TEST_CASE("a gate fails when its condition is true, and tells what was measured") {
  const StatsReport report = MadeReport();
  CHECK(Fails("sparsity<0.97", report));
  CHECK_FALSE(Fails("sparsity<0.9", report));
  CHECK(Fails("nan>0", report));
  CHECK(Fails("nan(layers.*)>=2", report));
  CHECK_FALSE(Fails("nan(embed.*)>0", report));
  CHECK_FALSE(Fails("changed(embed.*)>0", report));
  CHECK(Fails("sparsity(layers.*)<=0.9", report));
  CHECK(Fails("changed==30", report));
  CHECK_FALSE(Fails("tensors_added!=0", report));
  CHECK(CheckGate(Parsed("sparsity<0.97"), report)->measured == doctest::Approx(0.925));
}

TEST_CASE("a gate that cannot be evaluated is an error, not a pass") {
  StatsReport report = MadeReport();
  CHECK(CheckGate(Parsed("changed(nothing.*)>0"), report).error().kind == ErrorKind::kNotFound);
  CHECK(CheckGate(Parsed("delta_bytes>1"), report).error().kind == ErrorKind::kUsage);
  CHECK(NeedsDeltaSize(Parsed("ratio<10")));
  CHECK_FALSE(NeedsDeltaSize(Parsed("sparsity<1")));

  report.subject = StatsSubject::kDelta;  // its index names only what it touches
  CHECK(CheckGate(Parsed("nan>0"), report).error().kind == ErrorKind::kUsage);
  CHECK(CheckGate(Parsed("sparsity(layers.*)<0.5"), report).error().kind == ErrorKind::kUsage);
  CHECK_FALSE(CheckGate(Parsed("changed(nothing.*)>0"), report)->failed);
  CHECK_FALSE(CheckGate(Parsed("sparsity<0.5"), report)->failed);
}

TEST_CASE("of several records the one furthest over the limit is measured, and whole models are passed over") {
  StatsReport report;
  report.subject = StatsSubject::kHistory;
  for (const uint64_t changed : {1000, 10, 70, 20}) {
    StatsRecord record;
    record.name = std::to_string(report.records.size() + 1);
    record.info.totals.elements_total = 1000;
    record.info.totals.elements_changed = changed;
    if (changed < 1000) record.info.delta_bytes = changed;
    report.records.push_back(record);
  }
  const GateAnswer worst = *CheckGate(Parsed("sparsity<0.95"), report);
  CHECK(worst.failed);
  CHECK(worst.where == "3");
  CHECK_FALSE(Fails("sparsity<0.9", report));
  CHECK(CheckGate(Parsed("delta_bytes>15"), report)->where == "3");
  CHECK(CheckGate(Parsed("nan>0"), report).error().kind == ErrorKind::kUsage);
  CHECK(CheckGate(Parsed("changed(a)>0"), report).error().kind == ErrorKind::kUsage);
}

}  // namespace
}  // namespace wdelta
