#include "checkpoint/layout.h"

#include <algorithm>

#include "core/json.h"

namespace wdelta {

Sha256Digest Layout::Digest() const {
  ByteWriter text;
  text.Text("wdelta layout 1");
  for (const auto* files : {&shards, &companions}) {
    text.Varint(files->size());
    for (const LayoutFile& file : *files) {
      text.Text(file.path);
      text.Varint(file.bytes);
      text.Raw(file.sha256);
    }
  }
  return DigestSha256(text.bytes());
}

namespace {

Error Refuse(std::string_view name, std::string_view why) {
  return Error{ErrorKind::kRefused, "file name '" + std::string(name) + "' " + std::string(why)}.At(name);
}

Result<> CheckComponent(std::string_view component, std::string_view whole) {
  if (component.empty()) return Refuse(whole, "is absolute or has an empty part");
  if (component.front() == '.') return Refuse(whole, component == ".." ? "points outside its folder" : "is hidden");
  if (component.size() > 255) return Refuse(whole.substr(0, 100), "has a part of more than 255 bytes");
  for (const char c : component) {
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return Refuse(whole, "holds a backslash or a control character");
    }
  }
  return {};
}

}  // namespace

Result<> CheckShardName(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return Refuse(name, "points outside its folder");
  WD_TRY(CheckComponent(name, name));
  if (!name.ends_with(".safetensors")) return Refuse(name, "does not end in '.safetensors'");
  if (!ValidUtf8(AsBytes(name))) return Refuse(name, "is not UTF-8");
  return {};
}

Result<> CheckCompanionPath(std::string_view path) {
  if (path.size() > 1024) return Refuse(path.substr(0, 100), "is longer than 1024 bytes");
  if (!ValidUtf8(AsBytes(path))) return Refuse(path, "is not UTF-8");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    WD_TRY(CheckComponent(path.substr(begin, end - begin), path));
    begin = end + 1;
  }
  return {};
}

Result<> CheckLayout(const Layout& layout) {
  std::vector<std::string_view> paths;
  for (const LayoutFile& shard : layout.shards) {
    WD_TRY(CheckShardName(shard.path));
    paths.push_back(shard.path);
  }
  for (const LayoutFile& companion : layout.companions) {
    WD_TRY(CheckCompanionPath(companion.path));
    paths.push_back(companion.path);
  }
  const auto by_path = [](const LayoutFile& a, const LayoutFile& b) { return a.path < b.path; };
  if (!std::is_sorted(layout.shards.begin(), layout.shards.end(), by_path) ||
      !std::is_sorted(layout.companions.begin(), layout.companions.end(), by_path)) {
    return Error{ErrorKind::kIntegrity, "files of the layout are not in order"};
  }
  if (layout.shards.empty()) return Error{ErrorKind::kIntegrity, "layout without a shard"};
  if (layout.lone_file && (layout.shards.size() != 1 || layout.shards[0].path != kLoneShard || paths.size() != 1)) {
    return Error{ErrorKind::kIntegrity, "layout of a lone file with more than one file"};
  }
  std::sort(paths.begin(), paths.end());
  for (size_t i = 1; i < paths.size(); ++i) {
    if (paths[i] == paths[i - 1]) return Refuse(paths[i], "occurs twice");
  }
  for (const std::string_view path : paths) {  // "a" and "a/b" cannot both be files
    for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      if (std::binary_search(paths.begin(), paths.end(), path.substr(0, slash))) {
        return Refuse(path.substr(0, slash), "is both a file and a folder");
      }
    }
  }
  return {};
}

}  // namespace wdelta
