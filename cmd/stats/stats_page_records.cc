// Share of elements and bytes by record, in the order of the history.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_chart.h"
#include "stats/stats_page_markup.h"

namespace wdelta {

namespace {

constexpr double kTop = 32, kBottom = 218, kHeight = 262;
constexpr size_t kMostRecords = 1500;  // more than there are pixels across

using Records = std::span<const StatsRecord>;

double XOf(size_t i, size_t count) {
  return Chart::kLeft + (static_cast<double>(i) + 0.5) * (Chart::kRight - Chart::kLeft) / static_cast<double>(count);
}

double ShareOf(const RecordInfo& info) {
  return static_cast<double>(info.totals.elements_changed) /
         static_cast<double>(std::max<uint64_t>(info.totals.elements_total, 1));
}

std::string Describe(const StatsRecord& record, bool history) {
  const RecordInfo& info = record.info;
  std::string text = (history ? "record " : "") + MarkupText(record.name, 60);
  if (info.step) text += " (step " + Grouped(*info.step) + ")";
  if (info.delta_bytes) {
    text += ": " + Grouped(info.totals.elements_changed) + " of " + Counted(info.totals.elements_total, "element") +
            " changed (" + FineShare(info.totals.elements_changed, info.totals.elements_total) + "), " +
            Grouped(*info.delta_bytes) + " bytes";
  }
  if (info.anchor_bytes) text += (info.delta_bytes ? "; anchor of " : ": anchor of ") + ByteSize(*info.anchor_bytes);
  return text;
}

// The first and the last record, and round ones between them where the names are numbers in order.
void DrawNames(Chart* chart, Records records) {
  const size_t last = records.size() - 1;
  const size_t parts = std::min<size_t>(4, std::max<size_t>(last, 1));
  size_t before = records.size();
  for (size_t part = 0; part <= parts; ++part) {
    const size_t i = last * part / parts;
    if (i == before) continue;
    before = i;
    // A path at an end would reach over the edge.
    const bool is_long = records[i].name.size() > 5 && records.size() > 1;
    const char* anchor = is_long && part == 0 ? "start" : is_long && part == parts ? "end" : "middle";
    chart->Text(XOf(i, records.size()), kBottom + 18, anchor, MarkupText(records[i].name, 14));
  }
}

// A small mark at the upper edge for each record that also, or only, carries the whole model.
void DrawAnchors(Chart* chart, Records records) {
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].info.anchor_bytes) continue;
    chart->Add(fmt::format(R"(<path class="anchor" d="M{:.1f} {}l3.5 6h-7z"/>)", XOf(i, records.size()), kBottom + 1));
  }
}

void DrawHovers(Chart* chart, Records records, bool history) {
  const double width = (Chart::kRight - Chart::kLeft) / static_cast<double>(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    chart->Hover(XOf(i, records.size()) - width / 2, width, kTop, kBottom, Describe(records[i], history));
  }
}

std::string ShareChart(Records records, bool history) {
  double least = 2, most = 0;
  for (const StatsRecord& record : records) {
    if (!record.info.delta_bytes || record.info.totals.elements_changed == 0) continue;
    least = std::min(least, ShareOf(record.info)), most = std::max(most, ShareOf(record.info));
  }
  const LogScale scale = most > 0 ? LogScaleAround(std::min(1.0, least), std::min(1.0, most)) : LogScale{};
  Chart chart("Share of elements changed, by record", kHeight);
  chart.Title(12, "share of elements changed");
  DrawShareGrid(&chart, scale, kTop, kBottom);
  std::string path, dots;
  bool draws = false;
  const double radius = records.size() > 120 ? 1.2 : records.size() > 40 ? 2 : 3;
  for (size_t i = 0; i < records.size(); ++i) {
    const RecordInfo& info = records[i].info;
    const bool zero = info.totals.elements_changed == 0;
    if (!info.delta_bytes || zero) draws = false;
    if (!info.delta_bytes) continue;
    const double x = XOf(i, records.size()), y = ShareHeight(scale, ShareOf(info), kTop, kBottom);
    dots += fmt::format(R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>)", zero ? "zero" : "dot", x, y,
                        zero ? std::max(radius, 2.4) : radius);
    if (zero) continue;
    path += fmt::format("{}{:.1f} {:.1f}", draws ? "L" : "M", x, y);
    draws = true;
  }
  if (!path.empty()) chart.Add("<path class=\"line\" d=\"" + path + "\"/>");
  chart.Add(dots);
  DrawAnchors(&chart, records);
  DrawNames(&chart, records);
  DrawHovers(&chart, records, history);
  chart.Text((Chart::kLeft + Chart::kRight) / 2, kHeight - 6, "middle", history ? "record" : "delta");
  return chart.Svg();
}

std::string BytesChart(Records records, bool history) {
  uint64_t most = 0;
  for (const StatsRecord& record : records) most = std::max(most, record.info.delta_bytes.value_or(0));
  const ByteScale scale = ByteScaleUpTo(most);
  Chart chart("Bytes of each delta, by record", kHeight);
  chart.Title(12, "bytes of the delta");
  const auto y_of = [&](double bytes) { return kBottom - (kBottom - kTop) * bytes / scale.high; };
  for (const auto& [bytes, name] : scale.ticks) {
    if (bytes > 0) chart.GridLine(y_of(bytes), name);
  }
  chart.BaseLine(kBottom);
  chart.Text(Chart::kLeft - 8, kBottom + 4, "end", "0");
  const double slot = (Chart::kRight - Chart::kLeft) / static_cast<double>(records.size());
  const double width = std::min(28.0, slot > 4 ? slot * 0.8 : slot);
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].info.delta_bytes) continue;
    const double y = y_of(static_cast<double>(*records[i].info.delta_bytes));
    chart.Add(fmt::format(R"(<rect class="column" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"/>)",
                          XOf(i, records.size()) - width / 2, y, width, kBottom - y));
  }
  DrawAnchors(&chart, records);
  DrawNames(&chart, records);
  DrawHovers(&chart, records, history);
  chart.Text((Chart::kLeft + Chart::kRight) / 2, kHeight - 6, "middle", history ? "record" : "delta");
  return chart.Svg();
}

}  // namespace

std::string RecordSection(const StatsReport& report) {
  if (report.records.empty()) return "";
  Records records(report.records);
  const bool history = report.subject == StatsSubject::kHistory;
  std::string note =
      "Share: elements changed against the record before, of all elements of the model, on a logarithmic "
      "scale. Bytes: the size of that delta.";
  const bool anchors = std::any_of(records.begin(), records.end(), [](const auto& r) { return r.info.anchor_bytes; });
  if (anchors) note += " A triangle marks a record with an anchor, the whole model, whose bytes are not drawn.";
  if (records.size() > kMostRecords) {
    note += fmt::format(" Drawn are the newest {} of {} records.", Grouped(kMostRecords), Grouped(records.size()));
    records = records.last(kMostRecords);
  }
  return PageSection(history ? "Record by record" : "Delta by delta", note,
                     "<div class=\"charts\">\n" + WideBox("Share by record", ShareChart(records, history)) +
                         WideBox("Bytes by record", BytesChart(records, history)) + "</div>\n");
}

}  // namespace wdelta
