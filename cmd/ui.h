// The only writer to standard output and standard error.
//
// Standard output carries the result and nothing else: the report for people, one JSON object with --json, the path
// with -q, or binary data when a command has reserved it. Standard error carries talk: progress, notes, hints and
// errors, as "wdelta: ..." in lower case without a full stop, and "hint: ..." on a line of its own. Text that comes
// from files passes TerminalText on its way to people and JsonString on its way to JSON.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/try.h"
#include "json_fields.h"
#include "progress.h"
#include "wdelta.h"

namespace wdelta {

class Arguments;

// How the result is wanted, known before the command line has been parsed. `--format json` is another word for --json,
// and with `-o FILE` for --report.
struct ResultForm {
  bool json = false;
  std::string report_path;
};
ResultForm WantedForm(bool json, const std::string& report, const std::string& format, const std::string& output);

class Ui {
 public:
  // `command` is empty when none was recognized.
  Ui(std::string command, ResultForm form, JsonObject blank_fields);
  void Configure(const Arguments& arguments);

  bool quiet() const { return quiet_; }
  bool verbose() const { return verbose_; }
  bool json() const { return form_.json; }
  bool colour() const { return colour_output_; }
  size_t TableWidth() const;  // columns of the terminal, or 0 when standard output is none
  // `text` in the colour of additions, removals or titles, when colours are on.
  std::string Added(std::string_view text) const { return Coloured("32", text); }
  std::string Removed(std::string_view text) const { return Coloured("31", text); }
  std::string Title(std::string_view text) const { return Coloured("1", text); }

  // For the library: note and progress come here, --threads is set.
  Context MakeContext();

  // Fails with kUsage if standard output cannot carry binary data now: it is a terminal, or --json wants it. From then
  // on no report is printed there. `option` is what the user would write instead: "-o FILE".
  Result<> ReserveStandardOutput(const std::string& option);

  void Note(std::string_view note);
  void Report(std::string_view text);       // for people; nothing with --json, -q, or binary output
  void Essential(std::string_view text);    // what -q prints
  void PrintAlways(std::string_view text);  // --help and --version, which are asked for by name
  void PrintError(const Error& error);
  void SetFields(const JsonObject& fields) { fields_.Append(fields); }
  // How long the phases took, for the "seconds" of the JSON object: "upload", "apply" and so on.
  void SetSeconds(const std::vector<std::pair<std::string, double>>& phases) { phases_ = phases; }

  // Says how the command ended, on standard error, in the JSON object and in the --report. A result that could not be
  // written is itself a failure, and all three say so. Returns the exit code: the answer, or the number of the error.
  int Finish(const Result<int>& result);

 private:
  std::string Envelope(const std::optional<Error>& error, int exit_code) const;
  std::string Coloured(std::string_view code, std::string_view text) const;
  void WriteResult(std::string_view text);
  void WriteTalk(std::string_view text);

  std::string command_;
  ResultForm form_;
  JsonObject fields_;
  std::chrono::steady_clock::time_point started_;
  bool quiet_ = false, verbose_ = false;
  bool colour_output_ = false, colour_talk_ = false;
  bool output_is_reserved_ = false;
  bool error_was_printed_ = false;
  unsigned threads_ = 0;
  int output_errno_ = 0;  // of the first write to standard output that failed
  std::mutex mutex_;      // the library calls note and progress from its threads
  std::vector<std::string> notes_;
  std::vector<std::pair<std::string, double>> phases_;
  std::optional<ProgressDisplay> progress_;
};

}  // namespace wdelta
