#include "src/cli/program/main.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/base/color.h"
#include "src/cli/base/output.h"
#include "src/cli/mig/mig_helper.h"
#include "src/cli/program/completion.h"
#include "src/cli/program/kubectl_plugin.h"
#include "src/cli/program/program.h"
#include "src/node/mig/helper.h"
#include "src/platform/base/log.h"
#include "src/platform/base/log_format.h"
#include "src/platform/commands/fold.h"
#include "src/platform/commands/usage_error.h"
#include "src/platform/sys/signals.h"

namespace kgpu::cli {
namespace {

int Report(const StatusOr<ExitCode>& result) {
  if (result.ok()) {
    return static_cast<int>(*result);
  }
  PrintNote(fmt::format("kgpu: {}", ErrorText(result.status(), geteuid() == 0)));
  return static_cast<int>(ExitCodeOf(result.status()));
}

int ReportUsage(std::string_view text) {
  PrintNote(text);
  return static_cast<int>(ExitCode::kUsage);
}

// Words that people type because other programs have them.
const commands::UsualWords kUsualWords = {
    {"check", "kgpu doctor"},
    {"function", "kgpu fn"},
    {"functions", "kgpu fn"},
    {"get", "kgpu devices"},
    {"gpu", "kgpu devices"},
    {"gpus", "kgpu devices"},
    {"install", "kgpu node up (this host) or kgpu cluster install"},
    {"jupyter", "kgpu run jupyter"},
    {"list", "kgpu devices"},
    {"logs", "kgpu run logs or kgpu fn logs"},
    {"ls", "kgpu devices"},
    {"operator", "kgpu cluster controller"},
    {"plugin", "kgpu agent"},
    {"ps", "kgpu usage or kgpu run list"},
    {"pods", "kgpu usage or kgpu run list"},
    {"remove", "kgpu node down (this host) or kgpu cluster uninstall"},
    {"smi", "kgpu top or kgpu devices"},
    {"test", "kgpu validate"},
    {"toolkit", "kgpu runtime"},
    {"uninstall", "kgpu node down (this host) or kgpu cluster uninstall"},
    {"upgrade", "kgpu driver install (this host) or kgpu cluster upgrade"},
    {"xid", "kgpu health rules"},
};

// Help as wide as the terminal.
Status PrintHelp(const CLI::App& app) {
  const size_t width = TerminalWidth(STDOUT_FILENO);
  const std::string help = app.help();
  return PrintOut(width == 0 ? help : commands::FoldHelp(help, width));
}

// `kgpu help WORDS` is `kgpu WORDS --help`, and `kgpu explain NS/NAME` means the pod.
std::vector<std::string> CommandLineOf(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (argc > 0 && CalledAsOf(argv[0]) == CalledAs::kPlugin) {
    words = PluginWords(std::move(words));
  }
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words.size() > 1 && words[0] == "explain" && words[1].find('/') != std::string::npos) {
    words.insert(words.begin() + 1, "pod");
  }
  return words;
}

int Run(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "agent") {
    // A request to reload waits until the agent takes its signals: it must not end the process.
    if (const Status blocked = sys::BlockSignals({SIGHUP}); !blocked.ok()) {
      return Report(blocked);
    }
  }
  if (!words.empty() && words.front() == "__complete") {
    words.erase(words.begin());
    return Report(PrintCandidates(std::move(words)));
  }
  if (words == std::vector<std::string>{std::string(mig::kHelperCommand)}) {
    return Report(RunMigHelper());
  }
  Program program(words.empty() ? "" : words.front());
  CLI::App& app = program.app();
  try {
    program.Parse(words);
  } catch (const CLI::CallForHelp& e) {
    const std::string unknown = commands::UnknownCommand(app, kUsualWords);
    return unknown.empty() ? Report(OkOr(PrintHelp(app))) : ReportUsage(unknown);
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e)
                                  : ReportUsage(commands::UsageError(app, e, kUsualWords));
  }
  const StatusOr<ColorChoice> color = ParseColorChoice(program.color());
  if (!color.ok()) {
    return Report(color.status());
  }
  SetColorChoice(*color);
  if (!program.chosen()) {
    return Report(OkOr(PrintHelp(app)));
  }
  return Report(program.chosen()());
}

}  // namespace

int Main(int argc, char** argv) {
  // A command prints its result; what changed on the way is a daemon's log.
  SetLogLevel(LogLevel::kWarning);
  SetLogFormat(LogFormat::kText);
  try {
    if (argc > 0 && CalledAsOf(argv[0]) == CalledAs::kCompletion) {
      return Report(CompleteForKubectl({argv + 1, argv + argc}));
    }
    return Run(CommandLineOf(argc, argv));
  } catch (const std::exception& e) {
    PrintNote(fmt::format("kgpu: internal: {}", e.what()));
  } catch (...) {
    PrintNote("kgpu: internal: exception of unknown type");
  }
  return static_cast<int>(ExitCode::kFailed);
}

}  // namespace kgpu::cli
