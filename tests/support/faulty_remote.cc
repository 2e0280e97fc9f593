#include "support/faulty_remote.h"

#include <chrono>
#include <mutex>
#include <random>
#include <thread>

#include "remote/retry.h"

namespace wdelta {
namespace {

class FaultyRemote final : public Remote {
 public:
  FaultyRemote(std::unique_ptr<Remote> inner, FaultScript script)
      : inner_(std::move(inner)), script_(std::move(script)) {}

  const std::string& url() const override { return inner_->url(); }
  std::vector<std::pair<std::string, std::string>> Describe() override { return inner_->Describe(); }

  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length,
                           const std::string& version) override {
    const Fault fault = Next("read", key);
    auto piece = Suffer(fault, [&] { return inner_->Read(key, offset, length, version); });
    if (!piece.ok() || piece->bytes.empty()) return piece;
    if (fault == Fault::kCutShort) piece->bytes.resize(piece->bytes.size() / 2);
    if (fault == Fault::kFlipBit) piece->bytes[piece->bytes.size() / 2] ^= 0x10;
    return piece;
  }
  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& version) override {
    const Fault fault = Next("write", key);
    if (fault == Fault::kIgnoreCondition) rule = WriteRule::kReplace;
    return Suffer(fault, [&] { return inner_->Write(key, source, rule, version); });
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override {
    return Suffer(Next("stat", key), [&] { return inner_->Stat(key); });
  }
  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
    return Suffer(Next("list", prefix), [&] { return inner_->List(prefix, after, limit); });
  }
  Result<> Remove(const std::string& key) override {
    return Suffer(Next("remove", key), [&] { return inner_->Remove(key); });
  }

 private:
  Fault Next(std::string_view method, const std::string& key) { return script_(method, key); }

  template <class Call>
  auto Suffer(Fault fault, const Call& call) -> decltype(call()) {
    if (fault == Fault::kFail) return Error{ErrorKind::kTransient, "injected: no connection"};
    if (fault == Fault::kDelay) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto result = call();
    if (fault == Fault::kLoseAnswer && result.ok()) return Error{ErrorKind::kTransient, "injected: answer lost"};
    return result;
  }

  const std::unique_ptr<Remote> inner_;
  const FaultScript script_;
};

}  // namespace

FaultScript InOrder(std::vector<Fault> faults) {
  struct State {
    std::mutex mutex;
    std::vector<Fault> faults;
    size_t at = 0;
  };
  const auto state = std::make_shared<State>();
  state->faults = std::move(faults);
  return [state](std::string_view, const std::string&) {
    const std::lock_guard lock(state->mutex);
    return state->at < state->faults.size() ? state->faults[state->at++] : Fault::kNone;
  };
}

FaultScript AtRandom(uint64_t seed, std::vector<Fault> which, unsigned one_in) {
  struct State {
    std::mutex mutex;
    std::mt19937_64 engine;
  };
  const auto state = std::make_shared<State>();
  state->engine.seed(seed);
  return [state, which = std::move(which), one_in](std::string_view, const std::string&) {
    const std::lock_guard lock(state->mutex);
    const uint64_t dice = state->engine();
    return dice % one_in ? Fault::kNone : which[dice / one_in % which.size()];
  };
}

std::unique_ptr<Remote> WithFaults(std::unique_ptr<Remote> inner, FaultScript script) {
  return std::make_unique<FaultyRemote>(std::move(inner), std::move(script));
}

namespace {

std::unique_ptr<Remote> WithHastyRetries(std::unique_ptr<Remote> inner, FaultScript script) {
  RetryPace pace;
  pace.wait = [](double) { return Result<>(); };
  return WithRetries(WithFaults(std::move(inner), std::move(script)), TransferOptions{.retries = 20}, {}, pace);
}

}  // namespace

std::unique_ptr<Remote> BehindFaults(std::unique_ptr<Remote> inner, uint64_t seed) {
  return WithHastyRetries(std::move(inner),
                          AtRandom(seed, {Fault::kFail, Fault::kCutShort, Fault::kDelay, Fault::kLoseAnswer}, 8));
}

std::unique_ptr<Remote> BehindDamage(std::unique_ptr<Remote> inner, uint64_t seed, unsigned one_in) {
  const std::vector<Fault> which = {Fault::kFlipBit,    Fault::kFail,    Fault::kCutShort, Fault::kDelay,
                                    Fault::kLoseAnswer, Fault::kFlipBit, Fault::kFlipBit,  Fault::kFlipBit};
  return WithHastyRetries(std::move(inner), AtRandom(seed, which, one_in));
}

}  // namespace wdelta
