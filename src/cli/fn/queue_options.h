// Where a service keeps its asynchronous calls, as flags.
#pragma once

#include <string>

#include "src/functions/queue/call_queue.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

struct QueueCommandOptions {
  std::string queue = "sqlite";
  std::string redis_url{};
  std::string redis_credentials{};
  std::string redis_ca{};
  std::string redis_name = "kgpu";
  std::string callback_ca{};
};

// --queue, --redis-url, --redis-credentials, --redis-ca, --redis-name, --callback-ca; `options`
// must outlive the parse.
void AddQueueOptions(CLI::App& command, QueueCommandOptions& options);

// `folder` is for the database of --queue sqlite; `loop` must outlive the queues. The files of
// --redis-credentials and --redis-ca are read now, and for each connection again. Errors:
// InvalidArgument, those of the files.
StatusOr<functions::QueueMaker> QueueMakerOf(EventLoop& loop, const QueueCommandOptions& options,
                                             const std::string& folder);

}  // namespace kgpu::cli
