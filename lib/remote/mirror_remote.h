// A copy of a remote's objects behind a plain web server, to read only.
#pragma once

#include <memory>
#include <string>

#include "remote/remote.h"

namespace wdelta {

// http://HOST/PATH or https://HOST/PATH: the object of a key is what lies at PATH/KEY. Nothing is ever signed or sent
// along; redirects are followed by the rules of redirect.h.
Result<std::unique_ptr<Remote>> OpenMirrorRemote(const std::string& url, const TransferOptions& options,
                                                 const Context& context);

}  // namespace wdelta
