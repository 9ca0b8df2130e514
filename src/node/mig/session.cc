#include "src/node/mig/session.h"

#include "src/platform/base/status_macros.h"

namespace kgpu::mig {

StatusOr<std::unique_ptr<DriverSession>> DriverSession::Open(
    probe::ClientOptions options, probe::Client::FindLibrary find_library) {
  std::unique_ptr<DriverSession> session(new DriverSession());
  ASSIGN_OR_RETURN(session->loop_, EpollLoop::Create());
  EpollLoop& loop = *session->loop_;
  // The client would start another probe later: the loop runs no more then.
  session->client_ = std::make_unique<probe::Client>(
      loop, std::move(options), std::move(find_library),
      probe::Client::Listener{.on_up = [&loop] { loop.Quit(); },
                              .on_down =
                                  [&loop, self = session.get()](const probe::Down& down) {
                                    self->down_ = down;
                                    loop.Quit();
                                  },
                              .on_event = [](const probe::Event&) {},
                              .on_abandoned = [] {}});
  session->client_->Start();
  loop.Run();
  if (session->down_) {
    return session->DownStatus();
  }
  return session;
}

Status DriverSession::DownStatus() const {
  const std::string text = down_ ? down_->text : "no answer";
  switch (down_ ? down_->cause : probe::DownCause::kCrashed) {
    case probe::DownCause::kNoLibrary:
    case probe::DownCause::kLoadFailed:
    case probe::DownCause::kInitFailed:
    case probe::DownCause::kNotStarted:
      return FailedPrecondition("the driver does not answer: {}: see kgpu doctor", text);
    case probe::DownCause::kUnresponsive:
    case probe::DownCause::kCrashed:
      break;
  }
  return Unavailable("the driver does not answer: {}: see kgpu doctor", text);
}

}  // namespace kgpu::mig
