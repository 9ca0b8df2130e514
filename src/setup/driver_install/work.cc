#include "src/setup/driver_install/work.h"

#include <deque>
#include <iterator>
#include <utility>

#include "src/container/engine/find.h"
#include "src/host/packages/dkms_log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::driver_install {
namespace {

constexpr size_t kTailLines = 15;
constexpr size_t kLongestLine = 400;
constexpr size_t kLogLimit = size_t{64} << 20;

// The last lines of a text that comes line by line.
class Tail {
 public:
  void Add(std::string_view line) {
    lines_.push_back(Printable(line, kLongestLine));
    if (lines_.size() > kTailLines) {
      lines_.pop_front();
    }
  }
  std::string Text() const {
    std::string text;
    for (const std::string& line : lines_) {
      fmt::format_to(std::back_inserter(text), "\n  {}", line);
    }
    return text;
  }

 private:
  std::deque<std::string> lines_;
};

std::string TailOfLog(const sys::Root& host, const std::string& path) {
  const auto text = path.empty() ? StatusOr<std::string>("") : host.ReadFile(path, kLogLimit);
  if (!text.ok() || text->empty()) {
    return "";
  }
  Tail tail;
  for (const std::string_view line : Split(Trim(*text), '\n')) {
    tail.Add(line);
  }
  return fmt::format("\n{} ends with:{}", host.At(path), tail.Text());
}

std::string HowItEnded(const sys::RunResult& result) {
  return result.exit.signal ? fmt::format("signal {}", *result.exit.signal)
                            : fmt::format("exit code {}", result.exit.code.value_or(-1));
}

}  // namespace

Status Work::Run(const driver::Command& command) {
  Tail tail;
  std::string log;
  sys::RunRequest request;
  request.argv = command.argv;
  request.environment.insert(request.environment.end(), command.environment.begin(),
                             command.environment.end());
  request.root = host().path();
  request.deadline = command.deadline;
  request.on_line = [&](std::string_view line) {
    tail.Add(line);
    hands_.progress.OnLine(line);
    if (std::string named = packages::DkmsLogIn(line); !named.empty()) {
      log = std::move(named);
    }
  };
  const auto result = hands_.runner.Run(request);
  if (!result.ok()) {
    return MakeStatus(result.status().code(),
                      fmt::format("{}{}", Message(result.status()), tail.Text()));
  }
  if (result->IsSuccess()) {
    return OkStatus();
  }
  return FailedPrecondition("{}: {}{}{}", Join(command.argv, " "), HowItEnded(*result), tail.Text(),
                            TailOfLog(host(), log));
}

Status Work::RunTool(std::string_view tool, std::vector<std::string> arguments) {
  const std::string program = engine::FindProgram(host(), tool);
  if (program.empty()) {
    return FailedPrecondition("{}: is not on this host: install it", tool);
  }
  arguments.insert(arguments.begin(), program);
  driver::Command command;
  command.argv = std::move(arguments);
  return Run(command);
}

std::string Work::AnswerOfTool(std::string_view tool, std::vector<std::string> arguments) {
  sys::RunRequest request;
  request.argv = {engine::FindProgram(host(), tool)};
  if (request.argv[0].empty()) {
    return "";
  }
  request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
  request.root = host().path();
  const auto result = hands_.runner.Run(request);
  return result.ok() && result->IsSuccess() ? std::string(Trim(result->out)) : "";
}

StatusOr<bool> Work::AskTool(std::string_view tool, std::vector<std::string> arguments) {
  const std::string program = engine::FindProgram(host(), tool);
  if (program.empty()) {
    return FailedPrecondition("{}: is not on this host: install it", tool);
  }
  arguments.insert(arguments.begin(), program);
  sys::RunRequest request;
  request.argv = std::move(arguments);
  request.root = host().path();
  ASSIGN_OR_RETURN(const sys::RunResult result, hands_.runner.Run(request));
  return result.IsSuccess();
}

}  // namespace kgpu::driver_install
