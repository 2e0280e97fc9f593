// The options of every command that speaks with a remote, and the values that only they have: sizes and durations.
#pragma once

#include <vector>

#include "command.h"
#include "options.h"

namespace wdelta {

// `rows` and the options of a transfer.
std::vector<OptionRow> WithTransfer(std::vector<OptionRow> rows);
Result<TransferOptions> ChosenTransfer(const Arguments& arguments);

// The option --lock-wait, in seconds: "0", "30s", "inf".
OptionRow LockWaitRow();
Result<double> ChosenLockWait(const Arguments& arguments);

// "90", "90s", "15m", "2h", "7d", "inf" as seconds. `option` is for the message.
Result<double> ParseDuration(const std::string& text, const std::string& option);
// "1048576", "512K", "50M", "1.5G" as bytes.
Result<uint64_t> ParseSize(const std::string& text, const std::string& option);

// Fails with kUsage unless it is the URL of a remote, with a revision only if that is allowed.
Result<> CheckRemoteName(const std::string& name);

// The JSON words of a record: number, step, state, fingerprint, created, totals, delta_bytes, anchor_bytes. A null
// pointer sets every field to null.
void SetRecord(JsonObject& object, const RecordInfo* record);
// "record 17 (step 101)"
std::string RecordName(const RecordInfo& record);

}  // namespace wdelta
