// The parent's end of kgpu-probe: keeps one probe running, restarts it when it ends, and turns
// requests into typed answers. Picture and states: docs/how-it-works/probe.md.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/nvml/abi.h"
#include "src/gpu/probe/report.h"
#include "src/gpu/probe/session.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::probe {

struct ClientOptions {
  std::string program;                   // the kgpu-probe program
  std::vector<std::string> environment;  // the probe's whole environment
  std::chrono::milliseconds call_deadline{2000};
  std::chrono::milliseconds start_deadline{30000};
  std::chrono::milliseconds kill_grace{1000};
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds last_backoff{30000};
  std::chrono::milliseconds stable_after{10000};  // after so long up, the back-off starts again
};

// Why there are no answers.
enum class DownCause {
  kNoLibrary,     // libnvidia-ml.so.1 was not found
  kNotStarted,    // kgpu-probe could not be started
  kLoadFailed,    // the library could not be loaded
  kInitFailed,    // nvmlInit returned `result`
  kUnresponsive,  // a call exceeded its deadline
  kCrashed,       // the probe ended or sent invalid data
};

struct Down {
  DownCause cause = DownCause::kCrashed;
  nvml::Return result = nvml::kSuccess;  // for kInitFailed
  std::string text{};                    // for people
  bool was_up = false;                   // it had answered before
  std::optional<unsigned> gpu{};         // kUnresponsive: the one that the call was about, if one
};

// The driver's answer to a request: `result`, and the value on success.
template <typename T>
struct Answer {
  nvml::Return result = nvml::kSuccess;
  StatusOr<T> value;
};
template <typename T>
using AnswerTask = std::function<void(const Answer<T>&)>;

// Lives on the loop's thread. If the probe goes down first, pending request tasks are dropped
// without a call: on_down reports it once for all of them.
class Client {
 public:
  struct Listener {
    std::function<void()> on_up;               // the driver is initialised, requests can be made
    std::function<void(const Down&)> on_down;  // after on_up, or instead of it, for each attempt
    std::function<void(const Event&)> on_event;
    std::function<void()> on_abandoned;  // after on_down: the probe survived SIGKILL
  };
  // The NVML file to load; called before each start.
  using FindLibrary = std::function<StatusOr<std::string>()>;

  // `loop` must outlive the client.
  Client(EventLoop& loop, ClientOptions options, FindLibrary find_library, Listener listener);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts the first probe on the loop's next turn. The client retries forever.
  void Start();
  // Starts a new probe immediately, without on_down: the host has changed underneath the old one.
  void Restart();
  // Ends the probe and reports `down` by on_down: its answers are unusable. Retries with back-off.
  void GiveUp(Down down);
  // Ends a pause between two attempts: something has changed that may help.
  void RetryNow();
  // Ends the probe, without on_down, and starts none until Resume: nobody may have a GPU open that
  // is to be reset. Calls `released` on the loop once the process is gone, unless Resume comes
  // first.
  void Pause(std::function<void()> released);
  void Resume();

  bool is_up() const { return is_up_; }
  // A probe survived SIGKILL and is still there. No other is started until it is gone, unless it is
  // stuck in a call about one GPU: then there is one other, whose owner leaves that GPU out.
  bool is_abandoned() const;
  // 0 if there is none.
  pid_t probe_pid() const;
  const std::string& library() const { return library_; }

  // For this probe: calls about the GPU are answered with "timeout" and do not reach the driver.
  void LeaveOut(unsigned gpu, bool is_left_out);
  void ReadDriver(AnswerTask<DriverReport> done);
  void ReadGpu(unsigned gpu, AnswerTask<GpuReport> done);
  void ReadMigDevice(unsigned gpu, unsigned index, AnswerTask<MigReport> done);
  void ReadNvLinks(unsigned gpu, AnswerTask<NvLinkReport> done);
  void ReadTopology(unsigned gpu, AnswerTask<TopologyReport> done);
  // Registers for the events of a GPU; the value is the mask of registered types.
  void WatchEvents(unsigned gpu, AnswerTask<uint64_t> done);
  // Measurements (decode_sample.h). In each round, SampleGpu must come first for each GPU.
  void SampleGpu(unsigned gpu, AnswerTask<SampleReport> done);
  void SampleNvLinks(unsigned gpu, AnswerTask<std::vector<device::NvLinkSample>> done);
  // A page of the list that the request for page 0 created.
  void SampleProcesses(unsigned gpu, unsigned page, AnswerTask<ProcessPage> done);
  void SampleMigDevice(unsigned gpu, unsigned index, AnswerTask<device::MigSample> done);
  // Call after the GPUs are registered: events start to arrive.
  void StartEvents();

  // Any request; those of mig_requests.h have no method of their own. Dropped while there is no
  // probe, like all others.
  struct Request {
    Op op = Op::kPing;
    unsigned gpu = 0;
    unsigned index = 0;
    std::chrono::milliseconds deadline{2000};
  };
  void Call(const Request& request, Session::ReplyTask done);

 private:
  template <typename T>
  void Ask(Op op, unsigned gpu, unsigned index, StatusOr<T> (*decode)(std::span<const std::byte>),
           AnswerTask<T> done);
  void StartSession();
  // Starts a probe, or says why it cannot.
  std::optional<Down> TrySession();
  void OnHello();
  void OnInit(const Reply& reply);
  void OnEnd(const SessionEnd& end);
  void OnAbandoned();
  void OnGone();
  void GoDown(const Down& down);
  void ScheduleNext();
  void Schedule(std::chrono::milliseconds delay);
  void PostReleased();

  EventLoop& loop_;
  ClientOptions options_;
  FindLibrary find_library_;
  Listener listener_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> stuck_;  // abandoned in a call about one GPU, beside session_
  bool is_end_of_one_gpu_ = false;  // the end of session_ was due to such a call
  std::string library_;
  Backoff backoff_;
  SteadyTime next_start_{};
  std::optional<SteadyTime> up_since_;
  std::optional<Down> own_reason_;  // reported instead of the end that we caused ourselves
  Timer start_timer_;
  bool is_up_ = false;
  bool is_restart_wanted_ = false;
  bool is_paused_ = false;
  std::function<void()> released_;
  Lifetime lifetime_;  // posted tasks outlive us
};

}  // namespace kgpu::probe
