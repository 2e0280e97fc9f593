// The top of the page: what changed in a sentence, the figures behind it, and what was found or demanded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numbers.h"
#include "stats/stats_page.h"
#include "stats/stats_page_markup.h"
#include "stats/stats_words.h"

namespace wdelta {

namespace {

// What the answer is about: one update, or the deltas of a series. An anchor sends the whole model and is no update.
struct Compared {
  uint64_t elements = 0, changed = 0;
};

Compared ComparedIn(const StatsReport& report) {
  if (report.has_tensors()) return {report.totals.elements_total, report.totals.elements_changed};
  const RecordSummary summary = SummaryOf(report.records);
  return {summary.elements_total, summary.elements_changed};
}

std::string Headline(const StatsReport& report) {
  const Compared compared = ComparedIn(report);
  const bool series = !report.has_tensors();
  if (compared.elements == 0) return series ? "There is no delta to measure" : "There is no element to compare";
  if (compared.changed == 0) {
    return series || !HasDifference(report) ? "Nothing changed" : "No element changed, but something did";
  }
  if (compared.changed == compared.elements) return "Every element changed";
  const std::string share = FineShare(compared.changed, compared.elements);
  return series ? "On average " + share + " of the elements change" : share + " of the elements changed";
}

std::string Lead(const StatsReport& report) {
  const Totals& totals = report.totals;
  const std::string subject = SubjectMarkup(report) + ": ";
  if (!report.has_tensors()) {
    const RecordSummary summary = SummaryOf(report.records);
    std::string text = subject + Counted(summary.deltas, "delta");
    if (summary.deltas > 0) text += " of " + ByteSize(summary.delta_bytes) + " together";
    if (summary.anchors > 0) text += "; " + Counted(summary.anchors, "record") + " with an anchor alone not counted";
    return text + ".";
  }
  std::string text = subject + Grouped(totals.elements_changed) + " of " + Counted(totals.elements_total, "element") +
                     ", in " + Grouped(totals.tensors_changed) + " of " + Counted(totals.tensors_total, "tensor") + ".";
  if (report.delta_bytes) {
    text += " The delta takes " + ByteSize(*report.delta_bytes) + ", " +
            FineShare(*report.delta_bytes, totals.bytes_total) + " of the model's " + ByteSize(totals.bytes_total) +
            ".";
  }
  return text;
}

std::string Fact(const std::string& name, const std::string& figure, const std::string& of) {
  return fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n", name, figure, of);
}

std::string SeriesFacts(const StatsReport& report) {
  const RecordSummary summary = SummaryOf(report.records);
  if (summary.deltas == 0) return "";
  const bool history = report.subject == StatsSubject::kHistory;
  const auto named = [&](const StatsRecord* record) {
    return (history ? "record " : "") + MarkupText(record->name, 24);
  };
  std::string facts;
  if (summary.most_share) {
    const Totals &least = summary.least_share->info.totals, &most = summary.most_share->info.totals;
    facts +=
        Fact("Fewest changes", FineShare(least.elements_changed, least.elements_total), named(summary.least_share));
    facts += Fact("Most changes", FineShare(most.elements_changed, most.elements_total), named(summary.most_share));
  }
  facts += Fact("Deltas, mean", ByteSize(summary.delta_bytes / summary.deltas), Counted(summary.deltas, "delta"));
  facts += Fact("Largest delta", ByteSize(*summary.most_bytes->info.delta_bytes), named(summary.most_bytes));
  return facts;
}

std::string TensorFacts(const StatsReport& report) {
  const Totals& totals = report.totals;
  std::string facts = Fact("Tensors changed", Grouped(totals.tensors_changed), "of " + Grouped(totals.tensors_total));
  if (totals.tensors_added + totals.tensors_removed > 0) {
    facts += Fact("Added, removed", Grouped(totals.tensors_added) + ", " + Grouped(totals.tensors_removed), "tensors");
  }
  if (report.delta_bytes && *report.delta_bytes > 0) {
    const double ratio = static_cast<double>(totals.bytes_total) / static_cast<double>(*report.delta_bytes);
    facts +=
        Fact("Delta", ByteSize(*report.delta_bytes), fmt::format("1 : {} of the model", Grouped(std::lround(ratio))));
  }
  if (!report.has_tallies()) return facts;
  const GroupRow& whole = report.whole;
  const auto untouched = [](uint64_t touched, uint64_t total) {
    return FineShare(total - std::min(touched, total), total);
  };
  if (whole.rows_total > 0) {
    facts += Fact("Rows untouched", untouched(whole.rows_touched, whole.rows_total), "of " + Grouped(whole.rows_total));
  }
  if (whole.experts_total > 0) {
    facts += Fact("Experts untouched", untouched(whole.experts_touched, whole.experts_total),
                  "of " + Grouped(whole.experts_total) + ", by layer");
  }
  facts += Fact("NaN, Inf", Grouped(report.nan) + ", " + Grouped(report.inf),
                "before: " + Grouped(report.base_nan) + ", " + Grouped(report.base_inf));
  return facts;
}

}  // namespace

std::string HeadSection(const StatsView& view) {
  const Compared compared = ComparedIn(view.report);
  std::string facts;
  if (compared.elements > 0) {
    facts = Fact("Sparsity", FineShare(compared.elements - compared.changed, compared.elements), "elements unchanged");
  }
  facts += view.report.has_tensors() ? TensorFacts(view.report) : SeriesFacts(view.report);
  return "<header>\n<p class=\"kicker\">wdelta stats</p>\n<h1>" + Headline(view.report) + "</h1>\n<p class=\"lead\">" +
         Lead(view.report) + "</p>\n<dl class=\"facts\">\n" + facts + "</dl>\n</header>\n";
}

}  // namespace wdelta
