#include "support/scratch_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace wdelta {

namespace fs = std::filesystem;

namespace {

std::string ReadFileAt(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.native());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const bool choose = std::getenv("TMPDIR") == nullptr && access("/dev/shm", W_OK) == 0;
  std::string pattern = (choose ? fs::path("/dev/shm") : fs::temp_directory_path()) / "wdelta-unit-XXXXXX";
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot create " + pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void ScratchFolder::Write(std::string_view name, std::string_view content) const {
  const fs::path path = *this / name;
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.native());
  const timespec long_ago[2] = {{1000000000, 0}, {1000000000, 0}};
  utimensat(AT_FDCWD, path.c_str(), long_ago, 0);
}

std::string ScratchFolder::Read(std::string_view name) const {
  return ReadFileAt(*this / name);
}

bool ScratchFolder::Exists(std::string_view name) const {
  return fs::exists(fs::symlink_status(*this / name));
}

void ScratchFolder::Copy(std::string_view from, std::string_view to) const {
  fs::copy(*this / from, *this / to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
}

void ScratchFolder::Remove(std::string_view name) const {
  fs::remove_all(*this / name);
}

Tree ScratchFolder::TreeOf(std::string_view name) const {
  const fs::path top = name.empty() ? fs::path(path_) : fs::path(*this / name);
  if (fs::is_regular_file(top)) return {{"", ReadFileAt(top)}};
  Tree tree;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    const std::string path = entry.path().lexically_relative(top);
    if (entry.is_symlink()) {
      tree[path] = "-> " + fs::read_symlink(entry.path()).native();
    } else if (entry.is_directory()) {
      tree[path + "/"] = "";
    } else {
      tree[path] = entry.is_regular_file() ? ReadFileAt(entry.path()) : "special";
    }
  }
  return tree;
}

std::string Names(const Tree& tree) {
  std::string names;
  for (const auto& [path, content] : tree) {
    names += (names.empty() ? "'" : ", '") + path + "' (" + std::to_string(content.size()) + ")";
  }
  return names;
}

}  // namespace wdelta
