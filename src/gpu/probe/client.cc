#include "src/gpu/probe/client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/gpu/nvml/error_map.h"
#include "src/gpu/probe/decode_sample.h"

namespace kgpu::probe {
namespace {

std::string_view CallName(Op op) {
  switch (op) {
    case Op::kDriverInfo:
      return "driver version";
    case Op::kGpu:
      return "GPU";
    case Op::kMigDevice:
      return "MIG device";
    case Op::kNvLinks:
      return "NVLinks";
    case Op::kTopology:
      return "topology";
    case Op::kSampleGpu:
    case Op::kSampleNvLinks:
    case Op::kSampleProcesses:
    case Op::kSampleMig:
      return "reading GPU metrics";
    default:
      return "events";
  }
}

StatusOr<uint64_t> DecodeWatch(std::span<const std::byte> payload) {
  WatchPayload watch{};
  if (payload.size() != sizeof(watch)) {
    return InvalidArgument("probe frame: event registration reply of {} bytes", payload.size());
  }
  std::memcpy(&watch, payload.data(), sizeof(watch));
  return watch.event_types;
}

DownCause CauseOf(EndCause end) {
  return end == EndCause::kUnresponsive ? DownCause::kUnresponsive : DownCause::kCrashed;
}

}  // namespace

Client::Client(EventLoop& loop, ClientOptions options, FindLibrary find_library, Listener listener)
    : loop_(loop),
      options_(std::move(options)),
      find_library_(std::move(find_library)),
      listener_(std::move(listener)),
      backoff_({.first = options_.first_backoff,
                .longest = options_.last_backoff,
                .reset_after = SteadyTime::duration::max()}),
      start_timer_(loop) {
}

Client::~Client() = default;

bool Client::is_abandoned() const {
  return stuck_ != nullptr ||
         (session_ != nullptr && session_->state() == SessionState::kAbandoned);
}

pid_t Client::probe_pid() const {
  return session_ == nullptr ? 0 : session_->pid();
}

// The probe runs in parallel to its owner. A failure is reported from the loop, like later ones.
void Client::Start() {
  if (std::optional<Down> failure = TrySession()) {
    loop_.Post(lifetime_.Bind([this, failure = *std::move(failure)] { GoDown(failure); }));
  }
}

void Client::Restart() {
  is_restart_wanted_ = true;
  is_up_ = false;
  if (session_ != nullptr) {
    session_->Stop();
  } else {
    RetryNow();
  }
}

void Client::GiveUp(Down down) {
  if (session_ != nullptr) {
    own_reason_ = std::move(down);
    session_->Stop();
  }
}

void Client::RetryNow() {
  backoff_.Reset();
  next_start_ = loop_.clock().Now();
  if (session_ == nullptr) {
    Schedule(std::chrono::milliseconds(0));
  }
}

void Client::Pause(std::function<void()> released) {
  is_paused_ = true;
  is_up_ = false;
  released_ = std::move(released);
  start_timer_.Cancel();
  if (session_ != nullptr) {
    session_->Stop();
  } else {
    PostReleased();
  }
}

void Client::PostReleased() {
  loop_.Post(lifetime_.Bind([this] {
    if (is_paused_ && session_ == nullptr && stuck_ == nullptr && released_) {
      std::exchange(released_, nullptr)();
    }
  }));
}

void Client::Resume() {
  is_paused_ = false;
  released_ = nullptr;
  RetryNow();
}

void Client::Schedule(std::chrono::milliseconds delay) {
  if (is_paused_) {
    return;
  }
  start_timer_.Arm(delay, [this] { StartSession(); });
}

void Client::StartSession() {
  if (session_ != nullptr || is_paused_) {
    return;
  }
  if (std::optional<Down> failure = TrySession()) {
    GoDown(*std::move(failure));
  }
}

std::optional<Down> Client::TrySession() {
  up_since_.reset();
  own_reason_.reset();
  is_restart_wanted_ = false;
  is_end_of_one_gpu_ = false;
  auto library = find_library_();
  if (!library.ok()) {
    return Down{.cause = DownCause::kNoLibrary, .text = std::string(Message(library.status()))};
  }
  library_ = *std::move(library);
  auto session = Session::Start(loop_,
                                {.program = options_.program,
                                 .library = library_,
                                 .environment = options_.environment,
                                 .start_deadline = options_.start_deadline,
                                 .kill_grace = options_.kill_grace},
                                {.on_hello = [this](const Hello&) { OnHello(); },
                                 .on_event = [this](const Event& e) { listener_.on_event(e); },
                                 .on_end = [this](const SessionEnd& end) { OnEnd(end); },
                                 .on_abandoned = [this] { OnAbandoned(); },
                                 .on_gone = [this] { OnGone(); }});
  if (!session.ok()) {
    return Down{.cause = DownCause::kNotStarted, .text = std::string(Message(session.status()))};
  }
  session_ = *std::move(session);
  return std::nullopt;
}

void Client::OnHello() {
  session_->Call(Op::kInit, 0, 0, options_.start_deadline,
                 [this](const Reply& reply) { OnInit(reply); });
}

void Client::OnInit(const Reply& reply) {
  if (reply.result == nvml::kSuccess) {
    is_up_ = true;
    up_since_ = loop_.clock().Now();
    return listener_.on_up();
  }
  const auto load_error = DecodeInit(reply.payload);
  if (load_error.ok() && !load_error->empty()) {
    own_reason_ = Down{.cause = DownCause::kLoadFailed, .text = *load_error};
  } else {
    own_reason_ = Down{.cause = DownCause::kInitFailed,
                       .result = reply.result,
                       .text = std::string(Message(nvml::ReturnStatus(reply.result, "nvmlInit")))};
  }
  session_->Stop();
}

void Client::OnEnd(const SessionEnd& end) {
  const bool was_up = std::exchange(is_up_, false);
  is_end_of_one_gpu_ = end.gpu.has_value();
  if (is_restart_wanted_ || is_paused_) {
    next_start_ = loop_.clock().Now();
    return;
  }
  Down down =
      own_reason_.value_or(Down{.cause = CauseOf(end.cause), .text = end.text, .gpu = end.gpu});
  down.was_up = was_up;
  GoDown(down);
}

void Client::GoDown(const Down& down) {
  const SteadyTime now = loop_.clock().Now();
  if (up_since_ && now - *up_since_ >= options_.stable_after) {
    backoff_.Reset();
  }
  next_start_ = now + backoff_.Next(now);
  if (session_ == nullptr) {
    Schedule(std::chrono::duration_cast<std::chrono::milliseconds>(next_start_ - now));
  }
  listener_.on_down(down);
}

// A driver that is stuck at one GPU may serve the others: a second probe is started. A third is
// not: each holds the driver's files open, and nothing can end it.
void Client::OnAbandoned() {
  listener_.on_abandoned();
  if (is_end_of_one_gpu_ && stuck_ == nullptr) {
    stuck_ = std::move(session_);
    ScheduleNext();
  }
}

void Client::OnGone() {
  // The session is calling us: it is destroyed by the loop's next task.
  loop_.Post(lifetime_.Bind([this] {
    const auto is_gone = [](const std::unique_ptr<Session>& session) {
      return session != nullptr && session->state() == SessionState::kGone;
    };
    if (is_gone(stuck_)) {
      stuck_.reset();
      PostReleased();
    }
    if (is_gone(session_)) {
      session_.reset();
      PostReleased();
      ScheduleNext();
    }
  }));
}

void Client::ScheduleNext() {
  Schedule(std::chrono::ceil<std::chrono::milliseconds>(
      std::max(next_start_ - loop_.clock().Now(), SteadyTime::duration::zero())));
}

template <typename T>
void Client::Ask(Op op, unsigned gpu, unsigned index,
                 StatusOr<T> (*decode)(std::span<const std::byte>), AnswerTask<T> done) {
  if (!is_up_) {
    return;
  }
  session_->Call(
      op, gpu, index, options_.call_deadline,
      [op, gpu, decode, done = std::move(done)](const Reply& reply) {
        if (reply.result == nvml::kSuccess) {
          return done({.result = reply.result, .value = decode(reply.payload)});
        }
        done({.result = reply.result,
              .value = nvml::ReturnStatus(reply.result, fmt::format("{} {}", CallName(op), gpu))});
      });
}

void Client::LeaveOut(unsigned gpu, bool is_left_out) {
  if (is_up_) {
    session_->Call(Op::kLeaveOut, gpu, is_left_out ? 1 : 0, options_.call_deadline,
                   [](const Reply&) {});
  }
}
void Client::ReadDriver(AnswerTask<DriverReport> done) {
  Ask<DriverReport>(Op::kDriverInfo, 0, 0, &DecodeDriver, std::move(done));
}
void Client::ReadGpu(unsigned gpu, AnswerTask<GpuReport> done) {
  Ask<GpuReport>(Op::kGpu, gpu, 0, &DecodeGpu, std::move(done));
}
void Client::ReadMigDevice(unsigned gpu, unsigned index, AnswerTask<MigReport> done) {
  Ask<MigReport>(Op::kMigDevice, gpu, index, &DecodeMig, std::move(done));
}
void Client::ReadNvLinks(unsigned gpu, AnswerTask<NvLinkReport> done) {
  Ask<NvLinkReport>(Op::kNvLinks, gpu, 0, &DecodeNvLinks, std::move(done));
}
void Client::ReadTopology(unsigned gpu, AnswerTask<TopologyReport> done) {
  Ask<TopologyReport>(Op::kTopology, gpu, 0, &DecodeTopology, std::move(done));
}
void Client::WatchEvents(unsigned gpu, AnswerTask<uint64_t> done) {
  Ask<uint64_t>(Op::kWatchEvents, gpu, 0, &DecodeWatch, std::move(done));
}

void Client::SampleGpu(unsigned gpu, AnswerTask<SampleReport> done) {
  Ask<SampleReport>(Op::kSampleGpu, gpu, 0, &DecodeSample, std::move(done));
}
void Client::SampleNvLinks(unsigned gpu, AnswerTask<std::vector<device::NvLinkSample>> done) {
  Ask<std::vector<device::NvLinkSample>>(Op::kSampleNvLinks, gpu, 0, &DecodeLinkSamples,
                                         std::move(done));
}
void Client::SampleProcesses(unsigned gpu, unsigned page, AnswerTask<ProcessPage> done) {
  Ask<ProcessPage>(Op::kSampleProcesses, gpu, page, &DecodeProcesses, std::move(done));
}
void Client::SampleMigDevice(unsigned gpu, unsigned index, AnswerTask<device::MigSample> done) {
  Ask<device::MigSample>(Op::kSampleMig, gpu, index, &DecodeMigSample, std::move(done));
}

void Client::Call(const Request& request, Session::ReplyTask done) {
  if (is_up_) {
    session_->Call(request.op, request.gpu, request.index, request.deadline, std::move(done));
  }
}

void Client::StartEvents() {
  if (is_up_) {
    session_->Call(Op::kStartEvents, 0, 0, options_.call_deadline, [](const Reply&) {});
  }
}

}  // namespace kgpu::probe
