// A remote around another one that counts: requests of each kind, and bytes of each object. With FileCounts
// (core/file_counts.h) this is how tests hold promises such as "every object is fetched once".
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "remote/remote.h"

namespace wdelta {

// What all handles that share it did. Safe to use from several threads.
class RemoteCounts {
 public:
  // Requests by kind: "read", "write", "stat", "list", "remove"; all of them for "".
  uint64_t Calls(const std::string& kind = {}) const {
    const std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [name, count] : calls_) sum += kind.empty() || kind == name ? count : 0;
    return sum;
  }
  // Bytes that were read from objects, or written to them, by key. Zero is not listed.
  std::map<std::string, uint64_t> BytesRead() const { return Copy(read_); }
  std::map<std::string, uint64_t> BytesWritten() const { return Copy(written_); }
  void Forget() {
    const std::lock_guard lock(mutex_);
    calls_.clear(), read_.clear(), written_.clear();
  }

 private:
  friend class CountingRemote;
  using Bytes = std::map<std::string, uint64_t>;
  Bytes Copy(const Bytes& bytes) const {
    const std::lock_guard lock(mutex_);
    return bytes;
  }
  void Call(const std::string& kind) {
    const std::lock_guard lock(mutex_);
    ++calls_[kind];
  }
  void Add(Bytes& to, const std::string& key, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > 0) to[key] += bytes;
  }

  mutable std::mutex mutex_;
  Bytes calls_, read_, written_;
};

class CountingRemote final : public Remote {
 public:
  CountingRemote(std::unique_ptr<Remote> inner, std::shared_ptr<RemoteCounts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {}

  const std::string& url() const override { return inner_->url(); }
  uint64_t retries() const override { return inner_->retries(); }
  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag) override {
    counts_->Call("read");
    Result<ObjectPiece> piece = inner_->Read(key, offset, length, etag);
    if (piece.ok()) counts_->Add(counts_->read_, key, piece->bytes.size());
    return piece;
  }
  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& etag) override {
    counts_->Call("write");
    Result<WriteResult> written = inner_->Write(key, source, rule, etag);
    if (written.ok() && *written == WriteResult::kWritten) counts_->Add(counts_->written_, key, source.size());
    return written;
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override {
    counts_->Call("stat");
    return inner_->Stat(key);
  }
  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
    counts_->Call("list");
    return inner_->List(prefix, after, limit);
  }
  Result<> Remove(const std::string& key) override {
    counts_->Call("remove");
    return inner_->Remove(key);
  }

 private:
  const std::unique_ptr<Remote> inner_;
  const std::shared_ptr<RemoteCounts> counts_;
};

}  // namespace wdelta
