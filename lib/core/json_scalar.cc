// The strings and numbers of JsonReader.
#include <algorithm>

#include "core/json.h"
#include "core/text.h"

namespace wdelta {

namespace {

// The first byte at or after `at` that a string cannot simply contain: a quote, a backslash, a control character.
size_t FindSpecial(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  // Eight bytes in one look. A borrow can raise a false mark only above a true one, and the lowest mark is what counts.
  for (; at + 8 <= text.size(); at += 8) {
    const uint64_t word = Load<uint64_t>(bytes + at);
    const uint64_t quote = word ^ (kOnes * '"'), backslash = word ^ (kOnes * '\\');
    const uint64_t marks =
        (((word - kOnes * 0x20) & ~word) | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kHighs;
    if (marks != 0) return at + static_cast<size_t>(__builtin_ctzll(marks)) / 8;
  }
  while (at < text.size() && bytes[at] >= 0x20 && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

// The value of four hexadecimal digits; -1 if they are none.
int HexQuad(std::string_view digits) {
  if (digits.size() < 4) return -1;
  int value = 0;
  for (size_t i = 0; i < 4; ++i) {
    const int digit = HexDigit(digits[i]);
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

// Whether a number, which is known to be well formed and to have its exponent (or its end) at `exponent_at`, is beyond
// the largest double. Done on the digits, since std::from_chars is slow and calls what is too small "out of range" too.
bool OverflowsDouble(std::string_view number, size_t exponent_at) {
  const std::string_view digits = number.substr(0, exponent_at);
  const size_t first = digits.find_first_not_of("-0.");
  if (first == std::string_view::npos) return false;
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  const auto lead = static_cast<int64_t>(first);
  int64_t magnitude =
      point > lead ? point - lead : point - lead + 1;  // the value is below 10^magnitude, by less than ten
  if (exponent_at < number.size()) {
    int64_t exponent = 0;
    for (const char c : number.substr(exponent_at + 1)) {
      if (IsDigit(c)) exponent = std::min<int64_t>(exponent * 10 + (c - '0'), int64_t{1} << 40);
    }
    magnitude += number[exponent_at + 1] == '-' ? -exponent : exponent;
  }
  if (magnitude != 309) return magnitude > 309;
  std::string_view limit = "17976931348623158079";  // from here on, times 10^289, a double would be infinite
  for (const char c : digits.substr(first)) {
    if (c == '.') continue;
    if (c != limit[0]) return c > limit[0];
    limit.remove_prefix(1);
    if (limit.empty()) return true;
  }
  return false;
}

}  // namespace

bool JsonReader::ReadString(bool keep, std::string_view* value) {
  SkipSpace();
  if (at_ == text_.size() || text_[at_] != '"') return Refuse("expected a string");
  const size_t begin = ++at_;
  bool has_escapes = false;
  for (;;) {
    at_ = FindSpecial(text_, at_);
    if (at_ == text_.size()) return Refuse("");
    if (text_[at_] == '"') break;
    if (text_[at_] != '\\') return Refuse("control character in a string");
    has_escapes = true;
    do at_ = std::min(at_ + 2, text_.size());
    while (at_ < text_.size() && text_[at_] == '\\');
  }
  const size_t end = at_++;
  if (has_escapes) {
    if (!Unescape(begin, end, keep)) return false;
    if (keep) *value = scratch_;
  } else if (keep) {
    *value = text_.substr(begin, end - begin);
  }
  return true;
}

// Checks the escapes of a string that ends at `end` and, if it is to be kept, writes it to scratch_.
bool JsonReader::Unescape(size_t begin, size_t end, bool keep) {
  scratch_.clear();
  if (keep) scratch_.reserve(end - begin);
  const auto refuse_at = [&](size_t at, const char* why) {
    at_ = at;
    return Refuse(why);
  };
  for (size_t at = begin; at < end;) {
    if (text_[at] != '\\') {
      const size_t next = std::min(text_.find('\\', at), end);
      if (keep) scratch_.append(text_, at, next - at);
      at = next;
      continue;
    }
    const char kind = text_[at + 1];  // there: the closing quote comes after it
    if (const size_t letter = kJsonEscapeLetters.find(kind); letter != std::string_view::npos) {
      if (keep) scratch_ += kJsonEscaped[letter];
      at += 2;
      continue;
    }
    if (kind != 'u') return refuse_at(at, "unknown escape in a string");
    const int unit = HexQuad(text_.substr(at + 2, std::min<size_t>(end - at - 2, 4)));
    if (unit < 0) return refuse_at(at, "'\\u' without four hexadecimal digits");
    auto code_point = static_cast<uint32_t>(unit);
    at += 6;
    if (unit >= 0xdc00 && unit <= 0xdfff) return refuse_at(at - 6, "lone surrogate in a string");
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const bool has_pair = end - at >= 6 && text_[at] == '\\' && text_[at + 1] == 'u';
      const int second = has_pair ? HexQuad(text_.substr(at + 2, 4)) : -1;
      if (second < 0xdc00 || second > 0xdfff) return refuse_at(at - 6, "lone surrogate in a string");
      code_point = 0x10000 + ((code_point & 0x3ff) << 10) + (static_cast<uint32_t>(second) & 0x3ff);
      at += 6;
    }
    if (keep) AppendUtf8(code_point, &scratch_);
  }
  return true;
}

Result<std::string_view> JsonReader::String() {
  std::string_view value;
  if (!ReadString(/*keep=*/true, &value)) return Failure();
  return value;
}

Result<uint64_t> JsonReader::UnsignedInteger() {
  SkipSpace();
  const size_t begin = at_;
  uint64_t value = 0;
  for (; at_ < text_.size() && IsDigit(text_[at_]); ++at_) {
    if (!CheckedMultiply(value, 10, &value) || !CheckedAdd(value, static_cast<uint64_t>(text_[at_] - '0'), &value)) {
      at_ = begin;
      Refuse("number over 64 bits");
      return Failure();
    }
  }
  const size_t digits = at_ - begin;
  const bool goes_on = at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E');
  if (digits == 0 || goes_on) {
    Refuse("expected a whole number: digits alone, without sign, fraction or exponent");
    return Failure();
  }
  if (digits > 1 && text_[begin] == '0') {
    at_ = begin;
    Refuse("leading zero in a number");
    return Failure();
  }
  return value;
}

bool JsonReader::SkipNumber() {
  const size_t begin = at_;
  const auto digits = [this] {
    const size_t from = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ - from;
  };
  if (text_[at_] == '-') ++at_;
  const size_t first = at_;
  const size_t whole_digits = digits();
  if (whole_digits == 0) return Refuse("expected a digit");
  if (whole_digits > 1 && text_[first] == '0') {
    at_ = first;
    return Refuse("leading zero in a number");
  }
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    if (digits() == 0) return Refuse("expected a digit after the point");
  }
  const size_t exponent_at = at_;
  size_t exponent_digits = 0;
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    exponent_digits = digits();
    if (exponent_digits == 0) return Refuse("expected a digit in the exponent");
  }
  const bool may_overflow = whole_digits > 200 || exponent_digits > 2;
  if (may_overflow && OverflowsDouble(text_.substr(begin, at_ - begin), exponent_at - begin)) {
    at_ = begin;
    return Refuse("number out of range");
  }
  return true;
}

}  // namespace wdelta
