#include "support/memory_remote.h"

#include <algorithm>
#include <ctime>

#include "remote/remote_key.h"

namespace wdelta {

void MemoryStore::SetClock(std::function<int64_t()> clock) {
  const std::lock_guard lock(mutex_);
  clock_ = std::move(clock);
}

uint64_t MemoryStore::Calls(const std::string& method) const {
  const std::lock_guard lock(mutex_);
  uint64_t calls = 0;
  for (const auto& [name, count] : calls_) calls += method.empty() || name == method ? count : 0;
  return calls;
}

void MemoryStore::ForgetCalls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

std::map<std::string, MemoryStore::Object> MemoryStore::Objects() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

void MemoryStore::Put(const std::string& key, Bytes bytes) {
  const std::lock_guard lock(mutex_);
  objects_[key] = {std::move(bytes), Now(), ++versions_};
}

void MemoryStore::Erase(const std::string& key) {
  const std::lock_guard lock(mutex_);
  objects_.erase(key);
}

class MemoryRemote final : public Remote {
 public:
  MemoryRemote(std::shared_ptr<MemoryStore> store, const StopToken& stop) : store_(std::move(store)), stop_(stop) {}

  const std::string& url() const override { return url_; }

  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length,
                           const std::string& version) override {
    WD_TRY(Begin("read", key));
    const std::lock_guard lock(store_->mutex_);
    const auto found = store_->objects_.find(key);
    if (found == store_->objects_.end())
      return Error{ErrorKind::kNotFound, "no object '" + key + "' in '" + url_ + "'"};
    const MemoryStore::Object& object = found->second;
    ObjectPiece piece;
    piece.size = object.bytes.size();
    piece.version = std::to_string(object.version);
    if (!version.empty() && version != piece.version)
      return Error{ErrorKind::kConflict, "object '" + key + "' in '" + url_ + "' changed while it was read"};
    if (offset < piece.size) {
      const ByteSpan part = ByteSpan(object.bytes).subspan(offset, std::min(length, piece.size - offset));
      piece.bytes.assign(part.begin(), part.end());
    }
    return piece;
  }

  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& version) override {
    WD_TRY(Begin("write", key));
    WD_TRY(CheckVersionIsNamed(rule, version));
    Bytes bytes(source.size());
    WD_TRY(source.ReadAt(0, bytes));
    const std::lock_guard lock(store_->mutex_);
    const auto found = store_->objects_.find(key);
    const bool there = found != store_->objects_.end();
    if (rule == WriteRule::kIfAbsent && there) return WriteResult::kExists;
    if (rule == WriteRule::kIfVersion && (!there || std::to_string(found->second.version) != version))
      return WriteResult::kChanged;
    store_->objects_[key] = {std::move(bytes), store_->Now(), ++store_->versions_};
    return WriteResult::kWritten;
  }

  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override {
    WD_TRY(Begin("stat", key));
    const std::lock_guard lock(store_->mutex_);
    const auto found = store_->objects_.find(key);
    if (found == store_->objects_.end()) return std::optional<ObjectInfo>();
    return std::optional(ObjectInfo{key, found->second.bytes.size(), found->second.modified});
  }

  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
    WD_TRY(Begin("list", "any"));
    WD_TRY(CheckKeyPrefix(prefix));
    const std::lock_guard lock(store_->mutex_);
    ObjectPage page;
    page.now = store_->Now();
    for (auto at = store_->objects_.upper_bound(after); at != store_->objects_.end(); ++at) {
      if (!at->first.starts_with(prefix)) continue;
      page.more = page.objects.size() == limit;
      if (page.more) break;
      page.objects.push_back({at->first, at->second.bytes.size(), at->second.modified});
    }
    return page;
  }

  Result<> Remove(const std::string& key) override {
    WD_TRY(Begin("remove", key));
    const std::lock_guard lock(store_->mutex_);
    store_->objects_.erase(key);
    return {};
  }

 private:
  Result<> Begin(std::string_view method, const std::string& key) {
    if (method != "remove") WD_TRY(stop_.Check());
    WD_TRY(CheckKey(key));
    const std::lock_guard lock(store_->mutex_);
    ++store_->calls_[std::string(method)];
    return {};
  }

  const std::shared_ptr<MemoryStore> store_;
  const StopToken stop_;
  const std::string url_ = "memory://";
};

std::unique_ptr<Remote> OpenMemoryRemote(std::shared_ptr<MemoryStore> store, const StopToken& stop) {
  return std::make_unique<MemoryRemote>(std::move(store), stop);
}

}  // namespace wdelta
