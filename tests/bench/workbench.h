// What the programs of the bench share: their command line, whole reads and writes, a crew of threads, and just enough
// of a safetensors header for files that the bench made itself. They measure the library from outside, so nothing of
// the library is used here. Any failure ends the program with a message: a bench has nothing to clean up.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace workbench {

[[noreturn]] inline void Die(const std::string& message) {
  std::fprintf(stderr, "bench: %s\n", message.c_str());
  std::exit(2);
}

// "--name value" pairs and flags, in any order, and the words between them.
class Options {
 public:
  Options(int argc, char** argv, const std::vector<std::string>& valued, const std::vector<std::string>& flags) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.rfind("--", 0) != 0) {
        words_.push_back(word);
      } else if (Contains(flags, word.substr(2))) {
        values_[word.substr(2)] = "yes";
      } else if (Contains(valued, word.substr(2)) && i + 1 < argc) {
        values_[word.substr(2)] = argv[++i];
      } else {
        Die("unknown or incomplete option '" + word + "'");
      }
    }
  }
  bool Has(const std::string& name) const { return values_.count(name) != 0; }
  std::string Text(const std::string& name, const std::string& otherwise = "") const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  double Number(const std::string& name, double otherwise) const {
    if (!Has(name)) return otherwise;
    char* end = nullptr;
    const std::string text = Text(name);
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0') Die("option '--" + name + "' is no number: '" + text + "'");
    return value;
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  static bool Contains(const std::vector<std::string>& list, const std::string& name) {
    for (const std::string& entry : list) {
      if (entry == name) return true;
    }
    return false;
  }
  std::map<std::string, std::string> values_;
  std::vector<std::string> words_;
};

// An open file that closes itself.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) Die("cannot open '" + path + "': " + std::strerror(errno));
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(fd_); }

  uint64_t Size() const {
    struct stat info;
    if (fstat(fd_, &info) != 0) Die("cannot stat '" + path_ + "'");
    return static_cast<uint64_t>(info.st_size);
  }
  void Resize(uint64_t size) const {
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) Die("cannot resize '" + path_ + "': " + std::strerror(errno));
  }
  void Read(void* out, size_t length, uint64_t at) const {
    for (size_t done = 0; done < length;) {
      const ssize_t got = pread(fd_, static_cast<char*>(out) + done, length - done, static_cast<off_t>(at + done));
      if (got <= 0) Die("cannot read '" + path_ + "' at " + std::to_string(at + done));
      done += static_cast<size_t>(got);
    }
  }
  void Write(const void* from, size_t length, uint64_t at) const {
    for (size_t done = 0; done < length;) {
      const auto* start = static_cast<const char*>(from) + done;
      const ssize_t put = pwrite(fd_, start, length - done, static_cast<off_t>(at + done));
      if (put <= 0) Die("cannot write '" + path_ + "': " + std::strerror(errno));
      done += static_cast<size_t>(put);
    }
  }

 private:
  std::string path_;
  int fd_;
};

// Memory for pieces of a file, each placed so that it lies in its pages as it does in the file. Some processors copy
// five times slower when the target is 1 to 31 bytes further into its page than the source; memory from malloc, which
// starts 16 bytes into a page, meets that in every read at a page's start. A bench must not measure this by accident.
class PageBuffer {
 public:
  explicit PageBuffer(size_t capacity)
      : memory_(static_cast<unsigned char*>(std::aligned_alloc(kPage, (capacity / kPage + 2) * kPage)), &std::free) {
    if (!memory_) Die("out of memory");
  }
  // Where to put the piece that begins at `file_offset`.
  unsigned char* For(uint64_t file_offset) { return memory_.get() + file_offset % kPage; }

 private:
  static constexpr size_t kPage = 4096;
  std::unique_ptr<unsigned char, decltype(&std::free)> memory_;
};

// Calls work(worker, index) for each index below count, on `threads` threads; worker < threads, for scratch memory.
template <class Work>
void RunCrew(unsigned threads, uint64_t count, const Work& work) {
  std::atomic<uint64_t> next{0};
  const auto run = [&](unsigned worker) {
    for (uint64_t index = next++; index < count; index = next++) work(worker, index);
  };
  std::vector<std::thread> crew;
  for (unsigned worker = 1; worker < threads; ++worker) crew.emplace_back(run, worker);
  run(0);
  for (std::thread& member : crew) member.join();
}

inline unsigned ThreadCount(const Options& options) {
  const double wanted = options.Number("threads", 0);
  const unsigned found = wanted >= 1 ? static_cast<unsigned>(wanted) : std::thread::hardware_concurrency();
  return found == 0 ? 1 : found;
}

}  // namespace workbench
