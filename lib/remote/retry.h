// Waiting out passing trouble: a remote around another one.
//
// An attempt that fails with kTransient is repeated after a random part of a pause that doubles from 0.1 s up to 20 s
// (full jitter, so that a fleet that failed together does not come back together). A store that says how long it wants
// to be left alone is left alone for that long in addition, up to a minute. Every other outcome is final. A read
// that brings fewer bytes than the object has there counts as kTransient, whichever store it came from.
//
// The answer to a conditional write may be lost after the store has done the work. So when an attempt of
// Write(kIfAbsent) or Write(kIfVersion) failed and a later one finds the object there or changed, or none came through
// at all, the object is read back: if it holds our bytes, the write was ours. Whoever competes for a key therefore
// writes something that nobody else would, such as an id of the writer. An object that nobody has touched, after a
// Write(kIfVersion) of which no attempt came through, leaves the failure as it is. What cannot be told is that ours was
// there, its answer lost, and was replaced by somebody who had read it: that is kChanged, too.
#pragma once

#include <functional>
#include <memory>

#include "remote/remote.h"

namespace wdelta {

// How time passes between attempts; tests put their own in.
struct RetryPace {
  std::function<Result<>(double seconds)> wait;  // empty: sleeps until the context's stop
  std::function<double()> fraction;              // 0 to 1, of the pause; empty: random
};

// `options.retries` attempts after the first. The context is noted of each before it is made, and its stop ends a
// pause. retries() of the remote counts them.
std::unique_ptr<Remote> WithRetries(std::unique_ptr<Remote> inner, const TransferOptions& options,
                                    const Context& context, RetryPace pace = {});

}  // namespace wdelta
