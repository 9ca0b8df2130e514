// The worker of C++ functions: linked with the handler, answers the calls of kgpu-fnwatch.
//   c++ -std=c++17 -O2 -pthread -I/opt/kgpu-fn /opt/kgpu-fn/worker.cc handler.cc -o handler
// -DKGPU_FN_HANDLER=Name: a handler of another name; -DKGPU_FN_STREAM: it takes a kgpu::fn::Call&.
//
// The protocol is on descriptors 3 (to us) and 4 (from us): docs/how-it-works/function-watchdog.md.
// What the handler prints is its log.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json_text.h"
#include "kgpu/fn.h"

#ifndef KGPU_FN_HANDLER
#ifdef KGPU_FN_STREAM
#define KGPU_FN_HANDLER StreamHandler
#else
#define KGPU_FN_HANDLER Handler
#endif
#endif

#ifdef KGPU_FN_STREAM
void KGPU_FN_HANDLER(kgpu::fn::Call& call);
#else
std::string KGPU_FN_HANDLER(const std::string input);
#endif

namespace kgpu::fn {
namespace {

constexpr int kInput = 3;
constexpr int kOutput = 4;
constexpr std::size_t kHead = 12;
// Of a frame: as much as the watchdog reads at a time.
constexpr std::size_t kPiece = std::size_t{128} << 10;
// The largest payload that the watchdog takes.
constexpr std::size_t kMaxFrame = std::size_t{1} << 20;
// Of what is written as it is, not copied into a batch.
constexpr std::size_t kLarge = std::size_t{16} << 10;
constexpr std::size_t kReadSize = std::size_t{256} << 10;
constexpr std::size_t kMaxFailure = 16384;
// Answers up to this size are put together and written when no more calls are at hand.
constexpr std::size_t kBatch = std::size_t{128} << 10;
// A handler that streams must see, meanwhile, that nobody waits any more: it needs a second thread.
#ifdef KGPU_FN_STREAM
constexpr bool kStreams = true;
#else
constexpr bool kStreams = false;
#endif

std::uint32_t ReadU32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value |= std::uint32_t{static_cast<unsigned char>(at[i])} << (8 * i);
  }
  return value;
}

void AppendHead(std::string& out, char type, std::uint32_t call, std::size_t size) {
  char head[kHead] = {};
  for (int i = 0; i < 4; ++i) {
    head[i] = static_cast<char>(size >> (8 * i));
    head[8 + i] = static_cast<char>(call >> (8 * i));
  }
  head[4] = type;
  out.append(head, kHead);
}

// Frames on their way to the watchdog.
class Output {
 public:
  // Keeps a small answer for Flush, so that those of several calls are written at once.
  void Add(char type, std::uint32_t call, const char* bytes, std::size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    AppendHead(batch_, type, call, size);
    if (size > kLarge) {
      WriteBatch();
      return Write(bytes, size);
    }
    batch_.append(bytes, size);
    if (batch_.size() > kBatch) {
      WriteBatch();
    }
  }
  void Flush() {
    const std::lock_guard<std::mutex> lock(mutex_);
    WriteBatch();
  }

 private:
  void WriteBatch() {
    Write(batch_.data(), batch_.size());
    batch_.clear();
  }

  static void Write(const char* at, std::size_t left) {
    while (left > 0) {
      const ssize_t count = write(kOutput, at, left);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0) {
        std::_Exit(0);  // the watchdog is gone
      }
      at += count;
      left -= static_cast<std::size_t>(count);
    }
  }

  std::mutex mutex_;
  std::string batch_;
};

}  // namespace

class Call::Impl {
 public:
  Impl(Output& its_output, std::uint32_t its_number, std::string its_about)
      : output(its_output), number(its_number), about(std::move(its_about)) {}

  // Most handlers never ask.
  void ReadAbout() {
    if (has_read_about) {
      return;
    }
    has_read_about = true;
    JsonReader(about).Object([this](const std::string& name, JsonReader& reader) {
      if (name == "headers") {
        reader.Object([this](const std::string& header, JsonReader& value) {
          headers[header] = value.Text();
        });
      } else if (name == "deadlineMs") {
        deadline_ms = reader.Number();
      } else {
        texts[name] = reader.Text();
      }
    });
  }

