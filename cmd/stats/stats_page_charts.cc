// The charts of the page: what a slot of each says.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "markup.h"
#include "stats/stats_chart.h"
#include "stats/stats_page.h"
#include "stats/stats_words.h"
#include "table.h"

namespace wdelta {

namespace {

constexpr size_t kMostRecords = 1500;                        // more than there are pixels across
constexpr size_t kLongestName = 14, kLongestInTooltip = 60;  // of a record, which may be a path

std::string RecordTooltip(const StatsRecord& record, const char* noun) {
  const RecordInfo& info = record.info;
  std::string text = noun + (' ' + ShortenMiddle(record.name, kLongestInTooltip));
  if (info.step) text += " (step " + Grouped(*info.step) + ")";
  if (info.delta_bytes) {
    text += ": " + ChangedText(info.totals.elements_changed, info.totals.elements_total, "element", kFineDigits) +
            ", " + Grouped(*info.delta_bytes) + " bytes";
  }
  if (info.anchor_bytes) text += (info.delta_bytes ? "; anchor of " : ": anchor of ") + ByteSize(*info.anchor_bytes);
  return text;
}

std::vector<ChartSlot> RecordSlots(std::span<const StatsRecord> records, const char* noun) {
  std::vector<ChartSlot> slots;
  for (const StatsRecord& record : records) {
    const RecordInfo& info = record.info;
    ChartSlot slot{.tooltip = RecordTooltip(record, noun), .is_marked = info.anchor_bytes.has_value()};
    if (info.delta_bytes) {
      slot.share = PartOf(info.totals.elements_changed, info.totals.elements_total);
      slot.amount = static_cast<double>(*info.delta_bytes);
    }
    slots.push_back(std::move(slot));
  }
  // The first, the last, and three between them: names of all would run into each other.
  for (size_t quarter = 0; quarter <= 4; ++quarter) {
    const size_t at = (slots.size() - 1) * quarter / 4;
    slots[at].name = ShortenMiddle(records[at].name, kLongestName);
  }
  return slots;
}

// "2" and a raised number, in plain characters.
std::string PowerOfTwo(int exponent) {
  static constexpr const char* kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "2⁻" : "2";
  for (const char digit : std::to_string(std::abs(exponent))) text += kRaised[digit - '0'];
  return text;
}

// How many bits of a number follow its first one; 0: not known here. A type that is not known has a chart all the same,
// without the sentence about its neighbours.
int FractionBits(const std::string& dtype) {
  if (dtype == "BF16") return 7;
  if (dtype == "F16") return 10;
  if (dtype == "F32") return 23;
  if (dtype == "F64") return 52;
  return dtype.starts_with("F8_E4M3") ? 3 : dtype.starts_with("F8_E5M2") ? 2 : 0;
}

std::string ExponentChart(const ExponentTable& table) {
  std::vector<ChartSlot> slots;
  ExponentRow sum;
  uint64_t most = 0;
  const auto add = [&](const ExponentRow& row, const std::string& name, const std::string& range, bool is_magnitude) {
    ChartSlot slot{.name = name,
                   .tooltip = range + ": " + ChangedText(row.elements_changed, row.elements, "weight", kFineDigits),
                   .amount = static_cast<double>(row.elements),
                   .is_joined = is_magnitude};
    if (row.elements > 0) slot.share = PartOf(row.elements_changed, row.elements);
    slots.push_back(std::move(slot));
    sum.elements += row.elements;
    sum.elements_changed += row.elements_changed;
    most = std::max(most, row.elements);
  };
  if (table.tiny.elements > 0) add(table.tiny, "0", "zeros and subnormal numbers", false);
  // Only as many names as have room, and of round exponents.
  const size_t count = table.rows.size();
  const int apart = count <= 12 ? 1 : count <= 26 ? 2 : count <= 60 ? 5 : 50;
  for (const ExponentRow& row : table.rows) {
    const std::string from = PowerOfTwo(row.exponent);
    add(row, row.exponent % apart == 0 ? from : "", from + " ≤ |w| < " + PowerOfTwo(row.exponent + 1), true);
  }
  if (table.special.elements > 0) add(table.special, "Inf", "infinities and NaN", false);
  if (sum.elements == 0) return "";

  Chart chart(table.dtype + ": changed share by magnitude", std::move(slots));
  chart.AddShares(table.dtype + ": share changed, of the weights of this magnitude", 162);
  chart.AddAmounts("weights of this magnitude, of " + Grouped(sum.elements),
                   {{static_cast<double>(most), Percent(most, sum.elements)}}, 56);
  const std::string dtype = MarkupText(table.dtype, 24);
  std::string words = MarkupText(ChangedText(sum.elements_changed, sum.elements, "weight", kFineDigits)) + ".";
  if (const int bits = FractionBits(table.dtype); bits > 0) {
    words += fmt::format(
        " Neighbours of a {} weight w lie |w| / {} to |w| / {} apart: an update below half of that is lost in "
        "rounding.",
        dtype, Grouped(uint64_t{1} << (bits + 1)), Grouped(uint64_t{1} << bits));
  }
  return "<div>\n" + WideBox(dtype + " by magnitude", chart.Svg("magnitude of the weight in the base, |w|")) +
         "<p class=\"note\">" + words + "</p>\n</div>\n";
}

}  // namespace

std::string RecordSection(const StatsReport& report) {
  if (report.records.empty()) return "";
  std::span<const StatsRecord> records(report.records);
  const bool is_history = report.subject == StatsSubject::kHistory;
  const char* noun = is_history ? "record" : "delta";
  std::string note =
      "Share: elements changed against the record before, of all elements of the model, on a logarithmic scale. "
      "Bytes: the size of that delta.";
  if (std::ranges::any_of(records, [](const auto& record) { return record.info.anchor_bytes.has_value(); })) {
    note += " A triangle marks a record with an anchor, the whole model, whose bytes are not drawn.";
  }
  if (records.size() > kMostRecords) {
    note += fmt::format(" Drawn are the newest {} of {} records.", Grouped(kMostRecords), Grouped(records.size()));
    records = records.last(kMostRecords);
  }
  const std::vector<ChartSlot> slots = RecordSlots(records, noun);
  uint64_t most = 0;
  for (const StatsRecord& record : records) most = std::max(most, record.info.delta_bytes.value_or(0));
  Chart shares("Share of elements changed, by record", slots), bytes("Bytes of each delta, by record", slots);
  shares.AddShares("share of elements changed", 186);
  bytes.AddAmounts("bytes of the delta", ByteTicks(most), 186);
  return PageSection(is_history ? "Record by record" : "Delta by delta", note,
                     "<div class=\"charts\">\n" + WideBox("Share by record", shares.Svg(noun)) +
                         WideBox("Bytes by record", bytes.Svg(noun)) + "</div>\n");
}

std::string ExponentCharts(const StatsReport& report) {
  std::string charts;
  for (const ExponentTable& table : report.exponents) charts += ExponentChart(table);
  return charts;
}

}  // namespace wdelta
