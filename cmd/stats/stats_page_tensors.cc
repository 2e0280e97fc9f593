// Single tensors that a reader should know by name: those with the largest changes, and those that came, went or took
// another form; and the other files that differ.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_markup.h"

namespace wdelta {

namespace {

constexpr size_t kMostListed = 200;

// "[3, 17]" for an index counted through the whole tensor.
std::string Coordinates(uint64_t at, const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> coordinates(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return "-";
    coordinates[i] = at % shape[i];
    at /= shape[i];
  }
  return ShapeText(coordinates);
}

std::string FromTo(const std::string& before, const std::string& after) {
  return before.empty() || before == after ? after : before + " \u2192 " + after;
}

std::string AndMore(size_t all, std::string_view noun) {
  return all <= kMostListed ? ""
                            : "<p class=\"note\">and " +
                                  Counted(all - kMostListed, std::string("more ") + std::string(noun)) + "</p>\n";
}

std::string Forms(const StatsReport& report) {
  std::string rows;
  size_t found = 0;
  for (const TensorStats& tensor : report.tensors) {
    if (tensor.kind == ChangeKind::kSame || tensor.kind == ChangeKind::kChanged) continue;
    if (++found > kMostListed) continue;
    const bool reshaped = tensor.kind == ChangeKind::kReshaped || tensor.kind == ChangeKind::kRetyped;
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"name\">{}</td><td class=\"form\">{}</td><td class=\"form\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        ChangeName(tensor.kind), NameMarkup(tensor.name), MarkupText(FromTo(tensor.old_dtype, tensor.dtype), 40),
        FromTo(reshaped && !tensor.old_shape.empty() ? ShapeText(tensor.old_shape) : "", ShapeText(tensor.shape)),
        Grouped(tensor.elements));
  }
  if (found == 0) return "";
  return PageTable("Tensors added, removed, reshaped or retyped",
                   {{"What"}, {"Tensor"}, {"Type"}, {"Shape"}, {"Elements", true}}, rows) +
         AndMore(found, "tensor");
}

std::string Files(const StatsReport& report) {
  if (report.files.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < std::min(report.files.size(), kMostListed); ++i) {
    const FileChange& file = report.files[i];
    rows += fmt::format("<tr><td>{}</td><td class=\"name\">{}</td><td>{}</td></tr>\n", ChangeName(file.kind),
                        NameMarkup(file.path), file.is_header ? "header of a shard" : "beside the weights");
  }
  return PageTable("Changed files", {{"What"}, {"File"}, {""}}, rows) + AndMore(report.files.size(), "file");
}

}  // namespace

std::string MoverSection(const StatsReport& report) {
  double most = 0;
  for (const size_t mover : report.movers) {
    const auto& tally = report.tensors[mover].tally;
    if (tally && std::isfinite(tally->largest_change)) most = std::max(most, std::abs(tally->largest_change));
  }
  if (most == 0) return "";
  std::string rows;
  for (const size_t mover : report.movers) {
    const TensorStats& tensor = report.tensors[mover];
    if (!tensor.tally) continue;
    const TensorTally& tally = *tensor.tally;
    rows += fmt::format(
        "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td>{}</tr>\n",
        NameMarkup(tensor.name), Coordinates(tally.largest_at, tensor.shape), ShortFigure(tally.largest_before),
        ShortFigure(tally.largest_after), ShortFigure(std::abs(tally.largest_change)),
        BarCell(std::abs(tally.largest_change) / most));
  }
  return PageSection(
      "Largest movers", "The tensors in which one element moved furthest, as a number, and that element.",
      PageTable("Largest movers",
                {{"Tensor"}, {"Element", true}, {"Before", true}, {"After", true}, {"Moved by", true}, {""}}, rows));
}

std::string FormSection(const StatsReport& report) {
  std::string sections;
  if (const std::string forms = Forms(report); !forms.empty()) {
    sections += PageSection("Tensors that came, went or took another form",
                            "Of a removed tensor the elements are the base's; they count in no share.", forms);
  }
  if (const std::string files = Files(report); !files.empty()) {
    sections += PageSection("Other files that differ", "Companions of the weights, and headers of shards.", files);
  }
  return sections;
}

}  // namespace wdelta
