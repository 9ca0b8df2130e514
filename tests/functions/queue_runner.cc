// A service in miniature for queue_kill_test.cc: puts calls into a queue and makes them, until it
// is killed, or until all of them are made.
//   queue-runner FOLDER PREFIX COUNT [REDIS-URL]
// The queue is an SQLite database in FOLDER, or in the Redis server, with short claims.
// Appends the ids of calls that were accepted to FOLDER/accepted and of those that were made to
// FOLDER/made, and writes a byte to descriptor 3 for each of them.
#include <fcntl.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "src/functions/queue/disk_queue.h"
#include "src/functions/redis/redis_queue.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/random.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;

constexpr int kProgress = 3;
constexpr size_t kInFlight = 200;

class QueueRunner {
 public:
  QueueRunner(EpollLoop& loop, std::string folder, std::string prefix, size_t count,
              const std::string& redis_url)
      : loop_(loop),
        prefix_(std::move(prefix)),
        count_(count),
        accepted_file_(OpenLog(folder + "/accepted")),
        made_file_(OpenLog(folder + "/made")),
        random_(Random::SeedFromKernel()) {
    auto queue = MakerOf(loop, folder, redis_url)(
        [this](CallRecord call, CallQueue::Ended ended) { Make(call, std::move(ended)); });
    Require(queue.ok(), "start the queue");
    queue_ = *std::move(queue);
    for (size_t i = 0; i < kInFlight; ++i) {
      PutNext();
    }
    LookForEnd();
  }

 private:
  static void Require(bool holds, const char* what) {
    if (!holds) {
      std::fprintf(stderr, "queue-runner: cannot %s\n", what);
      std::exit(1);
    }
  }
  static QueueMaker MakerOf(EventLoop& loop, const std::string& folder, const std::string& url) {
    if (url.empty()) {
      return DiskQueueMaker(loop, {.folder = folder + "/queue"});
    }
    StatusOr<RedisAddress> address = ParseRedisUrl(url);
    Require(address.ok(), "read the address");
    RedisQueueOptions options;
    options.link.address = *std::move(address);
    options.claim = milliseconds(500);
    options.seed = Random::SeedFromKernel();
    return RedisQueueMaker(loop, std::move(options));
  }
  static UniqueFd OpenLog(const std::string& path) {
    UniqueFd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    Require(fd.is_valid(), "open a log");
    return fd;
  }
  // One write: a kill leaves a whole line, or none.
  static void Note(const UniqueFd& file, const std::string& id) {
    Require(sys::WriteAll(file.get(), id + "\n").ok(), "write a log");
    Require(sys::WriteAll(kProgress, ".").ok(), "report progress");
  }

  void PutNext() {
    if (put_ == count_) {
      return;
    }
    CallRecord call{.call_id = prefix_ + std::to_string(put_++), .function = "f", .method = "POST"};
    call.target = "/";
    call.body = "input of " + call.call_id;
    call.retries = 100;
    queue_->Put(std::move(call), [this](const StatusOr<std::string>& id) {
      Require(id.ok(), "put a call");
      Note(accepted_file_, *id);
      ++accepted_;
      PutNext();
    });
  }

  // Some fail, some find no replica, all take a moment.
  void Make(const CallRecord& call, CallQueue::Ended ended) {
    Require(call.body == "input of " + call.call_id, "read back what was put");
    CallOutcome outcome{.code = 200};
    if (call.attempts == 0 && random_.Uniform() < 0.02) {
      outcome = {.code = 503, .was_taken = random_.Uniform() < 0.5};
    }
    loop_.After(milliseconds(1), [this, id = call.call_id, outcome, ended = std::move(ended)] {
      if (outcome.code == 200) {
        Note(made_file_, id);
      }
      ended(outcome);
    });
  }

  void LookForEnd() {
    loop_.After(milliseconds(20), [this] {
      queue_->List({}, [this](const StatusOr<boost::json::object>& list) {
        Require(list.ok(), "list the calls");
        const bool is_empty = list->at("calls").as_array().empty();
        accepted_ == count_&& is_empty ? loop_.Quit() : LookForEnd();
      });
    });
  }

  EpollLoop& loop_;
  const std::string prefix_;
  const size_t count_;
  const UniqueFd accepted_file_;
  const UniqueFd made_file_;
  Random random_;
  std::unique_ptr<CallQueue> queue_;
  size_t put_ = 0;
  size_t accepted_ = 0;
};

int RunQueue(const std::string& folder, const std::string& prefix, size_t count,
             const std::string& redis_url) {
  SetLogLevel(LogLevel::kWarning);
  StatusOr<std::unique_ptr<EpollLoop>> loop = EpollLoop::Create();
  if (!loop.ok()) {
    return 1;
  }
  const QueueRunner runner(**loop, folder, prefix, count, redis_url);
  (*loop)->Run();
  return 0;
}

}  // namespace
}  // namespace kgpu::functions

int main(int argc, char** argv) {
  const bool is_valid = argc == 4 || argc == 5;
  const auto count = is_valid ? kgpu::ParseUint(argv[3]) : std::nullopt;
  return count ? kgpu::functions::RunQueue(argv[1], argv[2], *count, argc == 5 ? argv[4] : "") : 2;
}
