#include "src/setup/driver_install/work.h"

#include <deque>
#include <iterator>
#include <utility>

#include "src/host/packages/dkms_log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

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
    deps_.progress.OnLine(line);
    if (std::string named = packages::DkmsLogIn(line); !named.empty()) {
      log = std::move(named);
    }
  };
  const auto result = deps_.runner.Run(request);
  if (!result.ok()) {
    return MakeStatus(result.status().code(),
                      fmt::format("{}{}", Message(result.status()), tail.Text()));
  }
  if (result->IsSuccess()) {
    return OkStatus();
  }
  return FailedPrecondition("{}: {}{}{}", Join(command.argv, " "), sys::Describe(result->exit),
                            tail.Text(), TailOfLog(host(), log));
}

StatusOr<std::string> Work::FindTool(std::string_view tool) const {
  std::string program = sys::FindProgram(host(), tool);
  if (program.empty()) {
    return FailedPrecondition("{}: not found on this host: install it", tool);
  }
  return program;
}

Status Work::RunTool(std::string_view tool, const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string program, FindTool(tool));
  driver::Command command;
  command.argv = Concat({program}, arguments);
  return Run(command);
}

StatusOr<sys::RunResult> Work::ResultOfTool(std::string_view tool,
                                            const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const std::string program, FindTool(tool));
  return deps_.runner.Run(sys::RequestOf(host(), Concat({program}, arguments)));
}

std::string Work::AnswerOfTool(std::string_view tool, const std::vector<std::string>& arguments) {
  const auto result = ResultOfTool(tool, arguments);
  return result.ok() && result->IsSuccess() ? std::string(Trim(result->out)) : "";
}

StatusOr<bool> Work::AskTool(std::string_view tool, const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const sys::RunResult result, ResultOfTool(tool, arguments));
  return result.IsSuccess();
}

}  // namespace kgpu::driver_install
