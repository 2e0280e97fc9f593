#include "ui.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "options.h"
#include "signals.h"
#include "text_file.h"

namespace wdelta {

namespace {

// Colours and moving lines: not for a terminal that calls itself dumb.
bool IsCapableTerminal(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) && term && std::strcmp(term, "dumb") != 0;
}

bool WantsColour(const std::string& when, int descriptor) {
  if (when == "always" || when == "never") return when == "always";
  const char* no_color = std::getenv("NO_COLOR");
  return !(no_color && *no_color) && IsCapableTerminal(descriptor);
}

ProgressStyle ChooseProgress(const std::string& how, bool quiet) {
  if (how == "tty") return ProgressStyle::kTerminal;
  if (how == "plain") return ProgressStyle::kPlain;
  if (how == "none" || quiet) return ProgressStyle::kNone;
  return IsCapableTerminal(STDERR_FILENO) ? ProgressStyle::kTerminal : ProgressStyle::kPlain;
}

constexpr int kReaderIsGone = 141;                              // the exit code, as if SIGPIPE had done it
constexpr const char* kStandardOutputName = "standard output";  // the path of such an error

// The one place where a failure becomes a number.
int ExitCode(const Error& error) {
  if (error.kind == ErrorKind::kInterrupted && StopSignal() != 0) return 128 + StopSignal();
  const bool of_output = error.kind == ErrorKind::kLocalIo && error.path == kStandardOutputName;
  return of_output && StandardOutputIsAbandoned() ? kReaderIsGone : WordsFor(error.kind).exit_code;
}

}  // namespace

ResultForm WantedForm(bool json, const std::string& report, const std::string& format, const std::string& output) {
  if (format != "json") return {json, report};
  const bool to_file = !output.empty() && output != "-";
  return {json || !to_file, to_file ? output : report};
}

Ui::Ui(std::string command, ResultForm form, JsonObject blank_fields)
    : command_(std::move(command)),
      form_(std::move(form)),
      fields_(std::move(blank_fields)),
      started_(std::chrono::steady_clock::now()) {}

void Ui::Configure(const Arguments& arguments) {
  form_ = WantedForm(arguments.Has("json"), arguments.Value("report"), arguments.Value("format"),
                     arguments.Value("output"));
  quiet_ = arguments.Has("quiet");
  verbose_ = arguments.Has("verbose");
  colour_output_ = WantsColour(arguments.Value("color"), STDOUT_FILENO);
  colour_talk_ = WantsColour(arguments.Value("color"), STDERR_FILENO);
  threads_ = static_cast<unsigned>(std::min<uint64_t>(arguments.Number("threads", 0), 4096));
  progress_.emplace(command_, ChooseProgress(arguments.Value("progress"), quiet_),
                    [this](std::string_view text) { WriteTalk(text); });
}

size_t Ui::TableWidth() const {
  struct winsize size {};
  if (!isatty(STDOUT_FILENO)) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string Ui::Coloured(std::string_view code, std::string_view text) const {
  if (!colour_output_) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

Context Ui::MakeContext() {
  Context context;
  context.threads = threads_;
  context.stop = StopBySignal();
  context.note = [this](const std::string& note) { Note(note); };
  context.progress = [this](const Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (progress_) progress_->Update(progress);
  };
  return context;
}

Result<> Ui::ReserveStandardOutput(const std::string& option) {
  if (form_.json) {
    return Error{ErrorKind::kUsage, "--json and binary output both want standard output",
                 "use '" + option + "', or '--report FILE' for the JSON object"};
  }
  if (isatty(STDOUT_FILENO)) {
    return Error{ErrorKind::kUsage, "binary data are not written to a terminal",
                 "use '" + option + "', or pipe the output into another command"};
  }
  output_is_reserved_ = true;
  return {};
}

void Ui::Note(std::string_view note) {
  const std::lock_guard lock(mutex_);
  notes_.emplace_back(note);
  if (quiet_) return;
  if (progress_) progress_->Clear();
  WriteTalk("wdelta: note: " + TerminalText(note) + '\n');
}

void Ui::Report(std::string_view text) {
  if (!form_.json && !quiet_ && !output_is_reserved_) WriteResult(text);
}

void Ui::Essential(std::string_view text) {
  if (!form_.json && quiet_ && !output_is_reserved_) WriteResult(text);
}

void Ui::PrintAlways(std::string_view text) {
  if (!form_.json) WriteResult(text);
}

void Ui::PrintError(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (progress_) progress_->Clear();
  const std::string prefix = colour_talk_ ? "\x1b[1;31mwdelta:\x1b[0m " : "wdelta: ";
  std::string text = prefix + TerminalText(error.message) + '\n';
  if (!error.hint.empty()) text += "hint: " + TerminalText(error.hint) + '\n';
  WriteTalk(text);
  error_was_printed_ = true;
}

std::string Ui::Envelope(const std::optional<Error>& error, int exit_code) const {
  const double total = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  JsonObject seconds;
  for (const char* phase :
       {"read", "diff", "encode", "upload", "commit", "download", "decode", "apply", "verify", "hook"}) {
    seconds.Set(phase, {});
  }
  for (const auto& [phase, duration] : phases_) seconds.Set(phase, duration);
  seconds.Set("total", total);

  JsonObject object = {{"schema", "wdelta." + (command_.empty() ? "usage" : command_) + "/1"},
                       {"ok", !error},
                       {"exit_code", exit_code},
                       {"command", JsonValue::Known(command_)},
                       {"seconds", seconds},
                       {"notes", notes_}};
  object.Append(fields_);
  object.Set("error", error ? JsonError(*error) : JsonValue());
  return object.Text() + '\n';
}

int Ui::Finish(const Result<int>& result) {
  if (progress_) progress_->Clear();
  std::optional<Error> error;
  if (!result.ok()) error = result.error();
  int exit_code = error ? ExitCode(*error) : *result;
  // The first failure counts.
  const auto fail = [&](Error failure) {
    if (error) return;
    exit_code = ExitCode(failure);
    error = std::move(failure);
  };
  const auto check_output = [&] {
    if (output_errno_ == 0) return;
    Error failure{ErrorKind::kLocalIo, std::string("cannot write standard output: ") + std::strerror(output_errno_)};
    failure.path = kStandardOutputName;
    fail(std::move(failure));
  };
  const auto write_report = [&] {
    if (form_.report_path.empty()) return;
    if (auto written = WriteTextFile(form_.report_path, Envelope(error, exit_code)); !written.ok()) {
      fail(written.error());
    }
  };

  check_output();
  write_report();
  if (form_.json) {
    WriteResult(Envelope(error, exit_code));
    if (!error && output_errno_ != 0) {
      check_output();
      write_report();
    }
  }
  // A reader that has gone away has seen enough; no filter says anything about that.
  if (error && !error_was_printed_ && exit_code != kReaderIsGone) PrintError(*error);
  return exit_code;
}

void Ui::WriteResult(std::string_view text) {
  if (output_errno_ == 0) output_errno_ = WriteAll(STDOUT_FILENO, text);
}

void Ui::WriteTalk(std::string_view text) {
  (void)WriteAll(STDERR_FILENO, text);
}

}  // namespace wdelta