  void SendHead() {
    if (std::exchange(has_sent_head, true) || (status == 200 && answer_headers.empty())) {
      return;
    }
    std::string head = "{\"status\":" + std::to_string(status) + ",\"headers\":{";
    for (const auto& [name, values] : answer_headers) {
      if (head.back() != '{') {
        head += ',';
      }
      AppendJsonText(head, name);
      head += ":[";
      for (const std::string& value : values) {
        if (head.back() != '[') {
          head += ',';
        }
        AppendJsonText(head, value);
      }
      head += ']';
    }
    head += "}}";
    // A longer one is refused, as it would be whole, but for this call only.
    output.Add('H', number, head.data(), head.size() < kMaxFrame ? head.size() : kMaxFrame);
  }

  void Data(const char* bytes, std::size_t size) {
    SendHead();
    while (size > 0) {
      const std::size_t part = size < kPiece ? size : kPiece;
      output.Add('D', number, bytes, part);
      bytes += part;
      size -= part;
    }
  }

  Output& output;
  const std::uint32_t number;
  const std::string about;
  std::string input;
  bool has_read_about = false;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::string> headers;
  long deadline_ms = 0;
  bool has_sent_head = false;
  int status = 200;
  std::map<std::string, std::vector<std::string>> answer_headers;
  std::atomic<bool> is_given_up{false};
};

const std::string& Call::input() const {
  return impl_.input;
}
const std::string& Call::id() const {
  impl_.ReadAbout();
  return impl_.texts["id"];
}
const std::string& Call::method() const {
  impl_.ReadAbout();
  return impl_.texts["method"];
}
const std::string& Call::path() const {
  impl_.ReadAbout();
  return impl_.texts["path"];
}
const std::string& Call::query() const {
  impl_.ReadAbout();
  return impl_.texts["query"];
}
const std::map<std::string, std::string>& Call::headers() const {
  impl_.ReadAbout();
  return impl_.headers;
}
long Call::deadline_ms() const {
  impl_.ReadAbout();
  return impl_.deadline_ms;
}
void Call::SetStatus(int status) {
  impl_.status = status;
}
void Call::SetHeader(const std::string& name, const std::string& value) {
  impl_.answer_headers[name] = {value};
}
void Call::AddHeader(const std::string& name, const std::string& value) {
  impl_.answer_headers[name].push_back(value);
}
bool Call::Write(const char* bytes, std::size_t size) {
  if (is_given_up()) {
    return false;
  }
  impl_.Data(bytes, size);
  impl_.output.Flush();
  return true;
}
bool Call::is_given_up() const {
  return impl_.is_given_up.load();
}

namespace {

void Fail(Call::Impl& call, const char* text) {
  std::fprintf(stderr, "handler: %s\n", text);
  call.output.Add('F', call.number, text, strnlen(text, kMaxFailure));
}

void Answer(Call::Impl& call) {
  try {
#ifdef KGPU_FN_STREAM
    Call handle(call);
    KGPU_FN_HANDLER(handle);
    call.SendHead();
#else
    const std::string answer = KGPU_FN_HANDLER(std::move(call.input));
    call.Data(answer.data(), answer.size());
#endif
    call.output.Add('E', call.number, "", 0);
  } catch (const std::exception& error) {
    Fail(call, error.what());
  } catch (...) {
    Fail(call, "the handler threw something that is no std::exception");
  }
}

// Threads take turns at reading. Who has read calls wakes one other thread and then runs calls
// until there are none: several fast calls cost one switch of threads, and a slow one keeps no
// other waiting, since the thread that was woken takes the next call, or reads on. There is one
// thread more than calls, so that one can always read, or send the answers that are put together.
class Worker {
 public:
  explicit Worker(std::size_t threads) : threads_(threads) {}

  // Takes calls until the watchdog is gone, or wants no more and all are done.
  void Run() {
    for (std::size_t i = 0; i < threads_; ++i) {
      std::thread([this] { Serve(); }).detach();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return is_over_ || (wants_end_ && calls_.empty()); });
    lock.unlock();
    output_.Flush();
  }
  // The same with this thread alone, for one call at a time.
  void RunAlone() {
    while (ReadMore()) {
      TakeFrames();
      while (!work_.empty()) {
        const Shared call = NextCall();
        Answer(*call);
        calls_.erase(call->number);
      }
      output_.Flush();
      if (wants_end_ && calls_.empty()) {
        return;
      }
    }
  }

  Output& output() { return output_; }

 private:
  using Shared = std::shared_ptr<Call::Impl>;

