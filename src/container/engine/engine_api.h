// What a running engine says of itself: the proof that a change arrived.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/engine.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct LiveFacts {
  std::string version;
  std::vector<std::string> runtimes;  // by name; empty: it does not report
  std::string default_runtime;        // empty: it does not report
  std::optional<bool> reads_cdi;      // empty: it does not report
  std::string note;                   // e.g. "its CRI plugin is off"
  bool operator==(const LiveFacts&) const = default;
};

class EngineApi {
 public:
  virtual ~EngineApi() = default;
  // Asks until `is_good` likes the answer, at most for `patience`; at least once. Errors: that of
  // the last try (NotFound, Unavailable: nobody answers on its socket), or FailedPrecondition: it
  // answers, but what it says is not what `wanted` names.
  virtual StatusOr<LiveFacts> Ask(const Engine& engine, std::chrono::milliseconds patience,
                                  std::string_view wanted,
                                  const std::function<bool(const LiveFacts&)>& is_good) = 0;
};

// Asks by the engine's socket below the host's root: Docker by its HTTP API, the others by CRI.
class SocketApi final : public EngineApi {
 public:
  explicit SocketApi(const sys::Root& host) : host_(host) {}
  StatusOr<LiveFacts> Ask(const Engine& engine, std::chrono::milliseconds patience,
                          std::string_view wanted,
                          const std::function<bool(const LiveFacts&)>& is_good) override;

 private:
  StatusOr<LiveFacts> AskOnce(const Engine& engine) const;

  const sys::Root& host_;
};

// From the answer of Docker's GET /info. Errors: InvalidArgument (no JSON).
StatusOr<LiveFacts> ReadDockerInfo(std::string_view body);

}  // namespace kgpu::engine
