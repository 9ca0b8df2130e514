#include "src/cli/top/session.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/base/environment.h"
#include "src/cli/top/frame.h"
#include "src/cli/top/state.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_run.h"
#include "src/platform/sys/end_signals.h"
#include "src/platform/sys/signals.h"
#include "src/platform/terminal/keys.h"
#include "src/platform/terminal/painter.h"
#include "src/platform/terminal/screen.h"

namespace kgpu::top {
namespace {

using terminal::Look;
using terminal::Screen;
using terminal::Size;

// An escape that nothing follows for so long is the key itself. Over slow lines a sequence may
// arrive in pieces.
constexpr std::chrono::milliseconds kEscapeTime{50};
constexpr std::chrono::seconds kExplainTime{60};
constexpr char kOwnProgram[] = "/proc/self/exe";

class Session {
 public:
  Session(EpollLoop& loop, Source& source, const Look& look, ListState first)
      : loop_(loop), source_(source), look_(look), state_{.list = std::move(first)} {}
  ~Session() {
    for (const WatchId watch : watches_) {
      loop_.Unwatch(watch);
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Status Run() {
    // In this order: the terminal is restored before a signal that ends us gets through.
    const sys::RestoredSignalMask mask;
    ASSIGN_OR_RETURN(signals_, sys::TakeSignals({SIGWINCH, SIGTSTP, SIGCONT}));
    const sys::EndSignals ends;
    ASSIGN_OR_RETURN(screen_, Screen::Open(STDIN_FILENO, STDOUT_FILENO));
    const Status status = Watch(ends.fd());
    if (status.ok()) {
      AskLater();
      Draw();
      loop_.Run();
    }
    screen_.reset();
    return status.ok() ? status_ : status;
  }

 private:
  Status Watch(int end_fd) {
    const auto add = [this](int fd, EventLoop::Task task) -> Status {
      ASSIGN_OR_RETURN(const WatchId watch, loop_.WatchReadable(fd, std::move(task)));
      watches_.push_back(watch);
      return OkStatus();
    };
    RETURN_IF_ERROR(add(STDIN_FILENO, [this] { OnInput(); }));
    RETURN_IF_ERROR(add(signals_.get(), [this] { OnSignals(); }));
    return end_fd < 0 ? OkStatus() : add(end_fd, [this] { loop_.Quit(); });
  }

  void AskLater() {
    ask_timer_.Arm(source_.every(), [this] {
      source_.Ask([this] {
        AskLater();
        Draw();
      });
    });
  }

  void Draw() {
    const Size size = screen_->size();
    view_ = source_.Show(state_.list, ColumnsFor(size), look_);
    const std::vector<terminal::Line> lines = FrameOf(view_, state_, size, look_);
    if (Status written = screen_->Write(painter_.Paint(lines, size)); !written.ok()) {
      Fail(std::move(written));
    }
  }

  void Fail(Status status) {
    status_ = std::move(status);
    loop_.Quit();
  }

  void OnInput() {
    std::array<char, 512> buffer{};
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      return;
    }
    if (got <= 0) {
      loop_.Quit();  // the terminal is gone
      return;
    }
    OnKeys(keys_.Feed({buffer.data(), static_cast<size_t>(got)}));
    if (keys_.is_incomplete()) {
      escape_timer_.Arm(kEscapeTime, [this] { OnKeys(keys_.Flush()); });
    } else {
      escape_timer_.Cancel();
    }
  }

  void OnKeys(const std::vector<terminal::Key>& keys) {
    for (const terminal::Key& key : keys) {
      const size_t rows = RowsFor(view_, state_, screen_->size());
      const Request request = OnKey(key, view_, rows, state_);
      switch (request.kind) {
        case RequestKind::kQuit:
          return loop_.Quit();
        case RequestKind::kRedraw:
          painter_.Forget();
          break;
        case RequestKind::kExplain:
          Explain(request.target);
          break;
        case RequestKind::kNone:
          break;
      }
      if (!state_.page) {
        explain_.reset();
      }
      // The next key is about the list that this one has changed.
      view_ = source_.Show(state_.list, ColumnsFor(screen_->size()), look_);
    }
    Draw();
  }

  void Explain(const Target& target) {
    state_.page = source_.PageOf(target, look_);
    std::vector<std::string> argv = source_.CommandFor(target);
    if (argv.empty()) {
      return;
    }
    state_.page->is_complete = false;
    argv.insert(argv.begin(), kOwnProgram);
    sys::ChildRunRequest request{.argv = std::move(argv),
                                 .environment = cli::Environment(),
                                 .deadline = kExplainTime,
                                 .errors = sys::ErrorsTo::kOut};
    StatusOr<std::unique_ptr<sys::ChildRun>> run = sys::ChildRun::Start(
        loop_, std::move(request),
        [this](const sys::ChildEnd& end) { OnExplained(end.result.out, end.status); });
    if (run.ok()) {
      explain_ = *std::move(run);
    } else {
      OnExplained("", run.status());
    }
  }

  void OnExplained(std::string_view text, const Status& status) {
    if (!state_.page) {
      return;
    }
    Page& page = *state_.page;
    for (std::string_view line : Split(text, '\n')) {
      page.lines.push_back(terminal::Safe(line, look_));
    }
    if (!status.ok()) {
      page.lines.push_back(terminal::Safe(Message(status), look_));
    }
    page.is_complete = true;
    Draw();
  }

  void OnSignals() {
    for (int signal = sys::NextSignal(signals_.get()); signal != 0;
         signal = sys::NextSignal(signals_.get())) {
      if (signal == SIGTSTP) {
        screen_->Leave();
        Stop();
      }
      // Others have used the terminal, or it has another size.
      if (signal != SIGWINCH) {
        if (Status entered = screen_->Enter(); !entered.ok()) {
          return Fail(std::move(entered));
        }
      }
      painter_.Forget();
      Draw();
    }
  }

  // Until SIGCONT. The kernel ignores it where nobody could continue us.
  static void Stop() {
    sigset_t stop = {};
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    (void)raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  }

  EpollLoop& loop_;
  Source& source_;
  const Look look_;
  UniqueFd signals_;
  std::unique_ptr<Screen> screen_;
  terminal::Painter painter_{look_};
  terminal::KeyReader keys_;
  State state_;
  View view_;
  Status status_;
  std::unique_ptr<sys::ChildRun> explain_;
  std::vector<WatchId> watches_;
  Timer ask_timer_{loop_};
  Timer escape_timer_{loop_};
};

}  // namespace

Status RunSession(EpollLoop& loop, Source& source, const Look& look, ListState first) {
  return Session(loop, source, look, std::move(first)).Run();
}

}  // namespace kgpu::top