  void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!is_over_) {
      if (!work_.empty()) {
        const Shared call = NextCall();
        WakeOne();  // for the next call, or to read
        lock.unlock();
        Answer(*call);
        lock.lock();
        calls_.erase(call->number);
        if (wants_end_ && calls_.empty()) {
          done_.notify_all();
        }
      } else if (!is_read_) {
        is_read_ = true;
        lock.unlock();
        output_.Flush();
        const bool is_there = ReadMore();
        lock.lock();
        is_read_ = false;
        TakeFrames();
        if (!is_there) {
          is_over_ = true;
        }
        if (is_over_ || (wants_end_ && calls_.empty())) {
          done_.notify_all();
        }
      } else {
        // The one that reads may wait for long: it cannot send what was put together since.
        lock.unlock();
        output_.Flush();
        lock.lock();
        ready_.wait(lock, [this] {
          is_waking_ = false;  // also where it was woken too late, and sleeps on
          return !work_.empty() || !is_read_ || is_over_;
        });
      }
    }
    ready_.notify_all();
  }

  // Unless another one reads, or is on its way.
  void WakeOne() {
    if (!is_read_ && !is_waking_) {
      is_waking_ = true;
      ready_.notify_one();
    }
  }

  Shared NextCall() {
    Shared call = work_.front();
    work_.pop_front();
    return call;
  }

  // Only by the thread that reads.
  bool ReadMore() {
    std::memmove(&buffer_[0], &buffer_[begin_], end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() < end_ + kReadSize) {
      buffer_.resize(end_ + kReadSize);
    }
    ssize_t count = 0;
    do {
      count = read(kInput, &buffer_[end_], kReadSize);
    } while (count < 0 && errno == EINTR);
    end_ += count > 0 ? static_cast<std::size_t>(count) : 0;
    return count > 0;
  }

  void TakeFrames() {
    while (true) {
      const char* at = &buffer_[begin_];
      const std::size_t have = end_ - begin_;
      if (have < kHead || have - kHead < ReadU32(at)) {
        return;
      }
      const std::size_t size = ReadU32(at);
      begin_ += kHead + size;
      OnFrame(at[4], ReadU32(at + 8), at + kHead, size);
    }
  }

  void OnFrame(char type, std::uint32_t number, const char* payload, std::size_t size) {
    if (type == 'Q') {
      wants_end_ = true;
      return;
    }
    if (type == 'C') {
      calls_[number] = std::make_shared<Call::Impl>(output_, number, std::string(payload, size));
      return;
    }
    const auto found = calls_.find(number);
    if (found == calls_.end()) {
      return;
    }
    if (type == 'D') {
      found->second->input.append(payload, size);
    } else if (type == 'X') {
      found->second->is_given_up = true;
    } else if (type == 'E') {
      work_.push_back(found->second);
    }
  }

  const std::size_t threads_;
  Output output_;
  std::string buffer_ = std::string(kReadSize, '\0');
  std::size_t begin_ = 0;  // of what was read and not taken
  std::size_t end_ = 0;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable done_;
  bool is_read_ = false;
  bool is_waking_ = false;
  bool is_over_ = false;
  bool wants_end_ = false;
  std::unordered_map<std::uint32_t, Shared> calls_;
  std::deque<Shared> work_;
};

std::size_t CallsAtATime() {
  const char* text = std::getenv("KGPU_FN_CONCURRENCY");
  const long number = text == nullptr ? 1 : std::atol(text);
  return number < 1 ? 1 : number > 1024 ? 1024 : static_cast<std::size_t>(number);
}

}  // namespace
}  // namespace kgpu::fn

int main() {
  using kgpu::fn::Worker;
  std::signal(SIGPIPE, SIG_IGN);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  // What the handler starts must not hold the pipes.
  fcntl(kgpu::fn::kInput, F_SETFD, FD_CLOEXEC);
  fcntl(kgpu::fn::kOutput, F_SETFD, FD_CLOEXEC);
  const std::size_t calls = kgpu::fn::CallsAtATime();
  // Threads may use it until the very end.
  static Worker& worker = *new Worker(calls + 1);
  const std::string ready = std::string("{\"concurrent\":") + (calls > 1 ? "true" : "false") +
                            ",\"runtime\":\"c++ " + std::to_string(__cplusplus) + "\"}";
  worker.output().Add('R', 0, ready.data(), ready.size());
  worker.output().Flush();
  if (calls > 1 || kgpu::fn::kStreams) {
    worker.Run();
  } else {
    worker.RunAlone();
  }
  std::fflush(stdout);
  std::_Exit(0);
}
