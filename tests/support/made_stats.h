// Reports of `stats` made by hand, for tests of the forms in which they are shown.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "wdelta.h"

namespace wdelta {

// A name that tries everything: a table's cell, code, tags, a mention, links, colours, another direction, a new line, a
// byte that is no UTF-8.
inline const std::string kHostileName =
    "a|b`c```<script>alert(1)</script> @octocat #12 [x](http://evil.example) www.evil.example \x1b[31m\xe2\x80\xae\n"
    "| x | *b* &lt; \\| </details>\r\xff";

inline TensorStats MadeTensor(const std::string& name, std::vector<uint64_t> shape, uint64_t changed) {
  TensorStats tensor;
  tensor.name = name;
  tensor.dtype = "BF16";
  tensor.elements = 1;
  for (const uint64_t size : shape) tensor.elements *= size;
  tensor.shape = std::move(shape);
  tensor.elements_changed = changed;
  tensor.bytes = 2 * tensor.elements;
  tensor.kind = changed > 0 ? ChangeKind::kChanged : ChangeKind::kSame;
  tensor.shard = "model.safetensors";
  tensor.place = PlaceOf(name);
  tensor.tally.emplace();
  tensor.tally->rows_total = tensor.elements / tensor.shape.back();
  tensor.tally->rows_touched = std::min(tensor.tally->rows_total, changed);
  tensor.tally->largest_change = changed > 0 ? 0.25 : 0;
  tensor.tally->largest_before = 0.5;
  tensor.tally->largest_after = changed > 0 ? 0.75 : 0.5;
  tensor.tally->largest_at = tensor.elements - 1;
  return tensor;
}

inline StatsReport MadeReport(const std::vector<TensorStats>& tensors) {
  StatsReport report;
  report.names = {"ckpt-100", "ckpt-101"};
  report.tensors = tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    report.totals.elements_total += tensors[i].elements;
    report.totals.elements_changed += tensors[i].elements_changed;
    report.totals.bytes_total += tensors[i].bytes;
    report.totals.tensors_total += 1;
    report.totals.tensors_changed += tensors[i].elements_changed > 0;
    if (tensors[i].elements_changed > 0 && report.movers.size() < 10) report.movers.push_back(i);
  }
  if (const std::vector<GroupRow> rows = Group(tensors, GroupBy::kWhole); !rows.empty()) report.whole = rows[0];
  return report;
}

// `layers` layers of the kind that Llama has.
inline StatsReport MadeModel(uint64_t layers) {
  std::vector<TensorStats> tensors = {MadeTensor("model.embed_tokens.weight", {32000, 64}, 17)};
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + '.';
    tensors.push_back(MadeTensor(prefix + "input_layernorm.weight", {64}, 0));
    tensors.push_back(MadeTensor(prefix + "mlp.down_proj.weight", {64, 256}, 40 * (layer + 1)));
    tensors.push_back(MadeTensor(prefix + "self_attn.q_proj.weight", {64, 64}, 10 * (layer + 1)));
  }
  return MadeReport(tensors);
}

// Records 1 to `count`; the first is an anchor, the others change one element in a hundred and more each time.
inline StatsReport MadeRecords(uint64_t count) {
  StatsReport report;
  report.subject = StatsSubject::kHistory;
  report.names = {"file:///mnt/share/run7"};
  for (uint64_t number = 1; number <= count; ++number) {
    StatsRecord record{std::to_string(number), {}};
    record.info.number = number;
    record.info.step = 100 + number;
    record.info.totals.elements_total = 1'000'000;
    record.info.totals.bytes_total = 2'000'000;
    if (number == 1) {
      record.info.totals.elements_changed = 1'000'000;
      record.info.anchor_bytes = 1'400'000;
    } else {
      record.info.totals.elements_changed = 10'000 + number;
      record.info.delta_bytes = 8'000 + number;
    }
    report.records.push_back(record);
  }
  return report;
}

}  // namespace wdelta
