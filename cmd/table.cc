#include "table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wdelta {

namespace {

constexpr size_t kIndent = 2, kGap = 2;
constexpr size_t kLeastName = 16;  // a name cut further tells nothing

bool StartsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

// The byte where character number `index` starts, or the end.
size_t CharacterOffset(std::string_view text, size_t index) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (StartsCharacter(text[at]) && index-- == 0) break;
  }
  return at;
}

}  // namespace

size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), StartsCharacter));
}

std::string ShortenMiddle(std::string_view text, size_t width) {
  const size_t length = DisplayWidth(text);
  if (length <= width) return std::string(text);
  if (width <= 3) return std::string(text.substr(0, CharacterOffset(text, width)));
  const size_t kept = width - 3, tail = (kept + 1) / 2, head = kept - tail;
  return std::string(text.substr(0, CharacterOffset(text, head))) + "..." +
         std::string(text.substr(CharacterOffset(text, length - tail)));
}

std::string Wrapped(std::string_view text, const std::string& first, const std::string& next, size_t width) {
  std::string lines, line = first;
  bool is_fresh = true;
  if (width == 0 || DisplayWidth(first) + DisplayWidth(text) <= width) return first + std::string(text) + '\n';
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!is_fresh && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines += line + '\n';
      line = next;
      is_fresh = true;
    }
    line.append(is_fresh ? "" : " ").append(word);
    is_fresh = false;
    at = end + 1;
  }
  return lines + line + '\n';
}

std::string ShareBar(double share, size_t width) {
  if (!(share > 0)) return "";
  const auto filled = static_cast<size_t>(std::lround(std::min(share, 1.0) * static_cast<double>(width)));
  return std::string(std::max<size_t>(filled, 1), '#');
}

std::string BlockBar(double share, size_t width) {
  if (!(share > 0)) return "";
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double exact = std::min(share, 1.0) * 8 * static_cast<double>(width);
  const size_t filled = std::max<size_t>(static_cast<size_t>(std::lround(exact)), 1);
  std::string bar;
  for (size_t i = 0; i < filled / 8; ++i) bar += "█";
  return bar + kEighths[filled % 8];
}

std::vector<size_t> Table::ColumnWidths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  return widths;
}

size_t Table::Width() const {
  const std::vector<size_t> widths = ColumnWidths();
  return std::accumulate(widths.begin(), widths.end(), kIndent + kGap * (columns_.size() - 1));
}

std::string Table::Text(size_t width) const {
  std::vector<size_t> widths = ColumnWidths();
  const size_t total = Width();
  if (width != 0 && total > width) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].shrinks) continue;
      const size_t excess = total - width;
      const size_t wanted = widths[i] > excess ? widths[i] - excess : 0;
      widths[i] = std::min(widths[i], std::max(wanted, kLeastName));
      break;
    }
  }

  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out(kIndent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = columns_[i].shrinks ? ShortenMiddle(cells[i], widths[i]) : cells[i];
      const std::string padding(widths[i] - std::min(widths[i], DisplayWidth(cell)), ' ');
      if (i > 0) out.append(kGap, ' ');
      out += columns_[i].right ? padding + cell : cell + padding;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    text += out + '\n';
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  line(titles);
  for (const auto& row : rows_) line(row);
  return text;
}

}  // namespace wdelta
