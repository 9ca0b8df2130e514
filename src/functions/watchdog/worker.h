// One worker process: its descriptors 3 and 4, its output to them, its frames and its end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/watchdog/frame.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/output_queue.h"
#include "src/platform/sys/child_process.h"

namespace kgpu::watchdog {

struct WorkerProgram {
  std::vector<std::string> argv;  // argv[0] is a path
  std::vector<std::string> environment;
};

// Called on the loop's thread. None may destroy the worker except on_exit, which comes once, last.
struct WorkerHandlers {
  std::function<void(const Frame&)> on_frame;
  // All frames that arrived together have been passed.
  std::function<void()> on_batch;
  // The worker broke the protocol: no more frames are read.
  std::function<void(std::string_view why)> on_nonsense;
  std::function<void(std::string_view why)> on_exit;
};

// Its standard output and standard error are ours. It leads a process group. Destroying it kills
// the group. Lives on the loop's thread; the owner ignores SIGPIPE.
class Worker {
 public:
  // `loop` must outlive the worker. Errors: NotFound (no such program), PermissionDenied,
  // ResourceExhausted.
  static StatusOr<std::unique_ptr<Worker>> Spawn(EventLoop& loop, const WorkerProgram& program,
                                                 WorkerHandlers handlers);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Queues frames; all of one turn of the loop are written together. After the process is gone they
  // are dropped.
  void Send(FrameType type, uint32_t call, std::string_view payload);
  // 'C', 'D' … and 'E' of one call.
  void SendCall(uint32_t call, std::string_view text, std::string body);
  // Whether to read frames. A worker that is not read blocks when its pipe is full.
  void SetPaused(bool is_paused);
  // Kills the process group; on_exit follows.
  void Kill();
  // Calls and their bodies are still queued: the worker reads slower than they come.
  bool is_writing() const { return writable_ != WatchId::kNone; }
  pid_t pid() const { return process_.pid(); }

 private:
  Worker(EventLoop& loop, sys::ChildProcess process, UniqueFd input, UniqueFd output,
         WorkerHandlers handlers);
  Status Watch();
  void PostFlush();
  void Flush();
  bool WriteQueued();
  void StopWriting();
  void OnReadable();
  // False at the end of what is there.
  bool ReadOnce();
  void PassFrames();
  void OnPipeEnd();
  void OnProcessEnd();

  EventLoop& loop_;
  sys::ChildProcess process_;
  UniqueFd input_;   // the worker's descriptor 3
  UniqueFd output_;  // and 4
  const WorkerHandlers handlers_;
  FrameDecoder decoder_;
  std::string batch_;  // small frames, not yet in the queue
  http::OutputQueue queue_;
  bool is_flush_posted_ = false;
  bool is_paused_ = false;
  bool is_nonsense_ = false;
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  WatchId ended_ = WatchId::kNone;
  Timer end_timer_;
  Lifetime lifetime_;
};

}  // namespace kgpu::watchdog
