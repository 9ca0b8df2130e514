// What kgpu-fnwatch costs: calls per second and their times, with a C++ handler that answers with
// its input, next to a bare server of the same kind that does the same, in turns.
// docs/benchmarks.md explains the rows.
//   fnwatch-bench [ROUNDS [ADDRESS]]   default 7; ADDRESS: another server to measure beside them
//   fnwatch-bench --echo SOCKET        the bare server
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/process.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/http/server.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

constexpr std::chrono::milliseconds kRound{1'000};
constexpr int kReadyTries = 1'000;

int Echo(const std::string& address) {
  const auto loop = EpollLoop::Create().value();
  http::Server server(*loop,
                      [](const http::Request& request, const http::Responder& responder) {
                        responder.Send({.code = 200,
                                        .headers = {{"Content-Type", "application/octet-stream"}},
                                        .body = request.body});
                      },
                      {.limits = {.body = size_t{16} << 20}, .max_connections = 2048});
  if (const auto bound = server.Listen(address); !bound.ok()) {
    fmt::print(stderr, "{}\n", Message(bound.status()));
    return 1;
  }
  fmt::print("ready\n");
  (void)std::fflush(stdout);
  loop->Run();
  return 0;
}

struct Contestant {
  std::string name;
  std::string address;
  std::vector<pid_t> processes{};  // whose time counts
  std::vector<double> per_second{};
  std::vector<double> p50{};
  std::vector<double> p99{};
  std::vector<double> cpu{};  // microseconds of a call, of all processes
};

double CpuMsOf(const Contestant& contestant) {
  double sum = 0;
  for (const pid_t pid : contestant.processes) {
    sum += CpuMs(pid);
  }
  return sum;
}

double MedianOf(const std::vector<double>& values) {
  Samples samples;
  for (const double value : values) {
    samples.Add(value);
  }
  return samples.Median();
}

bool MeasureRound(Contestant& contestant, size_t connections, size_t body) {
  const std::string request =
      fmt::format("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", body,
                  std::string(body, 'x'));
  const double cpu_before = CpuMsOf(contestant);
  const auto result = Ask({.address = contestant.address,
                           .connections = connections,
                           .request = request,
                           .time = kRound});
  if (!result.ok() || result->errors > 0) {
    fmt::print(stderr, "{}: {}\n", contestant.name,
               result.ok() ? "answers other than 200" : Message(result.status()));
    return false;
  }
  contestant.per_second.push_back(result->per_second);
  contestant.cpu.push_back((CpuMsOf(contestant) - cpu_before) * 1000 /
                           static_cast<double>(result->microseconds.size()));
  contestant.p50.push_back(result->microseconds.Quantile(0.5));
  contestant.p99.push_back(result->microseconds.Quantile(0.99));
  return true;
}

// In turns, since the machine's speed drifts.
bool Compare(std::vector<Contestant> contestants, size_t connections, size_t body, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Contestant& contestant : contestants) {
      if (!MeasureRound(contestant, connections, body)) {
        return false;
      }
    }
  }
  for (const Contestant& contestant : contestants) {
    fmt::print(
        "{:>4} connections, {:>7} bytes  {:<14} {:>9.0f} calls/s  p50 {:>7.0f} us  "
        "p99 {:>7.0f} us  CPU {:>6.1f} us/call  {:>5.2f} x bare\n",
        connections, body, contestant.name, MedianOf(contestant.per_second),
        MedianOf(contestant.p50), MedianOf(contestant.p99), MedianOf(contestant.cpu),
        MedianRatio(contestant.per_second, contestants.front().per_second));
  }
  return true;
}

bool WaitUntilReady(const std::string& address) {
  for (int i = 0; i < kReadyTries; ++i) {
    const auto answer = http::Fetch(address, {.target = "/_/ready"});
    if (answer.ok() && answer->code == 200) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

int Main(int rounds, const std::optional<std::string>& other) {
  const TempDir dir;
  const std::string bare = dir.At("bare");
  const std::string watched = dir.At("watched");
  const pid_t echo = StartAndWaitReady({KGPU_BENCH_DIR "/fnwatch-bench", "--echo", bare});
  // It logs the listening sockets to its standard error only: ready is when it says so itself.
  const pid_t watchdog = StartAndWaitReady(
      {"/bin/sh", "-c",
       fmt::format("echo; exec {} --listen {} --grpc off --concurrency 64 --queue 512 -- {} "
                   "2>/dev/null",
                   KGPU_BIN_DIR "/kgpu-fnwatch", watched, KGPU_BENCH_DIR "/fnwatch-echo")});
  bool is_ok = WaitUntilReady(watched);
  std::vector<Contestant> contestants{
      {.name = "bare", .address = bare, .processes = {echo}},
      {.name = "kgpu-fnwatch",
       .address = watched,
       .processes = {watchdog, FindChild("fnwatch-echo", watchdog)}}};
  if (other) {
    contestants.push_back({.name = "other", .address = *other});
  }
  for (const auto& [connections, body] : std::vector<std::pair<size_t, size_t>>{
           {1, 16}, {8, 16}, {64, 16}, {64, 1024}, {8, 1 << 20}}) {
    is_ok = is_ok && Compare(contestants, connections, body, rounds);
  }
  Stop(watchdog);
  Stop(echo);
  return is_ok ? 0 : 1;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--echo") {
    return kgpu::bench::Echo(arguments[1]);
  }
  const int rounds = arguments.empty() ? 7 : std::atoi(arguments[0].c_str());
  return kgpu::bench::Main(rounds > 0 ? rounds : 7,
                           arguments.size() > 1 ? std::optional(arguments[1]) : std::nullopt);
}
