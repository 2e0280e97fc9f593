#include "remote/s3_xml.h"

#include <algorithm>
#include <charconv>

#include "core/text.h"
#include "remote/http_text.h"

namespace wdelta {

namespace {

constexpr size_t kMaxDocument = 16 << 20;
constexpr size_t kMaxDepth = 8;
constexpr size_t kMaxElements = 100'000;  // a page of a listing has some ten thousand
constexpr size_t kMaxName = 64;

Error NotXml(std::string_view why) {
  return Error{ErrorKind::kIntegrity, "answer is no XML that S3 would send: " + std::string(why)};
}

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// The characters with entities of their own; the last needs none in a text.
constexpr std::pair<char, std::string_view> kEntities[] = {
    {'&', "amp"}, {'<', "lt"}, {'>', "gt"}, {'"', "quot"}, {'\'', "apos"}};

// Appends what "&name;" stands for.
bool AppendEntity(std::string_view name, std::string* out) {
  for (const auto& [character, entity] : kEntities) {
    if (name == entity) return out->push_back(character), true;
  }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const int base = name.starts_with('x') ? 16 : 10;
  if (base == 16) name.remove_prefix(1);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, base);
  if (name.empty() || error != std::errc() || end != name.data() + name.size()) return false;
  if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
  AppendUtf8(code, out);
  return true;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<std::vector<XmlElement>> Read() {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
    while (!rest_.empty()) {
      WD_TRY(rest_.front() == '<' ? Markup() : Text());
    }
    if (!open_.empty()) return NotXml("it ends inside an element");
    if (elements_.empty()) return NotXml("it has no element");
    return std::move(elements_);
  }

 private:
  struct Open {
    size_t path_before;  // length of path_ without this element
    std::string text;
  };

  Result<> Text() {
    const std::string_view text = rest_.substr(0, rest_.find('<'));
    rest_.remove_prefix(text.size());
    if (open_.empty()) {
      for (const char c : text) {
        if (!IsSpace(c)) return NotXml("it has text outside of elements");
      }
      return {};
    }
    std::string& out = open_.back().text;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '&') {
        out.push_back(text[i]);
        continue;
      }
      const std::string_view name = text.substr(i + 1, 12);
      const size_t end = name.find(';');
      if (end == std::string_view::npos || !AppendEntity(name.substr(0, end), &out))
        return NotXml("it has an entity that is not one of the five, and no number");
      i += end + 1;
    }
    return {};
  }

  Result<> Markup() {
    if (rest_.starts_with("<?")) return Skip("?>");
    if (rest_.starts_with("<!--")) return Skip("-->");
    if (rest_.starts_with("<!")) return NotXml("it declares a document type");
    if (rest_.starts_with("</")) return Close();
    // The end of a tag is the first '>' outside of quotes.
    char quote = 0;
    size_t end = 1;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (quote) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        break;
      } else if (c == '<') {
        return NotXml("it has a '<' inside a tag");
      }
    }
    if (end == rest_.size()) return NotXml("it ends inside a tag");
    std::string_view tag = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    const bool is_empty = tag.ends_with('/');
    if (is_empty) tag.remove_suffix(1);
    size_t length = 0;
    while (length < tag.size() && !IsSpace(tag[length])) ++length;
    WD_ASSIGN(const std::string_view name, Name(tag.substr(0, length)));
    if (open_.size() == kMaxDepth) return NotXml("its elements are nested too deep");
    if (elements_.size() + open_.size() >= kMaxElements) return NotXml("it has more than 100000 elements");
    if (open_.empty() && !elements_.empty()) return NotXml("it has two outermost elements");
    open_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    if (is_empty) End();
    return {};
  }

  Result<> Close() {
    const size_t end = rest_.find('>');
    if (end == std::string_view::npos) return NotXml("it ends inside a tag");
    std::string_view tag = rest_.substr(2, end - 2);
    rest_.remove_prefix(end + 1);
    while (!tag.empty() && IsSpace(tag.back())) tag.remove_suffix(1);
    WD_ASSIGN(const std::string_view name, Name(tag));
    if (open_.empty() || path_.substr(path_.rfind('/') + 1) != name)
      return NotXml("an element ends that did not begin");
    End();
    return {};
  }

  void End() {
    elements_.push_back({path_, std::move(open_.back().text)});
    path_.resize(open_.back().path_before);
    open_.pop_back();
  }

  Result<> Skip(std::string_view end) {
    const size_t at = rest_.find(end, 2);
    if (at == std::string_view::npos) return NotXml("it ends inside a comment or an instruction");
    rest_.remove_prefix(at + end.size());
    return {};
  }

  // A name without its namespace's prefix.
  static Result<std::string_view> Name(std::string_view name) {
    name = name.substr(name.rfind(':') + 1);
    bool good = !name.empty() && name.size() <= kMaxName;
    for (const char c : name) {
      good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '-' || c == '.');
    }
    if (!good) return NotXml("an element has no proper name");
    return name;
  }

  std::string_view rest_;
  std::string path_;
  std::vector<Open> open_;
  std::vector<XmlElement> elements_;
};

}  // namespace

