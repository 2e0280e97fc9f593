// `stats` for a terminal, or for a file that is read as text.
#include "stats/stats_parts.h"
#include "table.h"

namespace wdelta {

namespace {

constexpr size_t kWide = 100;  // from so many columns on there is room for all

class TextForm {
 public:
  explicit TextForm(const TextStyle& style)
      : style_(style),
        is_narrow_(style.width != 0 && style.width < kWide),
        bar_width_(is_narrow_ || style.width == 0 ? 10 : std::min<size_t>(10 + (style.width - kWide) / 4, 24)) {}

  bool is_narrow() const { return is_narrow_; }
  // Whether its table can be shown without cutting names.
  bool Fits(const StatsPart& part) const {
    if (style_.width == 0 || part.rows.empty()) return true;
    return TableOf(part).Width() <= style_.width;
  }

  // One paragraph, broken between words; the lines after the first are indented further.
  void AddSentence(const std::string& sentence, const std::string& indent) {
    text_ += Wrapped(TerminalText(sentence), indent, indent + "  ", style_.width);
  }

  void AddPart(const StatsPart& part) {
    if (!text_.empty()) text_ += '\n';
    if (!part.title.empty()) AddTitle(part);
    for (const std::string& sentence : part.sentences) AddSentence(sentence, part.title.empty() ? "" : "  ");
    const std::string more =
        "  and " + Grouped(part.more) + " more" + (part.more_before ? " before these" : "") + "; '--top 0' shows all\n";
    if (part.more > 0 && part.more_before) text_ += more;
    if (!part.rows.empty()) AddTable(part);
    if (part.more > 0 && !part.more_before) text_ += more;
    for (const std::string& line : part.legend) AddSentence(line, "  ");
  }

  std::string Take() { return std::move(text_); }

 private:
  std::string Coloured(const char* code, const std::string& text) const {
    return style_.colour ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  }

  void AddTitle(const StatsPart& part) {
    const std::string title = TerminalText(part.title);
    text_ += Coloured("1", title);
    const std::string explanation = part.explanation.empty() ? "" : " (" + part.explanation + ")";
    if (style_.width == 0 || DisplayWidth(title + explanation) <= style_.width) {
      text_ += explanation + '\n';
    } else {
      text_ += '\n';
      AddSentence(part.explanation, "  ");
    }
  }

  void AddTable(const StatsPart& part) {
    const std::string lines = TableOf(part).Text(style_.width);
    if (part.columns[0].kind == Kind::kVerdict) {
      AddVerdicts(lines);
    } else {
      text_ += lines;
    }
  }

  Table TableOf(const StatsPart& part) const {
    std::vector<Column> columns;
    std::vector<size_t> shown;
    for (size_t i = 0; i < part.columns.size(); ++i) {
      const PartColumn& column = part.columns[i];
      if (column.room == PartColumn::Room::kWide && is_narrow_) continue;
      shown.push_back(i);
      columns.push_back({column.title, column.kind == Kind::kFigure, column.kind == Kind::kName});
    }
    Table table(columns);
    for (const auto& row : part.rows) {
      std::vector<std::string> cells;
      for (const size_t i : shown) {
        cells.push_back(part.columns[i].kind == Kind::kBar ? BlockBar(row[i].bar, bar_width_)
                                                           : TerminalText(row[i].text));
      }
      table.AddRow(std::move(cells));
    }
    return table;
  }

  // Colours the words at the start of lines, after the table has counted their characters.
  void AddVerdicts(const std::string& lines) {
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at) + 1;
      const std::string line = lines.substr(at, end - at);
      const std::string word = line.substr(0, 7);
      if (word == "  FAIL " || word == "  PASS ") {
        text_ += "  " + Coloured(word == "  FAIL " ? "31" : "32", word.substr(2, 4)) + line.substr(6);
      } else {
        text_ += line;
      }
      at = end;
    }
  }

  TextStyle style_;
  bool is_narrow_;
  size_t bar_width_;
  std::string text_;
};

}  // namespace

std::string StatsText(const StatsView& view, const TextStyle& style) {
  TextForm form(style);
  for (const std::string& sentence : OpeningSentences(view)) form.AddSentence(sentence, "");
  // Names are worth more than the last digits of counts.
  StatsPart rows = MainPart(view, {view.top, false});
  if (!form.Fits(rows)) rows = MainPart(view, {view.top, true});
  if (!rows.empty()) form.AddPart(rows);
  for (const StatsPart& part : DetailParts(view, {view.top, form.is_narrow()})) form.AddPart(part);
  for (const StatsPart& part : VerdictParts(view)) form.AddPart(part);
  return form.Take();
}

}  // namespace wdelta
