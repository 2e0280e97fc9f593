// What changed its form, and what the change costs in other encodings.
#include <fmt/format.h>

#include "stats/stats_parts.h"

namespace wdelta {

namespace {

using Kind = PartColumn::Kind;
using Room = PartColumn::Room;

constexpr const char* kDefaultEncoding = "wdelta";  // at its default level

// A removed tensor has only an old form, an added one only a new one.
std::string FormText(const TensorStats& tensor) {
  const std::string before = tensor.old_dtype + ' ' + ShapeText(tensor.old_shape);
  const std::string after = tensor.dtype + ' ' + ShapeText(tensor.shape);
  if (tensor.old_dtype.empty()) return after;
  return tensor.dtype.empty() ? before : before + " -> " + after;
}

}  // namespace

StatsPart FormPart(const StatsReport& report, ChangeKind kind, const PartChoice& choice) {
  StatsPart part;
  std::vector<const TensorStats*> tensors;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind == kind) tensors.push_back(&tensor);
  }
  part.title = std::string(ChangeName(kind)) + " tensors";
  SetTable<const TensorStats*>(part, tensors, choice,
                               {{{"name", Kind::kName}, [](auto& tensor) { return tensor->name; }},
                                {{"form", Kind::kName}, [](auto& tensor) { return FormText(*tensor); }},
                                {{"elements", Kind::kFigure}, [](auto& tensor) { return Grouped(tensor->elements); }}});
  return part;
}

StatsPart FilesPart(const StatsReport& report, const PartChoice& choice) {
  StatsPart part;
  part.title = "changed files";
  SetTable<FileChange>(part, report.files, choice,
                       {{{"path", Kind::kName}, [](auto& file) { return file.path; }},
                        {{"change", Kind::kWord}, [](auto& file) {
                           return (file.is_header ? "header " : "") + std::string(ChangeName(file.kind));
                         }}});
  return part;
}

StatsPart EncodingsPart(const StatsReport& report, const PartChoice& choice) {
  StatsPart part;
  if (report.encodings.empty()) return part;
  std::vector<EncodingSize> encodings = report.encodings;
  std::stable_sort(encodings.begin(), encodings.end(),
                   [](const EncodingSize& a, const EncodingSize& b) { return a.bytes < b.bytes; });
  const auto ours = std::find_if(encodings.begin(), encodings.end(),
                                 [](const EncodingSize& encoding) { return encoding.name == kDefaultEncoding; });
  const std::optional<uint64_t> our_bytes = ours == encodings.end() ? std::nullopt : std::optional(ours->bytes);
  const uint64_t largest = encodings.back().bytes, changed = report.totals.elements_changed;
  part.title = "encodings";
  part.explanation = "bytes of the whole delta, smallest first";
  SetTable<EncodingSize>(
      part, encodings, choice.WithAllRows(),
      {{{"encoding", Kind::kName},
        [](auto& encoding) {
          const std::string remark = encoding.is_bound ? "bound" : encoding.users;
          return encoding.name + (remark.empty() ? "" : " (" + remark + ")");
        }},
       {{"bytes", Kind::kFigure}, [](auto& encoding) { return Grouped(encoding.bytes); }},
       {{"ratio", Kind::kFigure}, [&](auto& encoding) { return RatioText(encoding.bytes, our_bytes); }},
       {{"bits per change", Kind::kFigure, Room::kPage},
        [&](auto& encoding) { return fmt::format("{:.2f}", 8 * PartOf(encoding.bytes, changed)); }},
       {{"", Kind::kBar, Room::kWide}, [&](auto& encoding) { return PartOf(encoding.bytes, largest); }}});
  part.legend.push_back(std::string("ratio: to ") + kDefaultEncoding +
                        "; bound: an entropy, no encoding of its kind is smaller");
  return part;
}

}  // namespace wdelta
