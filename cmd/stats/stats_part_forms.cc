// What changed its form, and what the change costs in other encodings.
#include <algorithm>

#include "numbers.h"
#include "stats/stats_parts.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

using Kind = PartColumn::Kind;

constexpr const char* kDefaultEncoding = "wdelta";  // at its default level

// A removed tensor has only an old form, an added one only a new one.
std::string FormText(const TensorStats& tensor) {
  const std::string before = tensor.old_dtype + ' ' + ShapeText(tensor.old_shape);
  const std::string after = tensor.dtype + ' ' + ShapeText(tensor.shape);
  if (tensor.old_dtype.empty()) return after;
  return tensor.dtype.empty() ? before : before + " -> " + after;
}

bool IsFull(const StatsPart& part, const PartChoice& choice) {
  return choice.top != 0 && part.rows.size() == choice.top;
}

}  // namespace

StatsPart FormPart(const StatsReport& report, ChangeKind kind, const PartChoice& choice) {
  StatsPart part;
  part.title = std::string(ChangeName(kind)) + " tensors";
  part.columns = {{"name", Kind::kName}, {"form", Kind::kName}, {"elements", Kind::kFigure}};
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind != kind) continue;
    if (IsFull(part, choice)) {
      ++part.more;
    } else {
      part.rows.push_back({tensor.name, FormText(tensor), Grouped(tensor.elements)});
    }
  }
  return part;
}

StatsPart FilesPart(const StatsReport& report, const PartChoice& choice) {
  StatsPart part;
  part.title = "changed files";
  part.columns = {{"path", Kind::kName}, {"change", Kind::kWord}};
  for (const FileChange& file : report.files) {
    if (IsFull(part, choice)) {
      ++part.more;
    } else {
      part.rows.push_back({file.path, (file.is_header ? "header " : "") + std::string(ChangeName(file.kind))});
    }
  }
  return part;
}

StatsPart EncodingsPart(const StatsReport& report) {
  StatsPart part;
  if (report.encodings.empty()) return part;
  std::vector<EncodingSize> encodings = report.encodings;
  std::stable_sort(encodings.begin(), encodings.end(),
                   [](const EncodingSize& a, const EncodingSize& b) { return a.bytes < b.bytes; });
  const auto ours = std::find_if(encodings.begin(), encodings.end(),
                                 [](const EncodingSize& encoding) { return encoding.name == kDefaultEncoding; });
  const uint64_t largest = encodings.back().bytes;
  part.title = "encodings";
  part.explanation = "bytes of the whole delta, smallest first";
  part.columns = {
      {"encoding", Kind::kName}, {"bytes", Kind::kFigure}, {"ratio", Kind::kFigure}, {"", Kind::kBar, true}};
  for (const EncodingSize& encoding : encodings) {
    const bool known = ours != encodings.end() && ours->bytes > 0;
    const std::string remark = encoding.is_bound        ? " (bound)"
                               : encoding.users.empty() ? ""
                                                        : " (" + encoding.users + ")";
    part.rows.push_back({encoding.name + remark, Grouped(encoding.bytes),
                         known ? RatioText(encoding.bytes, ours->bytes) : "-",
                         PartCell::Bar(PartOf(encoding.bytes, largest))});
  }
  part.legend.push_back(std::string("ratio: to ") + kDefaultEncoding +
                        "; bound: an entropy, no encoding of its kind is smaller");
  return part;
}

}  // namespace wdelta
