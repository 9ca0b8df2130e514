#include "src/kube/api/exec_plugin.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"
#include "src/platform/sys/pipe.h"

namespace kgpu::kube {
namespace {

constexpr size_t kMaxOutput = size_t{1} << 20;

std::string_view Lookup(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return "";
}

// As execvp(3) would.
StatusOr<std::string> FindProgram(const ExecRequest& request) {
  const std::string& command = request.spec.command;
  if (command.find('/') != std::string::npos) {
    return command;
  }
  for (const std::string_view folder : Split(Lookup(request.environment, "PATH"), ':')) {
    // An empty entry would be the current folder, which is anybody's.
    const std::string path = fmt::format("{}/{}", folder, command);
    if (!folder.empty() && access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return NotFound("{}: not found in PATH", Printable(command));
}

std::vector<std::string> EnvironmentOf(const ExecRequest& request) {
  std::vector<std::pair<std::string, std::string>> ours = request.spec.environment;
  ours.emplace_back("KUBERNETES_EXEC_INFO", request.info);
  std::vector<std::string> environment;
  for (const std::string& entry : request.environment) {
    bool is_replaced = false;
    for (const auto& [name, value] : ours) {
      is_replaced = is_replaced || entry.starts_with(name + "=");
    }
    if (!is_replaced) {
      environment.push_back(entry);
    }
  }
  for (const auto& [name, value] : ours) {
    environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

}  // namespace

class ExecRun::Impl : public std::enable_shared_from_this<ExecRun::Impl> {
 public:
  Impl(EventLoop& loop, ExecRequest request, Done done)
      : loop_(loop), request_(std::move(request)), done_(std::move(done)) {}
  ~Impl() { Cancel(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Start() {
    if (Status status = Spawn(); !status.ok()) {
      if (status.code() == StatusCode::kNotFound && !request_.spec.install_hint.empty()) {
        status = NotFound("{}: {}", Message(status), Printable(request_.spec.install_hint, 1000));
      }
      timer_ = loop_.After(std::chrono::nanoseconds(0), [this, status] { Finish(status); });
      return;
    }
    timer_ = loop_.After(request_.deadline, [this] {
      Finish(DeadlineExceeded("{}: did not finish within {} s", Name(),
                              std::chrono::ceil<std::chrono::seconds>(request_.deadline).count()));
    });
  }

  void Cancel() {
    done_ = nullptr;
    loop_.CancelTimer(std::exchange(timer_, TimerId::kNone));
    loop_.Unwatch(std::exchange(ended_, WatchId::kNone));
    loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
    output_.Reset();
    // Its destructor kills it.
    child_.reset();
  }

 private:
  std::string Name() const {
    return fmt::format("exec plugin {}", Printable(request_.spec.command));
  }

  Status Spawn() {
    if (request_.spec.needs_terminal) {
      return FailedPrecondition("{}: its interactiveMode is Always, but there is no terminal",
                                Name());
    }
    StatusOr<std::string> program = FindProgram(request_);
    if (!program.ok()) {
      return program.status();
    }
    ASSIGN_OR_RETURN(sys::Pipe pipe, sys::MakeOutputPipe());
    output_ = std::move(pipe.read);
    sys::SpawnOptions options{.argv = {*program},
                              .environment = EnvironmentOf(request_),
                              .fds = {{pipe.write.get(), STDOUT_FILENO}}};
    options.argv.insert(options.argv.end(), request_.spec.args.begin(), request_.spec.args.end());
    StatusOr<sys::ChildProcess> child = sys::ChildProcess::Spawn(options);
    if (!child.ok()) {
      return Annotate(child.status(), "{}", Name());
    }
    const int pidfd = child->pidfd();
    child_.emplace(*std::move(child));
    ASSIGN_OR_RETURN(ended_, loop_.WatchReadable(pidfd, [this] { OnEnded(); }));
    ASSIGN_OR_RETURN(readable_, loop_.WatchReadable(output_.get(), [this] { Read(); }));
    return OkStatus();
  }

  void Read() {
    std::array<char, 16384> bytes{};
    ssize_t count = 0;
    while ((count = read(output_.get(), bytes.data(), bytes.size())) > 0) {
      text_.append(bytes.data(), static_cast<size_t>(count));
      if (text_.size() > kMaxOutput) {
        return Finish(FailedPrecondition("{}: printed more than {} bytes", Name(), kMaxOutput));
      }
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
    }
  }

  // A child process that keeps the pipe open does not delay us.
  void OnEnded() {
    const std::optional<sys::ExitState> exit = child_ ? child_->TryReap() : std::nullopt;
    if (!exit) {
      return;
    }
    const auto self = shared_from_this();
    Read();
    if (done_ == nullptr) {
      return;
    }
    if (exit->code != 0) {
      const std::string how = exit->code ? fmt::format("exit code {}", *exit->code)
                                         : fmt::format("signal {}", exit->signal.value_or(0));
      return Finish(FailedPrecondition("{}: failed with {}: see its standard error", Name(), how));
    }
    StatusOr<ExecCredential> credential = ParseExecCredential(text_, request_.spec.api_version);
    if (!credential.ok()) {
      return Finish(FailedPrecondition("{}: {}", Name(), Message(credential.status())));
    }
    Finish(std::move(credential));
  }

  void Finish(StatusOr<ExecCredential> result) {
    const auto self = shared_from_this();
    const Done done = std::exchange(done_, nullptr);
    Cancel();
    if (done) {
      done(std::move(result));
    }
  }

  EventLoop& loop_;
  const ExecRequest request_;
  Done done_;
  std::optional<sys::ChildProcess> child_;
  UniqueFd output_;
  std::string text_;
  WatchId ended_ = WatchId::kNone;
  WatchId readable_ = WatchId::kNone;
  TimerId timer_ = TimerId::kNone;
};

ExecRun::ExecRun(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
}

ExecRun::~ExecRun() {
  impl_->Cancel();
}

std::unique_ptr<ExecRun> ExecRun::Start(EventLoop& loop, ExecRequest request, Done done) {
  auto impl = std::make_shared<Impl>(loop, std::move(request), std::move(done));
  impl->Start();
  return std::unique_ptr<ExecRun>(new ExecRun(std::move(impl)));
}

}  // namespace kgpu::kube