Result<std::vector<XmlElement>> ReadXml(ByteSpan document) {
  if (document.size() > kMaxDocument) return NotXml("it is longer than 16 MiB");
  return Reader(AsText(document)).Read();
}

Result<S3Listing> ReadS3Listing(ByteSpan document) {
  WD_ASSIGN(const std::vector<XmlElement> elements, ReadXml(document));
  if (elements.back().path != "ListBucketResult") return NotXml("it is no listing");
  bool is_encoded = false;
  for (const XmlElement& element : elements)
    if (element.path == "ListBucketResult/EncodingType") is_encoded = element.text == "url";
  S3Listing listing;
  ObjectInfo object;
  bool has_size = false;
  for (const XmlElement& element : elements) {
    constexpr std::string_view kContents = "ListBucketResult/Contents";
    if (element.path == "ListBucketResult/IsTruncated") listing.more = element.text == "true";
    if (!element.path.starts_with(kContents)) continue;
    const std::string_view field = std::string_view(element.path).substr(kContents.size());
    if (field == "/Key") {
      std::optional<std::string> key = is_encoded ? PercentDecode(element.text) : element.text;
      if (!key) return NotXml("a key in a listing is badly encoded");
      object.key = std::move(*key);
    } else if (field == "/Size") {
      const std::optional<uint64_t> size = ParseNumber(element.text);
      if (!size) return NotXml("a size in a listing is not a number");
      object.size = *size;
      has_size = true;
    } else if (field == "/LastModified") {
      object.modified = ParseIsoDate(element.text).value_or(0);
    } else if (field.empty()) {
      if (object.key.empty() || !has_size) return NotXml("an object in a listing has no key or no size");
      listing.objects.push_back(std::move(object));
      object = {};
      has_size = false;
    }
  }
  return listing;
}

Result<std::string> ReadS3Text(ByteSpan document, std::string_view path) {
  WD_ASSIGN(std::vector<XmlElement> elements, ReadXml(document));
  for (XmlElement& element : elements)
    if (element.path == path) return std::move(element.text);
  return NotXml("it has no '" + std::string(path) + "'");
}

std::optional<S3Error> ReadS3Error(ByteSpan document) {
  Result<std::vector<XmlElement>> elements = ReadXml(document);
  if (!elements.ok() || elements->back().path != "Error") return std::nullopt;
  S3Error error;
  for (XmlElement& element : *elements) {
    if (element.path == "Error/Code") error.code = std::move(element.text);
    if (element.path == "Error/Message") error.message = std::move(element.text);
    if (element.path == "Error/Region") error.region = std::move(element.text);
  }
  return error;
}

std::string XmlEscape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto* entity = std::ranges::find(kEntities, c, &std::pair<char, std::string_view>::first);
    if (entity == std::end(kEntities) || c == '\'') {
      escaped += c;
    } else {
      escaped.append("&").append(entity->second).append(";");
    }
  }
  return escaped;
}

}  // namespace wdelta
